//! Where `TPU_EMU_TRACE` sends the changes: a file of records, or text on standard error.
//!
//! A change is written in full before the call that made it returns, names included, so that
//! nothing is lost however the process ends.
use crate::forked::is_forked;
use crate::trace_writer::Writer;
use parking_lot::Mutex;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tpu_emu::trace::{
    ApiCall, ApiCalls, COUNTS_BYTES, CallCounts, Change, Dispatched, Encoder, Fault, Header, Names,
    Note, Sink, SpaceInfo, change_text, dispatched_text, fault_text, note_text,
};
use tpu_emu::{Error, Result};

/// How long the end of the process waits for a record that is being written.
const PATIENCE: Duration = Duration::from_secs(1);

/// A sink, and the file that it writes, if it is one.
pub(crate) type Opened = (Box<dyn Sink>, Option<Arc<Records>>);

/// The sink for `target`: `-` is standard error, everything else a file.
///
/// # Errors
/// `Host` where the file cannot be made.
pub(crate) fn open(target: &str, started_ns: u64) -> Result<Opened> {
    if target == "-" {
        return Ok((Box::new(Text::default()), None));
    }
    let (file, name) = own_file(target)
        .map_err(|why| Error::Host(format!("TPU_EMU_TRACE={target} cannot be written: {why}")))?;
    let writer = Mutex::new(Writer::new(file, name));
    let records = Arc::new(Records { started_ns, writer });
    Ok((Box::new(Shared(Arc::clone(&records))), Some(records)))
}

/// The file at `target`, emptied, and its name: `target.PID` where another process writes a trace
/// to it, as the programs that a program starts inherit its environment.
fn own_file(target: &str) -> io::Result<(File, String)> {
    let (mut file, mut name) = (open_file(target)?, target.to_owned());
    // Held as long as the file is open. A file that cannot be locked has no such protection.
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        name = format!("{target}.{}", std::process::id());
        file = open_file(&name)?;
    }
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok((file, name))
}

/// Opens a file to be mapped, which takes the leave to read it; anything else to append to it. A
/// pipe that its writer can read never tells it that its reader has gone.
fn open_file(path: &str) -> io::Result<File> {
    let append = || OpenOptions::new().append(true).create(true).open(path);
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return append();
    }
    let mapped = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    mapped.or_else(|_| append())
}

/// The records of a file.
#[derive(Debug)]
pub(crate) struct Records {
    started_ns: u64,
    writer: Mutex<Writer>,
}

impl Records {
    /// Writes what `encode` makes. What could not be written is told with no lock held.
    fn write(&self, encode: impl FnOnce(&mut Encoder, &mut Vec<u8>)) {
        // The file of a fork's parent, and a lock that one of its threads may have held.
        if is_forked() {
            return;
        }
        let told = self.writer.lock().write(encode);
        if let Some(message) = told {
            crate::tell(&message);
        }
    }

    /// Adds a count of calls; gives where in the file its numbers are, where it has places.
    pub(crate) fn add_calls(&self, calls: &ApiCalls<'_>, names: &Names<'_>) -> Option<u64> {
        if is_forked() {
            return None;
        }
        let mut writer = self.writer.lock();
        let told = writer.write(|encoder, out| encoder.calls(calls, names, out));
        let place = writer.place();
        drop(writer);
        if let Some(message) = told {
            crate::tell(&message);
        }
        place.and_then(|end| end.checked_sub(COUNTS_BYTES as u64))
    }

    /// Whether what was written can be written again.
    pub(crate) fn has_places(&self) -> bool {
        self.writer.lock().place().is_some()
    }

    /// Writes the numbers of counts of calls again, each in its place.
    pub(crate) fn rewrite_counts(&self, all: &[(u64, CallCounts)]) {
        if is_forked() {
            return;
        }
        let encoded = all.iter().map(|(place, counts)| {
            let mut bytes = Vec::with_capacity(COUNTS_BYTES);
            Encoder::counts(counts, &mut bytes);
            (*place, bytes)
        });
        let encoded: Vec<(u64, Vec<u8>)> = encoded.collect();
        let bytes = encoded.iter().map(|(place, bytes)| (*place, bytes.as_slice()));
        self.writer.lock().rewrite(bytes);
    }

    /// Writes one call.
    pub(crate) fn call(&self, call: &ApiCall<'_>, names: &Names<'_>) {
        self.write(|encoder, out| encoder.call(call, names, out));
    }

    /// Cuts the file behind its last record, at the end of the process.
    pub(crate) fn finish(&self) {
        if is_forked() {
            return;
        }
        // A thread that was stopped while it wrote will not go on.
        let Some(mut writer) = self.writer.try_lock_for(PATIENCE) else { return };
        let told = writer.finish();
        drop(writer);
        if let Some(message) = told {
            crate::tell(&message);
        }
    }
}

/// The sink of a file.
#[derive(Debug)]
struct Shared(Arc<Records>);

impl Sink for Shared {
    fn start(&self, topology: &str, spaces: &[SpaceInfo]) {
        let header = Header {
            process: std::process::id(),
            started_ns: self.0.started_ns,
            version: env!("CARGO_PKG_VERSION"),
            topology,
        };
        let told = self.0.writer.lock().start(&header, spaces);
        if let Some(message) = told {
            crate::tell(&message);
        }
    }

    fn change(&self, change: &Change<'_>, names: &Names<'_>) {
        self.0.write(|encoder, out| encoder.change(change, names, out));
    }

    fn dispatched(&self, dispatched: &Dispatched, names: &Names<'_>) {
        self.0.write(|encoder, out| encoder.dispatched(dispatched, names, out));
    }

    fn note(&self, note: &Note<'_>, names: &Names<'_>) {
        self.0.write(|encoder, out| encoder.note(note, names, out));
    }

    fn fault(&self, fault: &Fault<'_>, names: &Names<'_>) {
        self.0.write(|encoder, out| encoder.fault(fault, names, out));
    }
}

#[derive(Debug, Default)]
struct Text {
    /// What the spaces are called, by number; known from the start on.
    spaces: OnceLock<Vec<String>>,
    /// What the spaces belong to, likewise: the devices come first.
    owners: OnceLock<Vec<String>>,
}

impl Sink for Text {
    fn start(&self, _: &str, spaces: &[SpaceInfo]) {
        let names = spaces.iter().map(|space| format!("{} {}", space.owner, space.kind));
        // A machine says it once.
        let _ = self.spaces.set(names.collect());
        let _ = self.owners.set(spaces.iter().map(|space| space.owner.clone()).collect());
    }

    fn change(&self, change: &Change<'_>, names: &Names<'_>) {
        let space = self.spaces.get().and_then(|spaces| spaces.get(change.past.space as usize));
        let text = change_text(change, space.map_or("", String::as_str), names);
        // One write for the whole text, so that lines of several threads do not mix.
        crate::say(&text);
    }

    fn dispatched(&self, dispatched: &Dispatched, names: &Names<'_>) {
        let owner = self.owners.get().and_then(|owners| owners.get(dispatched.device));
        let text = dispatched_text(dispatched, owner.map_or("", String::as_str), names);
        crate::say(&text);
    }

    fn note(&self, note: &Note<'_>, names: &Names<'_>) {
        if let Some(text) = note_text(note, names) {
            crate::say(&text);
        }
    }

    fn fault(&self, fault: &Fault<'_>, names: &Names<'_>) {
        crate::say(&fault_text(fault, names));
    }
}
