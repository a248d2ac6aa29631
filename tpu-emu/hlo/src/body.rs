//! A computation as a block of operations.
use crate::reader::{ModuleReader, shape_of};
use crate::{ReadError, attributes, ops, shape};
use std::collections::HashMap;
use std::rc::Rc;
use tpu_proto::xla::{HloInstructionProto, ShapeProto};
use tpu_stablehlo::ir::{
    Attribute, Attributes, Block, Element, Elements, LocationId, Operation, Region, TensorType,
    Type, Value,
};

/// How deep computations may apply one another.
const DEPTH: usize = 64;

/// The arrays of a value, from the left.
#[derive(Debug, Clone)]
pub(crate) struct Item<'a> {
    pub(crate) leaves: Rc<[Value]>,
    /// Where each part of a tuple begins among them, and where the last one ends.
    starts: Rc<[usize]>,
    pub(crate) shape: &'a ShapeProto,
}

impl<'a> Item<'a> {
    fn new(leaves: Vec<Value>, shape: &'a ShapeProto) -> Self {
        let mut starts = vec![0];
        for part in &shape.tuple_shapes {
            starts.push(starts[starts.len() - 1] + shape::count(part));
        }
        Self { leaves: leaves.into(), starts: starts.into(), shape }
    }

    /// A part of a tuple.
    pub(crate) fn part(&self, index: i64) -> Result<&[Value], ReadError> {
        let parts = self.starts.len() - 1;
        let range = usize::try_from(index)
            .ok()
            .and_then(|at| Some(*self.starts.get(at)?..*self.starts.get(at.checked_add(1)?)?));
        let part = range.and_then(|range| self.leaves.get(range));
        part.ok_or_else(|| format!("part {index} of a tuple of {parts}").into())
    }
}

/// A computation while it is read.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    /// The place in the module.
    pub(crate) index: usize,
    items: HashMap<i64, Item<'a>>,
    operations: Vec<Operation>,
    /// Where the instruction that is read comes from.
    pub(crate) location: LocationId,
}

/// A function while it is read.
#[derive(Debug)]
pub(crate) struct FunctionReader<'r, 'a> {
    pub(crate) reader: &'r mut ModuleReader<'a>,
    /// Types of all values.
    pub(crate) values: Vec<Type>,
    depth: usize,
}

impl<'r, 'a> FunctionReader<'r, 'a> {
    pub(crate) fn new(reader: &'r mut ModuleReader<'a>) -> Self {
        Self { reader, values: Vec::new(), depth: 0 }
    }

    /// A value of this type.
    pub(crate) fn value(&mut self, of: Type) -> Result<Value, ReadError> {
        self.reader.pay(1)?;
        let value = u32::try_from(self.values.len()).map_err(|_| "too many values")?;
        self.values.push(of);
        Ok(Value(value))
    }

    pub(crate) fn types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|value| self.values[value.0 as usize].clone()).collect()
    }

    /// The array type of a value.
    pub(crate) fn tensor(&self, value: Value) -> Result<&TensorType, ReadError> {
        self.values[value.0 as usize]
            .tensor()
            .ok_or_else(|| "a token in the place of an array".into())
    }

    /// The computation as a block. Its parameters are the values; the block's arguments are left
    /// to the caller.
    pub(crate) fn block(
        &mut self,
        index: usize,
        arguments: &[Value],
        terminator: &'static str,
    ) -> Result<Block, ReadError> {
        if self.depth >= DEPTH {
            return Err(format!("computations inside of computations, {DEPTH} deep").into());
        }
        self.depth += 1;
        let computation = self.reader.computation(index);
        let types = self.reader.parameter_types(index)?;
        if self.types(arguments) != types {
            let (had, wanted) = (arguments.len(), types.len());
            return Err(format!(
                "the {had} arguments of '{}' are not of the types of its {wanted} parameters",
                computation.name
            )
            .into());
        }
        let mut scope = Scope {
            index,
            items: HashMap::new(),
            operations: Vec::new(),
            location: LocationId::UNKNOWN,
        };
        let mut rest = arguments;
        for parameter in self.reader.parameters(index)? {
            let shape = shape_of(parameter)?;
            let (own, others) = rest.split_at(shape::count(shape));
            rest = others;
            scope.define(parameter.id, Item::new(own.to_vec(), shape))?;
        }
        for instruction in &computation.instructions {
            let place = |error: ReadError| {
                error.within(&computation.name, &instruction.name, &instruction.opcode)
            };
            self.instruction(&mut scope, instruction).map_err(place)?;
        }
        let results = scope.item(self.reader.root(index)?.id)?.leaves.to_vec();
        scope.location = LocationId::UNKNOWN;
        self.emit(&mut scope, terminator, results, Vec::new(), Attributes::default(), Vec::new())?;
        self.depth -= 1;
        Ok(Block { arguments: Vec::new(), operations: scope.operations })
    }

    fn instruction(
        &mut self,
        scope: &mut Scope<'a>,
        instruction: &'a HloInstructionProto,
    ) -> Result<(), ReadError> {
        self.reader.pay(1)?;
        if instruction.opcode == "parameter" {
            return Ok(());
        }
        scope.location = self.reader.metadata.of(instruction.metadata.as_ref());
        let shape = shape_of(instruction)?;
        let leaves = ops::read(self, scope, instruction)?;
        let wanted = shape::leaves(shape)?;
        self.reader.pay(wanted.len())?;
        if self.types(&leaves) != wanted {
            return Err(format!(
                "its {} arrays are not those of its shape, which has {}",
                leaves.len(),
                wanted.len()
            )
            .into());
        }
        scope.define(instruction.id, Item::new(leaves, shape))
    }

    /// Adds an operation; its results have these types.
    pub(crate) fn emit(
        &mut self,
        scope: &mut Scope<'a>,
        name: &'static str,
        operands: Vec<Value>,
        types: Vec<Type>,
        attributes: Attributes,
        regions: Vec<Region>,
    ) -> Result<Vec<Value>, ReadError> {
        self.reader.pay(1)?;
        let mut results = Vec::with_capacity(types.len());
        for of in types {
            results.push(self.value(of)?);
        }
        scope.operations.push(Operation {
            name: name.into(),
            operands,
            results: results.clone(),
            attributes,
            regions,
            location: scope.location,
        });
        Ok(results)
    }

    /// Adds an operation with one result and no region.
    pub(crate) fn emit_one(
        &mut self,
        scope: &mut Scope<'a>,
        name: &'static str,
        operands: &[Value],
        of: Type,
        attributes: Attributes,
    ) -> Result<Value, ReadError> {
        let results =
            self.emit(scope, name, operands.to_vec(), vec![of], attributes, Vec::new())?;
        Ok(results[0])
    }

    /// A constant.
    pub(crate) fn constant(
        &mut self,
        scope: &mut Scope<'a>,
        elements: Elements,
    ) -> Result<Value, ReadError> {
        self.reader.pay(elements.data.len() / 8)?;
        let of = Type::Tensor(elements.of.clone());
        let attributes = attributes::list([("value", Attribute::Elements(elements))]);
        self.emit_one(scope, "stablehlo.constant", &[], of, attributes)
    }

    /// The zero that stands for the number of a transfer, which nothing reads.
    pub(crate) fn context(&mut self, scope: &mut Scope<'a>) -> Result<Value, ReadError> {
        let of = TensorType::new(Element::U32, Vec::new());
        self.constant(scope, Elements { of, data: [0; 4].into(), splat: false })
    }

    /// A computation that an operation applies, as a region with these arguments.
    pub(crate) fn region(
        &mut self,
        scope: &Scope<'a>,
        computation: i64,
        arguments: &[Type],
    ) -> Result<Region, ReadError> {
        let index = self.reader.callee(scope.index, computation)?;
        let mut values = Vec::with_capacity(arguments.len());
        for of in arguments {
            values.push(self.value(of.clone())?);
        }
        let mut block = self.block(index, &values, "stablehlo.return")?;
        block.arguments = values;
        Ok(Region { blocks: vec![block] })
    }

    /// A computation that an operation applies, as a region over the computation's own types.
    pub(crate) fn region_of(
        &mut self,
        scope: &Scope<'a>,
        computation: i64,
        arguments: usize,
    ) -> Result<Region, ReadError> {
        let index = self.reader.callee(scope.index, computation)?;
        let types = self.reader.parameter_types(index)?;
        if types.len() != arguments {
            return Err(format!("{arguments} arguments for {} parameters", types.len()).into());
        }
        self.region(scope, computation, &types)
    }
}

impl<'a> Scope<'a> {
    fn define(&mut self, id: i64, item: Item<'a>) -> Result<(), ReadError> {
        match self.items.insert(id, item) {
            None => Ok(()),
            Some(_) => Err(format!("two instructions with the id {id}").into()),
        }
    }

    /// The value of an instruction that came before.
    pub(crate) fn item(&self, id: i64) -> Result<&Item<'a>, ReadError> {
        self.items.get(&id).ok_or_else(|| format!("there is no value {id} before it").into())
    }

    /// An operand.
    pub(crate) fn operand(
        &self,
        instruction: &HloInstructionProto,
        number: usize,
    ) -> Result<&Item<'a>, ReadError> {
        let ids = &instruction.operand_ids;
        let id = ids.get(number).ok_or_else(|| format!("operand {number} of {}", ids.len()))?;
        self.item(*id)
    }

    /// The arrays of all operands.
    pub(crate) fn operands(
        &self,
        instruction: &HloInstructionProto,
    ) -> Result<Vec<Value>, ReadError> {
        let mut values = Vec::new();
        for id in &instruction.operand_ids {
            values.extend_from_slice(&self.item(*id)?.leaves);
        }
        Ok(values)
    }

    /// The arrays of all operands, which are so many.
    pub(crate) fn exactly<const N: usize>(
        &self,
        instruction: &HloInstructionProto,
    ) -> Result<[Value; N], ReadError> {
        let values = self.operands(instruction)?;
        let count = values.len();
        values.try_into().map_err(|_| format!("{count} operands, it takes {N}").into())
    }
}
