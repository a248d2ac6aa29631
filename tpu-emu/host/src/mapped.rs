// UNSAFETY: maps a file into memory and copies bytes there.
//! A file that is written through a mapping which grows in pieces, so that a record costs no call
//! of the system and is in the file all the same when the process is killed.
#![expect(unsafe_code, reason = "mmap, and copies into it")]
use crate::bus_error::WatchedMemory;
use crate::quiet::quietly;
use libc::c_void;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering};

/// The first piece of a file; each is twice the one before, up to [`PIECE`].
const FIRST_PIECE: u64 = 256 << 10;

/// What is mapped of a file at once. The recorder has no more of it in memory.
const PIECE: u64 = 4 << 20;

/// A place in memory stands for one in a file if both are multiples of this. No page is larger on
/// a machine that this library runs on.
const ALIGN: u64 = 64 << 10;

/// A file whose end is in memory.
#[derive(Debug)]
pub(crate) struct MappedFile {
    piece: Piece,
    /// Bytes that the file has, of which all behind the records are zeros.
    reserved: u64,
    /// The next piece's.
    next: u64,
}

/// A part of a file in memory.
#[derive(Debug)]
struct Piece {
    start: NonNull<u8>,
    length: usize,
    /// Where in the file it begins.
    at: u64,
    window: WatchedMemory,
}

// SAFETY: the memory belongs to the piece alone.
unsafe impl Send for Piece {}

impl MappedFile {
    /// Maps the end of an empty file that was opened to read and to write.
    ///
    /// # Errors
    /// Where the file system reserves no room, or maps no file that several can write.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        let mut made = Reserved { bytes: 0, next: FIRST_PIECE };
        made.grow(file, 1)?;
        let piece = Piece::map(file, 0, made.bytes)?;
        Ok(Self { piece, reserved: made.bytes, next: made.next })
    }

    /// Bytes that the file should have.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Whether what was written since the file was mapped is in it: it is not where another
    /// program cut the file off before that place.
    pub(crate) fn is_whole(&self) -> bool {
        !self.piece.window.is_hit()
    }

    /// Writes bytes to a place behind all others, the first of them last: a process that is killed
    /// meanwhile leaves a zero there.
    ///
    /// # Errors
    /// Where there is no room for them. The file is as it was then, but for zeros at its end.
    pub(crate) fn write(&mut self, file: &File, place: u64, bytes: &[u8]) -> io::Result<()> {
        let Some((&first, rest)) = bytes.split_first() else { return Ok(()) };
        let end = place + bytes.len() as u64;
        if end > self.reserved {
            let mut reserved = Reserved { bytes: self.reserved, next: self.next };
            reserved.grow(file, end)?;
            (self.reserved, self.next) = (reserved.bytes, reserved.next);
        }
        if end > self.piece.end() {
            self.piece = Piece::map(file, place / ALIGN * ALIGN, self.reserved)?;
        }
        self.piece.put(place, first, rest);
        Ok(())
    }

    /// Looks whether the handler of bus errors is still the first to hear of them.
    pub(crate) fn look_after_handler(&self) {
        self.piece.window.look_after_handler();
    }
}

/// How far a file has room, and how much it gets next.
struct Reserved {
    bytes: u64,
    next: u64,
}

impl Reserved {
    /// Makes room up to `end` and for a piece more; for less where there is no more.
    fn grow(&mut self, file: &File, end: u64) -> io::Result<()> {
        let needed = end - self.bytes;
        let mut asked = needed.max(self.next).next_multiple_of(ALIGN);
        loop {
            match quietly(|| reserve(file, self.bytes, asked)) {
                Ok(()) => {
                    self.bytes += asked;
                    self.next = (self.next * 2).min(PIECE);
                    return Ok(());
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) if asked <= needed => return Err(why),
                Err(_) => asked = (asked / 2).max(needed),
            }
        }
    }
}

/// Has the file system set bytes aside, so that writing them cannot fail for want of room.
fn reserve(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    let too_large = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let at = libc::off64_t::try_from(at).map_err(too_large)?;
    let bytes = libc::off64_t::try_from(bytes).map_err(too_large)?;
    // SAFETY: the descriptor is open; numbers alone.
    match unsafe { libc::fallocate64(file.as_raw_fd(), 0, at, bytes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Piece {
    /// The part of a file from `at` to `end`, which it has. A child of a fork does not have it.
    fn map(file: &File, at: u64, end: u64) -> io::Result<Self> {
        let too_large = |_| io::Error::from_raw_os_error(libc::EFBIG);
        let offset = libc::off64_t::try_from(at).map_err(too_large)?;
        let length = usize::try_from(end - at).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let (access, file) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: the system picks a place that nobody has.
        let start = unsafe {
            libc::mmap64(ptr::null_mut(), length, access, libc::MAP_SHARED, file, offset)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?.cast::<u8>();
        let window = WatchedMemory::watch(start.addr().get(), length);
        let Some(window) = window else {
            // SAFETY: mapped above; nobody knows of it.
            unsafe { libc::munmap(start.as_ptr().cast::<c_void>(), length) };
            return Err(io::ErrorKind::ResourceBusy.into());
        };
        // SAFETY: mapped above. Where the system does not know the advice, the flag of the forked
        // process is all there is.
        unsafe { libc::madvise(start.as_ptr().cast::<c_void>(), length, libc::MADV_DONTFORK) };
        // SAFETY: as above. Pages that are there already cost no fault each when they are written;
        // a file that was cut off meanwhile is an error here and no signal.
        unsafe {
            libc::madvise(start.as_ptr().cast::<c_void>(), length, libc::MADV_POPULATE_WRITE)
        };
        Ok(Self { start, length, at, window })
    }

    fn end(&self) -> u64 {
        self.at + self.length as u64
    }

    /// Writes bytes, the first one last.
    fn put(&mut self, place: u64, first: u8, rest: &[u8]) {
        let offset = usize::try_from(place.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let within = offset.checked_add(1 + rest.len()).is_some_and(|end| end <= self.length);
        assert!(within && place >= self.at, "{place} is not in this piece");
        let _writing = self.window.writing();
        // SAFETY: inside of the mapping, checked above; nobody else writes to it, and where the
        // file does not have the place any more, the handler of bus errors puts memory there.
        unsafe {
            let to = self.start.as_ptr().add(offset);
            ptr::copy_nonoverlapping(rest.as_ptr(), to.add(1), rest.len());
            (*to.cast::<AtomicU8>()).store(first, Ordering::Release);
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.window.forget();
        // SAFETY: mapped by `map`, and unmapped once.
        unsafe { libc::munmap(self.start.as_ptr().cast::<c_void>(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{OpenOptions, read, remove_file};

    fn file(name: &str) -> (std::path::PathBuf, File) {
        let path = std::env::temp_dir().join(format!("tpu-emu-{name}-{}", std::process::id()));
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path);
        (path, file.unwrap())
    }

    #[test]
    fn what_is_written_is_in_the_file_with_zeros_behind_it() {
        let (path, file) = file("mapped");
        let mut mapped = MappedFile::new(&file).unwrap();
        let mut wanted = Vec::new();
        for number in 0..200_000_u32 {
            let record = [&[7][..], &number.to_le_bytes(), &[9; 40]].concat();
            mapped.write(&file, wanted.len() as u64, &record).unwrap();
            wanted.extend(record);
        }
        // Longer than a piece.
        let long = vec![3; 9 << 20];
        mapped.write(&file, wanted.len() as u64, &long).unwrap();
        wanted.extend(long);
        let found = read(&path).unwrap();
        remove_file(&path).unwrap();
        assert!(mapped.is_whole());
        assert_eq!(found.len() as u64, mapped.reserved());
        let (written, behind) = found.split_at(wanted.len());
        assert!(written == wanted && behind.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_file_that_was_cut_is_not_whole_and_its_writer_goes_on() {
        let (path, file) = file("cut");
        let mut mapped = MappedFile::new(&file).unwrap();
        mapped.write(&file, 0, &[1; 100]).unwrap();
        file.set_len(0).unwrap();
        mapped.write(&file, 100, &[1; 20_000]).unwrap();
        remove_file(&path).unwrap();
        assert!(!mapped.is_whole());
    }
}
