//! Extension 8 through the C table, and through the table in front of its objects.
// UNSAFETY: follows the object's first word, as a C client does.
#![expect(unsafe_code, reason = "a C client")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
mod ext;

use ext::{
    Failure, INVALID_ARGUMENT, STALE, UNIMPLEMENTED, api, args, buffer, call, client,
    destroy_buffer, destroy_client, extension, give, memories, refuses_what_is_missing, wait,
};
use pjrt_sys::{
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args,
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args,
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args, PJRT_Buffer, PJRT_Buffer_Delete_Args,
    PJRT_Buffer_OnDeviceSizeInBytes_Args, PJRT_Buffer_Type,
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args, PJRT_Error, PJRT_Extension_Type,
    PJRT_RawBuffer, PJRT_RawBuffer_CopyRawDeviceToHost_Args,
    PJRT_RawBuffer_CopyRawHostToDevice_Args, PJRT_RawBuffer_CreateRawAliasOfBuffer_Args,
    PJRT_RawBuffer_Destroy_Args, PJRT_RawBuffer_Extension, PJRT_RawBuffer_FunctionTable,
    PJRT_RawBuffer_GetHostPointer_Args, PJRT_RawBuffer_GetMemorySpace_Args,
    PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args, PJRT_ShapeSpec,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

fn table() -> &'static PJRT_RawBuffer_Extension {
    extension(PJRT_Extension_Type::PJRT_Extension_Type_RawBuffer)
}

fn alias(buffer: *mut PJRT_Buffer) -> Result<*mut PJRT_RawBuffer, Failure> {
    let mut alias: PJRT_RawBuffer_CreateRawAliasOfBuffer_Args = args();
    alias.buffer = buffer;
    call(table().PJRT_RawBuffer_CreateRawAliasOfBuffer, &raw mut alias).map(|()| alias.raw_buffer)
}

fn destroy(raw: *mut PJRT_RawBuffer) -> Result<(), Failure> {
    let mut destroy: PJRT_RawBuffer_Destroy_Args = args();
    destroy.buffer = raw;
    call(table().PJRT_RawBuffer_Destroy, &raw mut destroy)
}

fn size(raw: *mut PJRT_RawBuffer) -> Result<usize, Failure> {
    let mut size: PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args = args();
    size.buffer = raw;
    call(table().PJRT_RawBuffer_GetOnDeviceSizeInBytes, &raw mut size)
        .map(|()| size.on_device_size_in_bytes)
}

fn put(raw: *mut PJRT_RawBuffer, offset: i64, values: &[f32]) -> Result<(), Failure> {
    let mut put: PJRT_RawBuffer_CopyRawHostToDevice_Args = args();
    (put.buffer, put.src, put.offset) = (raw, values.as_ptr().cast(), offset);
    put.transfer_size = i64::try_from(size_of_val(values)).unwrap();
    call(table().PJRT_RawBuffer_CopyRawHostToDevice, &raw mut put)?;
    wait(put.event)
}

fn get<const N: usize>(raw: *mut PJRT_RawBuffer, offset: i64) -> Result<[f32; N], Failure> {
    let mut values = [0.0; N];
    let mut get: PJRT_RawBuffer_CopyRawDeviceToHost_Args = args();
    (get.buffer, get.dst, get.offset) = (raw, values.as_mut_ptr().cast(), offset);
    get.transfer_size = i64::try_from(size_of_val(&values)).unwrap();
    call(table().PJRT_RawBuffer_CopyRawDeviceToHost, &raw mut get)?;
    wait(get.event).map(|()| values)
}

fn host_pointer(raw: *mut PJRT_RawBuffer) -> *mut c_void {
    let mut pointer: PJRT_RawBuffer_GetHostPointer_Args = args();
    pointer.buffer = raw;
    call(table().PJRT_RawBuffer_GetHostPointer, &raw mut pointer).unwrap();
    pointer.host_pointer
}

fn functions(raw: *const PJRT_RawBuffer) -> &'static PJRT_RawBuffer_FunctionTable {
    // SAFETY: an object's first word leads to a static table, for ever.
    unsafe { &*(*raw).vtable }
}

#[test]
fn bytes_are_written_and_read_where_they_lie() {
    let client = client();
    let [device, ..] = memories(client);
    let buffer = buffer(client, device, &[1.0, 2.0, 3.0, 4.0]);
    let raw = alias(buffer).unwrap();
    put(raw, 4, &[7.0, 8.0]).unwrap();
    assert_eq!(get(raw, 0), Ok([1.0, 7.0, 8.0, 4.0]));
    let mut whole: PJRT_Buffer_OnDeviceSizeInBytes_Args = args();
    whole.buffer = buffer;
    call(api().PJRT_Buffer_OnDeviceSizeInBytes, &raw mut whole).unwrap();
    assert_eq!(size(raw), Ok(whole.on_device_size_in_bytes));
    let mut memory: PJRT_RawBuffer_GetMemorySpace_Args = args();
    memory.buffer = raw;
    call(table().PJRT_RawBuffer_GetMemorySpace, &raw mut memory).unwrap();
    assert_eq!(memory.memory_space, device);
    destroy(raw).unwrap();
    destroy_buffer(buffer);
    destroy_client(client);
}

#[test]
fn nothing_outside_of_the_bytes_is_reached() {
    let client = client();
    let buffer = buffer(client, memories(client)[0], &[1.0]);
    let raw = alias(buffer).unwrap();
    let end = i64::try_from(size(raw).unwrap()).unwrap();
    for offset in [-1, end - 3, end + 1, i64::MAX] {
        assert_eq!(get::<1>(raw, offset).unwrap_err().0, INVALID_ARGUMENT, "{offset}");
        assert_eq!(put(raw, offset, &[0.0]).unwrap_err().0, INVALID_ARGUMENT, "{offset}");
    }
    destroy(raw).unwrap();
    destroy_buffer(buffer);
    destroy_client(client);
}

#[test]
fn a_write_waits_for_the_bytes_that_are_on_their_way() {
    let client = client();
    let dims = [2];
    let mut shape: PJRT_ShapeSpec = args();
    (shape.dims, shape.num_dims) = (dims.as_ptr(), 1);
    shape.element_type = PJRT_Buffer_Type::PJRT_Buffer_Type_F32;
    let mut begin: PJRT_Client_CreateBuffersForAsyncHostToDevice_Args = args();
    (begin.client, begin.memory) = (client, memories(client)[0]);
    (begin.shape_specs, begin.num_shape_specs) = (&raw mut shape, 1);
    call(api().PJRT_Client_CreateBuffersForAsyncHostToDevice, &raw mut begin).unwrap();
    let mut retrieve: PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args = args();
    retrieve.transfer_manager = begin.transfer_manager;
    let function = api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer;
    call(function, &raw mut retrieve).unwrap();
    let raw = alias(retrieve.buffer_out).unwrap();

    let mut late: PJRT_RawBuffer_CopyRawHostToDevice_Args = args();
    let mut value = 9.0_f32;
    (late.buffer, late.src, late.transfer_size) = (raw, (&raw const value).cast(), 4);
    call(table().PJRT_RawBuffer_CopyRawHostToDevice, &raw mut late).unwrap();
    value = 0.0;
    let data = [value, 2.0];
    let mut transfer: PJRT_AsyncHostToDeviceTransferManager_TransferData_Args = args();
    transfer.transfer_manager = begin.transfer_manager;
    (transfer.data, transfer.transfer_size) = (data.as_ptr().cast(), 8);
    transfer.is_last_transfer = 1;
    let function = api().PJRT_AsyncHostToDeviceTransferManager_TransferData;
    call(function, &raw mut transfer).unwrap();
    wait(transfer.done_with_h2d_transfer).unwrap();
    wait(late.event).unwrap();

    assert_eq!(get(raw, 0), Ok([9.0, 2.0]));
    destroy(raw).unwrap();
    destroy_buffer(retrieve.buffer_out);
    let mut end: PJRT_AsyncHostToDeviceTransferManager_Destroy_Args = args();
    end.transfer_manager = begin.transfer_manager;
    call(api().PJRT_AsyncHostToDeviceTransferManager_Destroy, &raw mut end).unwrap();
    destroy_client(client);
}

#[test]
fn the_bytes_outlive_the_buffer() {
    let client = client();
    let buffer = buffer(client, memories(client)[0], &[5.0, 6.0]);
    let raw = alias(buffer).unwrap();
    let mut delete: PJRT_Buffer_Delete_Args = args();
    delete.buffer = buffer;
    call(api().PJRT_Buffer_Delete, &raw mut delete).unwrap();
    assert_eq!(alias(buffer).unwrap_err().0, INVALID_ARGUMENT, "deleted");
    destroy_buffer(buffer);
    assert_eq!(alias(buffer).unwrap_err().0, STALE);
    let other = self::buffer(client, memories(client)[0], &[9.0, 9.0]);
    assert_eq!(get(raw, 0), Ok([5.0, 6.0]));
    destroy(raw).unwrap();
    destroy_buffer(other);
    destroy_client(client);
}

#[test]
fn a_host_reads_host_memory_and_not_hbm() {
    let client = client();
    for (memory, readable) in memories(client).into_iter().zip([false, true, true]) {
        let buffer = buffer(client, memory, &[3.0]);
        let raw = alias(buffer).unwrap();
        let pointer = host_pointer(raw);
        assert_eq!(!pointer.is_null(), readable);
        // SAFETY: a live raw buffer.
        assert_eq!(unsafe { functions(raw).get_host_pointer.unwrap()(raw) }, pointer);
        if readable {
            // SAFETY: a float is there, and nobody writes.
            assert_eq!(unsafe { pointer.cast::<f32>().read() }, 3.0);
        }
        destroy(raw).unwrap();
        destroy_buffer(buffer);
    }
    destroy_client(client);
}

#[test]
fn a_raw_buffer_dies_with_its_last_reference() {
    let client = client();
    let buffer = buffer(client, memories(client)[0], &[1.0]);
    let raw = alias(buffer).unwrap();
    let of = functions(raw);
    // SAFETY: a live raw buffer.
    unsafe { of.inc_ref.unwrap()(raw) };
    destroy(raw).unwrap();
    assert!(size(raw).is_ok());
    // SAFETY: as above.
    unsafe { of.dec_ref.unwrap()(raw) };
    assert_eq!(size(raw).unwrap_err().0, STALE);
    assert_eq!(destroy(raw).unwrap_err().0, STALE);
    // SAFETY: the address of a dead one, which never leads nowhere.
    unsafe {
        of.inc_ref.unwrap()(raw);
        of.dec_ref.unwrap()(raw);
        assert_eq!(of.get_on_device_size_in_bytes.unwrap()(raw), 0);
        assert!(of.get_memory_space.unwrap()(raw).is_null());
        assert!(of.get_host_pointer.unwrap()(raw).is_null());
        assert!(of.opaque_device_memory_data_pointer.unwrap()(raw).is_null());
        assert_eq!(of.is_mutable.unwrap()(raw), 0);
        let error = of.slice.unwrap()(raw, 0, 0, null_mut());
        assert_eq!(give(error).unwrap_err().0, STALE);
    }
    destroy_buffer(buffer);
    destroy_client(client);
}

#[test]
fn a_slice_is_a_window_on_the_same_bytes() {
    let client = client();
    let [device, ..] = memories(client);
    let buffer = buffer(client, device, &[1.0, 2.0, 3.0]);
    let raw = alias(buffer).unwrap();
    let (of, mut part) = (functions(raw), null_mut());
    // SAFETY: a live raw buffer and a place for the result.
    unsafe {
        give(of.slice.unwrap()(raw, 4, 8, &raw mut part)).unwrap();
        let outside = of.slice.unwrap()(raw, 4, i64::MAX, &raw mut part);
        assert_eq!(give(outside).unwrap_err().0, INVALID_ARGUMENT);
        let nowhere = of.slice.unwrap()(raw, 4, 8, null_mut());
        assert_eq!(give(nowhere).unwrap_err().0, INVALID_ARGUMENT);
    }
    destroy(raw).unwrap();
    assert_eq!(get(part, 0), Ok([2.0, 3.0]));
    assert!(get::<1>(part, 8).is_err());
    put(part, 4, &[9.0]).unwrap();
    let whole = alias(buffer).unwrap();
    assert_eq!(get(whole, 0), Ok([1.0, 2.0, 9.0]));
    // SAFETY: live raw buffers.
    unsafe {
        assert_eq!(of.get_on_device_size_in_bytes.unwrap()(part), 8);
        assert_eq!(of.get_memory_space.unwrap()(part), device);
        assert_eq!(of.is_mutable.unwrap()(part), 1);
        let [start, inside] =
            [whole, part].map(|raw| of.opaque_device_memory_data_pointer.unwrap()(raw).addr());
        assert_eq!(inside - start, 4);
    }
    destroy(part).unwrap();
    destroy(whole).unwrap();
    destroy_buffer(buffer);
    destroy_client(client);
}

unsafe extern "C" fn keep(error: *mut PJRT_Error, place: *mut c_void) {
    // SAFETY: the test passes a place for a pointer.
    unsafe { place.cast::<*mut PJRT_Error>().write(error) };
}

#[test]
fn functions_of_device_events_say_that_they_are_not_done() {
    let client = client();
    let buffer = buffer(client, memories(client)[0], &[1.0]);
    let raw = alias(buffer).unwrap();
    let of = functions(raw);
    let mut told: *mut PJRT_Error = null_mut();
    // SAFETY: a live raw buffer; the other pointers are not followed.
    let errors = unsafe {
        of.schedule_copy_to.unwrap()(
            raw,
            null_mut(),
            raw,
            null_mut(),
            null_mut(),
            Some(keep),
            (&raw mut told).cast(),
        );
        let put = of.copy_raw_host_to_device_and_return_event.unwrap();
        let get = of.copy_raw_device_to_host_and_return_event.unwrap();
        [
            (put(raw, null(), 0, 0, null_mut(), null_mut()), "copy_raw_host_to_device_and_return"),
            (get(raw, null_mut(), 0, 0, null_mut(), null_mut()), "copy_raw_device_to_host_and"),
            (of.make_allocation_ready_event.unwrap()(raw, null_mut()), "make_allocation_ready"),
            (of.get_raw_buffer_async_value.unwrap()(raw, null_mut()), "get_raw_buffer_async"),
            (told, "schedule_copy_to"),
        ]
    };
    for (error, name) in errors {
        let (code, message) = give(error).unwrap_err();
        assert_eq!(code, UNIMPLEMENTED);
        assert!(message.starts_with(&format!("PJRT_RawBuffer::{name}")), "{message}");
    }
    destroy(raw).unwrap();
    destroy_buffer(buffer);
    destroy_client(client);
}

#[test]
fn what_is_missing_is_told() {
    let table = table();
    refuses_what_is_missing(table.PJRT_RawBuffer_CreateRawAliasOfBuffer);
    refuses_what_is_missing(table.PJRT_RawBuffer_Destroy);
    refuses_what_is_missing(table.PJRT_RawBuffer_GetOnDeviceSizeInBytes);
    refuses_what_is_missing(table.PJRT_RawBuffer_GetMemorySpace);
    refuses_what_is_missing(table.PJRT_RawBuffer_CopyRawHostToDevice);
    refuses_what_is_missing(table.PJRT_RawBuffer_CopyRawDeviceToHost);
    refuses_what_is_missing(table.PJRT_RawBuffer_GetHostPointer);
}
