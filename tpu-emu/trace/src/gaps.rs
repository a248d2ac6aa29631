//! The holes of a memory space at a moment, and what stands on both sides of each.
use crate::event::Event;
use crate::history::SpaceHistory;
use crate::holders::{By, live, origin};
use crate::tables::{Space, Trace};
use serde::Serialize;

/// A block beside a hole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// The first byte of the block.
    pub address: u64,
    /// Bytes of the block.
    pub size: u64,
    /// The line that took it.
    pub line: String,
    /// What a program took it for; the array type where it is the client's.
    pub what: String,
    /// Place of its allocation among the events.
    #[serde(skip)]
    pub place: u32,
}

impl Neighbour {
    pub(crate) fn of(trace: &Trace, place: u32) -> Self {
        let Event { address, size, label, spec, .. } = trace.events.at(place);
        let what = match &*trace.labels[label as usize] {
            "" => trace.specs[spec as usize].text(),
            label => label.to_owned(),
        };
        let line = origin(trace, place, By::Line);
        Self { address, size, line, what, place }
    }
}

/// Free addresses between two blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hole {
    /// The first of them.
    pub address: u64,
    /// How many.
    pub size: u64,
    /// What stands below; `None` at the start of the space.
    pub below: Option<Neighbour>,
    /// What stands above; `None` at the end of the space.
    pub above: Option<Neighbour>,
}

/// All holes of a space at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holes {
    /// Bytes of all of them.
    pub free: u64,
    /// Bytes of the largest.
    pub largest: u64,
    /// How many there are.
    pub count: u64,
    /// Largest first, by address among equals.
    pub list: Vec<Hole>,
}

impl Holes {
    /// The holes of a space after so many changes, of which `most` are listed.
    pub fn at(
        trace: &Trace,
        (space, history): (&Space, &SpaceHistory),
        changes: usize,
        most: usize,
    ) -> Self {
        Self::between(trace, &live(trace, history, changes), space.capacity, most)
    }

    /// The holes between blocks, which stand in the order of their addresses.
    pub(crate) fn between(trace: &Trace, blocks: &[u32], capacity: u64, most: usize) -> Self {
        // Size, address, and the place among the blocks of the one above.
        let mut found: Vec<(u64, u64, usize)> = Vec::new();
        let mut end = 0;
        for (above, &place) in blocks.iter().enumerate() {
            let event = trace.events.at(place);
            if event.address > end {
                found.push((event.address - end, end, above));
            }
            end = end.max(event.address.saturating_add(event.size));
        }
        if capacity > end {
            found.push((capacity - end, end, blocks.len()));
        }
        found.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let side = |at: Option<usize>| {
            at.and_then(|at| blocks.get(at)).map(|&place| Neighbour::of(trace, place))
        };
        let listed = found.iter().take(most).map(|&(size, address, above)| Hole {
            address,
            size,
            below: side(above.checked_sub(1)),
            above: side(Some(above)),
        });
        Self {
            free: found.iter().map(|&(size, ..)| size).sum(),
            largest: found.first().map_or(0, |&(size, ..)| size),
            count: found.len() as u64,
            list: listed.collect(),
        }
    }
}
