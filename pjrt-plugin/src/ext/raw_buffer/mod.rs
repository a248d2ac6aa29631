//! Extension 8: the bytes of a buffer, without its type.
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args};
use crate::state::{buffer, give_event};
use crate::sys::{
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_RawBuffer_CopyRawDeviceToHost_Args,
    PJRT_RawBuffer_CopyRawHostToDevice_Args, PJRT_RawBuffer_CreateRawAliasOfBuffer_Args,
    PJRT_RawBuffer_Destroy_Args, PJRT_RawBuffer_Extension, PJRT_RawBuffer_GetHostPointer_Args,
    PJRT_RawBuffer_GetMemorySpace_Args, PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args,
};
use object::RawBuffer;
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use tpu_emu::units::to_usize;
use tpu_emu::{Event, Result};

mod object;

c_args!(
    PJRT_RawBuffer_CreateRawAliasOfBuffer_Args,
    PJRT_RawBuffer_Destroy_Args,
    PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args,
    PJRT_RawBuffer_GetMemorySpace_Args,
    PJRT_RawBuffer_CopyRawHostToDevice_Args,
    PJRT_RawBuffer_CopyRawDeviceToHost_Args,
    PJRT_RawBuffer_GetHostPointer_Args,
);

extension_functions! {
    PJRT_RawBuffer_CreateRawAliasOfBuffer =>
        call(super::alias, PJRT_RawBuffer_CreateRawAliasOfBuffer_Args, raw_buffer),
    PJRT_RawBuffer_Destroy => call(super::destroy, PJRT_RawBuffer_Destroy_Args, buffer),
    PJRT_RawBuffer_GetOnDeviceSizeInBytes => call(
        super::size, PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args, on_device_size_in_bytes
    ),
    PJRT_RawBuffer_GetMemorySpace =>
        call(super::memory, PJRT_RawBuffer_GetMemorySpace_Args, memory_space),
    PJRT_RawBuffer_CopyRawHostToDevice =>
        call(super::put, PJRT_RawBuffer_CopyRawHostToDevice_Args, event),
    PJRT_RawBuffer_CopyRawDeviceToHost =>
        call(super::get, PJRT_RawBuffer_CopyRawDeviceToHost_Args, event),
    PJRT_RawBuffer_GetHostPointer =>
        call(super::host_pointer, PJRT_RawBuffer_GetHostPointer_Args, host_pointer),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_RawBuffer_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_RawBuffer_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_RawBuffer,
            next,
        },
        PJRT_RawBuffer_CreateRawAliasOfBuffer: Some(table::PJRT_RawBuffer_CreateRawAliasOfBuffer),
        PJRT_RawBuffer_Destroy: Some(table::PJRT_RawBuffer_Destroy),
        PJRT_RawBuffer_GetOnDeviceSizeInBytes: Some(table::PJRT_RawBuffer_GetOnDeviceSizeInBytes),
        PJRT_RawBuffer_GetMemorySpace: Some(table::PJRT_RawBuffer_GetMemorySpace),
        PJRT_RawBuffer_CopyRawHostToDevice: Some(table::PJRT_RawBuffer_CopyRawHostToDevice),
        PJRT_RawBuffer_CopyRawDeviceToHost: Some(table::PJRT_RawBuffer_CopyRawDeviceToHost),
        PJRT_RawBuffer_GetHostPointer: Some(table::PJRT_RawBuffer_GetHostPointer),
    })
}

/// The bytes of a buffer. They live until this is destroyed, whatever happens to the buffer.
fn alias(_: &Caller, args: &mut PJRT_RawBuffer_CreateRawAliasOfBuffer_Args) -> Result<()> {
    let entry = buffer(args.buffer)?;
    args.raw_buffer = object::publish(RawBuffer::alias(&entry)?)?;
    Ok(())
}

/// Ends one reference: that of the caller who made it.
fn destroy(_: &Caller, args: &mut PJRT_RawBuffer_Destroy_Args) -> Result<()> {
    object::release(args.buffer)
}

fn size(_: &Caller, args: &mut PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args) -> Result<()> {
    args.on_device_size_in_bytes = to_usize(object::raw(args.buffer)?.size().0);
    Ok(())
}

fn memory(_: &Caller, args: &mut PJRT_RawBuffer_GetMemorySpace_Args) -> Result<()> {
    args.memory_space = without_provenance_mut(object::raw(args.buffer)?.memory());
    Ok(())
}

/// Null for HBM: a client that reads it goes through a transfer, as on a real TPU.
fn host_pointer(_: &Caller, args: &mut PJRT_RawBuffer_GetHostPointer_Args) -> Result<()> {
    args.host_pointer = object::raw(args.buffer)?.host_pointer()?.cast();
    Ok(())
}

/// Overwrites bytes once the buffer has those it waits for. The caller's are free when this
/// returns.
fn put(caller: &Caller, args: &mut PJRT_RawBuffer_CopyRawHostToDevice_Args) -> Result<()> {
    let raw = object::raw(args.buffer)?;
    let (offset, size) = raw.range(args.offset, args.transfer_size)?;
    let bytes = caller.bytes(args.src, size, "src")?;
    let buffer = Arc::clone(raw.buffer());
    if buffer.ready_event().is_ready() {
        buffer.put_raw(offset, bytes)?;
        args.event = give_event(Event::ready());
        return Ok(());
    }
    let (done, bytes) = (Event::pending(), bytes.to_vec());
    args.event = give_event(done.clone());
    raw.buffer().ready_event().on_ready(move |outcome| {
        done.settle(outcome.clone().and_then(|()| buffer.put_raw(offset, &bytes)));
    });
    Ok(())
}

/// Copies bytes as they are on the device.
fn get(caller: &Caller, args: &mut PJRT_RawBuffer_CopyRawDeviceToHost_Args) -> Result<()> {
    let raw = object::raw(args.buffer)?;
    let (offset, size) = raw.range(args.offset, args.transfer_size)?;
    let target = caller.target(args.dst, size)?;
    args.event = give_event(raw.buffer().get_raw(offset, target)?);
    Ok(())
}
