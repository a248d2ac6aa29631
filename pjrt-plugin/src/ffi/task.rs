//! A task that a handler schedules.
// UNSAFETY: calls a function of the handler's.
#![expect(unsafe_code, reason = "a C function")]
use crate::boundary::UserPointer;
use crate::sys::XLA_FFI_Task;
use tpu_emu::{Error, Result};

/// A C function and its argument.
#[derive(Debug)]
pub(super) struct Task {
    function: unsafe extern "C" fn(*mut std::ffi::c_void),
    data: UserPointer,
}

impl Task {
    /// # Errors
    /// `Null` without a function.
    pub(super) fn new(function: XLA_FFI_Task, data: UserPointer) -> Result<Self> {
        let function = function.ok_or(Error::Null("task"))?;
        Ok(Self { function, data })
    }

    /// Runs it.
    pub(super) fn run(self) {
        // SAFETY: the handler gave the two for each other, for one call on any thread.
        unsafe { (self.function)(self.data.get()) };
    }
}
