//! A client of the C table, as small as the tests of extensions need.
// UNSAFETY: calls C functions with structs that this file makes.
#![expect(unsafe_code, reason = "a C client")]
#![allow(dead_code, reason = "each test uses a part")]
#![allow(unreachable_pub, reason = "each test is a crate of its own")]

#[path = "../built/mod.rs"]
mod built;

pub use built::api;
use pjrt_sys::{
    PJRT_Buffer, PJRT_Buffer_Destroy_Args, PJRT_Buffer_Type, PJRT_Client,
    PJRT_Client_AddressableMemories_Args, PJRT_Client_BufferFromHostBuffer_Args,
    PJRT_Client_Create_Args, PJRT_Client_Destroy_Args, PJRT_Error, PJRT_Error_Destroy_Args,
    PJRT_Error_GetCode_Args, PJRT_Error_Message_Args, PJRT_Event, PJRT_Event_Await_Args,
    PJRT_Event_Destroy_Args, PJRT_Extension_Base, PJRT_Extension_Type, PJRT_Memory,
    PJRT_NamedValue, PJRT_NamedValue__bindgen_ty_1, PJRT_NamedValue_Type, PJRT_TopologyDescription,
    PJRT_TopologyDescription_Create_Args,
};

/// Code and text of an error.
pub type Failure = (u32, String);
/// A function of a table.
pub type Function<A> = Option<unsafe extern "C" fn(*mut A) -> *mut PJRT_Error>;

pub const INVALID_ARGUMENT: u32 = 3;
pub const FAILED_PRECONDITION: u32 = 9;
pub const NOT_FOUND: u32 = 5;
/// What a stale handle gives: it is an argument that is wrong.
pub const STALE: u32 = INVALID_ARGUMENT;
pub const UNIMPLEMENTED: u32 = 12;

/// The extension of a type, which is an `E`.
pub fn extension<E>(type_: PJRT_Extension_Type) -> &'static E {
    let mut next = api().extension_start;
    // SAFETY: a chain of static tables that ends with null.
    while let Some(base) = unsafe { next.cast::<PJRT_Extension_Base>().as_ref() } {
        if base.type_ == type_ {
            assert_eq!(base.struct_size, size_of::<E>());
            // SAFETY: of this type, and as long as its struct.
            return unsafe { &*next.cast::<E>() };
        }
        next = base.next;
    }
    panic!("no extension {}", type_.0)
}

/// An argument struct, zeros but for its size.
pub fn args<A>() -> A {
    // SAFETY: a C struct of numbers and pointers, which begins with its size.
    let mut args: A = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { (&raw mut args).cast::<usize>().write(size_of::<A>()) };
    args
}

pub fn call<A>(function: Function<A>, args: *mut A) -> Result<(), Failure> {
    // SAFETY: the tests pass what the header asks for, or what must be refused.
    give(unsafe { function.expect("a function")(args) })
}

/// The error object as code and text; it is destroyed.
pub fn give(error: *mut PJRT_Error) -> Result<(), Failure> {
    if error.is_null() {
        return Ok(());
    }
    let mut code: PJRT_Error_GetCode_Args = args();
    code.error = error;
    // SAFETY: a live error.
    assert!(unsafe { api().PJRT_Error_GetCode.expect("a function")(&raw mut code) }.is_null());
    let mut text: PJRT_Error_Message_Args = args();
    text.error = error;
    // SAFETY: a live error.
    unsafe { api().PJRT_Error_Message.expect("a function")(&raw mut text) };
    let message = bytes(text.message.cast(), text.message_size);
    let mut destroy: PJRT_Error_Destroy_Args = args();
    destroy.error = error;
    // SAFETY: a live error.
    unsafe { api().PJRT_Error_Destroy.expect("a function")(&raw mut destroy) };
    Err((code.code.0, String::from_utf8(message).expect("UTF-8")))
}

/// Checks that a function refuses null, a struct that is too short, and null handles.
pub fn refuses_what_is_missing<A>(function: Function<A>) {
    let null = call(function, std::ptr::null_mut()).expect_err("null arguments");
    assert_eq!(null.0, INVALID_ARGUMENT, "{}", null.1);
    let mut short: A = args();
    // SAFETY: it begins with its size.
    unsafe { (&raw mut short).cast::<usize>().write(size_of::<usize>()) };
    let short = call(function, &raw mut short).expect_err("a short struct");
    assert!([INVALID_ARGUMENT, UNIMPLEMENTED].contains(&short.0), "{}", short.1);
    let mut zeros: A = args();
    let zeros = call(function, &raw mut zeros).expect_err("null handles");
    assert!([INVALID_ARGUMENT, UNIMPLEMENTED].contains(&zeros.0), "{}", zeros.1);
}

/// A copy of `size` bytes at `pointer`.
pub fn bytes(pointer: *const u8, size: usize) -> Vec<u8> {
    // SAFETY: what the table gives is valid for the size beside it.
    unsafe { std::slice::from_raw_parts(pointer, size) }.to_vec()
}

pub fn client() -> *mut PJRT_Client {
    let mut create: PJRT_Client_Create_Args = args();
    call(api().PJRT_Client_Create, &raw mut create).expect("a client");
    create.client
}

pub fn destroy_client(client: *mut PJRT_Client) {
    let mut destroy: PJRT_Client_Destroy_Args = args();
    destroy.client = client;
    call(api().PJRT_Client_Destroy, &raw mut destroy).expect("destroyed");
}

/// The memories of the first device: `device`, `pinned_host`, `unpinned_host`.
pub fn memories(client: *mut PJRT_Client) -> [*mut PJRT_Memory; 3] {
    let mut memories: PJRT_Client_AddressableMemories_Args = args();
    memories.client = client;
    call(api().PJRT_Client_AddressableMemories, &raw mut memories).expect("memories");
    // SAFETY: each device has three.
    [0, 1, 2].map(|index| unsafe { *memories.addressable_memories.add(index) })
}

/// An array of floats in a memory.
pub fn buffer(client: *mut PJRT_Client, memory: *mut PJRT_Memory, of: &[f32]) -> *mut PJRT_Buffer {
    let dims = [i64::try_from(of.len()).expect("few")];
    let mut put: PJRT_Client_BufferFromHostBuffer_Args = args();
    put.client = client;
    put.memory = memory;
    put.data = of.as_ptr().cast();
    put.type_ = PJRT_Buffer_Type::PJRT_Buffer_Type_F32;
    put.dims = dims.as_ptr();
    put.num_dims = 1;
    call(api().PJRT_Client_BufferFromHostBuffer, &raw mut put).expect("a buffer");
    wait(put.done_with_host_buffer).expect("copied");
    put.buffer
}

pub fn destroy_buffer(buffer: *mut PJRT_Buffer) {
    let mut destroy: PJRT_Buffer_Destroy_Args = args();
    destroy.buffer = buffer;
    call(api().PJRT_Buffer_Destroy, &raw mut destroy).expect("destroyed");
}

/// Waits for an event and destroys it.
pub fn wait(event: *mut PJRT_Event) -> Result<(), Failure> {
    let mut wait: PJRT_Event_Await_Args = args();
    wait.event = event;
    let outcome = call(api().PJRT_Event_Await, &raw mut wait);
    let mut destroy: PJRT_Event_Destroy_Args = args();
    destroy.event = event;
    call(api().PJRT_Event_Destroy, &raw mut destroy).expect("destroyed");
    outcome
}

/// An option of a topology.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    Int(i64),
    Ints(&'static [i64]),
    Text(&'static str),
}

pub fn topology(name: &str, options: &[(&str, Value)]) -> *mut PJRT_TopologyDescription {
    let options: Vec<PJRT_NamedValue> = options.iter().map(named).collect();
    let mut create: PJRT_TopologyDescription_Create_Args = args();
    create.topology_name = name.as_ptr().cast();
    create.topology_name_size = name.len();
    create.create_options = options.as_ptr();
    create.num_options = options.len();
    call(api().PJRT_TopologyDescription_Create, &raw mut create).expect("a topology");
    create.topology
}

fn named((name, value): &(&str, Value)) -> PJRT_NamedValue {
    let mut named: PJRT_NamedValue = args();
    named.name = name.as_ptr().cast();
    named.name_size = name.len();
    (named.type_, named.anon_1, named.value_size) = match *value {
        Value::Int(int64_value) => (
            PJRT_NamedValue_Type::PJRT_NamedValue_kInt64,
            PJRT_NamedValue__bindgen_ty_1 { int64_value },
            1,
        ),
        Value::Ints(list) => (
            PJRT_NamedValue_Type::PJRT_NamedValue_kInt64List,
            PJRT_NamedValue__bindgen_ty_1 { int64_array_value: list.as_ptr() },
            list.len(),
        ),
        Value::Text(text) => (
            PJRT_NamedValue_Type::PJRT_NamedValue_kString,
            PJRT_NamedValue__bindgen_ty_1 { string_value: text.as_ptr().cast() },
            text.len(),
        ),
    };
    named
}
