//! Operations that rewritten programs gain.
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_ops::{MANUAL_COMPUTATION, MANUAL_YIELD};
use tpu_stablehlo::ir::{
    Attribute, Attributes, AxisRef, Block, DimensionSharding, Element, Elements, LocationId, Mesh,
    MeshRef, Name, Operation, Region, TensorSharding, TensorType, Type, Value,
};

/// The values of a function that is being rewritten.
#[derive(Debug)]
pub(super) struct ValueTypes(pub(super) Vec<Type>);

impl ValueTypes {
    /// A new one.
    pub(super) fn add(&mut self, of: Type) -> Value {
        self.0.push(of);
        Value(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// The array type of one.
    pub(super) fn tensor(&self, value: Value) -> Result<&TensorType> {
        let of = self.0.get(value.0 as usize).and_then(Type::tensor);
        of.ok_or_else(|| {
            Error::Unimplemented("a value that is no array, over several devices".to_owned())
        })
    }

    /// An operation with one result of this type, put at the end of `into`.
    pub(super) fn emit(
        &mut self,
        (name, location): (impl Into<Name>, LocationId),
        operands: Vec<Value>,
        attributes: Attributes,
        of: Type,
        into: &mut Vec<Operation>,
    ) -> Value {
        let result = self.add(of);
        into.push(Operation { attributes, ..plain((name, location), operands, vec![result]) });
        result
    }
}

/// An operation without attributes and regions.
pub(super) fn plain(
    (name, location): (impl Into<Name>, LocationId),
    operands: Vec<Value>,
    results: Vec<Value>,
) -> Operation {
    let (attributes, regions) = (Attributes::default(), Vec::new());
    Operation { name: name.into(), operands, results, attributes, regions, location }
}

/// Attributes in the order of their names, which is the order they are given in.
pub(super) fn list<const N: usize>(all: [(&'static str, Attribute); N]) -> Attributes {
    Attributes(all.into_iter().map(|(name, value)| (Name::Borrowed(name), value)).collect())
}

/// A dense array of one element that repeats, all of its bytes zeros.
pub(super) fn zeros(of: &TensorType) -> Result<Attributes> {
    let width = of.element.bytes();
    let width = width.ok_or_else(|| Error::Unimplemented(format!("zeros of {:?}", of.element)))?;
    let count: i64 = of.dims.iter().product();
    let data: Arc<[u8]> = if count == 0 { Arc::default() } else { vec![0; width].into() };
    let elements = Elements { of: of.clone(), data, splat: count > 1 };
    Ok(list([("value", Attribute::Elements(elements))]))
}

/// True, and then false as often as it takes.
pub(super) fn only_first(count: usize) -> Attributes {
    let dims = vec![i64::try_from(count).unwrap_or(i64::MAX)];
    let mut data = vec![0; count];
    data.iter_mut().take(1).for_each(|first| *first = 1);
    let of = TensorType::new(Element::Pred, dims);
    list([("value", Attribute::Elements(Elements { of, data: data.into(), splat: count == 1 }))])
}

/// The first multiples of a number, from zero on.
pub(super) fn multiples(count: i64, of: i64) -> Attributes {
    let all = (0..count).map(|at| at.saturating_mul(of));
    let data: Vec<u8> = all.flat_map(i64::to_le_bytes).collect();
    let elements = Elements {
        of: TensorType::new(Element::S64, vec![count]),
        data: data.into(),
        splat: count == 1,
    };
    list([("value", Attribute::Elements(elements))])
}

/// A region of one block.
pub(super) fn region(arguments: Vec<Value>, operations: Vec<Operation>) -> Region {
    Region { blocks: vec![Block { arguments, operations }] }
}

/// How many devices stand in line along axes.
pub(super) fn extent(mesh: &Mesh, axes: &[AxisRef]) -> Result<i64> {
    let mut all = 1_i64;
    for axis in axes {
        let size = match axis.part {
            Some((_, size)) => Some(size),
            None => mesh.axes.iter().find(|(name, _)| *name == axis.name).map(|(_, size)| *size),
        };
        let missing = || Error::bad(format!("the mesh {:?} has no axis {}", mesh.axes, axis.name));
        all = all.saturating_mul(size.ok_or_else(missing)?);
    }
    Ok(all)
}

/// Code that runs on each device of a mesh, which is called with parts of arrays.
#[derive(Debug)]
pub(super) struct PerDevice<'a> {
    pub(super) mesh: (&'a MeshRef, &'a Mesh),
    pub(super) location: LocationId,
}

impl PerDevice<'_> {
    /// How an array is split along these axes of each of its dimensions.
    pub(super) fn split(&self, axes: &[Vec<AxisRef>]) -> TensorSharding {
        let dimension = |axes: &Vec<AxisRef>| DimensionSharding {
            axes: axes.clone(),
            closed: true,
            priority: None,
        };
        TensorSharding {
            mesh: self.mesh.0.clone(),
            dimensions: axes.iter().map(dimension).collect(),
            replicated: Vec::new(),
            unreduced: Vec::new(),
        }
    }

    /// The type of a part; `None` where the axes do not divide an extent.
    pub(super) fn part(
        &self,
        of: &TensorType,
        axes: &[Vec<AxisRef>],
    ) -> Result<Option<TensorType>> {
        let mut part = of.clone();
        for (dim, axes) in part.dims.iter_mut().zip(axes) {
            let size = extent(self.mesh.1, axes)?;
            if size <= 0 || *dim < 0 || *dim % size != 0 {
                return Ok(None);
            }
            *dim /= size;
        }
        Ok(Some(part))
    }

    /// The whole that a body makes of its parameters, which are parts of the operands; the last
    /// of its operations gives its result.
    pub(super) fn run(
        &self,
        values: &mut ValueTypes,
        operands: &[(Value, Vec<Vec<AxisRef>>)],
        (parameters, mut body, made): (Vec<Value>, Vec<Operation>, Value),
        (of, axes): (TensorType, &[Vec<AxisRef>]),
        into: &mut Vec<Operation>,
    ) -> Value {
        body.push(plain((MANUAL_YIELD, self.location), vec![made], Vec::new()));
        let ins = operands.iter().map(|(_, axes)| self.split(axes)).collect();
        let all = self.mesh.1.axes.iter().map(|(name, _)| Arc::clone(name)).collect();
        let attributes = list([
            ("in_shardings", Attribute::Shardings(ins)),
            ("manual_axes", Attribute::ManualAxes(all)),
            ("out_shardings", Attribute::Shardings(vec![self.split(axes)])),
        ]);
        let result = values.add(Type::Tensor(of));
        let operands = operands.iter().map(|(value, _)| *value).collect();
        into.push(Operation {
            attributes,
            regions: vec![region(parameters, body)],
            ..plain((MANUAL_COMPUTATION, self.location), operands, vec![result])
        });
        result
    }
}
