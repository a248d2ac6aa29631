//! Errors as C asks for them.
// UNSAFETY: two functions return nothing, so the table's `serve` does not fit them.
#![expect(unsafe_code, reason = "functions that C calls")]
use crate::boundary::{Caller, end_of, with_args};
use crate::error;
use crate::sys::{
    PJRT_Error_Destroy_Args, PJRT_Error_ForEachPayload_Args, PJRT_Error_GetCode_Args,
    PJRT_Error_Message_Args,
};
use tpu_emu::{Error, Result, entry};

/// Ends an error's life. Null and stale ones are ignored: there is nobody to tell.
pub(in crate::api) unsafe extern "C" fn destroy(args: *mut PJRT_Error_Destroy_Args) {
    let needed = end_of!(PJRT_Error_Destroy_Args, error);
    // SAFETY: the caller keeps the header's contract for `args`.
    let served = entry::enter(&"PJRT_Error_Destroy", || unsafe {
        with_args(args, needed, |_, args| {
            error::forget(args.error);
            Ok(())
        })
    });
    // The header gives no way to report it; `enter` has logged it.
    drop(served);
}

/// An error's text; empty for a stale one.
pub(in crate::api) unsafe extern "C" fn message(args: *mut PJRT_Error_Message_Args) {
    let needed = end_of!(PJRT_Error_Message_Args, message_size);
    // SAFETY: the caller keeps the header's contract for `args`.
    let served = entry::enter(&"PJRT_Error_Message", || unsafe {
        with_args(args, needed, |_, args| {
            (args.message, args.message_size) = error::text_of(args.error);
            Ok(())
        })
    });
    // As above.
    drop(served);
}

/// An error's code.
pub(super) fn get_code(_: &Caller, args: &mut PJRT_Error_GetCode_Args) -> Result<()> {
    let stale = Error::StaleHandle { kind: "error", raw: args.error.addr() as u64 };
    args.code = error::number_of(error::code_of(args.error).ok_or(stale)?);
    Ok(())
}

/// Visits an error's payloads, of which ours have none.
pub(super) fn for_each_payload(
    _: &Caller,
    args: &mut PJRT_Error_ForEachPayload_Args,
) -> Result<()> {
    let stale = Error::StaleHandle { kind: "error", raw: args.error.addr() as u64 };
    error::code_of(args.error).map(drop).ok_or(stale)
}
