//! What a handler keeps from one stage for later ones.
// UNSAFETY: ends the life of values behind pointers of handlers, by the functions that their
// types are registered with.
#![expect(unsafe_code, reason = "values that handlers own")]
use super::{Deleter, types};
use crate::boundary::UserPointer;
use parking_lot::Mutex;
use std::ffi::c_void;
use tpu_emu::{Code, Error, Result};
use tpu_host::foreign;

/// A value of a handler's.
#[derive(Debug)]
struct HandlerState {
    /// The number of its type.
    of: i64,
    value: UserPointer,
    deleter: Option<Deleter>,
}

impl Drop for HandlerState {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            let what = format!("the deleter of a state of type {}", types::name_of(self.of));
            let arguments = [self.value.get().expose_provenance(), 0, 0, 0, 0];
            // SAFETY: the handler gave the value away, of the type that the function is for; it
            // is given to the function once.
            unsafe { foreign::call_or_tell(&what, deleter as *const (), arguments) };
        }
    }
}

/// The place of one stage's value.
#[derive(Debug, Default)]
pub(super) struct StageState(Mutex<Option<HandlerState>>);

impl StageState {
    /// Keeps a value of type `of` until the slot ends.
    ///
    /// # Errors
    /// `AlreadyExists` for a second value, `Null` for none. The value then stays the handler's.
    pub(super) fn set(&self, of: i64, value: *mut c_void, deleter: Option<Deleter>) -> Result<()> {
        if value.is_null() {
            return Err(Error::Null("state"));
        }
        let mut slot = self.0.lock();
        if let Some(state) = &*slot {
            let (there, new) = (state.of, of);
            drop(slot);
            let (there, new) = (types::name_of(there), types::name_of(new));
            let message = format!("a state of type {there} is set already; another of type {new}");
            return Err(Error::Verbatim { code: Code::AlreadyExists, message: message.into() });
        }
        *slot = Some(HandlerState { of, value: UserPointer(value), deleter });
        Ok(())
    }

    /// The value of type `of`.
    ///
    /// # Errors
    /// `NotFound` without a value; `BadArgument` for a value of another type.
    pub(super) fn get(&self, of: i64) -> Result<*mut c_void> {
        let state = self.0.lock().as_ref().map(|state| (state.of, state.value));
        match state {
            Some((there, value)) if there == of => Ok(value.get()),
            Some((there, _)) => {
                let (there, asked) = (types::name_of(there), types::name_of(of));
                Err(Error::bad(format!("the state is of type {there}, not {asked}")))
            }
            None => Err(Error::NotFound(format!("no state of type {} is set", types::name_of(of)))),
        }
    }
}

/// What the stages of one launch keep.
#[derive(Debug, Default)]
pub(super) struct LaunchStates {
    pub(super) prepare: StageState,
    pub(super) initialize: StageState,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static DELETED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn count(_: *mut c_void) {
        DELETED.fetch_add(1, Ordering::SeqCst);
    }

    #[test]
    fn a_value_lives_as_long_as_its_slot() {
        let slot = StageState::default();
        let value: *mut c_void = std::ptr::without_provenance_mut(64);
        assert!(slot.get(7).is_err());
        assert!(slot.set(7, std::ptr::null_mut(), None).is_err());
        slot.set(7, value, Some(count)).unwrap();
        assert!(slot.set(7, value, Some(count)).is_err());
        assert_eq!(slot.get(7), Ok(value));
        assert_eq!(
            slot.get(8).unwrap_err().to_string(),
            "the state is of type number 7, not number 8"
        );
        assert_eq!(DELETED.load(Ordering::SeqCst), 0);
        drop(slot);
        assert_eq!(DELETED.load(Ordering::SeqCst), 1);
    }
}
