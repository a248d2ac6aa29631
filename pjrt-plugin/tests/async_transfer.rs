//! Buffers that a client fills piece by piece, through the table.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{F32, S32, U8, delete, destroy, get, ordered, strided, tiled};
use c::contract::contract;
use c::{
    ABORTED, Client, EXHAUSTED, Failure, INVALID, UNIMPLEMENTED, WRONG_STATE, assert_refused,
    blank, call, is_ready, wait,
};
use pjrt_sys::{
    PJRT_AsyncHostToDeviceTransferManager, PJRT_Buffer, PJRT_Buffer_MemoryLayout, PJRT_Buffer_Type,
    PJRT_Error_Code, PJRT_NamedValue, PJRT_NamedValue_Type, PJRT_ShapeSpec,
};
use std::ptr::null_mut;

type Manager = *mut PJRT_AsyncHostToDeviceTransferManager;

fn shape(dtype: PJRT_Buffer_Type, dims: &[i64]) -> PJRT_ShapeSpec {
    let mut spec = blank::<PJRT_ShapeSpec>();
    (spec.dims, spec.num_dims, spec.element_type) = (dims.as_ptr(), dims.len(), dtype);
    spec
}

fn begin(client: &Client, index: usize, shapes: &mut [PJRT_ShapeSpec]) -> Result<Manager, Failure> {
    let made = call!(PJRT_Client_CreateBuffersForAsyncHostToDevice,
        client: client.raw, memory: client.hbm(index), shape_specs: shapes.as_mut_ptr(),
        num_shape_specs: shapes.len())?;
    Ok(made.transfer_manager)
}

/// A transfer of one vector of eight bytes.
fn eight(client: &Client, index: usize) -> Manager {
    begin(client, index, &mut [shape(U8, &[8])]).unwrap()
}

fn retrieve(manager: Manager, index: i32) -> Result<*mut PJRT_Buffer, Failure> {
    let args = call!(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer,
        transfer_manager: manager, buffer_index: index)?;
    Ok(args.buffer_out)
}

fn send(
    manager: Manager,
    index: i32,
    offset: i64,
    bytes: &[u8],
    last: bool,
) -> Result<(), Failure> {
    let args = call!(PJRT_AsyncHostToDeviceTransferManager_TransferData,
        transfer_manager: manager, buffer_index: index, data: bytes.as_ptr().cast(),
        offset: offset, transfer_size: bytes.len().try_into().unwrap(),
        is_last_transfer: u8::from(last))?;
    wait(args.done_with_h2d_transfer)
}

fn literal(
    manager: Manager,
    bytes: &[u8],
    dtype: PJRT_Buffer_Type,
    dims: &[i64],
    layout: *mut PJRT_Buffer_MemoryLayout,
) -> Result<(), Failure> {
    let args = call!(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral,
        transfer_manager: manager, data: bytes.as_ptr().cast(), shape_dims: dims.as_ptr(),
        shape_num_dims: dims.len(), shape_element_type: dtype, shape_layout: layout)?;
    wait(args.done_with_h2d_transfer)
}

fn fail(manager: Manager, index: i32, code: u32) -> Result<(), Failure> {
    call!(PJRT_AsyncHostToDeviceTransferManager_SetBufferError,
        transfer_manager: manager, buffer_index: index, error_code: PJRT_Error_Code(code),
        error_message: c"no input".as_ptr(), error_message_size: 8)
    .map(drop)
}

fn end(manager: Manager) {
    call!(PJRT_AsyncHostToDeviceTransferManager_Destroy, transfer_manager: manager).unwrap();
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let mut shapes = [shape(U8, &[8])];
    let manager = eight(&client, 0);
    let bytes = [1_u8; 8];
    contract!(PJRT_Client_CreateBuffersForAsyncHostToDevice(client, transfer_manager),
        client: client.raw, memory: client.hbm(0), shape_specs: shapes.as_mut_ptr(),
        num_shape_specs: 1
        => |args| end(args.transfer_manager));
    contract!(PJRT_AsyncHostToDeviceTransferManager_Destroy(transfer_manager, transfer_manager),
        transfer_manager: eight(&client, 0));
    contract!(
        PJRT_AsyncHostToDeviceTransferManager_TransferData(
            transfer_manager, done_with_h2d_transfer
        ),
        transfer_manager: manager, data: c::user_pointer(&bytes), transfer_size: 8
        => |args| wait(args.done_with_h2d_transfer).unwrap());
    contract!(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(
        transfer_manager, done_with_h2d_transfer
    ),
    transfer_manager: eight(&client, 0), data: c::user_pointer(&bytes),
    shape_dims: &raw const EIGHT, shape_num_dims: 1, shape_element_type: U8
    => |args| {
        wait(args.done_with_h2d_transfer).unwrap();
        end(args.transfer_manager);
    });
    contract!(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(transfer_manager, buffer_out),
    transfer_manager: eight(&client, 0)
    => |args| {
        destroy(args.buffer_out);
        end(args.transfer_manager);
    });
    contract!(PJRT_AsyncHostToDeviceTransferManager_Device(transfer_manager, device_out),
        transfer_manager: manager);
    contract!(PJRT_AsyncHostToDeviceTransferManager_BufferCount(transfer_manager, buffer_count),
        transfer_manager: manager);
    contract!(PJRT_AsyncHostToDeviceTransferManager_BufferSize(transfer_manager, buffer_size),
        transfer_manager: manager);
    contract!(
        PJRT_AsyncHostToDeviceTransferManager_SetBufferError(
            transfer_manager, error_message_size
        ),
        transfer_manager: eight(&client, 0), error_code: ABORTED
        => |args| end(args.transfer_manager));
    contract!(PJRT_AsyncHostToDeviceTransferManager_AddMetadata(transfer_manager, num_metadata),
        transfer_manager: manager);
    end(manager);
}

static EIGHT: i64 = 8;

#[test]
fn a_buffer_is_ready_with_its_last_piece() {
    let client = Client::new();
    let manager = eight(&client, 0);
    let buffer = retrieve(manager, 0).unwrap();
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: buffer).unwrap().event;
    send(manager, 0, 4, b"efgh", false).unwrap();
    send(manager, 0, 0, b"ab", false).unwrap();
    assert!(!is_ready(ready));
    send(manager, 0, 2, b"cd", true).unwrap();
    wait(ready).unwrap();
    assert_eq!(get(buffer).unwrap(), b"abcdefgh");
    end(manager);
    assert_eq!(get(buffer).unwrap(), b"abcdefgh");
    destroy(buffer);
}

#[test]
fn a_transfer_says_what_it_is() {
    let client = Client::new();
    let manager = begin(&client, 1, &mut [shape(U8, &[8]), shape(F32, &[8, 128])]).unwrap();
    let device = call!(PJRT_AsyncHostToDeviceTransferManager_Device, transfer_manager: manager);
    assert_eq!(device.unwrap().device_out, client.device(1));
    let count = call!(PJRT_AsyncHostToDeviceTransferManager_BufferCount, transfer_manager: manager);
    assert_eq!(count.unwrap().buffer_count, 2);
    let size = |index| {
        call!(PJRT_AsyncHostToDeviceTransferManager_BufferSize,
            transfer_manager: manager, buffer_index: index)
    };
    assert_eq!(size(1).unwrap().buffer_size, 4096);
    assert_refused(size(2).map(drop), INVALID, &["buffer 2 of 2 in this transfer"]);
    assert_refused(size(-1).map(drop), INVALID, &["buffer -1 of a transfer"]);
    end(manager);
}

#[test]
fn a_buffer_is_retrieved_once() {
    let client = Client::new();
    let manager = eight(&client, 0);
    let buffer = retrieve(manager, 0).unwrap();
    assert_refused(retrieve(manager, 0), WRONG_STATE, &["buffer 0 was retrieved before"]);
    assert_refused(retrieve(manager, 1), INVALID, &["buffer 1 of 1"]);
    destroy(buffer);
    end(manager);
}

#[test]
fn a_piece_outside_of_its_buffer_is_refused_and_ends_nothing() {
    let client = Client::new();
    let manager = eight(&client, 0);
    let size = call!(PJRT_AsyncHostToDeviceTransferManager_BufferSize, transfer_manager: manager);
    let size = i64::try_from(size.unwrap().buffer_size).unwrap();
    assert_refused(send(manager, 0, size, b"x", true), INVALID, &["512 B"]);
    assert_refused(send(manager, 0, i64::MAX, b"x", true), INVALID, &["512 B"]);
    assert_refused(send(manager, 0, -1, b"x", true), INVALID, &["offset -1"]);
    assert_refused(send(manager, 9, 0, b"x", true), INVALID, &["buffer 9 of 1"]);
    let answer = call!(PJRT_AsyncHostToDeviceTransferManager_TransferData,
        transfer_manager: manager, transfer_size: -8);
    assert_refused(answer, INVALID, &["transfer_size -8"]);
    let answer = call!(PJRT_AsyncHostToDeviceTransferManager_TransferData,
        transfer_manager: manager, transfer_size: 8);
    assert_refused(answer, INVALID, &["null data"]);
    send(manager, 0, 0, b"abcdefgh", true).unwrap();
    assert_refused(send(manager, 0, 0, b"x", true), WRONG_STATE, &["has had its last transfer"]);
    assert_refused(fail(manager, 0, 10), WRONG_STATE, &["has had its last transfer"]);
    end(manager);
}

#[test]
fn a_buffer_that_fails_gives_its_error_to_all() {
    let client = Client::new();
    let manager = begin(&client, 0, &mut [shape(U8, &[8]), shape(U8, &[8])]).unwrap();
    let [bad, good] = [0, 1].map(|index| retrieve(manager, index).unwrap());
    assert_refused(fail(manager, 0, 0), INVALID, &["error_code 0 is no error"]);
    fail(manager, 0, 10).unwrap();
    assert_refused(get(bad), ABORTED, &["no input"]);
    assert_refused(send(manager, 0, 0, b"x", true), WRONG_STATE, &["last transfer"]);
    send(manager, 1, 0, b"abcdefgh", true).unwrap();
    assert_eq!(get(good).unwrap(), b"abcdefgh");
    end(manager);
    destroy(bad);
    destroy(good);
}

#[test]
fn a_transfer_that_ends_early_fails_its_buffers() {
    let client = Client::new();
    let manager = eight(&client, 0);
    let buffer = retrieve(manager, 0).unwrap();
    send(manager, 0, 0, b"abcd", false).unwrap();
    end(manager);
    let words = "its transfer manager was destroyed before the last transfer";
    let failure = get(buffer).unwrap_err();
    assert_eq!((failure.code, failure.message.as_str()), (WRONG_STATE, words));
    destroy(buffer);
    assert_refused(send(manager, 0, 0, b"x", true), INVALID, &["transfer manager", "stale"]);
}

#[test]
fn a_read_that_waits_sees_the_bytes_although_the_buffer_is_destroyed() {
    let client = Client::new();
    let before = client.in_use(2);
    let manager = eight(&client, 2);
    let buffer = retrieve(manager, 0).unwrap();
    let mut dst = [0_u8; 8];
    let early = call!(PJRT_Buffer_ToHostBuffer,
        src: buffer, dst: dst.as_mut_ptr().cast(), dst_size: 8)
    .unwrap()
    .event;
    assert!(!is_ready(early));
    delete(buffer);
    destroy(buffer);
    send(manager, 0, 0, b"abcdefgh", true).unwrap();
    wait(early).unwrap();
    assert_eq!(&dst, b"abcdefgh");
    end(manager);
    assert_eq!(client.in_use(2), before);
}

#[test]
fn a_buffer_that_is_complete_is_freed_by_its_deletion_alone() {
    let client = Client::new();
    let before = client.in_use(3);
    let manager = begin(&client, 3, &mut [shape(U8, &[8]), shape(U8, &[8])]).unwrap();
    let both = client.in_use(3) - before;
    let buffers = [0, 1].map(|index| retrieve(manager, index).unwrap());
    send(manager, 0, 0, b"abcdefgh", true).unwrap();
    fail(manager, 1, 10).unwrap();
    delete(buffers[0]);
    assert_eq!(client.in_use(3) - before, both / 2);
    delete(buffers[1]);
    assert_eq!(client.in_use(3), before);
    end(manager);
    buffers.into_iter().for_each(destroy);
}

#[test]
fn a_transfer_that_does_not_fit_takes_nothing() {
    let client = Client::new();
    let before = client.in_use(4);
    let answer = begin(&client, 4, &mut [shape(U8, &[4096]), shape(U8, &[1 << 40])]);
    assert_refused(answer, EXHAUSTED, &["Attempting to allocate 1.00T"]);
    assert_eq!(client.in_use(4), before);
}

#[test]
fn shapes_and_layouts_that_cannot_be_are_refused() {
    let client = Client::new();
    let refused = |spec, words: &str| {
        assert_refused(begin(&client, 0, &mut [spec]), INVALID, &[words]);
    };
    refused(shape(U8, &[-1]), "negative dimension in u8[-1]");
    refused(shape(PJRT_Buffer_Type(99), &[1]), "99 is no PJRT_Buffer_Type");
    refused(shape(F32, &[1 << 40, 1 << 40]), "2^63");
    refused(shape(F32, &[1; 100]), "100 dimensions");
    let mut endless = shape(U8, &[8]);
    endless.num_dims = 1 << 50;
    refused(endless, "dimensions; at most 64");
    let mut layouts = [null_mut::<PJRT_Buffer_MemoryLayout>(); 2];
    let mut shapes = [shape(U8, &[8])];
    let answer = call!(PJRT_Client_CreateBuffersForAsyncHostToDevice,
        client: client.raw, memory: client.hbm(0), shape_specs: shapes.as_mut_ptr(),
        num_shape_specs: 1, device_layouts: layouts.as_mut_ptr(), num_device_layouts: 2);
    assert_refused(answer, INVALID, &["2 layouts for 1 shapes"]);
}

#[test]
fn a_transfer_of_no_buffers_and_one_of_no_bytes_are_fine() {
    let client = Client::new();
    end(begin(&client, 0, &mut []).unwrap());
    let manager = begin(&client, 0, &mut [shape(U8, &[0])]).unwrap();
    let buffer = retrieve(manager, 0).unwrap();
    assert_refused(send(manager, 0, 0, b"x", false), INVALID, &["buffer 0 has no bytes"]);
    send(manager, 0, 0, b"", true).unwrap();
    assert_eq!(get(buffer).unwrap(), b"");
    end(manager);
    destroy(buffer);
}

#[test]
fn a_literal_comes_in_the_order_of_its_layout() {
    let client = Client::new();
    let rows: Vec<u8> = [0, 1, 2, 3, 4, 5_i32].iter().flat_map(|n| n.to_le_bytes()).collect();
    let columns: Vec<u8> = [0, 3, 1, 4, 2, 5_i32].iter().flat_map(|n| n.to_le_bytes()).collect();
    let (mut by_row, mut by_column) = (ordered(&[1, 0]), ordered(&[0, 1]));
    for (bytes, layout) in
        [(&rows, null_mut()), (&rows, &raw mut by_row), (&columns, &raw mut by_column)]
    {
        let manager = begin(&client, 0, &mut [shape(S32, &[2, 3])]).unwrap();
        let buffer = retrieve(manager, 0).unwrap();
        literal(manager, bytes, S32, &[2, 3], layout).unwrap();
        assert_eq!(get(buffer).unwrap(), rows);
        end(manager);
        destroy(buffer);
    }
}

#[test]
fn a_literal_of_narrow_elements_comes_one_to_a_byte() {
    let client = Client::new();
    let u4 = PJRT_Buffer_Type::PJRT_Buffer_Type_U4;
    let manager = begin(&client, 0, &mut [shape(u4, &[5])]).unwrap();
    let buffer = retrieve(manager, 0).unwrap();
    literal(manager, &[1, 15, 3, 4, 9], u4, &[5], null_mut()).unwrap();
    assert_eq!(get(buffer).unwrap(), [1, 15, 3, 4, 9]);
    end(manager);
    destroy(buffer);
}

#[test]
fn a_literal_that_does_not_fit_its_buffer_is_refused() {
    let client = Client::new();
    let manager = eight(&client, 0);
    let bytes = [0; 64];
    let send = |dtype, dims: &[i64], layout| literal(manager, &bytes, dtype, dims, layout);
    let answer = send(U8, &[7], null_mut());
    assert_refused(answer, INVALID, &["u8[7]", "for buffer 0, which is u8[8]"]);
    assert_refused(send(F32, &[8], null_mut()), INVALID, &["f32[8]", "u8[8]"]);
    assert_refused(send(U8, &[-8], null_mut()), INVALID, &["negative dimension"]);
    let answer = send(U8, &[8], &mut tiled(&[0], &[8], &[1]));
    assert_refused(answer, UNIMPLEMENTED, &["tiles"]);
    assert_refused(send(U8, &[8], &mut strided(&[1])), UNIMPLEMENTED, &["byte strides"]);
    assert_refused(send(U8, &[8], &mut ordered(&[1])), INVALID, &["no order of the 1 axes"]);
    send(U8, &[8], null_mut()).unwrap();
    end(manager);
}

#[test]
fn metadata_is_read_and_wrong_metadata_refused() {
    let client = Client::new();
    let manager = eight(&client, 0);
    let mut value = blank::<PJRT_NamedValue>();
    (value.name, value.name_size) = (c"step".as_ptr(), 4);
    let add = |value: &PJRT_NamedValue| {
        call!(PJRT_AsyncHostToDeviceTransferManager_AddMetadata,
            transfer_manager: manager, transfer_metadata: value, num_metadata: 1)
        .map(drop)
    };
    value.type_ = PJRT_NamedValue_Type::PJRT_NamedValue_kInt64;
    add(&value).unwrap();
    value.type_ = PJRT_NamedValue_Type(9);
    assert_refused(add(&value), INVALID, &["option step has type 9"]);
    value.type_ = PJRT_NamedValue_Type::PJRT_NamedValue_kString;
    value.value_size = 5;
    assert_refused(add(&value), INVALID, &["null option value"]);
    end(manager);
}
