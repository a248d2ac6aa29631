//! Where the bytes of a space are in this process: one range of addresses for all of it, or, where
//! the process has not so many, ranges for the parts that blocks have reached.
use super::backing::{Backing, Region};
use super::pages::PAGE;
use parking_lot::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tpu_base::error::Result;
use tpu_base::units::{Bytes, DevAddr, to_usize};
use tpu_placement::Span;

/// Addresses that all spaces of the process reserve together at most: half of what a process has
/// on x86-64, so that the other half is left to everybody else.
const ALL_ADDRESSES: u64 = 1 << 46;

/// A space gets this part of the addresses that are left, or all that it wants.
const PART: u64 = 64;

/// The smallest range that is reserved where a space wants more.
const LEAST: Bytes = Bytes::mib(64);

/// Addresses that the spaces of this process have reserved.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// The ranges of one space.
///
/// The first one begins at the start of the space. Where it has not the whole space, a block that
/// passes its end lies in the first further range that holds it whole: ranges are added and never
/// taken away, so where a block lies does not change. Further ranges may overlap; of the bytes that
/// they share only those are in use that a block has.
#[derive(Debug)]
pub(super) struct Windows {
    capacity: Bytes,
    first: OnceLock<Arc<Backing>>,
    further: RwLock<Vec<Arc<Backing>>>,
    /// What this space and those beside it have reserved together.
    reserved: &'static AtomicU64,
}

impl Windows {
    /// No range yet.
    pub(super) fn new(capacity: Bytes) -> Self {
        Self::beside(&RESERVED, capacity)
    }

    /// No range yet, among spaces that count together what they reserve.
    fn beside(reserved: &'static AtomicU64, capacity: Bytes) -> Self {
        Self { capacity, first: OnceLock::new(), further: RwLock::default(), reserved }
    }

    /// Reserves the first range, if that was not done.
    ///
    /// Errors: `Host` with the system's words if it refuses.
    pub(super) fn open(&self) -> Result<&Arc<Backing>> {
        if let Some(first) = self.first.get() {
            return Ok(first);
        }
        // Two threads may both reserve; one of the reservations is dropped unused.
        let first = self.reserve(DevAddr(0), self.capacity, Bytes(1))?;
        Ok(self.first.get_or_init(|| Arc::new(first)))
    }

    /// Host address of the first byte; `None` before the first block.
    pub(super) fn base(&self) -> Option<usize> {
        self.first.get().map(|first| first.base())
    }

    /// Whether a block can lie here as things are.
    pub(super) fn covers(&self, block: Span) -> bool {
        let Some(first) = self.first.get() else { return false };
        if block.end.0 <= first.usable().0 {
            return true;
        }
        block.end > first.end()
            && self.further(block).is_some_and(|range| block.end.0 <= range.usable().0)
    }

    /// Lets a block lie here.
    ///
    /// Errors: `Host` and `HostMemory` with the system's words if it refuses.
    pub(super) fn prepare(&self, block: Span) -> Result<()> {
        let first = self.open()?;
        if block.end <= first.end() {
            return first.grow(block.end);
        }
        if let Some(range) = self.further(block) {
            return range.grow(block.end);
        }
        let start = DevAddr(block.start.0 / PAGE.0 * PAGE.0);
        let rest = Bytes(self.capacity.0 - start.0);
        let ample = Bytes(start.0.max(LEAST.0)).min(rest);
        let needed = Bytes(block.end.0 - start.0);
        let range = self.reserve(start, ample.max(needed), needed)?;
        range.grow(block.end)?;
        self.further.write().push(Arc::new(range));
        Ok(())
    }

    /// Bytes of a block; those of no block if it is the same as the part.
    pub(super) fn region(&self, block: Span, part: Span) -> Option<Region> {
        let first = self.first.get()?;
        let range = match block.end <= first.end() {
            true => Arc::clone(first),
            false => self.further(block)?,
        };
        Region::new(range, part.start, part.size())
    }

    /// Whether the first range has the whole space.
    pub(super) fn is_whole(&self) -> bool {
        self.first.get().is_none_or(|first| first.end().0 >= self.capacity.0)
    }

    /// The address in the space of a host pointer; `None` if it points elsewhere.
    pub(super) fn addr_of(&self, pointer: usize) -> Option<DevAddr> {
        let first = self.first.get()?;
        first.addr_of(pointer, self.capacity).or_else(|| {
            let further = self.further.read();
            further.iter().find_map(|range| range.addr_of(pointer, self.capacity))
        })
    }

    /// The host address of a byte of a block.
    pub(super) fn pointer_to(&self, block: Span, addr: DevAddr) -> Option<usize> {
        let first = self.first.get()?;
        match block.end <= first.end() {
            true => Some(first.base() + to_usize(addr.0)),
            false => {
                let range = self.further(block)?;
                Some(range.base() + to_usize(addr.0 - range.start().0))
            }
        }
    }

    /// Gives the memory of whole pages back to the system, wherever it is.
    pub(super) fn discard(&self, span: Span) {
        self.each(|range| range.discard(span));
    }

    /// Sets the bytes of a part of the space to `byte`, wherever they can be touched.
    pub(super) fn fill(&self, span: Span, byte: u8) {
        self.each(|range| {
            let start = span.start.0.max(range.start().0);
            let end = span.end.0.min(range.usable().0);
            let size = Bytes(end.saturating_sub(start));
            if let Some(region) = Region::new(Arc::clone(range), DevAddr(start), size) {
                region.fill(byte);
            }
        });
    }

    fn each(&self, mut does: impl FnMut(&Arc<Backing>)) {
        self.first.get().into_iter().for_each(&mut does);
        if !self.is_whole() {
            self.further.read().iter().for_each(does);
        }
    }

    /// Reserves addresses for the part of a space from `start`: `wanted` bytes, or fewer where the
    /// process has not so many, but `needed`.
    fn reserve(&self, start: DevAddr, wanted: Bytes, needed: Bytes) -> Result<Backing> {
        let left = ALL_ADDRESSES.saturating_sub(self.reserved.load(Ordering::Relaxed));
        let ample = Bytes((left / PART).max(LEAST.0) / PAGE.0 * PAGE.0);
        let mut size = ample.max(needed).min(wanted);
        loop {
            match Backing::reserve(start, size) {
                Ok(backing) => {
                    self.reserved.fetch_add(size.0, Ordering::Relaxed);
                    return Ok(backing);
                }
                Err(why) if size <= needed.max(LEAST) => return Err(why),
                Err(_) => {
                    let half = (size.0 / 2).next_multiple_of(PAGE.0);
                    size = Bytes(half.min(size.0 - 1)).max(needed.max(LEAST));
                }
            }
        }
    }

    /// The first further range that has room for a block.
    fn further(&self, block: Span) -> Option<Arc<Backing>> {
        let further = self.further.read();
        let holds =
            |range: &&Arc<Backing>| range.start() <= block.start && block.end <= range.end();
        further.iter().find(holds).cloned()
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        self.each(|range| {
            self.reserved.fetch_sub(range.end().0 - range.start().0, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A space whose first range has only a part of it. No other space reserves beside it.
    fn narrow(capacity: Bytes, first: Bytes) -> Windows {
        let reserved = Box::leak(Box::new(AtomicU64::new(0)));
        let windows = Windows::beside(reserved, capacity);
        windows.first.set(Arc::new(Backing::reserve(DevAddr(0), first).unwrap())).unwrap();
        windows.reserved.fetch_add(first.0, Ordering::Relaxed);
        windows
    }

    fn span(start: u64, end: u64) -> Span {
        Span { start: DevAddr(start), end: DevAddr(end) }
    }

    fn block(windows: &Windows, start: u64, end: u64) -> Region {
        let block = span(start, end);
        windows.prepare(block).unwrap();
        assert!(windows.covers(block));
        windows.region(block, block).unwrap()
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_space_has_one_range_while_there_are_addresses() {
        let windows = Windows::new(Bytes::gib(96));
        assert!(!windows.covers(span(0, 512)) && windows.base().is_none());
        block(&windows, 0, 512);
        assert!(windows.is_whole());
        let far = block(&windows, 90 << 30, (90 << 30) + 512);
        assert_eq!(far.as_ptr().addr(), windows.base().unwrap() + (90 << 30));
    }

    #[test]
    fn a_block_past_the_first_range_is_whole_in_another() {
        let windows = narrow(Bytes::gib(4), Bytes::mib(8));
        let low = block(&windows, 0, 512);
        assert!(!windows.is_whole());
        // It begins before the end of the first range.
        let across = block(&windows, 7 * MIB, 9 * MIB);
        across.fill(3);
        low.fill(1);
        let inside = block(&windows, 6 * MIB, 7 * MIB);
        inside.fill(2);
        let mut bytes = vec![0; 2 << 20];
        across.read(Bytes::ZERO, &mut bytes).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 3));
        for region in [&low, &across, &inside] {
            let pointer = region.as_ptr().addr();
            assert_eq!(windows.addr_of(pointer), Some(region.addr()));
            let end = DevAddr(region.addr().0 + region.size().0);
            let whole = Span { start: region.addr(), end };
            assert_eq!(windows.pointer_to(whole, region.addr()), Some(pointer));
            let part = span(region.addr().0 + 256, end.0);
            assert_eq!(windows.region(whole, part).unwrap().as_ptr().addr(), pointer + 256);
        }
        assert_eq!(windows.addr_of(8), None);
    }

    #[test]
    fn ranges_are_few_and_stay() {
        let windows = narrow(Bytes::gib(16), Bytes::mib(2));
        let blocks: Vec<Region> =
            (0..2000).map(|at| block(&windows, at * 3 * MIB, (at + 1) * 3 * MIB)).collect();
        let count = windows.further.read().len();
        assert!(count < 10, "{count}");
        for region in &blocks {
            let whole = span(region.addr().0, region.addr().0 + region.size().0);
            let now = windows.region(whole, whole).unwrap();
            assert_eq!(now.as_ptr(), region.as_ptr());
        }
    }

    #[test]
    fn pages_are_given_back_and_filled_wherever_they_are() {
        let windows = narrow(Bytes::gib(1), Bytes::mib(4));
        let regions = [(0, 4), (2, 8), (4, 12)].map(|(start, end)| {
            let region = block(&windows, start * MIB, end * MIB);
            region.fill(9);
            region
        });
        let byte = |region: &Region, at: u64| {
            let mut byte = [0];
            region.read(Bytes(at * MIB - region.addr().0), &mut byte).unwrap();
            byte[0]
        };
        windows.discard(span(2 * MIB, 6 * MIB));
        let found = [byte(&regions[0], 1), byte(&regions[0], 3), byte(&regions[1], 5)];
        assert_eq!(found, [9, 0, 0]);
        assert_eq!([byte(&regions[1], 7), byte(&regions[2], 5)], [9, 0]);
        windows.fill(span(3 * MIB, 5 * MIB), 7);
        assert_eq!([byte(&regions[0], 3), byte(&regions[1], 4), byte(&regions[2], 4)], [7; 3]);
    }

    #[test]
    fn addresses_that_a_space_had_are_free_again() {
        let space = Windows::new(Bytes::gib(2));
        block(&space, 0, 512);
        let before = RESERVED.load(Ordering::Relaxed);
        assert!(before >= 2 << 30);
        drop(space);
    }

    #[test]
    #[cfg(not(miri))] // Miri has no reservations.
    fn ten_thousand_spaces_of_96_gib_have_addresses() {
        let spaces: Vec<_> = (0..10_000).map(|_| Windows::new(Bytes::gib(96))).collect();
        for space in &spaces {
            space.open().unwrap();
        }
        assert!(spaces[0].is_whole() && !spaces[9_999].is_whole());
        let last = &spaces[9_999];
        let far = block(last, 80 << 30, (80 << 30) + 4096);
        far.fill(5);
        assert_eq!(last.addr_of(far.as_ptr().addr()), Some(DevAddr(80 << 30)));
        // The sum of all tests stays within what a process has.
        assert!(RESERVED.load(Ordering::Relaxed) < 2 * ALL_ADDRESSES);
    }
}
