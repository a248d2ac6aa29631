//! Buffers, through the table: what they are, and their end.

mod c;

use c::buffers::{
    Array, F32, S32, U8, delete, destroy, dims, get, is_deleted, pointer, put_bytes, uninitialized,
};
use c::contract::contract;
use c::{
    ABORTED, CANCELLED, Client, EXHAUSTED, Failure, INVALID, WRONG_STATE, assert_refused, call,
    is_ready, list, wait,
};
use pjrt_sys::{PJRT_Buffer, PJRT_Buffer_Type, PJRT_Error_Code};
use std::ptr::without_provenance_mut;

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let memory = client.hbm(0);
    let buffer = put_bytes(&client, memory, &[7; 64]);
    let made = || put_bytes(&client, memory, &[7; 64]);
    contract!(PJRT_Buffer_Destroy(buffer, buffer), buffer: made());
    contract!(PJRT_Buffer_Delete(buffer, buffer), buffer: made() => |args| destroy(args.buffer));
    contract!(PJRT_Buffer_ElementType(buffer, type_), buffer: buffer);
    contract!(PJRT_Buffer_Dimensions(buffer, num_dims), buffer: buffer);
    contract!(PJRT_Buffer_UnpaddedDimensions(buffer, num_dims), buffer: buffer);
    contract!(PJRT_Buffer_DynamicDimensionIndices(buffer, num_dynamic_dims), buffer: buffer);
    contract!(PJRT_Buffer_GetMemoryLayout(buffer, layout), buffer: buffer);
    contract!(PJRT_Buffer_OnDeviceSizeInBytes(buffer, on_device_size_in_bytes), buffer: buffer);
    contract!(PJRT_Buffer_Device(buffer, device), buffer: buffer);
    contract!(PJRT_Buffer_Memory(buffer, memory), buffer: buffer);
    contract!(PJRT_Buffer_IsDeleted(buffer, is_deleted), buffer: buffer);
    contract!(PJRT_Buffer_IsOnCpu(buffer, is_on_cpu), buffer: buffer);
    contract!(PJRT_Buffer_ReadyEvent(buffer, event), buffer: buffer => |args| {
        wait(args.event).unwrap();
    });
    contract!(PJRT_Buffer_UnsafePointer(buffer, buffer_pointer), buffer: buffer);
    contract!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer(buffer, device_memory_ptr),
        buffer: buffer);
    contract!(PJRT_Buffer_IncreaseExternalReferenceCount(buffer, buffer), buffer: buffer);
    contract!(PJRT_Buffer_DecreaseExternalReferenceCount(buffer, buffer), buffer: {
        call!(PJRT_Buffer_IncreaseExternalReferenceCount, buffer: buffer).unwrap();
        buffer
    });
    destroy(buffer);
}

#[test]
fn a_buffer_says_what_it_is() {
    let client = Client::new();
    let buffer = Array::dense(F32, &[3, 5], &[0; 60]).put(&client, client.hbm(1)).unwrap();
    assert_eq!(call!(PJRT_Buffer_ElementType, buffer: buffer).unwrap().type_, F32);
    assert_eq!(dims(buffer), [3, 5]);
    let unpadded = call!(PJRT_Buffer_UnpaddedDimensions, buffer: buffer).unwrap();
    assert_eq!(list(unpadded.unpadded_dims, unpadded.num_dims), [3, 5]);
    let dynamic = call!(PJRT_Buffer_DynamicDimensionIndices, buffer: buffer).unwrap();
    assert_eq!(dynamic.num_dynamic_dims, 0);
    assert_eq!(call!(PJRT_Buffer_Device, buffer: buffer).unwrap().device, client.device(1));
    assert_eq!(call!(PJRT_Buffer_Memory, buffer: buffer).unwrap().memory, client.hbm(1));
    assert_eq!(call!(PJRT_Buffer_IsOnCpu, buffer: buffer).unwrap().is_on_cpu, 0);
    let size = call!(PJRT_Buffer_OnDeviceSizeInBytes, buffer: buffer).unwrap();
    assert!(size.on_device_size_in_bytes >= 60);
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: buffer).unwrap().event;
    assert!(is_ready(ready));
    wait(ready).unwrap();
    let unsafe_pointer = call!(PJRT_Buffer_UnsafePointer, buffer: buffer).unwrap();
    assert_eq!(unsafe_pointer.buffer_pointer, pointer(buffer).unwrap().addr());
    destroy(buffer);
}

#[test]
fn a_buffer_without_a_memory_goes_to_the_devices_default_one() {
    let client = Client::new();
    let bytes = [1, 2, 3];
    let put = call!(PJRT_Client_BufferFromHostBuffer,
        client: client.raw, data: c::user_pointer(&bytes), type_: U8, dims: &raw const THREE,
        num_dims: 1, device: client.device(2))
    .unwrap();
    wait(put.done_with_host_buffer).unwrap();
    let memory = call!(PJRT_Buffer_Memory, buffer: put.buffer).unwrap().memory;
    assert_eq!(memory, client.hbm(2));
    destroy(put.buffer);
    let answer = call!(PJRT_Client_BufferFromHostBuffer, client: client.raw, type_: U8);
    assert_refused(answer, INVALID, &["device and memory: one of them is needed"]);
}

static THREE: i64 = 3;

#[test]
fn a_deletion_frees_the_bytes_once_and_leaves_the_handle() {
    let client = Client::new();
    let before = client.in_use(3);
    let buffer = put_bytes(&client, client.hbm(3), &[1; 4096]);
    assert_eq!(client.in_use(3) - before, 4096);
    delete(buffer);
    delete(buffer);
    assert!(is_deleted(buffer));
    assert_eq!(client.in_use(3), before);
    assert_eq!(dims(buffer), [4096]);
    destroy(buffer);
    assert_eq!(client.in_use(3), before);
    let again = call!(PJRT_Buffer_Destroy, buffer: buffer);
    assert_refused(again, INVALID, &["buffer handle", "stale"]);
    assert_refused(call!(PJRT_Buffer_IsDeleted, buffer: buffer), INVALID, &["stale"]);
}

#[test]
fn the_bytes_of_a_deleted_buffer_are_out_of_reach_of_every_function() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), &[1; 64]);
    delete(buffer);
    let mut dst = [0_u8; 64];
    let dst = dst.as_mut_ptr().cast();
    let ways: [Result<(), Failure>; 9] = [
        call!(PJRT_Buffer_ToHostBuffer, src: buffer, dst: dst, dst_size: 64).map(drop),
        call!(PJRT_Buffer_CopyRawToHost, buffer: buffer, dst: dst, transfer_size: 64).map(drop),
        call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: client.hbm(1)).map(drop),
        call!(PJRT_Buffer_CopyToDevice, buffer: buffer, dst_device: client.device(1)).map(drop),
        call!(PJRT_Buffer_UnsafePointer, buffer: buffer).map(drop),
        call!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, buffer: buffer).map(drop),
        call!(PJRT_Buffer_IncreaseExternalReferenceCount, buffer: buffer).map(drop),
        call!(PJRT_Buffer_DonateWithControlDependency, buffer: buffer).map(drop),
        call!(PJRT_Buffer_Bitcast, buffer: buffer, element_type: U8, dims: &raw const SIXTY_FOUR,
            num_dims: 1)
        .map(drop),
    ];
    for way in ways {
        assert_refused(way, INVALID, &["Buffer has been deleted or donated."]);
    }
    destroy(buffer);
}

static SIXTY_FOUR: i64 = 64;

#[test]
fn external_references_keep_the_bytes_through_a_deletion() {
    let client = Client::new();
    let before = client.in_use(4);
    let buffer = put_bytes(&client, client.hbm(4), &[1; 4096]);
    call!(PJRT_Buffer_IncreaseExternalReferenceCount, buffer: buffer).unwrap();
    call!(PJRT_Buffer_IncreaseExternalReferenceCount, buffer: buffer).unwrap();
    let decrease = || call!(PJRT_Buffer_DecreaseExternalReferenceCount, buffer: buffer);
    delete(buffer);
    assert_eq!(client.in_use(4) - before, 4096);
    decrease().unwrap();
    assert_eq!(client.in_use(4) - before, 4096);
    decrease().unwrap();
    assert_eq!(client.in_use(4), before);
    assert_refused(decrease(), WRONG_STATE, &["no external references"]);
    destroy(buffer);
}

#[test]
fn a_shape_that_cannot_be_is_refused() {
    let client = Client::new();
    let memory = client.hbm(0);
    let make = |dims: &[i64]| uninitialized(&client, memory, F32, dims);
    assert_refused(make(&[4, -1]), INVALID, &["negative dimension in f32[4, -1]"]);
    assert_refused(make(&[i64::MIN]), INVALID, &["negative dimension"]);
    assert_refused(make(&[1 << 40, 1 << 40]), INVALID, &["2^63"]);
    assert_refused(make(&[i64::MAX, i64::MAX, i64::MAX]), INVALID, &["2^63"]);
    assert_refused(make(&[i64::MAX]), INVALID, &["2^63"]);
    assert_refused(make(&[1; 100]), INVALID, &["100 dimensions; at most 64"]);
    let answer = call!(PJRT_Client_CreateUninitializedBuffer,
        client: client.raw, memory: memory, shape_element_type: F32, shape_num_dims: 1);
    assert_refused(answer, INVALID, &["null dims"]);
    let answer = call!(PJRT_Client_CreateUninitializedBuffer,
        client: client.raw, memory: memory, shape_element_type: F32,
        shape_dims: &raw const THREE, shape_num_dims: usize::MAX / 8);
    assert_refused(answer, INVALID, &["PJRT_Client_CreateUninitializedBuffer"]);
    destroy(make(&[1; 64]).unwrap());
}

/// A count that was never written must not lead through memory that is nobody's.
#[test]
fn a_count_of_dimensions_is_checked_before_they_are_read() {
    let client = Client::new();
    let answer = call!(PJRT_Client_CreateUninitializedBuffer,
        client: client.raw, memory: client.hbm(0), shape_element_type: F32,
        shape_dims: &raw const THREE, shape_num_dims: 1 << 50);
    assert_refused(answer, INVALID, &["1125899906842624 dimensions; at most 64"]);
}

#[test]
fn a_type_that_is_none_is_refused() {
    let client = Client::new();
    for number in [0, 34, 255, u32::MAX] {
        let answer = uninitialized(&client, client.hbm(0), PJRT_Buffer_Type(number), &[2]);
        assert_refused(answer, INVALID, &[&format!("{number} is no PJRT_Buffer_Type")]);
    }
}

#[test]
fn a_full_memory_says_what_was_asked_and_what_is_left() {
    let client = Client::new();
    let before = client.in_use(5);
    let full = uninitialized(&client, client.hbm(5), U8, &[1 << 40]);
    let failure = full.unwrap_err();
    assert_eq!(failure.code, EXHAUSTED);
    let words = "Error allocating device buffer: Attempting to allocate 1.00T. \
                 That was not possible. There are ";
    assert!(failure.message.starts_with(words), "{}", failure.message);
    // Beneath stands who holds the memory.
    let first = failure.message.lines().next().unwrap();
    assert!(first.ends_with("(1x2x0_HBM0)"), "{}", failure.message);
    assert_eq!(client.in_use(5), before);
}

#[test]
fn a_buffer_without_elements_takes_no_memory() {
    let client = Client::new();
    let before = client.in_use(6);
    for dims in [&[0][..], &[4, 0, 8], &[0, 1 << 40]] {
        let buffer = Array::dense(S32, dims, &[]).put(&client, client.hbm(6)).unwrap();
        assert_eq!(client.in_use(6), before);
        assert!(get(buffer).unwrap().is_empty());
        assert!(pointer(buffer).unwrap().is_null());
        let copy = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: client.hbm(6));
        destroy(copy.unwrap().dst_buffer);
        destroy(buffer);
    }
}

fn error_buffer(client: &Client, code: u32, words: &str) -> Result<*mut PJRT_Buffer, Failure> {
    let made = call!(PJRT_Client_CreateErrorBuffer,
        client: client.raw, memory: client.hbm(7), error_code: PJRT_Error_Code(code),
        error_message: words.as_ptr().cast(), error_message_size: words.len(),
        shape_dims: &raw const THREE, shape_num_dims: 1, shape_element_type: U8)?;
    Ok(made.buffer)
}

#[test]
fn an_error_buffer_gives_its_error_to_all_who_use_it() {
    let client = Client::new();
    let before = client.in_use(7);
    let buffer = error_buffer(&client, 10, "the step failed").unwrap();
    let failure = Failure { code: ABORTED, message: "the step failed".to_owned() };
    assert_eq!(dims(buffer), [3]);
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: buffer).unwrap().event;
    assert!(is_ready(ready));
    assert_eq!(wait(ready), Err(failure.clone()));
    assert_eq!(get(buffer), Err(failure.clone()));
    let copy = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: client.hbm(7));
    let copy = copy.unwrap().dst_buffer;
    assert_eq!(get(copy), Err(failure));
    assert_refused(pointer(buffer), ABORTED, &["the step failed"]);
    destroy(copy);
    delete(buffer);
    destroy(buffer);
    assert_eq!(client.in_use(7), before);
}

#[test]
fn an_error_buffer_needs_an_error() {
    let client = Client::new();
    assert_refused(error_buffer(&client, 0, ""), INVALID, &["error_code 0 is no error"]);
    let odd = error_buffer(&client, 99, "odd").unwrap();
    assert_refused(get(odd), c::UNKNOWN, &["odd"]);
    destroy(odd);
    let stopped = error_buffer(&client, CANCELLED.0, "").unwrap();
    assert_refused(get(stopped), CANCELLED, &[]);
    destroy(stopped);
}

#[test]
fn a_handle_of_another_kind_of_object_is_no_destination() {
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(0), &[1]);
    let wrong = without_provenance_mut(client.device(0).addr());
    let answer = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: wrong);
    assert_refused(answer, INVALID, &["memory handle", "stale"]);
    let wrong = without_provenance_mut(client.hbm(0).addr());
    let answer = call!(PJRT_Buffer_CopyToDevice, buffer: buffer, dst_device: wrong);
    assert_refused(answer, INVALID, &["device handle", "stale"]);
    destroy(buffer);
}
