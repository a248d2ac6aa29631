//! What a handler says of itself before it is called.
// UNSAFETY: hands C structs to a handler.
#![expect(unsafe_code, reason = "a C function")]
use super::api::{OLDEST_MINOR, table_of};
use super::error;
use super::frame::{HandlerFunction, ask};
use crate::boundary::end_of;
use crate::sys::{
    XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR, XLA_FFI_Api_Version, XLA_FFI_InternalExtension,
    XLA_FFI_InternalExtension_Type, XLA_FFI_Metadata, XLA_FFI_Metadata_Extension, XLA_FFI_TypeId,
};
use std::ptr;
use tpu_emu::{Code, Error, Result};

/// What a version is before a handler has written it.
const UNKNOWN: i32 = -1;

/// What this runtime speaks. The jaxlib is the newest one whose headers are of that version.
pub(super) const SPOKEN: &str =
    "this runtime speaks 0.1 to 0.5, for which the newest jaxlib is 0.12.0.1";

/// An error of a handler that speaks version 0.`minor`. Where that is newer than we are and the
/// error is about the interface, it says so.
pub(super) fn explained(minor: i32, error: Error) -> Error {
    if minor <= XLA_FFI_API_MINOR {
        return error;
    }
    let text = error.to_string();
    if !text.contains("FFI") || text.contains(SPOKEN) {
        return error;
    }
    let message = match minor {
        i32::MAX => format!("{text} ({SPOKEN})"),
        _ => format!("{text} (the handler speaks version 0.{minor} of XLA FFI; {SPOKEN})"),
    };
    Error::Verbatim { code: error.code(), message: message.into() }
}

/// The minor version of the interface that a handler speaks. One that is newer than we are is
/// served as far as it asks for what we have.
///
/// # Errors
/// The handler's own; `BadArgument` for a handler that does not answer, and for one of another
/// major version or one before the oldest, with both.
pub(super) fn version_of(handler: HandlerFunction) -> Result<i32> {
    let mut metadata = XLA_FFI_Metadata {
        struct_size: end_of!(XLA_FFI_Metadata, traits),
        api_version: XLA_FFI_Api_Version {
            struct_size: size_of::<XLA_FFI_Api_Version>(),
            extension_start: ptr::null_mut(),
            major_version: UNKNOWN,
            minor_version: UNKNOWN,
        },
        traits: 0,
        state_type_id: XLA_FFI_TypeId { type_id: 0 },
    };
    let mut extension = XLA_FFI_Metadata_Extension {
        extension_base: XLA_FFI_InternalExtension {
            struct_size: end_of!(XLA_FFI_Metadata_Extension, metadata),
            type_: XLA_FFI_InternalExtension_Type::XLA_FFI_Extension_Metadata,
            next: ptr::null_mut(),
        },
        metadata: &raw mut metadata,
    };
    let api = table_of(XLA_FFI_API_MINOR);
    // SAFETY: the extension and the metadata live during the call.
    let returned = unsafe { ask(handler, api, (&raw mut extension).cast()) }
        .map_err(|thrown| error::thrown("the question for its version", &thrown))?;
    // A newer handler that misses something in its call frame says so before its version.
    error::take(returned).map_err(|error| explained(i32::MAX, error))?;
    // SAFETY: the handler has returned; it wrote plain numbers.
    let version = unsafe { (&raw const metadata).read() }.api_version;
    let (major, minor) = (version.major_version, version.minor_version);
    if (major, minor) == (UNKNOWN, UNKNOWN) {
        return Err(Error::bad("the handler does not say which version of XLA FFI it speaks"));
    }
    if major != XLA_FFI_API_MAJOR || minor < OLDEST_MINOR {
        let message = format!("the handler speaks version {major}.{minor} of XLA FFI; {SPOKEN}");
        return Err(Error::Verbatim { code: Code::InvalidArgument, message: message.into() });
    }
    Ok(minor)
}
