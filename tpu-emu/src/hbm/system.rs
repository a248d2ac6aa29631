//! The host's calls about memory.
// UNSAFETY: maps and unmaps memory.
#![expect(unsafe_code, reason = "mmap and its relatives")]
#[cfg(not(miri))]
pub(super) use real::{
    SMALL_PAGE, addresses_are_limited, far_addresses, map_at, prefer_huge_pages, reserve, resident,
    unmap,
};
#[cfg(miri)]
pub(super) use stand_in::{
    SMALL_PAGE, addresses_are_limited, far_addresses, map_at, prefer_huge_pages, reserve, resident,
    unmap,
};

#[cfg(not(miri))]
mod real {
    use std::io;
    use std::ptr::{self, NonNull};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// What lengths are rounded to: the largest small page of a system that we run on.
    #[cfg(target_arch = "x86_64")]
    pub(in crate::hbm) const SMALL_PAGE: usize = 4 << 10;
    #[cfg(not(target_arch = "x86_64"))]
    pub(in crate::hbm) const SMALL_PAGE: usize = 64 << 10;

    /// Addresses far from where the system, the C library and sanitizers put things: those of
    /// spaces that reserve nothing.
    const FAR: [usize; 2] = [0x2000_0000_0000, 0x5000_0000_0000];

    /// Maps anonymous memory past the C library, where tools that count what a process allocates
    /// (memray and its like, which replace `mmap`) wait for it: these are the device's bytes.
    ///
    /// `munmap` is called as others call it: such tools let a range pass that they know nothing
    /// of, and those that watch for races forget what they know of it.
    ///
    /// # Safety
    /// Nobody uses the range, if `kind` says that what is mapped there is replaced.
    unsafe fn map(at: *mut u8, length: usize, rights: i32, kind: i32) -> io::Result<NonNull<u8>> {
        let kind = kind | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // What has no type in the signature is passed as it is: the system reads all 64 bits.
        let [rights, kind, file, offset] = [rights, kind, -1, 0].map(libc::c_long::from);
        // SAFETY: promised by the caller; elsewhere a new anonymous mapping touches no memory of
        // ours.
        let start =
            unsafe { libc::syscall(libc::SYS_mmap, at, length, rights, kind, file, offset) };
        if start == -1 {
            return Err(io::Error::last_os_error());
        }
        let start: *mut u8 =
            ptr::with_exposed_provenance_mut(start.cast_unsigned().try_into().unwrap_or(0));
        NonNull::new(start).ok_or_else(|| io::Error::other("mapped at address 0"))
    }

    /// Keeps address space for this process, of which nothing can be touched: it does not count
    /// as memory, whatever `vm.overcommit_memory` says.
    pub(in crate::hbm) fn reserve(length: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: an address of the system's choice.
        unsafe { map(ptr::null_mut(), length, libc::PROT_NONE, 0) }
    }

    /// Whether the process has a limit on its address space.
    pub(in crate::hbm) fn addresses_are_limited() -> bool {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
        // SAFETY: the place is this function's.
        let failed = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
        failed == 0 && limit.rlim_cur != libc::RLIM_INFINITY
    }

    /// Addresses that probably nobody takes, without taking them.
    pub(in crate::hbm) fn far_addresses(length: usize) -> io::Result<NonNull<u8>> {
        static NEXT: AtomicUsize = AtomicUsize::new(FAR[0]);
        const APART: usize = 1 << 30;
        let taken = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            let end = length.checked_next_multiple_of(APART)?.checked_add(next)?;
            end.checked_add(APART).filter(|&end| end <= FAR[1])
        });
        let none = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let start = ptr::with_exposed_provenance_mut(taken.map_err(none)?);
        NonNull::new(start).ok_or_else(|| io::Error::other("address 0"))
    }

    /// Makes a range readable and writable, zero until written: in what was reserved, or where
    /// nothing is.
    ///
    /// # Safety
    /// Nobody uses the range of what was reserved.
    pub(in crate::hbm) unsafe fn map_at(
        at: *mut u8,
        length: usize,
        reserved: bool,
    ) -> io::Result<()> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let place = if reserved { libc::MAP_FIXED } else { libc::MAP_FIXED_NOREPLACE };
        // SAFETY: promised by the caller; elsewhere nothing is replaced.
        let start = unsafe { map(at, length, access, place)? };
        if start.as_ptr() != at {
            // SAFETY: a system that does not know the flag gave another new mapping.
            unsafe { libc::munmap(start.as_ptr().cast(), length) };
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(())
    }

    /// # Safety
    /// The range is one that `reserve` or calls of `map_at` gave, and nothing uses it any more.
    pub(in crate::hbm) unsafe fn unmap(start: *mut u8, length: usize) {
        // SAFETY: promised by the caller.
        unsafe { libc::munmap(start.cast(), length) };
    }

    /// # Safety
    /// The range was given by `map_at`.
    pub(in crate::hbm) unsafe fn prefer_huge_pages(
        start: *mut u8,
        length: usize,
    ) -> io::Result<()> {
        // SAFETY: promised by the caller.
        done(unsafe { libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE) })
    }

    /// The bytes of pages that have memory, among those that lie wholly in the range.
    ///
    /// # Safety
    /// The range was given by `map_at`.
    pub(in crate::hbm) unsafe fn resident(start: *mut u8, length: usize) -> usize {
        /// Pages that one call is asked about.
        const ASKED: usize = 1 << 14;
        let first = start.align_offset(SMALL_PAGE).min(length);
        let whole = (length - first) / SMALL_PAGE;
        let mut found = vec![0_u8; ASKED.min(whole)];
        let mut count = 0;
        for from in (0..whole).step_by(ASKED) {
            let pages = ASKED.min(whole - from);
            let at = start.wrapping_add(first + from * SMALL_PAGE);
            // SAFETY: the pages are in the range, and there is a byte for each.
            let failed =
                unsafe { libc::mincore(at.cast(), pages * SMALL_PAGE, found.as_mut_ptr()) };
            if failed == 0 {
                count += found[..pages].iter().filter(|&&page| page & 1 != 0).count();
            }
        }
        count * SMALL_PAGE
    }

    fn done(result: i32) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Stand-ins for Miri, which has no such calls: everything can be touched from the start.
#[cfg(miri)]
mod stand_in {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ptr::NonNull;

    pub(in crate::hbm) const SMALL_PAGE: usize = 4 << 10;

    fn layout(length: usize) -> Layout {
        Layout::from_size_align(length, 4096).expect("smaller than isize::MAX")
    }

    pub(in crate::hbm) fn reserve(length: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: `length` is not zero, as the caller adds a page.
        let start = unsafe { alloc_zeroed(layout(length)) };
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub(in crate::hbm) fn addresses_are_limited() -> bool {
        false
    }

    pub(in crate::hbm) fn far_addresses(length: usize) -> io::Result<NonNull<u8>> {
        reserve(length)
    }

    pub(in crate::hbm) unsafe fn map_at(_: *mut u8, _: usize, _: bool) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::hbm) unsafe fn unmap(start: *mut u8, length: usize) {
        // SAFETY: promised by the caller, as in the other module.
        unsafe { dealloc(start, layout(length)) };
    }

    pub(in crate::hbm) unsafe fn prefer_huge_pages(_: *mut u8, _: usize) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::hbm) unsafe fn resident(_: *mut u8, length: usize) -> usize {
        length
    }
}
