//! Steps that run together, some rows at a time: what one stage makes of these rows, the next ones
//! read while it is in the cache.
use super::{FusedLoop, LoopInput, StridedCopy};
use std::ops::Range;
use std::sync::Arc;
use tpu_kernels::movement::gather::Gather;
use tpu_kernels::reduce::dyn_combiner::Folder;

/// A loop over rows. Every value inside has as many equal parts as there are rows, and a part is
/// made of the same parts of other values alone.
#[derive(Debug)]
pub(crate) struct RowFusion {
    pub(crate) rows: usize,
    /// Rows of a block: they go through all stages before the next ones.
    pub(crate) block_rows: usize,
    /// Rows that a thread takes at once.
    pub(crate) chunk_rows: usize,
    /// Where each value that lives inside only lies in the memory of a row block, and the bytes of a
    /// row of it.
    pub(crate) inner: Vec<(usize, usize)>,
    /// Bytes of the memory of a row block.
    pub(crate) block_bytes: usize,
    /// What is done with a row block, in order.
    pub(crate) stages: Vec<RowStage>,
    /// Bytes of the states of reductions of all rows.
    pub(crate) state_bytes: usize,
}

/// One stage.
#[derive(Debug)]
pub(crate) struct RowStage {
    pub(crate) kind: StageKind,
    pub(crate) operands: Vec<ValueSlot>,
    pub(crate) results: Vec<ValueSlot>,
}

/// What a stage does.
#[derive(Debug)]
pub(crate) enum StageKind {
    /// Elements.
    Loop(Arc<FusedLoop>),
    /// Elements in another order.
    Copy(Arc<StridedCopy>),
    /// The reduction of `count` times `inner` elements each to `inner`.
    Fold { fold: Arc<dyn Folder>, count: usize, inner: usize },
    /// Slices of an operand that is there before, at the places that these rows of another have.
    /// There are so many outermost slices in a row.
    Gather(Arc<Gather>, usize),
    /// The reduction of `rows` rows of `columns` elements to one row, which is there when all
    /// rows are done. `state` says where in the scratch memory it has its state.
    Total { fold: Arc<dyn Folder>, rows: usize, columns: usize, state: Range<usize> },
    /// The reduction of few elements of all rows, which are kept in the scratch memory, at `state`,
    /// until all rows are done.
    LateTotal { fold: Arc<dyn Folder>, rows: usize, columns: usize, state: Range<usize> },
}

/// Where a stage finds or puts a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueSlot {
    /// An operand of the step, made before.
    Operand(usize),
    /// A result of the step.
    Result(usize),
    /// A value that lives inside only.
    Inner(usize),
}

impl RowFusion {
    /// Whether no stage makes one element of several.
    pub(crate) fn is_by_elements(&self) -> bool {
        self.stages.iter().all(|stage| match &stage.kind {
            StageKind::Loop(_) | StageKind::Copy(_) | StageKind::Gather(..) => true,
            StageKind::Fold { .. } | StageKind::Total { .. } | StageKind::LateTotal { .. } => false,
        })
    }

    /// Whether result `result` may lie where operand `operand` lies, if they have the same size.
    pub(crate) fn takes_over(&self, operand: usize, result: usize) -> bool {
        let Some(writer) =
            self.stages.iter().position(|stage| stage.results.contains(&ValueSlot::Result(result)))
        else {
            return false;
        };
        let dense = matches!(self.stages[writer].kind, StageKind::Loop(_) | StageKind::Copy(_));
        let wanted = ValueSlot::Operand(operand);
        dense
            && self.stages.iter().enumerate().all(|(at, stage)| {
                stage.operands.iter().enumerate().filter(|(_, slot)| **slot == wanted).all(
                    |(number, _)| match &stage.kind {
                        StageKind::Loop(fused) => at <= writer && fused.reads_densely(number),
                        StageKind::Copy(_) => false,
                        // What slices are taken of is read anywhere.
                        StageKind::Gather(..) => at < writer && number == 1,
                        // The initial value is read whole.
                        StageKind::Fold { .. }
                        | StageKind::Total { .. }
                        | StageKind::LateTotal { .. } => at < writer && number == 0,
                    },
                )
            })
    }
}

impl FusedLoop {
    /// Whether only element `i` of an operand is read for element `i` of the results.
    pub(crate) fn reads_densely(&self, operand: usize) -> bool {
        let elsewhere = |input: &LoopInput| match input {
            LoopInput::Strided(at, _) | LoopInput::Table(at, _) => *at == operand,
            LoopInput::Concat(view) => view.reads(operand),
            LoopInput::Dense(_) | LoopInput::Iota(..) => false,
        };
        !self.inputs.iter().any(elsewhere)
    }
}
