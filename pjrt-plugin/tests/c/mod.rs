//! A small C client: what the tests of the function table share.
// UNSAFETY: calls C functions with arguments of its own making and follows what they answer.
#![expect(unsafe_code, reason = "calls through a C table")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
#![allow(dead_code, unused_imports, unused_macros, reason = "each test file uses a part of it")]

pub(crate) mod buffers;
#[path = "../built/mod.rs"]
pub(crate) mod built;
pub(crate) mod callbacks;
pub(crate) mod contract;
pub(crate) mod handlers;
pub(crate) mod programs;

pub(crate) use built::api;
use pjrt_sys::{
    PJRT_Api, PJRT_Client, PJRT_Device, PJRT_DeviceDescription, PJRT_Error, PJRT_Error_Code,
    PJRT_Event, PJRT_Extension_Base, PJRT_Extension_Type, PJRT_Memory,
};
use std::ffi::{c_char, c_void};
use std::mem::zeroed;
use std::slice;

/// Calls a function of the table: `call!(PJRT_Client_Devices, client: client)` gives the
/// argument struct back, or what the error object said.
macro_rules! call {
    ($function:ident $(, $field:ident: $value:expr)* $(,)?) => {
        $crate::c::call_with($crate::c::api().$function, |args| {
            $(args.$field = $value;)*
            let _ = args;
        })
    };
}
pub(crate) use call;

/// A C function of the table.
pub(crate) type Function<A> = Option<unsafe extern "C" fn(*mut A) -> *mut PJRT_Error>;

/// What an error object said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: PJRT_Error_Code,
    pub(crate) message: String,
}

pub(crate) const CANCELLED: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_CANCELLED;
pub(crate) const UNKNOWN: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_UNKNOWN;
pub(crate) const INVALID: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_INVALID_ARGUMENT;
pub(crate) const NOT_FOUND: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_NOT_FOUND;
pub(crate) const EXISTS: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_ALREADY_EXISTS;
pub(crate) const EXHAUSTED: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_RESOURCE_EXHAUSTED;
pub(crate) const WRONG_STATE: PJRT_Error_Code =
    PJRT_Error_Code::PJRT_Error_Code_FAILED_PRECONDITION;
pub(crate) const UNIMPLEMENTED: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_UNIMPLEMENTED;
pub(crate) const INTERNAL: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_INTERNAL;
pub(crate) const ABORTED: PJRT_Error_Code = PJRT_Error_Code::PJRT_Error_Code_ABORTED;

/// The extensions of the table and their types, in the order of the chain.
pub(crate) fn extensions() -> Vec<(PJRT_Extension_Type, *const PJRT_Extension_Base)> {
    let mut all = Vec::new();
    let mut next = api().extension_start.cast_const();
    while !next.is_null() {
        // SAFETY: not null, and an extension that lives as long as the library.
        let base = unsafe { &*next };
        all.push((base.type_, next));
        next = base.next.cast_const();
    }
    all
}

/// The extension of a type.
pub(crate) fn extension(kind: PJRT_Extension_Type) -> Option<*const PJRT_Extension_Base> {
    extensions().into_iter().find(|(found, _)| *found == kind).map(|(_, extension)| extension)
}

/// An argument struct: zeros behind its size.
pub(crate) fn blank<A: Copy>() -> A {
    // SAFETY: the interface's structs are numbers and pointers, and begin with their size.
    unsafe {
        let mut args: A = zeroed();
        (&raw mut args).cast::<usize>().write(size_of::<A>());
        args
    }
}

pub(crate) fn call_with<A: Copy>(
    function: Function<A>,
    fill: impl FnOnce(&mut A),
) -> Result<A, Failure> {
    let mut args = blank();
    fill(&mut args);
    // SAFETY: a struct of the function's own type, filled by a test that keeps the contract.
    let error = unsafe { function.unwrap()(&raw mut args) };
    outcome(error).map(|()| args)
}

/// Reads an error object and destroys it.
pub(crate) fn outcome(error: *mut PJRT_Error) -> Result<(), Failure> {
    if error.is_null() {
        return Ok(());
    }
    let failure = look(error);
    destroy_error(error);
    Err(failure)
}

/// Reads an error object.
pub(crate) fn look(error: *mut PJRT_Error) -> Failure {
    Failure { code: call!(PJRT_Error_GetCode, error: error).unwrap().code, message: words(error) }
}

pub(crate) fn words(error: *mut PJRT_Error) -> String {
    let mut args = blank::<pjrt_sys::PJRT_Error_Message_Args>();
    args.error = error;
    // SAFETY: a struct of the function's own type.
    unsafe { api().PJRT_Error_Message.unwrap()(&raw mut args) };
    text(args.message, args.message_size)
}

pub(crate) fn destroy_error(error: *mut PJRT_Error) {
    let mut args = blank::<pjrt_sys::PJRT_Error_Destroy_Args>();
    args.error = error;
    // SAFETY: a struct of the function's own type.
    unsafe { api().PJRT_Error_Destroy.unwrap()(&raw mut args) };
}

/// Text that the library gave out.
pub(crate) fn text(pointer: *const c_char, size: usize) -> String {
    String::from_utf8(list(pointer.cast::<u8>(), size)).unwrap()
}

/// An array that the library gave out.
pub(crate) fn list<T: Copy>(pointer: *const T, count: usize) -> Vec<T> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the library says that `count` values are there.
    unsafe { slice::from_raw_parts(pointer, count) }.to_vec()
}

/// Waits for an event and ends its life.
pub(crate) fn wait(event: *mut PJRT_Event) -> Result<(), Failure> {
    let outcome = call!(PJRT_Event_Await, event: event).map(drop);
    call!(PJRT_Event_Destroy, event: event).unwrap();
    outcome
}

pub(crate) fn is_ready(event: *mut PJRT_Event) -> bool {
    call!(PJRT_Event_IsReady, event: event).unwrap().is_ready != 0
}

/// A client that is destroyed at the end of its test.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) raw: *mut PJRT_Client,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self { raw: call!(PJRT_Client_Create).unwrap().client }
    }

    pub(crate) fn devices(&self) -> Vec<*mut PJRT_Device> {
        let all = call!(PJRT_Client_Devices, client: self.raw).unwrap();
        list(all.devices, all.num_devices)
    }

    pub(crate) fn device(&self, index: usize) -> *mut PJRT_Device {
        self.devices()[index]
    }

    /// HBM, pinned and unpinned host memory of a device.
    pub(crate) fn memories(&self, index: usize) -> Vec<*mut PJRT_Memory> {
        let device = self.device(index);
        let all = call!(PJRT_Device_AddressableMemories, device: device).unwrap();
        list(all.memories, all.num_memories)
    }

    pub(crate) fn hbm(&self, index: usize) -> *mut PJRT_Memory {
        self.memories(index)[0]
    }

    pub(crate) fn description(&self, index: usize) -> *mut PJRT_DeviceDescription {
        let device = self.device(index);
        call!(PJRT_Device_GetDescription, device: device).unwrap().device_description
    }

    /// Bytes in use in a device's HBM.
    pub(crate) fn in_use(&self, index: usize) -> i64 {
        let device = self.device(index);
        call!(PJRT_Device_MemoryStats, device: device).unwrap().bytes_in_use
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        call!(PJRT_Client_Destroy, client: self.raw).unwrap();
    }
}

/// A pointer of the test's own, for callbacks.
pub(crate) fn user_pointer<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Asserts that something was refused with a code, in words that hold all of `parts`.
#[track_caller]
pub(crate) fn assert_refused<T>(
    outcome: Result<T, Failure>,
    code: PJRT_Error_Code,
    parts: &[&str],
) {
    let Err(failure) = outcome else { panic!("accepted; {parts:?} was expected") };
    assert_eq!(failure.code, code, "{}", failure.message);
    for part in parts {
        assert!(failure.message.contains(part), "{part:?} is not in {:?}", failure.message);
    }
}
