//! Best fit with coalescing over one address space.
use super::backing::{Backing, Region};
use super::stats::HeapStats;
use crate::error::{Error, Result};
use crate::units::{Bytes, DevAddr, to_u64};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Blocks of this size and more go back to the system when they are freed.
const DISCARD_AT_ONCE: Bytes = Bytes::mib(1);
/// Smaller ones do when this much has been freed since the last time.
const DISCARD_IN_SUM: Bytes = Bytes::mib(16);

/// A memory space to be.
#[derive(Debug, Clone)]
pub struct Space {
    /// Its name in errors, as `0x0x0_HBM0`.
    pub place: Arc<str>,
    /// What can be allocated.
    pub capacity: Bytes,
    /// Blocks start at, and take, multiples of this.
    pub granule: Bytes,
}

/// A block that is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live<R> {
    /// Where it starts.
    pub addr: DevAddr,
    /// Its size, rounded up to the granule.
    pub size: Bytes,
    /// What its owner keeps with it.
    pub record: R,
}

/// A block that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freed<R> {
    /// Its size.
    pub size: Bytes,
    /// What its owner kept with it.
    pub record: R,
    /// Position of the free in the order of changes of this heap.
    pub sequence: u64,
}

#[derive(Debug)]
struct Block<R> {
    size: Bytes,
    record: R,
}

#[derive(Debug)]
struct Blocks<R> {
    live: BTreeMap<DevAddr, Block<R>>,
    /// Live blocks that somebody is about to free.
    leaving: BTreeSet<DevAddr>,
    holes: BTreeMap<DevAddr, Bytes>,
    by_size: BTreeSet<(Bytes, DevAddr)>,
    stats: HeapStats,
    changes: u64,
    /// Freed in small blocks since pages last went back to the system.
    dirty: Bytes,
    /// The end of the highest block so far: nothing was ever written behind it.
    touched: DevAddr,
}

/// One memory space and its blocks. The record of each block is kept with the block, so the
/// ledger and the allocator cannot disagree.
#[derive(Debug)]
pub struct Heap<R> {
    space: Space,
    backing: OnceLock<Result<Arc<Backing>>>,
    blocks: Mutex<Blocks<R>>,
}

impl<R: Copy> Heap<R> {
    /// An empty heap. Address space is reserved by the first allocation.
    pub fn new(space: Space) -> Self {
        let whole = space.capacity;
        let mut blocks = Blocks {
            live: BTreeMap::new(),
            leaving: BTreeSet::new(),
            holes: BTreeMap::new(),
            by_size: BTreeSet::new(),
            stats: HeapStats { bytes_limit: whole, ..HeapStats::default() },
            changes: 0,
            dirty: Bytes::ZERO,
            touched: DevAddr(0),
        };
        if whole > Bytes::ZERO {
            blocks.add_hole(DevAddr(0), whole);
        }
        Self { space, backing: OnceLock::new(), blocks: Mutex::new(blocks) }
    }

    /// What the heap is made of.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Takes the smallest hole that holds `size` bytes, of equal ones the lowest.
    ///
    /// Beside the block comes its position in the order of changes. `record` is made here,
    /// before the lock, and returned whether or not there is room: the stack that it holds
    /// leads to this function.
    ///
    /// # Errors
    /// `OutOfMemory`; `BadArgument` for no bytes; `Host` without address space.
    #[inline(never)]
    pub fn allocate(&self, size: Bytes, record: impl FnOnce() -> R) -> (Result<(Region, u64)>, R) {
        let record = record();
        (self.take(size, record), record)
    }

    fn take(&self, size: Bytes, record: R) -> Result<(Region, u64)> {
        if size == Bytes::ZERO {
            return Err(Error::bad("an allocation of no bytes"));
        }
        let asked = size.round_up(self.space.granule).unwrap_or(Bytes(u64::MAX));
        let backing = self.backing()?;
        let mut blocks = self.blocks.lock();
        let hole = blocks.by_size.range((asked, DevAddr(0))..).next().copied();
        let Some((hole_size, addr)) = hole else {
            return Err(self.out_of_memory(asked, &blocks));
        };
        blocks.remove_hole(addr, hole_size);
        if hole_size > asked {
            blocks.add_hole(addr.offset(asked), hole_size - asked);
        }
        blocks.changes += 1;
        let sequence = blocks.changes;
        blocks.live.insert(addr, Block { size: asked, record });
        blocks.touched = blocks.touched.max(addr.offset(asked));
        let stats = &mut blocks.stats;
        stats.num_allocs += 1;
        stats.bytes_in_use += asked;
        stats.peak_bytes_in_use = stats.peak_bytes_in_use.max(stats.bytes_in_use);
        stats.largest_alloc_size = stats.largest_alloc_size.max(asked);
        drop(blocks);
        Ok((backing.region(addr, asked)?, sequence))
    }

    /// Gives the block at `addr` back.
    ///
    /// # Errors
    /// `BadArgument` where no live block starts there.
    pub fn free(&self, addr: DevAddr) -> Result<Freed<R>> {
        let backing = self.backing()?;
        let mut blocks = self.blocks.lock();
        let there = blocks.live.get(&addr).filter(|_| !blocks.leaving.contains(&addr));
        let Some(size) = there.map(|block| block.size) else {
            return Err(self.no_block(addr, &blocks));
        };
        if size >= DISCARD_AT_ONCE {
            // The block stays counted while its pages go, so that nobody runs out of memory
            // between the two, and a second free of it is an error.
            blocks.leaving.insert(addr);
            drop(blocks);
            backing.discard(addr, size);
            blocks = self.blocks.lock();
            blocks.leaving.remove(&addr);
        } else {
            blocks.dirty += size;
        }
        let Some(block) = blocks.live.remove(&addr) else {
            return Err(self.no_block(addr, &blocks));
        };
        blocks.changes += 1;
        blocks.stats.bytes_in_use -= size;
        blocks.add_hole(addr, size);
        if blocks.dirty >= DISCARD_IN_SUM {
            blocks.dirty = Bytes::ZERO;
            // Under the lock: the holes must be there for others, and be nobody's, all the time.
            for (&addr, &size) in &blocks.holes {
                let used = Bytes(blocks.touched.0.saturating_sub(addr.0));
                backing.discard(addr, size.min(used));
            }
        }
        Ok(Freed { size, record: block.record, sequence: blocks.changes })
    }

    /// The live blocks by address.
    pub fn live(&self) -> Vec<Live<R>> {
        let blocks = self.blocks.lock();
        blocks.live.iter().map(|(&addr, block)| live(addr, block)).collect()
    }

    /// The live block that contains `addr`.
    pub fn at(&self, addr: DevAddr) -> Option<Live<R>> {
        let blocks = self.blocks.lock();
        let (&start, block) = blocks.live.range(..=addr).next_back()?;
        (addr < start.offset(block.size)).then(|| live(start, block))
    }

    /// Where an address of this process is in the space, if it is.
    pub fn addr_of(&self, pointer: usize) -> Option<DevAddr> {
        let backing = self.backing.get()?.as_ref().ok()?;
        let offset = to_u64(pointer.checked_sub(backing.base())?);
        (offset < self.space.capacity.0).then_some(DevAddr(offset))
    }

    /// Bytes of the space, whoever owns them.
    ///
    /// # Errors
    /// `BadArgument` where they leave the space.
    pub fn region(&self, addr: DevAddr, size: Bytes) -> Result<Region> {
        self.backing()?.region(addr, size)
    }

    /// How full it is.
    pub fn stats(&self) -> HeapStats {
        let blocks = self.blocks.lock();
        HeapStats { largest_free_block_bytes: blocks.largest_hole(), ..blocks.stats }
    }

    /// Forgets the peaks: the most in use is what is in use now.
    pub fn reset_peak(&self) {
        let mut blocks = self.blocks.lock();
        let largest = blocks.live.values().map(|block| block.size).max();
        blocks.stats.peak_bytes_in_use = blocks.stats.bytes_in_use;
        blocks.stats.largest_alloc_size = largest.unwrap_or_default();
    }

    fn backing(&self) -> Result<&Arc<Backing>> {
        let reserved = self.backing.get_or_init(|| Backing::reserve(self.space.capacity));
        reserved.as_ref().map_err(Clone::clone)
    }

    fn out_of_memory(&self, asked: Bytes, blocks: &Blocks<R>) -> Error {
        let free = self.space.capacity - blocks.stats.bytes_in_use;
        let (hole, place) = (blocks.largest_hole(), Arc::clone(&self.space.place));
        Error::OutOfMemory { asked, free, hole, place }
    }

    fn no_block(&self, addr: DevAddr, blocks: &Blocks<R>) -> Error {
        let place = &self.space.place;
        let below = blocks.live.range(..addr).next_back();
        let nearest = below.or_else(|| blocks.live.range(addr..).next());
        let hint = match nearest {
            Some((start, block)) => {
                format!("the nearest starts at {start} and takes {}", block.size)
            }
            None => "there is none".to_owned(),
        };
        Error::bad(format!("no live block of {place} starts at {addr}; {hint}"))
    }
}

fn live<R: Copy>(addr: DevAddr, block: &Block<R>) -> Live<R> {
    Live { addr, size: block.size, record: block.record }
}

impl<R> Blocks<R> {
    fn largest_hole(&self) -> Bytes {
        self.by_size.last().map_or(Bytes::ZERO, |&(size, _)| size)
    }

    fn remove_hole(&mut self, addr: DevAddr, size: Bytes) {
        self.holes.remove(&addr);
        self.by_size.remove(&(size, addr));
    }

    /// Adds a hole, joined with those that touch it.
    fn add_hole(&mut self, addr: DevAddr, size: Bytes) {
        let (mut addr, mut size) = (addr, size);
        let below = self.holes.range(..addr).next_back().map(|(&start, &size)| (start, size));
        if let Some((start, below)) = below
            && start.offset(below) == addr
        {
            self.remove_hole(start, below);
            (addr, size) = (start, size + below);
        }
        if let Some(&above) = self.holes.get(&addr.offset(size)) {
            self.remove_hole(addr.offset(size), above);
            size += above;
        }
        self.holes.insert(addr, size);
        self.by_size.insert((size, addr));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(capacity: u64) -> Heap<u8> {
        let place = "0x0x0_HBM0".into();
        Heap::new(Space { place, capacity: Bytes(capacity), granule: Bytes(512) })
    }

    fn take(heap: &Heap<u8>, size: u64) -> DevAddr {
        heap.allocate(Bytes(size), || 0).0.unwrap().0.addr()
    }

    #[test]
    fn the_smallest_hole_that_fits_is_taken_and_of_equal_ones_the_lowest() {
        let heap = heap(64 << 10);
        let blocks = [2048, 512, 1024, 512, 1024, 512].map(|size| take(&heap, size));
        for hole in [0, 2, 4] {
            heap.free(blocks[hole]).unwrap();
        }
        assert_eq!(take(&heap, 1000), blocks[2]);
        assert_eq!(take(&heap, 1024), blocks[4]);
        assert_eq!(take(&heap, 1025), blocks[0]);
    }

    #[test]
    fn neighbouring_holes_become_one_in_any_order() {
        for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 0, 2], [1, 2, 0], [2, 0, 1]] {
            let heap = heap(1536);
            let blocks = [512; 3].map(|size| take(&heap, size));
            for block in order {
                heap.free(blocks[block]).unwrap();
            }
            assert_eq!(heap.stats().largest_free_block_bytes, Bytes(1536));
            assert_eq!(take(&heap, 1536), DevAddr(0));
        }
    }

    #[test]
    fn fragmentation_is_told_by_the_largest_hole() {
        let heap = heap(2048);
        let blocks = [512; 4].map(|size| take(&heap, size));
        heap.free(blocks[0]).unwrap();
        heap.free(blocks[2]).unwrap();
        let error = heap.allocate(Bytes(1024), || 0).0.unwrap_err();
        let (asked, free, hole) = (Bytes(1024), Bytes(1024), Bytes(512));
        assert_eq!(error, Error::OutOfMemory { asked, free, hole, place: "0x0x0_HBM0".into() });
        assert_eq!(take(&heap, 512), blocks[0]);
    }

    #[test]
    fn a_full_heap_recovers_and_huge_requests_do_not_wrap() {
        let heap = heap(1024);
        let block = take(&heap, 1024);
        assert!(heap.allocate(Bytes(1), || 0).0.is_err());
        assert!(heap.allocate(Bytes(u64::MAX), || 0).0.is_err());
        heap.free(block).unwrap();
        assert_eq!(take(&heap, 1), DevAddr(0));
        let stats = heap.stats();
        assert_eq!((stats.bytes_in_use, stats.peak_bytes_in_use), (Bytes(512), Bytes(1024)));
        assert_eq!((stats.num_allocs, stats.largest_alloc_size), (2, Bytes(1024)));
    }

    #[test]
    fn freeing_twice_or_inside_a_block_is_an_error_that_names_the_nearest() {
        let heap = heap(4096);
        let [first, second] = [1024, 512].map(|size| take(&heap, size));
        heap.free(second).unwrap();
        assert_eq!(
            heap.free(second).unwrap_err().to_string(),
            "no live block of 0x0x0_HBM0 starts at 0x0000000400; \
             the nearest starts at 0x0000000000 and takes 1 KiB"
        );
        assert!(heap.free(DevAddr(512)).is_err());
        heap.free(first).unwrap();
        assert!(heap.free(first).unwrap_err().to_string().ends_with("there is none"));
    }

    #[test]
    fn blocks_are_found_by_any_address_inside() {
        let heap = heap(4096);
        let (region, _) = heap.allocate(Bytes(1000), || 7).0.unwrap();
        let pointer = region.as_ptr().addr() + 900;
        let addr = heap.addr_of(pointer).unwrap();
        assert_eq!(heap.at(addr).unwrap().record, 7);
        assert_eq!(heap.at(DevAddr(1024)), None);
        assert_eq!(heap.addr_of(region.as_ptr().addr() + 4096), None);
    }

    #[test]
    fn no_bytes_are_refused() {
        assert!(heap(4096).allocate(Bytes::ZERO, || 0).0.is_err());
    }
}
