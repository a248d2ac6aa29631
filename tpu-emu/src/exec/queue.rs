//! Background threads for copies that are too long for the caller's thread.
use crate::error::{Error, Result};
use crate::event::Event;
use crossbeam::channel::{Sender, unbounded};
use parking_lot::Mutex;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread;

type Task = Box<dyn FnOnce() + Send>;
/// The rest of some work.
pub(super) type Rest = Box<dyn FnOnce() -> Result<()> + Send>;

/// Two, so that one long copy does not hold up the others.
const THREADS: usize = 2;

/// Threads that are started by the first task and live as long as the process.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    queue: OnceLock<Option<Sender<Task>>>,
}

impl Workers {
    /// Runs `work` here and now and settles `event` with its outcome; work that must wait gives
    /// its rest, which goes on apart.
    pub(crate) fn here(&self, event: &Event, work: impl FnOnce() -> Result<Option<Rest>>) {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        match outcome.unwrap_or_else(|payload| Err(panicked(&*payload))) {
            Ok(Some(rest)) => self.apart(event.clone(), rest),
            Ok(None) => {
                event.settle(Ok(()));
            }
            Err(error) => {
                event.settle(Err(error));
            }
        }
    }

    /// Runs `work` on a thread of its own and settles `event` with its outcome: for work that
    /// may wait for something outside of the machine.
    ///
    /// Where the host gives no thread, `work` runs here and now.
    #[expect(clippy::unused_self, reason = "the other way to run work is a method, too")]
    pub(crate) fn apart(&self, event: Event, work: impl FnOnce() -> Result<()> + Send + 'static) {
        let task = Arc::new(Mutex::new(Some(task_of(event, work))));
        let own = Arc::clone(&task);
        let run = move || {
            let task = own.lock().take();
            task.into_iter().for_each(|task| task());
        };
        let thread = thread::Builder::new().name("tpu-emu-wait".to_owned()).spawn(run);
        if thread.is_err() {
            let task = task.lock().take();
            task.into_iter().for_each(|task| task());
        }
    }

    /// How many threads `run` has.
    #[expect(clippy::unused_self, reason = "a property of the threads")]
    pub(crate) fn threads(&self) -> usize {
        THREADS
    }

    /// Runs `work` on a background thread and settles `event` with its outcome.
    ///
    /// Where the host gives no thread, `work` runs here and now.
    pub(crate) fn run(&self, event: Event, work: impl FnOnce() -> Result<()> + Send + 'static) {
        let task = task_of(event, work);
        match self.queue.get_or_init(start) {
            Some(queue) => {
                if let Err(unsent) = queue.send(task) {
                    (unsent.0)();
                }
            }
            None => task(),
        }
    }
}

fn task_of(event: Event, work: impl FnOnce() -> Result<()> + Send + 'static) -> Task {
    Box::new(move || {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        event.settle(outcome.unwrap_or_else(|payload| Err(panicked(&*payload))));
    })
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let message = text.unwrap_or("a panic without a text").to_owned();
    Error::Panic { function: "work on the device", message }
}

fn start() -> Option<Sender<Task>> {
    let (send, receive) = unbounded::<Task>();
    let started = (0..THREADS).filter(|number| {
        let tasks = receive.clone();
        let name = format!("tpu-emu-{number}");
        let work = move || tasks.into_iter().for_each(|task| task());
        thread::Builder::new().name(name).spawn(work).is_ok()
    });
    (started.count() > 0).then_some(send)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_ends_as_the_work_does() {
        let workers = Workers::default();
        let events = [Event::pending(), Event::pending(), Event::pending()];
        workers.run(events[0].clone(), || Ok(()));
        workers.run(events[1].clone(), || Err(Error::bad("no")));
        workers.run(events[2].clone(), || panic!("lost"));
        let here = Event::pending();
        workers.here(&here, || panic!("a kernel"));
        assert!(matches!(here.wait(), Err(Error::Panic { .. })));
        let (waited, apart) = (Event::pending(), Event::pending());
        workers.here(&waited, || Ok(Some(Box::new(|| Err(Error::bad("late"))))));
        workers.apart(apart.clone(), || Ok(()));
        assert_eq!((waited.wait(), apart.wait()), (Err(Error::bad("late")), Ok(())));
        assert_eq!(events[0].wait(), Ok(()));
        assert_eq!(events[1].wait(), Err(Error::bad("no")));
        assert!(matches!(events[2].wait(), Err(Error::Panic { .. })));
    }
}
