//! Calls that code of the client's splits, as a program splits their operands and results.
use super::Sharding;
use super::io_shardings::stated;
use super::propagate::Propagation;
use super::propagate::custom::{ArrayOf, SplitCalls};
use super::wanted;
use std::collections::HashMap;
use tpu_base::error::Result;
use tpu_ops::custom_call::{Linker, SplitCall};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attributes, Function, Type};

/// The calls that the program reaches, by their addresses. Parameters in `free` are split as what
/// is made of them, where the program does not say how.
///
/// # Errors
/// Those of the client's code, and `BadArgument` for shardings that are none.
pub(crate) fn split_calls(
    module: &Module,
    entry: &Function,
    (devices, free): (usize, &[bool]),
    (linker, shape): (&dyn Linker, ArrayOf),
) -> Result<HashMap<usize, SplitCall>> {
    let copies = |attributes: &Attributes, of: &Type| -> Result<Option<Sharding>> {
        let rank = of.tensor().map_or(0, |of| of.dims.len());
        Ok(stated(module, attributes, (rank, devices))?.map(Sharding::with_copies))
    };
    let none = Attributes::default();
    let arguments = entry.block().map_or(&[][..], |block| &block.arguments);
    let mut known = Vec::new();
    for (index, &value) in arguments.iter().enumerate() {
        let attributes = entry.arguments.get(index).unwrap_or(&none);
        known.push(copies(attributes, entry.type_of(value))?);
    }
    let mut results = Vec::new();
    for (of, attributes) in &entry.results {
        results.push(copies(attributes, of)?);
    }
    let mut propagation = Propagation::new(module, devices);
    let calls = SplitCalls { linker, shape, found: HashMap::new(), error: None };
    propagation.calls = Some(calls);
    if free.iter().any(|&free| free) {
        let given = known.clone();
        known = wanted::parameters(&mut propagation, entry, given, &results, 0);
    }
    propagation.entry(entry, known);
    match propagation.calls {
        Some(SplitCalls { error: Some(error), .. }) => Err(error),
        Some(SplitCalls { found, .. }) => Ok(found),
        None => Ok(HashMap::new()),
    }
}
