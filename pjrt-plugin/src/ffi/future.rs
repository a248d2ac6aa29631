//! `XLA_FFI_Future`: an event that a handler ends.
use super::error;
use crate::boundary::{handle_of, id_of};
use crate::sys::{XLA_FFI_Error, XLA_FFI_Future};
use tpu_emu::{Error, Event, Id, Result, Table};

#[derive(Debug)]
struct FutureEntry {
    event: Event,
}

static FUTURES: Table<FutureEntry> = Table::new("future", 17);

/// A pending future.
pub(super) fn create() -> *mut XLA_FFI_Future {
    handle_of(FUTURES.insert(FutureEntry { event: Event::pending() }))
}

/// Ends a future well.
///
/// # Errors
/// `WrongState` where it has ended already; `StaleHandle` where its call is over too.
pub(super) fn set_available(future: *const XLA_FFI_Future) -> Result<()> {
    settle(future, Ok(()))
}

/// Ends a future with an error, which is taken over.
///
/// # Errors
/// As for [`set_available`]; `BadArgument` without an error, or for one that is not of this
/// runtime. The future then goes on.
pub(super) fn set_error(future: *const XLA_FFI_Future, error: *mut XLA_FFI_Error) -> Result<()> {
    if !error::is_failure(error) {
        let address = error.addr();
        return Err(Error::bad(format!("the error of a future at {address:#x} is no error")));
    }
    settle(future, error::take(error))
}

fn settle(future: *const XLA_FFI_Future, outcome: Result<()>) -> Result<()> {
    let event = FUTURES.with(id_of(future, "future")?, |entry| entry.event.clone())?;
    if event.settle(outcome) {
        return Ok(());
    }
    Err(Error::WrongState("the future has ended already".to_owned()))
}

/// Takes over what a handler left in its call frame.
///
/// # Errors
/// `StaleHandle` for what is no future of this runtime.
pub(super) fn take(future: *const XLA_FFI_Future) -> Result<Option<Event>> {
    if future.is_null() {
        return Ok(None);
    }
    let id: Id<FutureEntry> = id_of(future, "future")?;
    let event = FUTURES.with(id, |entry| entry.event.clone())?;
    // The handle stays valid until the future ends, for the one who ends it.
    event.on_ready(move |_| drop(FUTURES.remove(id)));
    Ok(Some(event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::XLA_FFI_Error_Code;

    #[test]
    fn a_future_ends_once() {
        let future = create();
        let event = take(future).unwrap().unwrap();
        assert!(!event.is_ready());
        set_available(future).unwrap();
        assert_eq!(event.outcome(), Some(&Ok(())));
        assert!(set_available(future).is_err());
        assert!(take(future).is_err());
    }

    #[test]
    fn a_future_may_end_before_its_handler_returns() {
        let future = create();
        let error = error::create(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "late");
        set_error(future, error).unwrap();
        assert_eq!(set_available(future).unwrap_err().to_string(), "the future has ended already");
        let event = take(future).unwrap().unwrap();
        assert_eq!(event.wait().unwrap_err().to_string(), "late");
    }

    #[test]
    fn only_an_error_of_ours_ends_a_future_badly() {
        let future = create();
        assert!(set_error(future, std::ptr::null_mut()).is_err());
        assert!(set_error(future, std::ptr::without_provenance_mut(64)).is_err());
        assert!(set_available(std::ptr::without_provenance(64)).is_err());
        set_available(future).unwrap();
        assert_eq!(take(std::ptr::null()).unwrap().map(drop), None);
        take(future).unwrap();
    }
}
