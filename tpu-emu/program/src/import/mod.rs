//! From a module to a graph: calls inlined, shapes inferred and checked against the declared
//! ones, every operation lowered. All reasons why a program cannot be compiled are collected.
mod common_subexpressions;
pub(crate) mod control;
pub(crate) mod custom_call;
mod masks;
pub(crate) mod op;
pub(crate) mod region;
pub(crate) mod scope;
pub(crate) mod types;
mod written;

pub use super::graph::BodyMaker;
pub use types::dtype as element_type;
pub use written::has_line;

use super::graph::{Graph, Subgraph, ValueId};
use crate::compile::Passes;
use crate::sharding::groups::Devices;
use crate::sharding::io_shardings::IoSharding;
use crate::tuning::{MAX_CALL_DEPTH, MAX_INLINED_CALLS, MAX_PROGRAM_NODES, MAX_REPORTED_REASONS};
use common_subexpressions::CommonSubexpressions;
use masks::Masks;
use scope::{Binding, Scope};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tpu_base::error::{Code, Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::{CallCompiler, Cost, Numerics, Operator, Structural};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Function, LocationId, Operation, Region, Value};

/// What each device has of the results that differ between them, by result.
type Copies = Vec<Option<Vec<ValueId>>>;

/// A loaded program: the graph, and the entry it came from.
#[derive(Debug)]
pub struct Loaded<'m> {
    /// What was made of the program.
    pub graph: Graph,
    /// The function that it begins with.
    pub entry: &'m Function,
    /// Shapes of the results: one may name bytes that were made under another shape.
    pub results: Vec<Shape>,
    /// What each device has of a result that differs between them, by result.
    pub copies: Copies,
}

/// Reads a module into a graph; with which parameters have a row for each copy that devices have
/// of them, since the copies differ.
///
/// # Errors
/// `Program` with every reason and its source line.
pub fn load<'m>(
    module: &'m Module,
    numerics: Numerics,
    custom_calls: &'m dyn CallCompiler,
    make_body: BodyMaker,
    (devices, apart): (Devices, &BTreeMap<usize, IoSharding>),
    passes: Passes,
) -> Result<Loaded<'m>> {
    let entry = module.entry().ok_or_else(|| Error::bad("the module has no function main"))?;
    let mut loader = Loader {
        module,
        numerics,
        custom_calls: Some(custom_calls),
        make_body,
        folds: passes.constant_folding,
        one_body: passes.one_body,
        graph: Graph { numerics, ..Graph::default() },
        reasons: Vec::new(),
        code: None,
        calls: Vec::new(),
        called_at: None,
        nodes: 0,
        inlined: 0,
        devices,
        partition: 0,
        own_number: None,
        partition_context: false,
        inside: HashMap::new(),
        alike: HashMap::new(),
        constants: HashMap::new(),
        masks: Masks::default(),
        common: CommonSubexpressions::of(passes.common_subexpressions),
    };
    let mut main = Subgraph::default();
    let (mut copies, mut results) = (Vec::new(), Vec::new());
    let entered = if devices.replicas && devices.count > 1 && devices.only.is_none() {
        loader.partition_context = true;
        loader.replicated_entry(entry, &mut main).map(|shapes| (vec![None; shapes.len()], shapes))
    } else {
        loader.entry(entry, apart, &mut main)
    };
    match entered {
        Ok(made) => (copies, results) = made,
        Err(error) => loader.reason(entry.location, None, &error),
    }
    loader.graph.main = main;
    match loader.code {
        None => Ok(Loaded { graph: loader.graph, entry, results, copies }),
        Some(code) => Err(Error::Program { code, reasons: loader.reasons }),
    }
}

pub(crate) struct Loader<'m> {
    pub(crate) module: &'m Module,
    pub(crate) numerics: Numerics,
    /// The targets that programs can call; `None` where there is no launch to call them.
    custom_calls: Option<&'m dyn CallCompiler>,
    pub(crate) make_body: BodyMaker,
    /// Whether constants are folded.
    pub(crate) folds: bool,
    /// Whether code that several devices run is emitted once for all, where that can be done.
    pub(crate) one_body: bool,
    pub(crate) graph: Graph,
    pub(crate) reasons: Vec<String>,
    code: Option<Code>,
    /// Functions that are being inlined.
    calls: Vec<&'m str>,
    /// Where the innermost of them was called that has a line.
    called_at: Option<LocationId>,
    nodes: usize,
    inlined: usize,
    /// Over what the program is spread.
    pub(crate) devices: Devices,
    /// The device that code is emitted for, where it is for one.
    pub(crate) partition: usize,
    /// The number of the device as a value, where the same code is for several.
    pub(crate) own_number: Option<ValueId>,
    /// Whether code is emitted that runs once per device.
    pub(crate) partition_context: bool,
    /// Groups of collectives inside of operations that were looked at, by their address.
    pub(crate) inside: HashMap<usize, Option<Vec<Vec<usize>>>>,
    /// Whether devices with the same operands get the same of an operation, by its address.
    pub(crate) alike: HashMap<usize, bool>,
    /// A value for known bytes, to tell that two are the same.
    pub(crate) constants: HashMap<Arc<[u8]>, ValueId>,
    /// Booleans that were converted, for the products with them.
    masks: Masks,
    /// The operations that can be told to be the same.
    common: CommonSubexpressions<'m>,
}

/// See [`Loader::mark`].
pub(crate) struct Mark {
    cost: Cost,
    bytes_accessed: f64,
    calls: usize,
    reasons: usize,
    code: Option<Code>,
    nodes: usize,
    inlined: usize,
}

impl<'m> Loader<'m> {
    fn entry(
        &mut self,
        entry: &'m Function,
        apart: &BTreeMap<usize, IoSharding>,
        main: &mut Subgraph,
    ) -> Result<(Copies, Vec<Shape>)> {
        let block = one_block(&entry.body, &entry.name)?;
        let mut scope = Scope::new(entry);
        for &argument in &block.arguments {
            let binding = match apart.get(&main.parameters.len()) {
                Some(rows) => self.copies_in_rows(entry.location, rows, main)?,
                None => self.parameter(scope.type_of(argument)?, main)?,
            };
            binding.check(scope.type_of(argument)?)?;
            scope.bind(argument, binding)?;
        }
        let results = self.block(&mut scope, block, main)?;
        fits(&results, entry)?;
        let (mut values, mut shapes) = (Vec::new(), Vec::new());
        results.iter().try_for_each(|result| result.by_device(&mut values, &mut shapes))?;
        main.results = values.iter().map(|values| values[0]).collect();
        let copies = values.into_iter().map(|values| (values.len() > 1).then_some(values));
        Ok((copies.collect(), shapes))
    }

    /// A new value for a parameter of a block.
    pub(crate) fn parameter(
        &mut self,
        of: &tpu_stablehlo::ir::Type,
        block: &mut Subgraph,
    ) -> Result<Binding> {
        let mut binding = types::placeholder(of, &mut self.graph)?;
        binding.each(&mut |value, _| block.parameters.push(value));
        Ok(binding)
    }

    /// The operations of a block, up to its terminator; gives the terminator's operands.
    fn block(
        &mut self,
        scope: &mut Scope<'m>,
        source: &'m tpu_stablehlo::ir::Block,
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let Some((last, operations)) = source.operations.split_last() else {
            return Err(Error::bad("a block without a terminator"));
        };
        for operation in operations {
            if self.reasons.len() >= MAX_REPORTED_REASONS {
                break;
            }
            if let Err(error) = self.operation(scope, operation, into) {
                self.reason(operation.location, Some(operation), &error);
                self.stand_in(scope, operation)?;
            }
        }
        check_end(last)?;
        last.operands.iter().map(|&value| scope.binding(value).cloned()).collect()
    }

    /// Binds the results of an operation that failed, so that the rest can be checked too.
    pub(crate) fn stand_in(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
    ) -> Result<()> {
        for &result in &operation.results {
            let binding = types::placeholder(scope.type_of(result)?, &mut self.graph)?;
            scope.bind(result, binding)?;
        }
        Ok(())
    }

    /// Inlines a function.
    fn call(
        &mut self,
        name: &str,
        arguments: Vec<Binding>,
        into: &mut Subgraph,
    ) -> Result<Vec<Binding>> {
        let (callee, block) = self.enter(name)?;
        if block.arguments.len() != arguments.len() {
            self.leave();
            let (given, takes) = (arguments.len(), block.arguments.len());
            return Err(Error::bad(format!("{given} arguments for @{name}, which takes {takes}")));
        }
        let mut scope = Scope::new(callee);
        for (&parameter, argument) in block.arguments.iter().zip(arguments) {
            argument.check(scope.type_of(parameter)?)?;
            scope.bind(parameter, argument)?;
        }
        let results = self.block(&mut scope, block, into);
        self.leave();
        let results = results?;
        // What could not be compiled has stand-ins of the declared types.
        fits(&results, callee)?;
        Ok(results)
    }

    /// A function that is to be inlined, until [`Loader::leave`].
    pub(crate) fn enter(
        &mut self,
        name: &str,
    ) -> Result<(&'m Function, &'m tpu_stablehlo::ir::Block)> {
        let callee = self.module.function(name);
        let callee =
            callee.ok_or_else(|| Error::bad(format!("a call of @{name}, which is not there")))?;
        if self.calls.len() >= MAX_CALL_DEPTH || self.calls.contains(&&*callee.name) {
            return Err(Error::Unimplemented(format!(
                "@{name} calls itself, or calls nest too deep"
            )));
        }
        let block = one_block(&callee.body, name)?;
        // A chain of functions that call the next one twice has no operation and no end.
        self.inlined += 1;
        if self.inlined > MAX_INLINED_CALLS {
            return Err(Error::Unimplemented(format!("more than {MAX_INLINED_CALLS} calls")));
        }
        self.calls.push(&callee.name);
        Ok((callee, block))
    }

    pub(crate) fn leave(&mut self) {
        self.calls.pop();
    }

    /// Counts what is inlined.
    pub(crate) fn count_nodes(&mut self, count: usize) -> Result<()> {
        self.nodes += count;
        if self.nodes > MAX_PROGRAM_NODES {
            return Err(Error::Unimplemented(format!("more than {MAX_PROGRAM_NODES} operations")));
        }
        Ok(())
    }

    /// How far the program has come, but for its nodes.
    pub(crate) fn mark(&self) -> Mark {
        let Self { graph, reasons, nodes, inlined, .. } = self;
        let (cost, bytes_accessed, calls) = (graph.cost, graph.bytes_accessed, graph.calls);
        let (reasons, nodes, inlined) = (reasons.len(), *nodes, *inlined);
        let code = self.code;
        Mark { cost, bytes_accessed, calls, reasons, code, nodes, inlined }
    }

    /// Whether nothing was found since a mark that cannot be compiled.
    pub(crate) fn no_reasons_since(&self, mark: &Mark) -> bool {
        self.reasons.len() == mark.reasons
    }

    /// Forgets what was emitted since a mark, into blocks that are dropped.
    pub(crate) fn back_to(&mut self, mark: &Mark) {
        self.graph.cost = mark.cost;
        self.graph.bytes_accessed = mark.bytes_accessed;
        self.graph.calls = mark.calls;
        self.reasons.truncate(mark.reasons);
        self.code = mark.code;
        (self.nodes, self.inlined) = (mark.nodes, mark.inlined);
    }

    /// Notes why the program cannot be compiled.
    pub(crate) fn reason(
        &mut self,
        location: LocationId,
        operation: Option<&Operation>,
        error: &Error,
    ) {
        let line = self.module.locations.line(location);
        let place = match (line, operation) {
            (Some(line), _) => format!("{line}: "),
            (None, Some(operation)) if !error.to_string().contains(&*operation.name) => {
                format!("{}: ", operation.name)
            }
            (None, _) => String::new(),
        };
        self.code.get_or_insert(error.code());
        self.reasons.push(format!("{place}{error}"));
    }
}

/// Whether an operation ends a block.
pub(crate) fn check_end(last: &Operation) -> Result<()> {
    match Operator::of(last) {
        Operator::Structural(Structural::Return | Structural::Yield) => Ok(()),
        _ => Err(Error::bad(format!("a block ends with {}", last.name))),
    }
}

/// Whether a function returns what it declares.
pub(crate) fn fits(results: &[Binding], function: &Function) -> Result<()> {
    if results.len() != function.results.len() {
        let (name, had, wanted) = (&function.name, results.len(), function.results.len());
        return Err(Error::bad(format!("@{name} returns {had} results and declares {wanted}")));
    }
    results.iter().zip(&function.results).try_for_each(|(result, (of, _))| result.check(of))
}

/// The block of a region that has one.
pub(crate) fn one_block<'m>(region: &'m Region, of: &str) -> Result<&'m tpu_stablehlo::ir::Block> {
    match &region.blocks[..] {
        [block] => Ok(block),
        [] => Err(Error::bad(format!("{of} has no body"))),
        blocks => Err(Error::Unimplemented(format!("{of} has {} blocks", blocks.len()))),
    }
}

fn operands<'a>(scope: &'a Scope<'_>, values: &[Value]) -> Result<Vec<&'a Binding>> {
    values.iter().map(|&value| scope.binding(value)).collect()
}
