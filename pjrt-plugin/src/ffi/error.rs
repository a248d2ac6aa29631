//! `XLA_FFI_Error`: a code and a text behind an address that is checked before it is followed.
use crate::sys::{XLA_FFI_Error, XLA_FFI_Error_Code};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_char;
use std::ptr;
use std::sync::LazyLock;
use tpu_emu::{Code, Error, Result};
use tpu_host::foreign::Thrown;

/// One error. Its address is the handle.
#[derive(Debug)]
struct Object {
    /// `None` is OK: an error object may be none.
    code: Option<Code>,
    /// Ends with a NUL.
    message: String,
}

/// The live ones.
static LIVE: LazyLock<Mutex<HashMap<usize, Box<Object>>>> = LazyLock::new(Mutex::default);

fn give_object(code: Option<Code>, mut message: String) -> *mut XLA_FFI_Error {
    message.push('\0');
    let object = Box::new(Object { code, message });
    let address = (&raw const *object).addr();
    LIVE.lock().insert(address, object);
    ptr::without_provenance_mut(address)
}

/// A new object for a handler's error. An unknown code stays an error.
pub(super) fn create(code: XLA_FFI_Error_Code, message: &str) -> *mut XLA_FFI_Error {
    let number = i32::try_from(code.0).unwrap_or(i32::MAX);
    let known = Code::from_number(number);
    let code = if number == 0 { None } else { Some(known.unwrap_or(Code::Unknown)) };
    // A C string ends at the first NUL in any case.
    give_object(code, message.replace('\0', ""))
}

/// A new object for an error of ours in `function`.
pub(super) fn give(function: &str, error: &Error) -> *mut XLA_FFI_Error {
    let message = match error {
        Error::Verbatim { .. } | Error::OutOfMemory { .. } | Error::Panic { .. } => {
            error.to_string()
        }
        _ => format!("{error} ({function})"),
    };
    give_object(Some(error.code()), message.replace('\0', ""))
}

/// The text and the code of a live error, valid until it ends; empty and unknown for any other
/// pointer.
pub(super) fn details_of(error: *const XLA_FFI_Error) -> (*const c_char, XLA_FFI_Error_Code) {
    match LIVE.lock().get(&error.addr()) {
        Some(object) => {
            let code = object.code.map_or(0, |code| (code as i32).cast_unsigned());
            (object.message.as_ptr().cast(), XLA_FFI_Error_Code(code))
        }
        None => (c"".as_ptr(), XLA_FFI_Error_Code::XLA_FFI_Error_Code_UNKNOWN),
    }
}

/// Ends an error's life; a null or stale pointer changes nothing.
pub(super) fn forget(error: *const XLA_FFI_Error) {
    let object = LIVE.lock().remove(&error.addr());
    drop(object);
}

/// Takes over what a handler returned.
///
/// # Errors
/// The handler's, in its words; `BadArgument` for a pointer that is no error of ours.
pub(super) fn take(error: *const XLA_FFI_Error) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    let object = LIVE.lock().remove(&error.addr());
    let Some(object) = object else {
        let address = error.addr();
        return Err(Error::bad(format!("an error at {address:#x} that is not of this runtime")));
    };
    match object.code {
        None => Ok(()),
        Some(code) => {
            let message = object.message.trim_end_matches('\0');
            Err(Error::Verbatim { code, message: message.into() })
        }
    }
}

/// The error of a function of a handler's that threw something.
pub(super) fn thrown(what: &str, thrown: &Thrown) -> Error {
    Error::Verbatim { code: Code::Internal, message: format!("{what} {thrown}").into() }
}

/// Whether a pointer is a live error that says what is wrong.
pub(super) fn is_failure(error: *const XLA_FFI_Error) -> bool {
    LIVE.lock().get(&error.addr()).is_some_and(|object| object.code.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_taken_once_in_its_own_words() {
        let error = create(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "given up");
        assert!(is_failure(error));
        let taken = take(error).unwrap_err();
        assert_eq!((taken.code(), taken.to_string()), (Code::Aborted, "given up".to_owned()));
        assert!(take(error).unwrap_err().to_string().ends_with("not of this runtime"));
        assert!(!is_failure(error));
        forget(error);
    }

    #[test]
    fn an_error_object_may_be_none() {
        let error = create(XLA_FFI_Error_Code::XLA_FFI_Error_Code_OK, "fine");
        assert!(!is_failure(error));
        assert_eq!(take(error), Ok(()));
        assert_eq!(take(ptr::null()), Ok(()));
    }

    #[test]
    fn an_unknown_code_stays_an_error() {
        let error = create(XLA_FFI_Error_Code(99), "what");
        assert_eq!(take(error).unwrap_err().code(), Code::Unknown);
    }
}
