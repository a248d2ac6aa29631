//! Whom a program waits for: its channels, and other replicas.
use super::super::passes::fuse::{StepBlock, StepKind};
use tpu_ops::host_transfer::Channel;
use tpu_stablehlo::ir::LocationId;

/// The channels between a program and its client, and where they are used, in program order.
pub(super) fn channels(code: &StepBlock) -> Vec<(Channel, LocationId)> {
    let mut found = Vec::new();
    note(code, &mut found);
    found
}

/// Whether a program waits for other replicas of its run.
pub(super) fn meets(code: &StepBlock) -> bool {
    code.steps.iter().any(|step| match &step.kind {
        StepKind::Kernel(kernel) => kernel.meets_others(),
        other => other.blocks().any(meets),
    })
}

fn note(code: &StepBlock, into: &mut Vec<(Channel, LocationId)>) {
    for step in &code.steps {
        if let StepKind::Kernel(kernel) = &step.kind {
            into.extend(kernel.channel().map(|channel| (channel, step.location)));
        }
        step.kind.blocks().for_each(|block| note(block, into));
    }
}
