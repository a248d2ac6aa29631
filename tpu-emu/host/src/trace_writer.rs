//! The file of a trace, and what happens when it can be written no more: what follows is counted,
//! the file says so, and the program goes on.
use crate::quiet::{quietly, write_all};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::trace::{Encoder, Header, Loss, SpaceInfo};

/// A file of records.
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

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(place) = self.place else { return write_all(&mut self.file, bytes) };
        let found = self.file.metadata()?;
        if found.nlink() == 0 {
            return Err(io::Error::other("another program deleted it"));
        }
        if found.len() < place {
            let (left, was) = (found.len(), place);
            let why = format!("another program cut it to {left} of its {was} bytes");
            return Err(io::Error::other(why));
        }
        quietly(|| self.file.write_all_at(bytes, place))?;
        self.place = Some(place + bytes.len() as u64);
        Ok(())
    }

    /// Makes the file whole up to its last record.
    fn end(&mut self, why: &io::Error) -> String {
        self.ended = true;
        self.loss.error = why.raw_os_error().unwrap_or_default().unsigned_abs();
        let found = self.file.metadata().ok().filter(|found| found.nlink() > 0);
        // A file without a name is a place that nobody looks at.
        self.place = self.place.filter(|_| found.is_some());
        if let (Some(place), Some(found)) = (self.place, found) {
            let found = found.len();
            // What cannot be cut off is the beginning of a record, which a reader leaves out.
            let _ = self.file.set_len(found.min(place));
            if found < self.start.len() as u64 {
                let _ = quietly(|| self.file.write_all_at(&self.start, 0));
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
