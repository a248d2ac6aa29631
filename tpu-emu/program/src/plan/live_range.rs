//! When each value is made and last read, on one time line for the whole program.
use super::super::graph::ValueId;
use super::super::passes::fuse::{FusedStep, StepBlock, StepKind};
use rustc_hash::FxHashMap;

/// The live range of a value: the times of its definition and its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LiveRange {
    pub(super) defined: usize,
    pub(super) last: usize,
}

/// The times of a step and of the blocks inside it.
#[derive(Debug, Clone, Default)]
pub(super) struct Times {
    /// When it begins. A step without blocks begins and ends at once.
    pub(super) start: usize,
    /// Beginning, end and steps of each block inside.
    pub(super) blocks: Vec<BlockTimes>,
}

/// The times of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockTimes {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) steps: Vec<Times>,
}

/// Live ranges of all values.
#[derive(Debug, Default)]
pub(super) struct LiveRanges {
    pub(super) of: FxHashMap<ValueId, LiveRange>,
    clock: usize,
}

/// A time after every other.
pub(super) const FOREVER: usize = usize::MAX;

impl LiveRanges {
    /// The live ranges of a program, and the times of its steps.
    pub(super) fn new(code: &StepBlock) -> (Self, BlockTimes) {
        let mut ranges = Self::default();
        let mut touched = Vec::new();
        let times = ranges.block(code, &mut touched);
        for &result in &code.results {
            if let Some(range) = ranges.of.get_mut(&result) {
                range.last = FOREVER;
            }
        }
        (ranges, times)
    }

    fn tick(&mut self) -> usize {
        self.clock += 1;
        self.clock
    }

    fn define(&mut self, value: ValueId, at: usize) {
        self.of.insert(value, LiveRange { defined: at, last: at });
    }

    fn touch(&mut self, value: ValueId, at: usize, touched: &mut Vec<ValueId>) {
        if let Some(range) = self.of.get_mut(&value) {
            range.last = range.last.max(at);
            touched.push(value);
        }
    }

    fn block(&mut self, code: &StepBlock, touched: &mut Vec<ValueId>) -> BlockTimes {
        let start = self.tick();
        code.parameters.iter().for_each(|&parameter| self.define(parameter, start));
        let steps = code.steps.iter().map(|step| self.step(step, touched)).collect();
        let end = self.tick();
        code.results.iter().for_each(|&result| self.touch(result, end, touched));
        BlockTimes { start, end, steps }
    }

    fn step(&mut self, step: &FusedStep, touched: &mut Vec<ValueId>) -> Times {
        let start = self.tick();
        step.operands.iter().for_each(|&operand| self.touch(operand, start, touched));
        let mut inside = Vec::new();
        let blocks: Vec<BlockTimes> =
            step.kind.blocks().map(|block| self.block(block, &mut inside)).collect();
        let looped = matches!(step.kind, StepKind::While { .. } | StepKind::Each(_));
        let end = if blocks.is_empty() { start } else { self.tick() };
        if let StepKind::Each(_) = &step.kind {
            // The last run reads its rows.
            step.operands.iter().for_each(|&operand| self.touch(operand, end, touched));
        }
        for value in inside {
            // What a loop reads from outside is read again in its next iteration.
            if let Some(range) = self.of.get_mut(&value).filter(|range| range.defined < start) {
                if looped {
                    range.last = range.last.max(end);
                }
                touched.push(value);
            }
        }
        // A branch writes its results while it runs, a loop carries them from its beginning.
        step.results.iter().for_each(|&result| self.define(result, start));
        for &result in &step.results {
            if let Some(range) = self.of.get_mut(&result) {
                range.last = end;
            }
        }
        Times { start, blocks }
    }
}
