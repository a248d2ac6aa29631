//! What a handler says of itself before it is called.
// UNSAFETY: hands C structs to a handler.
#![expect(unsafe_code, reason = "a C function")]
use super::api::{OLDEST_MINOR, table_of};
use super::error;
use super::frame::{Function, ask};
use crate::boundary::end_of;
use crate::sys::{
    XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR, XLA_FFI_Api_Version, XLA_FFI_Extension_Base,
    XLA_FFI_Extension_Type, XLA_FFI_Metadata, XLA_FFI_Metadata_Extension, XLA_FFI_TypeId,
};
use std::ptr;
use tpu_emu::{Code, Error, Result};

/// What a version is before a handler has written it.
const UNKNOWN: i32 = -1;

/// The minor version of the interface that a handler speaks.
///
/// # Errors
/// The handler's own; `BadArgument` for a handler that does not answer, and for one of another
/// version, with both.
pub(super) fn version_of(handler: Function) -> Result<i32> {
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
        extension_base: XLA_FFI_Extension_Base {
            struct_size: end_of!(XLA_FFI_Metadata_Extension, metadata),
            type_: XLA_FFI_Extension_Type::XLA_FFI_Extension_Metadata,
            next: ptr::null_mut(),
        },
        metadata: &raw mut metadata,
    };
    let api = table_of(XLA_FFI_API_MINOR);
    // SAFETY: the extension and the metadata live during the call.
    let returned = unsafe { ask(handler, api, (&raw mut extension).cast()) };
    error::take(returned)?;
    // SAFETY: the handler has returned; it wrote plain numbers.
    let version = unsafe { (&raw const metadata).read() }.api_version;
    let (major, minor) = (version.major_version, version.minor_version);
    if (major, minor) == (UNKNOWN, UNKNOWN) {
        return Err(Error::bad("the handler does not say which version of XLA FFI it speaks"));
    }
    if major != XLA_FFI_API_MAJOR || !(OLDEST_MINOR..=XLA_FFI_API_MINOR).contains(&minor) {
        let message = format!(
            "the handler speaks version {major}.{minor} of XLA FFI; this runtime speaks \
             {XLA_FFI_API_MAJOR}.{OLDEST_MINOR} to {XLA_FFI_API_MAJOR}.{XLA_FFI_API_MINOR}"
        );
        return Err(Error::Verbatim { code: Code::InvalidArgument, message: message.into() });
    }
    Ok(minor)
}
