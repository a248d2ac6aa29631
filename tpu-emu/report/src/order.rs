//! The changes of all memory spaces in one order, by time.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use tpu_trace::{ChangeKind, History, NO_CHANGE, Trace};

/// One change: the place of its space, and its place in the order of that space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) space: u32,
    pub(crate) at: u32,
}

/// All changes. Those of one space keep their order; of two spaces the earlier time comes first.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) steps: Vec<Step>,
    /// Of each allocation its number among all of them, by its space and place there.
    numbers: Vec<Vec<u32>>,
    /// Of each step what it gives back: 0 for an allocation, else how many allocations before
    /// the next one it is; one more than there are where it is not known.
    pub(crate) back: Vec<u32>,
    /// Allocations that end without a free, because another took their address: their number, and
    /// that other one.
    pub(crate) replaced: Vec<(u32, Step)>,
}

impl Order {
    /// Merges the changes of a history.
    pub(crate) fn new(trace: &Trace, history: &History) -> Self {
        let count = history.spaces.iter().map(|space| space.order.len()).sum();
        let mut made = Self {
            steps: Vec::with_capacity(count),
            numbers: history.spaces.iter().map(|space| vec![0; space.order.len()]).collect(),
            back: Vec::with_capacity(count),
            replaced: Vec::new(),
        };
        let mut next: BinaryHeap<Reverse<(u64, u32, u32)>> = (0..)
            .zip(&history.spaces)
            .filter_map(|(number, space)| Some(Reverse((*space.times.first()?, number, 0))))
            .collect();
        let mut allocations = 0;
        while let Some(Reverse((_, space, mut at))) = next.pop() {
            let changes = &history.spaces[space as usize];
            // As long as no other space has an earlier change, this one goes on.
            loop {
                made.step(trace, history, Step { space, at }, &mut allocations);
                at += 1;
                let Some(&time) = changes.times.get(at as usize) else { break };
                if next.peek().is_some_and(|Reverse(other)| *other < (time, space, at)) {
                    next.push(Reverse((time, space, at)));
                    break;
                }
            }
        }
        made
    }

    fn step(&mut self, trace: &Trace, history: &History, step: Step, allocations: &mut u32) {
        let space = &history.spaces[step.space as usize];
        let partner = space.partner[step.at as usize];
        let numbers = &mut self.numbers[step.space as usize];
        let back = match trace.events.kind(space.order[step.at as usize]) {
            ChangeKind::Allocate => {
                numbers[step.at as usize] = *allocations;
                *allocations += 1;
                0
            }
            _ if partner == NO_CHANGE => *allocations + 1,
            _ => *allocations - numbers[partner as usize],
        };
        if back == 0
            && partner != NO_CHANGE
            && trace.events.kind(space.order[partner as usize]) == ChangeKind::Allocate
        {
            self.replaced.push((numbers[step.at as usize], Step { at: partner, ..step }));
        }
        self.back.push(back);
        self.steps.push(step);
    }

    /// The number of an allocation among all of them, by its space and place there.
    pub(crate) fn number(&self, space: usize, at: usize) -> u32 {
        self.numbers[space][at]
    }

    /// After how many steps so many changes of a space were made, of all that are asked for.
    pub(crate) fn after(
        &self,
        asked: impl Iterator<Item = (u32, usize)>,
    ) -> HashMap<(u32, usize), u32> {
        let mut found: HashMap<(u32, usize), u32> = asked.map(|key| (key, 0)).collect();
        for (step, number) in self.steps.iter().zip(1..) {
            if let Some(after) = found.get_mut(&(step.space, step.at as usize + 1)) {
                *after = number;
            }
        }
        found
    }
}
