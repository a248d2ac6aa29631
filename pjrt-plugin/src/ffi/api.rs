//! `XLA_FFI_Api`: the tables that handlers call back through, one for each version.
// UNSAFETY: functions that C calls, and static tables of pointers to them.
#![expect(unsafe_code, reason = "the boundary to C")]
use super::context::context;
use super::{calls, error, metadata};
use crate::boundary::{CArgs, Caller, c_args, end_of, is_zero_behind, with_args};
use crate::sys::{
    XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR, XLA_FFI_Api, XLA_FFI_Api_Version, XLA_FFI_Attrs,
    XLA_FFI_CustomOptions_Get_Args, XLA_FFI_DeviceMemory_Allocate_Args,
    XLA_FFI_DeviceMemory_Free_Args, XLA_FFI_DeviceOrdinal_Get_Args, XLA_FFI_Error,
    XLA_FFI_Error_Create_Args, XLA_FFI_Error_Destroy_Args, XLA_FFI_Error_GetDetails_Args,
    XLA_FFI_Future, XLA_FFI_Future_Create_Args, XLA_FFI_Future_SetAvailable_Args,
    XLA_FFI_Future_SetError_Args, XLA_FFI_Handler_Register_Args, XLA_FFI_Handler_Register_Args_0_3,
    XLA_FFI_InvokeContext_FindExtension_Args, XLA_FFI_InvokeContext_Get_Args,
    XLA_FFI_RunId_Get_Args, XLA_FFI_State_Get_Args, XLA_FFI_State_Get_Args_0_2,
    XLA_FFI_State_Set_Args, XLA_FFI_State_Set_Args_0_1, XLA_FFI_State_Set_Args_0_2,
    XLA_FFI_Stream_Get_Args, XLA_FFI_ThreadPool_NumThreads_Args, XLA_FFI_ThreadPool_Schedule_Args,
    XLA_FFI_Type_Register_Args,
};
use std::ffi::c_void;
use std::ptr;
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::{Error, Result};

c_args!(
    XLA_FFI_CustomOptions_Get_Args,
    XLA_FFI_DeviceMemory_Allocate_Args,
    XLA_FFI_DeviceMemory_Free_Args,
    XLA_FFI_DeviceOrdinal_Get_Args,
    XLA_FFI_Error_Create_Args,
    XLA_FFI_Error_Destroy_Args,
    XLA_FFI_Error_GetDetails_Args,
    XLA_FFI_InvokeContext_Get_Args,
    XLA_FFI_Future_Create_Args,
    XLA_FFI_Future_SetAvailable_Args,
    XLA_FFI_Future_SetError_Args,
    XLA_FFI_Handler_Register_Args,
    XLA_FFI_Handler_Register_Args_0_3,
    XLA_FFI_InvokeContext_FindExtension_Args,
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

/// A table, and what handlers of versions to come find behind its end.
#[repr(C)]
struct FfiTable {
    api: XLA_FFI_Api,
    beyond: [Beyond; BEYOND],
}

// SAFETY: function pointers and numbers, never changed.
unsafe impl Sync for FfiTable {}

/// The tables of versions 0.1 to 0.5.
static TABLES: [FfiTable; 5] = [table(1), table(2), table(3), table(4), table(5)];

/// The table that handlers of version 0.`minor` read: the newest one for versions to come.
pub(super) fn table_of(minor: i32) -> &'static XLA_FFI_Api {
    let at = usize::try_from(minor - OLDEST_MINOR).unwrap_or(0);
    &TABLES[at.min(TABLES.len() - 1)].api
}

/// The newest table, for libraries that register their handlers when they are loaded.
#[unsafe(no_mangle)]
pub extern "C" fn XLA_FFI_GetApi() -> *const XLA_FFI_Api {
    table_of(XLA_FFI_API_MINOR)
}

const fn table(minor: i32) -> FfiTable {
    FfiTable { api: functions_of(minor), beyond: REFUSING }
}

const fn functions_of(minor: i32) -> XLA_FFI_Api {
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
        XLA_FFI_Error_GetDetails: Some(error_get_details),
        XLA_FFI_Error_Destroy: Some(error_destroy),
        XLA_FFI_Handler_Register: Some(handler_register),
        XLA_FFI_Stream_Get: Some(stream_get),
        XLA_FFI_Type_Register: Some(if minor == 1 { type_register_0_1 } else { type_register }),
        XLA_FFI_InvokeContext_Get: Some(execution_context_get),
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
        XLA_FFI_InvokeContext_FindExtension: Some(find_extension),
        XLA_FFI_CustomOptions_Get: Some(custom_options_get),
    }
}

/// A function that the newest table does not have.
type Beyond = unsafe extern "C" fn(*mut c_void) -> *mut XLA_FFI_Error;

/// How many there are behind a table.
const BEYOND: usize = 40;

macro_rules! refusing {
    ($($tens:literal)*) => {
        [$(
            beyond::<{ 10 * $tens }>, beyond::<{ 10 * $tens + 1 }>, beyond::<{ 10 * $tens + 2 }>,
            beyond::<{ 10 * $tens + 3 }>, beyond::<{ 10 * $tens + 4 }>,
            beyond::<{ 10 * $tens + 5 }>, beyond::<{ 10 * $tens + 6 }>,
            beyond::<{ 10 * $tens + 7 }>, beyond::<{ 10 * $tens + 8 }>,
            beyond::<{ 10 * $tens + 9 }>,
        )*]
    };
}

const REFUSING: [Beyond; BEYOND] = refusing!(0 1 2 3);

/// The function `AT` places behind the end of the newest table. Handlers that look at the
/// table's `struct_size` do not call it.
unsafe extern "C" fn beyond<const AT: usize>(_: *mut c_void) -> *mut XLA_FFI_Error {
    const FIRST: usize = std::mem::offset_of!(XLA_FFI_Api, XLA_FFI_Error_Create);
    let number = (size_of::<XLA_FFI_Api>() - FIRST) / size_of::<Beyond>() + AT + 1;
    let served = entry::enter::<()>(&"XLA_FFI_Api", || {
        let spoken = metadata::SPOKEN;
        Err(Error::Unimplemented(format!("function {number} of the table of XLA FFI; {spoken}")))
    });
    served.map_or_else(|error| error::give("XLA_FFI_Api", &error), |()| ptr::null_mut())
}

/// One entry of a table: names the call, copies the arguments, turns an error into an object.
///
/// # Safety
/// As for [`with_args`].
unsafe fn serve<A: CArgs>(
    function: FunctionName,
    args: *mut A,
    needed: usize,
    body: impl FnOnce(&Caller, &mut A) -> Result<()>,
) -> *mut XLA_FFI_Error {
    let served = entry::enter(function, || {
        // SAFETY: the promise of this function's caller.
        unsafe {
            nothing_beyond(args, known_size::<A>())?;
            with_args(args, needed, body)
        }
    });
    match served {
        Ok(()) => ptr::null_mut(),
        Err(error) => error::give(function, &error),
    }
}

/// The most bytes of a struct that are looked at.
const MOST: usize = 4096;

/// How far a struct goes under the versions that we know, by its `struct_size`.
fn known_size<A: CArgs>() -> usize {
    // Every header so far states the size of another struct there, so what follows is garbage.
    if A::NAME == XLA_FFI_RunId_Get_Args::NAME {
        return size_of::<XLA_FFI_InvokeContext_Get_Args>();
    }
    size_of::<A>()
}

/// Refuses a struct of a version to come that says something in fields which we do not know.
///
/// # Errors
/// `Unimplemented` where a byte behind the first `known` ones is not zero; `BadArgument` for a
/// `struct_size` that no struct of the interface has.
///
/// # Safety
/// `args` is null or points to `struct_size` bytes.
unsafe fn nothing_beyond<A: CArgs>(args: *const A, known: usize) -> Result<()> {
    if args.is_null() || !args.is_aligned() {
        return Ok(());
    }
    // SAFETY: `A` begins with `struct_size`, and `args` is valid that far.
    let given = unsafe { args.cast::<usize>().read() };
    if given <= known {
        return Ok(());
    }
    let name = A::NAME;
    if given > MOST {
        return Err(Error::bad(format!("{name} of {given} bytes; this runtime knows {known}")));
    }
    // SAFETY: `args` is valid for `given` bytes.
    if unsafe { is_zero_behind(args, known, given) } {
        return Ok(());
    }
    let spoken = metadata::SPOKEN;
    Err(Error::Unimplemented(format!(
        "{name} of {given} bytes says something behind the {known} bytes that this runtime knows; \
         {spoken}"
    )))
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
    stream_get = "XLA_FFI_Stream_Get" (XLA_FFI_Stream_Get_Args, ctx) calls::stream_get;
    type_register_0_1 = "XLA_FFI_TypeId_Register"
        (XLA_FFI_Type_Register_Args, type_id) calls::type_register_0_1;
    execution_context_get = "XLA_FFI_InvokeContext_Get"
        (XLA_FFI_InvokeContext_Get_Args, data) calls::execution_context_get;
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
    find_extension = "XLA_FFI_InvokeContext_FindExtension"
        (XLA_FFI_InvokeContext_FindExtension_Args, extension) calls::find_extension;
    custom_options_get = "XLA_FFI_CustomOptions_Get"
        (XLA_FFI_CustomOptions_Get_Args, attrs) custom_options;
}

/// A dictionary without entries.
struct Empty(XLA_FFI_Attrs);

// SAFETY: null pointers and numbers, never changed.
unsafe impl Sync for Empty {}

static NO_OPTIONS: Empty = Empty(XLA_FFI_Attrs {
    struct_size: end_of!(XLA_FFI_Attrs, attrs),
    extension_start: ptr::null_mut(),
    size: 0,
    types: ptr::null_mut(),
    names: ptr::null_mut(),
    attrs: ptr::null_mut(),
});

/// The options of the execution: PJRT has no way to state any.
fn custom_options(_: &Caller, args: &mut XLA_FFI_CustomOptions_Get_Args) -> Result<()> {
    context(args.ctx)?;
    args.attrs = &raw const NO_OPTIONS.0;
    Ok(())
}

/// The bundle in the middle of the struct grew with 0.4, so the size says which of the two it is.
unsafe extern "C" fn handler_register(
    args: *mut XLA_FFI_Handler_Register_Args,
) -> *mut XLA_FFI_Error {
    const NAME: FunctionName = &"XLA_FFI_Handler_Register";
    let size = match !args.is_null() && args.is_aligned() {
        // SAFETY: the struct begins with its size, by the header's contract.
        true => unsafe { args.cast::<usize>().read() },
        false => 0,
    };
    let needed = end_of!(XLA_FFI_Handler_Register_Args, traits);
    // SAFETY: the handler keeps the header's contract for `args`.
    unsafe {
        if size <= size_of::<XLA_FFI_Handler_Register_Args_0_3>() {
            let needed = end_of!(XLA_FFI_Handler_Register_Args_0_3, traits);
            let register = calls::handler_register_0_3;
            return serve::<XLA_FFI_Handler_Register_Args_0_3>(NAME, args.cast(), needed, register);
        }
        serve(NAME, args, needed, |caller, given| {
            if size > size_of::<XLA_FFI_Handler_Register_Args>() {
                // A longer bundle moves what is behind it, so zeros must begin there.
                let known = std::mem::offset_of!(XLA_FFI_Handler_Register_Args, traits);
                nothing_beyond(args, known)?;
            }
            calls::handler_register(caller, given)
        })
    }
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

unsafe extern "C" fn error_get_details(args: *mut XLA_FFI_Error_GetDetails_Args) {
    // Before 0.4 the struct ends there.
    let needed = end_of!(XLA_FFI_Error_GetDetails_Args, message);
    let get = |_: &Caller, args: &mut XLA_FFI_Error_GetDetails_Args| {
        (args.message, args.errc) = error::details_of(args.error);
        Ok(())
    };
    // SAFETY: the handler keeps the header's contract for `args`.
    error::forget(unsafe { serve(&"XLA_FFI_Error_GetDetails", args, needed, get) });
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
