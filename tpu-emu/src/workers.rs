//! Background threads for work that is too long for the caller's thread, or that waits.
use crossbeam::channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use tpu_base::error::Result;
use tpu_base::event::Event;
use tpu_base::panics::{adopt, caught, lost};
use tpu_base::tensor::subnormals::Subnormals;
use tpu_kernels::parallel::share_with;

type Task = Box<dyn FnOnce() + Send>;
/// The rest of some work.
pub(crate) type Rest = Box<dyn FnOnce() -> Result<()> + Send>;

/// At least two, so that one long copy does not hold up the others.
const LEAST: usize = 2;

/// Threads without work that are kept for work that waits.
const KEPT: usize = 4;

/// Threads that are started by the first task and end with the machine, and threads for work
/// that may wait for long.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: OnceLock<ThreadPool>,
    /// Threads that share one task's work.
    width: usize,
    dedicated: Dedicated,
}

/// Threads each of which has one task, or waits for one. They end with the machine.
#[derive(Debug)]
struct Dedicated {
    send: Sender<Task>,
    idle: Idle,
}

impl Default for Dedicated {
    fn default() -> Self {
        let (send, tasks) = unbounded();
        Self { send, idle: Idle { tasks, count: Arc::default() } }
    }
}

/// Threads that wait for a task nobody has promised them yet.
#[derive(Debug, Clone)]
struct Idle {
    tasks: Receiver<Task>,
    count: Arc<AtomicUsize>,
}

impl Idle {
    /// Takes one off the count; the caller owes it a task then.
    fn reserve(&self) -> bool {
        let less = |count: usize| count.checked_sub(1);
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    /// The life of a thread after its first task.
    fn serve(&self) {
        let more = |count: usize| (count < KEPT).then_some(count + 1);
        while self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok() {
            let Ok(task) = self.tasks.recv() else { return };
            task();
        }
    }
}

impl Workers {
    /// Threads of which `width` share the work of one task, if it asks for that.
    pub(crate) fn new(width: NonZeroUsize) -> Self {
        Self { pool: OnceLock::new(), width: width.get(), dedicated: Dedicated::default() }
    }

    /// One a core.
    pub(crate) fn of_this_host() -> NonZeroUsize {
        thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    }

    /// Runs `work` here and now and settles `event` with its outcome; work that must wait gives
    /// its rest, which goes on on a thread of its own.
    pub(crate) fn here(&self, event: &Event, work: impl FnOnce() -> Result<Option<Rest>>) {
        let ended = self.now(work);
        match ended.outcome() {
            Some(outcome) => {
                event.settle(outcome.clone());
            }
            None => {
                let event = event.clone();
                ended.on_ready(move |outcome| {
                    event.settle(outcome.clone());
                });
            }
        }
    }

    /// Does work now, with an event that needs no state where the work ends well.
    pub(crate) fn now(&self, work: impl FnOnce() -> Result<Option<Rest>>) -> Event {
        match caught(WORK, work).flatten() {
            Ok(Some(rest)) => {
                let event = Event::pending();
                self.run_dedicated(event.clone(), rest);
                event
            }
            Ok(None) => Event::ready(),
            Err(error) => Event::settled(Err(error)),
        }
    }

    /// Whether the calling thread is one of a pool's.
    pub(crate) fn are_here() -> bool {
        rayon::current_thread_index().is_some()
    }

    /// Threads that share the work of one task.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many threads `run` has.
    pub(crate) fn threads(&self) -> usize {
        self.width.max(LEAST)
    }

    /// Runs `work` on a background thread and settles `event` with its outcome.
    ///
    /// Where the host gives no thread, `work` runs here and now.
    pub(crate) fn run(&self, event: Event, work: impl FnOnce() -> Result<()> + Send + 'static) {
        let task = task_of(event, work);
        match self.started() {
            Some(pool) => pool.spawn_fifo(task),
            None => task(),
        }
    }

    /// The pool; `None` while the host gives no threads.
    fn started(&self) -> Option<&ThreadPool> {
        if let Some(pool) = self.pool.get() {
            return Some(pool);
        }
        let made = self.start()?;
        // Two threads may both make one; one of them ends unused.
        Some(self.pool.get_or_init(|| made))
    }

    fn start(&self) -> Option<ThreadPool> {
        let width = self.width;
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.threads())
            .thread_name(|number| format!("tpu-emu-{number}"))
            .start_handler(move |_| {
                adopt();
                share_with(width);
            })
            // A task's own panic is its event's error; this one came from a listener of it.
            .panic_handler(|payload| lost(&*payload));
        let refused = |why| tracing::warn!(%why, "no threads: work is done where it is asked for");
        pool.build().map_err(refused).ok()
    }

    /// Runs `work` on a thread that has nothing else to do meanwhile and settles `event` with its
    /// outcome: for work that may wait for something outside of the machine.
    ///
    /// Where the host gives no thread, `work` runs here and now.
    pub(crate) fn run_dedicated(
        &self,
        event: Event,
        work: impl FnOnce() -> Result<()> + Send + 'static,
    ) {
        let task = task_of(event, work);
        let first = if self.dedicated.idle.reserve() {
            match self.dedicated.send.send(task) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            }
        } else {
            task
        };
        // A thread that cannot be started drops what it was given, so the task stays here.
        let first = Arc::new(Mutex::new(Some(first)));
        let (idle, handed) = (self.dedicated.idle.clone(), Arc::clone(&first));
        let live = move || {
            let task = handed.lock().take();
            if let Some(task) = task {
                task();
            }
            idle.serve();
        };
        let started = thread::Builder::new().name("tpu-emu-wait".to_owned()).spawn(live);
        if let Err(why) = started {
            tracing::warn!(%why, "no thread: work is done where it is asked for");
            let task = first.lock().take();
            if let Some(task) = task {
                task();
            }
        }
    }
}

fn task_of(event: Event, work: impl FnOnce() -> Result<()> + Send + 'static) -> Task {
    Box::new(move || {
        // The thread may be one that waits for pieces of its run, in that run's mode.
        let _mode = Subnormals::Kept.enter();
        event.settle(caught(WORK, work).flatten());
    })
}

/// What panics of tasks are said to come from.
const WORK: &str = "work on the device";

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::error::Error;

    #[test]
    fn the_event_ends_as_the_work_does() {
        let workers = Workers::new(NonZeroUsize::MIN);
        let events = [Event::pending(), Event::pending(), Event::pending()];
        workers.run(events[0].clone(), || Ok(()));
        workers.run(events[1].clone(), || Err(Error::bad("no")));
        workers.run(events[2].clone(), || panic!("lost"));
        let here = Event::pending();
        workers.here(&here, || panic!("a kernel"));
        assert!(matches!(here.wait(), Err(Error::Panic { .. })));
        let (waited, dedicated) = (Event::pending(), Event::pending());
        workers.here(&waited, || Ok(Some(Box::new(|| Err(Error::bad("late"))))));
        workers.run_dedicated(dedicated.clone(), || Ok(()));
        assert_eq!((waited.wait(), dedicated.wait()), (Err(Error::bad("late")), Ok(())));
        assert_eq!(events[0].wait(), Ok(()));
        assert_eq!(events[1].wait(), Err(Error::bad("no")));
        assert!(matches!(events[2].wait(), Err(Error::Panic { .. })));
    }

    #[test]
    fn work_that_waits_does_not_wait_for_threads() {
        let workers = Workers::new(NonZeroUsize::MIN);
        let opened = Event::pending();
        let many: Vec<Event> = (0..3 * KEPT).map(|_| Event::pending()).collect();
        for event in &many {
            let opened = opened.clone();
            workers.run_dedicated(event.clone(), move || opened.wait());
        }
        let last = Event::pending();
        workers.run_dedicated(last.clone(), move || {
            opened.settle(Ok(()));
            Ok(())
        });
        assert_eq!(last.wait(), Ok(()));
        assert!(many.iter().all(|event| event.wait() == Ok(())));
        let again = Event::pending();
        workers.run_dedicated(again.clone(), || panic!("lost"));
        assert!(matches!(again.wait(), Err(Error::Panic { .. })));
        assert!(workers.dedicated.idle.count.load(Ordering::Acquire) <= KEPT);
    }
}
