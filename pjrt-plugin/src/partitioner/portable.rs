//! A device's code in the form that programs are sent in.
//!
//! `jax.custom_partitioning` gives it as the client's jaxlib keeps it, in an encoding that changes
//! from one jaxlib to the next and that only the same jaxlib reads for sure.
// UNSAFETY: bytes whose address Python code hands over.
#![expect(unsafe_code, reason = "a C function that Python calls")]
use crate::api::plugin::STABLEHLO_CURRENT;
use crate::boundary::Caller;
use std::cell::RefCell;
use std::ffi::c_int;
use tpu_emu::{Error, Result};

/// How MLIR bytecode begins.
const BYTECODE: &[u8] = b"ML\xEFR";

thread_local! {
    /// What the text has given on this thread: code, or why there is none.
    static GIVEN: RefCell<Option<std::result::Result<Vec<u8>, String>>> = const { RefCell::new(None) };
}

unsafe extern "C" fn give(data: *const u8, size: usize, whole: c_int) {
    // SAFETY: the text passes the bytes of an object of its own, which lives for the call.
    let caller = unsafe { Caller::new() };
    let given = match caller.bytes(data.cast(), size, "what the text gives") {
        Ok(bytes) if whole != 0 => Ok(bytes.to_vec()),
        Ok(bytes) => Err(String::from_utf8_lossy(bytes).into_owned()),
        Err(error) => Err(error.to_string()),
    };
    GIVEN.set(Some(given));
}

/// The code in the portable form, where there is an interpreter; it takes the interpreter's lock.
///
/// # Errors
/// `BadArgument` in jaxlib's words for what has no such form.
pub(super) fn portable(code: Vec<u8>) -> Result<Vec<u8>> {
    if !code.starts_with(BYTECODE) {
        return Ok(code);
    }
    GIVEN.set(None);
    let give: *const () = (give as unsafe extern "C" fn(*const u8, usize, c_int)) as *const ();
    let part = |at: usize| usize::try_from(STABLEHLO_CURRENT[at]).unwrap_or_default();
    let globals = [
        ("CODE", code.as_ptr().expose_provenance()),
        ("SIZE", code.len()),
        ("GIVE", give.expose_provenance()),
        ("MAJOR", part(0)),
        ("MINOR", part(1)),
        ("PATCH", part(2)),
    ];
    tpu_host::run_python(include_str!("portable.py"), "portable", &globals)?;
    match GIVEN.take() {
        Some(Ok(portable)) => Ok(portable),
        Some(Err(why)) => Err(Error::bad(format!("a device's code has no portable form: {why}"))),
        None => Ok(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_interpreter_code_stays_as_it_is() {
        for code in [&b"ML\xEFR and more"[..], b"module {}", b""] {
            assert_eq!(portable(code.to_vec()).unwrap(), code);
        }
    }

    #[test]
    fn what_the_text_gives_is_code_or_a_reason() {
        // SAFETY: bytes that live for the calls.
        unsafe { give(b"code".as_ptr(), 4, 1) };
        assert_eq!(GIVEN.take(), Some(Ok(b"code".to_vec())));
        // SAFETY: as above.
        unsafe { give(b"why".as_ptr(), 3, 0) };
        assert_eq!(GIVEN.take(), Some(Err("why".to_owned())));
    }
}
