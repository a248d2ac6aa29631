//! What the operations of a block are to those who split its arrays alike.
use crate::operation_factors::dims;
use tpu_ops::factors::{FactorKind, Factors};
use tpu_ops::{DYNAMIC_SLICE, DYNAMIC_UPDATE_SLICE, Entry, ShardingRule};
use tpu_stablehlo::ir::{Block, Function, Operation, Value};

/// A step of the order. Each has the ones before it in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SpreadStep {
    /// Operations that leave elements where they are, of arrays that nothing else reads.
    Alone,
    /// Those of arrays that others read too.
    Passing,
    /// Factors that nothing has to have whole, but none from an array to its copies.
    Kept,
    /// All factors, but none from an array to its copies.
    Backward,
    /// Everything.
    All,
}

/// All steps.
pub(super) const STEPS: [SpreadStep; 5] = [
    SpreadStep::Alone,
    SpreadStep::Passing,
    SpreadStep::Kept,
    SpreadStep::Backward,
    SpreadStep::All,
];

/// What kind of operation a link is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkKind {
    /// Names of one value: it is given to a loop, a branch or a computation, or comes from there.
    Edge,
    /// Element by element.
    Elementwise,
    /// Each element is in another place.
    Moving,
    /// A slice from a place, or to one, that the program computes.
    Slicing,
    /// Copies of an array.
    Copying,
    /// Any other.
    Other,
}

/// Where a factor is spread from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpreadFrom {
    Nowhere,
    /// From operands.
    Forward,
    /// From results.
    Backward,
    /// From all arrays.
    Both,
}

/// How an operation's factor is spread in a step.
pub(super) fn direction(
    (kind, alone): (LinkKind, bool),
    factor: FactorKind,
    step: SpreadStep,
) -> SpreadFrom {
    let passing = step >= SpreadStep::Passing || alone;
    let kept = factor == FactorKind::Kept;
    match kind {
        LinkKind::Edge => SpreadFrom::Both,
        LinkKind::Elementwise | LinkKind::Moving if passing => SpreadFrom::Both,
        // Places that a slice is taken of say nothing of those in it.
        LinkKind::Slicing if !kept => SpreadFrom::Nowhere,
        LinkKind::Slicing if passing && step < SpreadStep::Kept => SpreadFrom::Forward,
        LinkKind::Copying if step < SpreadStep::All => match step >= SpreadStep::Kept {
            true => SpreadFrom::Backward,
            false => SpreadFrom::Nowhere,
        },
        LinkKind::Copying => SpreadFrom::Both,
        _ if step >= SpreadStep::Backward || step == SpreadStep::Kept && kept => SpreadFrom::Both,
        _ => SpreadFrom::Nowhere,
    }
}

/// Adds how often each value is read in a block and in the blocks inside.
pub(super) fn count_reads(block: &Block, reads: &mut [u32]) {
    for operation in &block.operations {
        for value in &operation.operands {
            reads[value.0 as usize] += 1;
        }
        for region in &operation.regions {
            region.blocks.iter().for_each(|block| count_reads(block, reads));
        }
    }
}

/// What kind of operation it is to those who split its arrays alike.
pub(super) fn kind_of(
    function: &Function,
    operation: &Operation,
    entry: &Entry,
    factors: &Factors,
) -> LinkKind {
    let elements = |values: &[Value]| -> Option<i64> {
        let sizes = dims(function, *values.first()?)?.iter();
        Some(sizes.fold(1, |all, &size| all.saturating_mul(size)))
    };
    let kept = factors.factors.iter().all(|of| of.kind == FactorKind::Kept);
    let slicing = [DYNAMIC_SLICE.mnemonic, DYNAMIC_UPDATE_SLICE.mnemonic];
    // Element by element: whatever is no scalar has all axes, in their order.
    let plain = |map: &Vec<Vec<usize>>| {
        map.is_empty() || (0..).zip(map).all(|(axis, list)| list[..] == [axis])
    };
    let one = operation.results.len() == 1 && factors.results[0].len() == factors.factors.len();
    let elementwise = one && factors.operands.iter().chain(&factors.results).all(plain);
    match entry.sharding {
        _ if slicing.contains(&entry.mnemonic) => LinkKind::Slicing,
        ShardingRule::Same if kept && elementwise => LinkKind::Elementwise,
        ShardingRule::Permuted | ShardingRule::Reshaped if kept => LinkKind::Moving,
        // Axes of one element more are no copies.
        ShardingRule::Broadcast
            if elements(&operation.operands) == elements(&operation.results) =>
        {
            LinkKind::Moving
        }
        ShardingRule::Broadcast => LinkKind::Copying,
        _ => LinkKind::Other,
    }
}
