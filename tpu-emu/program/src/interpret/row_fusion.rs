//! Runs steps that belong together, some rows at a time.
use super::frame::Frame;
use super::fused_loop::{LoopValues, Window, copy_chunk, run_chunk};
use crate::passes::fuse::row_step::{RowFusion, RowStage, StageKind, ValueSlot};
use crate::plan::{Slot, Step};
use std::cell::Cell;
use std::ops::Range;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::parallel;

thread_local! {
    /// Memory for what lives inside of a row block only.
    static BLOCK_MEMORY: Cell<Option<Frame>> = const { Cell::new(None) };
}

/// One run of a step.
struct RowFusionRun<'a> {
    pub frame: &'a Frame,
    step: &'a Step,
    rows: &'a RowFusion,
    scratch: Slot,
}

/// Runs a step. `scratch` has room for the states of reductions of all rows.
pub(super) fn run_rows(frame: &Frame, rows: &RowFusion, step: &Step, scratch: Slot) {
    let run = RowFusionRun { frame, step, rows, scratch };
    parallel::ranges(rows.rows, rows.chunk_rows, |range| run.chunk(range));
    for stage in &rows.stages {
        let whole = |slot| frame.bytes(run.whole(slot));
        match &stage.kind {
            StageKind::Total { fold, columns, state, .. } => {
                let state = frame.bytes(run.state(state));
                let result = frame.bytes_mut(run.whole(stage.results[0]));
                fold.finish(state, *columns, whole(stage.operands[1]), result);
            }
            StageKind::LateTotal { fold, rows, columns, state } => {
                let kept = frame.bytes(run.state(state));
                let init = whole(stage.operands[1]);
                let result = frame.bytes_mut(run.whole(stage.results[0]));
                if *columns == 1 {
                    fold.rows(kept, *rows, init, result);
                } else {
                    fold.columns(kept, *rows, *columns, init, result);
                }
            }
            StageKind::Loop(_)
            | StageKind::Copy(_)
            | StageKind::Fold { .. }
            | StageKind::Gather(..) => {}
        }
    }
}

impl RowFusionRun<'_> {
    fn chunk(&self, rows: Range<usize>) {
        let bytes = self.rows.block_bytes;
        let block = BLOCK_MEMORY
            .take()
            .filter(|frame| frame.holds(bytes))
            .unwrap_or_else(|| Frame::new(vec![Aligned::zeros(bytes.next_power_of_two())]));
        for start in rows.clone().step_by(self.rows.block_rows) {
            let now = start..rows.end.min(start + self.rows.block_rows);
            self.rows.stages.iter().for_each(|stage| self.stage(stage, &block, now.clone()));
        }
        BLOCK_MEMORY.set(Some(block));
    }

    /// The part of the scratch memory that a reduction of all rows has.
    fn state(&self, state: &Range<usize>) -> Slot {
        let offset = self.scratch.offset + state.start;
        Slot { base: self.scratch.base, offset, bytes: state.len() }
    }

    /// All of a value from outside, or of a result.
    fn whole(&self, slot: ValueSlot) -> Slot {
        match slot {
            ValueSlot::Operand(index) => self.step.operands[index],
            ValueSlot::Result(index) => self.step.results[index],
            ValueSlot::Inner(_) => Slot::default(),
        }
    }

    /// These rows of a value.
    fn some<'s>(
        &'s self,
        slot: ValueSlot,
        block: &'s Frame,
        rows: &Range<usize>,
    ) -> (&'s Frame, Slot) {
        match slot {
            ValueSlot::Inner(index) => {
                let (offset, row) = self.rows.inner[index];
                (block, Slot { base: 0, offset, bytes: row * rows.len() })
            }
            ValueSlot::Operand(_) | ValueSlot::Result(_) => {
                let all = self.whole(slot);
                let row = all.bytes / self.rows.rows;
                let offset = all.offset + row * rows.start;
                (self.frame, Slot { base: all.base, offset, bytes: row * rows.len() })
            }
        }
    }

    fn stage(&self, stage: &RowStage, block: &Frame, rows: Range<usize>) {
        let read = |slot: ValueSlot| {
            let (frame, slot) = self.some(slot, block, &rows);
            frame.bytes(slot)
        };
        match &stage.kind {
            StageKind::Loop(fused) => {
                let row = fused.elements / self.rows.rows;
                let first = row * rows.start;
                let windows = StageValues { run: self, stage, block, rows: &rows, first };
                run_chunk(fused, &windows, first..row * rows.end);
            }
            StageKind::Copy(copy) => {
                let row = copy.elements / self.rows.rows;
                let first = row * rows.start;
                let windows = StageValues { run: self, stage, block, rows: &rows, first };
                copy_chunk(copy, &windows, first..row * rows.end);
            }
            StageKind::Fold { fold, count, inner } => {
                let operand = read(stage.operands[0]);
                let init = self.frame.bytes(self.whole(stage.operands[1]));
                let (frame, slot) = self.some(stage.results[0], block, &rows);
                if *inner == 1 {
                    fold.rows(operand, *count, init, frame.bytes_mut(slot));
                } else {
                    fold.columns(operand, *count, *inner, init, frame.bytes_mut(slot));
                }
            }
            StageKind::Gather(gather, each) => {
                let operand = self.frame.bytes(self.whole(stage.operands[0]));
                let indices = read(stage.operands[1]);
                let (frame, slot) = self.some(stage.results[0], block, &rows);
                gather.some_rows(operand, indices, rows.start * each, frame.bytes_mut(slot));
            }
            StageKind::Total { fold, rows: all, columns, state } => {
                // A chunk begins with a block.
                let block = fold.block(*columns);
                let each = all / self.rows.rows;
                let first = rows.start * each / block.rows;
                let last = (rows.end * each).div_ceil(block.rows);
                let whole = self.state(state);
                let offset = whole.offset + first * block.bytes;
                let slot = Slot { base: whole.base, offset, bytes: (last - first) * block.bytes };
                let row = rows.start * each - first * block.rows;
                let operand = read(stage.operands[0]);
                fold.collect(operand, *columns, row, self.frame.bytes_mut(slot));
            }
            StageKind::LateTotal { state, .. } => {
                let operand = read(stage.operands[0]);
                let whole = self.state(state);
                let offset = whole.offset + whole.bytes / self.rows.rows * rows.start;
                let slot = Slot { base: whole.base, offset, bytes: operand.len() };
                self.frame.bytes_mut(slot).copy_from_slice(operand);
            }
        }
    }
}

/// The values of a loop over some rows.
struct StageValues<'a> {
    run: &'a RowFusionRun<'a>,
    stage: &'a RowStage,
    block: &'a Frame,
    rows: &'a Range<usize>,
    /// The loop's first element in these rows.
    first: usize,
}

impl StageValues<'_> {
    fn window(&self, slot: ValueSlot) -> Window<'_> {
        // What comes from outside is there as a whole.
        if let ValueSlot::Operand(_) = slot {
            return Window { frame: self.run.frame, slot: self.run.whole(slot), first: 0 };
        }
        let (frame, slot) = self.run.some(slot, self.block, self.rows);
        Window { frame, slot, first: self.first }
    }
}

impl LoopValues for StageValues<'_> {
    fn operand(&self, index: usize) -> Window<'_> {
        self.window(self.stage.operands[index])
    }

    fn result(&self, index: usize) -> Window<'_> {
        self.window(self.stage.results[index])
    }
}
