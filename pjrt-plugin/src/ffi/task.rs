//! A task that a handler schedules.
// UNSAFETY: calls a function of the handler's.
#![expect(unsafe_code, reason = "a C function")]
use super::error;
use super::failure::Failure;
use crate::boundary::UserPointer;
use crate::sys::XLA_FFI_Task;
use tpu_emu::custom_call::Stage;
use tpu_emu::{Error, Result};
use tpu_host::foreign;

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

    /// Runs it. What it throws fails its call, or is a line on standard error where the call is
    /// over.
    pub(super) fn run(self, stage: Stage, failure: &Failure) {
        let arguments = [self.data.get().expose_provenance(), 0, 0, 0, 0];
        // SAFETY: the handler gave the two for each other, for one call on any thread.
        let Err(thrown) = (unsafe { foreign::call(self.function as *const (), arguments) }) else {
            return;
        };
        let what = format!("a task of the {} handler", stage.name());
        if let Some(error) = failure.fail(error::thrown(&what, &thrown)) {
            tpu_host::tell(&format!("{error}, after its call was over"));
        }
    }
}
