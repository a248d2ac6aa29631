//! The memory behind a range of a space: its addresses, and how many of them can be touched.
// UNSAFETY: maps, unmaps and copies raw memory. Everything that leaves this file is bounds-checked.
#![expect(unsafe_code, reason = "mmap, and copies through pointers into the mapping")]
use super::pages::PAGE;
use super::system;
use parking_lot::Mutex;
use std::io;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tpu_base::error::{Error, Result};
use tpu_base::host_pages;
use tpu_base::units::{Bytes, DevAddr, to_u64, to_usize};
use tpu_placement::Span;

/// How much more than was asked for can be touched afterwards, at least and at most.
const STEPS: [usize; 2] = [4 << 20, 256 << 20];

/// The addresses of a range of one space; unmapped at drop. They can be touched from the start up
/// to a place that only moves up.
#[derive(Debug)]
pub(super) struct Backing {
    /// Where the range begins in its space, aligned to [`PAGE`].
    start: DevAddr,
    /// Start of the range in this process, aligned to [`PAGE`].
    base: NonNull<u8>,
    size: usize,
    /// Addresses that nobody else gets, with the slack that the alignment needed; `None` where
    /// the space takes addresses only as it needs them.
    reserved: Option<(NonNull<u8>, usize)>,
    /// Bytes from `base` that can be touched.
    usable: AtomicUsize,
    growing: Mutex<()>,
}

// SAFETY: the mapping belongs to no thread; `Backing` gives out addresses and never a reference.
unsafe impl Send for Backing {}
// SAFETY: as for `Send`; its addresses never change after `reserve`.
unsafe impl Sync for Backing {}

impl Backing {
    /// Takes addresses for `size` bytes of a space from `start` on, which is aligned to [`PAGE`];
    /// nothing can be touched yet.
    ///
    /// Errors: `Host` with the system's words if it refuses.
    pub(super) fn reserve(start: DevAddr, size: Bytes) -> Result<Self> {
        let refused =
            |why: io::Error| Error::Host(format!("cannot reserve {size} of address space: {why}"));
        let mapped = size.checked_add(PAGE).filter(|sum| sum.0 <= isize::MAX.unsigned_abs() as u64);
        let mapped = mapped.ok_or_else(|| refused(io::ErrorKind::OutOfMemory.into()))?;
        let (size, mapped) = (to_usize(size.0), to_usize(mapped.0));
        let backing = |base, reserved| Self {
            start,
            base,
            size,
            reserved,
            usable: AtomicUsize::new(0),
            growing: Mutex::new(()),
        };
        // What is reserved counts in a process's address space. Where that has an end, the
        // addresses are left free until they are needed.
        if system::addresses_are_limited() {
            return Ok(backing(system::far_addresses(size).map_err(refused)?, None));
        }
        match system::reserve(mapped) {
            Ok(mapping) => {
                let slack = mapping.align_offset(to_usize(PAGE.0));
                // SAFETY: `slack` is less than `PAGE`, and the mapping is `PAGE` larger than the
                // space.
                let base = unsafe { mapping.add(slack) };
                Ok(backing(base, Some((mapping, mapped))))
            }
            Err(why) => Err(refused(why)),
        }
    }

    /// Host address of the first byte.
    pub(super) fn base(&self) -> usize {
        self.base.addr().get()
    }

    /// Where the range begins in its space.
    pub(super) fn start(&self) -> DevAddr {
        self.start
    }

    /// Where the range ends in its space.
    pub(super) fn end(&self) -> DevAddr {
        self.start.offset(Bytes(to_u64(self.size)))
    }

    /// Where what can be touched ends in the space.
    pub(super) fn usable(&self) -> DevAddr {
        self.start.offset(Bytes(to_u64(self.usable.load(Ordering::Acquire))))
    }

    /// The address in the space, which ends at `capacity`, of a pointer into the range.
    pub(super) fn addr_of(&self, pointer: usize, capacity: Bytes) -> Option<DevAddr> {
        let offset = pointer.checked_sub(self.base()).filter(|&offset| offset < self.size)?;
        let addr = self.start.offset(Bytes(to_u64(offset)));
        (addr.0 < capacity.0).then_some(addr)
    }

    /// Lets everything below `end` be touched, and somewhat more where the system has it: large
    /// spaces grow in large steps.
    ///
    /// Errors: `HostMemory` with the system's words if it refuses.
    pub(super) fn grow(&self, end: DevAddr) -> Result<()> {
        let _one = self.growing.lock();
        let (usable, end) =
            (self.usable.load(Ordering::Acquire), to_usize(end.0.saturating_sub(self.start.0)));
        if end <= usable {
            return Ok(());
        }
        // The first page alone is one mapping: thousands of devices with a few small arrays each
        // stay far from the number of mappings that a process may have.
        let ample = match usable == 0 && end <= to_usize(PAGE.0) {
            true => to_usize(PAGE.0),
            false => end.max(usable + (usable / 8).clamp(STEPS[0], STEPS[1])),
        };
        let ample = ample.next_multiple_of(to_usize(PAGE.0)).min(self.size);
        let grown = self.map(usable, ample).or_else(|_| self.map(usable, end));
        let usable_now = grown.map_err(|why| Error::HostMemory {
            asked: Bytes(to_u64(end - usable)),
            what: "device memory",
            why: why.to_string(),
        })?;
        self.usable.store(usable_now, Ordering::Release);
        Ok(())
    }

    /// Maps the bytes from `usable` to `end`, rounded up to the system's pages; gives where they
    /// end.
    fn map(&self, usable: usize, end: usize) -> io::Result<usize> {
        let end = end.next_multiple_of(system::SMALL_PAGE);
        let at = self.base.as_ptr().wrapping_add(usable);
        // SAFETY: past `usable` nobody has an address yet. What was reserved is this space's,
        // and has room for the last page; what was not is mapped only where nothing else is.
        unsafe { system::map_at(at, end - usable, self.reserved.is_some())? };
        // The first page stays in small pages of the host, so that a device with a few small
        // arrays costs kilobytes. Past it huge pages make the first touch several times cheaper.
        let first = usable.max(to_usize(PAGE.0));
        if first < end {
            let start = self.base.as_ptr().wrapping_add(first);
            // SAFETY: the range was mapped just now.
            let done = unsafe { system::prefer_huge_pages(start, end - first) };
            Self::advised(first, end - first, done);
        }
        Ok(end)
    }

    /// Gives the memory of whole pages back to the system; it reads as zeros from now on.
    pub(super) fn discard(&self, span: Span) {
        let [start, end] =
            [span.start, span.end].map(|at| to_usize(at.0.saturating_sub(self.start.0)));
        let end = end.min(self.usable.load(Ordering::Acquire));
        if start < end {
            // SAFETY: `end` is at most `usable`.
            let done =
                unsafe { host_pages::discard(self.base.as_ptr().wrapping_add(start), end - start) };
            Self::advised(start, end - start, done);
        }
    }

    /// A refusal of advice costs memory or speed, never correctness, so it is only logged.
    fn advised(start: usize, length: usize, done: io::Result<()>) {
        if let Err(why) = done {
            tracing::warn!(start, length, %why, "the host refused advice about HBM");
        }
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        let (start, length) = self.reserved.unwrap_or((self.base, *self.usable.get_mut()));
        if length > 0 {
            // SAFETY: what `reserve` or `map_at` gave. Every `Region` holds an `Arc` of this
            // `Backing`, so none is left.
            unsafe { system::unmap(start.as_ptr(), length) };
        }
    }
}

/// Bytes of zeros from which on pages are given back instead of written.
const CLEARED: usize = 1 << 20;
/// Bytes of a repeated element that are written at a time.
const REPEATED: usize = 1 << 16;

/// A range of emulated HBM: an address in its space, a size, and the memory behind them.
///
/// It is a view, not the owner of the block: freeing the block leaves the region readable, with
/// whatever is written there later. The mapping lives as long as any region of it, so a stale
/// region never faults: what could be touched once can always be. A clone costs one reference count.
///
/// The copies are raw. Two of them racing on the same bytes leave a mixture of both; who orders
/// them is the machine, by its events.
#[derive(Debug, Clone)]
pub struct Region {
    backing: Arc<Backing>,
    addr: DevAddr,
    size: Bytes,
}

impl Region {
    /// `None` if the range passes what can be touched of the space.
    pub(super) fn new(backing: Arc<Backing>, addr: DevAddr, size: Bytes) -> Option<Self> {
        let end = Bytes(addr.0).checked_add(size)?;
        let inside = addr >= backing.start && end.0 <= backing.usable().0;
        inside.then_some(Self { backing, addr, size })
    }

    /// Where the range starts in its space.
    pub fn addr(&self) -> DevAddr {
        self.addr
    }

    /// The length.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Host address of the first byte; `size` bytes from here are mapped while the region lives.
    pub fn as_ptr(&self) -> *mut u8 {
        let offset = to_usize(self.addr.0 - self.backing.start.0);
        // SAFETY: `new` and `part` keep `addr` and `addr + size` inside the mapping.
        unsafe { self.backing.base.as_ptr().add(offset) }
    }

    /// `size` bytes of this region, from `offset`.
    ///
    /// # Errors
    /// `BadArgument` if they pass the end.
    pub fn part(&self, offset: Bytes, size: Bytes) -> Result<Self> {
        self.check("a part", offset, size)?;
        Ok(Self { backing: Arc::clone(&self.backing), addr: self.addr.offset(offset), size })
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// `BadArgument` if they pass the end; then nothing is written.
    pub fn write(&self, offset: Bytes, bytes: &[u8]) -> Result<()> {
        self.check("a write", offset, Bytes(to_u64(bytes.len())))?;
        // SAFETY: `check` has `offset + len` inside the region, `bytes` is readable as a slice,
        // and `copy` allows overlap.
        unsafe { ptr::copy(bytes.as_ptr(), self.at(offset), bytes.len()) };
        Ok(())
    }

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// `BadArgument` if they pass the end; then `into` is untouched.
    pub fn read(&self, offset: Bytes, into: &mut [u8]) -> Result<()> {
        self.check("a read", offset, Bytes(to_u64(into.len())))?;
        // SAFETY: `check` has `offset + len` inside the region, `into` is writable as a slice,
        // and `copy` allows overlap.
        unsafe { ptr::copy(self.at(offset), into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies the first `size` bytes to the start of `to`, which may overlap or be in another
    /// space.
    ///
    /// # Errors
    /// `BadArgument` if they pass the end of either; then nothing is written.
    pub fn copy_to(&self, to: &Self, size: Bytes) -> Result<()> {
        self.check("a copy from", Bytes::ZERO, size)?;
        to.check("a copy to", Bytes::ZERO, size)?;
        // SAFETY: `check` has `size` bytes inside both regions, and `copy` allows overlap.
        unsafe { ptr::copy(self.as_ptr(), to.as_ptr(), to_usize(size.0)) };
        Ok(())
    }

    /// Whether the first `size` bytes are those of another region.
    ///
    /// # Errors
    /// `BadArgument` if they pass the end of either.
    pub fn equals(&self, other: &Self, size: Bytes) -> Result<bool> {
        self.check("a comparison of", Bytes::ZERO, size)?;
        other.check("a comparison with", Bytes::ZERO, size)?;
        if self.as_ptr() == other.as_ptr() {
            return Ok(true);
        }
        let size = to_usize(size.0);
        // SAFETY: `check` has `size` bytes inside both regions, all of them initialised; who
        // orders this and the writes to them is the machine, by its events.
        let bytes = |region: &Self| unsafe { slice::from_raw_parts(region.as_ptr(), size) };
        Ok(bytes(self) == bytes(other))
    }

    /// Sets every byte to zero.
    pub fn fill_zero(&self) {
        self.fill(0);
    }

    /// Sets every byte to `byte`.
    pub fn fill(&self, byte: u8) {
        // SAFETY: the region's `size` bytes are mapped while it lives.
        unsafe { ptr::write_bytes(self.as_ptr(), byte, to_usize(self.size.0)) };
    }

    /// Sets the first `size` bytes to an element again and again; whole pages of zeros take no
    /// memory of the host.
    ///
    /// # Errors
    /// `BadArgument` if they pass the end; then nothing is written.
    pub fn repeat(&self, element: &[u8], size: Bytes) -> Result<()> {
        self.check("a write", Bytes::ZERO, size)?;
        let zeros = element.iter().all(|&byte| byte == 0);
        let mut at = 0;
        let end = to_usize(size.0);
        if zeros && end >= CLEARED {
            let start = self.as_ptr().align_offset(system::SMALL_PAGE);
            let pages = (end - start) / system::SMALL_PAGE * system::SMALL_PAGE;
            // SAFETY: the pages are inside of the region, which is mapped while it lives; who
            // orders this and what reads them is the machine, by its events.
            if unsafe { host_pages::discard(self.as_ptr().wrapping_add(start), pages) }.is_ok() {
                self.write(Bytes::ZERO, &vec![0; start])?;
                at = start + pages;
            }
        }
        let times = (REPEATED / element.len().max(1)).max(1);
        let piece = element.repeat(times);
        while at < end && !piece.is_empty() {
            let bytes = piece.len().min(end - at);
            self.write(Bytes(to_u64(at)), &piece[..bytes])?;
            at += bytes;
        }
        Ok(())
    }

    /// How many of its bytes have memory of the host.
    pub fn resident(&self) -> Bytes {
        // SAFETY: the region's `size` bytes are mapped while it lives.
        let pages = unsafe { system::resident(self.as_ptr(), to_usize(self.size.0)) };
        Bytes(to_u64(pages)).min(self.size)
    }

    /// The bytes as a slice.
    ///
    /// # Safety
    /// Nothing writes to these bytes while the slice lives: not through another region, a
    /// pointer given to a client, or a free and a new allocation.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: `size` bytes are mapped, every one is initialised (pages start as zeros), and
        // the caller keeps writers away.
        unsafe { slice::from_raw_parts(self.as_ptr(), to_usize(self.size.0)) }
    }

    /// The bytes as a slice to write to.
    ///
    /// # Safety
    /// Nothing else reads or writes these bytes while the slice lives: not through another
    /// region, a pointer given to a client, or a free and a new allocation.
    #[expect(clippy::mut_from_ref, reason = "a region is a view; exclusivity is the caller's")]
    pub unsafe fn bytes_mut(&self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the caller keeps readers away too.
        unsafe { slice::from_raw_parts_mut(self.as_ptr(), to_usize(self.size.0)) }
    }

    /// The host address of `offset`, which `check` has seen.
    fn at(&self, offset: Bytes) -> *mut u8 {
        self.as_ptr().wrapping_add(to_usize(offset.0))
    }

    fn check(&self, what: &str, offset: Bytes, size: Bytes) -> Result<()> {
        if offset.checked_add(size).is_some_and(|end| end <= self.size) {
            return Ok(());
        }
        let Self { addr, size: all, .. } = self;
        Err(Error::bad(format!("{what} of {size} at {offset} passes the end of {all} at {addr}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::span_of;
    use super::*;

    fn region(addr: u64, size: u64) -> Region {
        let backing = Backing::reserve(DevAddr(0), Bytes::kib(64)).unwrap();
        backing.grow(DevAddr(addr + size)).unwrap();
        Region::new(Arc::new(backing), DevAddr(addr), Bytes(size)).unwrap()
    }

    #[test]
    fn bytes_come_back_as_written_and_start_as_zeros() {
        let region = region(512, 16);
        region.write(Bytes(4), &[1, 2, 3]).unwrap();
        let mut back = [9; 8];
        region.read(Bytes(2), &mut back).unwrap();
        assert_eq!(back, [0, 0, 1, 2, 3, 0, 0, 0]);

        region.fill_zero();
        // SAFETY: no other region, pointer or thread knows this mapping.
        assert_eq!(unsafe { region.bytes() }, [0; 16]);
    }

    #[test]
    fn regions_are_compared_as_far_as_is_asked() {
        let (one, other) = (region(0, 64), region(4096, 64));
        one.write(Bytes(40), &[7]).unwrap();
        assert!(one.equals(&other, Bytes(40)).unwrap());
        assert!(!one.equals(&other, Bytes(41)).unwrap());
        assert!(one.equals(&one.clone(), Bytes(64)).unwrap());
        assert!(one.equals(&other, Bytes(65)).is_err());
    }

    #[test]
    fn an_element_is_repeated_and_zeros_take_no_memory() {
        let backing = Backing::reserve(DevAddr(0), Bytes::mib(8)).unwrap();
        backing.grow(DevAddr(8 << 20)).unwrap();
        let whole = Region::new(Arc::new(backing), DevAddr(0), Bytes::mib(8)).unwrap();
        let part = whole.part(Bytes(512), Bytes::mib(6)).unwrap();
        whole.fill(7);
        let size = Bytes((5 << 20) + 8);
        part.repeat(&[1, 2, 3, 4], size).unwrap();
        let mut found = [0; 8];
        part.read(Bytes((5 << 20) + 4), &mut found).unwrap();
        assert_eq!(found, [1, 2, 3, 4, 7, 7, 7, 7]);
        part.read(Bytes(REPEATED as u64 - 4), &mut found).unwrap();
        assert_eq!(found, [1, 2, 3, 4, 1, 2, 3, 4]);
        part.repeat(&[0; 4], size).unwrap();
        let mut all = vec![9; 6 << 20];
        part.read(Bytes::ZERO, &mut all).unwrap();
        let zeros = (5 << 20) + 8;
        assert!(all[..zeros].iter().all(|&byte| byte == 0));
        assert!(all[zeros..].iter().all(|&byte| byte == 7));
        whole.read(Bytes(504), &mut found).unwrap();
        assert_eq!(found, [7; 8]);
    }

    #[test]
    fn a_copy_may_overlap_itself() {
        let region = region(0, 8);
        // SAFETY: no other region, pointer or thread knows this mapping.
        unsafe { region.bytes_mut() }.copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        region.copy_to(&region.part(Bytes(2), Bytes(6)).unwrap(), Bytes(6)).unwrap();
        // SAFETY: as above; the slice of the line before last is gone.
        assert_eq!(unsafe { region.bytes() }, [1, 2, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_access_past_the_end_is_refused_with_both_numbers() {
        let region = region(0, 16);
        let error = region.write(Bytes(12), &[0; 5]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a write of 5 B at 12 B passes the end of 16 B at 0x0000000000"
        );
        assert!(region.read(Bytes(u64::MAX), &mut [0; 5]).is_err());
        assert!(region.part(Bytes(17), Bytes::ZERO).is_err());
        let small = region.part(Bytes(8), Bytes(8)).unwrap();
        assert!(region.copy_to(&small, Bytes(9)).is_err());
        assert!(small.copy_to(&region, Bytes(9)).is_err());
    }

    #[test]
    fn a_discarded_page_reads_as_zeros() {
        let backing = Arc::new(Backing::reserve(DevAddr(0), Bytes(2 * PAGE.0)).unwrap());
        backing.grow(DevAddr(2 * PAGE.0)).unwrap();
        let region = Region::new(Arc::clone(&backing), DevAddr(PAGE.0 - 1), Bytes(2)).unwrap();
        region.write(Bytes::ZERO, &[7, 7]).unwrap();
        backing.discard(span_of(&(1..2)));
        let mut back = [9; 2];
        region.read(Bytes::ZERO, &mut back).unwrap();
        assert_eq!(back, [7, 0]);
    }

    #[test]
    fn a_space_grows_in_steps_and_never_past_its_end() {
        let space = Bytes(PAGE.0 * 8 + 512);
        let backing = Arc::new(Backing::reserve(DevAddr(0), space).unwrap());
        assert!(Region::new(Arc::clone(&backing), DevAddr(0), Bytes(1)).is_none());
        backing.grow(DevAddr(1)).unwrap();
        assert_eq!(backing.usable(), DevAddr(PAGE.0));
        backing.grow(DevAddr(PAGE.0 + 1)).unwrap();
        assert_eq!(backing.usable(), DevAddr(PAGE.0 + to_u64(STEPS[0])));
        backing.grow(DevAddr(PAGE.0 * 5)).unwrap();
        assert_eq!(backing.usable(), DevAddr(PAGE.0 * 5));
        backing.grow(DevAddr(space.0)).unwrap();
        let last = Region::new(Arc::clone(&backing), DevAddr(space.0 - 4), Bytes(4)).unwrap();
        last.write(Bytes::ZERO, &[1, 2, 3, 4]).unwrap();
        assert!(backing.usable() < DevAddr(space.0 + 4096));
    }

    #[test]
    #[cfg(not(miri))] // Miri ends the test where the host would refuse.
    fn a_reservation_the_host_refuses_says_why() {
        let error = Backing::reserve(DevAddr(0), Bytes(1 << 62)).unwrap_err().to_string();
        assert!(error.starts_with("cannot reserve 4294967296 GiB of address space: "), "{error}");
        assert!(Backing::reserve(DevAddr(0), Bytes(u64::MAX)).is_err());
    }
}
