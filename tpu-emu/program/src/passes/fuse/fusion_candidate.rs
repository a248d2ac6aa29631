//! What a step does that runs some rows at a time.
use super::{FusedLoop, FusedStep, StepKind, StridedCopy};
use crate::graph::Graph;
use std::sync::Arc;
use tpu_kernels::movement::gather::Gather;
use tpu_ops::Reduced;

/// What a member of a group does.
#[derive(Debug, Clone)]
pub(super) enum FusionCandidate {
    Loop(Arc<FusedLoop>),
    Copy(Arc<StridedCopy>),
    /// A reduction that is done row by row, or once all rows are there.
    Fold(Reduced),
    /// Slices, and the rows that they are taken in.
    Gather(Arc<Gather>, usize),
}

impl FusionCandidate {
    pub(super) fn of(graph: &Graph, step: &FusedStep) -> Option<Self> {
        match &step.kind {
            StepKind::Fused(fused) if fused.elements > 0 => Some(Self::Loop(Arc::clone(fused))),
            StepKind::Copy(copy) if copy.elements > 0 => Some(Self::Copy(Arc::clone(copy))),
            StepKind::Kernel(kernel) => {
                if let Some(gather) = kernel.lookup() {
                    let indices = graph.value(step.operands[1]).shape.elements();
                    let rows = gather.rows(indices, graph.bytes(step.results[0]))?;
                    return Some(Self::Gather(gather, rows));
                }
                let reduced = kernel.reduction()?;
                let whole = reduced.dims.iter().all(|&dim| dim > 0);
                // The fold of a short run has another order.
                let [outer, count, inner] = reduced.dims;
                let short = outer == 1
                    && inner == 1
                    && count <= tpu_kernels::reduce::tuning::BLOCK_PARTIALS;
                (whole && !short).then_some(Self::Fold(reduced))
            }
            _ => None,
        }
    }

    /// The most rows that it can be cut into.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Loop(fused) => fused.elements,
            Self::Copy(copy) => copy.elements,
            Self::Fold(Reduced { dims: [1, count, _], .. }) => *count,
            Self::Fold(Reduced { dims: [outer, ..], .. }) => *outer,
            Self::Gather(_, rows) => *rows,
        }
    }

    /// The elements that each of so many rows has of what is made, or reduced, of `step`.
    pub(super) fn width(&self, graph: &Graph, step: &FusedStep, rows: usize) -> usize {
        match self {
            Self::Loop(fused) => fused.elements / rows,
            Self::Copy(copy) => copy.elements / rows,
            Self::Gather(..) => graph.value(step.results[0]).shape.elements() / rows,
            Self::Fold(Reduced { dims: [1, count, columns], .. }) => count / rows * columns,
            Self::Fold(Reduced { dims: [outer, count, inner], .. }) => outer / rows * count * inner,
        }
    }

    pub(super) fn is_total(&self) -> bool {
        matches!(self, Self::Fold(Reduced { dims: [1, ..], .. }))
    }
}
