//! What the values of a function stand for while it is read.
use super::super::graph::ValueId;
use super::types::declared;
use std::collections::{BTreeMap, HashMap};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::{Function, Type, Value};

/// What a value of the module stands for.
#[derive(Debug, Clone)]
pub(crate) enum Binding {
    /// An array. The shape here is the one that counts: a reshape names the same bytes anew.
    Array(ValueId, Shape),
    /// Several.
    Tuple(Vec<Binding>),
    /// An array of which every device has a copy of its own, by device: the copies may differ.
    /// Only code over whole arrays has them.
    Copies(Vec<Binding>),
}

impl Binding {
    /// The array.
    pub(crate) fn array(&self) -> Result<(ValueId, &Shape)> {
        match self {
            Self::Array(value, shape) => Ok((*value, shape)),
            Self::Tuple(_) => Err(Error::bad("a tuple where an array is needed")),
            Self::Copies(_) => {
                let what = "an array that differs between devices where one is needed";
                Err(Error::Unimplemented(what.to_owned()))
            }
        }
    }

    /// Whether devices have copies of it that may differ.
    pub(crate) fn has_copies(&self) -> bool {
        match self {
            Self::Array(..) => false,
            Self::Tuple(items) => items.iter().any(Self::has_copies),
            Self::Copies(_) => true,
        }
    }

    /// What a device has of it.
    pub(crate) fn on(&self, device: usize) -> Self {
        match self {
            Self::Array(..) => self.clone(),
            Self::Tuple(items) => Self::Tuple(items.iter().map(|item| item.on(device)).collect()),
            Self::Copies(copies) => copies[device].clone(),
        }
    }

    /// Appends the arrays, tuples opened.
    pub(crate) fn leaves(&self, into: &mut Vec<ValueId>) {
        match self {
            Self::Array(value, _) => into.push(*value),
            Self::Tuple(items) | Self::Copies(items) => {
                items.iter().for_each(|item| item.leaves(into));
            }
        }
    }

    /// Visits the arrays; they may be given another value.
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(ValueId, &Shape)) {
        match self {
            Self::Array(value, shape) => visit(*value, shape),
            Self::Tuple(items) | Self::Copies(items) => {
                items.iter_mut().for_each(|item| item.each(visit));
            }
        }
    }

    /// Appends the arrays and their shapes, tuples opened.
    pub(crate) fn arrays(&self, values: &mut Vec<ValueId>, shapes: &mut Vec<Shape>) {
        match self {
            Self::Array(value, shape) => {
                values.push(*value);
                shapes.push(shape.clone());
            }
            Self::Tuple(items) | Self::Copies(items) => {
                items.iter().for_each(|item| item.arrays(values, shapes));
            }
        }
    }

    /// Appends the arrays and their shapes, tuples opened; of copies what each device has.
    pub(super) fn by_device(
        &self,
        values: &mut Vec<Vec<ValueId>>,
        shapes: &mut Vec<Shape>,
    ) -> Result<()> {
        match self {
            Self::Array(value, shape) => {
                values.push(vec![*value]);
                shapes.push(shape.clone());
            }
            Self::Tuple(items) => {
                items.iter().try_for_each(|item| item.by_device(values, shapes))?;
            }
            Self::Copies(copies) => {
                let arrays = copies.iter().map(Self::array).collect::<Result<Vec<_>>>()?;
                values.push(arrays.iter().map(|(value, _)| *value).collect());
                shapes.push(arrays[0].1.clone());
            }
        }
        Ok(())
    }

    /// The same structure over other values, in order.
    pub(crate) fn rebuilt(&self, values: &mut impl Iterator<Item = ValueId>) -> Option<Self> {
        Some(match self {
            Self::Array(_, shape) => Self::Array(values.next()?, shape.clone()),
            Self::Tuple(items) => {
                Self::Tuple(items.iter().map(|item| item.rebuilt(values)).collect::<Option<_>>()?)
            }
            Self::Copies(copies) => {
                let copies = copies.iter().map(|copy| copy.rebuilt(values));
                Self::Copies(copies.collect::<Option<_>>()?)
            }
        })
    }

    /// Whether it fits a declared type.
    pub(crate) fn check(&self, of: &Type) -> Result<()> {
        match (self, of) {
            (Self::Copies(copies), of) => copies.iter().try_for_each(|copy| copy.check(of)),
            (Self::Tuple(items), Type::Tuple(types)) if items.len() == types.len() => {
                items.iter().zip(types).try_for_each(|(item, of)| item.check(of))
            }
            (Self::Array(_, shape), of) => {
                let wanted = declared(of)?;
                let dims = wanted.dims.len() == shape.rank()
                    && wanted
                        .dims
                        .iter()
                        .zip(&shape.dims)
                        .all(|(wanted, had)| wanted.is_none_or(|wanted| wanted == *had));
                if dims && wanted.dtype == shape.dtype {
                    return Ok(());
                }
                Err(Error::bad(format!("{shape} where {} is declared", text(of))))
            }
            (Self::Tuple(_), of) => {
                Err(Error::bad(format!("a tuple where {} is declared", text(of))))
            }
        }
    }
}

/// A type for people.
pub(super) fn text(of: &Type) -> String {
    match declared(of) {
        Ok(declared) => {
            let dims: Vec<String> = declared
                .dims
                .iter()
                .map(|dim| dim.map_or_else(|| "?".to_owned(), |dim| dim.to_string()))
                .collect();
            format!("{}[{}]", declared.dtype.name(), dims.join(","))
        }
        Err(_) => format!("{of:?}"),
    }
}

/// The values of one function while it is inlined.
#[derive(Debug, Clone)]
pub(crate) struct Scope<'m> {
    function: &'m Function,
    bindings: Vec<Option<Binding>>,
    /// Values between XLA's markers, by device.
    parts: BTreeMap<Value, Vec<Binding>>,
    /// Values with a stated sharding.
    shardings: HashMap<Value, &'m str>,
}

impl<'m> Scope<'m> {
    pub(crate) fn new(function: &'m Function) -> Self {
        let (parts, shardings) = (BTreeMap::new(), HashMap::new());
        Self { function, bindings: vec![None; function.values.len()], parts, shardings }
    }

    /// This scope; an empty one stays.
    pub(crate) fn taken(&mut self) -> Self {
        let (parts, shardings) = (BTreeMap::new(), HashMap::new());
        let empty = Self { function: self.function, bindings: Vec::new(), parts, shardings };
        std::mem::replace(self, empty)
    }

    /// Whether a value stands for one array on each device.
    pub(crate) fn has_parts(&self, value: Value) -> bool {
        self.parts.contains_key(&value)
    }

    /// What a value stands for on each device.
    pub(crate) fn parts_of(&self, value: Value) -> Result<Vec<Binding>> {
        self.parts.get(&value).cloned().ok_or_else(|| unknown(value))
    }

    /// Says what a value stands for on each device.
    pub(crate) fn bind_parts(&mut self, value: Value, parts: Vec<Binding>) {
        self.parts.insert(value, parts);
    }

    /// What values stand for on one device.
    pub(crate) fn of_device(&self, device: usize) -> Self {
        let on = |binding: &Option<Binding>| binding.as_ref().map(|binding| binding.on(device));
        let mut scope = Self {
            function: self.function,
            bindings: self.bindings.iter().map(on).collect(),
            parts: BTreeMap::new(),
            shardings: self.shardings.clone(),
        };
        for (value, parts) in &self.parts {
            if let Some(slot) = scope.bindings.get_mut(value.0 as usize) {
                *slot = parts.get(device).cloned();
            }
        }
        scope
    }

    /// Says how a value is split.
    pub(crate) fn state_sharding(&mut self, value: Value, text: &'m str) {
        self.shardings.insert(value, text);
    }

    /// How a value is split, if that was said.
    pub(crate) fn sharding_of(&self, value: Value) -> Option<&'m str> {
        self.shardings.get(&value).copied()
    }

    /// The same function with nothing bound.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.function)
    }

    /// Binds what `translate` makes of the bindings of another scope of the same function.
    pub(super) fn adopt(
        &mut self,
        other: &Self,
        translate: &mut dyn FnMut(&Binding) -> Option<Binding>,
    ) {
        for (slot, binding) in self.bindings.iter_mut().zip(&other.bindings) {
            *slot = binding.as_ref().and_then(&mut *translate);
        }
    }

    /// The function.
    pub(super) fn function(&self) -> &'m Function {
        self.function
    }

    /// The declared type of a value.
    pub(crate) fn type_of(&self, value: Value) -> Result<&'m Type> {
        self.function.values.get(value.0 as usize).ok_or_else(|| unknown(value))
    }

    /// What a value stands for.
    pub(crate) fn binding(&self, value: Value) -> Result<&Binding> {
        let binding = self.bindings.get(value.0 as usize).and_then(Option::as_ref);
        binding.ok_or_else(|| unknown(value))
    }

    /// Says what a value stands for.
    pub(crate) fn bind(&mut self, value: Value, binding: Binding) -> Result<()> {
        let slot = self.bindings.get_mut(value.0 as usize).ok_or_else(|| unknown(value))?;
        *slot = Some(binding);
        Ok(())
    }
}

fn unknown(value: Value) -> Error {
    Error::bad(format!("value {} is used before it is defined", value.0))
}
