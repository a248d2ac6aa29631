//! Buffers: what they are, whether they are there, and their end.
use crate::boundary::{Caller, give_slice, id_of};
use crate::dtype;
use crate::state::{BUFFERS, buffer, give_event};
use crate::sys;
use crate::sys::{
    PJRT_Buffer_DecreaseExternalReferenceCount_Args, PJRT_Buffer_Delete_Args,
    PJRT_Buffer_Destroy_Args, PJRT_Buffer_Device_Args, PJRT_Buffer_Dimensions_Args,
    PJRT_Buffer_DynamicDimensionIndices_Args, PJRT_Buffer_ElementType_Args,
    PJRT_Buffer_GetMemoryLayout_Args, PJRT_Buffer_IncreaseExternalReferenceCount_Args,
    PJRT_Buffer_IsDeleted_Args, PJRT_Buffer_IsOnCpu_Args, PJRT_Buffer_Memory_Args,
    PJRT_Buffer_MemoryLayout, PJRT_Buffer_OnDeviceSizeInBytes_Args,
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, PJRT_Buffer_ReadyEvent_Args,
    PJRT_Buffer_UnpaddedDimensions_Args, PJRT_Buffer_UnsafePointer_Args,
};
use std::ptr::{null_mut, without_provenance_mut};
use tpu_emu::Result;
use tpu_emu::units::to_usize;

pub(super) mod make;
pub(super) mod transfer;

/// Deletes the buffer, if that was not done before, and ends its handle's life.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_Buffer_Destroy_Args) -> Result<()> {
    let entry = BUFFERS.remove(id_of(args.buffer, "buffer")?)?;
    entry.buffer.delete();
    Ok(())
}

/// Gives the bytes up; the handle stays.
pub(super) fn delete(_: &Caller, args: &mut PJRT_Buffer_Delete_Args) -> Result<()> {
    buffer(args.buffer)?.buffer.delete();
    Ok(())
}

/// Whether the bytes were given up.
pub(super) fn is_deleted(_: &Caller, args: &mut PJRT_Buffer_IsDeleted_Args) -> Result<()> {
    args.is_deleted = u8::from(buffer(args.buffer)?.buffer.is_deleted());
    Ok(())
}

/// The element type.
pub(super) fn element_type(_: &Caller, args: &mut PJRT_Buffer_ElementType_Args) -> Result<()> {
    args.type_ = dtype::to_c(buffer(args.buffer)?.buffer.spec().dtype);
    Ok(())
}

/// The shape, major axis first.
pub(super) fn dimensions(_: &Caller, args: &mut PJRT_Buffer_Dimensions_Args) -> Result<()> {
    give_slice(&buffer(args.buffer)?.view.dims, &mut args.dims, &mut args.num_dims);
    Ok(())
}

/// The shape; no axis of ours is dynamic.
pub(super) fn unpadded_dimensions(
    _: &Caller,
    args: &mut PJRT_Buffer_UnpaddedDimensions_Args,
) -> Result<()> {
    give_slice(&buffer(args.buffer)?.view.dims, &mut args.unpadded_dims, &mut args.num_dims);
    Ok(())
}

/// No axis of ours is dynamic.
pub(super) fn dynamic_dimension_indices(
    _: &Caller,
    args: &mut PJRT_Buffer_DynamicDimensionIndices_Args,
) -> Result<()> {
    buffer(args.buffer)?;
    give_slice(&[], &mut args.dynamic_dim_indices, &mut args.num_dynamic_dims);
    Ok(())
}

/// Order and tiles on the device.
pub(super) fn memory_layout(_: &Caller, args: &mut PJRT_Buffer_GetMemoryLayout_Args) -> Result<()> {
    let entry = buffer(args.buffer)?;
    let view = &entry.view;
    let tiled = sys::PJRT_Buffer_MemoryLayout_Tiled {
        struct_size: size_of::<sys::PJRT_Buffer_MemoryLayout_Tiled>(),
        extension_start: null_mut(),
        minor_to_major: view.minor_to_major.as_ptr(),
        minor_to_major_size: view.minor_to_major.len(),
        tile_dims: view.tile_dims.as_ptr(),
        tile_dim_sizes: view.tile_dim_sizes.as_ptr(),
        num_tiles: view.tile_dim_sizes.len(),
    };
    args.layout = PJRT_Buffer_MemoryLayout {
        struct_size: size_of::<PJRT_Buffer_MemoryLayout>(),
        extension_start: null_mut(),
        anon_1: sys::PJRT_Buffer_MemoryLayout__bindgen_ty_1 { tiled },
        type_: sys::PJRT_Buffer_MemoryLayout_Type::PJRT_Buffer_MemoryLayout_Type_Tiled,
    };
    Ok(())
}

/// Bytes the buffer takes in HBM, tile padding included.
#[doc(alias = "PJRT_Buffer_OnDeviceSizeInBytes")]
pub(super) fn size(_: &Caller, args: &mut PJRT_Buffer_OnDeviceSizeInBytes_Args) -> Result<()> {
    args.on_device_size_in_bytes = to_usize(buffer(args.buffer)?.buffer.spec().padded.0);
    Ok(())
}

/// The device it is on.
pub(super) fn device(_: &Caller, args: &mut PJRT_Buffer_Device_Args) -> Result<()> {
    args.device = without_provenance_mut(buffer(args.buffer)?.device);
    Ok(())
}

/// The memory it is in.
pub(super) fn memory(_: &Caller, args: &mut PJRT_Buffer_Memory_Args) -> Result<()> {
    args.memory = without_provenance_mut(buffer(args.buffer)?.memory);
    Ok(())
}

/// No: a client that reads it goes through a transfer, as on a real TPU.
pub(super) fn is_on_cpu(_: &Caller, args: &mut PJRT_Buffer_IsOnCpu_Args) -> Result<()> {
    buffer(args.buffer)?;
    args.is_on_cpu = 0;
    Ok(())
}

/// An event that ends when the bytes are there.
pub(super) fn ready_event(_: &Caller, args: &mut PJRT_Buffer_ReadyEvent_Args) -> Result<()> {
    args.event = give_event(buffer(args.buffer)?.buffer.awaited().clone());
    Ok(())
}

/// The bytes' address in this process: emulated HBM is ordinary memory.
pub(super) fn unsafe_pointer(_: &Caller, args: &mut PJRT_Buffer_UnsafePointer_Args) -> Result<()> {
    args.buffer_pointer = buffer(args.buffer)?.buffer.host_pointer()?.addr();
    Ok(())
}

/// As [`unsafe_pointer`].
pub(super) fn data_pointer(
    _: &Caller,
    args: &mut PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args,
) -> Result<()> {
    args.device_memory_ptr = buffer(args.buffer)?.buffer.host_pointer()?.cast();
    Ok(())
}

/// Keeps the bytes alive through a deletion.
pub(super) fn increase_external_references(
    _: &Caller,
    args: &mut PJRT_Buffer_IncreaseExternalReferenceCount_Args,
) -> Result<()> {
    buffer(args.buffer)?.buffer.increase_external_references()
}

/// Ends one increase.
pub(super) fn decrease_external_references(
    _: &Caller,
    args: &mut PJRT_Buffer_DecreaseExternalReferenceCount_Args,
) -> Result<()> {
    buffer(args.buffer)?.buffer.decrease_external_references()
}
