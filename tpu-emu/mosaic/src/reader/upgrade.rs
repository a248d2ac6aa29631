//! From older formats to the newest: rules as rows, all that apply to an operation in their order.
use super::code::type_in;
use crate::ir::{
    Attribute, Attributes, Block, CoreType, Element, LocationId, Op, Operation, ReductionKind,
    Type, Value,
};
use tpu_mlir::ReadError;
use tpu_mlir::code::Values;

/// The newest format that is read.
pub const NEWEST: i64 = 18;

/// What a rule changes.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Sizes of the groups of operands, by how many operands there are.
    Groups(&'static [(usize, &'static [i64])]),
    /// One more group of operands, empty, behind this many.
    AddGroup(usize),
    /// The core in this group counts subcores of all cores: it is split, the subcore in the other
    /// group.
    SplitCore(usize, usize),
    /// The last dimension of the first operand, under this name.
    LastDimension(&'static str),
    /// A maximum or minimum that does not say how elements compare: integers without their sign.
    Unsigned(&'static str),
    /// An attribute that is false.
    False(&'static str),
    /// An attribute that is zero.
    Zero(&'static str),
    /// An array of integer attributes becomes one of integers.
    Dense(&'static str),
    /// One integer becomes a list of one, under another name.
    List(&'static str, &'static str),
}

/// An operation, the format below which it is changed, and how.
const RULES: &[(Op, i64, Change)] = &[
    (Op::TpuEnqueueDma, 2, Change::Groups(&[(3, &[1, 0, 1, 1, 0, 0]), (5, &[1, 1, 1, 1, 1, 0])])),
    (Op::TpuSemSignal, 2, Change::Groups(&[(2, &[1, 1, 0, 0]), (3, &[1, 1, 1, 0])])),
    (Op::VectorMultiReduction, 3, Change::Dense("reduction_dims")),
    (Op::TpuEnqueueDma, 4, Change::Zero("priority")),
    (Op::TpuDynamicGather, 5, Change::List("dimension", "dimensions")),
    (Op::TpuIota, 6, Change::List("dimension", "dimensions")),
    (Op::TpuWaitDma2, 7, Change::Groups(&[(3, &[1, 1, 1, 0, 0])])),
    (Op::TpuMatmul, 13, Change::False("transpose_lhs_hint")),
    (Op::TpuEnqueueDma, 14, Change::AddGroup(6)),
    (Op::TpuEnqueueDma, 14, Change::SplitCore(5, 6)),
    (Op::TpuWaitDma, 14, Change::AddGroup(6)),
    (Op::TpuWaitDma, 14, Change::SplitCore(5, 6)),
    (Op::TpuSemSignal, 14, Change::AddGroup(4)),
    (Op::TpuSemSignal, 14, Change::SplitCore(3, 4)),
    (Op::TpuReinterpretCast, 15, Change::Groups(&[(1, &[1, 0, 0]), (2, &[1, 1, 0])])),
    (Op::TpuReinterpretCast, 16, Change::AddGroup(3)),
    (Op::TpuScan, 17, Change::LastDimension("dimension")),
    (Op::TpuScan, 18, Change::Unsigned("kind")),
];

/// Subcores of a core, on every generation that had formats below 14.
const SUBCORES: i64 = 16;

/// Where operations are put that a rule adds.
pub(super) struct Added<'a> {
    pub(super) values: &'a mut Values<Type>,
    pub(super) block: &'a mut Block,
    pub(super) at: usize,
    pub(super) location: LocationId,
}

impl Added<'_> {
    fn push(
        &mut self,
        op: Op,
        operands: Vec<Value>,
        attributes: Attributes,
    ) -> Result<Value, ReadError> {
        let result = self.values.add(self.at, Type::Scalar(Element::S32))?;
        let ends = (1..=operands.len()).collect();
        let (results, regions, location) = (vec![result], Vec::new(), self.location);
        let operation = Operation { op, operands, ends, results, attributes, regions, location };
        self.block.operations.push(operation);
        Ok(result)
    }
}

/// What an operation has become that was dropped: `tpu.wait_dma` of a semaphore and the memory
/// that it waits for, which formats up to 4 had beside [`Op::TpuWaitDma2`].
pub(super) fn renamed(op: Op, operands: &mut Vec<Value>, attributes: &mut Attributes) -> Op {
    match (op, operands.as_slice()) {
        (Op::TpuWaitDma, &[_, memory]) if attributes.get("operandSegmentSizes").is_none() => {
            operands.push(memory);
            let sizes = Attribute::Integers(vec![1, 1, 1, 0, 0], Element::S32);
            attributes.set("operandSegmentSizes", sizes);
            Op::TpuWaitDma2
        }
        _ => op,
    }
}

/// Applies the rules for an operation of a module of this format. The inner error is what the
/// operation lacks.
pub(super) fn apply(
    format: i64,
    core: Option<CoreType>,
    op: Op,
    operands: &mut Vec<Value>,
    attributes: &mut Attributes,
    added: &mut Added<'_>,
) -> Result<Result<(), String>, ReadError> {
    if format >= NEWEST {
        return Ok(Ok(()));
    }
    for (_, _, change) in RULES.iter().filter(|(of, below, _)| *of == op && format < *below) {
        let done = match *change {
            Change::SplitCore(core_group, subcore) if core == Some(CoreType::VectorSubcore) => {
                split_core(core_group, subcore, operands, attributes, added)?
            }
            Change::SplitCore(..) => Ok(()),
            Change::LastDimension(_) | Change::Unsigned(_) => {
                let first = operands.first().map(|value| type_in(&added.values.types, *value));
                by_type(*change, first, attributes)
            }
            other => simple(other, operands.len(), attributes),
        };
        if done.is_err() {
            return Ok(done);
        }
    }
    Ok(Ok(()))
}

fn simple(change: Change, operands: usize, attributes: &mut Attributes) -> Result<(), String> {
    match change {
        Change::Groups(rows) => {
            let row = rows.iter().find(|(count, _)| *count == operands);
            let (_, sizes) = row.ok_or_else(|| format!("{operands} operands"))?;
            let sizes = Attribute::Integers(sizes.to_vec(), Element::S32);
            attributes.set("operandSegmentSizes", sizes);
        }
        Change::AddGroup(before) => {
            let mut sizes = sizes(attributes)?;
            if sizes.len() != before {
                return Err(format!("{} groups of operands, {before} are needed", sizes.len()));
            }
            sizes.push(0);
            attributes.set("operandSegmentSizes", Attribute::Integers(sizes, Element::S32));
        }
        Change::False(name) => attributes.set(name, Attribute::Bool(false)),
        Change::Zero(name) => attributes.set(name, Attribute::Integer(0, Element::S32)),
        Change::Dense(name) => {
            let Some(Attribute::Array(items)) = attributes.get(name) else {
                return Err(format!("the attribute {name} is not a list"));
            };
            let items = items.iter().map(Attribute::integer).collect::<Option<Vec<_>>>();
            let items = items.ok_or_else(|| format!("the attribute {name} has no integers"))?;
            attributes.set(name, Attribute::Integers(items, Element::S64));
        }
        Change::List(from, to) => {
            let Some(Attribute::Integer(value, Element::S32)) = attributes.take(from) else {
                return Err(format!("the attribute {from} is not an i32"));
            };
            attributes.set(to, Attribute::Integers(vec![value], Element::S32));
        }
        Change::SplitCore(..) | Change::LastDimension(_) | Change::Unsigned(_) => {}
    }
    Ok(())
}

/// What depends on the type of the first operand.
fn by_type(change: Change, of: Option<&Type>, attributes: &mut Attributes) -> Result<(), String> {
    let Some(Type::Vector(vector)) = of else {
        return Err("the first operand is no vector".to_owned());
    };
    match change {
        Change::LastDimension(name) => {
            let last = i64::try_from(vector.dims.len()).unwrap_or(i64::MAX) - 1;
            attributes.set(name, Attribute::Integer(last, Element::S64));
        }
        Change::Unsigned(name) => {
            let float = tpu_mlir::float::width(vector.element).is_some();
            let kind = match (attributes.get(name), float) {
                (Some(Attribute::ReductionKind(ReductionKind::Max)), true) => ReductionKind::Maxf,
                (Some(Attribute::ReductionKind(ReductionKind::Min)), true) => ReductionKind::Minf,
                (Some(Attribute::ReductionKind(ReductionKind::Max)), false) => ReductionKind::Maxui,
                (Some(Attribute::ReductionKind(ReductionKind::Min)), false) => ReductionKind::Minui,
                _ => return Ok(()),
            };
            attributes.set(name, Attribute::ReductionKind(kind));
        }
        _ => {}
    }
    Ok(())
}

fn sizes(attributes: &Attributes) -> Result<Vec<i64>, String> {
    match attributes.get("operandSegmentSizes") {
        Some(Attribute::Integers(sizes, _)) => Ok(sizes.clone()),
        _ => Err("no operandSegmentSizes".to_owned()),
    }
}

fn split_core(
    core: usize,
    subcore: usize,
    operands: &mut Vec<Value>,
    attributes: &mut Attributes,
    added: &mut Added<'_>,
) -> Result<Result<(), String>, ReadError> {
    let mut sizes = match sizes(attributes) {
        Ok(sizes) => sizes,
        Err(what) => return Ok(Err(what)),
    };
    let place = |group: usize| -> Option<usize> {
        sizes
            .get(..group)?
            .iter()
            .try_fold(0_usize, |sum, size| sum.checked_add(usize::try_from(*size).ok()?))
    };
    let (Some(core_at), Some(subcore_at)) = (place(core), place(subcore)) else {
        return Ok(Err(format!("operands in groups of {sizes:?}")));
    };
    if sizes.get(core) == Some(&0) {
        return Ok(Ok(()));
    }
    let (Some(&linear), true) = (operands.get(core_at), subcore_at <= operands.len()) else {
        return Ok(Err(format!("{} operands in groups of {sizes:?}", operands.len())));
    };
    let mut value = Attributes::default();
    value.set("value", Attribute::Integer(SUBCORES, Element::S32));
    let count = added.push(Op::ArithConstant, Vec::new(), value)?;
    operands[core_at] = added.push(Op::ArithDivui, vec![linear, count], Attributes::default())?;
    let within = added.push(Op::ArithRemui, vec![linear, count], Attributes::default())?;
    operands.insert(subcore_at, within);
    sizes[subcore] = 1;
    attributes.set("operandSegmentSizes", Attribute::Integers(sizes, Element::S32));
    Ok(Ok(()))
}
