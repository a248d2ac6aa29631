//! Handlers of XLA FFI written in Rust, and the table that they call back through.
// UNSAFETY: follows what a call frame leads to, as a handler does.
use super::{blank, built};
use pjrt_sys::{
    XLA_FFI_Api, XLA_FFI_Buffer, XLA_FFI_ByteSpan, XLA_FFI_CallFrame, XLA_FFI_Error,
    XLA_FFI_Error_Code, XLA_FFI_Error_Create_Args, XLA_FFI_Error_Destroy_Args,
    XLA_FFI_Error_GetDetails_Args, XLA_FFI_Handler, XLA_FFI_Handler_Bundle,
    XLA_FFI_Handler_Register_Args, XLA_FFI_InvokeContext, XLA_FFI_Metadata_Extension,
    XLA_FFI_Type_Register_Args, XLA_FFI_TypeId, XLA_FFI_TypeInfo,
};
use std::ffi::{CStr, CString, c_void};
use std::mem::offset_of;
use std::slice;
use std::sync::LazyLock;

/// Sizes as the header states them, where they end before the struct.
pub(crate) const FRAME_SIZE: usize = offset_of!(XLA_FFI_CallFrame, future);

/// A handler's function.
pub(crate) type Function = unsafe extern "C" fn(*mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error;

/// The newest table.
pub(crate) fn newest() -> &'static XLA_FFI_Api {
    // SAFETY: the function's own type.
    static GET: LazyLock<extern "C" fn() -> *const XLA_FFI_Api> =
        LazyLock::new(|| unsafe { built::function("XLA_FFI_GetApi") });
    // SAFETY: the table lives as long as the library.
    unsafe { &*GET() }
}

/// Whether a frame asks what a handler is; then it is answered.
pub(crate) fn answered(frame: *mut XLA_FFI_CallFrame, minor: i32) -> bool {
    answered_with(frame, 0, minor)
}

/// Answers a call frame as a handler of another major version.
pub(crate) fn answered_with(frame: *mut XLA_FFI_CallFrame, major: i32, minor: i32) -> bool {
    // SAFETY: a frame of the runtime's; its first extension is the metadata.
    unsafe {
        assert_eq!((*frame).struct_size, FRAME_SIZE);
        let extension = (*frame).extension_start.cast::<XLA_FFI_Metadata_Extension>();
        if extension.is_null() {
            return false;
        }
        let metadata = (*extension).metadata;
        (*metadata).api_version.major_version = major;
        (*metadata).api_version.minor_version = minor;
        true
    }
}

/// The table of a frame.
pub(crate) fn api_of(frame: *mut XLA_FFI_CallFrame) -> &'static XLA_FFI_Api {
    // SAFETY: a frame of the runtime's.
    unsafe { &*(*frame).api }
}

/// The context of a frame.
pub(crate) fn context_of(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_InvokeContext {
    // SAFETY: a frame of the runtime's.
    unsafe { (*frame).ctx }
}

/// An operand.
pub(crate) fn operand(frame: *mut XLA_FFI_CallFrame, at: usize) -> XLA_FFI_Buffer {
    // SAFETY: a frame of the runtime's; the count is checked.
    unsafe {
        let args = &(*frame).args;
        assert!(at < usize::try_from(args.size).unwrap());
        *(*args.args.add(at)).cast::<XLA_FFI_Buffer>()
    }
}

/// A result.
pub(crate) fn result(frame: *mut XLA_FFI_CallFrame, at: usize) -> XLA_FFI_Buffer {
    // SAFETY: as above.
    unsafe {
        let rets = &(*frame).rets;
        assert!(at < usize::try_from(rets.size).unwrap());
        *(*rets.rets.add(at)).cast::<XLA_FFI_Buffer>()
    }
}

/// The extents of a buffer.
pub(crate) fn dims(buffer: &XLA_FFI_Buffer) -> Vec<i64> {
    super::list(buffer.dims, usize::try_from(buffer.rank).unwrap())
}

/// The elements of a buffer.
pub(crate) fn elements<T: Copy>(buffer: &XLA_FFI_Buffer) -> &'static mut [T] {
    let count = dims(buffer).iter().product::<i64>().try_into().unwrap();
    if count == 0 {
        return &mut [];
    }
    // SAFETY: the runtime says that as many elements are there, for the call.
    unsafe { slice::from_raw_parts_mut(buffer.data.cast(), count) }
}

/// What an error of the runtime's says; it ends here.
pub(crate) fn said(error: *mut XLA_FFI_Error) -> Option<String> {
    if error.is_null() {
        return None;
    }
    let mut read = blank::<XLA_FFI_Error_GetDetails_Args>();
    read.error = error;
    let mut end = blank::<XLA_FFI_Error_Destroy_Args>();
    end.error = error;
    // SAFETY: structs of the functions' own types; the text lives as long as the error.
    unsafe {
        newest().XLA_FFI_Error_GetDetails.unwrap()(&raw mut read);
        let text = CStr::from_ptr(read.message).to_str().unwrap().to_owned();
        newest().XLA_FFI_Error_Destroy.unwrap()(&raw mut end);
        Some(text)
    }
}

/// A new error.
pub(crate) fn error(code: XLA_FFI_Error_Code, message: &str) -> *mut XLA_FFI_Error {
    let message = CString::new(message).unwrap();
    let mut args = blank::<XLA_FFI_Error_Create_Args>();
    (args.errc, args.message) = (code, message.as_ptr());
    // SAFETY: a struct of the function's own type.
    unsafe { newest().XLA_FFI_Error_Create.unwrap()(&raw mut args) }
}

/// Calls a function of a table; gives the arguments, or what the error says.
pub(crate) fn ask<A: Copy>(
    function: Option<unsafe extern "C" fn(*mut A) -> *mut XLA_FFI_Error>,
    fill: impl FnOnce(&mut A),
) -> Result<A, String> {
    let mut args = blank::<A>();
    fill(&mut args);
    // SAFETY: a struct of the function's own type, filled by a test that keeps the contract.
    let error = unsafe { function.unwrap()(&raw mut args) };
    said(error).map_or(Ok(args), Err)
}

fn span(text: &str) -> XLA_FFI_ByteSpan {
    XLA_FFI_ByteSpan { ptr: text.as_ptr().cast(), len: text.len() }
}

/// Registers handlers as a library does that registers itself.
pub(crate) fn register_bundle(
    name: &str,
    platform: &str,
    bundle: XLA_FFI_Handler_Bundle,
) -> Result<(), String> {
    let args =
        ask(newest().XLA_FFI_Handler_Register, |args: &mut XLA_FFI_Handler_Register_Args| {
            (args.name, args.platform, args.bundle) = (span(name), span(platform), bundle);
        });
    args.map(drop)
}

/// A bundle of one handler.
pub(crate) fn only(execute: Function) -> XLA_FFI_Handler_Bundle {
    bundle(None, None, None, Some(execute))
}

pub(crate) fn bundle(
    instantiate: XLA_FFI_Handler,
    prepare: XLA_FFI_Handler,
    initialize: XLA_FFI_Handler,
    execute: XLA_FFI_Handler,
) -> XLA_FFI_Handler_Bundle {
    XLA_FFI_Handler_Bundle { instantiate, prepare, initialize, execute, record: None }
}

/// Registers one handler for the emulated TPU.
pub(crate) fn register(name: &str, execute: Function) {
    register_bundle(name, "TPU", only(execute)).unwrap();
}

/// A handler that answers the question for its metadata and runs `body` otherwise.
macro_rules! handler {
    ($name:ident, |$frame:ident| $body:expr) => {
        handler!($name, 5, |$frame| $body);
    };
    ($name:ident, $minor:expr, |$frame:ident| $body:expr) => {
        unsafe extern "C" fn $name(
            $frame: *mut pjrt_sys::XLA_FFI_CallFrame,
        ) -> *mut pjrt_sys::XLA_FFI_Error {
            if $crate::c::handlers::answered($frame, $minor) {
                return std::ptr::null_mut();
            }
            $body
        }
    };
}
pub(crate) use handler;

/// A pointer of a test's own.
pub(crate) fn pointer<T>(value: &T) -> *mut c_void {
    super::user_pointer(value)
}

/// Registers a type; gives its number.
pub(crate) fn registered_type(
    name: &str,
    deleter: Option<unsafe extern "C" fn(*mut c_void)>,
) -> i64 {
    let mut type_id = XLA_FFI_TypeId { type_id: 0 };
    let mut info = blank::<XLA_FFI_TypeInfo>();
    info.deleter = deleter;
    ask(newest().XLA_FFI_Type_Register, |args: &mut XLA_FFI_Type_Register_Args| {
        (args.name, args.type_id, args.type_info) = (span(name), &raw mut type_id, &raw const info);
        // As the header states it.
        args.struct_size = offset_of!(XLA_FFI_Type_Register_Args, type_info);
    })
    .unwrap();
    type_id.type_id
}
