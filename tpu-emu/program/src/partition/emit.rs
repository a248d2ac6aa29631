//! The operations of one device's program, in the order of the program over whole arrays.
use super::Form;
use super::axes::{Axes, Layout, piece};
use super::propagate::Layouts;
use super::waiting::{PendingSums, moved_once};
use crate::operation_factors::dims;
use std::collections::{HashMap, HashSet};
use tpu_base::error::{Error, Result};
use tpu_ops::{CONSTANT, CONVERT, DYNAMIC_SLICE, Entry, full_name};
use tpu_ops::{PARTITION_ID, RESHAPE};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{
    Attribute, Attributes, Block, Element, Elements, Function, LocationId, Operation, Region,
    TensorType, Type, Value,
};

/// What a device has of a value.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) value: Value,
    pub(super) layout: Layout,
}

/// Writes a device's program.
pub(super) struct Emitter<'m> {
    pub(super) module: &'m Module,
    pub(super) function: &'m Function,
    pub(super) axes: &'m Axes,
    pub(super) layouts: &'m Layouts,
    pub(super) form: Form,
    /// Types of the values that are written.
    values: Vec<Type>,
    /// What stands for each value that is read.
    placed: Vec<Option<Placed>>,
    /// The block that is being written.
    pub(super) out: Vec<Operation>,
    /// What every block may use: it comes first.
    head: Vec<Operation>,
    /// The device's number along some axes.
    numbers: HashMap<Vec<u8>, Value>,
    /// Values that were brought to another layout, by block.
    pub(super) brought: Vec<HashMap<(Value, Layout), Value>>,
    /// Values with one element everywhere.
    pub(super) splats: HashMap<Value, Elements>,
    /// Sums that are made when the first of them is read.
    pub(super) pending: Vec<PendingSums>,
    /// The values that are not written yet, and the number of the sums that they wait for.
    pub(super) waiting: HashMap<Value, usize>,
    pub(super) groups_of_sums: usize,
    /// The values that are read by one operation, which moves their elements.
    pub(super) moved_once: HashSet<Value>,
    /// Groups of devices along axes.
    pub(super) groups: HashMap<Vec<u8>, Attribute>,
    pub(super) channels: i64,
    /// Whether no device needs its number.
    pub(super) everywhere: bool,
    /// Whether all that is computed is one device's already in the program.
    pub(super) per_device: bool,
    /// Where what is written comes from.
    pub(super) location: LocationId,
}

impl<'m> Emitter<'m> {
    pub(super) fn new(
        (module, function, axes): (&'m Module, &'m Function, &'m Axes),
        layouts: &'m Layouts,
        form: Form,
    ) -> Self {
        Self {
            module,
            function,
            axes,
            layouts,
            form,
            values: Vec::with_capacity(function.values.len()),
            placed: vec![None; function.values.len()],
            out: Vec::new(),
            head: Vec::new(),
            numbers: HashMap::new(),
            brought: vec![HashMap::new()],
            splats: HashMap::new(),
            pending: Vec::new(),
            waiting: HashMap::new(),
            groups_of_sums: 0,
            moved_once: moved_once(function),
            groups: HashMap::new(),
            channels: 0,
            everywhere: true,
            per_device: true,
            location: LocationId::UNKNOWN,
        }
    }

    /// The body of the program, and the types of its values.
    pub(super) fn main(
        &mut self,
        block: &'m Block,
        parameters: &[Layout],
        results: &[Layout],
    ) -> Result<(Region, Vec<Type>)> {
        let arguments = self.arguments(&block.arguments, parameters)?;
        let mut operations = self.operations(block, results)?;
        let mut all = std::mem::take(&mut self.head);
        all.append(&mut operations);
        let blocks = vec![Block { arguments, operations: all }];
        Ok((Region { blocks }, std::mem::take(&mut self.values)))
    }

    /// New parameters of a block, with these layouts.
    pub(super) fn arguments(&mut self, old: &[Value], layouts: &[Layout]) -> Result<Vec<Value>> {
        let mut new = Vec::with_capacity(old.len());
        for (&argument, layout) in old.iter().zip(layouts) {
            let of = self.local(self.function.type_of(argument), layout)?;
            let value = self.value(of);
            self.place(argument, value, layout.clone());
            new.push(value);
        }
        Ok(new)
    }

    /// A block's operations; its results are brought to these layouts.
    pub(super) fn operations(
        &mut self,
        block: &'m Block,
        results: &[Layout],
    ) -> Result<Vec<Operation>> {
        self.sum_all();
        let outer = std::mem::take(&mut self.out);
        self.brought.push(HashMap::new());
        let (last, operations) =
            block.operations.split_last().ok_or_else(|| Error::bad("a block without an end"))?;
        for operation in operations {
            self.operation(operation)?;
        }
        self.location = last.location;
        let mut operands = Vec::with_capacity(last.operands.len());
        for (at, &value) in last.operands.iter().enumerate() {
            let whole = || Layout::whole(self.rank(value));
            let layout = results.get(at).cloned().unwrap_or_else(whole);
            operands.push(self.get(value, &layout)?);
        }
        self.sum_all();
        self.out.push(Operation { operands, ..last.clone() });
        self.brought.pop();
        Ok(std::mem::replace(&mut self.out, outer))
    }

    /// Axes of a value that is read.
    pub(super) fn rank(&self, value: Value) -> usize {
        self.function.type_of(value).tensor().map_or(0, |tensor| tensor.dims.len())
    }

    /// The type of a device's part.
    ///
    /// # Errors
    /// `Unimplemented` where an extent that is split is not known.
    pub(super) fn local(&self, of: &Type, layout: &Layout) -> Result<Type> {
        let Type::Tensor(tensor) = of else { return Ok(of.clone()) };
        let mut part = tensor.clone();
        for (dim, axes) in part.dims.iter_mut().zip(&layout.0).filter(|(_, axes)| !axes.is_empty())
        {
            if *dim < 0 {
                return Err(Error::Unimplemented("an unknown extent in parts".to_owned()));
            }
            *dim = piece(*dim, self.count(axes));
        }
        Ok(Type::Tensor(part))
    }

    /// A new value.
    pub(super) fn value(&mut self, of: Type) -> Value {
        let value = Value(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(of);
        value
    }

    /// The type of a value that was written.
    pub(super) fn written(&self, value: Value) -> &Type {
        &self.values[value.0 as usize]
    }

    /// The array type of a value that was written.
    pub(super) fn tensor(&self, value: Value) -> Result<TensorType> {
        let tensor = self.written(value).tensor().cloned();
        tensor.ok_or_else(|| Error::bad("a value that is no array is split"))
    }

    /// Says what stands for a value that is read.
    pub(super) fn place(&mut self, old: Value, value: Value, layout: Layout) {
        self.placed[old.0 as usize] = Some(Placed { value, layout });
    }

    /// What stands for a value that is read.
    pub(super) fn placed(&self, old: Value) -> Result<&Placed> {
        let found = self.placed.get(old.0 as usize).and_then(Option::as_ref);
        found.ok_or_else(|| Error::bad("a value is used before it is made"))
    }

    /// What stands for a value, in a layout.
    pub(super) fn get(&mut self, old: Value, layout: &Layout) -> Result<Value> {
        let Placed { value, layout: from } = self.placed(old)?.clone();
        self.brought(value, &from, (layout, dims(self.function, old)))
    }

    /// Writes an operation.
    pub(super) fn write(
        &mut self,
        name: impl Into<tpu_stablehlo::ir::Name>,
        operands: Vec<Value>,
        types: Vec<Type>,
        (attributes, regions): (Attributes, Vec<Region>),
    ) -> Vec<Value> {
        let results: Vec<Value> = types.into_iter().map(|of| self.value(of)).collect();
        self.write_as(name.into(), operands, results.clone(), (attributes, regions));
        results
    }

    /// Writes an operation whose results have their names.
    pub(super) fn write_as(
        &mut self,
        name: tpu_stablehlo::ir::Name,
        operands: Vec<Value>,
        results: Vec<Value>,
        (attributes, regions): (Attributes, Vec<Region>),
    ) {
        let location = self.location;
        let operation = Operation { name, operands, results, attributes, regions, location };
        self.write_or_wait(operation);
    }

    /// Writes an operation of one result, without code inside.
    pub(super) fn simple(
        &mut self,
        entry: &Entry,
        operands: Vec<Value>,
        of: Type,
        attributes: Attributes,
    ) -> Value {
        self.write(full_name(entry), operands, vec![of], (attributes, Vec::new()))[0]
    }

    /// A constant of some 32-bit integers.
    fn integers(&mut self, numbers: &[usize]) -> Value {
        let extent = i64::try_from(numbers.len()).unwrap_or(i64::MAX);
        let of = TensorType::new(Element::S32, vec![extent]);
        let bytes = numbers
            .iter()
            .flat_map(|&number| i32::try_from(number).unwrap_or(i32::MAX).to_le_bytes());
        let splat = numbers.len() > 1 && numbers.iter().all(|number| *number == numbers[0]);
        let data = if splat { bytes.take(4).collect() } else { bytes.collect() };
        let elements = Elements { of: of.clone(), data, splat };
        let attributes = Attributes(vec![("value".into(), Attribute::Elements(elements))]);
        self.simple(&CONSTANT, Vec::new(), Type::Tensor(of), attributes)
    }

    /// Writes what every block may use.
    fn at_the_head<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        std::mem::swap(&mut self.head, &mut self.out);
        let location = std::mem::take(&mut self.location);
        let made = write(self);
        self.location = location;
        std::mem::swap(&mut self.head, &mut self.out);
        made
    }

    /// The device's number along some axes, as a 32-bit integer.
    pub(super) fn number(&mut self, axes: &[u8]) -> Value {
        if let Some(&known) = self.numbers.get(axes) {
            return known;
        }
        self.everywhere = false;
        let numbers = self.axes.numbers(axes);
        let scalar = Type::Tensor(TensorType::new(Element::S32, Vec::new()));
        let made = self.at_the_head(|this| {
            let of = match this.form {
                Form::Plan => return this.scalar(Element::S32, 0),
                Form::Text => &PARTITION_ID,
                #[cfg(test)]
                Form::Replicas => &tpu_ops::REPLICA_ID,
            };
            let id = Type::Tensor(TensorType::new(Element::U32, Vec::new()));
            let id = this.simple(of, Vec::new(), id, Attributes::default());
            let table = this.integers(&numbers);
            let one = Type::Tensor(TensorType::new(Element::S32, vec![1]));
            let sizes = Attributes(vec![("slice_sizes".into(), Attribute::Integers(vec![1]))]);
            let part = this.simple(&DYNAMIC_SLICE, vec![table, id], one, sizes);
            this.simple(&RESHAPE, vec![part], scalar, Attributes::default())
        });
        self.numbers.insert(axes.to_vec(), made);
        made
    }

    /// Where the device's part of so many elements begins along some axes.
    pub(super) fn start(&mut self, axes: &[u8], size: i64) -> Value {
        self.place_at(axes, [0, size])
    }

    /// A scalar in another type.
    pub(super) fn converted(&mut self, scalar: Value, to: Element) -> Value {
        if to == Element::S32 {
            return scalar;
        }
        let of = Type::Tensor(TensorType::new(to, Vec::new()));
        self.simple(&CONVERT, vec![scalar], of, Attributes::default())
    }

    /// A constant with this element everywhere.
    pub(super) fn splat(&mut self, elements: &Elements, of: TensorType) -> Value {
        let width = of.element.bytes().unwrap_or(1);
        let one = elements.data.get(..width).unwrap_or(&elements.data);
        let count = of.dims.iter().product::<i64>();
        let data = if count == 0 { Vec::new().into() } else { one.into() };
        let constant = Elements { of: of.clone(), data, splat: count > 1 };
        let attributes = Attributes(vec![("value".into(), Attribute::Elements(constant))]);
        let value = self.simple(&CONSTANT, Vec::new(), Type::Tensor(of), attributes);
        self.splats.insert(value, elements.clone());
        value
    }
}
