//! New buffers: from client memory, from nothing, from errors and promises.
use crate::boundary::{Caller, UserPointer, handle_of, id_of};
use crate::callback;
use crate::dtype;
use crate::error;
use crate::state::{
    ALIASES, AliasEntry, Client, MemoryEntry, buffer as buffer_of, client, device as device_of,
    give_buffer, give_event, memory as memory_of,
};
use crate::sys::{
    PJRT_Buffer_MemoryLayout, PJRT_Buffer_Type, PJRT_Client_BufferFromHostBuffer_Args,
    PJRT_Client_CreateAliasBuffer_Args, PJRT_Client_CreateErrorBuffer_Args,
    PJRT_Client_CreateUninitializedBuffer_Args, PJRT_Client_CreateViewOfDeviceBuffer_Args,
    PJRT_Client_FulfillAliasBuffer_Args, PJRT_Device, PJRT_HostBufferSemantics, PJRT_Memory,
};
use crate::views::layout_request;
use std::ptr::without_provenance;
use std::sync::Arc;
use tpu_emu::buffer::HostArray;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::tensor::strided::{Extent, Strided};
use tpu_emu::units::to_usize;
use tpu_emu::{Error, Event, Result};

/// Where a new buffer goes: `memory`, or the device's default one.
fn destination(device: *const PJRT_Device, memory: *const PJRT_Memory) -> Result<Arc<MemoryEntry>> {
    if !memory.is_null() {
        return memory_of(memory);
    }
    if device.is_null() {
        return Err(Error::Null("device and memory: one of them is needed"));
    }
    memory_of(without_provenance(device_of(device)?.default_memory()?))
}

/// The array that a shape, type and layout describe.
fn describe(
    caller: &Caller,
    client: &Client,
    dtype: PJRT_Buffer_Type,
    dims: (*const i64, usize),
    layout: *const PJRT_Buffer_MemoryLayout,
) -> Result<Arc<ArraySpec>> {
    let dtype = dtype::from_c(dtype)?;
    let dims = caller.axes(dims.0, dims.1, "dims")?;
    let layout = layout_request(caller, layout, dims, dtype.host_bytes())?;
    client.machine.describe(dtype, dims, layout)
}

/// Copies an array of the client to a device. The copy is done when this returns, so every
/// `host_buffer_semantics` is kept and the event is over.
///
/// Errors: `BadArgument` for shapes, strides, types, layouts; `OutOfMemory`.
#[doc(alias = "PJRT_Client_BufferFromHostBuffer")]
pub(in crate::api) fn from_host_buffer(
    caller: &Caller,
    args: &mut PJRT_Client_BufferFromHostBuffer_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let memory = destination(args.device, args.memory)?;
    if args.host_buffer_semantics.0
        > PJRT_HostBufferSemantics::PJRT_HostBufferSemantics_kMutableZeroCopy.0
    {
        let number = args.host_buffer_semantics.0;
        return Err(Error::bad(format!("{number} is no PJRT_HostBufferSemantics")));
    }
    let dims = (args.dims, args.num_dims);
    let spec = describe(caller, &client, args.type_, dims, args.device_layout)?;
    let array = host_array(caller, args, &spec)?;
    let buffer = client.machine.put(memory.memory, spec, array)?;
    args.buffer = give_buffer(Arc::new(buffer), &memory);
    args.done_with_host_buffer = give_event(Event::ready());
    Ok(())
}

/// The client's bytes, from the lowest address that the strides reach.
fn host_array<'a>(
    caller: &'a Caller,
    args: &PJRT_Client_BufferFromHostBuffer_Args,
    spec: &ArraySpec,
) -> Result<HostArray<'a>> {
    let strides = caller.axes(args.byte_strides, args.num_byte_strides, "byte_strides")?;
    if strides.is_empty() {
        let bytes = caller.bytes(args.data, to_usize(spec.host_size().0), "data")?;
        return Ok(HostArray { bytes, low: 0, strides: None });
    }
    if strides.len() != spec.dims.len() {
        let (given, rank) = (strides.len(), spec.dims.len());
        return Err(Error::bad(format!("{given} byte strides for {rank} dimensions")));
    }
    let array = Strided { dims: &spec.dims, strides, element: spec.dtype.host_bytes() };
    let Extent { low, high } = array.extent()?;
    if args.data.is_null() && high > low {
        return Err(Error::Null("data"));
    }
    let span = usize::try_from(high - low).map_err(|_| Error::bad("strides that go backwards"))?;
    let start = isize::try_from(low).map_err(|_| Error::bad("strides that go too far"))?;
    let bytes = caller.bytes(args.data.wrapping_byte_offset(start), span, "data")?;
    Ok(HostArray { bytes, low, strides: Some(strides) })
}

/// A buffer whose bytes are whatever was there before.
pub(in crate::api) fn uninitialized(
    caller: &Caller,
    args: &mut PJRT_Client_CreateUninitializedBuffer_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let memory = destination(args.device, args.memory)?;
    let dims = (args.shape_dims, args.shape_num_dims);
    let spec = describe(caller, &client, args.shape_element_type, dims, args.shape_layout)?;
    let buffer = client.machine.uninitialized(memory.memory, spec)?;
    args.buffer = give_buffer(Arc::new(buffer), &memory);
    Ok(())
}

/// A buffer that stands for an error.
pub(in crate::api) fn error(
    caller: &Caller,
    args: &mut PJRT_Client_CreateErrorBuffer_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let memory = memory_of(args.memory)?;
    let message = caller.text(args.error_message, args.error_message_size, "error_message")?;
    let Err(error) = error::foreign(args.error_code, message) else {
        return Err(Error::bad("error_code 0 is no error"));
    };
    let dims = (args.shape_dims, args.shape_num_dims);
    let spec = describe(caller, &client, args.shape_element_type, dims, args.shape_layout)?;
    let buffer = client.machine.failed(memory.memory, spec, error);
    args.buffer = give_buffer(Arc::new(buffer), &memory);
    Ok(())
}

/// A buffer that gets its bytes from another one later, and the token to give them by.
pub(in crate::api) fn alias(
    caller: &Caller,
    args: &mut PJRT_Client_CreateAliasBuffer_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let memory = memory_of(args.memory)?;
    let dims = (args.shape_dims, args.shape_num_dims);
    let spec = describe(caller, &client, args.shape_element_type, dims, args.shape_layout)?;
    let alias = Arc::new(client.machine.promised(memory.memory, spec));
    args.alias_buffer = give_buffer(Arc::clone(&alias), &memory);
    args.fulfill_alias_buffer_cb = handle_of(ALIASES.insert(AliasEntry { alias }));
    Ok(())
}

/// Gives an alias the bytes of a buffer, or an error. The token is used up.
pub(in crate::api) fn fulfil_alias(
    caller: &Caller,
    args: &mut PJRT_Client_FulfillAliasBuffer_Args,
) -> Result<()> {
    client(args.client)?;
    let id = id_of(args.fulfill_alias_buffer_cb, "alias callback")?;
    let alias = ALIASES.get(id)?;
    let message = caller.text(args.error_message, args.error_message_size, "error_message")?;
    match error::foreign(args.status_code, message) {
        Ok(()) => alias.alias.fulfil(Ok(&buffer_of(args.buffer)?.buffer))?,
        Err(error) => alias.alias.fulfil(Err(error))?,
    }
    ALIASES.remove(id).map(drop)
}

/// A buffer over bytes that another buffer owns.
pub(in crate::api) fn view_of_device_buffer(
    caller: &Caller,
    args: &mut PJRT_Client_CreateViewOfDeviceBuffer_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let memory = destination(args.device, args.memory)?;
    let dims = (args.dims, args.num_dims);
    let spec = describe(caller, &client, args.element_type, dims, args.layout)?;
    let pointer = args.device_buffer_ptr;
    let user_arg = UserPointer(args.on_delete_callback_arg);
    let on_delete = args
        .on_delete_callback
        .map(|callback| callback::on_delete(callback, UserPointer(pointer), user_arg));
    let view = client.machine.view(memory.memory, spec, pointer.addr(), on_delete)?;
    args.buffer = give_buffer(Arc::new(view), &memory);
    Ok(())
}
