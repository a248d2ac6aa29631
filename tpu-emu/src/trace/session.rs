//! A trace in memory: what happens while somebody listens.
use super::{Change, Dispatched, Encoder, Fault, Header, Names, Note, Sink, SpaceInfo};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use tpu_base::units::Nanos;

/// The trace of what a machine does while somebody listens.
#[derive(Debug)]
pub struct Session {
    begun: Nanos,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    encoder: Encoder,
    bytes: Vec<u8>,
    /// Programs that the trace has.
    programs: HashSet<u64>,
    operations: Vec<Operation>,
}

/// One step of a run on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Number of the program.
    pub program: u64,
    /// Number of the launch.
    pub run: u64,
    /// Number of the device.
    pub device: u64,
    /// Number of the step in the program.
    pub step: u64,
    /// The operation's name.
    pub name: Arc<str>,
    /// Where it was written; empty where unknown.
    pub line: String,
    /// Bytes that it reads and writes, once each.
    pub bytes: u64,
    /// When it began.
    pub started: Nanos,
    /// When it ended.
    pub ended: Nanos,
}

impl Session {
    /// A trace in which nothing has happened.
    pub(crate) fn new(begun: Nanos, header: &Header<'_>, spaces: &[SpaceInfo]) -> Self {
        let mut written = Written::default();
        written.encoder.start(header, spaces, &mut written.bytes);
        Self { begun, written: Mutex::new(written) }
    }

    /// When it began. What lived by then is older.
    pub fn begun(&self) -> Nanos {
        self.begun
    }

    /// The trace so far, as `docs/trace-format.md` says.
    pub fn bytes(&self) -> Vec<u8> {
        self.written.lock().bytes.clone()
    }

    /// The steps so far, in the order of their ends.
    pub fn operations(&self) -> Vec<Operation> {
        self.written.lock().operations.clone()
    }

    /// Whether the trace lacks a program.
    pub(crate) fn lacks(&self, program: u64) -> bool {
        !self.written.lock().programs.contains(&program)
    }

    /// Takes a step.
    pub(crate) fn ran(&self, operation: Operation) {
        self.written.lock().operations.push(operation);
    }

    fn write(&self, encode: impl FnOnce(&mut Encoder, &mut Vec<u8>)) {
        let Written { encoder, bytes, .. } = &mut *self.written.lock();
        encode(encoder, bytes);
    }
}

impl Sink for Session {
    fn start(&self, _: &str, _: &[SpaceInfo]) {}

    fn change(&self, change: &Change<'_>, names: &Names<'_>) {
        self.write(|encoder, out| encoder.change(change, names, out));
    }

    fn dispatched(&self, dispatched: &Dispatched, names: &Names<'_>) {
        self.write(|encoder, out| encoder.dispatched(dispatched, names, out));
    }

    fn fault(&self, fault: &Fault<'_>, names: &Names<'_>) {
        self.write(|encoder, out| encoder.fault(fault, names, out));
    }

    fn note(&self, note: &Note<'_>, names: &Names<'_>) {
        if let Note::Program(program) = note
            && !self.written.lock().programs.insert(program.number)
        {
            return;
        }
        self.write(|encoder, out| encoder.note(note, names, out));
    }
}
