//! Buffers whose bytes come from others, now or later: aliases, donations and views.
#![expect(unsafe_code, reason = "callbacks of C")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{F32, U8, delete, destroy, get, is_deleted, pointer, put_bytes, uninitialized};
use c::contract::contract;
use c::{
    ABORTED, Client, Failure, INVALID, WRONG_STATE, assert_refused, blank, call, is_ready,
    user_pointer, wait,
};
use pjrt_sys::{
    PJRT_Buffer, PJRT_Buffer_DonateWithControlDependency_Args,
    PJRT_Buffer_DonateWithControlDependency_Callback_Args, PJRT_Client_CreateAliasBuffer_Args,
    PJRT_Error_Code, PJRT_Event, PJRT_Memory,
};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

static FOUR: i64 = 4;
const SIZE: usize = 4;

/// An alias of four bytes.
fn alias(client: &Client, memory: *mut PJRT_Memory) -> PJRT_Client_CreateAliasBuffer_Args {
    call!(PJRT_Client_CreateAliasBuffer,
        client: client.raw, memory: memory, shape_element_type: U8, shape_dims: &raw const FOUR,
        shape_num_dims: 1)
    .unwrap()
}

fn fulfil(
    client: &Client,
    alias: &PJRT_Client_CreateAliasBuffer_Args,
    buffer: *mut PJRT_Buffer,
    code: u32,
) -> Result<(), Failure> {
    call!(PJRT_Client_FulfillAliasBuffer,
        client: client.raw, buffer: buffer, status_code: PJRT_Error_Code(code),
        error_message: c"lost".as_ptr(), error_message_size: 4,
        fulfill_alias_buffer_cb: alias.fulfill_alias_buffer_cb)
    .map(drop)
}

/// Starts to read four bytes.
fn read(buffer: *mut PJRT_Buffer, dst: &mut [u8; SIZE]) -> Result<*mut PJRT_Event, Failure> {
    let read = call!(PJRT_Buffer_ToHostBuffer,
        src: buffer, dst: dst.as_mut_ptr().cast(), dst_size: SIZE)?;
    Ok(read.event)
}

fn donate(
    buffer: *mut PJRT_Buffer,
) -> Result<PJRT_Buffer_DonateWithControlDependency_Args, Failure> {
    call!(PJRT_Buffer_DonateWithControlDependency, buffer: buffer)
}

/// Ends the dependency of a donation.
fn release(donation: &PJRT_Buffer_DonateWithControlDependency_Args, code: u32) {
    let mut args = blank::<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
    args.callback_data = donation.callback_data;
    args.error_code = PJRT_Error_Code(code);
    args.error_message = c"lost".as_ptr();
    args.error_message_size = 4;
    // SAFETY: the callback and its data are of one answer, and used once by each test.
    unsafe { donation.dependency_ready_callback.unwrap()(&raw mut args) };
}

unsafe extern "C" fn count(_: *mut c_void, user_arg: *mut c_void) {
    // SAFETY: every test passes a counter that lives until its end.
    let counter = unsafe { &*user_arg.cast_const().cast::<AtomicUsize>() };
    counter.fetch_add(1, Ordering::SeqCst);
}

/// A view of bytes at an address, as a vector.
fn view(
    client: &Client,
    memory: *mut PJRT_Memory,
    at: *mut c_void,
    size: i64,
    deletions: &AtomicUsize,
) -> Result<*mut PJRT_Buffer, Failure> {
    let made = call!(PJRT_Client_CreateViewOfDeviceBuffer,
        client: client.raw, memory: memory, device_buffer_ptr: at, element_type: U8,
        dims: &raw const size, num_dims: 1, on_delete_callback: Some(count),
        on_delete_callback_arg: user_pointer(deletions))?;
    Ok(made.buffer)
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let memory = client.hbm(0);
    let bytes = put_bytes(&client, memory, b"abcd");
    contract!(PJRT_Client_CreateAliasBuffer(client, fulfill_alias_buffer_cb),
        client: client.raw, memory: memory, shape_element_type: U8
        => |args| destroy(args.alias_buffer));
    contract!(PJRT_Client_FulfillAliasBuffer(client, fulfill_alias_buffer_cb),
        client: client.raw, buffer: bytes,
        fulfill_alias_buffer_cb: alias(&client, memory).fulfill_alias_buffer_cb);
    contract!(PJRT_Buffer_DonateWithControlDependency(buffer, out_buffer),
    buffer: put_bytes(&client, memory, b"abcd")
    => |args| {
        release(args, 0);
        destroy(args.out_buffer);
    });
    contract!(PJRT_Client_CreateViewOfDeviceBuffer(client, buffer),
        client: client.raw, device: client.device(0), device_buffer_ptr: pointer(bytes).unwrap(),
        element_type: U8, dims: &raw const FOUR, num_dims: 1
        => |args| destroy(args.buffer));
    destroy(bytes);
}

#[test]
fn an_alias_gets_the_bytes_of_the_buffer_that_fulfils_it() {
    let client = Client::new();
    let before = client.in_use(1);
    let promise = alias(&client, client.hbm(1));
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: promise.alias_buffer).unwrap().event;
    let mut dst = [0; SIZE];
    let early = read(promise.alias_buffer, &mut dst).unwrap();
    assert!(!is_ready(ready) && !is_ready(early));
    assert_eq!(client.in_use(1), before, "a promise takes no memory");
    let buffer = put_bytes(&client, client.hbm(1), b"abcd");
    fulfil(&client, &promise, buffer, 0).unwrap();
    wait(ready).unwrap();
    wait(early).unwrap();
    assert_eq!(&dst, b"abcd");
    destroy(buffer);
    assert_eq!(get(promise.alias_buffer).unwrap(), b"abcd");
    destroy(promise.alias_buffer);
    assert_eq!(client.in_use(1), before);
}

#[test]
fn an_alias_is_fulfilled_once() {
    let client = Client::new();
    let promise = alias(&client, client.hbm(0));
    let buffer = put_bytes(&client, client.hbm(0), b"abcd");
    fulfil(&client, &promise, buffer, 0).unwrap();
    let again = fulfil(&client, &promise, buffer, 0);
    assert_refused(again, INVALID, &["alias callback handle", "stale"]);
    destroy(buffer);
    destroy(promise.alias_buffer);
}

#[test]
fn an_alias_that_fails_gives_its_error_to_all() {
    let client = Client::new();
    let promise = alias(&client, client.hbm(0));
    let mut dst = [0; SIZE];
    let early = read(promise.alias_buffer, &mut dst).unwrap();
    fulfil(&client, &promise, null_mut(), 10).unwrap();
    let lost = Failure { code: ABORTED, message: "lost".to_owned() };
    assert_eq!(wait(early), Err(lost.clone()));
    assert_eq!(get(promise.alias_buffer), Err(lost));
    destroy(promise.alias_buffer);
}

#[test]
fn bytes_of_another_size_do_not_fulfil_an_alias_and_the_right_ones_may_follow() {
    let client = Client::new();
    let promise = alias(&client, client.hbm(0));
    let wrong = uninitialized(&client, client.hbm(0), F32, &[1024, 1024]).unwrap();
    assert_refused(fulfil(&client, &promise, wrong, 0), INVALID, &["u8[4]", "f32[1024,1024]"]);
    assert_refused(fulfil(&client, &promise, null_mut(), 0), INVALID, &["null buffer"]);
    delete(wrong);
    let right = put_bytes(&client, client.hbm(0), b"abcd");
    fulfil(&client, &promise, right, 0).unwrap();
    assert_eq!(get(promise.alias_buffer).unwrap(), b"abcd");
    for buffer in [wrong, right, promise.alias_buffer] {
        destroy(buffer);
    }
}

#[test]
fn an_alias_of_an_alias_waits_for_both() {
    let client = Client::new();
    let (first, second) = (alias(&client, client.hbm(0)), alias(&client, client.hbm(0)));
    fulfil(&client, &second, first.alias_buffer, 0).unwrap();
    let mut dst = [0; SIZE];
    let early = read(second.alias_buffer, &mut dst).unwrap();
    assert!(!is_ready(early));
    let bytes = put_bytes(&client, client.hbm(0), b"abcd");
    fulfil(&client, &first, bytes, 0).unwrap();
    wait(early).unwrap();
    assert_eq!(&dst, b"abcd");
    for buffer in [bytes, first.alias_buffer, second.alias_buffer] {
        destroy(buffer);
    }
}

/// The read came before the deletion, so it sees the bytes.
#[test]
fn a_pending_read_survives_the_deletion_of_its_alias() {
    let client = Client::new();
    let before = client.in_use(2);
    let promise = alias(&client, client.hbm(2));
    let mut dst = [0; SIZE];
    let early = read(promise.alias_buffer, &mut dst).unwrap();
    delete(promise.alias_buffer);
    let mut late = [0; SIZE];
    assert_refused(read(promise.alias_buffer, &mut late), INVALID, &["deleted or donated"]);
    assert_refused(pointer(promise.alias_buffer), INVALID, &["deleted or donated"]);
    let bytes = put_bytes(&client, client.hbm(2), b"abcd");
    fulfil(&client, &promise, bytes, 0).unwrap();
    wait(early).unwrap();
    assert_eq!(&dst, b"abcd");
    destroy(bytes);
    assert_eq!(client.in_use(2), before, "a deleted alias keeps no bytes");
    destroy(promise.alias_buffer);
}

#[test]
fn an_alias_that_was_destroyed_may_be_fulfilled_all_the_same() {
    let client = Client::new();
    let before = client.in_use(3);
    let promise = alias(&client, client.hbm(3));
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: promise.alias_buffer).unwrap().event;
    destroy(promise.alias_buffer);
    let bytes = put_bytes(&client, client.hbm(3), b"abcd");
    fulfil(&client, &promise, bytes, 0).unwrap();
    assert_eq!(wait(ready), Ok(()));
    destroy(bytes);
    assert_eq!(client.in_use(3), before);
}

#[test]
fn a_promise_cannot_be_donated() {
    let client = Client::new();
    let promise = alias(&client, client.hbm(0));
    assert_refused(donate(promise.alias_buffer), WRONG_STATE, &["no bytes yet"]);
    assert!(!is_deleted(promise.alias_buffer));
    let bytes = put_bytes(&client, client.hbm(0), b"abcd");
    fulfil(&client, &promise, bytes, 0).unwrap();
    assert_eq!(get(promise.alias_buffer).unwrap(), b"abcd");
    destroy(bytes);
    destroy(promise.alias_buffer);
}

#[test]
fn a_donated_buffer_is_deleted_and_its_bytes_wait_for_the_dependency() {
    let client = Client::new();
    let before = client.in_use(4);
    let buffer = put_bytes(&client, client.hbm(4), b"abcd");
    let in_use = client.in_use(4);
    let donation = donate(buffer).unwrap();
    assert!(is_deleted(buffer));
    assert_eq!(client.in_use(4), in_use, "the same bytes");
    let mut dst = [0; SIZE];
    let early = read(donation.out_buffer, &mut dst).unwrap();
    assert!(!is_ready(early));
    release(&donation, 0);
    wait(early).unwrap();
    assert_eq!(&dst, b"abcd");
    assert_refused(donate(buffer), INVALID, &["deleted or donated"]);
    destroy(buffer);
    assert_eq!(get(donation.out_buffer).unwrap(), b"abcd");
    destroy(donation.out_buffer);
    assert_eq!(client.in_use(4), before);
}

#[test]
fn a_dependency_that_fails_fails_the_donated_bytes() {
    let client = Client::new();
    let before = client.in_use(5);
    let buffer = put_bytes(&client, client.hbm(5), b"abcd");
    let donation = donate(buffer).unwrap();
    release(&donation, 10);
    assert_refused(get(donation.out_buffer), ABORTED, &["lost"]);
    destroy(donation.out_buffer);
    destroy(buffer);
    assert_eq!(client.in_use(5), before);
}

#[test]
fn a_pending_read_survives_the_deletion_of_donated_bytes() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), b"abcd");
    let donation = donate(buffer).unwrap();
    let mut dst = [0; SIZE];
    let early = read(donation.out_buffer, &mut dst).unwrap();
    destroy(donation.out_buffer);
    destroy(buffer);
    release(&donation, 0);
    wait(early).unwrap();
    assert_eq!(&dst, b"abcd");
}

#[test]
fn a_view_shows_the_bytes_of_a_block_and_owns_none() {
    let client = Client::new();
    let block = put_bytes(&client, client.hbm(6), b"0123456789");
    let in_use = client.in_use(6);
    let deletions = AtomicUsize::new(0);
    let inside = pointer(block).unwrap().wrapping_byte_add(3);
    let part = view(&client, client.hbm(6), inside, 4, &deletions).unwrap();
    assert_eq!(get(part).unwrap(), b"3456");
    assert_eq!(pointer(part).unwrap(), inside);
    assert_eq!(client.in_use(6), in_use);
    let copy = call!(PJRT_Buffer_CopyToMemory, buffer: part, dst_memory: client.hbm(0)).unwrap();
    assert_eq!(get(copy.dst_buffer).unwrap(), b"3456");
    destroy(copy.dst_buffer);
    assert_eq!(deletions.load(Ordering::SeqCst), 0);
    delete(part);
    assert_eq!(deletions.load(Ordering::SeqCst), 1);
    delete(part);
    destroy(part);
    assert_eq!(deletions.load(Ordering::SeqCst), 1);
    assert_eq!(get(block).unwrap(), b"0123456789");
    destroy(block);
}

#[test]
fn a_donated_view_calls_back_once_at_the_end_of_the_last_owner() {
    let client = Client::new();
    let block = put_bytes(&client, client.hbm(0), b"0123456789");
    let deletions = AtomicUsize::new(0);
    let part = view(&client, client.hbm(0), pointer(block).unwrap(), 4, &deletions).unwrap();
    let donation = donate(part).unwrap();
    release(&donation, 0);
    destroy(part);
    assert_eq!(deletions.load(Ordering::SeqCst), 0);
    destroy(donation.out_buffer);
    assert_eq!(deletions.load(Ordering::SeqCst), 1);
    destroy(block);
}

#[test]
fn a_view_outside_of_a_live_block_is_refused_and_never_calls_back() {
    let client = Client::new();
    let memory = client.hbm(7);
    let block = uninitialized(&client, memory, U8, &[4096]).unwrap();
    let start = pointer(block).unwrap();
    let deletions = AtomicUsize::new(0);
    let try_view = |memory, at, size| view(&client, memory, at, size, &deletions);
    let no_block = "is in no live block of device memory of";
    assert_refused(try_view(memory, null_mut(), 4), INVALID, &["0x0 ", no_block]);
    for at in [start.wrapping_byte_add(4096), start.wrapping_byte_sub(1), user_pointer(&deletions)]
    {
        assert_refused(try_view(memory, at, 4), INVALID, &[no_block]);
    }
    let highest = without_provenance_mut(usize::MAX);
    assert_refused(try_view(memory, highest, 4), INVALID, &[no_block]);
    assert_refused(try_view(client.hbm(6), start, 4), INVALID, &[no_block]);
    assert_refused(try_view(memory, start, 4097), INVALID, &["4097 B", "4 KiB are left"]);
    let end = start.wrapping_byte_add(4090);
    assert_refused(try_view(memory, end, 7), INVALID, &["7 B", "6 B are left"]);
    destroy(try_view(memory, end, 6).unwrap());
    assert_eq!(deletions.load(Ordering::SeqCst), 1, "of the one that was made");
    destroy(block);
    assert_refused(try_view(memory, start, 4), INVALID, &[no_block]);
}
