//! Blocks and holes of one memory.
use crate::holes::Holes;
use crate::span::Span;
use std::collections::BTreeMap;
use tpu_base::units::{Bytes, DevAddr};

/// A block that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live<R> {
    /// Where it starts.
    pub addr: DevAddr,
    /// The size, rounded to granules.
    pub size: Bytes,
    /// What its owner wrote down.
    pub record: R,
}

/// A block that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The block: its size is rounded to granules.
    pub block: Span,
    /// The hole that it was cut from, as it was.
    pub hole: Span,
}

/// A block that was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<R> {
    /// The block.
    pub block: Span,
    /// The hole that it has become, or has become part of.
    pub hole: Span,
    /// What its owner wrote down.
    pub record: R,
}

/// The blocks and holes of one memory, with a record `R` for each block.
#[derive(Debug, Clone)]
pub struct Placement<R> {
    capacity: Bytes,
    granule: Bytes,
    live: BTreeMap<DevAddr, (Bytes, R)>,
    holes: Holes,
    in_use: Bytes,
}

impl<R: Copy> Placement<R> {
    /// One hole of `capacity`; every block starts at a multiple of `granule` and has a multiple of
    /// it as its size.
    pub fn new(capacity: Bytes, granule: Bytes) -> Self {
        let holes = Holes::new(capacity);
        Self { capacity, granule, live: BTreeMap::new(), holes, in_use: Bytes::ZERO }
    }

    /// The size of the memory.
    pub const fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// The size of the block that a request for `size` gets.
    pub fn rounded(&self, size: Bytes) -> Bytes {
        // A size too large to round is too large to fit.
        size.round_up(self.granule).unwrap_or(size)
    }

    /// Where [`Placement::take`] would put a block of `size`, if there is room.
    pub fn find(&self, size: Bytes) -> Option<Span> {
        let size = self.rounded(size);
        self.holes.fit(size).map(|hole| Span::new(hole.start, size))
    }

    /// Takes `size` bytes, rounded up to granules; `None` if no hole is large enough, or for no
    /// bytes.
    pub fn take(&mut self, size: Bytes, record: R) -> Option<Taken> {
        let size = self.rounded(size);
        if size == Bytes::ZERO {
            return None;
        }
        let hole = self.holes.cut(size)?;
        let block = Span::new(hole.start, size);
        self.live.insert(block.start, (size, record));
        self.in_use += size;
        Some(Taken { block, hole })
    }

    /// Gives the block that starts at `addr` back; `None` if none does.
    pub fn give(&mut self, addr: DevAddr) -> Option<Given<R>> {
        let (size, record) = self.live.remove(&addr)?;
        let block = Span::new(addr, size);
        self.in_use -= size;
        Some(Given { block, hole: self.holes.join(block), record })
    }

    /// All blocks, by address.
    pub fn live(&self) -> impl DoubleEndedIterator<Item = Live<R>> {
        self.live.iter().map(|(&addr, &(size, record))| Live { addr, size, record })
    }

    /// How many blocks there are.
    pub fn live_blocks(&self) -> usize {
        self.live.len()
    }

    /// The last block that starts at or below `addr`.
    pub fn below(&self, addr: DevAddr) -> Option<Live<R>> {
        let (&addr, &(size, record)) = self.live.range(..=addr).next_back()?;
        Some(Live { addr, size, record })
    }

    /// The first block that starts at or above `addr`.
    pub fn above(&self, addr: DevAddr) -> Option<Live<R>> {
        let (&addr, &(size, record)) = self.live.range(addr..).next()?;
        Some(Live { addr, size, record })
    }

    /// The block that contains `addr`.
    pub fn at(&self, addr: DevAddr) -> Option<Live<R>> {
        self.below(addr).filter(|block| addr < block.addr.offset(block.size))
    }

    /// The block with the least distance to `addr`, the lower one of two.
    pub fn nearest(&self, addr: DevAddr) -> Option<Live<R>> {
        let above = self.above(addr);
        let Some(below) = self.below(addr) else { return above };
        let gap = addr.0.saturating_sub(below.addr.offset(below.size).0);
        let closer = above.filter(|above| above.addr.0 - addr.0 < gap);
        closer.or(Some(below))
    }

    /// Sum of all blocks.
    pub const fn in_use(&self) -> Bytes {
        self.in_use
    }

    /// Sum of all holes.
    pub const fn free(&self) -> Bytes {
        self.holes.total()
    }

    /// All holes, by address.
    pub fn holes(&self) -> impl DoubleEndedIterator<Item = Span> {
        self.holes.by_address()
    }

    /// The holes of at least `size`, by size, by address among equals.
    pub fn holes_of(&self, size: Bytes) -> impl DoubleEndedIterator<Item = Span> {
        self.holes.at_least(size)
    }

    /// How many holes there are.
    pub fn hole_count(&self) -> usize {
        self.holes.count()
    }

    /// The size of the largest hole, zero if there is none.
    pub fn largest_hole(&self) -> Bytes {
        self.holes.largest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(capacity: u64) -> Placement<u8> {
        Placement::new(Bytes(capacity), Bytes(512))
    }

    #[test]
    fn a_request_is_rounded_and_put_where_it_was_said_it_would_be() {
        let mut memory = placement(4096);
        assert_eq!(memory.find(Bytes(513)), Some(Span::new(DevAddr(0), Bytes(1024))));
        let taken = memory.take(Bytes(513), 7).unwrap();
        assert_eq!(taken.block, Span::new(DevAddr(0), Bytes(1024)));
        assert_eq!(taken.hole, Span::new(DevAddr(0), Bytes(4096)));
        assert_eq!((memory.in_use(), memory.free()), (Bytes(1024), Bytes(3072)));
        assert_eq!(memory.take(Bytes(3073), 0), None);
        assert_eq!(memory.take(Bytes::ZERO, 0), None);
        assert_eq!((memory.take(Bytes(u64::MAX), 0), memory.find(Bytes(u64::MAX))), (None, None));
        let given = memory.give(DevAddr(0)).unwrap();
        assert_eq!((given.record, given.hole), (7, Span::new(DevAddr(0), Bytes(4096))));
        assert_eq!(memory.give(DevAddr(0)), None);
    }

    #[test]
    fn holes_come_by_address_and_by_size() {
        let mut memory = placement(8192);
        let sizes = [1024, 512, 512, 512, 2048, 512];
        let blocks = sizes.map(|size| memory.take(Bytes(size), 0).unwrap().block);
        for at in [0, 2, 4] {
            memory.give(blocks[at].start).unwrap();
        }
        let sizes =
            |holes: Vec<Span>| -> Vec<u64> { holes.iter().map(|hole| hole.size().0).collect() };
        assert_eq!(sizes(memory.holes().collect()), [1024, 512, 2048, 3072]);
        assert_eq!(sizes(memory.holes_of(Bytes(1024)).collect()), [1024, 2048, 3072]);
        assert_eq!((memory.hole_count(), memory.largest_hole()), (4, Bytes(3072)));
        assert_eq!(memory.live_blocks(), 3);
    }
}
