//! The calls of a run over several devices that have arrived, until the run begins.
use super::dependencies::Kept;
use super::request::LaunchOptions;
use crate::buffer::Hold;
use crate::executable::Executable;
use crate::memory::Memories;
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tpu_base::event::Event;
use tpu_base::units::Nanos;

/// The most runs that have failed and are remembered for calls that are still to come.
pub(super) const REMEMBERED: usize = 256;

/// What the calls of one run have in common, besides the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    /// The client's number of the run. Clients use a number again: a device that arrives twice
    /// with it begins the next run.
    pub run: i64,
    /// Indices of the devices in the order of the assignment; empty for the program's own.
    pub devices: Vec<usize>,
}

/// Runs that some of their devices have not arrived for yet.
#[derive(Debug, Default)]
pub(super) struct RendezvousTable(pub(super) Mutex<OpenRendezvous>);

#[derive(Debug, Default)]
pub(super) struct OpenRendezvous {
    /// In the order of their first calls.
    pub(super) waiting: Vec<Rendezvous>,
    pub(super) begun: u64,
}

/// One run.
#[derive(Debug)]
pub(super) struct Rendezvous {
    pub(super) number: u64,
    /// Of the program: every thread of a client may have compiled it for itself.
    pub(super) likeness: u128,
    pub(super) name: Arc<str>,
    pub(super) run: i64,
    pub(super) devices: Vec<usize>,
    /// By place in the assignment: whether the device has arrived, and with what.
    pub(super) arrived: Vec<bool>,
    pub(super) parts: Vec<Option<Contribution>>,
    pub(super) outcome: Event,
    /// When it failed.
    pub(super) failed: Option<Nanos>,
}

/// What one device brings.
#[derive(Debug)]
pub(super) struct Contribution {
    pub(super) holds: Kept,
    /// Where its results go.
    pub(super) results: Vec<Hold>,
    pub(super) options: LaunchOptions,
}

impl OpenRendezvous {
    /// The first run of this key that the device has not arrived for, which may be a new one.
    pub(super) fn find(
        &mut self,
        executable: &Executable,
        run: i64,
        devices: &[usize],
        place: usize,
    ) -> usize {
        let same = |one: &Rendezvous| {
            one.likeness == executable.likeness()
                && one.run == run
                && one.devices == devices
                && !one.arrived[place]
        };
        if let Some(found) = self.waiting.iter().position(same) {
            return found;
        }
        self.begun += 1;
        self.waiting.push(Rendezvous {
            number: self.begun,
            likeness: executable.likeness(),
            name: Arc::clone(&executable.name),
            run,
            devices: devices.to_vec(),
            arrived: vec![false; devices.len()],
            parts: devices.iter().map(|_| None).collect(),
            outcome: Event::pending(),
            failed: None,
        });
        self.waiting.len() - 1
    }

    /// Takes out the runs that failed before `limit`, and the oldest of too many.
    pub(super) fn forget(&mut self, limit: u64) -> Vec<Rendezvous> {
        let failed = self.waiting.iter().filter(|one| one.failed.is_some()).count();
        let mut surplus = failed.saturating_sub(REMEMBERED);
        let old = |one: &mut Rendezvous| {
            let old = one.failed.is_some_and(|failed| failed.0 < limit || surplus > 0);
            surplus = surplus.saturating_sub(usize::from(old));
            old
        };
        self.waiting.extract_if(.., old).collect()
    }
}

impl Rendezvous {
    /// Who has arrived and who has not, in words.
    pub(super) fn late(&self, memories: &Memories, patience: Duration) -> String {
        let [mut here, mut missing] = [String::new(), String::new()];
        for (&device, &arrived) in self.devices.iter().zip(&self.arrived) {
            let list = if arrived { &mut here } else { &mut missing };
            let comma = if list.is_empty() { "" } else { ", " };
            let name = memories.device_name(device).unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = write!(list, "{comma}{name}");
        }
        let (name, run) = (&self.name, self.run);
        format!("{name}, run {run}: after {patience:?} {missing} had not arrived; {here} had")
    }
}
