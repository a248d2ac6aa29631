//! The values of a planned program that lie in host memory.
use crate::graph::ValueId;
use crate::passes::fuse::{FusedStep, StepBlock, StepKind};
use rustc_hash::FxHashSet;
use tpu_ops::custom::{TO_DEVICE, TO_HOST};

/// What is copied to host memory, and what is made of that, until it is copied back: an operation
/// works where its operands are.
pub(super) fn host_values(code: &StepBlock) -> FxHashSet<ValueId> {
    let mut found = FxHashSet::default();
    // What a loop carries is known to be on the host once its body has been seen.
    loop {
        let known = found.len();
        note(code, &mut found);
        if found.len() == known {
            return found;
        }
    }
}

fn target(step: &FusedStep) -> Option<&str> {
    match &step.kind {
        StepKind::Kernel(kernel) => kernel.custom_call().map(|call| &*call.call().site().target),
        _ => None,
    }
}

fn note(code: &StepBlock, found: &mut FxHashSet<ValueId>) {
    for step in &code.steps {
        match &step.kind {
            StepKind::While { condition, body, .. } => {
                for (at, first) in step.operands.iter().enumerate() {
                    let blocks = [&body.results, &body.parameters, &condition.parameters];
                    let places = blocks.into_iter().chain([&step.results]);
                    let places: Vec<ValueId> =
                        places.filter_map(|values| values.get(at).copied()).collect();
                    if found.contains(first) || places.iter().any(|value| found.contains(value)) {
                        found.extend(places);
                    }
                }
            }
            StepKind::Branch(branches) => {
                for branch in branches {
                    let made = branch.results.iter().zip(&step.results);
                    let made = made.filter(|(inside, _)| found.contains(inside));
                    let made: Vec<ValueId> = made.map(|(_, result)| *result).collect();
                    found.extend(made);
                }
            }
            _ => {
                let on_host = match target(step) {
                    Some(TO_HOST) => true,
                    Some(TO_DEVICE) => false,
                    _ => step.operands.iter().any(|operand| found.contains(operand)),
                };
                if on_host {
                    found.extend(&step.results);
                }
            }
        }
        step.kind.blocks().for_each(|block| note(block, found));
    }
}
