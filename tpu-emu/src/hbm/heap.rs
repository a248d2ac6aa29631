//! The allocator of one space: who holds which bytes, under one lock.
use super::backing::Region;
use super::block::{Allocated, Freed, Space};
use super::pages::span_of;
use super::state::{HeapState, KEEP_AT_MOST, Taken};
use super::stats::{HeapStats, HoleList};
use super::uses::{End, PendingUses};
use super::windows::Windows;
use parking_lot::{Mutex, MutexGuard};
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::{Bytes, DevAddr, to_u64};
use tpu_placement::{Live, Span};

/// The blocks and holes of one [`Space`], with a record `R` for each live block.
///
/// Where blocks go is [`tpu_placement::Placement`]'s rule: the same calls on one thread give the
/// same addresses, whatever still uses bytes that were given back. The host's address space is
/// reserved by the first allocation, can be touched as far as blocks have reached, and has memory
/// where it was; a block's first bytes are zeros or what an earlier block left. Each block is one
/// range of the host's addresses, the space need not be (`windows.rs`).
#[derive(Debug)]
pub struct Heap<R> {
    space: Space,
    windows: Windows,
    state: Mutex<HeapState<R>>,
    /// What blocks are filled with when they are taken and when they are given back.
    poison: Option<u8>,
}

impl<R: Copy> Heap<R> {
    /// An empty heap. Reserves nothing yet.
    pub fn new(space: Space) -> Self {
        let state = Mutex::new(HeapState::new(space.capacity, space.granule));
        Self { windows: Windows::new(space.capacity), space, state, poison: None }
    }

    /// The same heap, which fills blocks with a byte when they are taken and, where nothing uses
    /// them any more, when they are given back. It keeps all memory that it has had: pages that go
    /// back would read as zeros.
    pub fn poisoned(self, poison: Option<u8>) -> Self {
        Self { poison, ..self }
    }

    /// Takes `size` bytes, rounded up to granules.
    ///
    /// `record` is made here, before the lock, and returned whether or not there is room: the
    /// stack that it holds leads to this function.
    ///
    /// # Errors
    /// `BadArgument` for no bytes, `OutOfMemory` if no hole is large enough, `Host` and
    /// `HostMemory` if the system refuses addresses or memory. Nothing has changed then.
    // A frame of its own: recorded stacks show it by name.
    #[inline(never)]
    pub fn allocate(&self, size: Bytes, record: impl FnOnce() -> R) -> (Result<Allocated>, R) {
        let record = record();
        (self.take(size, record), record)
    }

    /// Gives the block that starts at `addr` back.
    ///
    /// # Errors
    /// `BadArgument` if no live block starts there.
    pub fn free(&self, addr: DevAddr) -> Result<Freed<R>> {
        self.free_in_use(addr, &PendingUses::default())
    }

    /// Gives the block that starts at `addr` back, although `uses` still read or write its bytes:
    /// its next owner is told.
    ///
    /// # Errors
    /// `BadArgument` if no live block starts there.
    pub fn free_in_use(&self, addr: DevAddr, uses: &PendingUses) -> Result<Freed<R>> {
        let mut state = self.state.lock();
        let Some(given) = state.give(addr, uses) else {
            let nearest = state.placement.nearest(addr);
            drop(state);
            return Err(self.not_live(addr, nearest));
        };
        let (size, sequence) = (given.block.size(), state.changes);
        let freed = Freed { size, record: given.record, sequence };
        match self.poison {
            Some(byte) if uses.are_over() => self.fill(&mut state, given.block, byte),
            Some(_) => {}
            None => {
                if size >= KEEP_AT_MOST && uses.are_over() {
                    let pages = state.unused(given.block);
                    self.give_back(&mut state, &pages);
                }
                self.trim(&mut state);
            }
        }
        Ok(freed)
    }

    /// All live blocks, by address.
    pub fn live(&self) -> Vec<Live<R>> {
        self.live_at().0
    }

    /// All live blocks, by address, and the position of the last change before them.
    pub fn live_at(&self) -> (Vec<Live<R>>, u64) {
        let state = self.state.lock();
        (state.placement.live().collect(), state.changes)
    }

    /// The live block that contains `addr`.
    pub fn at(&self, addr: DevAddr) -> Option<Live<R>> {
        self.state.lock().placement.at(addr)
    }

    /// The numbers of this moment.
    pub fn stats(&self) -> HeapStats {
        let state = self.state.lock();
        HeapStats {
            bytes_in_use: state.placement.in_use(),
            peak_bytes_in_use: state.peak,
            num_allocs: state.num_allocs,
            live_blocks: to_u64(state.placement.live_blocks()),
            largest_alloc_size: state.largest_alloc,
            bytes_limit: self.space.capacity,
            bytes_reserved: Bytes::ZERO,
            peak_bytes_reserved: Bytes::ZERO,
            bytes_reservable_limit: self.space.capacity,
            bytes_free: state.placement.free(),
            largest_free_block_bytes: state.placement.largest_hole(),
            bytes_kept: state.kept,
        }
    }

    /// The position of its last change; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.state.lock().changes
    }

    /// The holes of this moment, of which at most `most` are listed.
    pub fn holes(&self, most: usize) -> HoleList {
        let state = self.state.lock();
        let placement = &state.placement;
        let largest_first = placement.holes_of(Bytes::ZERO).rev();
        HoleList {
            sequence: state.changes,
            in_use: placement.in_use(),
            free: placement.free(),
            count: to_u64(placement.hole_count()),
            largest: largest_first.take(most).map(|hole| (hole.start, hole.size())).collect(),
        }
    }

    /// Forgets the peaks: the most in use and the largest block are those of now.
    pub fn reset_peak(&self) {
        let mut state = self.state.lock();
        let largest = state.placement.live().map(|block| block.size).max();
        state.peak = state.placement.in_use();
        state.largest_alloc = largest.unwrap_or_default();
    }

    /// The space itself.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Host address of the space's first byte; `None` before the first allocation.
    pub fn base(&self) -> Option<usize> {
        self.windows.base()
    }

    /// The address in the space of a host pointer; `None` if it points elsewhere.
    pub(crate) fn addr_of(&self, pointer: usize) -> Option<DevAddr> {
        self.windows.addr_of(pointer)
    }

    /// The host address of a byte of the space; `None` where there is none, as before the first
    /// allocation.
    pub(crate) fn pointer_to(&self, addr: DevAddr) -> Option<usize> {
        self.windows.pointer_to(self.around(Span { start: addr, end: addr }), addr)
    }

    /// Bytes of the space, whoever holds them.
    ///
    /// # Errors
    /// `BadArgument` if they pass the end of what blocks have had.
    pub fn region(&self, addr: DevAddr, size: Bytes) -> Result<Region> {
        let end = Bytes(addr.0).checked_add(size);
        let part = end.map(|end| Span { start: addr, end: DevAddr(end.0) });
        let region = part.and_then(|part| self.windows.region(self.around(part), part));
        region.ok_or_else(|| self.passes(addr, size))
    }

    fn passes(&self, addr: DevAddr, size: Bytes) -> Error {
        let Space { place, capacity, .. } = &self.space;
        Error::bad(format!("{size} at {addr} pass the end of {place}, {capacity}"))
    }

    /// The live block around a part of the space, where the place of the bytes depends on it.
    fn around(&self, part: Span) -> Span {
        if self.windows.is_whole() {
            return part;
        }
        let Some(block) = self.at(part.start) else { return part };
        let end = DevAddr(block.addr.0 + block.size.0);
        if part.end <= end { Span { start: block.addr, end } } else { part }
    }

    fn take(&self, size: Bytes, record: R) -> Result<Allocated> {
        if size == Bytes::ZERO {
            return Err(Error::bad(format!("an allocation of 0 B in {}", self.space.place)));
        }
        // Before the lock, and before anything has changed.
        self.windows.open()?;
        let mut state = self.state.lock();
        loop {
            match state.take(size, record, |block| self.windows.covers(block)) {
                Taken::Block(block, sequence, uses) => {
                    if self.poison.is_none() {
                        self.trim(&mut state);
                    }
                    drop(state);
                    let region = self.windows.region(block, block);
                    let region = region.ok_or_else(|| self.passes(block.start, block.size()))?;
                    if let Some(byte) = self.poison {
                        uses.wait();
                        region.fill(byte);
                    }
                    return Ok(Allocated { region, sequence, uses });
                }
                Taken::Beyond(block) => {
                    MutexGuard::unlocked(&mut state, || self.windows.prepare(block))?;
                }
                Taken::None => break,
            }
        }
        let placement = &state.placement;
        let (asked, free, hole) =
            (placement.rounded(size), placement.free(), placement.largest_hole());
        drop(state);
        Err(Error::OutOfMemory { asked, free, hole, place: Arc::clone(&self.space.place) })
    }

    /// Gives back what is kept too much.
    fn trim(&self, state: &mut MutexGuard<'_, HeapState<R>>) {
        let excess = state.excess();
        if excess > Bytes::ZERO {
            let pages = state.too_many(excess);
            self.give_back(state, &pages);
        }
    }

    /// Gives pages of holes back to the system with the lock open. Who takes them meanwhile is
    /// told that they are in use.
    fn give_back(&self, state: &mut MutexGuard<'_, HeapState<R>>, pages: &[Range<u64>]) {
        if pages.is_empty() {
            return;
        }
        let over = End::new();
        state.forget_pages(pages, &over);
        MutexGuard::unlocked(state, || {
            pages.iter().for_each(|run| self.windows.discard(span_of(run)));
            over.event().settle(Ok(()));
        });
    }

    /// Fills a part of a hole with the lock open, likewise.
    fn fill(&self, state: &mut MutexGuard<'_, HeapState<R>>, hole: Span, byte: u8) {
        let over = End::new();
        state.use_hole(hole, &over);
        MutexGuard::unlocked(state, || {
            self.windows.fill(hole, byte);
            over.event().settle(Ok(()));
        });
    }

    fn not_live(&self, addr: DevAddr, nearest: Option<Live<R>>) -> Error {
        let place = &self.space.place;
        let nearest = match nearest {
            Some(Live { addr, size, .. }) => format!("the nearest is {size} at {addr}"),
            None => "there is none".to_owned(),
        };
        Error::bad(format!("no live block of {place} starts at {addr}: {nearest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::{PAGE, pages_inside};
    use super::*;

    fn heap(capacity: Bytes) -> Heap<u32> {
        Heap::new(Space { place: "0x0x0_HBM0".into(), capacity, granule: Bytes(512) })
    }

    fn get(heap: &Heap<u32>, size: Bytes, record: u32) -> Result<Region> {
        heap.allocate(size, || record).0.map(|taken| taken.region)
    }

    fn take(heap: &Heap<u32>, size: u64) -> DevAddr {
        get(heap, Bytes(size), 0).unwrap().addr()
    }

    #[test]
    fn a_block_takes_the_smallest_hole_that_fits_and_the_lowest_among_equals() {
        let heap = heap(Bytes::kib(64));
        let blocks = [4096, 512, 1024, 512, 1024, 512].map(|size| take(&heap, size));
        for hole in [0, 2, 4] {
            heap.free(blocks[hole]).unwrap();
        }
        assert_eq!(take(&heap, 700), blocks[2]);
        assert_eq!(take(&heap, 1024), blocks[4]);
        assert_eq!(take(&heap, 1024), blocks[0]);
        assert_eq!(take(&heap, 8192), DevAddr(7680));
    }

    #[test]
    fn free_space_in_pieces_is_reported_with_its_sum_and_its_largest_piece() {
        let heap = heap(Bytes(4096));
        let blocks = [1024; 4].map(|size| take(&heap, size));
        heap.free(blocks[1]).unwrap();
        heap.free(blocks[3]).unwrap();
        let before = (heap.live(), heap.stats());

        let error = get(&heap, Bytes(1025), 0).unwrap_err();

        let [asked, free, hole] = [1536, 2048, 1024].map(Bytes);
        let place = "0x0x0_HBM0".into();
        assert_eq!(error, Error::OutOfMemory { asked, free, hole, place });
        assert_eq!((heap.live(), heap.stats()), before);
    }

    #[test]
    fn a_full_space_recovers_to_one_hole_whatever_the_order_of_frees() {
        let heap = heap(Bytes::kib(64));
        for step in [1, 3, 5, 7] {
            let blocks: Vec<_> = (0..128).map(|_| take(&heap, 512)).collect();
            assert!(get(&heap, Bytes(1), 0).is_err());
            assert_eq!(heap.stats().bytes_in_use, Bytes::kib(64));
            for n in 0..128 {
                heap.free(blocks[n * step % 128]).unwrap();
            }
            assert_eq!(heap.stats().largest_free_block_bytes, Bytes::kib(64));
        }
        assert_eq!(take(&heap, 64 << 10), DevAddr(0));
    }

    #[test]
    fn freeing_what_is_not_live_names_the_nearest_block() {
        let heap = heap(Bytes::kib(64));
        let text = |addr| heap.free(addr).unwrap_err().to_string();
        let start = "no live block of 0x0x0_HBM0 starts at";
        assert_eq!(text(DevAddr(0)), format!("{start} 0x0000000000: there is none"));

        let blocks = [512, 4096, 512].map(|size| take(&heap, size));
        assert_eq!(
            heap.free(blocks[1]).unwrap(),
            Freed { size: Bytes(4096), record: 0, sequence: 4 }
        );
        let low = "the nearest is 512 B at 0x0000000000";
        let high = "the nearest is 512 B at 0x0000001200";
        assert_eq!(text(blocks[1]), format!("{start} 0x0000000200: {low}"));
        assert_eq!(text(DevAddr(0x1100)), format!("{start} 0x0000001100: {high}"));
        assert_eq!(text(DevAddr(0x1201)), format!("{start} 0x0000001201: {high}"));
    }

    #[test]
    fn nothing_and_everything_are_refused() {
        let heap = heap(Bytes(4096));
        let error = get(&heap, Bytes::ZERO, 0).unwrap_err();
        assert_eq!(error, Error::bad("an allocation of 0 B in 0x0x0_HBM0"));
        assert!(heap.base().is_none(), "a refused call reserved memory");
        let error = get(&heap, Bytes(u64::MAX), 0).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { asked: Bytes(u64::MAX), .. }));
    }

    #[test]
    fn a_block_is_found_by_every_address_and_pointer_in_it() {
        let heap = heap(Bytes::kib(64));
        take(&heap, 512);
        let region = get(&heap, Bytes(1000), 7).unwrap();
        let block = Live { addr: DevAddr(512), size: Bytes(1024), record: 7 };
        assert_eq!(heap.at(DevAddr(512)), Some(block));
        assert_eq!(heap.at(DevAddr(1535)), Some(block));
        assert_eq!(heap.at(DevAddr(1536)), None);

        let start = region.as_ptr().addr();
        assert_eq!(heap.addr_of(start + 3), Some(DevAddr(515)));
        assert_eq!(heap.addr_of(start - 513), None);
        assert_eq!(heap.addr_of(start - 512 + (64 << 10)), None);
    }

    #[test]
    fn the_peaks_can_be_reset_and_the_count_cannot() {
        let heap = heap(Bytes::kib(64));
        let [first, _] = [4096, 512].map(|size| take(&heap, size));
        heap.free(first).unwrap();
        assert_eq!(heap.stats().peak_bytes_in_use, Bytes(4608));
        heap.reset_peak();
        let stats = heap.stats();
        assert_eq!((stats.bytes_in_use, stats.peak_bytes_in_use), (Bytes(512), Bytes(512)));
        assert_eq!((stats.num_allocs, stats.live_blocks), (2, 1));
        assert_eq!(stats.largest_alloc_size, Bytes(512));
    }

    #[test]
    fn a_page_is_kept_only_while_it_lies_wholly_in_a_hole() {
        let heap = heap(Bytes(PAGE.0 * 4));
        let first = get(&heap, PAGE, 0).unwrap();
        let half = PAGE.0 / 2 - 512;
        let blocks: Vec<_> = (0..4).map(|_| take(&heap, half)).collect();
        for (block, kept) in [(2, 0), (3, 1), (0, 1), (1, 2)] {
            heap.free(blocks[block]).unwrap();
            assert_eq!(heap.stats().bytes_kept, Bytes(PAGE.0 * kept));
        }
        take(&heap, 512);
        assert_eq!(heap.stats().bytes_kept, PAGE);
        heap.free(first.addr()).unwrap();
        assert_eq!(heap.stats().bytes_kept, PAGE, "the first page does not count");
    }

    #[test]
    fn the_kept_sum_is_the_committed_pages_of_all_holes() {
        let heap = heap(Bytes::mib(96));
        let mut blocks = Vec::new();
        for step in 0..3_000_usize {
            let size = [300 << 10, 512, 3 << 20, 18 << 20, 1 << 20][step * 7 % 5];
            if step % 23 < 12 {
                blocks.extend(get(&heap, Bytes(size), 0).map(|region| region.addr()));
            } else if !blocks.is_empty() {
                heap.free(blocks.swap_remove(step * 13 % blocks.len())).unwrap();
            }
            let state = heap.state.lock();
            let holes = state.placement.holes_of(PAGE);
            let kept = holes.map(|hole| state.committed.bytes(pages_inside(hole)).0).sum();
            assert_eq!(state.kept, Bytes(kept), "step {step}");
            assert!(state.kept <= KEEP_AT_MOST, "step {step}");
        }
        assert!(heap.stats().num_allocs > 1_000, "{:?}", heap.stats());
    }

    #[test]
    fn pages_of_small_blocks_go_back_when_too_many_are_kept() {
        let heap = heap(Bytes::gib(1));
        take(&heap, PAGE.0);
        let blocks: Vec<_> = (0..120).map(|_| take(&heap, PAGE.0 * 4)).collect();
        let region = get(&heap, Bytes(PAGE.0 * 4), 0).unwrap();
        region.write(Bytes(9), &[1]).unwrap();
        heap.free(region.addr()).unwrap();
        let kept = blocks.iter().map(|&block| {
            heap.free(block).unwrap();
            heap.stats().bytes_kept
        });
        assert_eq!(kept.max(), Some(KEEP_AT_MOST));
        let mut byte = [9];
        region.read(Bytes(9), &mut byte).unwrap();
        assert_eq!(byte, [0], "a stale region of a page that went back");
        assert_eq!(heap.stats().largest_free_block_bytes, Bytes::mib(1022));
    }

    #[test]
    fn a_block_over_bytes_in_use_is_where_it_would_be_and_is_told_of_the_use() {
        let heap = heap(Bytes::gib(1));
        let region = get(&heap, Bytes(PAGE.0 * 300), 0).unwrap();
        region.write(Bytes(PAGE.0), &[7]).unwrap();
        let (end, mut uses) = (End::new(), PendingUses::default());
        uses.add(&end);
        heap.free_in_use(region.addr(), &uses).unwrap();
        assert_eq!(heap.stats().bytes_in_use, Bytes::ZERO);
        // Neither its size nor what others give back takes its pages away.
        let other = heap.allocate(Bytes(PAGE.0 * 512), || 0).0.unwrap();
        heap.free_in_use(other.region.addr(), &other.uses).unwrap();
        let mut byte = [0];
        region.read(Bytes(PAGE.0), &mut byte).unwrap();
        assert_eq!(byte, [7]);

        let (taken, _) = heap.allocate(Bytes(PAGE.0), || 0);
        let taken = taken.unwrap();
        assert_eq!((taken.region.addr(), taken.uses.are_over()), (DevAddr(0), false));
        end.event().settle(Ok(()));
        assert!(taken.uses.are_over());
        assert!(heap.allocate(Bytes(512), || 0).0.unwrap().uses.are_over());
    }

    #[test]
    fn what_is_kept_does_not_make_the_process_larger_than_its_blocks_did() {
        let heap = heap(Bytes::gib(4));
        let sizes = [40, 60, 80, 100, 120].map(|pages| PAGE.0 * pages);
        for size in sizes {
            let blocks = [(); 2].map(|()| take(&heap, size));
            // The holes are too small for the next, which goes behind them.
            let fence = take(&heap, 512);
            for block in blocks {
                heap.free(block).unwrap();
            }
            take(&heap, size);
            heap.free(fence).unwrap();
            let state = heap.state.lock();
            let (all, peak) = (state.committed.total(), state.peak);
            assert!(all.0 <= peak.0 + peak.0 / 16 + Bytes::mib(20).0, "{all} of {peak}");
        }
    }
}
