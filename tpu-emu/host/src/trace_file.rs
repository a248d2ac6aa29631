//! Where `TPU_EMU_TRACE` sends the changes: a file of records, or text on standard error.
//!
//! A change is written in full before the call that made it returns, names included, so that
//! nothing is lost however the process ends.
use crate::trace_writer::Writer;
use parking_lot::Mutex;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::sync::OnceLock;
use tpu_emu::trace::{
    Change, Dispatched, Encoder, Fault, Header, Names, Sink, SpaceInfo, change_text,
    dispatched_text, fault_text,
};
use tpu_emu::{Error, Result};

/// The sink for `target`: `-` is standard error, everything else a file.
///
/// # Errors
/// `Host` where the file cannot be made.
pub(crate) fn open(target: &str, started_ns: u64) -> Result<Box<dyn Sink>> {
    if target == "-" {
        return Ok(Box::new(Text::default()));
    }
    let (file, name) = own_file(target)
        .map_err(|why| Error::Host(format!("TPU_EMU_TRACE={target} cannot be written: {why}")))?;
    let writer = Mutex::new(Writer::new(file, name));
    Ok(Box::new(Records { started_ns, writer }))
}

/// The file at `target`, emptied, and its name: `target.PID` where another process writes a trace
/// to it, as the programs that a program starts inherit its environment.
fn own_file(target: &str) -> io::Result<(File, String)> {
    let open = |path: &str| OpenOptions::new().append(true).create(true).open(path);
    let (mut file, mut name) = (open(target)?, target.to_owned());
    // Held as long as the file is open. A file that cannot be locked has no such protection.
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        name = format!("{target}.{}", std::process::id());
        file = open(&name)?;
    }
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok((file, name))
}

#[derive(Debug)]
struct Records {
    started_ns: u64,
    writer: Mutex<Writer>,
}

impl Records {
    /// Writes what `encode` makes. What could not be written is told with no lock held.
    fn write(&self, encode: impl FnOnce(&mut Encoder, &mut Vec<u8>)) {
        let told = self.writer.lock().write(encode);
        if let Some(message) = told {
            crate::tell(&message);
        }
    }
}

impl Sink for Records {
    fn start(&self, topology: &str, spaces: &[SpaceInfo]) {
        let header = Header {
            process: std::process::id(),
            started_ns: self.started_ns,
            version: env!("CARGO_PKG_VERSION"),
            topology,
        };
        let told = self.writer.lock().start(&header, spaces);
        if let Some(message) = told {
            crate::tell(&message);
        }
    }

    fn change(&self, change: &Change<'_>, names: &Names<'_>) {
        self.write(|encoder, out| encoder.change(change, names, out));
    }

    fn dispatched(&self, dispatched: &Dispatched, names: &Names<'_>) {
        self.write(|encoder, out| encoder.dispatched(dispatched, names, out));
    }

    fn fault(&self, fault: &Fault<'_>, names: &Names<'_>) {
        self.write(|encoder, out| encoder.fault(fault, names, out));
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

    fn fault(&self, fault: &Fault<'_>, names: &Names<'_>) {
        crate::say(&fault_text(fault, names));
    }
}
