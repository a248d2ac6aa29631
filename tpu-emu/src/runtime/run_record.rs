//! What a trace tells of a run: its program before, its times when it has ended.
use super::emulator::Emulator;
use super::launch_watch::LaunchWatch;
use super::loaded::LoadedExecutable;
use crate::origin::Origin;
use crate::trace::{LaunchRun, Note, Operation, Session, Sink as _};
use std::sync::Arc;
use tpu_base::error::{Code, Result};
use tpu_base::units::{Nanos, to_u64};
use tpu_program::interpret::step::StepWatch;
use tpu_program::plan::Step;

/// A run that is under way, of which a trace is to tell, or a watch.
#[derive(Debug)]
pub(super) struct RunRecord {
    machine: Arc<Emulator>,
    /// The program's number in the trace, where there is one.
    program: Option<u64>,
    watch: Option<Arc<dyn LaunchWatch>>,
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
    ) -> Option<Box<Self>> {
        let watch = machine.launch_watch().cloned();
        let program = machine.ledger().is_heard().then(|| told(machine, executable));
        if program.is_none() && watch.is_none() {
            return None;
        }
        watch.iter().for_each(|watch| watch.asked(devices));
        let (machine, devices) = (Arc::clone(machine), devices.to_vec());
        let run = number.unsigned_abs();
        let (started, code) = (None, None);
        Some(Box::new(Self { machine, program, watch, run, devices, origin, started, code }))
    }

    /// Who notes the times of the steps, where a session wants them.
    pub(super) fn watch(&self, executable: &Arc<LoadedExecutable>) -> Option<Box<StepTimes>> {
        let (program, run) = (self.program?, self.run);
        let session = self.machine.ledger().session()?;
        let devices = self.devices.iter().map(|&device| to_u64(device)).collect();
        let (machine, executable) = (Arc::clone(&self.machine), Arc::clone(executable));
        Some(Box::new(StepTimes { machine, session, executable, program, run, devices }))
    }

    /// Says that its first step runs now.
    pub(super) fn start(&mut self) {
        let now = self.machine.ledger().now();
        self.started = Some(now);
        self.watch.iter().for_each(|watch| watch.began(&self.devices, now));
    }

    /// Says how it ended.
    pub(super) fn end<R>(mut self, outcome: &Result<R>) {
        let code = |error: &tpu_base::error::Error| (error.code() as i32).unsigned_abs();
        self.code = Some(outcome.as_ref().err().map_or(0, code));
    }
}

/// The number of a program in the trace, which has its plan from now on.
fn told(machine: &Emulator, executable: &LoadedExecutable) -> u64 {
    let program = *executable.number_in_trace.get_or_init(|| {
        let number = machine.next_program();
        machine.ledger().tell(&Note::Program(&executable.planned(number)));
        number
    });
    // A session may have begun since.
    if let Some(session) = machine.ledger().session()
        && session.lacks(program)
    {
        let plan = executable.planned(program);
        session.note(&Note::Program(&plan), &machine.ledger().names());
    }
    program
}

/// Notes when the steps of a run begin and end.
#[derive(Debug, Clone)]
pub(super) struct StepTimes {
    machine: Arc<Emulator>,
    session: Arc<Session>,
    executable: Arc<LoadedExecutable>,
    program: u64,
    run: u64,
    devices: Vec<u64>,
}

impl StepTimes {
    /// For what some of its devices run, by their places among them.
    pub(super) fn among(&self, places: &[usize]) -> Self {
        Self { devices: places.iter().map(|&place| self.devices[place]).collect(), ..self.clone() }
    }
}

impl StepWatch for StepTimes {
    fn now(&self) -> u64 {
        self.machine.ledger().now().0
    }

    fn ran(&self, number: usize, step: &Step, began: u64) {
        let ended = self.machine.ledger().now();
        let lines = self.executable.module.locations.stack(step.location);
        let line = lines.first().map(|line| format!("{}:{}", line.file, line.line));
        let bytes = step.operands.iter().chain(&step.results).map(|slot| to_u64(slot.bytes)).sum();
        for &device in &self.devices {
            self.session.ran(Operation {
                program: self.program,
                run: self.run,
                device,
                step: to_u64(number),
                name: Arc::clone(&step.name),
                line: line.clone().unwrap_or_default(),
                bytes,
                started: Nanos(began),
                ended,
            });
        }
    }
}

/// A run that is given up before its end has failed.
impl Drop for RunRecord {
    fn drop(&mut self) {
        let ledger = self.machine.ledger();
        let ended = ledger.now();
        self.watch.iter().for_each(|watch| watch.ended(&self.devices, self.started, ended));
        let Some(program) = self.program else { return };
        let cancelled = (Code::Cancelled as i32).unsigned_abs();
        for &device in &self.devices {
            let run = LaunchRun {
                program,
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
