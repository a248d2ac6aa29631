//! The way in and out of every function: its name, its errors, its handles.
use crate::status;
use crate::sys::TF_Status;
use std::ptr;
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::{Code, Error, Id, Result};

/// Runs a function without a status: where it fails, the client gets `otherwise`, and standard
/// error says why.
pub(crate) fn answer<R>(
    function: FunctionName,
    otherwise: R,
    body: impl FnOnce() -> Result<R>,
) -> R {
    match entry::enter(function, body) {
        Ok(value) => value,
        Err(error) => {
            note(function, &error);
            tpu_host::tell(&format!("{function}: {error}"));
            otherwise
        }
    }
}

/// Runs a function that says in a status how it went.
pub(crate) fn report(
    function: FunctionName,
    status: *mut TF_Status,
    body: impl FnOnce() -> Result<()>,
) {
    report_or(function, status, (), body);
}

/// Runs a function that gives a value and says in a status how it went: `otherwise` where it fails.
pub(crate) fn report_or<R>(
    function: FunctionName,
    status: *mut TF_Status,
    otherwise: R,
    body: impl FnOnce() -> Result<R>,
) -> R {
    let outcome = entry::enter(function, body);
    match outcome {
        Ok(value) => {
            status::put(status, Ok(()));
            value
        }
        Err(error) => {
            note(function, &error);
            if !status::put(status, Err(&error)) {
                tpu_host::tell(&format!("{function}: {error}"));
            }
            otherwise
        }
    }
}

/// Leaves a trace of a call that was refused. Memory that ran out has a record of its own.
fn note(function: FunctionName, error: &Error) {
    tracing::debug!(function, %error, "refused");
    let Some(machine) = tpu_host::machine_if_made() else { return };
    if error.code() != Code::ResourceExhausted {
        // Entered again, so that the record has the function's name. It cannot fail but by a
        // panic, which was told.
        let _ = entry::enter(function, || {
            machine.ledger().fault(&error.to_string());
            Ok(())
        });
    }
}

/// The object that a client's handle names.
///
/// # Errors
/// `Null`.
pub(crate) fn id_of<C, T>(handle: *const C, kind: &'static str) -> Result<Id<T>> {
    Id::from_raw(handle.addr() as u64).ok_or(Error::Null(kind))
}

/// The handle of an object.
pub(crate) fn handle_of<C, T>(id: Id<T>) -> *mut C {
    ptr::without_provenance_mut(tpu_emu::units::to_usize(id.raw()))
}
