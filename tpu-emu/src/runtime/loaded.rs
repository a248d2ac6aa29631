//! A program that is ready to run, with what the machine keeps for its runs.
use super::run_times::RunTimes;
use crate::executable::Executable;
use crate::memory::Block;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

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
    pub(super) run_times: RunTimes,
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
            run_times: RunTimes::default(),
        }
    }
}

impl LoadedExecutable {
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
