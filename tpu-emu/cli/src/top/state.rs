//! What lives now, kept up change by change.
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use tpu_trace::{By, ChangeKind, Holders, Row, Trace};

/// Changes that wait for one before them, at most; then it counts as missing.
const WAITING: usize = 10_000;

/// All memory spaces of a process.
#[derive(Debug, Default)]
pub(super) struct State {
    /// How many events were looked at.
    seen: u32,
    pub(super) changes: u64,
    pub(super) refusals: u64,
    /// The latest time of a change.
    pub(super) time: u64,
    spaces: Vec<Space>,
}

/// A memory space: two threads may write their changes in another order than they made them.
#[derive(Debug)]
struct Space {
    next: u64,
    /// Those that came too early, by their numbers.
    waiting: BTreeMap<u64, u32>,
    /// Places of the allocations that live, by address.
    live: HashMap<u64, u32>,
    in_use: u64,
    peak: u64,
    peak_time: u64,
}

impl Default for Space {
    fn default() -> Self {
        let (waiting, live) = (BTreeMap::new(), HashMap::new());
        Self { next: 1, waiting, live, in_use: 0, peak: 0, peak_time: 0 }
    }
}

/// What is shown of a space.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Shown {
    pub(super) space: String,
    pub(super) capacity: u64,
    pub(super) in_use: u64,
    pub(super) peak: u64,
    /// Nanoseconds since the start of the machine.
    pub(super) peak_time: u64,
    pub(super) blocks: u64,
}

impl State {
    /// Follows what a trace has more than at the last call.
    pub(super) fn follow(&mut self, trace: &Trace) {
        self.spaces.resize_with(trace.spaces.len(), Space::default);
        let end = u32::try_from(trace.events.len()).unwrap_or(u32::MAX);
        for place in self.seen..end {
            let event = trace.events.at(place);
            self.time = self.time.max(event.time);
            if event.kind == ChangeKind::Refused {
                self.refusals += 1;
                continue;
            }
            self.changes += 1;
            let space = &mut self.spaces[event.space as usize];
            space.waiting.insert(event.sequence, place);
            space.catch_up(trace, false);
        }
        let is_quiet = self.seen == end;
        self.seen = end;
        for space in &mut self.spaces {
            // What did not come since the last call does not come any more.
            space.catch_up(trace, is_quiet);
        }
    }

    /// The spaces that were used.
    pub(super) fn shown(&self, trace: &Trace) -> Vec<Shown> {
        let used = trace.spaces.iter().zip(&self.spaces).filter(|(_, space)| space.next > 1);
        used.map(|(of, space)| Shown {
            space: of.name(),
            capacity: of.capacity,
            in_use: space.in_use,
            peak: space.peak,
            peak_time: space.peak_time,
            blocks: space.live.len() as u64,
        })
        .collect()
    }

    /// Who holds what lives on the devices.
    pub(super) fn holders(&self, trace: &Trace, by: By) -> Vec<Row> {
        let devices = trace.spaces.iter().zip(&self.spaces);
        let devices = devices.filter(|(of, _)| of.device.is_some());
        let mut blocks: Vec<u32> = devices
            .flat_map(|(_, space)| space.live.values().copied().collect::<Vec<_>>())
            .collect();
        blocks.sort_unstable();
        Holders::of(trace, blocks, by).rows
    }
}

impl Space {
    /// Makes the changes whose turn it is; of those that wait for one that is missing too.
    fn catch_up(&mut self, trace: &Trace, is_missing: bool) {
        while let Some((&sequence, &place)) = self.waiting.first_key_value() {
            if sequence > self.next && !is_missing && self.waiting.len() <= WAITING {
                break;
            }
            self.waiting.remove(&sequence);
            self.next = sequence.saturating_add(1);
            let event = trace.events.at(place);
            let gone = match event.kind {
                ChangeKind::Allocate => {
                    self.in_use = self.in_use.saturating_add(event.size);
                    self.live.insert(event.address, place)
                }
                _ => self.live.remove(&event.address),
            };
            if let Some(gone) = gone {
                self.in_use = self.in_use.saturating_sub(trace.events.at(gone).size);
            }
            if self.in_use > self.peak {
                (self.peak, self.peak_time) = (self.in_use, event.time);
            }
        }
    }
}
