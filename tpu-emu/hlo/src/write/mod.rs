//! StableHLO programs in XLA's own form: the way back from [`crate::read`].
//!
//! What several values are in StableHLO is a tuple here, and its parts are taken out at once.
//! Regions become computations. A loop or a branch carries what its code reads from outside; code
//! that is applied to elements has constants of its own instead.
mod computation;
mod literal;
mod memory;
mod operations;
mod region;
mod shapes;

pub use memory::{HOST, moves_to_host};

use computation::Computation;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use tpu_proto::xla::hlo_input_output_alias_proto::AliasEntryProto;
use tpu_proto::xla::{
    HloComputationProto, HloInputOutputAliasProto, HloModuleProto, ProgramShapeProto,
};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Function, Operation, Value};

/// How deep functions may call one another and regions lie in one another.
const DEPTH: usize = 64;

/// Why a program cannot be written: the first operation that has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteError(String);

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WriteError {}

impl From<String> for WriteError {
    fn from(what: String) -> Self {
        Self(what)
    }
}

impl From<&str> for WriteError {
    fn from(what: &str) -> Self {
        Self(what.into())
    }
}

type WriteResult<T> = Result<T, WriteError>;

/// The program as a message. Arrays lie in row-major order. Those that the program puts into the
/// memory of the host, what loops carry of them, and the parameters with these numbers are in
/// memory space [`HOST`].
///
/// # Errors
/// An operation, a type or an attribute that HLO has no counterpart for, by name.
pub fn write(module: &Module, host_parameters: &[usize]) -> WriteResult<HloModuleProto> {
    let entry = module.entry().ok_or("a program without an entry")?;
    let mut writer = ModuleWriter {
        module,
        computations: Vec::new(),
        functions: HashMap::new(),
        instructions: 0,
        depth: 0,
    };
    let id = writer.function(entry, host_parameters)?;
    let computations = writer.computations;
    let program = computations.iter().find(|one| one.id == id);
    let program = program.ok_or("the entry was not written")?;
    let shape = program.program_shape.clone();
    Ok(HloModuleProto {
        name: module.name.as_deref().unwrap_or("module").to_owned(),
        entry_computation_name: program.name.clone(),
        host_program_shape: shape,
        id: 1,
        entry_computation_id: id,
        input_output_alias: aliases(entry),
        computations,
        ..HloModuleProto::default()
    })
}

/// The results that take the memory of parameters.
fn aliases(entry: &Function) -> Option<HloInputOutputAliasProto> {
    let several = entry.results.len() != 1;
    let entries: Vec<AliasEntryProto> = (0_i64..)
        .zip(&entry.arguments)
        .filter_map(|(parameter_number, attributes)| {
            let result = attributes.integer("tf.aliasing_output")?;
            let output_shape_index = if several { vec![result] } else { Vec::new() };
            Some(AliasEntryProto { output_shape_index, parameter_number, ..<_>::default() })
        })
        .collect();
    (!entries.is_empty()).then_some(HloInputOutputAliasProto { entries })
}

/// A module while it is written.
struct ModuleWriter<'m> {
    module: &'m Module,
    computations: Vec<HloComputationProto>,
    /// The computations of functions that were called.
    functions: HashMap<Arc<str>, i64>,
    /// How many instructions there are.
    instructions: i64,
    depth: usize,
}

impl<'m> ModuleWriter<'m> {
    /// The computation of a function, written once; some parameters are in the host's memory.
    fn function(&mut self, function: &'m Function, on_host: &[usize]) -> WriteResult<i64> {
        if let Some(known) = self.functions.get(&function.name) {
            return Ok(*known);
        }
        let block = function.block().ok_or_else(|| format!("@{} has no body", function.name))?;
        self.deeper()?;
        let mut body = Computation::new(self, function);
        body.parameters(&block.arguments)?;
        for argument in on_host.iter().filter_map(|number| block.arguments.get(*number)) {
            let id = body.value(*argument)?;
            body.on_host(id);
        }
        body.operations(&block.operations)?;
        let root = body.root(&block.operations)?;
        let id = body.finish("function", root);
        if let Some(own) = self.computations.last_mut() {
            own.name = function.name.to_string();
        }
        self.depth -= 1;
        self.functions.insert(function.name.clone(), id);
        Ok(id)
    }

    fn deeper(&mut self) -> WriteResult<()> {
        self.depth += 1;
        if self.depth > DEPTH { Err("code too deep in code".into()) } else { Ok(()) }
    }
}

/// The results of a block's last operation.
fn results(operations: &[Operation]) -> WriteResult<&[Value]> {
    operations.last().map(|last| &*last.operands).ok_or_else(|| "code without an end".into())
}

fn program_shape(
    parameters: Vec<tpu_proto::xla::ShapeProto>,
    result: tpu_proto::xla::ShapeProto,
) -> ProgramShapeProto {
    let parameter_names = (0..parameters.len()).map(|at| format!("Arg_{at}")).collect();
    ProgramShapeProto { parameters, result: Some(result), parameter_names }
}
