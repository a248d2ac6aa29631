//! Error objects, through the table and through the table in front of them.
#![expect(unsafe_code, reason = "follows the function table of an object, and visits payloads")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::contract::contract;
use c::{INVALID, api, assert_refused, blank, call, destroy_error, list, look, text, words};
use pjrt_sys::{
    PJRT_Error, PJRT_Error_Destroy_Args, PJRT_Error_FunctionTable, PJRT_Error_Message_Args,
};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};

/// An error that nobody has destroyed.
fn error() -> *mut PJRT_Error {
    // SAFETY: null arguments are what the function must refuse.
    unsafe { api().PJRT_Client_Devices.unwrap()(null_mut()) }
}

const TEXT: &str = "null PJRT_Client_Devices_Args (PJRT_Client_Devices)";

#[test]
fn an_error_has_a_code_and_a_text_until_it_is_destroyed() {
    let error = error();
    let failure = look(error);
    assert_eq!((failure.code, failure.message.as_str()), (INVALID, TEXT));
    destroy_error(error);
    assert_eq!(words(error), "");
    assert_refused(call!(PJRT_Error_GetCode, error: error), INVALID, &["error handle", "stale"]);
    assert_refused(call!(PJRT_Error_ForEachPayload, error: error), INVALID, &["stale"]);
}

#[test]
fn a_text_ends_with_a_zero_for_clients_that_read_a_c_string() {
    let error = error();
    let mut args = blank::<PJRT_Error_Message_Args>();
    args.error = error;
    // SAFETY: a whole struct; the text is one longer than it says.
    unsafe { api().PJRT_Error_Message.unwrap()(&raw mut args) };
    assert_eq!(list(args.message, args.message_size + 1).last(), Some(&0));
    destroy_error(error);
}

#[test]
fn destroying_null_twice_or_what_is_no_error_does_nothing() {
    let error = error();
    for pointer in [error, error, null_mut(), without_provenance_mut(1 << 40)] {
        destroy_error(pointer);
    }
}

#[test]
fn functions_without_a_result_ignore_what_they_cannot_use() {
    let mut short = blank::<PJRT_Error_Destroy_Args>();
    let live = error();
    short.error = live;
    short.struct_size = 16;
    let mut message = blank::<PJRT_Error_Message_Args>();
    message.struct_size = 24;
    // SAFETY: null, and structs that say less than they are.
    unsafe {
        api().PJRT_Error_Destroy.unwrap()(null_mut());
        api().PJRT_Error_Destroy.unwrap()(&raw mut short);
        api().PJRT_Error_Message.unwrap()(null_mut());
        api().PJRT_Error_Message.unwrap()(&raw mut message);
    }
    assert_eq!(words(live), TEXT, "a struct that is too short destroys nothing");
    assert!(message.message.is_null());
    destroy_error(live);
}

#[test]
fn every_function_with_a_result_keeps_the_contract() {
    contract!(PJRT_Error_GetCode(-, code), error: error() => |args| {
        destroy_error(args.error.cast_mut());
    });
    contract!(PJRT_Error_ForEachPayload(-, error), error: error() => |args| {
        destroy_error(args.error.cast_mut());
    });
}

unsafe extern "C" fn visited(
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
    _: *mut c_void,
) {
    unreachable!("our errors carry no payloads");
}

#[test]
fn no_payload_is_visited() {
    let error = error();
    call!(PJRT_Error_ForEachPayload, error: error, visitor: Some(visited)).unwrap();
    destroy_error(error);
}

#[test]
fn the_table_in_front_says_the_same() {
    let error = error();
    // SAFETY: a live error begins with the address of its table; the functions are given it,
    // and it is destroyed once.
    unsafe {
        let table = &*(*error).vtable;
        assert_eq!(table.struct_size, size_of::<PJRT_Error_FunctionTable>());
        assert_eq!(table.get_code.unwrap()(error), INVALID);
        let (mut message, mut size) = (null(), 0);
        table.message.unwrap()(error, &raw mut message, &raw mut size);
        assert_eq!(text(message, size), TEXT);
        table.for_each_payload.unwrap()(error, Some(visited), null_mut());
        table.destroy.unwrap()(error);
    }
    assert_eq!(words(error), "");
}
