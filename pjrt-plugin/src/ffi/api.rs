//! `XLA_FFI_Api`: the tables that handlers call back through, one for each version.
// UNSAFETY: functions that C calls, and static tables of pointers to them.
#![expect(unsafe_code, reason = "the boundary to C")]
use super::{calls, error};
use crate::boundary::{CArgs, Caller, c_args, end_of, with_args};
use crate::sys::{
    XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR, XLA_FFI_Api, XLA_FFI_Api_Version,
    XLA_FFI_DeviceMemory_Allocate_Args, XLA_FFI_DeviceMemory_Free_Args,
    XLA_FFI_DeviceOrdinal_Get_Args, XLA_FFI_Error, XLA_FFI_Error_Create_Args,
    XLA_FFI_Error_Destroy_Args, XLA_FFI_Error_GetMessage_Args, XLA_FFI_ExecutionContext_Get_Args,
    XLA_FFI_Future, XLA_FFI_Future_Create_Args, XLA_FFI_Future_SetAvailable_Args,
    XLA_FFI_Future_SetError_Args, XLA_FFI_Handler_Register_Args, XLA_FFI_RunId_Get_Args,
    XLA_FFI_State_Get_Args, XLA_FFI_State_Get_Args_0_2, XLA_FFI_State_Set_Args,
    XLA_FFI_State_Set_Args_0_1, XLA_FFI_State_Set_Args_0_2, XLA_FFI_Stream_Get_Args,
    XLA_FFI_ThreadPool_NumThreads_Args, XLA_FFI_ThreadPool_Schedule_Args,
    XLA_FFI_Type_Register_Args,
};
use std::ptr;
use tpu_emu::Result;
use tpu_emu::entry::{self, Function};

c_args!(
    XLA_FFI_DeviceMemory_Allocate_Args,
    XLA_FFI_DeviceMemory_Free_Args,
    XLA_FFI_DeviceOrdinal_Get_Args,
    XLA_FFI_Error_Create_Args,
    XLA_FFI_Error_Destroy_Args,
    XLA_FFI_Error_GetMessage_Args,
    XLA_FFI_ExecutionContext_Get_Args,
    XLA_FFI_Future_Create_Args,
    XLA_FFI_Future_SetAvailable_Args,
    XLA_FFI_Future_SetError_Args,
    XLA_FFI_Handler_Register_Args,
    XLA_FFI_RunId_Get_Args,
    XLA_FFI_State_Get_Args,
    XLA_FFI_State_Get_Args_0_2,
    XLA_FFI_State_Set_Args,
    XLA_FFI_State_Set_Args_0_1,
    XLA_FFI_State_Set_Args_0_2,
    XLA_FFI_Stream_Get_Args,
    XLA_FFI_ThreadPool_NumThreads_Args,
    XLA_FFI_ThreadPool_Schedule_Args,
    XLA_FFI_Type_Register_Args,
);

/// The oldest minor version whose handlers are served; the newest is the header's.
pub(super) const OLDEST_MINOR: i32 = 1;

struct Table(XLA_FFI_Api);

// SAFETY: function pointers and numbers, never changed.
unsafe impl Sync for Table {}

/// The tables of versions 0.1, 0.2 and 0.3.
static TABLES: [Table; 3] = [Table(table(1)), Table(table(2)), Table(table(3))];

/// The table that handlers of version 0.`minor` read.
pub(super) fn table_of(minor: i32) -> &'static XLA_FFI_Api {
    let at = usize::try_from(minor - OLDEST_MINOR).unwrap_or(0);
    &TABLES[at.min(TABLES.len() - 1)].0
}

/// The newest table, for libraries that register their handlers when they are loaded.
#[unsafe(no_mangle)]
pub extern "C" fn XLA_FFI_GetApi() -> *const XLA_FFI_Api {
    table_of(XLA_FFI_API_MINOR)
}

const fn table(minor: i32) -> XLA_FFI_Api {
    XLA_FFI_Api {
        struct_size: size_of::<XLA_FFI_Api>(),
        extension_start: ptr::null_mut(),
        api_version: XLA_FFI_Api_Version {
            struct_size: size_of::<XLA_FFI_Api_Version>(),
            extension_start: ptr::null_mut(),
            major_version: XLA_FFI_API_MAJOR,
            minor_version: minor,
        },
        internal_api: ptr::null(),
        XLA_FFI_Error_Create: Some(error_create),
        XLA_FFI_Error_GetMessage: Some(error_get_message),
        XLA_FFI_Error_Destroy: Some(error_destroy),
        XLA_FFI_Handler_Register: Some(handler_register),
        XLA_FFI_Stream_Get: Some(stream_get),
        XLA_FFI_Type_Register: Some(if minor == 1 { type_register_0_1 } else { type_register }),
        XLA_FFI_ExecutionContext_Get: Some(execution_context_get),
        XLA_FFI_State_Set: Some(match minor {
            1 => state_set_0_1,
            2 => state_set_0_2,
            _ => state_set,
        }),
        XLA_FFI_State_Get: Some(if minor < 3 { state_get_0_2 } else { state_get }),
        XLA_FFI_DeviceMemory_Allocate: Some(device_memory_allocate),
        XLA_FFI_DeviceMemory_Free: Some(device_memory_free),
        XLA_FFI_ThreadPool_Schedule: Some(thread_pool_schedule),
        XLA_FFI_ThreadPool_NumThreads: Some(thread_pool_num_threads),
        XLA_FFI_Future_Create: Some(future_create),
        XLA_FFI_Future_SetAvailable: Some(future_set_available),
        XLA_FFI_Future_SetError: Some(future_set_error),
        XLA_FFI_RunId_Get: Some(run_id_get),
        XLA_FFI_DeviceOrdinal_Get: Some(device_ordinal_get),
    }
}

/// One entry of a table: names the call, copies the arguments, turns an error into an object.
///
/// # Safety
/// As for [`with_args`].
unsafe fn serve<A: CArgs>(
    function: Function,
    args: *mut A,
    needed: usize,
    body: impl FnOnce(&Caller, &mut A) -> Result<()>,
) -> *mut XLA_FFI_Error {
    // SAFETY: the promise of this function's caller.
    let served = entry::enter(function, || unsafe { with_args(args, needed, body) });
    match served {
        Ok(()) => ptr::null_mut(),
        Err(error) => error::give(function, &error),
    }
}

/// Writes a function of the table: its name in Rust and in the header, its arguments, the last
/// field that it touches, the safe function behind it. `as` names arguments of another version
/// that the table's type does not know.
macro_rules! functions {
    ($($name:ident = $slot:literal ($args:ident $(as $own:ident)?, $last:ident) $path:path;)*) => {
        $(functions!(@one $name $slot $args ($($own)? $args) $last $path);)*
    };
    (@one $name:ident $slot:literal $args:ident ($own:ident $($_:ident)?) $last:ident $path:path) => {
        unsafe extern "C" fn $name(args: *mut $args) -> *mut XLA_FFI_Error {
            let needed = end_of!($own, $last);
            // SAFETY: the handler keeps the header's contract for `args`.
            unsafe { serve::<$own>(&$slot, args.cast(), needed, $path) }
        }
    };
}

functions! {
    handler_register = "XLA_FFI_Handler_Register"
        (XLA_FFI_Handler_Register_Args, traits) calls::handler_register;
    stream_get = "XLA_FFI_Stream_Get" (XLA_FFI_Stream_Get_Args, ctx) calls::stream_get;
    type_register_0_1 = "XLA_FFI_TypeId_Register"
        (XLA_FFI_Type_Register_Args, type_id) calls::type_register_0_1;
    execution_context_get = "XLA_FFI_ExecutionContext_Get"
        (XLA_FFI_ExecutionContext_Get_Args, data) calls::execution_context_get;
    state_set_0_1 = "XLA_FFI_State_Set"
        (XLA_FFI_State_Set_Args as XLA_FFI_State_Set_Args_0_1, deleter) calls::state_set_0_1;
    state_set_0_2 = "XLA_FFI_State_Set"
        (XLA_FFI_State_Set_Args as XLA_FFI_State_Set_Args_0_2, state) calls::state_set_0_2;
    state_set = "XLA_FFI_State_Set" (XLA_FFI_State_Set_Args, state) calls::state_set;
    state_get_0_2 = "XLA_FFI_State_Get"
        (XLA_FFI_State_Get_Args as XLA_FFI_State_Get_Args_0_2, state) calls::state_get_0_2;
    state_get = "XLA_FFI_State_Get" (XLA_FFI_State_Get_Args, state) calls::state_get;
    device_memory_allocate = "XLA_FFI_DeviceMemory_Allocate"
        (XLA_FFI_DeviceMemory_Allocate_Args, data) calls::device_memory_allocate;
    device_memory_free = "XLA_FFI_DeviceMemory_Free"
        (XLA_FFI_DeviceMemory_Free_Args, data) calls::device_memory_free;
    thread_pool_schedule = "XLA_FFI_ThreadPool_Schedule"
        (XLA_FFI_ThreadPool_Schedule_Args, data) calls::thread_pool_schedule;
    thread_pool_num_threads = "XLA_FFI_ThreadPool_NumThreads"
        (XLA_FFI_ThreadPool_NumThreads_Args, num_threads) calls::thread_pool_num_threads;
    future_set_available = "XLA_FFI_Future_SetAvailable"
        (XLA_FFI_Future_SetAvailable_Args, future) calls::future_set_available;
    future_set_error = "XLA_FFI_Future_SetError"
        (XLA_FFI_Future_SetError_Args, error) calls::future_set_error;
    run_id_get = "XLA_FFI_RunId_Get" (XLA_FFI_RunId_Get_Args, run_id) calls::run_id_get;
    device_ordinal_get = "XLA_FFI_DeviceOrdinal_Get"
        (XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal) calls::device_ordinal_get;
}

/// The error that is asked for, or the one that the arguments deserve: never null.
unsafe extern "C" fn error_create(args: *mut XLA_FFI_Error_Create_Args) -> *mut XLA_FFI_Error {
    let needed = end_of!(XLA_FFI_Error_Create_Args, errc);
    let mut made = ptr::null_mut();
    let create = |caller: &Caller, args: &mut XLA_FFI_Error_Create_Args| {
        let message = match args.message.is_null() {
            true => String::new(),
            false => caller.c_text(args.message, "message")?,
        };
        made = error::create(args.errc, &message);
        Ok(())
    };
    // SAFETY: the handler keeps the header's contract for `args`.
    let refused = unsafe { serve(&"XLA_FFI_Error_Create", args, needed, create) };
    if refused.is_null() { made } else { refused }
}

unsafe extern "C" fn error_get_message(args: *mut XLA_FFI_Error_GetMessage_Args) {
    let needed = end_of!(XLA_FFI_Error_GetMessage_Args, message);
    let get = |_: &Caller, args: &mut XLA_FFI_Error_GetMessage_Args| {
        args.message = error::message_of(args.error);
        Ok(())
    };
    // SAFETY: the handler keeps the header's contract for `args`.
    error::forget(unsafe { serve(&"XLA_FFI_Error_GetMessage", args, needed, get) });
}

unsafe extern "C" fn error_destroy(args: *mut XLA_FFI_Error_Destroy_Args) {
    let needed = end_of!(XLA_FFI_Error_Destroy_Args, error);
    let destroy = |_: &Caller, args: &mut XLA_FFI_Error_Destroy_Args| {
        error::forget(args.error);
        Ok(())
    };
    // SAFETY: the handler keeps the header's contract for `args`.
    error::forget(unsafe { serve(&"XLA_FFI_Error_Destroy", args, needed, destroy) });
}

/// The struct goes on behind the `struct_size` that the header gives it.
unsafe extern "C" fn future_create(args: *mut XLA_FFI_Future_Create_Args) -> *mut XLA_FFI_Error {
    let needed = end_of!(XLA_FFI_Future_Create_Args, extension_start);
    let place = args.wrapping_byte_add(std::mem::offset_of!(XLA_FFI_Future_Create_Args, future));
    let place: *mut *mut XLA_FFI_Future = place.cast();
    // SAFETY: the handler keeps the header's contract for `args`.
    unsafe {
        serve(&"XLA_FFI_Future_Create", args, needed, |caller, args| {
            // A caller whose `struct_size` is the whole struct's gets it from the copy.
            args.future = super::future::create();
            caller.write(place, args.future, "future")
        })
    }
}

/// The struct goes on behind the `struct_size` that the header gives it, except under 0.1, where
/// the same size is the end. What may not be there is read from outside.
unsafe extern "C" fn type_register(args: *mut XLA_FFI_Type_Register_Args) -> *mut XLA_FFI_Error {
    let needed = end_of!(XLA_FFI_Type_Register_Args, type_id);
    let place =
        args.addr().wrapping_add(std::mem::offset_of!(XLA_FFI_Type_Register_Args, type_info));
    // SAFETY: the handler keeps the header's contract for `args`.
    unsafe {
        serve(&"XLA_FFI_Type_Register", args, needed, |caller, args| {
            calls::type_register(caller, args, place)
        })
    }
}
