//! The file of a trace, and what happens when it can be written no more: what follows is counted,
//! the file says so, and the program goes on.
use crate::quiet::{is_limited, quietly, write_all, write_in_place};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::trace::{Encoder, Header, Loss, SpaceInfo};

/// Records from one look at the file to the next.
const CHECKED: u64 = 8;

/// Why a trace ends before its process.
enum Why {
    System(io::Error),
    Deleted,
    Changed { found: u64, place: u64 },
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
            Self::Changed { found, place } => {
                write!(f, "another program changed it: it has {found} of its {place} bytes")
            }
        }
    }
}

/// A file of records, opened to append.
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
    /// Records since the start, to look at the file now and then.
    unchecked: u64,
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
        Self {
            file,
            name,
            encoder: Encoder::default(),
            bytes: Vec::new(),
            start: Vec::new(),
            loss_at: 0,
            place,
            unchecked: 0,
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
            encode(&mut self.encoder, &mut bytes);
            told = self.put(&bytes).err().map(|why| self.end(&why));
            self.bytes = bytes;
        }
        if self.ended {
            self.loss.records += 1;
            self.mark();
        }
        told
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Why> {
        let Some(place) = self.place else { return Ok(write_all(&mut self.file, bytes)?) };
        if self.unchecked.is_multiple_of(CHECKED) {
            self.check(place)?;
        }
        self.unchecked += 1;
        if self.limited {
            write_all(&mut self.file, bytes)?;
        } else {
            self.file.write_all(bytes)?;
        }
        self.place = Some(place + bytes.len() as u64);
        Ok(())
    }

    /// Whether the file is as this writer left it, and may grow without end.
    fn check(&mut self, place: u64) -> Result<(), Why> {
        let found = self.file.metadata()?;
        if found.nlink() == 0 {
            return Err(Why::Deleted);
        }
        if found.len() != place {
            return Err(Why::Changed { found: found.len(), place });
        }
        self.limited = is_limited();
        self.checked = place;
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
            (Why::Changed { found, place }, _) => Some(found.saturating_sub(place - self.checked)),
            _ => None,
        };
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
