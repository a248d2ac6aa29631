//! Loops over a few elements become one piece of machine code: their steps, as operations on single
//! elements. Arrays of a few elements become as many registers, and what only moves elements
//! becomes nothing. Elements of larger arrays are read and written where they lie.
//!
//! The pass asks of every `while`, inner ones first, in this order:
//!
//! 1. Is every step small? A quick look at the kinds of steps ends most loops here. A `while` inside
//!    ends it too.
//! 2. Can `builder` make every step operations on single elements? The first that it cannot ends
//!    it.
//!
//! | step | what becomes of it |
//! |---|---|
//! | fused loop of up to `MAX_SCALAR_LOOP_ARRAY_ELEMENTS` | its operations, once for each element |
//! | product of few terms ([`tpu_kernels::matmul::tiny`]) | multiplications and additions |
//! | reduction of few elements that are of a known combiner | joined one after the other |
//! | other reduction of few elements | its body, once for each element |
//! | row fusion | its stages, each on all rows |
//! | strided copy, concatenate or pad of few short runs | nothing: registers under other names |
//! | dynamic slice of an array in memory | reads at computed places |
//! | dynamic update, scatter of one window | writes in the array that the loop carries, joined with what is there |
//! | branch of two | both sides are computed and chosen from; one that updates ends it |
//! | look-up in a table, another kernel | ends it |
//!
//! * All fused loops together become up to `MAX_SCALAR_LOOP_STEPS` operations, with as many inputs.
//! * An array that a loop or a branch only hands on is taken apart up to `MAX_HANDED_ON_ELEMENTS`.
//! * An array that is updated at computed places is in memory only. After the update its old
//!   version can be read no more, and no element of it may be in a register. An update in the
//!   condition ends it.
//!
//! This pass makes a description. The interpreter asks for code once the loop is hot, after
//! `HOT_LOOP_ITERATIONS`. Without AVX2, or where [`tpu_kernels::jit::ScalarLoop`] gives no code,
//! the steps run as they are, with the same bits. All constants stand in `tpu-program`'s
//! `tuning.rs`.
//!
//! This is found from the values of a loop, before buffer assignment says where they lie:
//! docs/decisions/0064. So what becomes machine code does not depend on which memory can be shared.
mod builder;
#[cfg(test)]
mod random;
#[cfg(test)]
pub(crate) mod tests;

use super::fuse::row_step::StageKind;
use super::fuse::{StepBlock, StepKind};
use crate::graph::Graph;
use crate::tuning::MAX_SCALAR_LOOP_ARRAY_ELEMENTS;
use builder::{Builder, Single, is_few};
use std::sync::Arc;

/// Finds the loops of a program that can be one piece of machine code.
pub(crate) fn find(graph: &Graph, code: &mut StepBlock) {
    for step in &mut code.steps {
        match &mut step.kind {
            StepKind::While { condition, body, scalar } => {
                find(graph, condition);
                find(graph, body);
                if is_small(condition) && is_small(body) {
                    let builder = Builder::new(graph, &step.results);
                    *scalar = builder.finish(condition, body).map(Arc::new);
                }
            }
            StepKind::Branch(branches) => {
                branches.iter_mut().for_each(|branch| find(graph, branch));
            }
            StepKind::Each(each) => find(graph, &mut each.body),
            StepKind::Fused(_) | StepKind::Copy(_) | StepKind::Rows(_) | StepKind::Kernel(_) => {}
        }
    }
}

/// Whether a block has only steps that may become operations on single elements. Most loops end
/// here, so that nothing is built for them.
fn is_small(code: &StepBlock) -> bool {
    code.steps.iter().all(|step| match &step.kind {
        StepKind::Fused(fused) => fused.elements <= MAX_SCALAR_LOOP_ARRAY_ELEMENTS,
        StepKind::Copy(copy) => copy.elements <= MAX_SCALAR_LOOP_ARRAY_ELEMENTS,
        StepKind::Kernel(kernel) => Single::of(&**kernel).is_some(),
        StepKind::Branch(branches) => branches.len() == 2 && branches.iter().all(is_small),
        StepKind::Rows(rows) => rows.stages.iter().all(|stage| match &stage.kind {
            StageKind::Loop(fused) => fused.elements <= MAX_SCALAR_LOOP_ARRAY_ELEMENTS,
            StageKind::Copy(copy) => copy.elements <= MAX_SCALAR_LOOP_ARRAY_ELEMENTS,
            StageKind::Fold { count, inner, .. } => is_few([rows.rows, *count, *inner]),
            StageKind::Total { rows, columns, .. } | StageKind::LateTotal { rows, columns, .. } => {
                is_few([1, *rows, *columns])
            }
            StageKind::Gather(..) => false,
        }),
        StepKind::While { .. } | StepKind::Each(_) => false,
    })
}
