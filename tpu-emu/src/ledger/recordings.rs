//! Changes that a tool of the process asked to be kept, from its question to its next one.
use crate::origin::Past;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is kept for one who asked.
#[derive(Debug, Default, Clone)]
pub(crate) struct Recording {
    /// The blocks that lived in each space that was used, and what its last change was then.
    pub(crate) before: Vec<Before>,
    /// What changed since, and perhaps a little of what changed before, as threads told of it.
    pub(crate) changes: Vec<Past>,
}

/// A space when a recording began.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    /// The space.
    pub(crate) space: u32,
    /// Position of its last change.
    pub(crate) sequence: u64,
    /// What lived, as allocations with positions from 1.
    pub(crate) blocks: Vec<Past>,
}

/// All recordings that are under way; most of the time none.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    is_any: AtomicBool,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    by_number: BTreeMap<u64, Recording>,
}

impl Recordings {
    /// Begins a recording, and gives its number.
    pub(super) fn begin(&self) -> u64 {
        let mut open = self.open.lock();
        open.last += 1;
        let number = open.last;
        open.by_number.insert(number, Recording::default());
        self.is_any.store(true, Ordering::Release);
        number
    }

    /// Adds what there was before a recording began.
    pub(super) fn precede(&self, number: u64, before: Vec<Before>) {
        if let Some(recording) = self.open.lock().by_number.get_mut(&number) {
            recording.before = before;
        }
    }

    /// What a recording has so far; `None` where there is none of that number.
    pub(super) fn so_far(&self, number: u64) -> Option<Recording> {
        self.open.lock().by_number.get(&number).cloned()
    }

    /// Ends a recording; `None` where there is none of that number.
    pub(super) fn end(&self, number: u64) -> Option<Recording> {
        let mut open = self.open.lock();
        let recording = open.by_number.remove(&number);
        self.is_any.store(!open.by_number.is_empty(), Ordering::Release);
        recording
    }

    /// Keeps a change for everyone who asked.
    pub(super) fn note(&self, past: &Past) {
        if self.is_any.load(Ordering::Acquire) {
            let mut open = self.open.lock();
            open.by_number.values_mut().for_each(|recording| recording.changes.push(*past));
        }
    }
}
