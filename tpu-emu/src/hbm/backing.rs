//! The memory behind a memory space: reserved once, committed by touch, given back on request.
// UNSAFETY: maps, unmaps and copies raw memory; every access is checked against the mapping.
#![expect(unsafe_code, reason = "mmap and raw copies")]
use crate::error::{Error, Result};
use crate::units::{Bytes, DevAddr, to_u64, to_usize};
use std::io;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A page of the host.
pub(super) const PAGE: u64 = 4096;

/// A reserved range of this process's addresses.
#[derive(Debug)]
pub(super) struct Backing {
    base: NonNull<u8>,
    size: usize,
}

// SAFETY: the mapping is plain memory; what is written where is up to the owners of its regions.
unsafe impl Send for Backing {}
// SAFETY: as above.
unsafe impl Sync for Backing {}

impl Backing {
    /// Reserves `size` bytes, all zero; no memory is used until they are touched.
    ///
    /// # Errors
    /// `Host` where the operating system refuses.
    pub(super) fn reserve(size: Bytes) -> Result<Arc<Self>> {
        let bytes = to_usize(size.0);
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: a new private mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        let mapped = if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) };
        match mapped {
            Some(base) => Ok(Arc::new(Self { base, size: bytes })),
            None => {
                let why = io::Error::last_os_error();
                Err(Error::Host(format!("{size} of address space could not be reserved: {why}")))
            }
        }
    }

    /// The address of the first byte.
    pub(super) fn base(&self) -> usize {
        self.base.as_ptr().addr()
    }

    /// The bytes from `addr` on.
    ///
    /// # Errors
    /// `BadArgument` where they leave the mapping.
    pub(super) fn region(self: &Arc<Self>, addr: DevAddr, size: Bytes) -> Result<Region> {
        let end = addr.0.checked_add(size.0);
        if end.is_none_or(|end| end > to_u64(self.size)) {
            return Err(Error::bad(format!("{size} at {addr} leave the memory space")));
        }
        Ok(Region { backing: Arc::clone(self), addr, size })
    }

    /// Gives the whole pages inside a range back to the system; they read as zeros from then on.
    pub(super) fn discard(&self, addr: DevAddr, size: Bytes) {
        let start = addr.0.next_multiple_of(PAGE);
        let end = (addr.0 + size.0).min(to_u64(self.size)) / PAGE * PAGE;
        if start >= end {
            return;
        }
        let from = self.base.as_ptr().wrapping_add(to_usize(start));
        // SAFETY: whole pages of this private anonymous mapping; the heap gives ranges that
        // belong to nobody.
        let outcome =
            unsafe { libc::madvise(from.cast(), to_usize(end - start), libc::MADV_DONTNEED) };
        if outcome != 0 {
            // Nothing is lost: the pages stay committed.
            tracing::debug!(error = %io::Error::last_os_error(), "madvise failed");
        }
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `reserve`, which no region outlives: each holds an `Arc`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size) };
    }
}

/// Bytes of a memory space. It keeps the space mapped, not the bytes allocated: a region that
/// outlives its block shows whatever is there then.
#[derive(Debug, Clone)]
pub struct Region {
    backing: Arc<Backing>,
    addr: DevAddr,
    size: Bytes,
}

impl Region {
    /// Where it starts in its memory space.
    pub fn addr(&self) -> DevAddr {
        self.addr
    }

    /// How long it is.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Where it starts in this process.
    pub fn as_ptr(&self) -> *mut u8 {
        self.backing.base.as_ptr().wrapping_add(to_usize(self.addr.0))
    }

    /// Overwrites the bytes from `offset` on.
    ///
    /// # Errors
    /// `BadArgument` where they leave the region.
    pub fn write(&self, offset: Bytes, bytes: &[u8]) -> Result<()> {
        let to = self.inside(offset, Bytes(to_u64(bytes.len())))?;
        // SAFETY: `to` is inside the mapping for that many bytes. `bytes` may be a client's view
        // of the same memory, which `copy` allows.
        unsafe { ptr::copy(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// Copies the bytes from `offset` on.
    ///
    /// # Errors
    /// `BadArgument` where they leave the region.
    pub fn read(&self, offset: Bytes, into: &mut [u8]) -> Result<()> {
        let from = self.inside(offset, Bytes(to_u64(into.len())))?;
        // SAFETY: as for `write`, the other way.
        unsafe { ptr::copy(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies the first `size` bytes to the start of another region.
    ///
    /// # Errors
    /// `BadArgument` where they leave either of them.
    pub fn copy_to(&self, other: &Self, size: Bytes) -> Result<()> {
        let from = self.inside(Bytes::ZERO, size)?;
        let to = other.inside(Bytes::ZERO, size)?;
        // SAFETY: both are inside their mappings for `size` bytes; `copy` allows an overlap.
        unsafe { ptr::copy(from, to, to_usize(size.0)) };
        Ok(())
    }

    fn inside(&self, offset: Bytes, size: Bytes) -> Result<*mut u8> {
        let end = offset.checked_add(size);
        if end.is_none_or(|end| end > self.size) {
            let whole = self.size;
            return Err(Error::bad(format!(
                "{size} from offset {offset} leave a block of {whole}"
            )));
        }
        Ok(self.as_ptr().wrapping_add(to_usize(offset.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(size: u64) -> Region {
        Backing::reserve(Bytes::kib(64)).unwrap().region(DevAddr(4096), Bytes(size)).unwrap()
    }

    #[test]
    fn bytes_come_back_as_they_were_written() {
        let region = region(16);
        region.write(Bytes(3), b"abc").unwrap();
        let mut back = [1; 5];
        region.read(Bytes(2), &mut back).unwrap();
        assert_eq!(&back, b"\0abc\0");
    }

    #[test]
    fn nothing_outside_of_a_region_is_reached() {
        let region = region(16);
        assert!(region.write(Bytes(14), b"abc").is_err());
        assert!(region.write(Bytes(u64::MAX), b"abc").is_err());
        assert!(region.read(Bytes(17), &mut []).is_err());
        assert!(region.copy_to(&region, Bytes(17)).is_err());
    }

    #[test]
    fn a_region_outside_of_its_space_is_refused() {
        let backing = Backing::reserve(Bytes::kib(64)).unwrap();
        assert!(backing.region(DevAddr(0), Bytes::kib(65)).is_err());
        assert!(backing.region(DevAddr(u64::MAX), Bytes(2)).is_err());
    }

    #[test]
    fn discarded_pages_read_as_zeros_and_their_neighbours_stay() {
        let backing = Backing::reserve(Bytes::kib(64)).unwrap();
        let whole = backing.region(DevAddr(0), Bytes::kib(16)).unwrap();
        whole.write(Bytes(0), &[7; 16 << 10]).unwrap();
        backing.discard(DevAddr(100), Bytes::kib(8));
        let mut back = [1; 3];
        whole.read(Bytes(4095), &mut back).unwrap();
        assert_eq!(back, [7, 0, 0]);
        whole.read(Bytes(8190), &mut back).unwrap();
        assert_eq!(back, [0, 0, 7]);
    }
}
