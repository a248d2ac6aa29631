//! What the blocks of a run are for, in words: made once, when the program is compiled.
use super::BlockLabels;
use super::charge::{Charged, LaidAnew};
use super::oom::with_others;
use crate::origin::Labels;
use std::collections::HashMap;
use std::sync::Arc;
use tpu_program::graph::{Subgraph, ValueId};
use tpu_program::plan::Plan;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::LocationId;

/// What makes a result: an operation and where it was written, or nothing known.
pub(super) type ResultSource = Option<(Arc<str>, LocationId)>;

/// What makes each result of a program.
pub(super) fn sources(main: &Subgraph) -> Vec<ResultSource> {
    let mut found: HashMap<ValueId, ResultSource> =
        main.results.iter().map(|&result| (result, None)).collect();
    for node in &main.nodes {
        for result in &node.results {
            if let Some(source) = found.get_mut(result) {
                *source = Some((Arc::clone(&node.name), node.location));
            }
        }
    }
    for (index, parameter) in main.parameters.iter().enumerate() {
        if let Some(source) = found.get_mut(parameter) {
            *source = Some((format!("parameter {index}").into(), LocationId::UNKNOWN));
        }
    }
    main.results.iter().map(|result| found.get(result).cloned().flatten()).collect()
}

/// The labels of a program's blocks.
pub(super) fn labels(
    known: &Labels,
    name: &str,
    module: &Module,
    (plan, laid_anew): (&Plan, Option<&LaidAnew>),
    sources: &[ResultSource],
) -> BlockLabels {
    let place = |operation: &str, location| {
        let stack = module.locations.stack(location);
        match stack.first() {
            Some(line) => format!("{operation} at {}:{}", line.file, line.line),
            None => operation.to_owned(),
        }
    };
    let temporaries = match (laid_anew, plan.largest.first()) {
        (Some(of), _) => {
            let dims = of.dims.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let (dtype, place) = (of.dtype.name(), place(&of.name, of.location));
            let how = match of.place {
                Charged::Alone => "laid anew",
                Charged::Beside(_) => "with what the chip stores for",
            };
            let (layout, others) = (&of.layout, with_others(of.others));
            format!("temporaries of {name}: {how} {dtype}[{dims}]{layout} {place}{others}")
        }
        (None, Some((shape, operation, location))) => {
            format!("temporaries of {name}: largest {shape} {}", place(operation, *location))
        }
        (None, None) => format!("temporaries of {name}"),
    };
    let result = |(index, source): (usize, &ResultSource)| match source {
        Some((operation, location)) => {
            known.intern(&format!("result {index} of {name}: {}", place(operation, *location)))
        }
        None => known.intern(&format!("result {index} of {name}")),
    };
    BlockLabels {
        temporaries: known.intern(&temporaries),
        constants: known.intern(&format!("constants of {name}")),
        results: sources.iter().enumerate().map(result).collect(),
    }
}
