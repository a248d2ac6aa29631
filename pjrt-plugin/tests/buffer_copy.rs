//! Device memory to client memory and to other device memory, through the table.
#![expect(unsafe_code, reason = "callbacks of C")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{
    Array, F32, S32, U8, delete, destroy, dims, get, get_as, is_deleted, ordered, pointer,
    put_bytes, strided, tiled, uninitialized,
};
use c::contract::contract;
use c::{
    ABORTED, Client, Failure, INVALID, UNIMPLEMENTED, WRONG_STATE, assert_refused, blank, call,
    is_ready, wait,
};
use pjrt_sys::{
    PJRT_Buffer, PJRT_Buffer_CopyRawToHostFuture_Args,
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args, PJRT_Error_Code,
};

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), &[7; 8]);
    let mut dst = [0_u8; 8];
    let dst = dst.as_mut_ptr().cast();
    contract!(PJRT_Buffer_ToHostBuffer(src, event), src: buffer, dst: dst, dst_size: 8 => |args| {
        wait(args.event).unwrap();
    });
    contract!(PJRT_Buffer_CopyRawToHost(buffer, event),
        buffer: buffer, dst: dst, transfer_size: 8
        => |args| wait(args.event).unwrap());
    contract!(PJRT_Buffer_CopyRawToHostFuture(buffer, future_ready_callback),
    buffer: buffer, transfer_size: 8
    => |args| {
        answer(args, 0, dst);
        wait(args.event).unwrap();
    });
    contract!(PJRT_Buffer_CopyToDevice(buffer, dst_buffer),
        buffer: buffer, dst_device: client.device(7)
        => |args| destroy(args.dst_buffer));
    contract!(PJRT_Buffer_CopyToMemory(buffer, dst_buffer),
        buffer: buffer, dst_memory: client.hbm(7)
        => |args| destroy(args.dst_buffer));
    contract!(PJRT_Buffer_Bitcast(buffer, out_buffer),
        buffer: buffer, element_type: F32, dims: &raw const TWO, num_dims: 1
        => |args| destroy(args.out_buffer));
    destroy(buffer);
}

static TWO: i64 = 2;

/// Answers the callback of a copy to a place that is known later.
fn answer(args: &PJRT_Buffer_CopyRawToHostFuture_Args, code: u32, dst: *mut std::ffi::c_void) {
    let mut answer = blank::<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
    answer.callback_data = args.callback_data;
    answer.error_code = PJRT_Error_Code(code);
    answer.error_message = c"no place".as_ptr();
    answer.error_message_size = 8;
    answer.dst = dst;
    // SAFETY: the callback and its data are of one answer, and used once by each test.
    unsafe { args.future_ready_callback.unwrap()(&raw mut answer) };
}

/// `i32[2,3]` of the values 0 to 5.
fn two_by_three(client: &Client) -> *mut PJRT_Buffer {
    let bytes: Vec<u8> = (0..6_i32).flat_map(i32::to_le_bytes).collect();
    Array::dense(S32, &[2, 3], &bytes).put(client, client.hbm(0)).unwrap()
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks(4).map(|four| i32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[test]
fn elements_come_in_the_order_that_a_layout_asks_for() {
    let client = Client::new();
    let buffer = two_by_three(&client);
    let read = |mut layout| get_as(buffer, &mut layout, 24).map(|bytes| numbers(&bytes));
    assert_eq!(read(ordered(&[1, 0])).unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(read(ordered(&[0, 1])).unwrap(), [0, 3, 1, 4, 2, 5]);
    assert_eq!(read(strided(&[12, 4])).unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(read(strided(&[4, 8])).unwrap(), [0, 3, 1, 4, 2, 5]);
    destroy(buffer);
}

#[test]
fn bytes_between_the_elements_are_left_alone() {
    let client = Client::new();
    let buffer = two_by_three(&client);
    let back = numbers(&get_as(buffer, &mut strided(&[16, 4]), 28).unwrap());
    let gap = i32::from_le_bytes([0xee; 4]);
    assert_eq!(back, [0, 1, 2, gap, 3, 4, 5]);
    destroy(buffer);
}

#[test]
fn a_host_layout_that_cannot_be_is_refused() {
    let client = Client::new();
    let buffer = two_by_three(&client);
    let read = |mut layout, size| get_as(buffer, &mut layout, size);
    assert_refused(
        read(tiled(&[1, 0], &[8, 128], &[2]), 24),
        UNIMPLEMENTED,
        &["tiles", "{1,0:T(8,128)}"],
    );
    assert_refused(read(strided(&[12]), 24), INVALID, &["1 byte strides for 2 dimensions"]);
    assert_refused(read(strided(&[-12, 4]), 24), INVALID, &["negative byte strides"]);
    assert_refused(read(strided(&[i64::MAX, 4]), 24), INVALID, &["leave the address space"]);
    assert_refused(read(ordered(&[1]), 24), INVALID, &["no order of the 2 axes"]);
    assert_refused(read(ordered(&[1, 1]), 24), INVALID, &["no order of the 2 axes"]);
    assert_refused(read(ordered(&[7, 0]), 24), INVALID, &["no order of the 2 axes"]);
    assert_refused(read(strided(&[16, 4]), 24), INVALID, &["takes 28 B; 24 B were given"]);
    let mut unknown = ordered(&[1, 0]);
    unknown.type_.0 = 2;
    assert_refused(read(unknown, 24), INVALID, &["2 is no kind of memory layout"]);
    let mut endless = ordered(&[1, 0]);
    endless.anon_1.tiled.minor_to_major_size = 1 << 40;
    assert_refused(read(endless, 24), INVALID, &["dimensions; at most 64"]);
    destroy(buffer);
}

#[test]
fn a_destination_that_is_too_small_is_refused_and_left_alone() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), &[1; 64]);
    let mut dst = [0xee_u8; 64];
    let answer = call!(PJRT_Buffer_ToHostBuffer,
        src: buffer, dst: dst.as_mut_ptr().cast(), dst_size: 63);
    assert_refused(answer, INVALID, &["takes 64 B; 63 B were given", "PJRT_Buffer_ToHostBuffer"]);
    let answer = call!(PJRT_Buffer_ToHostBuffer,
        src: buffer, dst: dst.as_mut_ptr().cast(), dst_size: usize::MAX);
    assert_refused(answer, INVALID, &["a destination of 18446744073709551615 bytes"]);
    assert_eq!(dst, [0xee; 64]);
    destroy(buffer);
}

#[test]
fn without_a_destination_only_the_size_is_told() {
    let client = Client::new();
    let buffer = two_by_three(&client);
    let args = call!(PJRT_Buffer_ToHostBuffer, src: buffer).unwrap();
    assert_eq!((args.dst_size, args.event.is_null()), (24, true));
    destroy(buffer);
}

#[test]
fn raw_bytes_come_from_any_range_of_the_block() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), b"0123456789");
    let whole = call!(PJRT_Buffer_OnDeviceSizeInBytes, buffer: buffer).unwrap();
    let whole = i64::try_from(whole.on_device_size_in_bytes).unwrap();
    let mut dst = [0xee_u8; 8];
    let dst_pointer = dst.as_mut_ptr().cast();
    let copy = |offset, size| {
        call!(PJRT_Buffer_CopyRawToHost,
            buffer: buffer, dst: dst_pointer, offset: offset, transfer_size: size)
        .and_then(|args| wait(args.event))
    };
    copy(3, 4).unwrap();
    copy(whole, 0).unwrap();
    copy(0, 0).unwrap();
    for (offset, size) in [(whole, 1), (whole - 3, 4), (0, whole + 1), (i64::MAX, 8)] {
        assert_refused(
            copy(offset, size),
            INVALID,
            &["outside of the", "PJRT_Buffer_CopyRawToHost"],
        );
    }
    for (offset, size) in [(-1, 4), (0, -1), (i64::MIN, i64::MIN)] {
        assert_refused(copy(offset, size), INVALID, &["neither may be negative"]);
    }
    assert_eq!(&dst, b"3456\xee\xee\xee\xee");
    let answer = call!(PJRT_Buffer_CopyRawToHost, buffer: buffer, transfer_size: 1);
    assert_refused(answer, INVALID, &["null destination"]);
    destroy(buffer);
}

#[test]
fn a_raw_copy_waits_for_its_place() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), b"0123456789");
    let later = call!(PJRT_Buffer_CopyRawToHostFuture, buffer: buffer, offset: 2, transfer_size: 3)
        .unwrap();
    assert!(!is_ready(later.event));
    let mut dst = [0xee_u8; 4];
    answer(&later, 0, dst.as_mut_ptr().cast());
    wait(later.event).unwrap();
    assert_eq!(&dst, b"234\xee");
    destroy(buffer);
}

#[test]
fn a_raw_copy_ends_with_the_error_of_a_place_that_never_comes() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), b"0123456789");
    let start =
        || call!(PJRT_Buffer_CopyRawToHostFuture, buffer: buffer, transfer_size: 3).unwrap();
    let failed = start();
    answer(&failed, 10, std::ptr::null_mut());
    assert_refused(wait(failed.event), ABORTED, &["no place"]);
    let nowhere = start();
    answer(&nowhere, 0, std::ptr::null_mut());
    assert_refused(wait(nowhere.event), INVALID, &["null destination"]);
    let gone = start();
    delete(buffer);
    let mut dst = [0_u8; 3];
    answer(&gone, 0, dst.as_mut_ptr().cast());
    assert_refused(wait(gone.event), INVALID, &["deleted"]);
    destroy(buffer);
    let outside = put_bytes(&client, client.hbm(0), b"0");
    let answer = call!(PJRT_Buffer_CopyRawToHostFuture, buffer: outside, transfer_size: 1 << 40);
    assert_refused(answer, INVALID, &["outside of"]);
    destroy(outside);
}

/// Long copies run on a background thread; a deletion may come first.
#[test]
fn a_long_read_sees_the_bytes_although_the_buffer_is_deleted_at_once() {
    let client = Client::new();
    let before = client.in_use(1);
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|at| at.to_le_bytes()[0]).collect();
    for _ in 0..10 {
        let buffer = put_bytes(&client, client.hbm(1), &bytes);
        let mut dst = vec![0_u8; bytes.len()];
        let read = call!(PJRT_Buffer_ToHostBuffer,
            src: buffer, dst: dst.as_mut_ptr().cast(), dst_size: dst.len())
        .unwrap();
        delete(buffer);
        destroy(buffer);
        // Whoever takes the memory next must not be seen.
        let other = uninitialized(&client, client.hbm(1), U8, &[3_000_001]).unwrap();
        wait(read.event).unwrap();
        assert!(dst == bytes);
        destroy(other);
    }
    assert_eq!(client.in_use(1), before);
}

#[test]
fn a_long_copy_to_another_device_survives_both_deletions() {
    let client = Client::new();
    let before = [client.in_use(2), client.in_use(3)];
    let bytes: Vec<u8> = (0..2_500_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    let buffer = put_bytes(&client, client.hbm(2), &bytes);
    let copy = call!(PJRT_Buffer_CopyToDevice, buffer: buffer, dst_device: client.device(3))
        .unwrap()
        .dst_buffer;
    destroy(buffer);
    assert_eq!(dims(copy), [2_500_000]);
    assert!(get(copy).unwrap() == bytes);
    let dropped = call!(PJRT_Buffer_CopyToDevice, buffer: copy, dst_device: client.device(2))
        .unwrap()
        .dst_buffer;
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: dropped).unwrap().event;
    destroy(dropped);
    destroy(copy);
    wait(ready).unwrap();
    assert_eq!([client.in_use(2), client.in_use(3)], before);
}

#[test]
fn a_copy_is_of_the_same_shape_and_layout_and_has_bytes_of_its_own() {
    let client = Client::new();
    let buffer = two_by_three(&client);
    for memory in client.memories(4) {
        let copy = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: memory).unwrap();
        let copy = copy.dst_buffer;
        assert_eq!(get(copy).unwrap(), get(buffer).unwrap());
        assert_eq!(dims(copy), [2, 3]);
        assert_eq!(call!(PJRT_Buffer_Memory, buffer: copy).unwrap().memory, memory);
        assert_eq!(call!(PJRT_Buffer_Device, buffer: copy).unwrap().device, client.device(4));
        assert_ne!(pointer(copy).unwrap(), pointer(buffer).unwrap());
        destroy(copy);
    }
    destroy(buffer);
}

#[test]
fn a_copy_that_does_not_fit_is_refused_and_the_original_stays() {
    let client = Client::new();
    let buffer = uninitialized(&client, client.memories(5)[1], U8, &[1 << 37]).unwrap();
    let answer = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: client.hbm(5));
    assert_refused(answer, c::EXHAUSTED, &["128.00G"]);
    assert!(!is_deleted(buffer));
    destroy(buffer);
}

#[test]
fn a_bitcast_shares_the_bytes_and_outlives_the_original() {
    let client = Client::new();
    let before = client.in_use(6);
    let buffer = put_bytes(&client, client.hbm(6), &[0, 0, 128, 63, 0, 0, 0, 64]);
    let cast = call!(PJRT_Buffer_Bitcast,
        buffer: buffer, element_type: F32, dims: &raw const TWO, num_dims: 1)
    .unwrap()
    .out_buffer;
    assert_eq!(pointer(cast).unwrap(), pointer(buffer).unwrap());
    destroy(buffer);
    let back = get(cast).unwrap();
    assert_eq!(back, [1.0_f32, 2.0].map(f32::to_le_bytes).concat());
    destroy(cast);
    assert_eq!(client.in_use(6), before);
}

#[test]
fn a_bitcast_to_another_size_is_refused() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), &[0; 9]);
    let answer = call!(PJRT_Buffer_Bitcast,
        buffer: buffer, element_type: F32, dims: &raw const TWO, num_dims: 1);
    assert_refused(answer, INVALID, &["u8[9]", "9 B", "f32[2]", "8 B"]);
    destroy(buffer);
}

#[test]
fn a_read_of_bytes_that_never_come_ends_with_their_error() {
    let client = Client::new();
    let made = call!(PJRT_Client_CreateAliasBuffer,
        client: client.raw, memory: client.hbm(0), shape_element_type: U8,
        shape_dims: &raw const TWO, shape_num_dims: 1)
    .unwrap();
    assert_refused(pointer(made.alias_buffer), WRONG_STATE, &["no bytes yet"]);
    let mut dst = [0_u8; 2];
    let read = call!(PJRT_Buffer_ToHostBuffer,
        src: made.alias_buffer, dst: dst.as_mut_ptr().cast(), dst_size: 2)
    .unwrap();
    assert!(!is_ready(read.event));
    call!(PJRT_Client_FulfillAliasBuffer,
        client: client.raw, fulfill_alias_buffer_cb: made.fulfill_alias_buffer_cb,
        status_code: ABORTED, error_message: c"lost".as_ptr(), error_message_size: 4)
    .unwrap();
    let lost = Failure { code: ABORTED, message: "lost".to_owned() };
    assert_eq!(wait(read.event), Err(lost));
    destroy(made.alias_buffer);
}
