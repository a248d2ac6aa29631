//! The changes of a trace in another memory, placed by the machine's own rule.
use crate::event::ChangeKind;
use crate::history::{History, NO_CHANGE};
use crate::tables::Trace;
use tpu_base::units::{Bytes, DevAddr};
use tpu_placement::Placement;

/// The most bytes that a memory is looked for with.
const LARGEST: u64 = 1 << 46;

/// A memory without bytes: blocks and holes where the machine would have them. The record of a
/// block is the place of its allocation among the events of the trace.
#[derive(Debug, Clone)]
pub struct Memory(Placement<u32>);

impl Memory {
    /// One hole.
    pub fn new(capacity: u64, granule: u64) -> Self {
        Self(Placement::new(Bytes(capacity), Bytes(granule)))
    }

    /// A memory with blocks where they lay. `None` if they lie on one another, or outside of it.
    pub fn with(trace: &Trace, blocks: &[u32], capacity: u64, granule: u64) -> Option<Self> {
        let mut blocks: Vec<u32> = blocks.to_vec();
        blocks.sort_unstable_by_key(|&place| trace.events.at(place).address);
        let mut memory = Self::new(capacity, granule);
        let mut fillers = Vec::new();
        let mut end = 0;
        // There is one hole, at the end, until all of them lie there.
        for place in blocks {
            let event = trace.events.at(place);
            let gap = event.address.checked_sub(end)?;
            if gap > 0 {
                fillers.push(memory.take(gap, NO_CHANGE)?);
            }
            if memory.take(event.size, place)? != event.address {
                return None;
            }
            end = event.address.checked_add(event.size)?;
        }
        fillers.into_iter().for_each(|at| memory.give(at));
        Some(memory)
    }

    /// Takes a block, and gives its address; `None` if there is no hole for it.
    pub fn take(&mut self, size: u64, record: u32) -> Option<u64> {
        self.0.take(Bytes(size), record).map(|taken| taken.block.start.0)
    }

    /// Gives the block at an address back, if there is one.
    pub fn give(&mut self, address: u64) {
        self.0.give(DevAddr(address));
    }

    /// Whether blocks of these sizes find room, one after the other. They are not kept.
    pub fn has_room(&self, sizes: &[u64]) -> bool {
        let mut trial = self.clone();
        sizes.iter().filter(|&&size| size > 0).all(|&size| trial.take(size, NO_CHANGE).is_some())
    }

    /// Address, size and record of each block, by address.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        self.0.live().map(|block| (block.addr.0, block.size.0, block.record))
    }

    /// Address and size of each hole, by address.
    pub fn holes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.holes().map(|hole| (hole.start.0, hole.size().0))
    }

    /// Bytes of all holes.
    pub fn free(&self) -> u64 {
        self.0.free().0
    }

    /// Bytes of the largest hole.
    pub fn largest_hole(&self) -> u64 {
        self.0.largest_hole().0
    }

    /// Bytes of all blocks.
    pub fn in_use(&self) -> u64 {
        self.0.in_use().0
    }
}

/// An allocation that finds no room in another memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    /// Place of the allocation, or of the refusal, among the events.
    pub place: u32,
    /// How many changes of the space came before it.
    pub changes: usize,
    /// Bytes that were asked for.
    pub asked: u64,
    /// Bytes in use by then.
    pub in_use: u64,
    /// Bytes of all holes.
    pub free: u64,
    /// Bytes of the largest hole.
    pub largest_hole: u64,
}

/// The changes of one space, ready to be made in memories of other sizes.
#[derive(Debug)]
pub struct Replay<'a> {
    trace: &'a Trace,
    history: &'a History,
    space: u32,
    granule: u64,
    /// Of each array type what it takes elsewhere, where that is another size.
    sizes: Vec<Option<u64>>,
}

impl<'a> Replay<'a> {
    /// The changes of a space, with the sizes of the trace.
    pub fn new(trace: &'a Trace, history: &'a History, space: u32, granule: u64) -> Self {
        Self { trace, history, space, granule, sizes: Vec::new() }
    }

    /// The same changes with arrays of other sizes: of each array type its bytes in memory, `None`
    /// for those of the trace.
    pub fn with_sizes(self, sizes: Vec<Option<u64>>) -> Self {
        Self { sizes, ..self }
    }

    fn size(&self, place: u32) -> u64 {
        let event = self.trace.events.at(place);
        let other = self.sizes.get(event.spec as usize).copied().flatten();
        // A block of another size than its type says is no array: a program's temporaries.
        let spec = &self.trace.specs[event.spec as usize];
        match other {
            Some(size) if event.size == spec.padded.next_multiple_of(self.granule) => size,
            _ => event.size,
        }
    }

    /// Makes the first so many changes in a memory of `capacity` bytes.
    ///
    /// What the machine refused is tried as well, and given back at once: what the program would
    /// have done with it is not known.
    ///
    /// # Errors
    /// The first allocation that finds no room.
    pub fn run(&self, capacity: u64, changes: usize) -> Result<Memory, NoRoom> {
        let Self { trace, history, space, granule, .. } = *self;
        let of = &history.spaces[space as usize];
        let mut refusals: Vec<(usize, u32)> = of
            .refusals
            .iter()
            .copied()
            .zip(history.refusals.iter().copied())
            .filter(|&(_, place)| trace.events.at(place).space == space)
            .collect();
        refusals.sort_unstable();
        let mut refusals = refusals.into_iter().peekable();
        let changes = changes.min(of.order.len());
        let mut memory = Memory::new(capacity, granule);
        let mut addresses = vec![u64::MAX; changes];
        let no_room = |memory: &Memory, place, changes, asked| NoRoom {
            place,
            changes,
            asked,
            in_use: memory.in_use(),
            free: memory.free(),
            largest_hole: memory.largest_hole(),
        };
        for at in 0..=changes {
            // A refusal at the end of what is made is what is asked about, and not tried here.
            while let Some((_, place)) =
                refusals.next_if(|&(behind, _)| behind == at && at < changes)
            {
                let asked = self.size(place);
                match memory.take(asked, NO_CHANGE) {
                    Some(address) => memory.give(address),
                    None if asked == 0 => {}
                    None => return Err(no_room(&memory, place, at, asked)),
                }
            }
            let Some(&place) = of.order.get(at).filter(|_| at < changes) else { break };
            let partner = of.partner[at] as usize;
            match trace.events.kind(place) {
                ChangeKind::Allocate => {
                    let asked = self.size(place);
                    match memory.take(asked, place) {
                        Some(address) => addresses[at] = address,
                        None if asked == 0 => {}
                        None => return Err(no_room(&memory, place, at, asked)),
                    }
                }
                _ if partner < at => memory.give(addresses[partner]),
                _ => {}
            }
        }
        Ok(memory)
    }

    /// Whether a memory of `capacity` bytes has every block of the whole trace where it lay.
    pub fn is_where_it_lay(&self, capacity: u64) -> bool {
        let of = &self.history.spaces[self.space as usize];
        let mut memory = Memory::new(capacity, self.granule);
        of.order.iter().all(|&place| {
            let event = self.trace.events.at(place);
            match event.kind {
                ChangeKind::Allocate => memory.take(event.size, place) == Some(event.address),
                _ => {
                    memory.give(event.address);
                    true
                }
            }
        })
    }

    /// The first allocation or refusal of the whole trace that finds no room in a memory.
    pub fn first_refusal(&self, capacity: u64) -> Option<NoRoom> {
        let of = &self.history.spaces[self.space as usize];
        let memory = match self.run(capacity, of.order.len()) {
            Ok(memory) => memory,
            Err(refused) => return Some(refused),
        };
        // Refusals behind the last change.
        let last = self.history.refusals.iter().zip(&of.refusals).find(|&(&place, &behind)| {
            behind == of.order.len()
                && self.trace.events.at(place).space == self.space
                && !memory.has_room(&[self.size(place)])
        });
        last.map(|(&place, &changes)| NoRoom {
            place,
            changes,
            asked: self.size(place),
            in_use: memory.in_use(),
            free: memory.free(),
            largest_hole: memory.largest_hole(),
        })
    }

    /// A memory of `least` bytes or more in which everything finds room, and of which the next
    /// smaller one is too small; `None` where none up to 64 TiB is large enough. Found by replays.
    pub fn smallest_from(&self, least: u64) -> Option<u64> {
        let of = &self.history.spaces[self.space as usize];
        let fits = |capacity: u64| self.first_refusal(capacity).is_none();
        let most = of.in_use.iter().copied().max().unwrap_or(0);
        if most.max(least) > LARGEST {
            return None;
        }
        let up = |bytes: u64| bytes.next_multiple_of(self.granule);
        let mut small = up(most).max(self.granule).max(least);
        if fits(small) {
            return Some(small);
        }
        let mut step = up(small / 64 + 1);
        let mut large = small + step;
        while !fits(large) {
            if large > LARGEST {
                return None;
            }
            small = large;
            step *= 2;
            large = small + step;
        }
        while large - small > self.granule {
            let middle = up(small + (large - small) / 2).min(large - self.granule);
            match fits(middle) {
                true => large = middle,
                false => small = middle,
            }
        }
        Some(large)
    }
}
