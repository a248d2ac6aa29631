//! Runs steps that belong together, some rows at a time.
use super::frame::Frame;
use super::fused_loop::{LoopValues, Window, copy_piece, piece};
use crate::passes::fuse::row_step::{PartWork, RowFusion, RowStage, ValueSlot};
use crate::plan::{Slot, Step};
use std::cell::Cell;
use std::ops::Range;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::parallel;

thread_local! {
    /// Memory for what lives inside of a strip only.
    static STRIP: Cell<Option<Frame>> = const { Cell::new(None) };
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
    parallel::ranges(rows.rows, rows.piece, |range| run.piece(range));
    for part in &rows.parts {
        if let PartWork::Total { fold, columns, state, .. } = &part.work {
            let state = frame.bytes(run.state(state));
            let init = frame.bytes(run.whole(part.operands[1]));
            let result = frame.bytes_mut(run.whole(part.results[0]));
            fold.finish(state, *columns, init, result);
        }
    }
}

impl RowFusionRun<'_> {
    fn piece(&self, rows: Range<usize>) {
        let memory = self.rows.memory;
        let strip = STRIP
            .take()
            .filter(|frame| frame.holds(memory))
            .unwrap_or_else(|| Frame::new(vec![Aligned::zeros(memory.next_power_of_two())]));
        for start in rows.clone().step_by(self.rows.strip) {
            let now = start..rows.end.min(start + self.rows.strip);
            self.rows.parts.iter().for_each(|part| self.part(part, &strip, now.clone()));
        }
        STRIP.set(Some(strip));
    }

    /// The piece of the scratch memory that a reduction of all rows has.
    fn state(&self, state: &Range<usize>) -> Slot {
        let offset = self.scratch.offset + state.start;
        Slot { base: self.scratch.base, offset, bytes: state.len() }
    }

    /// All of a value from outside, or of a result.
    fn whole(&self, place: ValueSlot) -> Slot {
        match place {
            ValueSlot::Operand(index) => self.step.operands[index],
            ValueSlot::Result(index) => self.step.results[index],
            ValueSlot::Inner(_) => Slot::default(),
        }
    }

    /// These rows of a value.
    fn some<'s>(
        &'s self,
        place: ValueSlot,
        strip: &'s Frame,
        rows: &Range<usize>,
    ) -> (&'s Frame, Slot) {
        match place {
            ValueSlot::Inner(index) => {
                let (offset, row) = self.rows.inner[index];
                (strip, Slot { base: 0, offset, bytes: row * rows.len() })
            }
            ValueSlot::Operand(_) | ValueSlot::Result(_) => {
                let all = self.whole(place);
                let row = all.bytes / self.rows.rows;
                let offset = all.offset + row * rows.start;
                (self.frame, Slot { base: all.base, offset, bytes: row * rows.len() })
            }
        }
    }

    fn part(&self, part: &RowStage, strip: &Frame, rows: Range<usize>) {
        let read = |place: ValueSlot| {
            let (frame, slot) = self.some(place, strip, &rows);
            frame.bytes(slot)
        };
        match &part.work {
            PartWork::Loop(fused) => {
                let row = fused.elements / self.rows.rows;
                let first = row * rows.start;
                let windows = Parts { run: self, part, strip, rows: &rows, first };
                piece(fused, &windows, first..row * rows.end);
            }
            PartWork::Copy(copy) => {
                let row = copy.elements / self.rows.rows;
                let first = row * rows.start;
                let windows = Parts { run: self, part, strip, rows: &rows, first };
                copy_piece(copy, &windows, first..row * rows.end);
            }
            PartWork::Fold { fold, count, inner } => {
                let operand = read(part.operands[0]);
                let init = self.frame.bytes(self.whole(part.operands[1]));
                let (frame, slot) = self.some(part.results[0], strip, &rows);
                if *inner == 1 {
                    fold.rows(operand, *count, init, frame.bytes_mut(slot));
                } else {
                    fold.columns(operand, *count, *inner, init, frame.bytes_mut(slot));
                }
            }
            PartWork::Take(gather, each) => {
                let operand = self.frame.bytes(self.whole(part.operands[0]));
                let indices = read(part.operands[1]);
                let (frame, slot) = self.some(part.results[0], strip, &rows);
                gather.some_rows(operand, indices, rows.start * each, frame.bytes_mut(slot));
            }
            PartWork::Total { fold, rows: all, columns, state } => {
                // A piece begins with a block.
                let block = fold.block(*columns);
                let each = all / self.rows.rows;
                let first = rows.start * each / block.rows;
                let last = (rows.end * each).div_ceil(block.rows);
                let whole = self.state(state);
                let offset = whole.offset + first * block.bytes;
                let slot = Slot { base: whole.base, offset, bytes: (last - first) * block.bytes };
                let row = rows.start * each - first * block.rows;
                let operand = read(part.operands[0]);
                fold.collect(operand, *columns, row, self.frame.bytes_mut(slot));
            }
        }
    }
}

/// The values of a loop over some rows.
struct Parts<'a> {
    run: &'a RowFusionRun<'a>,
    part: &'a RowStage,
    strip: &'a Frame,
    rows: &'a Range<usize>,
    /// The loop's first element in these rows.
    first: usize,
}

impl Parts<'_> {
    fn window(&self, place: ValueSlot) -> Window<'_> {
        // What comes from outside is there as a whole.
        if let ValueSlot::Operand(_) = place {
            return Window { frame: self.run.frame, slot: self.run.whole(place), first: 0 };
        }
        let (frame, slot) = self.run.some(place, self.strip, self.rows);
        Window { frame, slot, first: self.first }
    }
}

impl LoopValues for Parts<'_> {
    fn operand(&self, index: usize) -> Window<'_> {
        self.window(self.part.operands[index])
    }

    fn result(&self, index: usize) -> Window<'_> {
        self.window(self.part.results[index])
    }
}
