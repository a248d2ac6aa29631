//! A program without unreduced axes: an array of which every device has a summand of its own is
//! one that each device has whole, as its own copy, and what changes the axes is code per device.
//!
//! An array that gains such axes is a part of each device where it was split along them, and the
//! summand of the first device and zeros of the others where it was not; unless it is a product or
//! a sum, also one of scattered elements: then each device has the part that it makes of its part
//! of the operands.
use super::code::{PerDevice, ValueTypes};
use super::partial::{AxesOfDimensions, Sources, placed, summands, summed};
use crate::grid::mesh_of;
use crate::tuning::MAX_SHARDED_CALL_DEPTH;
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_ops::{CONSTANT, DOT_GENERAL, Operator, REDUCE, SCATTER, Structural, callee};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{
    Attribute, Attributes, AxisRef, Block, Function, LocationId, MeshRef, Operation, Region,
    TensorSharding, Value,
};

/// The program without unreduced axes, but for those that its entry states; `None` where it has
/// none.
///
/// # Errors
/// `BadArgument` for axes that the mesh does not have, `Unimplemented` for arrays of unknown
/// extents.
pub fn without_unreduced(module: &Module) -> Result<Option<Module>> {
    let states = |attributes: &Attributes| attributes.0.iter().any(|(_, value)| is_open(value));
    let inside = |function: &Function| {
        let arguments =
            function.arguments.iter().chain(function.results.iter().map(|(_, all)| all));
        arguments.into_iter().any(states) || any_inside(&function.body)
    };
    let Some(entry) = module.entry().filter(|_| module.functions.iter().any(inside)) else {
        return Ok(None);
    };
    let mut walk = Walk { module, made: Vec::new(), known: Vec::new(), depth: 0 };
    let given = entry.arguments.iter().map(stated).map(|of| open_of(of.as_ref())).collect();
    let wanted = entry.results.iter().map(|(_, attributes)| stated(attributes)).collect();
    let (entry, _) = walk.function(entry, (given, Vec::new()), Some(wanted))?;
    let mut functions = walk.made;
    functions.push(entry);
    Ok(Some(Module { functions, ..module.clone() }))
}

fn is_open(attribute: &Attribute) -> bool {
    match attribute {
        Attribute::Sharding(sharding) => !sharding.unreduced.is_empty(),
        Attribute::Shardings(all) => all.iter().any(|sharding| !sharding.unreduced.is_empty()),
        _ => false,
    }
}

fn any_inside(region: &Region) -> bool {
    let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
    operations.any(|operation| {
        operation.attributes.0.iter().any(|(_, value)| is_open(value))
            || operation.regions.iter().any(any_inside)
    })
}

/// The mesh and the axes along which an array is still to be summed up; none for most arrays.
type Unsummed = Option<(MeshRef, Vec<AxisRef>)>;

fn open_of(sharding: Option<&TensorSharding>) -> Unsummed {
    let sharding = sharding.filter(|sharding| !sharding.unreduced.is_empty())?;
    Some((sharding.mesh.clone(), sharding.unreduced.clone()))
}

fn stated(attributes: &Attributes) -> Option<TensorSharding> {
    match attributes.get("sdy.sharding") {
        Some(Attribute::Sharding(sharding)) => Some(sharding.clone()),
        _ => None,
    }
}

/// Those of one list or the other.
fn both(one: &Unsummed, other: &Unsummed) -> Unsummed {
    let (Some((mesh, axes)), Some((_, more))) = (one, other) else {
        return one.clone().or_else(|| other.clone());
    };
    let mut axes = axes.clone();
    axes.extend(without(more, &axes));
    Some((mesh.clone(), axes))
}

fn without(axes: &[AxisRef], others: &[AxisRef]) -> Vec<AxisRef> {
    axes.iter().filter(|axis| !others.contains(axis)).cloned().collect()
}

fn axes_of(open: &Unsummed) -> &[AxisRef] {
    open.as_ref().map_or(&[], |(_, axes)| axes)
}

/// What is known of the arguments of a call: axes to be summed up, and how they are split.
type Given = (Vec<Unsummed>, Vec<Option<TensorSharding>>);

/// A function as it is called.
struct Called {
    name: Arc<str>,
    given: Given,
    /// The function's name in the new program.
    made: Arc<str>,
    results: Vec<Unsummed>,
}

struct Walk<'m> {
    module: &'m Module,
    /// The functions of the new program.
    made: Vec<Function>,
    known: Vec<Called>,
    depth: usize,
}

impl Walk<'_> {
    fn function(
        &mut self,
        function: &Function,
        (given, held): Given,
        wanted: Option<Vec<Option<TensorSharding>>>,
    ) -> Result<(Function, Vec<Unsummed>)> {
        let mut body = Body {
            walk: self,
            values: ValueTypes(function.values.clone()),
            open: HashMap::new(),
            stated: HashMap::new(),
            made_by: HashMap::new(),
            uses: HashMap::new(),
        };
        count_uses(&function.body, &mut body.uses);
        let mut made = function.clone();
        let mut results = Vec::new();
        for block in &mut made.body.blocks {
            for (&value, held) in block.arguments.iter().zip(&held) {
                held.iter().for_each(|of| drop(body.stated.insert(value, of.clone())));
            }
            for (&value, attributes) in block.arguments.iter().zip(&function.arguments) {
                stated(attributes).into_iter().for_each(|of| drop(body.stated.insert(value, of)));
            }
            body.enter(&block.arguments, given.clone());
            results = body.block(block)?;
            let Some(mut last) = block.operations.pop() else { continue };
            for (at, wanted) in wanted.iter().flatten().enumerate() {
                let Some(value) = last.operands.get_mut(at) else { continue };
                let into = &mut block.operations;
                *value = body.convert((*value, last.location), wanted.as_ref(), into)?;
            }
            block.operations.push(last);
        }
        made.values = body.values.0;
        Ok((made, results))
    }

    /// The function of the new program that a call with these arguments calls.
    fn called(&mut self, name: &str, given: Given) -> Result<(Arc<str>, Vec<Unsummed>)> {
        let known = self.known.iter().find(|known| *known.name == *name && known.given == given);
        if let Some(known) = known {
            return Ok((Arc::clone(&known.made), known.results.clone()));
        }
        let missing = || Error::bad(format!("a call of @{name}, which is not there"));
        let function = self.module.function(name).ok_or_else(missing)?;
        if self.depth >= MAX_SHARDED_CALL_DEPTH {
            let what = format!("@{name} calls itself, or calls nest too deep");
            return Err(Error::Unimplemented(what));
        }
        self.depth += 1;
        let done = self.function(function, given.clone(), None);
        self.depth -= 1;
        let (mut made, results) = done?;
        let taken = |name: &str| self.made.iter().any(|other| &*other.name == name);
        if taken(&made.name) {
            let names = (1_usize..).map(|number| format!("{name}.summands_{number}"));
            let free =
                names.into_iter().find(|name| !taken(name) && self.module.function(name).is_none());
            made.name = free.unwrap_or_default().into();
        }
        let (name, found) = (Arc::clone(&function.name), Arc::clone(&made.name));
        self.made.push(made);
        self.known.push(Called { name, given, made: Arc::clone(&found), results: results.clone() });
        Ok((found, results))
    }
}

fn count_uses(region: &Region, uses: &mut HashMap<Value, usize>) {
    for operation in region.blocks.iter().flat_map(|block| &block.operations) {
        operation.operands.iter().for_each(|&value| *uses.entry(value).or_default() += 1);
        operation.regions.iter().for_each(|region| count_uses(region, uses));
    }
}

struct Body<'w, 'm> {
    walk: &'w mut Walk<'m>,
    values: ValueTypes,
    /// The values that have axes to be summed up.
    open: HashMap<Value, (MeshRef, Vec<AxisRef>)>,
    stated: HashMap<Value, TensorSharding>,
    /// Constants, products, reductions and scatters, by their result.
    made_by: HashMap<Value, Operation>,
    uses: HashMap<Value, usize>,
}

impl Body<'_, '_> {
    fn open(&self, value: Value) -> Unsummed {
        self.open.get(&value).cloned()
    }

    fn all_open(&self, values: &[Value]) -> Vec<Unsummed> {
        values.iter().map(|&value| self.open(value)).collect()
    }

    fn enter(&mut self, values: &[Value], open: Vec<Unsummed>) {
        for (&value, open) in values.iter().zip(open) {
            match open {
                Some(open) => drop(self.open.insert(value, open)),
                None => drop(self.open.remove(&value)),
            }
        }
    }

    /// The operations of a block, its terminator with them; gives what its results have.
    fn block(&mut self, block: &mut Block) -> Result<Vec<Unsummed>> {
        let mut into = Vec::with_capacity(block.operations.len());
        let operations = std::mem::take(&mut block.operations);
        let count = operations.len();
        let mut results = Vec::new();
        for (at, operation) in operations.into_iter().enumerate() {
            if at + 1 == count {
                results = self.all_open(&operation.operands);
                into.push(operation);
            } else {
                self.operation(operation, &mut into)?;
            }
        }
        block.operations = into;
        Ok(results)
    }

    fn operation(&mut self, mut operation: Operation, into: &mut Vec<Operation>) -> Result<()> {
        let results = operation.results.clone();
        match Operator::of(&operation) {
            Operator::Structural(Structural::Call | Structural::Composite) => {
                let held = operation.operands.iter().map(|value| self.stated.get(value).cloned());
                let given = (self.all_open(&operation.operands), held.collect());
                let name = callee(&operation).unwrap_or_default().to_owned();
                let (name, made) = self.walk.called(&name, given)?;
                for key in ["callee", "decomposition"] {
                    if operation.attributes.get(key).is_some() {
                        operation.attributes.set(key, Attribute::Symbol(Arc::clone(&name)));
                    }
                }
                self.enter(&results, made);
            }
            Operator::Structural(Structural::ManualComputation) => {
                self.manual(&mut operation, into)?;
            }
            Operator::Structural(Structural::While) => self.r#while(&mut operation, into)?,
            Operator::Structural(Structural::If | Structural::Case) => {
                self.branches(&mut operation)?;
            }
            Operator::Structural(Structural::NamedComputation) => {
                let given = self.all_open(&operation.operands);
                for block in operation.regions.iter_mut().flat_map(|region| &mut region.blocks) {
                    self.enter(&block.arguments, given.clone());
                    let made = self.block(block)?;
                    self.enter(&results, made);
                }
                operation.attributes.0.iter_mut().for_each(|(_, value)| close(value));
            }
            _ => self.other(&mut operation, into)?,
        }
        let operator = Operator::of(&operation);
        if [&CONSTANT, &DOT_GENERAL, &REDUCE, &SCATTER].into_iter().any(|entry| operator.is(entry))
            && let &[result] = &operation.results[..]
        {
            self.made_by.insert(result, operation.clone());
        }
        into.push(operation);
        Ok(())
    }

    /// A constraint, or an operation without control flow: of summands it makes summands.
    fn other(&mut self, operation: &mut Operation, into: &mut Vec<Operation>) -> Result<()> {
        let of_sdy = operation.name.starts_with("sdy.");
        let stated = ["sharding", "out_sharding"].into_iter().find_map(|name| {
            match operation.attributes.get(name).filter(|_| of_sdy) {
                Some(Attribute::Sharding(sharding)) => Some(sharding.clone()),
                _ => None,
            }
        });
        let (Some(sharding), &[operand], &[result]) =
            (stated, &operation.operands[..], &operation.results[..])
        else {
            let open =
                operation.operands.iter().fold(None, |all, &value| both(&all, &self.open(value)));
            let all = vec![open; operation.results.len()];
            self.enter(&operation.results, all);
            return Ok(());
        };
        let at = (operand, operation.location);
        operation.operands = vec![self.convert(at, Some(&sharding), into)?];
        operation.attributes.0.iter_mut().for_each(|(_, value)| close(value));
        self.enter(&[result], vec![open_of(Some(&sharding))]);
        self.stated.insert(result, sharding);
        Ok(())
    }

    fn manual(&mut self, operation: &mut Operation, into: &mut Vec<Operation>) -> Result<()> {
        let all = |name: &str| match operation.attributes.get(name) {
            Some(Attribute::Shardings(all)) => all.clone(),
            _ => Vec::new(),
        };
        let (ins, outs) = (all("in_shardings"), all("out_shardings"));
        let manual = operation.attributes.manual_axes().to_vec();
        // Along other axes than those of the code, its values are still to be summed up.
        let around = |sharding: &TensorSharding| {
            let (mesh, axes) = open_of(Some(sharding))?;
            let axes: Vec<AxisRef> =
                axes.into_iter().filter(|axis| !manual.contains(&axis.name)).collect();
            (!axes.is_empty()).then_some((mesh, axes))
        };
        for (operand, sharding) in operation.operands.iter_mut().zip(&ins) {
            *operand = self.convert((*operand, operation.location), Some(sharding), into)?;
        }
        for block in operation.regions.iter_mut().flat_map(|region| &mut region.blocks) {
            self.enter(&block.arguments, ins.iter().map(around).collect());
            self.block(block)?;
        }
        operation.attributes.0.iter_mut().for_each(|(_, value)| close(value));
        self.enter(&operation.results, outs.iter().map(|of| open_of(Some(of))).collect());
        self.stated.extend(operation.results.iter().copied().zip(outs));
        Ok(())
    }

    /// A loop carries the axes of what goes in and of what a round makes.
    fn r#while(&mut self, operation: &mut Operation, into: &mut Vec<Operation>) -> Result<()> {
        let source = operation.clone();
        let mut carried = self.all_open(&operation.operands);
        loop {
            let mut made = Vec::new();
            for block in operation.regions.iter_mut().flat_map(|region| &mut region.blocks) {
                self.enter(&block.arguments, carried.clone());
                made = self.block(block)?;
            }
            made.resize(carried.len(), None);
            let more: Vec<Unsummed> = carried.iter().zip(&made).map(|(a, b)| both(a, b)).collect();
            let same = |one: &[Unsummed], other: &[Unsummed]| {
                let mut pairs = one.iter().zip(other);
                pairs.all(|(a, b)| axes_of(a).len() == axes_of(b).len())
            };
            if same(&more, &carried) {
                let blocks =
                    operation.regions.iter_mut().skip(1).flat_map(|region| &mut region.blocks);
                for block in blocks {
                    self.settle(block, &carried)?;
                }
                break;
            }
            *operation = source.clone();
            carried = more;
        }
        for (operand, open) in operation.operands.iter_mut().zip(&carried) {
            *operand = self.opened((*operand, operation.location), open, into)?;
        }
        self.enter(&operation.results, carried);
        Ok(())
    }

    fn branches(&mut self, operation: &mut Operation) -> Result<()> {
        let mut all: Vec<Unsummed> = vec![None; operation.results.len()];
        for block in operation.regions.iter_mut().flat_map(|region| &mut region.blocks) {
            for (all, made) in all.iter_mut().zip(self.block(block)?) {
                *all = both(all, &made);
            }
        }
        for block in operation.regions.iter_mut().flat_map(|region| &mut region.blocks) {
            self.settle(block, &all)?;
        }
        self.enter(&operation.results, all);
        Ok(())
    }

    /// Gives the results of a block these axes.
    fn settle(&mut self, block: &mut Block, all: &[Unsummed]) -> Result<()> {
        let Some(mut last) = block.operations.pop() else { return Ok(()) };
        for (value, open) in last.operands.iter_mut().zip(all) {
            *value = self.opened((*value, last.location), open, &mut block.operations)?;
        }
        block.operations.push(last);
        Ok(())
    }

    /// A value with more axes.
    fn opened(
        &mut self,
        at: (Value, LocationId),
        open: &Unsummed,
        into: &mut Vec<Operation>,
    ) -> Result<Value> {
        let Some((mesh, axes)) = open else { return Ok(at.0) };
        let sharding = TensorSharding {
            mesh: mesh.clone(),
            dimensions: Vec::new(),
            replicated: Vec::new(),
            unreduced: axes.clone(),
        };
        self.convert(at, Some(&sharding), into)
    }

    /// A value with the axes that a sharding has.
    fn convert(
        &mut self,
        (mut value, location): (Value, LocationId),
        sharding: Option<&TensorSharding>,
        into: &mut Vec<Operation>,
    ) -> Result<Value> {
        let (had, wanted) = (self.open(value), open_of(sharding));
        let gone = without(axes_of(&had), axes_of(&wanted));
        let gained = without(axes_of(&wanted), axes_of(&had));
        let split = |taken: &[AxisRef]| -> AxesOfDimensions {
            let dimensions = sharding.map_or(&[][..], |sharding| &sharding.dimensions);
            dimensions.iter().map(|dimension| without(&dimension.axes, taken)).collect()
        };
        if let Some((mesh, _)) = had.as_ref().filter(|_| !gone.is_empty()) {
            let here = PerDevice { mesh: (mesh, mesh_of(self.walk.module, mesh)?), location };
            let split = split(axes_of(&had));
            value = summed(&here, &mut self.values, (value, &gone), &split, into)?;
        }
        if let Some((mesh, _)) = wanted.as_ref().filter(|_| !gained.is_empty()) {
            let here = PerDevice { mesh: (mesh, mesh_of(self.walk.module, mesh)?), location };
            let split = split(&gained);
            let values = &mut self.values;
            let source = self.made_by.get(&value).filter(|source| {
                source.operands.iter().all(|operand| !self.open.contains_key(operand))
            });
            let sources = Sources { stated: &self.stated, made_by: &self.made_by };
            let parts = match source {
                Some(source) => summands(&here, values, source, (&gained, &split), &sources, into)?,
                None => None,
            };
            value = match parts {
                Some(parts) => {
                    if self.uses.get(&value) == Some(&1) {
                        into.retain(|operation| !operation.results.contains(&value));
                    }
                    parts
                }
                None => {
                    let split = (&split, self.stated.get(&value));
                    placed(&here, values, (value, &gained), split, into)?
                }
            };
        }
        self.enter(&[value], vec![wanted]);
        Ok(value)
    }
}

/// Takes the axes out that are still to be summed up.
fn close(attribute: &mut Attribute) {
    match attribute {
        Attribute::Sharding(sharding) => sharding.unreduced.clear(),
        Attribute::Shardings(all) => all.iter_mut().for_each(|of| of.unreduced.clear()),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
