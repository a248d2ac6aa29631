//! `TpuStatus`: an outcome as the client reads it.
// UNSAFETY: exports a function.
#![expect(unsafe_code, reason = "a function of the C interface")]
use super::loans::Loans;
use super::sys::TpuStatus;
use crate::boundary::answer;
use std::ffi::CString;
use std::sync::Arc;
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::{Error, Result};

/// The text of each is the object behind it.
static STATUSES: Loans<TpuStatus, CString> = Loans::new("TpuStatus");

/// A status for the client, which frees it.
pub(super) fn give(outcome: Result<(), &Error>) -> *mut TpuStatus {
    let (code, text) = match outcome {
        Ok(()) => (0, String::new()),
        Err(error) => (error.code() as i32, error.to_string().replace('\0', " ")),
    };
    let text = Arc::new(CString::new(text).unwrap_or_default());
    let msg = text.as_ptr().cast_mut();
    STATUSES.give(TpuStatus { code, msg }, None, Ok(text))
}

/// Runs a function that gives a status.
pub(super) fn report(function: FunctionName, body: impl FnOnce() -> Result<()>) -> *mut TpuStatus {
    let outcome = entry::enter(function, body);
    give(outcome.as_ref().map(|&()| ()))
}

/// Takes a status back, if the client has not freed it.
pub(super) fn take_back(status: *const TpuStatus) -> Result<()> {
    STATUSES.take(status, None).map(drop)
}

/// Frees a status; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_FreeStatus(status: *mut TpuStatus) {
    if status.is_null() {
        return;
    }
    answer(&"TpuDriver_FreeStatus", (), || take_back(status));
}
