//! What a launch waits for before its program runs, and where that runs then.
use super::in_flight::Permit;
use super::workers::Rest;
use crate::buffer::{Block, Buffer, Hold};
use crate::executable::Executable;
use crate::ledger::Origin;
use crate::machine::Emulator;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;

/// Claims on the arguments' bytes; `None` for one whose block a result has taken over.
pub(super) type Sources = Vec<Option<Hold>>;

/// A run that has everything but its arguments.
pub(super) trait Runnable: Sized + Send + 'static {
    /// Whether [`Runnable::begin`] gives the rest where a custom call goes on; a run that does not
    /// keeps the thread waiting.
    const PAUSES: bool;

    /// Where it runs.
    fn machine(&self) -> &Arc<Emulator>;

    /// What runs.
    fn executable(&self) -> &Arc<Executable>;

    /// Indices of its devices.
    fn devices(&self) -> &[usize];

    /// Runs the program to its end.
    fn run(self, sources: Sources) -> Result<()>;

    /// Runs the program on the caller's thread: gives the rest where it would have to wait.
    fn begin(self, sources: Sources) -> Result<Option<Rest>>;

    /// Where a run of a program runs, if its arguments are there or not.
    fn way(executable: &Executable, ready: bool) -> Placement {
        let plan = &executable.plan;
        match () {
            // A client and a handler may wait for anything.
            () if plan.waits() || plan.calls > 0 && !Self::PAUSES => Placement::OwnThread,
            () if ready && plan.work < INLINE && !plan.loops => Placement::Here,
            () if plan.calls > 0 => Placement::OwnThread,
            () => Placement::Worker,
        }
    }

    /// Makes the run start once its arguments are there and the gate that this gives has passed;
    /// `done` ends as it does.
    fn start(self, claims: ArgumentHolds<'_>, done: &Event, ticket: Option<Permit>) -> ReadyLatch {
        let (machine, executable) = (Arc::clone(self.machine()), Arc::clone(self.executable()));
        let way = Self::way(&executable, claims.waiting.is_empty());
        let turns = if executable.plan.waits() {
            machine.turns.take_all(self.devices(), done)
        } else {
            Vec::new()
        };
        claims.run(&machine, turns, (way, done, ticket), self)
    }
}

/// Programs that move fewer bytes than this run on the caller's thread, when nothing is to be
/// waited for.
const INLINE: f64 = 2e6;

/// Where a run runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// On the thread that makes it ready.
    Here,
    /// On one of the few threads for work that ends.
    Worker,
    /// On a thread of its own: it waits for the client, or may.
    OwnThread,
}

/// What a launch knows of its arguments' bytes.
pub(super) struct ArgumentHolds<'a> {
    sources: Sources,
    /// The arguments that are not there yet, with their numbers.
    waiting: Vec<(usize, &'a Arc<Buffer>)>,
    error: Option<Error>,
}

impl<'a> ArgumentHolds<'a> {
    /// Claims what is ready.
    ///
    /// Before any donation: a claim survives the deletion.
    pub(super) fn of(count: usize, arguments: impl Iterator<Item = &'a Arc<Buffer>>) -> Self {
        let mut claims =
            Self { sources: Vec::with_capacity(count), waiting: Vec::new(), error: None };
        for (index, argument) in arguments.enumerate() {
            let mut source = None;
            if !argument.ready_event().is_ready() {
                claims.waiting.push((index, argument));
            } else {
                match argument.hold_ready() {
                    Ok(hold) => source = Some(hold),
                    Err(error) => claims.error = claims.error.or(Some(error)),
                }
            }
            claims.sources.push(source);
        }
        claims
    }

    /// Whether a run need not wait.
    pub(super) fn are_ready(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether what a run waits for will come whatever the client does.
    pub(super) fn are_certain(&self) -> bool {
        self.waiting.iter().all(|(_, argument)| argument.ready_event().is_certain())
    }

    /// What a run that need not wait starts with.
    ///
    /// # Errors
    /// That of an argument that has failed.
    pub(super) fn ready(self) -> Result<Sources> {
        self.error.map_or(Ok(self.sources), Err)
    }

    /// The block of a donated argument, if nobody but this launch has a claim on it.
    pub(super) fn take(
        &mut self,
        index: usize,
        argument: &Buffer,
        origin: Origin,
    ) -> Option<Arc<Block>> {
        let Some(Hold::Block(block)) = &self.sources[index] else { return None };
        // Given up first: from then on there are no new claims.
        if !argument.give_up() {
            return None;
        }
        if Arc::strong_count(block) > 1 {
            block.given_up_by(origin);
            return None;
        }
        let taken = Arc::clone(block);
        self.sources[index] = None;
        Some(taken)
    }

    /// Leaves an argument's bytes to the result that lies in them.
    pub(super) fn leave(&mut self, index: usize) {
        if let Some(source) = self.sources.get_mut(index) {
            *source = None;
        }
    }

    /// Waits for all arguments without keeping a thread, whatever becomes of the buffers.
    pub(super) fn kept(self) -> Kept {
        let Self { sources, waiting, error } = self;
        let pending = Arc::new(Pending {
            left: AtomicUsize::new(waiting.len() + 1),
            sources: Mutex::new(sources),
            error: Mutex::new(error),
        });
        let there = if waiting.is_empty() { Event::ready() } else { Event::pending() };
        let start = {
            let there = there.clone();
            Arc::new(move || {
                there.settle(Ok(()));
            })
        };
        let gate = ReadyLatch { pending: Arc::clone(&pending), start };
        gate.watch(waiting);
        gate.pass();
        Kept { pending, there }
    }

    /// Those of several launches, one behind the other, when they are there.
    pub(super) fn joined(kept: &[&Kept]) -> Self {
        let mut claims = Self { sources: Vec::new(), waiting: Vec::new(), error: None };
        for one in kept {
            claims.sources.append(&mut one.pending.sources.lock());
            if let Some(error) = one.pending.error.lock().take() {
                claims.error.get_or_insert(error);
            }
        }
        claims
    }

    /// Runs `work` once the arguments and the turns are there and the gate that this gives has
    /// passed; `done` ends as it does.
    fn run<W: Runnable>(
        self,
        machine: &Arc<Emulator>,
        turns: Vec<Event>,
        (way, done, ticket): (Placement, &Event, Option<Permit>),
        work: W,
    ) -> ReadyLatch {
        let Self { sources, waiting, error } = self;
        let pending = Arc::new(Pending {
            left: AtomicUsize::new(waiting.len() + turns.len() + 1),
            sources: Mutex::new(sources),
            error: Mutex::new(error),
        });
        let start = {
            let (pending, machine, done) =
                (Arc::clone(&pending), Arc::clone(machine), done.clone());
            let work = Mutex::new(Some((work, ticket)));
            Arc::new(move || {
                let Some((work, ticket)) = work.lock().take() else { return };
                pending.start(&machine, (way, &done, ticket), work);
            })
        };
        let gate = ReadyLatch { pending: Arc::clone(&pending), start };
        gate.watch(waiting);
        for turn in turns {
            let gate = gate.clone();
            turn.on_ready(move |_| gate.pass());
        }
        gate
    }
}

/// Claims of one launch that may still come.
#[derive(Debug)]
pub(super) struct Kept {
    pending: Arc<Pending>,
    there: Event,
}

impl Kept {
    /// Ends, always well, when the last argument is there or has failed.
    pub(super) fn there(&self) -> &Event {
        &self.there
    }
}

/// Arguments that a run still waits for.
#[derive(Debug)]
struct Pending {
    left: AtomicUsize,
    sources: Mutex<Sources>,
    error: Mutex<Option<Error>>,
}

/// Something that a run waits for. It runs when the last one has passed.
#[derive(Clone)]
pub(super) struct ReadyLatch {
    pending: Arc<Pending>,
    start: Arc<dyn Fn() + Send + Sync>,
}

impl ReadyLatch {
    /// Passes once for each of these arguments, when it is there.
    fn watch(&self, waiting: Vec<(usize, &Arc<Buffer>)>) {
        for (index, argument) in waiting {
            let told = {
                let gate = self.clone();
                move |held| {
                    gate.pending.settle(index, held);
                    gate.pass();
                }
            };
            // Deleted by another thread after the check: the run has this one cause to fail.
            if let Err(error) = argument.when_ready(told) {
                self.pending.settle(index, Err(error));
                self.pass();
            }
        }
    }

    /// Says that it is there.
    pub(super) fn pass(&self) {
        if self.pending.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            (self.start)();
        }
    }
}

impl Pending {
    fn settle(&self, index: usize, held: Result<Hold>) {
        match held {
            Ok(hold) => self.sources.lock()[index] = Some(hold),
            Err(error) => {
                self.error.lock().get_or_insert(error);
            }
        }
    }

    fn start<W: Runnable>(
        &self,
        machine: &Emulator,
        (way, done, ticket): (Placement, &Event, Option<Permit>),
        work: W,
    ) {
        if let Some(error) = self.error.lock().take() {
            drop((work, ticket));
            done.settle(Err(error));
            return;
        }
        let sources = std::mem::take(&mut *self.sources.lock());
        if matches!(way, Placement::Here) {
            return machine.workers.here(done, move || work.begin(sources));
        }
        let run = move || {
            let _until_here = ticket;
            work.run(sources)
        };
        match way {
            Placement::OwnThread => machine.workers.apart(done.clone(), run),
            Placement::Worker | Placement::Here => machine.workers.run(done.clone(), run),
        }
    }
}
