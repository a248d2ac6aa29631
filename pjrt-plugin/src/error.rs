//! `PJRT_Error`: an object with a function table in front, a code and a rendered text.
// UNSAFETY: the objects are real memory that C reads; a set of the live ones tells them from
// stale pointers before any is followed.
#![expect(unsafe_code, reason = "objects that C holds by address")]
use crate::sys;
use crate::sys::{PJRT_Error, PJRT_Error_Code, PJRT_Error_FunctionTable};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_char;
use std::sync::LazyLock;
use tpu_emu::{Code, Error, Result};

#[repr(C)]
struct ErrorObject {
    /// First, where callers of 0.107 and later look for it.
    base: PJRT_Error,
    code: Code,
    /// Ends with a NUL that is not counted, for clients that read a C string.
    message: String,
}

/// The live objects. An error is rare, so a lock around all of them costs nothing.
static LIVE: LazyLock<Mutex<HashMap<usize, Owned>>> = LazyLock::new(Mutex::default);

struct Owned(Box<ErrorObject>);

// SAFETY: the object is not changed after it was made; the table it points to is static.
unsafe impl Send for Owned {}

struct ErrorTable(PJRT_Error_FunctionTable);

// SAFETY: function pointers and numbers, never changed.
unsafe impl Sync for ErrorTable {}

static TABLE: ErrorTable = ErrorTable(PJRT_Error_FunctionTable {
    struct_size: size_of::<PJRT_Error_FunctionTable>(),
    instance_size: size_of::<ErrorObject>(),
    extension_start: std::ptr::null_mut(),
    destroy: Some(destroy),
    message: Some(message),
    get_code: Some(get_code),
    for_each_payload: Some(for_each_payload),
});

/// A new error object for the caller of `function`; null only for no error.
///
/// An error that a client set itself, and one that real clients look for word by word, goes out
/// as it is; the others begin with the function's name.
pub(crate) fn give_error(function: &str, error: &Error) -> *mut PJRT_Error {
    let message = match error {
        Error::Verbatim { .. } | Error::OutOfMemory { .. } | Error::Panic { .. } => {
            error.to_string()
        }
        _ => format!("{error} ({function})"),
    };
    give(error.code(), message)
}

/// An error object with this code and text.
pub(crate) fn give(code: Code, message: String) -> *mut PJRT_Error {
    let mut message = message;
    message.push('\0');
    let base = PJRT_Error { vtable: &raw const TABLE.0 };
    let mut object = Box::new(ErrorObject { base, code, message });
    let address: *mut ErrorObject = &raw mut *object;
    LIVE.lock().insert(address.addr(), Owned(object));
    address.cast()
}

/// The error of an event as its callbacks get it: null for success.
pub(crate) fn give_outcome(outcome: &Result<()>) -> *mut PJRT_Error {
    match outcome {
        Ok(()) => std::ptr::null_mut(),
        Err(error) => give(error.code(), error.to_string()),
    }
}

/// Forgets an error; a null or stale pointer changes nothing.
pub(crate) fn forget(error: *const PJRT_Error) {
    let owned = LIVE.lock().remove(&error.addr());
    drop(owned);
}

/// The error that a client's callback gives back: one that it made through
/// [`give`], or null for none. It is forgotten.
pub(crate) fn take(error: *const PJRT_Error) -> Result<(), Error> {
    if error.is_null() {
        return Ok(());
    }
    let owned = LIVE.lock().remove(&error.addr());
    let Some(Owned(object)) = owned else {
        let what = format!("a callback gave an error at {:#x} that is none of ours", error.addr());
        return Err(Error::Verbatim { code: Code::Unknown, message: what.into() });
    };
    let message = object.message.trim_end_matches('\0').into();
    Err(Error::Verbatim { code: object.code, message })
}

/// The text of a live error, valid until it is forgotten; empty for any other pointer.
pub(crate) fn text_of(error: *const PJRT_Error) -> (*const c_char, usize) {
    let live = LIVE.lock();
    match live.get(&error.addr()) {
        Some(Owned(object)) => (object.message.as_ptr().cast(), object.message.len() - 1),
        None => (c"".as_ptr(), 0),
    }
}

/// The code of a live error.
pub(crate) fn code_of(error: *const PJRT_Error) -> Option<Code> {
    LIVE.lock().get(&error.addr()).map(|owned| owned.0.code)
}

/// An error from the code and text that a client passes; an unknown code stays an error.
pub(crate) fn foreign(code: PJRT_Error_Code, message: String) -> Result<(), Error> {
    let number = i32::try_from(code.0).unwrap_or(i32::MAX);
    match Code::from_number(number) {
        None if number == 0 => Ok(()),
        code => {
            let code = code.unwrap_or(Code::Unknown);
            Err(Error::Verbatim { code, message: message.into() })
        }
    }
}

unsafe extern "C" fn destroy(error: *mut PJRT_Error) {
    forget(error);
}

unsafe extern "C" fn message(
    error: *const PJRT_Error,
    message: *mut *const c_char,
    message_size: *mut usize,
) {
    let (text, size) = text_of(error);
    if !message.is_null() && !message_size.is_null() {
        // SAFETY: not null; the caller passes places for its results.
        unsafe {
            message.write(text);
            message_size.write(size);
        }
    }
}

unsafe extern "C" fn get_code(error: *const PJRT_Error) -> PJRT_Error_Code {
    code_of(error).map_or(PJRT_Error_Code::PJRT_Error_Code_OK, number_of)
}

/// Our errors carry no payloads, so nobody is visited.
unsafe extern "C" fn for_each_payload(
    _error: *const PJRT_Error,
    _visitor: sys::PJRT_Error_PayloadVisitor,
    _user_arg: *mut std::ffi::c_void,
) {
}

/// The numbers are the same: see [`Code`].
pub(crate) fn number_of(code: Code) -> PJRT_Error_Code {
    PJRT_Error_Code((code as i32).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_readable_until_it_is_forgotten() {
        let error = give_error("PJRT_X", &Error::Null("client"));
        let (text, size) = text_of(error);
        // SAFETY: a live error's text.
        let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), size + 1) };
        assert_eq!(bytes, b"null client (PJRT_X)\0");
        assert_eq!(code_of(error), Some(Code::InvalidArgument));
        forget(error);
        forget(error);
        assert_eq!(code_of(error), None);
        assert_eq!(text_of(error).1, 0);
    }

    #[test]
    fn the_table_in_front_answers_too() {
        let error = give(Code::NotFound, "gone".to_owned());
        // SAFETY: a live error of ours.
        let table = unsafe { &*(*error).vtable };
        // SAFETY: as above.
        let code = unsafe { table.get_code.unwrap()(error) };
        assert_eq!(code, PJRT_Error_Code::PJRT_Error_Code_NOT_FOUND);
        // SAFETY: as above.
        unsafe { table.destroy.unwrap()(error) };
        assert_eq!(code_of(error), None);
    }
}
