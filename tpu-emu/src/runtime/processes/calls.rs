//! Custom calls of other processes' devices. The process that runs a program has them taken
//! through their stages where their device is, by the handlers that are registered there.
use super::message::{Message, RunId};
use super::table::{Processes, ServesCalls};
use crate::origin::Origin;
use crate::runtime::custom_call::{Launch, OtherProcesses, RemoteCalls};
use crate::runtime::emulator::Emulator;
use crate::runtime::loaded::LoadedExecutable;
use crate::runtime::request::Context;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::transport::ArrayBytes;
use tpu_ops::custom_call::Stage;

/// The devices of a run that other processes have, as the process sees them that runs it.
#[derive(Debug, Clone)]
pub(super) struct Elsewhere {
    pub(super) machine: Arc<Emulator>,
    pub(super) processes: Arc<Processes>,
    pub(super) run: RunId,
    /// The process of each device of the program.
    pub(super) owners: Arc<[usize]>,
    /// The parameters of which every device reads its own copy.
    pub(super) own_copies: Vec<usize>,
}

impl OtherProcesses for Elsewhere {
    fn calls(&self, own_copies: Vec<usize>) -> Arc<dyn RemoteCalls> {
        Arc::new(Self { own_copies, ..self.clone() })
    }
}

impl RemoteCalls for Elsewhere {
    fn serves(&self, place: usize) -> bool {
        self.owners.get(place).is_some_and(|&owner| owner != self.processes.me)
    }

    fn call(
        &self,
        place: usize,
        number: usize,
        stage: Stage,
        operands: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>> {
        let none = || Error::bad(format!("no device {place} of the program"));
        let process = *self.owners.get(place).ok_or_else(none)?;
        let (run, own_copies) = (self.run, self.own_copies.clone());
        let message = |ticket| Message::Call { ticket, run, own_copies, place, number, stage };
        self.machine.ask_process(&self.processes, process, message, operands)
    }
}

/// What this process needs to take the calls of its devices through their stages.
#[derive(Debug)]
pub(super) struct ServedCalls {
    pub(super) machine: Arc<Emulator>,
    pub(super) executable: Arc<LoadedExecutable>,
    pub(super) origin: Origin,
    pub(super) number: i64,
    pub(super) context: Option<Context>,
    /// The launch of the program, and of those in which devices read their own copies.
    pub(super) launches: Mutex<BTreeMap<Vec<usize>, Arc<Launch>>>,
}

impl ServesCalls for ServedCalls {
    fn call(
        &self,
        own_copies: Vec<usize>,
        (place, number, stage): (usize, usize, Stage),
        operands: &[ArrayBytes],
    ) -> Result<Vec<Vec<u8>>> {
        let program = self.machine.reading_own_copies(&self.executable, &own_copies)?;
        let launch = {
            let mut launches = self.launches.lock();
            let launch = launches.entry(own_copies).or_insert_with(|| {
                let devices = (program.devices.clone(), self.number);
                let (context, calls) = (self.context.clone(), program.plan.calls);
                let (machine, name) = (&self.machine, &program.name);
                Arc::new(Launch::new(machine, devices, self.origin, name, context, calls))
            });
            Arc::clone(launch)
        };
        launch.serve(&program, (place, number), stage, operands)
    }
}
