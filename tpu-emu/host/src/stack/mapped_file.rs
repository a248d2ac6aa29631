// UNSAFETY: maps parts of files into memory, to be read.
//! Parts of files in memory. Nothing is copied: a page is there while it is looked at, and can be
//! let go, so that 20 MB of symbols take no memory between two names.
#![expect(unsafe_code, reason = "mmap and madvise")]
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::{ptr, slice};

/// A part of a file begins in memory with a multiple of this. No page is larger on a machine that
/// this library runs on.
const ALIGN: u64 = 64 << 10;

/// A part of a file that this process runs code of.
///
/// It stays mapped until the process ends, as the names of its code may be asked for until then;
/// that takes addresses alone. The file is mapped as code already, so that who cuts it off ends
/// this process in any case.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// Whole pages.
    mapping: &'static [u8],
    /// Where the part begins in them.
    before: usize,
}

impl Part {
    /// Maps a part of a file; `None` where the file has less, or where the system refuses.
    pub(super) fn map(file: &File, part: Range<u64>) -> Option<Self> {
        if part.is_empty() {
            return Some(Self::default());
        }
        if file.metadata().ok()?.len() < part.end {
            return None;
        }
        let start = part.start / ALIGN * ALIGN;
        let offset = libc::off64_t::try_from(start).ok()?;
        let before = usize::try_from(part.start - start).ok()?;
        let length = usize::try_from(part.end - start).ok()?;
        let file = file.as_raw_fd();
        // SAFETY: the system picks a place that nobody has.
        let at = unsafe {
            libc::mmap64(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, file, offset)
        };
        if at == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: mapped above, never unmapped, and never written through this mapping.
        let mapping = unsafe { slice::from_raw_parts(at.cast::<u8>(), length) };
        Some(Self { mapping, before })
    }

    /// The bytes of the part.
    pub(super) fn bytes(self) -> &'static [u8] {
        self.mapping.get(self.before..).unwrap_or_default()
    }

    /// Takes it out of memory. It comes again where it is read.
    pub(super) fn let_go(self) {
        let start = self.mapping.as_ptr().cast_mut();
        if self.mapping.is_empty() {
            return;
        }
        // SAFETY: these are pages that hold what the file has and nothing else, so that who reads
        // them next finds the same.
        unsafe { libc::madvise(start.cast(), self.mapping.len(), libc::MADV_DONTNEED) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_the_file_has_there_also_after_it_was_let_go() {
        let path = std::env::current_exe().unwrap();
        let file = File::open(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let part = Part::map(&file, 70_001..200_003).unwrap();
        assert_eq!(part.bytes(), &whole[70_001..200_003]);
        part.let_go();
        assert_eq!(part.bytes(), &whole[70_001..200_003]);
        assert_eq!(Part::map(&file, 5..5).unwrap().bytes(), b"");
        assert!(Part::map(&file, 5..whole.len() as u64 + 1).is_none());
    }
}
