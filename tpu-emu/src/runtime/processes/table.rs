//! What a process of a slice knows of the runs that it shares with others.
use super::message::{ArrayId, Message, RunId, ToldProgram};
use crate::buffer::{Hold, TransferManager};
use crate::hbm::spec::ArraySpec;
use crate::origin::Origin;
use crate::runtime::dependencies::Sources;
use crate::runtime::loaded::LoadedExecutable;
use crate::runtime::request::LaunchOptions;
use crate::runtime::run_record::RunRecord;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};
use tpu_base::error::{Code, Error, Result};
use tpu_base::event::Event;
use tpu_base::transport::{ArrayBytes, Transport};
use tpu_ops::custom_call::Stage;
use tpu_ops::host_transfer::HostTransfers;

/// The most failed runs that are remembered for processes that are still to come.
const REMEMBERED: usize = 256;

/// The other processes, and what is under way with them.
#[derive(Debug)]
pub(crate) struct Processes {
    /// The number of this one.
    pub(super) me: usize,
    /// Set once all are connected; messages may come before.
    transport: OnceLock<Arc<dyn Transport>>,
    state: Mutex<State>,
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The processes that are gone, and how that was seen.
    pub(super) lost: BTreeMap<usize, Arc<str>>,
    /// Runs so far on a list of devices.
    counts: HashMap<u64, u64>,
    /// Runs that this process is to run, until all have come.
    pub(super) gathering: BTreeMap<RunId, Gathering>,
    /// Runs that another process runs.
    pub(super) awaiting: BTreeMap<RunId, Awaiting>,
    /// Runs that have failed before all had come.
    failed: VecDeque<(RunId, Error, BTreeSet<usize>)>,
    /// Questions to clients of other processes.
    pub(super) asked: BTreeMap<u64, Asked>,
    tickets: u64,
    /// Arrays that this process is to take, and that have not come.
    pub(super) expected: BTreeMap<ArrayId, ExpectedArray>,
    /// Arrays that have come before they were expected.
    pub(super) came: BTreeMap<ArrayId, CameArray>,
    /// Whether a thread watches how long runs gather.
    pub(super) watched: bool,
    /// Whether a thread watches that others answer.
    pub(super) partners_watched: bool,
}

/// Which processes have devices of a program, each with their places in the assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Team(pub(super) BTreeMap<usize, Vec<usize>>);

impl Team {
    /// The process that runs the program for all: the first.
    pub(super) fn leader(&self) -> usize {
        self.0.keys().next().copied().unwrap_or(0)
    }
}

/// Numbers as people list them.
pub(super) fn listed(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut text = String::new();
    for number in numbers {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}{number}");
    }
    text
}

/// A run whose parts arrive.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    pub(super) own: Option<Box<Own>>,
    pub(super) parts: BTreeMap<usize, RemotePart>,
    /// Ends when it does not gather any more.
    pub(super) begun: Begun,
}

/// Ends its event when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Begun(pub(super) Event);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.settle(Ok(()));
    }
}

/// What another process brings.
pub(super) struct RemotePart {
    pub(super) program: ToldProgram,
    /// The arguments, by device, then by parameter; or why it does not come.
    pub(super) arguments: Result<Vec<ArrayBytes>>,
}

impl fmt::Debug for RemotePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments.as_ref().map(Vec::len);
        f.debug_struct("RemotePart")
            .field("program", &self.program)
            .field("arguments", &arguments)
            .finish()
    }
}

/// What this process brings to a run that it is to run.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) executable: Arc<LoadedExecutable>,
    pub(super) team: Team,
    /// The arguments, once they are there.
    pub(super) sources: Option<Result<Sources>>,
    pub(super) results: Vec<Hold>,
    pub(super) options: LaunchOptions,
    pub(super) origin: Origin,
    pub(super) number: i64,
    pub(super) record: Option<Box<RunRecord>>,
    pub(super) outcome: Event,
}

/// A run of another process that this one has launched.
#[derive(Debug)]
pub(super) struct Awaiting {
    pub(super) program: String,
    pub(super) leader: usize,
    pub(super) results: Vec<Hold>,
    pub(super) transfers: Vec<Arc<dyn HostTransfers>>,
    /// For its custom calls on devices of this process.
    pub(super) calls: Arc<dyn ServesCalls>,
    pub(super) outcome: Event,
}

/// Takes the custom calls of this process's devices through their stages, for a run that another
/// process runs.
pub(super) trait ServesCalls: fmt::Debug + Send + Sync {
    /// Takes a call of a device, told by its place, of the program in which every device reads its
    /// own copy of some parameters through a stage; gives the bytes of its results.
    ///
    /// # Errors
    /// The target's own; `BadArgument` for what the program does not have.
    fn call(
        &self,
        own_copies: Vec<usize>,
        call: (usize, usize, Stage),
        operands: &[ArrayBytes],
    ) -> Result<Vec<Vec<u8>>>;
}

/// A question to another process.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) process: usize,
    pub(super) answer: Arc<Mutex<Vec<Vec<u8>>>>,
    pub(super) answered: Event,
}

/// An array that this process is to take.
#[derive(Debug)]
pub(super) struct ExpectedArray {
    /// The process that sends it.
    pub(super) from: usize,
    pub(super) manager: Arc<TransferManager>,
    /// Which one of the manager's it is.
    pub(super) number: usize,
    pub(super) spec: Arc<ArraySpec>,
}

impl ExpectedArray {
    /// Ends its buffer with an error.
    pub(super) fn fail(self, error: Error) {
        if let Err(why) = self.manager.fail(self.number, error) {
            tracing::debug!(%why, "an array that has come cannot fail");
        }
    }
}

/// An array that has come from another process.
pub(super) struct CameArray {
    pub(super) from: usize,
    /// Type and shape.
    pub(super) form: String,
    pub(super) bytes: Result<ArrayBytes>,
}

impl fmt::Debug for CameArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CameArray").field("from", &self.from).field("form", &self.form).finish()
    }
}

/// What becomes of a run that gathers.
pub(super) enum Next {
    /// Somebody is still to come.
    Wait,
    /// All are there.
    Run(Box<Own>, BTreeMap<usize, RemotePart>),
    /// It has failed; these are to be told, and this process's part of it.
    Fail(Error, Vec<usize>, Option<Box<Own>>),
}

impl Processes {
    /// A slice as its process `me` sees it.
    pub(super) fn new(me: usize) -> Self {
        Self { me, transport: OnceLock::new(), state: Mutex::default() }
    }

    /// Connects it.
    pub(super) fn connect(&self, transport: Arc<dyn Transport>) {
        // Nobody else does: a machine joins its slice once.
        let _ = self.transport.set(transport);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Sends a message with the bytes of arrays.
    ///
    /// # Errors
    /// `Unavailable` where the process is gone.
    pub(super) fn send(&self, to: usize, message: &Message, arrays: &[Vec<u8>]) -> Result<()> {
        if let Some(why) = self.lock().lost.get(&to) {
            return Err(gone(to, why));
        }
        self.transport.wait().send(to, &message.encode(), arrays)
    }

    /// Tells processes that a run has failed. One that is gone needs not be told.
    pub(super) fn tell_failure(&self, run: RunId, error: &Error, to: &[usize]) {
        let message = Message::Done { run, failed: Some(error.clone()) };
        for &process in to {
            if let Err(why) = self.send(process, &message, &[]) {
                tracing::debug!(process, %why, "a failed run cannot be told");
            }
        }
    }
}

/// The error of what needs a process that is gone.
pub(super) fn gone(process: usize, why: &str) -> Error {
    let message = format!("process {process} of the slice is gone: {why}");
    Error::Verbatim { code: Code::Unavailable, message: message.into() }
}

impl State {
    /// The number of the next run on these devices.
    pub(super) fn next(&mut self, devices: u64) -> RunId {
        let count = self.counts.entry(devices).or_default();
        let run = RunId { devices, number: *count };
        *count += 1;
        run
    }

    /// A number for a question.
    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Why a run has failed before this process came to it.
    pub(super) fn failure(&mut self, run: RunId, process: usize) -> Option<Error> {
        let at = self.failed.iter().position(|(failed, ..)| *failed == run)?;
        let (_, error, missing) = &mut self.failed[at];
        let error = error.clone();
        missing.remove(&process);
        if missing.is_empty() {
            self.failed.remove(at);
        }
        Some(error)
    }

    /// Remembers that a run has failed, for those who are still to come.
    pub(super) fn remember(&mut self, run: RunId, error: Error, missing: BTreeSet<usize>) {
        if missing.is_empty() {
            return;
        }
        if self.failed.len() == REMEMBERED {
            self.failed.pop_front();
        }
        self.failed.push_back((run, error, missing));
    }

    /// What becomes of a run that gathers, as far as it has come.
    pub(super) fn advance(&mut self, run: RunId, me: usize) -> Next {
        let Some(gathering) = self.gathering.get(&run) else { return Next::Wait };
        let Some(own) = &gathering.own else { return Next::Wait };
        let others = || own.team.0.keys().copied().filter(|&process| process != me);
        if let Some(error) = self.fault(gathering, own, me) {
            return self.fail(run, error, me);
        }
        if own.sources.is_none() || others().any(|process| !gathering.parts.contains_key(&process))
        {
            return Next::Wait;
        }
        match self.gathering.remove(&run) {
            Some(Gathering { own: Some(own), parts, .. }) => Next::Run(own, parts),
            _ => Next::Wait,
        }
    }

    /// Why a run that gathers cannot be.
    fn fault(&self, gathering: &Gathering, own: &Own, me: usize) -> Option<Error> {
        let wanted = own.executable.likeness();
        for (&process, part) in &gathering.parts {
            if let Err(error) = &part.arguments {
                return Some(error.clone());
            }
            if part.program.likeness != wanted {
                let (name, other) = (&own.executable.name, &part.program.name);
                let what = match **name == **other {
                    true => format!("each launched a {name}, and the two differ"),
                    false => format!("launched {name} and {other}"),
                };
                let message = format!(
                    "processes {me} and {process} {what}: all processes of a slice must launch \
                     the same programs in the same order"
                );
                return Some(Error::WrongState(message));
            }
        }
        let missing = own.team.0.keys().filter(|&process| !gathering.parts.contains_key(process));
        let mut lost = missing.filter_map(|process| Some((*process, self.lost.get(process)?)));
        lost.next().map(|(process, why)| gone(process, why))
    }

    /// Takes a run that has failed out.
    pub(super) fn fail(&mut self, run: RunId, error: Error, me: usize) -> Next {
        let Gathering { own, parts, .. } = self.gathering.remove(&run).unwrap_or_default();
        let come: Vec<usize> = parts.into_keys().collect();
        let mut missing: BTreeSet<usize> = match &own {
            Some(own) => own.team.0.keys().copied().filter(|&process| process != me).collect(),
            // Whoever comes is told.
            None => BTreeSet::from([me]),
        };
        missing.retain(|process| !come.contains(process) && !self.lost.contains_key(process));
        self.remember(run, error.clone(), missing);
        Next::Fail(error, come, own)
    }
}
