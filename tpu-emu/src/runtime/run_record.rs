//! What a trace tells of a run: its program before, its times when it has ended.
use super::emulator::Emulator;
use super::loaded::LoadedExecutable;
use crate::origin::Origin;
use crate::trace::{LaunchRun, Note};
use std::sync::Arc;
use tpu_base::error::{Code, Result};
use tpu_base::units::{Nanos, to_u64};

/// A run that is under way, of which a trace is to tell.
#[derive(Debug)]
pub(super) struct RunRecord {
    machine: Arc<Emulator>,
    program: u64,
    run: u64,
    devices: Vec<usize>,
    origin: Origin,
    started: Option<Nanos>,
    code: Option<u32>,
}

impl RunRecord {
    /// The record of a run that was asked for; `None` where nobody listens.
    pub(super) fn new(
        machine: &Arc<Emulator>,
        executable: &Arc<LoadedExecutable>,
        (devices, number): (&[usize], i64),
        origin: Origin,
    ) -> Option<Self> {
        if !machine.ledger().is_heard() {
            return None;
        }
        let program = *executable.number_in_trace.get_or_init(|| {
            let number = machine.next_program();
            machine.ledger().tell(&Note::Program(&executable.planned(number)));
            number
        });
        let (machine, devices) = (Arc::clone(machine), devices.to_vec());
        let run = number.unsigned_abs();
        Some(Self { machine, program, run, devices, origin, started: None, code: None })
    }

    /// Says that its first step runs now.
    pub(super) fn start(&mut self) {
        self.started = Some(self.machine.ledger().now());
    }

    /// Says how it ended.
    pub(super) fn end<R>(mut self, outcome: &Result<R>) {
        let code = |error: &tpu_base::error::Error| (error.code() as i32).unsigned_abs();
        self.code = Some(outcome.as_ref().err().map_or(0, code));
    }
}

/// A run that is given up before its end has failed.
impl Drop for RunRecord {
    fn drop(&mut self) {
        let ledger = self.machine.ledger();
        let ended = ledger.now();
        let cancelled = (Code::Cancelled as i32).unsigned_abs();
        for &device in &self.devices {
            let run = LaunchRun {
                program: self.program,
                run: self.run,
                device: to_u64(device),
                origin: self.origin,
                started: self.started.unwrap_or(ended),
                ended,
                code: self.code.unwrap_or(cancelled),
            };
            ledger.tell(&Note::Launch(&run));
        }
    }
}
