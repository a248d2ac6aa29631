//! One-shot events: pending, then done or failed. Callbacks run with no lock held.
use crate::error::Result;
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

type Callback = Box<dyn FnOnce(&Result<()>) + Send>;

#[derive(Default)]
struct EventState {
    outcome: OnceLock<Result<()>>,
    /// Whom to tell; `None` once they are told.
    waiting: Mutex<Vec<Callback>>,
    settled: Condvar,
    /// See [`Event::is_certain`].
    certain: bool,
}

/// How an event without state has ended.
static WELL: Result<()> = Ok(());

/// Something that will have happened. Clones are the same event.
#[derive(Clone)]
pub struct Event(
    /// `None` for one that was over, and well, from the start.
    Option<Arc<EventState>>,
);

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Event").field(&self.outcome()).finish()
    }
}

impl Default for Event {
    fn default() -> Self {
        Self::pending()
    }
}

impl Event {
    /// A pending event.
    pub fn pending() -> Self {
        Self(Some(Arc::default()))
    }

    /// The pending end of work that needs nothing more from the client.
    pub fn certain() -> Self {
        Self(Some(Arc::new(EventState { certain: true, ..EventState::default() })))
    }

    /// An event that is over.
    pub fn settled(outcome: Result<()>) -> Self {
        if outcome.is_ok() {
            return Self::ready();
        }
        let event = Self::pending();
        event.settle(outcome);
        event
    }

    /// An event that has succeeded.
    pub const fn ready() -> Self {
        Self(None)
    }

    /// Whether it is over, or will be whatever the client does.
    pub fn is_certain(&self) -> bool {
        self.0.as_ref().is_none_or(|state| state.certain || state.outcome.get().is_some())
    }

    /// Ends the event and calls everybody who waits, on this thread.
    ///
    /// Returns whether this call ended it; a later one changes nothing.
    pub fn settle(&self, outcome: Result<()>) -> bool {
        let Some(state) = &self.0 else { return false };
        let waiting = {
            let mut waiting = state.waiting.lock();
            if state.outcome.set(outcome).is_err() {
                return false;
            }
            state.settled.notify_all();
            std::mem::take(&mut *waiting)
        };
        if let Some(outcome) = state.outcome.get() {
            waiting.into_iter().for_each(|callback| callback(outcome));
        }
        true
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&Result<()>> {
        self.0.as_ref().map_or(Some(&WELL), |state| state.outcome.get())
    }

    /// Whether it is over, well or badly.
    pub fn is_ready(&self) -> bool {
        self.outcome().is_some()
    }

    /// Blocks until it is over.
    ///
    /// # Errors
    /// The event's own.
    pub fn wait(&self) -> Result<()> {
        if let Some(outcome) = self.outcome() {
            return outcome.clone();
        }
        let Some(state) = &self.0 else { return Ok(()) };
        let mut waiting = state.waiting.lock();
        loop {
            if let Some(outcome) = state.outcome.get() {
                return outcome.clone();
            }
            state.settled.wait(&mut waiting);
        }
    }

    /// Blocks until it is over, but no longer than `patience`; `None` if it is not over then.
    pub fn wait_for(&self, patience: Duration) -> Option<Result<()>> {
        let Some(state) = &self.0 else { return Some(Ok(())) };
        let mut waiting = state.waiting.lock();
        while self.outcome().is_none() {
            // A wake-up without cause starts the patience anew.
            if state.settled.wait_for(&mut waiting, patience).timed_out() {
                break;
            }
        }
        self.outcome().cloned()
    }

    /// Calls `callback` once it is over: now, on this thread, if it is already.
    pub fn on_ready(&self, callback: impl FnOnce(&Result<()>) + Send + 'static) {
        if let Some(outcome) = self.outcome() {
            return callback(outcome);
        }
        let Some(state) = &self.0 else { return };
        let mut waiting = state.waiting.lock();
        match state.outcome.get() {
            None => waiting.push(Box::new(callback)),
            Some(outcome) => {
                drop(waiting);
                callback(outcome);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn counted(event: &Event) -> Arc<AtomicU32> {
        let calls = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&calls);
        event.on_ready(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        calls
    }

    #[test]
    fn callbacks_run_once_before_and_after_the_end() {
        let event = Event::pending();
        let early = counted(&event);
        assert_eq!(early.load(Ordering::SeqCst), 0);
        assert!(event.settle(Ok(())));
        assert!(!event.settle(Err(Error::bad("too late"))));
        let late = counted(&event);
        assert_eq!((early.load(Ordering::SeqCst), late.load(Ordering::SeqCst)), (1, 1));
        assert_eq!(event.wait(), Ok(()));
    }

    #[test]
    fn an_event_that_was_over_from_the_start_needs_no_end() {
        let event = Event::settled(Ok(()));
        assert_eq!(counted(&event).load(Ordering::SeqCst), 1);
        assert_eq!((event.wait(), event.is_certain()), (Ok(()), true));
        assert!(!event.settle(Err(Error::bad("too late"))) && event.outcome() == Some(&Ok(())));
        assert!(Event::certain().is_certain() && !Event::pending().is_certain());
    }

    #[test]
    fn a_callback_may_use_its_own_event() {
        let event = Event::pending();
        let again = event.clone();
        let (send, receive) = std::sync::mpsc::channel();
        event.on_ready(move |_| {
            let nested = send.clone();
            again.on_ready(move |outcome| nested.send(outcome.clone()).unwrap());
        });
        event.settle(Err(Error::bad("broken")));
        assert_eq!(receive.recv().unwrap(), Err(Error::bad("broken")));
    }

    #[test]
    fn patience_ends_before_an_event_that_does_not() {
        let event = Event::pending();
        assert_eq!(event.wait_for(Duration::from_millis(1)), None);
        event.settle(Ok(()));
        assert_eq!(event.wait_for(Duration::from_millis(1)), Some(Ok(())));
    }

    #[test]
    fn waiting_ends_with_the_event() {
        let event = Event::pending();
        let waiter = event.clone();
        let thread = std::thread::spawn(move || waiter.wait());
        event.settle(Err(Error::bad("late")));
        assert_eq!(thread.join().unwrap(), Err(Error::bad("late")));
    }
}
