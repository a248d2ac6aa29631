//! `PJRT_RawBuffer`: an object with a function table in front, and what it stands for.
// UNSAFETY: C calls the functions of the table; some take places for results and foreign
// objects with tables of their own.
#![expect(unsafe_code, reason = "functions that C calls")]
use crate::boundary::not_done;
use crate::boundary::{Caller, end_of};
use crate::error::give_error;
use crate::objects::{Face, Objects};
use crate::state::BufferEntry;
use crate::sys::{
    PJRT_DeviceEvent, PJRT_DeviceEventPromise, PJRT_DeviceEventPromise_FunctionTable,
    PJRT_DeviceEventVector, PJRT_Error, PJRT_Memory, PJRT_RawBuffer, PJRT_RawBuffer_FunctionTable,
};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::units::{Bytes, to_u64, to_usize};
use tpu_emu::{Buffer, Error, Id, MemoryKind, Result, Table as Handles};

/// A claim on bytes of a buffer.
#[derive(Debug)]
pub(super) struct RawBuffer {
    /// Over the same bytes as the client's buffer, and nobody else's to delete.
    buffer: Arc<Buffer>,
    offset: Bytes,
    size: Bytes,
    /// `PJRT_Memory*` as bits.
    memory: usize,
    references: AtomicUsize,
}

impl RawBuffer {
    /// All bytes of a buffer.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer, its own error for a failed one, `WrongState` for one
    /// that has no bytes yet.
    pub(super) fn alias(entry: &BufferEntry) -> Result<Self> {
        let buffer = Arc::new(entry.buffer.alias()?);
        let padded = buffer.spec().padded;
        let size = buffer.region()?.map_or(Bytes::ZERO, |region| region.size().min(padded));
        let memory = entry.memory;
        Ok(Self { buffer, offset: Bytes::ZERO, size, memory, references: AtomicUsize::new(1) })
    }

    fn slice(&self, offset: i64, size: i64) -> Result<Self> {
        let (offset, size) = self.range(offset, size)?;
        let (buffer, size) = (Arc::clone(&self.buffer), Bytes(to_u64(size)));
        let memory = self.memory;
        Ok(Self { buffer, offset, size, memory, references: AtomicUsize::new(1) })
    }

    pub(super) fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }

    pub(super) fn size(&self) -> Bytes {
        self.size
    }

    /// `PJRT_Memory*` as bits.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Where `size` bytes from `offset` on are in the buffer.
    ///
    /// # Errors
    /// `BadArgument` for negative numbers, and for bytes outside.
    pub(super) fn range(&self, offset: i64, size: i64) -> Result<(Bytes, usize)> {
        let both = u64::try_from(offset).ok().zip(u64::try_from(size).ok());
        let inside = both.filter(|&(offset, size)| {
            offset.checked_add(size).is_some_and(|end| end <= self.size.0)
        });
        let (offset, size) = inside.ok_or_else(|| {
            let whole = self.size;
            Error::bad(format!("{size} bytes from offset {offset} of a raw buffer of {whole}"))
        })?;
        Ok((self.offset + Bytes(offset), to_usize(size)))
    }

    /// The address of the bytes if a host can read them, null if not.
    ///
    /// # Errors
    /// As for reading.
    pub(super) fn host_pointer(&self) -> Result<*mut u8> {
        match self.buffer.memory().kind {
            MemoryKind::Device => Ok(ptr::null_mut()),
            MemoryKind::PinnedHost | MemoryKind::UnpinnedHost => self.data_pointer(),
        }
    }

    /// The address of the bytes; emulated HBM has one too. Null where there are none.
    fn data_pointer(&self) -> Result<*mut u8> {
        let start = self.buffer.host_pointer()?;
        Ok(if start.is_null() { start } else { start.wrapping_add(to_usize(self.offset.0)) })
    }
}

struct RawBufferTable(PJRT_RawBuffer_FunctionTable);

// SAFETY: function pointers and numbers, never changed.
unsafe impl Sync for RawBufferTable {}

static TABLE: RawBufferTable = RawBufferTable(PJRT_RawBuffer_FunctionTable {
    struct_size: size_of::<PJRT_RawBuffer_FunctionTable>(),
    instance_size: Objects::<PJRT_RawBuffer, ()>::OBJECT_SIZE,
    extension_start: ptr::null_mut(),
    inc_ref: Some(inc_ref),
    dec_ref: Some(dec_ref),
    get_on_device_size_in_bytes: Some(get_on_device_size_in_bytes),
    get_memory_space: Some(get_memory_space),
    get_host_pointer: Some(get_host_pointer),
    copy_raw_host_to_device_and_return_event: Some(copy_raw_host_to_device_and_return_event),
    copy_raw_device_to_host_and_return_event: Some(copy_raw_device_to_host_and_return_event),
    opaque_device_memory_data_pointer: Some(opaque_device_memory_data_pointer),
    make_allocation_ready_event: Some(make_allocation_ready_event),
    get_raw_buffer_async_value: Some(get_raw_buffer_async_value),
    is_mutable: Some(is_mutable),
    slice: Some(slice),
    schedule_copy_to: Some(schedule_copy_to),
});

// SAFETY: a C struct of one pointer, to a static table.
unsafe impl Face for PJRT_RawBuffer {
    const KIND: &'static str = "raw buffer";
    const FACE: Self = Self { vtable: &raw const TABLE.0 };
}

static RAW_BUFFERS: Handles<RawBuffer> = Handles::new("raw buffer", 22);
static OBJECTS: Objects<PJRT_RawBuffer, ()> = Objects::new();

/// Gives a raw buffer an address.
pub(super) fn publish(raw: RawBuffer) -> Result<*mut PJRT_RawBuffer> {
    let id = RAW_BUFFERS.insert(raw);
    OBJECTS.publish(id).inspect_err(|_| drop(RAW_BUFFERS.remove(id)))
}

/// What is at an address.
pub(super) fn raw(handle: *const PJRT_RawBuffer) -> Result<Arc<RawBuffer>> {
    RAW_BUFFERS.get(OBJECTS.resolve(handle)?)
}

/// Ends one reference; the last one ends the object.
pub(super) fn release(handle: *const PJRT_RawBuffer) -> Result<()> {
    let id: Id<RawBuffer> = OBJECTS.resolve(handle)?;
    let last = RAW_BUFFERS.get(id)?.references.fetch_sub(1, Ordering::AcqRel) == 1;
    if last && OBJECTS.withdraw(handle) {
        RAW_BUFFERS.remove(id)?;
    }
    Ok(())
}

fn status(function: FunctionName, body: impl FnOnce() -> Result<()>) -> *mut PJRT_Error {
    match entry::enter(function, body) {
        Ok(()) => ptr::null_mut(),
        Err(error) => give_error(function, &error),
    }
}

/// The table's functions without a status change nothing for a stale pointer, and answer zero.
extern "C" fn inc_ref(handle: *mut PJRT_RawBuffer) {
    let added = entry::enter(&"PJRT_RawBuffer::inc_ref", || {
        raw(handle).map(|raw| raw.references.fetch_add(1, Ordering::AcqRel))
    });
    drop(added);
}

extern "C" fn dec_ref(handle: *mut PJRT_RawBuffer) {
    drop(entry::enter(&"PJRT_RawBuffer::dec_ref", || release(handle)));
}

extern "C" fn get_on_device_size_in_bytes(handle: *const PJRT_RawBuffer) -> usize {
    let size = || Ok(to_usize(raw(handle)?.size.0));
    entry::enter(&"PJRT_RawBuffer::get_on_device_size_in_bytes", size).unwrap_or(0)
}

extern "C" fn get_memory_space(handle: *const PJRT_RawBuffer) -> *mut PJRT_Memory {
    let memory = || Ok(ptr::without_provenance_mut(raw(handle)?.memory));
    entry::enter(&"PJRT_RawBuffer::get_memory_space", memory).unwrap_or(ptr::null_mut())
}

extern "C" fn get_host_pointer(handle: *const PJRT_RawBuffer) -> *mut c_void {
    let pointer = || raw(handle)?.host_pointer();
    entry::enter(&"PJRT_RawBuffer::get_host_pointer", pointer).unwrap_or(ptr::null_mut()).cast()
}

extern "C" fn opaque_device_memory_data_pointer(handle: *const PJRT_RawBuffer) -> *mut c_void {
    let name = &"PJRT_RawBuffer::opaque_device_memory_data_pointer";
    let pointer = || raw(handle)?.data_pointer();
    entry::enter(name, pointer).unwrap_or(ptr::null_mut()).cast()
}

extern "C" fn is_mutable(handle: *const PJRT_RawBuffer) -> u8 {
    let mutable = || raw(handle).map(|_| 1);
    entry::enter(&"PJRT_RawBuffer::is_mutable", mutable).unwrap_or(0)
}

unsafe extern "C" fn slice(
    handle: *mut PJRT_RawBuffer,
    offset: i64,
    slice_size: i64,
    sliced_buffer: *mut *mut PJRT_RawBuffer,
) -> *mut PJRT_Error {
    // SAFETY: the caller passes a place for the result.
    let caller = unsafe { Caller::new() };
    status(&"PJRT_RawBuffer::slice", || {
        let part = raw(handle)?.slice(offset, slice_size)?;
        // A null place is told before there is something to lose.
        caller.write(sliced_buffer, ptr::null_mut(), "sliced_buffer")?;
        caller.write(sliced_buffer, publish(part)?, "sliced_buffer")
    })
}

extern "C" fn copy_raw_host_to_device_and_return_event(
    _: *mut PJRT_RawBuffer,
    _: *const c_void,
    _: i64,
    _: i64,
    _: *mut PJRT_DeviceEventVector,
    _: *mut PJRT_DeviceEvent,
) -> *mut PJRT_Error {
    refuse(&"PJRT_RawBuffer::copy_raw_host_to_device_and_return_event")
}

extern "C" fn copy_raw_device_to_host_and_return_event(
    _: *mut PJRT_RawBuffer,
    _: *mut c_void,
    _: i64,
    _: i64,
    _: *mut PJRT_DeviceEventVector,
    _: *mut PJRT_DeviceEvent,
) -> *mut PJRT_Error {
    refuse(&"PJRT_RawBuffer::copy_raw_device_to_host_and_return_event")
}

extern "C" fn make_allocation_ready_event(
    _: *mut PJRT_RawBuffer,
    _: *mut PJRT_DeviceEvent,
) -> *mut PJRT_Error {
    refuse(&"PJRT_RawBuffer::make_allocation_ready_event")
}

extern "C" fn get_raw_buffer_async_value(
    _: *mut PJRT_RawBuffer,
    _: *mut PJRT_DeviceEvent,
) -> *mut PJRT_Error {
    refuse(&"PJRT_RawBuffer::get_raw_buffer_async_value")
}

/// There are no device events here, so whatever takes or gives one is not done.
fn refuse(function: FunctionName) -> *mut PJRT_Error {
    status(function, || not_done(function))
}

/// Not done: everybody who waits is told so.
unsafe extern "C" fn schedule_copy_to(
    _: *mut PJRT_RawBuffer,
    _: *mut PJRT_DeviceEventVector,
    _: *mut PJRT_RawBuffer,
    definition_event_promise: *mut PJRT_DeviceEventPromise,
    src_usage_event_promise: *mut PJRT_DeviceEventPromise,
    allocation_event_callback: Option<unsafe extern "C" fn(*mut PJRT_Error, *mut c_void)>,
    allocation_event_user_data: *mut c_void,
) {
    let function = &"PJRT_RawBuffer::schedule_copy_to";
    for promise in [definition_event_promise, src_usage_event_promise] {
        // SAFETY: the caller passes null or live promises.
        unsafe { break_promise(promise, function) };
    }
    if let Some(callback) = allocation_event_callback {
        // SAFETY: the caller gave both to be called once; the error is the callback's.
        unsafe { callback(refuse(function), allocation_event_user_data) };
    }
}

/// # Safety
/// `promise` is null, or live and begins with its table.
unsafe fn break_promise(promise: *mut PJRT_DeviceEventPromise, function: FunctionName) {
    if promise.is_null() {
        return;
    }
    // SAFETY: the promise of this function's caller.
    let table = unsafe { (*promise).vtable };
    if table.is_null() {
        return;
    }
    // SAFETY: as above; a table begins with its size.
    let size = unsafe { table.cast::<usize>().read() };
    if size < end_of!(PJRT_DeviceEventPromise_FunctionTable, set_error) {
        return;
    }
    // SAFETY: as above, and the table reaches the end of this field.
    if let Some(set_error) = unsafe { (&raw const (*table).set_error).read() } {
        // SAFETY: a live promise; the error is its own from now on.
        unsafe { set_error(promise, refuse(function)) };
    }
}
