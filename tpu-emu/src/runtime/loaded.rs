//! A program that is ready to run, with what the machine keeps for its runs.
use crate::executable::Executable;
use crate::memory::Block;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tpu_base::units::Nanos;

/// A program that is ready to run, with what the machine keeps for its runs.
#[derive(Debug)]
pub struct LoadedExecutable {
    executable: Executable,
    /// The first device of each part of a parameter, by parameter; none for a program on one
    /// device.
    pub(super) owners: Vec<Vec<usize>>,
    /// See [`LoadedExecutable::classes`].
    pub(super) classes: OnceLock<Option<Vec<Vec<usize>>>>,
    /// The constants in the HBM of each device that it has run on.
    pub(super) constants: Mutex<HashMap<usize, Arc<Block>>>,
    /// The same program for arguments whose copies on the devices differ, by their parameters.
    pub(super) own_copies: Mutex<HashMap<Vec<usize>, Arc<Self>>>,
    /// The program of each replica that has run by itself.
    pub(super) replicas: Mutex<HashMap<usize, Arc<Self>>>,
    /// The number under which the trace knows it.
    pub(super) number_in_trace: OnceLock<u64>,
    /// Nanoseconds that its last run took; 0 where nobody knows.
    last_run_ns: AtomicU64,
}

impl LoadedExecutable {
    pub(super) fn new(executable: Executable) -> Self {
        let parameters = executable.io_shardings.iter().flat_map(|io| &io.parameters);
        let owners = parameters.map(|io| io.sharding.owners()).collect();
        Self {
            executable,
            owners,
            classes: OnceLock::new(),
            constants: Mutex::default(),
            own_copies: Mutex::default(),
            replicas: Mutex::default(),
            number_in_trace: OnceLock::new(),
            last_run_ns: AtomicU64::new(0),
        }
    }
}

impl LoadedExecutable {
    /// Remembers how long a run took.
    pub(super) fn took(&self, Nanos(time): Nanos) {
        self.last_run_ns.store(time, Ordering::Relaxed);
    }

    /// How long the last run took, where a clock has told.
    pub(super) fn last_run(&self) -> Option<Nanos> {
        Some(Nanos(self.last_run_ns.load(Ordering::Relaxed))).filter(|time| time.0 > 0)
    }

    /// Gives its constants back: the client needs it no more. Runs that are under way keep theirs.
    pub fn forget_constants(&self) {
        let constants = std::mem::take(&mut *self.constants.lock());
        let mut by_device: Vec<_> = constants.into_iter().collect();
        by_device.sort_by_key(|(device, _)| *device);
        drop(by_device);
    }
}

/// It is its program, for all who only ask about that.
impl Deref for LoadedExecutable {
    type Target = Executable;

    fn deref(&self) -> &Self::Target {
        &self.executable
    }
}
