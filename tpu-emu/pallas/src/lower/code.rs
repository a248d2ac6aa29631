//! The code of a piece while it is written: operations of StableHLO, one after the other.
use std::sync::Arc;
use tpu_mosaic::ir as mosaic;
use tpu_stablehlo::ir::{
    Attribute, Attributes, Block, Element, Elements, Function, LocationId, Module, Name, Operation,
    Region, TensorType, Type, Value,
};

/// Why something cannot be lowered.
pub(crate) type Refused<T> = Result<T, String>;

/// Operations of a piece.
#[derive(Debug, Default)]
pub(crate) struct Code {
    types: Vec<Type>,
    operations: Vec<Operation>,
}

/// Attributes by name.
pub(crate) fn attributes<const N: usize>(all: [(&'static str, Attribute); N]) -> Attributes {
    let mut list = Attributes(all.map(|(name, value)| (Name::Borrowed(name), value)).into());
    list.sort();
    list
}

/// A list of integers as an attribute.
pub(crate) fn integers(all: impl IntoIterator<Item = i64>) -> Attribute {
    Attribute::Integers(all.into_iter().collect())
}

/// An extent or an axis as an integer of the format.
pub(crate) fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Code {
    /// A value of a type.
    pub(crate) fn value(&mut self, element: Element, dims: &[i64]) -> Value {
        self.types.push(Type::Tensor(TensorType::new(element, dims.to_vec())));
        Value(u32::try_from(self.types.len() - 1).unwrap_or(u32::MAX))
    }

    fn tensor(&self, value: Value) -> (Element, &[i64]) {
        match &self.types[value.0 as usize] {
            Type::Tensor(tensor) => (tensor.element, &tensor.dims),
            _ => (Element::Pred, &[]),
        }
    }

    /// The extents of a value.
    pub(crate) fn dims(&self, value: Value) -> Vec<i64> {
        self.tensor(value).1.to_vec()
    }

    /// The type of a value's elements.
    pub(crate) fn element(&self, value: Value) -> Element {
        self.tensor(value).0
    }

    /// An operation with one result.
    pub(crate) fn emit(
        &mut self,
        name: &'static str,
        operands: &[Value],
        attributes: Attributes,
        element: Element,
        dims: &[i64],
    ) -> Value {
        let result = self.value(element, dims);
        self.push(name, operands, attributes, Vec::new(), vec![result]);
        result
    }

    /// An operation with regions and any results.
    pub(crate) fn push(
        &mut self,
        name: &'static str,
        operands: &[Value],
        attributes: Attributes,
        regions: Vec<Region>,
        results: Vec<Value>,
    ) {
        self.operations.push(Operation {
            name: Name::Borrowed(name),
            operands: operands.to_vec(),
            results,
            attributes,
            regions,
            location: LocationId::UNKNOWN,
        });
    }

    /// An operation on elements at the same place, with the type of its first operand.
    pub(crate) fn map(&mut self, name: &'static str, operands: &[Value]) -> Value {
        let (element, dims) = (self.element(operands[0]), self.dims(operands[0]));
        self.emit(name, operands, Attributes::default(), element, &dims)
    }

    /// `compare` in a direction.
    pub(crate) fn compare(&mut self, direction: &'static str, a: Value, b: Value) -> Value {
        let dims = self.dims(a);
        let word = Attribute::Word(direction.into());
        let of = attributes([("comparison_direction", word)]);
        self.emit("stablehlo.compare", &[a, b], of, Element::Pred, &dims)
    }

    /// A constant from elements of the format.
    pub(crate) fn elements(&mut self, elements: &mosaic::Elements) -> Value {
        let element = storage(elements.of.element);
        let of = TensorType::new(element, elements.of.dims.clone());
        let (data, splat) = (Arc::clone(&elements.data), elements.splat);
        let value = Attribute::Elements(Elements { of, data, splat });
        let dims = elements.of.dims.clone();
        self.emit("stablehlo.constant", &[], attributes([("value", value)]), element, &dims)
    }

    /// The bytes of one element everywhere.
    pub(crate) fn splat(&mut self, element: Element, dims: &[i64], data: &[u8]) -> Value {
        let of = TensorType::new(element, dims.to_vec());
        let count: i64 = dims.iter().product();
        let data: Arc<[u8]> = if count == 0 { Arc::default() } else { data.into() };
        let value = Attribute::Elements(Elements { of, data, splat: true });
        self.emit("stablehlo.constant", &[], attributes([("value", value)]), element, dims)
    }

    /// An integer everywhere, in the low bits.
    pub(crate) fn integer(&mut self, element: Element, dims: &[i64], value: i64) -> Value {
        let bytes = value.to_le_bytes();
        let width = element.bytes().unwrap_or(1).min(bytes.len());
        self.splat(element, dims, &bytes[..width])
    }

    /// One everywhere as a float; `None` for a type that is none.
    pub(crate) fn float(&mut self, element: Element, dims: &[i64], value: f32) -> Value {
        let one = self.splat(Element::F32, dims, &value.to_le_bytes());
        if element == Element::F32 { one } else { self.convert(one, element) }
    }

    /// Elements of another type.
    pub(crate) fn convert(&mut self, value: Value, element: Element) -> Value {
        if self.element(value) == element {
            return value;
        }
        let dims = self.dims(value);
        self.emit("stablehlo.convert", &[value], Attributes::default(), element, &dims)
    }

    /// The same bits as elements of a type of the same width.
    pub(crate) fn bits(&mut self, value: Value, element: Element) -> Value {
        if self.element(value) == element {
            return value;
        }
        let dims = self.dims(value);
        self.rebits(value, element, &dims)
    }

    /// The same bits, with the last dimension to make up for another width.
    pub(crate) fn rebits(&mut self, value: Value, element: Element, dims: &[i64]) -> Value {
        self.emit("stablehlo.bitcast_convert", &[value], Attributes::default(), element, dims)
    }

    /// The same elements with other extents.
    pub(crate) fn reshape(&mut self, value: Value, dims: &[i64]) -> Value {
        if self.dims(value) == dims {
            return value;
        }
        let element = self.element(value);
        self.emit("stablehlo.reshape", &[value], Attributes::default(), element, dims)
    }

    /// Dimension `d` of the result is dimension `order[d]`.
    pub(crate) fn transpose(&mut self, value: Value, order: &[usize]) -> Value {
        if order.iter().copied().eq(0..order.len()) {
            return value;
        }
        let (element, dims) = (self.element(value), self.dims(value));
        let to: Vec<i64> = order.iter().map(|&from| dims[from]).collect();
        let order = integers(order.iter().map(|&from| signed(from)));
        self.emit(
            "stablehlo.transpose",
            &[value],
            attributes([("permutation", order)]),
            element,
            &to,
        )
    }

    /// Dimension `d` of the value along dimension `axes[d]` of the result.
    pub(crate) fn broadcast(&mut self, value: Value, dims: &[i64], axes: &[usize]) -> Value {
        let element = self.element(value);
        let axes = integers(axes.iter().map(|&axis| signed(axis)));
        let of = attributes([("broadcast_dimensions", axes)]);
        self.emit("stablehlo.broadcast_in_dim", &[value], of, element, dims)
    }

    /// One element everywhere.
    pub(crate) fn spread(&mut self, scalar: Value, dims: &[i64]) -> Value {
        if dims.is_empty() { scalar } else { self.broadcast(scalar, dims, &[]) }
    }

    /// A part with known bounds.
    pub(crate) fn slice(&mut self, value: Value, from: &[i64], to: &[i64], by: &[i64]) -> Value {
        let element = self.element(value);
        let extents = from.iter().zip(to).zip(by);
        let dims: Vec<i64> = extents.map(|((from, to), by)| pieces(to - from, *by)).collect();
        let of = attributes([
            ("limit_indices", integers(to.iter().copied())),
            ("start_indices", integers(from.iter().copied())),
            ("strides", integers(by.iter().copied())),
        ]);
        self.emit("stablehlo.slice", &[value], of, element, &dims)
    }

    /// A part of one dimension.
    pub(crate) fn part(&mut self, value: Value, axis: usize, from: i64, to: i64) -> Value {
        let dims = self.dims(value);
        let (mut starts, mut limits) = (vec![0; dims.len()], dims.clone());
        (starts[axis], limits[axis]) = (from, to);
        self.slice(value, &starts, &limits, &vec![1; dims.len()])
    }

    /// A part that begins at computed places.
    pub(crate) fn dynamic_slice(&mut self, value: Value, starts: &[Value], sizes: &[i64]) -> Value {
        let element = self.element(value);
        let mut operands = vec![value];
        operands.extend_from_slice(starts);
        let of = attributes([("slice_sizes", integers(sizes.iter().copied()))]);
        self.emit("stablehlo.dynamic_slice", &operands, of, element, sizes)
    }

    /// Values behind each other along a dimension.
    pub(crate) fn concatenate(&mut self, values: &[Value], axis: usize) -> Value {
        let [first, ..] = values else { return Value(u32::MAX) };
        let (element, mut dims) = (self.element(*first), self.dims(*first));
        dims[axis] = values.iter().map(|&value| self.dims(value)[axis]).sum();
        let of = attributes([("dimension", Attribute::Integer(signed(axis).into(), Element::S64))]);
        self.emit("stablehlo.concatenate", values, of, element, &dims)
    }

    /// Counts along a dimension.
    pub(crate) fn iota(&mut self, element: Element, dims: &[i64], axis: usize) -> Value {
        let axis = Attribute::Integer(signed(axis).into(), Element::S64);
        let of = attributes([("iota_dimension", axis)]);
        self.emit("stablehlo.iota", &[], of, element, dims)
    }

    /// The first where the condition holds, else the second.
    pub(crate) fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let (element, dims) = (self.element(a), self.dims(a));
        self.emit("stablehlo.select", &[condition, a, b], Attributes::default(), element, &dims)
    }

    /// The elements along some dimensions combined by an operation on two.
    pub(crate) fn reduce(
        &mut self,
        name: &'static str,
        value: Value,
        init: Value,
        axes: &[usize],
    ) -> Value {
        let (element, dims) = (self.element(value), self.dims(value));
        let kept = dims.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let kept: Vec<i64> = kept.map(|(_, &dim)| dim).collect();
        let arguments = vec![self.value(element, &[]), self.value(element, &[])];
        let made = self.value(element, &[]);
        let of = |name: &'static str, operands: Vec<Value>, results| Operation {
            name: Name::Borrowed(name),
            operands,
            results,
            attributes: Attributes::default(),
            regions: Vec::new(),
            location: LocationId::UNKNOWN,
        };
        let operations = vec![
            of(name, arguments.clone(), vec![made]),
            of("stablehlo.return", vec![made], Vec::new()),
        ];
        let body = Region { blocks: vec![Block { arguments, operations }] };
        let result = self.value(element, &kept);
        let axes = integers(axes.iter().map(|&axis| signed(axis)));
        let of = attributes([("dimensions", axes)]);
        self.push("stablehlo.reduce", &[value, init], of, vec![body], vec![result]);
        result
    }

    /// Elements of an array at places, each an index along all of its `rank` dimensions.
    pub(crate) fn gather(
        &mut self,
        array: Value,
        places: Value,
        (rank, dims): (usize, &[i64]),
    ) -> Value {
        let all = || integers((0..rank).map(signed));
        let vector = Attribute::Integer(signed(dims.len()).into(), Element::S64);
        let of = attributes([
            ("offset_dims", integers([])),
            ("collapsed_slice_dims", all()),
            ("operand_batching_dims", integers([])),
            ("start_indices_batching_dims", integers([])),
            ("start_index_map", all()),
            ("index_vector_dim", vector),
            ("slice_sizes", integers(vec![1; rank])),
            ("indices_are_sorted", Attribute::Bool(false)),
        ]);
        let element = self.element(array);
        self.emit("stablehlo.gather", &[array, places], of, element, dims)
    }

    /// Updates of an array at places, each an index along all of its dimensions; those outside are
    /// left out, and of several at one place the last one stays or, with the name of an operation,
    /// all are combined.
    pub(crate) fn scatter(
        &mut self,
        array: Value,
        places: Value,
        updates: Value,
        (rank, vector): (usize, usize),
        combined: Option<&'static str>,
    ) -> Value {
        let (element, dims) = (self.element(array), self.dims(array));
        let all = || integers((0..rank).map(signed));
        let of = attributes([
            ("update_window_dims", integers([])),
            ("inserted_window_dims", all()),
            ("input_batching_dims", integers([])),
            ("scatter_indices_batching_dims", integers([])),
            ("scatter_dims_to_operand_dims", all()),
            ("index_vector_dim", Attribute::Integer(signed(vector).into(), Element::S64)),
            ("indices_are_sorted", Attribute::Bool(false)),
            ("unique_indices", Attribute::Bool(false)),
        ]);
        let arguments = vec![self.value(element, &[]), self.value(element, &[])];
        let mut operations = Vec::new();
        let mut made = arguments[1];
        let operation = |name: &'static str, operands: Vec<Value>, results| Operation {
            name: Name::Borrowed(name),
            operands,
            results,
            attributes: Attributes::default(),
            regions: Vec::new(),
            location: LocationId::UNKNOWN,
        };
        if let Some(name) = combined {
            made = self.value(element, &[]);
            operations.push(operation(name, arguments.clone(), vec![made]));
        }
        operations.push(operation("stablehlo.return", vec![made], Vec::new()));
        let body = Region { blocks: vec![Block { arguments, operations }] };
        let result = self.value(element, &dims);
        let operands = [array, places, updates];
        self.push("stablehlo.scatter", &operands, of, vec![body], vec![result]);
        result
    }

    /// The piece as a module.
    pub(crate) fn module(self, parameters: Vec<Value>, results: &[Value]) -> Module {
        let Self { types, mut operations } = self;
        let of = |&value: &Value| (types[value.0 as usize].clone(), Attributes::default());
        let declared = results.iter().map(of).collect();
        operations.push(Operation {
            name: Name::Borrowed("func.return"),
            operands: results.to_vec(),
            results: Vec::new(),
            attributes: Attributes::default(),
            regions: Vec::new(),
            location: LocationId::UNKNOWN,
        });
        let arguments = parameters.iter().map(|_| Attributes::default()).collect();
        let main = Function {
            name: "main".into(),
            public: true,
            attributes: Attributes::default(),
            arguments,
            results: declared,
            values: types,
            body: Region { blocks: vec![Block { arguments: parameters, operations }] },
            location: LocationId::UNKNOWN,
        };
        Module { functions: vec![main], ..Module::default() }
    }
}

/// How many of `by` elements cover an extent.
fn pieces(extent: i64, by: i64) -> i64 {
    if by <= 0 { 0 } else { (extent.max(0) + by - 1) / by }
}

/// The type that elements of a kernel's type are kept as.
pub(crate) fn storage(element: Element) -> Element {
    if element == Element::Index { Element::S64 } else { element }
}

/// The unsigned type of the same width.
pub(crate) fn unsigned(element: Element) -> Element {
    match element {
        Element::S2 => Element::U2,
        Element::S4 => Element::U4,
        Element::S8 => Element::U8,
        Element::S16 => Element::U16,
        Element::S32 => Element::U32,
        Element::S64 | Element::Index => Element::U64,
        other => other,
    }
}

/// Bits of an element; `None` where it has no fixed width here.
pub(crate) fn width(element: Element) -> Option<u32> {
    Some(match element {
        Element::Pred => 1,
        Element::S2 | Element::U2 => 2,
        Element::S4 | Element::U4 | Element::F4E2M1FN => 4,
        Element::F6E2M3FN | Element::F6E3M2FN => 6,
        Element::Index => 64,
        other => u32::try_from(other.bytes()?).ok()? * 8,
    })
}

/// The signed integer type of a width.
pub(crate) fn integer_of(bits: u32) -> Option<Element> {
    Some(match bits {
        2 => Element::S2,
        4 => Element::S4,
        8 => Element::S8,
        16 => Element::S16,
        32 => Element::S32,
        64 => Element::S64,
        _ => return None,
    })
}

/// Whether a type is one of integers or booleans.
pub(crate) fn is_integer(element: Element) -> bool {
    matches!(
        element,
        Element::Pred
            | Element::S2
            | Element::S4
            | Element::S8
            | Element::S16
            | Element::S32
            | Element::S64
            | Element::U2
            | Element::U4
            | Element::U8
            | Element::U16
            | Element::U32
            | Element::U64
            | Element::Index
    )
}
