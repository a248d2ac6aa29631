//! What a launch waits for before its program runs.
use crate::buffer::{Buffer, Hold};
use crate::hbm::End;
use crate::memory::Block;
use crate::origin::Origin;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;

/// The arguments' bytes, held; `None` for one whose block a result has taken over.
pub(super) type Sources = Vec<Option<Hold>>;

/// What a launch holds of its arguments' bytes, so that a deleted one stays readable.
pub(super) struct ArgumentHolds<'a> {
    sources: Sources,
    /// The ends of the work that the bytes come from.
    coming: Vec<Event>,
    /// The arguments that have no bytes yet, with their numbers.
    promised: Vec<(usize, &'a Arc<Buffer>)>,
    error: Option<Error>,
}

impl<'a> ArgumentHolds<'a> {
    /// Holds what has bytes, which need not be there yet.
    ///
    /// Before any donation: what is held survives the deletion.
    pub(super) fn of(count: usize, arguments: impl Iterator<Item = &'a Arc<Buffer>>) -> Self {
        let mut holds = Self {
            sources: Vec::with_capacity(count),
            coming: Vec::new(),
            promised: Vec::new(),
            error: None,
        };
        for (index, argument) in arguments.enumerate() {
            let event = argument.ready_event();
            let is_ready = event.is_ready();
            let source = if !is_ready && argument.is_promised() {
                holds.promised.push((index, argument));
                None
            } else {
                match argument.hold_ready() {
                    Ok(hold) => {
                        if !is_ready {
                            holds.coming.push(event.clone());
                        }
                        Some(hold)
                    }
                    Err(error) => {
                        holds.error = holds.error.or(Some(error));
                        None
                    }
                }
            };
            holds.sources.push(source);
        }
        holds
    }

    /// What is there already.
    pub(super) fn there(sources: Sources) -> Self {
        Self { sources, coming: Vec::new(), promised: Vec::new(), error: None }
    }

    /// Whether a run need not wait.
    pub(super) fn are_ready(&self) -> bool {
        self.coming.is_empty() && self.promised.is_empty()
    }

    /// Whether what a run waits for will come whatever the client does.
    pub(super) fn are_certain(&self) -> bool {
        self.promised.is_empty() && self.coming.iter().all(Event::is_certain)
    }

    /// Leaves the bytes to their owners: the run, which is certain to end, uses them until `end`.
    pub(super) fn used_until(&mut self, end: &End) {
        for source in &mut self.sources {
            *source = source.take().map(|hold| hold.used_until(end));
        }
    }

    /// What a run that need not wait starts with.
    ///
    /// # Errors
    /// That of an argument that has failed.
    pub(super) fn ready(self) -> Result<Sources> {
        self.error.map_or(Ok(self.sources), Err)
    }

    /// The block of a donated argument, if nobody but this launch holds it.
    pub(super) fn take(
        &mut self,
        index: usize,
        argument: &Buffer,
        origin: Origin,
    ) -> Option<Arc<Block>> {
        let Some(Hold::Block(block)) = &self.sources[index] else { return None };
        // Given up first: from then on nobody else can hold it.
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
        let there = if self.are_ready() { Event::ready() } else { Event::pending() };
        let end = there.clone();
        let (latch, pending) = self.latch(Vec::new(), move |_| {
            end.settle(Ok(()));
        });
        latch.pass();
        Kept { pending, there }
    }

    /// Those of several launches, one behind the other, when they are there.
    pub(super) fn joined(kept: &[&Kept]) -> Self {
        let (coming, promised) = (Vec::new(), Vec::new());
        let mut holds = Self { sources: Vec::new(), coming, promised, error: None };
        for one in kept {
            holds.sources.append(&mut one.pending.sources.lock());
            if let Some(error) = one.pending.failure() {
                holds.error.get_or_insert(error);
            }
        }
        holds
    }

    /// Calls `start` with what a run starts with, or with the error of an argument, once the
    /// arguments are there, these events have ended and the latch that this gives has passed.
    pub(super) fn then(
        self,
        before: Vec<Event>,
        start: impl FnOnce(Result<Sources>) + Send + 'static,
    ) -> ReadyLatch {
        self.latch(before, move |pending| start(pending.outcome())).0
    }

    /// The latch of `then`, beside what is pending.
    fn latch(
        self,
        before: Vec<Event>,
        start: impl FnOnce(&Pending) + Send + 'static,
    ) -> (ReadyLatch, Arc<Pending>) {
        let Self { sources, coming, promised, error } = self;
        let pending = Arc::new(Pending {
            left: AtomicUsize::new(coming.len() + promised.len() + before.len() + 1),
            sources: Mutex::new(sources),
            error: Mutex::new(error),
            coming,
        });
        let start = {
            let (pending, start) = (Arc::clone(&pending), Mutex::new(Some(start)));
            Arc::new(move || {
                let Some(start) = start.lock().take() else { return };
                start(&pending);
            })
        };
        let latch = ReadyLatch { pending: Arc::clone(&pending), start };
        latch.watch(promised);
        for event in pending.coming.iter().chain(&before) {
            let latch = latch.clone();
            event.on_ready(move |_| latch.pass());
        }
        (latch, pending)
    }
}

/// What one launch holds, some of which may still come.
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
    /// The ends of the work that the arguments' bytes come from.
    coming: Vec<Event>,
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
            let settle = {
                let latch = self.clone();
                move |held| {
                    latch.pending.settle(index, held);
                    latch.pass();
                }
            };
            // Deleted by another thread after the check: the run has this one cause to fail.
            if let Err(error) = argument.when_ready(settle) {
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

    /// The first error of the arguments that are there.
    fn failure(&self) -> Option<Error> {
        let error = self.error.lock().take();
        error.or_else(|| self.coming.iter().find_map(|event| event.outcome()?.clone().err()))
    }

    /// What the run starts with.
    fn outcome(&self) -> Result<Sources> {
        self.failure().map_or_else(|| Ok(std::mem::take(&mut *self.sources.lock())), Err)
    }
}
