//! The file of a trace, and what happens when it can be written no more: what follows is counted,
//! the file says so, and the program goes on.
use crate::mapped::MappedFile;
use crate::quiet::{append, is_limited, quietly, write_all, write_in_place};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::trace::{Encoder, Header, Loss, RecordSum, SpaceInfo};

/// Records from one look at the file to the next, where it is mapped: a cut is met by itself there.
const CHECKED_MAPPED: u64 = 256;

/// Records from one look to the next where they are appended: a limit on its size is met by a signal if it is not seen.
const CHECKED: u64 = 64;

/// Magic and version.
const BEGIN_BYTES: usize = 12;

/// Calls of [`Writer::write`] from one sum over the records to the next.
const SUMMED: u64 = 64;

/// Why a trace ends before its process.
enum Why {
    System(io::Error),
    Deleted,
    Changed { found: u64, wanted: u64 },
    Unwritten,
}

impl From<io::Error> for Why {
    fn from(why: io::Error) -> Self {
        Self::System(why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(why) => why.fmt(f),
            Self::Deleted => f.write_str("another program deleted it"),
            Self::Changed { found, wanted } => {
                write!(f, "another program changed it: it has {found} of its {wanted} bytes")
            }
            Self::Unwritten => f.write_str("the system could not write it"),
        }
    }
}

/// A file of records. A regular one is written through a mapping where it was opened for that and
/// the file system can do it; everything else is appended to.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    name: String,
    encoder: Encoder,
    /// What is being written; kept for its memory.
    bytes: Vec<u8>,
    /// How the file begins: up to and with the record of what was lost, which is written again
    /// in its place.
    start: Vec<u8>,
    /// Where that record is.
    loss_at: usize,
    /// Where the next record begins in a file with places; `None` for a pipe or a terminal.
    place: Option<u64>,
    /// The end of the file in memory.
    mapped: Option<MappedFile>,
    /// Records since the start, to look at the file now and then.
    unchecked: u64,
    /// Records since the last look.
    since: u64,
    /// Over all records that were written.
    sum: RecordSum,
    /// Calls since the last sum in the file.
    unsummed: u64,
    /// Where the next record began at the last look.
    checked: u64,
    /// Whether files of this process may not grow without end.
    limited: bool,
    /// Nothing is written any more.
    ended: bool,
    loss: Loss,
}

impl Writer {
    /// A writer to an open file, which errors call `name`.
    pub(crate) fn new(file: File, name: String) -> Self {
        let place = file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(0);
        let mapped = place.and_then(|_| MappedFile::new(&file).ok());
        if mapped.is_none() && place.is_some() {
            // What was set aside before the mapping failed.
            let _ = file.set_len(0);
            append(&file);
        }
        Self {
            mapped,
            file,
            name,
            encoder: Encoder::default(),
            bytes: Vec::new(),
            start: Vec::new(),
            loss_at: 0,
            place,
            unchecked: 0,
            since: 0,
            sum: RecordSum::default(),
            unsummed: 0,
            checked: 0,
            limited: true,
            ended: false,
            loss: Loss::default(),
        }
    }

    /// Begins the trace. Gives what is to be told.
    pub(crate) fn start(&mut self, header: &Header<'_>, spaces: &[SpaceInfo]) -> Option<String> {
        let mut start = Vec::new();
        self.encoder.start(header, spaces, &mut start);
        self.loss_at = start.len();
        let (begin, records) = start.split_at(BEGIN_BYTES);
        self.sum.bytes(begin);
        self.sum.records(records);
        Encoder::loss(self.loss, &mut start);
        let put = self.put(&start);
        self.start = start;
        put.err().map(|why| self.end(&why))
    }

    /// Writes what `encode` makes, all of it or nothing. Gives what is to be told, which is so
    /// once: a trace with a gap would mislead, so nothing follows the first failure.
    pub(crate) fn write(
        &mut self,
        encode: impl FnOnce(&mut Encoder, &mut Vec<u8>),
    ) -> Option<String> {
        let mut told = None;
        if !self.ended {
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.clear();
            // Before what is written: its caller may look for it at the end.
            if self.unsummed == SUMMED {
                Encoder::check(self.sum, &mut bytes);
                self.unsummed = 0;
            }
            encode(&mut self.encoder, &mut bytes);
            self.sum.records(&bytes);
            self.unsummed += 1;
            told = self.put(&bytes).err().map(|why| self.end(&why));
            self.since += 1;
            self.bytes = bytes;
        }
        if self.ended {
            self.loss.records += 1;
            self.mark();
        }
        told
    }

    /// Cuts the file behind its last record; what comes after that is appended. Gives what is to
    /// be told.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.place.filter(|_| self.mapped.is_some())?;
        if self.unsummed > 0 {
            let mut bytes = Vec::new();
            Encoder::check(self.sum, &mut bytes);
            self.unsummed = 0;
            // What does not fit any more is no loss: it says nothing of its own.
            let _ = self.put(&bytes);
        }
        let place = self.place?;
        if let Err(why) = self.check(place) {
            let told = self.end(&why);
            self.mark();
            return Some(told);
        }
        self.mapped = None;
        // Where that fails, zeros stay behind the last record, and nothing can follow them.
        match self.file.set_len(place) {
            Ok(()) => {
                append(&self.file);
                None
            }
            Err(why) => {
                self.place = None;
                Some(self.end(&why.into()))
            }
        }
    }

    /// Where the next record begins in a file that is still written.
    pub(crate) fn place(&self) -> Option<u64> {
        self.place.filter(|_| !self.ended)
    }

    /// Writes bytes again in places that were written before. Where that fails, they are older.
    pub(crate) fn rewrite<'a>(&mut self, all: impl Iterator<Item = (u64, &'a [u8])>) {
        let Some(end) = self.place() else { return };
        // The next record tells of a file that others have changed.
        if self.check(end).is_err() {
            return;
        }
        if self.mapped.is_none() {
            write_in_place(&self.file);
        }
        for (place, bytes) in all.filter(|(place, bytes)| place + bytes.len() as u64 <= end) {
            if quietly(|| self.file.write_all_at(bytes, place)).is_err() {
                break;
            }
        }
        if self.mapped.is_none() {
            append(&self.file);
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Why> {
        let Some(place) = self.place else { return Ok(write_all(&mut self.file, bytes)?) };
        let end = place + bytes.len() as u64;
        let grows = self.mapped.as_ref().is_some_and(|mapped| end > mapped.reserved());
        let every = if self.mapped.is_some() { CHECKED_MAPPED } else { CHECKED };
        if self.unchecked.is_multiple_of(every) || grows {
            self.check(place)?;
        }
        self.unchecked += 1;
        if let Some(mapped) = &mut self.mapped {
            mapped.write(&self.file, place, bytes)?;
            if !mapped.is_whole() {
                self.check(place)?;
                return Err(Why::Unwritten);
            }
        } else if self.limited {
            write_all(&mut self.file, bytes)?;
        } else {
            self.file.write_all(bytes)?;
        }
        self.place = Some(end);
        Ok(())
    }

    /// Whether the file is as this writer left it, and may grow without end.
    fn check(&mut self, place: u64) -> Result<(), Why> {
        let found = self.file.metadata()?;
        if found.nlink() == 0 {
            return Err(Why::Deleted);
        }
        let wanted = self.mapped.as_ref().map_or(place, MappedFile::reserved);
        if found.len() != wanted {
            return Err(Why::Changed { found: found.len(), wanted });
        }
        match &self.mapped {
            Some(mapped) => mapped.look_after_handler(),
            None => self.limited = is_limited(),
        }
        (self.checked, self.since) = (place, 0);
        Ok(())
    }

    /// Makes the file whole up to its last record.
    fn end(&mut self, why: &Why) -> String {
        self.ended = true;
        if let Why::System(why) = why {
            self.loss.error = why.raw_os_error().unwrap_or_default().unsigned_abs();
        }
        let whole = match (why, self.place) {
            (Why::System(_), Some(place)) => Some(place),
            // What was written since the last look may lie anywhere behind the cut.
            (Why::Changed { found, .. }, Some(_)) if self.mapped.is_some() => {
                Some(self.checked.min(*found))
            }
            (Why::Changed { found, wanted }, _) => {
                Some(found.saturating_sub(wanted - self.checked))
            }
            (Why::Unwritten, Some(_)) => {
                self.loss.error = libc::EIO.unsigned_abs();
                Some(self.checked)
            }
            _ => None,
        };
        if !matches!(why, Why::System(_)) {
            self.loss.records += self.since;
        }
        self.mapped = None;
        self.place = whole;
        if let Some(whole) = whole {
            write_in_place(&self.file);
            // What cannot be cut off is the beginning of a record, which a reader leaves out.
            let _ = self.file.set_len(whole);
            if whole < self.start.len() as u64 && !matches!(why, Why::System(_)) {
                let written = quietly(|| self.file.write_all_at(&self.start, 0));
                self.place = written.is_ok().then_some(self.start.len() as u64);
            }
        }
        let name = &self.name;
        format!("the trace {name} ends here, and what follows is not in it: {why}")
    }

    /// Says in the file, or at the end of the process, how much was lost.
    fn mark(&self) {
        let mut record = Vec::new();
        Encoder::loss(self.loss, &mut record);
        let marked = self.place.is_some_and(|place| {
            let at = self.loss_at as u64;
            place > at && quietly(|| self.file.write_all_at(&record, at)).is_ok()
        });
        if !marked {
            let unmarked = UNMARKED.get_or_init(|| Unmarked::new(&self.name));
            unmarked.records.store(self.loss.records, Ordering::Relaxed);
        }
    }
}

/// What was lost of a trace that cannot say so itself.
struct Unmarked {
    name: String,
    process: u32,
    records: AtomicU64,
}

static UNMARKED: OnceLock<Unmarked> = OnceLock::new();

impl Unmarked {
    fn new(name: &str) -> Self {
        crate::at_exit::at_exit(tell_unmarked);
        Self { name: name.to_owned(), process: std::process::id(), records: AtomicU64::new(0) }
    }
}

extern "C" fn tell_unmarked() {
    let Some(Unmarked { name, process, records }) = UNMARKED.get() else { return };
    if *process == std::process::id() {
        let records = records.load(Ordering::Relaxed);
        crate::tell(&format!("{records} records of the trace {name} were lost"));
    }
}
