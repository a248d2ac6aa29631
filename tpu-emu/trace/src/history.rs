//! The changes of each memory space in their order, and how full it was after each.
use crate::event::{ChangeKind, Event};
use crate::recorded::Places;
use crate::tables::{Stacks, Trace, place};
use crate::tally::ByNumber;

/// No change of a space.
pub const NO_CHANGE: u32 = u32::MAX;

/// The changes of one memory space, without refusals.
#[derive(Debug, Clone, Default)]
pub struct SpaceHistory {
    /// Places of the events, in the order in which the heap made the changes.
    pub order: Vec<u32>,
    /// Of each change the one that it belongs to, by its place in `order`: of an allocation its
    /// free, of a free its allocation. [`NO_CHANGE`] where there is none: the block lives to the
    /// end of the trace, or was taken before its beginning.
    pub partner: Vec<u32>,
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
    /// After how many changes the last allocation was made.
    pub allocated_at: usize,
    /// After how many changes each mark of the trace was set.
    pub marks: Vec<usize>,
    /// After how many changes each refusal of the history was.
    pub refusals: Vec<usize>,
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

    /// How many changes were made up to the one of a number.
    pub fn changes_through(&self, trace: &Trace, sequence: u64) -> usize {
        self.order.partition_point(|&place| trace.events.sequence(place) <= sequence)
    }

    /// Whether the change at a place of `order` took a block that lives after so many changes.
    pub fn lives(&self, trace: &Trace, at: usize, changes: usize) -> bool {
        let freed = self.partner[at];
        trace.events.kind(self.order[at]) == ChangeKind::Allocate
            && at < changes
            && (freed == NO_CHANGE || freed as usize >= changes)
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
        let mut counts = vec![0; trace.spaces.len()];
        for (space, kind) in trace.events.kinds() {
            counts[space as usize] += usize::from(kind != ChangeKind::Refused);
        }
        for (space, count) in spaces.iter_mut().zip(counts) {
            space.order.reserve_exact(count);
        }
        let mut refusals = Vec::new();
        for (place, (space, kind)) in (0..).zip(trace.events.kinds()) {
            match kind {
                ChangeKind::Refused => refusals.push(place),
                _ => spaces[space as usize].order.push(place),
            }
        }
        let is_clean_up = of_clean_up(&trace.stacks);
        // A snapshot has the blocks that live, and not the changes that came between them.
        let is_snapshot = !trace.usages.is_empty();
        for (number, space) in (0..).zip(&mut spaces) {
            space.follow(trace, &is_clean_up, is_snapshot);
            let until = |places: &Places| {
                let last = places.iter().find(|&&(space, _)| space == number);
                last.map_or(0, |&(_, sequence)| space.changes_through(trace, sequence))
            };
            let marks = trace.marks.iter().map(|mark| until(&mark.places)).collect();
            let end = trace.client_end.as_ref().map(|end| until(&end.places));
            let refused = refusals.iter().map(|&refusal| space.before(trace, number, refusal));
            let refused = refused.collect();
            (space.marks, space.refusals) = (marks, refused);
            space.end_at = end.map_or(space.end_at, |end| space.first_end(trace, end));
        }
        Self { spaces, refusals }
    }
}

impl SpaceHistory {
    /// The end of the client: the recorded one, or a sign of the clean-up before it, of which the
    /// library sees fewer kinds. A sign with allocations behind it was that of an earlier client.
    fn first_end(&self, trace: &Trace, recorded: usize) -> usize {
        let between = self.order.get(self.end_at..recorded).unwrap_or_default();
        let is_taken = |&place: &u32| trace.events.kind(place) == ChangeKind::Allocate;
        match between.iter().any(is_taken) {
            true => recorded,
            false => recorded.min(self.end_at),
        }
    }

    fn follow(&mut self, trace: &Trace, is_clean_up: &[bool], is_snapshot: bool) {
        let sequence = |place: &u32| trace.events.sequence(*place);
        if !self.order.is_sorted_by_key(sequence) {
            // Sorted but for what two threads wrote at once, which this sort is made for.
            self.order.sort_by_key(sequence);
        }
        let count = self.order.len();
        self.in_use.reserve_exact(count);
        self.times.reserve_exact(count);
        self.partner = vec![NO_CHANGE; count];
        let mut live: ByNumber<(u64, u32)> = ByNumber::default();
        let (mut in_use, mut time, mut sequence, mut peak) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut end_at = None;
        for (at, &number) in self.order.iter().enumerate() {
            let event = trace.events.at(number);
            let here = place(at + 1);
            match event.kind {
                ChangeKind::Allocate => {
                    in_use = in_use.saturating_add(event.size);
                    self.allocated_at = at + 1;
                    if let Some((stale, taken)) = live.insert(event.address, (event.size, here)) {
                        in_use -= stale;
                        self.partner[taken as usize] = here;
                    }
                }
                _ => {
                    if let Some((size, taken)) = live.remove(&event.address) {
                        in_use -= size;
                        self.partner[taken as usize] = here;
                        self.partner[at] = taken;
                    }
                }
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
                self.missing += event.sequence.saturating_sub(sequence).saturating_sub(1);
            }
            sequence = event.sequence;
        }
        self.end_at = end_at.unwrap_or(count);
    }

    /// After how many changes a refusal was. Of its own space the record of its holes says it;
    /// else what was written before it counts.
    fn before(&self, trace: &Trace, number: u32, refusal: u32) -> usize {
        let Event { space, time, .. } = trace.events.at(refusal);
        match trace.holes_of(refusal) {
            Some(holes) if space == number => self.changes_through(trace, holes.sequence),
            _ if space == number => {
                // Sorted by number, the places rise but where two threads wrote at once.
                let behind = self.order.iter().rposition(|&place| place < refusal);
                behind.map_or(0, |last| last + 1)
            }
            _ => self.changes_until(time),
        }
    }
}

/// The function by which the interpreter ends. From Python 3.13 on programs call the second, of which
/// compilers make parts (`_Py_Finalize.part.0`).
fn is_finalize(function: &str) -> bool {
    let name = function.split('.').next().unwrap_or_default();
    matches!(name, "Py_FinalizeEx" | "_Py_Finalize")
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
                false => is_finalize(&part.function),
            });
    }
    found
}
