//! From a module of Mosaic to the form that runs: functions are inlined, control becomes jumps,
//! and what lies between effects is gathered into pieces.
//!
//! Everything that cannot be lowered is refused at once, each with its place. What depends on it is
//! left out without a word.
mod call;
pub(crate) mod code;
mod control;
mod indexed;
mod memory;
mod open;
mod scalar;
mod sync;
mod values;

pub(crate) use call::{Signature, lower};
pub(crate) use memory::cell;
pub(crate) use values::extents;

use crate::form::{Int, Program, Register, Step};
use crate::piece::Planner;
use code::Refused;
use open::Open;
use std::sync::Arc;
use tpu_mosaic::Module;
use tpu_mosaic::ir::{
    Block, CoreType, Element, Function, LocationId, Op, Operation, Region, Type, Value,
};
use values::{Reference, Slots, Val, Vector};

/// Operations of a kernel with its calls written out, at most.
const MAX_OPERATIONS: usize = 1 << 20;
/// Calls inside of each other.
const MAX_CALL_DEPTH: usize = 64;
/// Reasons that are told.
const MAX_REFUSALS: usize = 64;

/// A function while it is inlined.
struct Scope<'m> {
    function: &'m Function,
    values: Vec<Option<Val>>,
    /// How often each value is still read.
    uses: Vec<u32>,
}

/// A kernel while it is lowered.
pub(crate) struct Lowering<'m> {
    module: &'m Module,
    planner: &'m dyn Planner,
    program: Program,
    refusals: Vec<(String, LocationId)>,
    scopes: Vec<Scope<'m>>,
    vectors: Vec<Vector>,
    references: Vec<Reference>,
    /// Memories that the kernel has, by number; whether it writes to them.
    written: Vec<bool>,
    /// Whether each of them is outside of the kernel.
    outside: Vec<bool>,
    /// How often each of them was named.
    named: Vec<u32>,
    /// The view by which each of them is written as a whole before anything else is done with it.
    covered: Vec<Option<crate::form::ViewId>>,
    slots: Slots,
    open: Open,
    /// Regions around what is lowered.
    depth: usize,
    /// Memory to give back at the end of each region.
    regions: Vec<Vec<crate::form::ViewId>>,
    operations: usize,
    place: LocationId,
    /// Where its code runs.
    core: CoreType,
    /// Whether the code names a TensorCore that something is meant for.
    names_cores: bool,
    /// Scratch that the configuration of the call asks for.
    internal_scratch: Option<u64>,
}

impl<'m> Lowering<'m> {
    fn scope(&mut self) -> Refused<&mut Scope<'m>> {
        self.scopes.last_mut().ok_or_else(|| "code outside of a function".to_owned())
    }

    /// The type of a value of the function.
    fn type_of(&self, value: Value) -> Refused<&'m Type> {
        let scope = self.scopes.last().ok_or("code outside of a function")?;
        let found = scope.function.values.get(value.0 as usize);
        found.ok_or_else(|| format!("value {} has no type", value.0))
    }

    /// What a value stands for, for one of its uses.
    fn read(&mut self, value: Value) -> Refused<Val> {
        let index = value.0 as usize;
        let scope = self.scope()?;
        let found = scope.values.get(index).copied().flatten();
        let found =
            found.ok_or_else(|| format!("value {} is used before it is defined", value.0))?;
        let uses = &mut scope.uses[index];
        *uses = uses.saturating_sub(1);
        if let Val::Vector(id) = found {
            self.used(id);
        }
        if let Val::Reference(id) = found {
            self.named[self.references[id.0].memory] += 1;
        }
        match found {
            Val::Missing => Err(String::new()),
            found => Ok(found),
        }
    }

    /// Says what a value stands for.
    fn bind(&mut self, value: Value, to: Val) -> Refused<()> {
        let index = value.0 as usize;
        let scope = self.scope()?;
        let uses = scope.uses.get(index).copied().unwrap_or(0);
        let slot = scope.values.get_mut(index);
        *slot.ok_or_else(|| format!("value {} has no type", value.0))? = Some(to);
        if let Val::Vector(id) = to {
            self.wanted(id, uses);
        }
        Ok(())
    }

    /// A scalar integer.
    fn int(&mut self, value: Value) -> Refused<Int> {
        match self.read(value)? {
            Val::Int(int) => Ok(int),
            Val::Vector(id) => {
                let int = self.scalar_of(id)?;
                // Later uses have it where it is now, unless this code may be left out.
                if self.vectors[id.0].depth == self.depth {
                    let index = value.0 as usize;
                    self.scope()?.values[index] = Some(Val::Int(int));
                }
                Ok(int)
            }
            other => Err(format!("{other:?} where a scalar is expected")),
        }
    }

    fn ints(&mut self, values: &[Value]) -> Refused<Vec<Int>> {
        values.iter().map(|&value| self.int(value)).collect()
    }

    /// Adds a step.
    fn step(&mut self, step: Step) -> usize {
        self.program.steps.push(step);
        self.program.places.push(self.place);
        self.program.steps.len() - 1
    }

    /// The number of the next step.
    fn here(&self) -> usize {
        self.program.steps.len()
    }

    fn register(&mut self) -> Register {
        self.program.registers += 1;
        Register(u32::try_from(self.program.registers - 1).unwrap_or(u32::MAX))
    }

    /// Refuses something, with its place.
    fn refuse(&mut self, what: String, place: LocationId) {
        // What has no words follows from what was refused before.
        if !what.is_empty() && self.refusals.len() < MAX_REFUSALS {
            self.refusals.push((what, place));
        }
    }

    /// The operations of a block; gives the operands of the one that ends it.
    fn block(&mut self, block: &'m Block) -> Refused<&'m Operation> {
        let Some((last, operations)) = block.operations.split_last() else {
            return Err("a block without an end".to_owned());
        };
        for operation in operations {
            self.operations += 1;
            if self.operations > MAX_OPERATIONS {
                return Err(format!("more than {MAX_OPERATIONS} operations"));
            }
            // Code of JAX itself has no line: it is told with the line before it.
            if self.module.locations.line(operation.location).is_some() {
                self.place = operation.location;
            }
            if let Err(what) = self.operation(operation) {
                self.refuse(what, operation.location);
                for &result in &operation.results {
                    self.bind(result, Val::Missing)?;
                }
            }
        }
        self.place = last.location;
        Ok(last)
    }

    /// The block of a region that has one.
    fn inside(region: Option<&'m Region>) -> Refused<&'m Block> {
        region
            .and_then(|region| region.block.as_ref())
            .ok_or_else(|| "a region without code".to_owned())
    }

    fn operation(&mut self, operation: &'m Operation) -> Refused<()> {
        if self.scalar(operation)? || self.control(operation)? {
            return Ok(());
        }
        if self.memory(operation)? || self.sync(operation)? || self.indexed(operation)? {
            return Ok(());
        }
        if let Some(several) = crate::rows::several(operation.op) {
            return self.piece_operation(operation, several);
        }
        match crate::rows::row(operation.op) {
            Some(row) => self.piece_operation(operation, |site| row(site).map(|one| vec![one])),
            None => Err(format!("{} is not supported", operation.op.row().name)),
        }
    }

    /// Enters a function with arguments.
    fn enter(&mut self, function: &'m Function, arguments: Vec<Val>) -> Refused<()> {
        if self.scopes.len() >= MAX_CALL_DEPTH {
            return Err(format!("@{} calls itself, or calls nest too deep", function.name));
        }
        let parameters = &function.body.arguments;
        if parameters.len() != arguments.len() {
            let (given, takes) = (arguments.len(), parameters.len());
            return Err(format!("{given} arguments for @{}, which takes {takes}", function.name));
        }
        let mut uses = vec![0; function.values.len()];
        count(&function.body, &mut uses);
        self.scopes.push(Scope { function, values: vec![None; function.values.len()], uses });
        for (&parameter, argument) in parameters.iter().zip(arguments) {
            self.bind(parameter, argument)?;
        }
        Ok(())
    }
}

/// Counts how often values are read.
fn count(block: &Block, uses: &mut [u32]) {
    for operation in &block.operations {
        for operand in &operation.operands {
            if let Some(uses) = uses.get_mut(operand.0 as usize) {
                *uses += 1;
            }
        }
        operation
            .regions
            .iter()
            .filter_map(|region| region.block.as_ref())
            .for_each(|block| count(block, uses));
    }
}

/// Whether a type is that of a scalar integer.
fn scalar_integer(of: &Type) -> Option<Element> {
    match of {
        Type::Scalar(element) if code::is_integer(*element) => Some(*element),
        _ => None,
    }
}

/// The name of an operation.
fn name(op: Op) -> &'static str {
    op.row().name
}

/// A name for everyone.
fn shared(text: Option<&Arc<str>>) -> Arc<str> {
    text.cloned().unwrap_or_default()
}
