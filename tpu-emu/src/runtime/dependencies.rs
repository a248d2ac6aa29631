//! What a launch waits for before its program runs.
use crate::buffer::{Buffer, Hold};
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
    /// The arguments that are not there yet, with their numbers.
    waiting: Vec<(usize, &'a Arc<Buffer>)>,
    error: Option<Error>,
}

impl<'a> ArgumentHolds<'a> {
    /// Holds what is ready.
    ///
    /// Before any donation: what is held survives the deletion.
    pub(super) fn of(count: usize, arguments: impl Iterator<Item = &'a Arc<Buffer>>) -> Self {
        let mut holds =
            Self { sources: Vec::with_capacity(count), waiting: Vec::new(), error: None };
        for (index, argument) in arguments.enumerate() {
            let mut source = None;
            if !argument.ready_event().is_ready() {
                holds.waiting.push((index, argument));
            } else {
                match argument.hold_ready() {
                    Ok(hold) => source = Some(hold),
                    Err(error) => holds.error = holds.error.or(Some(error)),
                }
            }
            holds.sources.push(source);
        }
        holds
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
        let latch = ReadyLatch { pending: Arc::clone(&pending), start };
        latch.watch(waiting);
        latch.pass();
        Kept { pending, there }
    }

    /// Those of several launches, one behind the other, when they are there.
    pub(super) fn joined(kept: &[&Kept]) -> Self {
        let mut holds = Self { sources: Vec::new(), waiting: Vec::new(), error: None };
        for one in kept {
            holds.sources.append(&mut one.pending.sources.lock());
            if let Some(error) = one.pending.error.lock().take() {
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
        let Self { sources, waiting, error } = self;
        let pending = Arc::new(Pending {
            left: AtomicUsize::new(waiting.len() + before.len() + 1),
            sources: Mutex::new(sources),
            error: Mutex::new(error),
        });
        let start = {
            let (pending, start) = (Arc::clone(&pending), Mutex::new(Some(start)));
            Arc::new(move || {
                let Some(start) = start.lock().take() else { return };
                start(pending.outcome());
            })
        };
        let latch = ReadyLatch { pending: Arc::clone(&pending), start };
        latch.watch(waiting);
        for event in before {
            let latch = latch.clone();
            event.on_ready(move |_| latch.pass());
        }
        latch
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

    /// What the run starts with.
    fn outcome(&self) -> Result<Sources> {
        let error = self.error.lock().take();
        error.map_or_else(|| Ok(std::mem::take(&mut *self.sources.lock())), Err)
    }
}
