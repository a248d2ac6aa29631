//! The channels of a program.
use super::super::fuse::{Code, StepWork};
use crate::host_transfer::Channel;
use tpu_stablehlo::ir::LocationId;

/// The channels between a program and its client, and where they are used, in program order.
pub(super) fn channels(code: &Code) -> Vec<(Channel, LocationId)> {
    let mut found = Vec::new();
    note(code, &mut found);
    found
}

fn note(code: &Code, into: &mut Vec<(Channel, LocationId)>) {
    for step in &code.steps {
        match &step.work {
            StepWork::Kernel(kernel) => {
                into.extend(kernel.channel().map(|channel| (channel, step.location)));
            }
            StepWork::While(condition, body) => {
                note(condition, into);
                note(body, into);
            }
            StepWork::Branch(branches) => {
                branches.iter().for_each(|branch| note(branch, into));
            }
            StepWork::Fused(_) | StepWork::Rows(_) => {}
        }
    }
}
