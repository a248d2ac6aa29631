//! Answers to a program that asks how its values are split: `jax.debug.inspect_array_sharding`.
// UNSAFETY: calls a function of the client's whose address the program carries.
#![expect(unsafe_code, reason = "a callback of the client's")]
use crate::sharding::message;
use crate::sys::{JAX_InspectSharding_Callback, JAX_InspectSharding_Callback_Args};
use std::ffi::CStr;
use std::ptr;
use tpu_emu::executable::Inspection;
use tpu_emu::{Code, Error, Result};
use tpu_host::foreign;

/// Calls everybody who asked. A program that was serialized in another process asks nobody: its
/// addresses mean nothing here, and it is not told on the way back.
///
/// # Errors
/// `BadArgument` for a question that is no callback, and with the text that a callback leaves.
pub(crate) fn tell(inspections: &[Inspection]) -> Result<()> {
    inspections.iter().try_for_each(|one| tell_one(&one.whom, &one.sharding))
}

fn tell_one(whom: &[u8], sharding: &str) -> Result<()> {
    let (size, wanted) = (whom.len(), size_of::<JAX_InspectSharding_Callback>());
    if size != wanted {
        let what = format!("InspectSharding with {size} bytes where a callback has {wanted}");
        return Err(Error::bad(what));
    }
    // SAFETY: as many bytes as the struct has, of two pointers that may be null.
    let callback =
        unsafe { ptr::read_unaligned(whom.as_ptr().cast::<JAX_InspectSharding_Callback>()) };
    let call = callback.call.ok_or(Error::Null("the callback of InspectSharding"))?;
    let message = message(sharding);
    let mut message = message.ok_or_else(|| Error::bad(format!("a sharding {sharding}")))?;
    let mut args = JAX_InspectSharding_Callback_Args {
        sharding_spec: message.as_mut_ptr().cast(),
        sharding_spec_size: message.len(),
        error_txt: ptr::null(),
        error_scratch: ptr::null_mut(),
        free_error: None,
    };
    // SAFETY: the client that compiles the program keeps the callback until it is compiled, and
    // has put it in itself.
    let called = unsafe {
        let arguments = [callback.data.expose_provenance(), (&raw mut args).expose_provenance()];
        let [data, args] = arguments;
        foreign::call(call as *const (), [data, args, 0, 0, 0])
    };
    called.map_err(|thrown| Error::Verbatim {
        code: Code::Internal,
        message: format!("the callback of InspectSharding {thrown}").into(),
    })?;
    if args.error_txt.is_null() {
        return Ok(());
    }
    // SAFETY: not null; C text that lives until it is freed below.
    let text = unsafe { CStr::from_ptr(args.error_txt) }.to_string_lossy().into_owned();
    if let Some(free) = args.free_error {
        // SAFETY: the callback's own way to free what it left, once.
        unsafe { free(&raw mut args) };
    }
    Err(Error::bad(format!("the callback of InspectSharding failed: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    unsafe extern "C" fn note(data: *mut c_void, args: *mut JAX_InspectSharding_Callback_Args) {
        // SAFETY: `told` passes a number, and `tell_one` its arguments.
        unsafe {
            data.cast::<usize>().write((*args).sharding_spec_size);
            if (*args).sharding_spec_size == 0 {
                (*args).error_txt = c"nothing there".as_ptr();
            }
        }
    }

    fn told(sharding: &str) -> (Result<()>, usize) {
        let mut size = 999_usize;
        let callback =
            JAX_InspectSharding_Callback { call: Some(note), data: (&raw mut size).cast() };
        // SAFETY: a struct of two pointers as bytes.
        let whom = unsafe {
            std::slice::from_raw_parts(
                (&raw const callback).cast::<u8>(),
                size_of::<JAX_InspectSharding_Callback>(),
            )
        };
        (tell_one(whom, sharding), size)
    }

    #[test]
    fn a_callback_gets_the_message_and_its_error_comes_back() {
        assert_eq!(told("{devices=[2]<=[2]}").0, Ok(()));
        assert!(told("{devices=[2]<=[2]}").1 > 2);
        // A replicated sharding is the message without fields.
        let text = told("{replicated}").0.unwrap_err().to_string();
        assert_eq!(text, "the callback of InspectSharding failed: nothing there");
    }

    #[test]
    fn what_is_no_callback_is_refused() {
        assert!(tell_one(&[1, 2], "{replicated}").is_err());
        let null = [0; size_of::<JAX_InspectSharding_Callback>()];
        assert!(tell_one(&null, "{replicated}").is_err());
    }
}
