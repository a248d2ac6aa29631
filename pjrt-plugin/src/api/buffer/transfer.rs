//! Buffers to client memory, to other memories, and under other names.
use crate::boundary::Caller;
use crate::callback;
use crate::dtype;
use crate::state::{
    buffer as buffer_of, device as device_of, give_buffer, give_event, memory as memory_of,
};
use crate::sys::{
    PJRT_Buffer_Bitcast_Args, PJRT_Buffer_CopyRawToHost_Args, PJRT_Buffer_CopyRawToHostFuture_Args,
    PJRT_Buffer_CopyToDevice_Args, PJRT_Buffer_CopyToMemory_Args,
    PJRT_Buffer_DonateWithControlDependency_Args, PJRT_Buffer_MemoryLayout,
    PJRT_Buffer_ToHostBuffer_Args,
};
use crate::views::{HostLayout, layout_request, read_layout};
use std::ptr::without_provenance;
use std::sync::Arc;
use tpu_emu::buffer::HostStrides;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::tensor::strided::{Strided, ordered_strides};
use tpu_emu::units::{Bytes, to_u64, to_usize};
use tpu_emu::{Error, Event, Result};

/// Copies the elements to client memory, row-major unless a layout is given. Without a
/// destination it only says how many bytes that takes.
#[doc(alias = "PJRT_Buffer_ToHostBuffer")]
pub(in crate::api) fn to_host_buffer(
    caller: &Caller,
    args: &mut PJRT_Buffer_ToHostBuffer_Args,
) -> Result<()> {
    let entry = buffer_of(args.src)?;
    let layout = host_strides(caller, args.host_layout, entry.buffer.spec())?;
    if args.dst.is_null() {
        args.dst_size = to_usize(entry.buffer.spec().host_size().0);
        return Ok(());
    }
    let target = caller.target(args.dst, args.dst_size)?;
    args.event = give_event(entry.buffer.get(layout, target)?);
    Ok(())
}

/// How the client wants the elements to lie.
fn host_strides(
    caller: &Caller,
    layout: *const PJRT_Buffer_MemoryLayout,
    spec: &ArraySpec,
) -> Result<Option<HostStrides>> {
    if layout.is_null() {
        return Ok(None);
    }
    let element = spec.dtype.host_bytes();
    let strides = match read_layout(caller, layout)? {
        HostLayout::Tiled(layout) if layout.tiles.is_empty() => {
            ordered_strides(&spec.dims, element, &layout.minor_to_major)?
        }
        HostLayout::Tiled(layout) => {
            let message = format!("elements in client memory with tiles: {layout}");
            return Err(Error::Unimplemented(message));
        }
        HostLayout::Strides(strides) if strides.len() == spec.dims.len() => strides,
        HostLayout::Strides(strides) => {
            let (given, rank) = (strides.len(), spec.dims.len());
            return Err(Error::bad(format!("{given} byte strides for {rank} dimensions")));
        }
    };
    let low = Strided { dims: &spec.dims, strides: &strides, element }.extent()?.low;
    if low < 0 {
        let message = format!("negative byte strides {strides:?} of a destination");
        return Err(Error::bad(message));
    }
    Ok(Some(HostStrides { strides, low }))
}

fn range(offset: i64, size: i64) -> Result<(Bytes, usize)> {
    let both = u64::try_from(offset).ok().zip(u64::try_from(size).ok());
    let (offset, size) = both.ok_or_else(|| {
        Error::bad(format!("{size} bytes from offset {offset}: neither may be negative"))
    })?;
    Ok((Bytes(offset), to_usize(size)))
}

/// Copies bytes as they are on the device.
pub(in crate::api) fn copy_raw_to_host(
    caller: &Caller,
    args: &mut PJRT_Buffer_CopyRawToHost_Args,
) -> Result<()> {
    let entry = buffer_of(args.buffer)?;
    let (offset, size) = range(args.offset, args.transfer_size)?;
    let target = caller.target(args.dst, size)?;
    args.event = give_event(entry.buffer.get_raw(offset, target)?);
    Ok(())
}

/// Copies bytes as they are on the device to a place that the client names later.
pub(in crate::api) fn copy_raw_to_host_future(
    _: &Caller,
    args: &mut PJRT_Buffer_CopyRawToHostFuture_Args,
) -> Result<()> {
    let entry = buffer_of(args.buffer)?;
    let (offset, size) = range(args.offset, args.transfer_size)?;
    let whole = entry.buffer.spec().padded;
    if offset.checked_add(Bytes(to_u64(size))).is_none_or(|end| end > whole) {
        let message = format!("{size} bytes from offset {offset}, outside of {whole} in memory");
        return Err(Error::bad(message));
    }
    let done = Event::pending();
    args.event = give_event(done.clone());
    args.callback_data = callback::give_raw_copy(Arc::clone(&entry.buffer), offset, size, done);
    args.future_ready_callback = Some(callback::destination_ready);
    Ok(())
}

/// A copy in a device's default memory.
pub(in crate::api) fn copy_to_device(
    _: &Caller,
    args: &mut PJRT_Buffer_CopyToDevice_Args,
) -> Result<()> {
    let entry = buffer_of(args.buffer)?;
    let default = device_of(args.dst_device)?.default_memory()?;
    let memory = memory_of(without_provenance(default))?;
    let copy = entry.buffer.copy_to(memory.memory)?;
    args.dst_buffer = give_buffer(Arc::new(copy), &memory);
    Ok(())
}

/// A copy in a memory.
pub(in crate::api) fn copy_to_memory(
    _: &Caller,
    args: &mut PJRT_Buffer_CopyToMemory_Args,
) -> Result<()> {
    let entry = buffer_of(args.buffer)?;
    let memory = memory_of(args.dst_memory)?;
    let copy = entry.buffer.copy_to(memory.memory)?;
    args.dst_buffer = give_buffer(Arc::new(copy), &memory);
    Ok(())
}

/// The same bytes under another type and shape; the first buffer keeps them too.
pub(in crate::api) fn bitcast(caller: &Caller, args: &mut PJRT_Buffer_Bitcast_Args) -> Result<()> {
    let entry = buffer_of(args.buffer)?;
    let memory = memory_of(without_provenance(entry.memory))?;
    let dtype = dtype::from_c(args.element_type)?;
    let dims = caller.axes(args.dims, args.num_dims, "dims")?;
    let layout = layout_request(caller, args.device_layout, dims, dtype.host_bytes())?;
    let spec = memory.machine.describe(dtype, dims, layout)?;
    args.out_buffer = give_buffer(Arc::new(entry.buffer.bitcast(spec)?), &memory);
    Ok(())
}

/// Moves the bytes to a new buffer that is ready once the client calls back.
pub(in crate::api) fn donate_with_control_dependency(
    _: &Caller,
    args: &mut PJRT_Buffer_DonateWithControlDependency_Args,
) -> Result<()> {
    let entry = buffer_of(args.buffer)?;
    let memory = memory_of(without_provenance(entry.memory))?;
    let dependency = Event::pending();
    let donated = entry.buffer.donate(&dependency)?;
    args.out_buffer = give_buffer(Arc::new(donated), &memory);
    args.callback_data = callback::give_dependency(dependency);
    args.dependency_ready_callback = Some(callback::dependency_ready);
    Ok(())
}
