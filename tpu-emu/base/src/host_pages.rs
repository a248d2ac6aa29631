//! Pages of the process's memory, given back to the system while their addresses stay.
// UNSAFETY: tells the system that memory may be dropped.
#![expect(unsafe_code, reason = "madvise")]
use std::io;

/// Gives the memory of the whole pages among some bytes back to the system.
///
/// # Safety
/// The bytes are memory of this process without a file, and nobody reads them before writing.
pub unsafe fn forget(start: *mut u8, length: usize) {
    /// The largest small page of a system that we run on.
    const PAGE: usize = 64 << 10;
    let first = start.align_offset(PAGE).min(length);
    let whole = (length - first) / PAGE * PAGE;
    // SAFETY: promised by the caller; the pages lie inside the bytes.
    let done = unsafe { discard(start.wrapping_add(first), whole) };
    if let Err(why) = done {
        tracing::warn!(%why, "the host keeps memory that was given back");
    }
}

/// Gives pages back: whoever reads them next sees zeros.
///
/// # Safety
/// The range begins and ends with pages of this process without a file, and nobody counts on
/// what they hold.
#[cfg(not(miri))]
pub unsafe fn discard(start: *mut u8, length: usize) -> io::Result<()> {
    // SAFETY: promised by the caller.
    let failed = unsafe { libc::madvise(start.cast(), length, libc::MADV_DONTNEED) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Stands in for the system's call under Miri, which has none.
///
/// # Safety
/// As for the real one.
#[cfg(miri)]
pub unsafe fn discard(start: *mut u8, length: usize) -> io::Result<()> {
    // SAFETY: promised by the caller.
    unsafe { start.write_bytes(0, length) };
    Ok(())
}
