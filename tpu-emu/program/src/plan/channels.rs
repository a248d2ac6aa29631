//! Whom a program waits for: its channels, and other replicas.
use super::super::passes::fuse::{Code, StepWork};
use tpu_ops::host_transfer::Channel;
use tpu_stablehlo::ir::LocationId;

/// The channels between a program and its client, and where they are used, in program order.
pub(super) fn channels(code: &Code) -> Vec<(Channel, LocationId)> {
    let mut found = Vec::new();
    note(code, &mut found);
    found
}

/// Whether a program waits for other replicas of its run.
pub(super) fn meets(code: &Code) -> bool {
    code.steps.iter().any(|step| match &step.work {
        StepWork::Kernel(kernel) => kernel.meets_others(),
        StepWork::While(condition, body) => meets(condition) || meets(body),
        StepWork::Branch(branches) => branches.iter().any(meets),
        StepWork::Fused(_) | StepWork::Rows(_) => false,
    })
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
