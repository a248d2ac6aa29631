//! What went wrong in the tasks of a call, on whichever thread they ran.
use parking_lot::Mutex;
use tpu_emu::{Error, Event};

/// The first failure among the tasks of one call, and the future that it ends.
#[derive(Debug, Default)]
pub(super) struct Failure(Mutex<FailureState>);

#[derive(Debug, Default)]
struct FailureState {
    error: Option<Error>,
    future: Option<Event>,
    over: bool,
}

impl Failure {
    /// A task failed: the future that the handler left ends with this, now or once it is left.
    /// Gives the error back where the call is over and nobody waits for it.
    pub(super) fn fail(&self, error: Error) -> Option<Error> {
        let mut state = self.0.lock();
        if state.over {
            return Some(error);
        }
        let Some(future) = state.future.clone() else {
            state.error.get_or_insert(error);
            return None;
        };
        drop(state);
        match future.settle(Err(error.clone())) {
            true => None,
            false => Some(error),
        }
    }

    /// The handler left a future.
    pub(super) fn watch(&self, future: &Event) {
        let mut state = self.0.lock();
        let error = state.error.take();
        state.future = Some(future.clone());
        drop(state);
        if let Some(error) = error {
            future.settle(Err(error));
        }
    }

    /// The handler returned and left no future: what failed so far, if anything did.
    pub(super) fn end(&self) -> Option<Error> {
        let mut state = self.0.lock();
        state.over = true;
        state.error.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_ends_the_future_whichever_comes_first() {
        let lost = || Error::bad("lost");
        let (early, late) = (Failure::default(), Failure::default());
        let futures = [Event::pending(), Event::pending()];
        assert_eq!(early.fail(lost()), None);
        early.watch(&futures[0]);
        late.watch(&futures[1]);
        assert!(!futures[1].is_ready());
        assert_eq!(late.fail(lost()), None);
        assert!(futures.iter().all(|future| future.wait() == Err(lost())));
        assert_eq!(late.fail(lost()), Some(lost()));
    }

    #[test]
    fn a_call_without_a_future_ends_with_what_failed_before() {
        let failure = Failure::default();
        assert_eq!(failure.fail(Error::bad("first")), None);
        assert_eq!(failure.fail(Error::bad("second")), None);
        assert_eq!(failure.end(), Some(Error::bad("first")));
        assert_eq!(failure.fail(Error::bad("third")), Some(Error::bad("third")));
        assert_eq!(failure.end(), None);
    }
}
