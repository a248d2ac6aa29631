//! The changes of each memory space in their order, and how full it was after each.
use crate::event::ChangeKind;
use crate::tables::{Stacks, Trace};
use std::collections::HashMap;

/// The changes of one memory space, without refusals.
#[derive(Debug, Clone, Default)]
pub struct SpaceHistory {
    /// Places of the events, in the order in which the heap made the changes.
    pub order: Vec<u32>,
    /// Bytes in use after each.
    pub in_use: Vec<u64>,
    /// Nanoseconds since the start of the machine, rising: two threads may note theirs the other
    /// way round, and the later one counts.
    pub times: Vec<u64>,
    /// After how many changes the most bytes were in use, for the first time.
    pub peak_at: usize,
    /// After how many changes the client began to clean up, at the end of its process; all of them
    /// where it did not.
    pub end_at: usize,
    /// Changes that the trace does not have, by the gaps in their numbers.
    pub missing: u64,
}

impl SpaceHistory {
    /// The most bytes that were in use.
    pub fn peak(&self) -> u64 {
        self.in_use_after(self.peak_at)
    }

    /// The bytes in use after so many changes.
    pub fn in_use_after(&self, changes: usize) -> u64 {
        changes.checked_sub(1).and_then(|last| self.in_use.get(last)).copied().unwrap_or(0)
    }

    /// When the change was made behind which so many are.
    pub fn time_after(&self, changes: usize) -> Option<u64> {
        changes.checked_sub(1).and_then(|last| self.times.get(last)).copied()
    }

    /// How many changes were made until a time.
    pub fn changes_until(&self, time: u64) -> usize {
        self.times.partition_point(|&at| at <= time)
    }
}

/// The order of changes in each memory space.
#[derive(Debug, Clone)]
pub struct History {
    /// Of each space, as they stand in the trace.
    pub spaces: Vec<SpaceHistory>,
    /// Places of the refusals, in the order in which they were written.
    pub refusals: Vec<u32>,
}

impl History {
    /// Sorts the changes of a trace.
    pub fn new(trace: &Trace) -> Self {
        let mut spaces = vec![SpaceHistory::default(); trace.spaces.len()];
        let mut refusals = Vec::new();
        for (place, event) in trace.events.iter() {
            match event.kind {
                ChangeKind::Refused => refusals.push(place),
                _ => spaces[event.space as usize].order.push(place),
            }
        }
        let is_clean_up = of_clean_up(&trace.stacks);
        // A snapshot has the blocks that live, and not the changes that came between them.
        let is_snapshot = !trace.usages.is_empty();
        for space in &mut spaces {
            space.follow(trace, &is_clean_up, is_snapshot);
        }
        Self { spaces, refusals }
    }
}

impl SpaceHistory {
    fn follow(&mut self, trace: &Trace, is_clean_up: &[bool], is_snapshot: bool) {
        // Sorted but for what two threads wrote at once, which this sort is made for.
        self.order.sort_by_key(|&place| trace.events.at(place).sequence);
        let mut live: HashMap<u64, u64> = HashMap::new();
        let (mut in_use, mut time, mut sequence, mut peak) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut end_at = None;
        for (at, &place) in self.order.iter().enumerate() {
            let event = trace.events.at(place);
            match event.kind {
                ChangeKind::Allocate => {
                    in_use = in_use.saturating_add(event.size);
                    if let Some(stale) = live.insert(event.address, event.size) {
                        in_use -= stale;
                    }
                }
                _ => in_use -= live.remove(&event.address).unwrap_or(0),
            }
            if event.kind == ChangeKind::Free && is_clean_up[event.stack as usize] {
                end_at.get_or_insert(at);
            }
            if in_use > peak {
                (peak, self.peak_at) = (in_use, at + 1);
            }
            time = time.max(event.time);
            self.in_use.push(in_use);
            self.times.push(time);
            if !is_snapshot {
                self.missing += event.sequence.saturating_sub(sequence + 1);
            }
            sequence = event.sequence;
        }
        self.end_at = end_at.unwrap_or(self.order.len());
    }
}

/// Of each stack, whether it is one in which a client gives up all that it holds because its
/// process ends. JAX does so at exit, and an interpreter that ends lets go of what modules hold.
fn of_clean_up(stacks: &Stacks) -> Vec<bool> {
    let mut found = vec![false; stacks.len()];
    for stack in 1..stacks.len() {
        let Some((caller, parts)) = u32::try_from(stack).ok().and_then(|at| stacks.node(at)) else {
            continue;
        };
        found[stack] = found[caller as usize]
            || parts.iter().any(|part| match part.is_python {
                true => part.function == "clean_up" && part.file.ends_with("jax/_src/api.py"),
                false => part.function == "Py_FinalizeEx",
            });
    }
    found
}
