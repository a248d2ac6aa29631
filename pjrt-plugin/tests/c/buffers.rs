//! Arrays to a device and back.
// UNSAFETY: reads the member of a union that its type names.
use super::{Client, Failure, call, list, wait};
use pjrt_sys::{
    PJRT_Buffer, PJRT_Buffer_MemoryLayout, PJRT_Buffer_MemoryLayout__bindgen_ty_1,
    PJRT_Buffer_MemoryLayout_Strides, PJRT_Buffer_MemoryLayout_Tiled,
    PJRT_Buffer_MemoryLayout_Type, PJRT_Buffer_Type, PJRT_Memory,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub(crate) const F32: PJRT_Buffer_Type = PJRT_Buffer_Type::PJRT_Buffer_Type_F32;
pub(crate) const U8: PJRT_Buffer_Type = PJRT_Buffer_Type::PJRT_Buffer_Type_U8;
pub(crate) const S32: PJRT_Buffer_Type = PJRT_Buffer_Type::PJRT_Buffer_Type_S32;

/// An array that a test puts on a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array<'a> {
    pub(crate) dtype: PJRT_Buffer_Type,
    pub(crate) dims: &'a [i64],
    /// The first element's address; the strides may lead to both sides of it.
    pub(crate) data: *const u8,
    pub(crate) strides: &'a [i64],
    pub(crate) semantics: u32,
    pub(crate) layout: *mut PJRT_Buffer_MemoryLayout,
}

impl<'a> Array<'a> {
    /// Dense and row-major.
    pub(crate) fn dense(dtype: PJRT_Buffer_Type, dims: &'a [i64], bytes: &'a [u8]) -> Self {
        let data = bytes.as_ptr();
        Self { dtype, dims, data, strides: &[], semantics: 0, layout: null_mut() }
    }

    pub(crate) fn put(
        self,
        client: &Client,
        memory: *mut PJRT_Memory,
    ) -> Result<*mut PJRT_Buffer, Failure> {
        let put = call!(PJRT_Client_BufferFromHostBuffer,
            client: client.raw,
            data: self.data.cast(),
            type_: self.dtype,
            dims: self.dims.as_ptr(),
            num_dims: self.dims.len(),
            byte_strides: self.strides.as_ptr(),
            num_byte_strides: self.strides.len(),
            host_buffer_semantics: pjrt_sys::PJRT_HostBufferSemantics(self.semantics),
            memory: memory,
            device_layout: self.layout,
        )?;
        wait(put.done_with_host_buffer).unwrap();
        Ok(put.buffer)
    }
}

/// A vector of bytes on a device.
pub(crate) fn put_bytes(
    client: &Client,
    memory: *mut PJRT_Memory,
    bytes: &[u8],
) -> *mut PJRT_Buffer {
    Array::dense(U8, &[bytes.len().try_into().unwrap()], bytes).put(client, memory).unwrap()
}

/// A buffer of a device whose bytes are whatever was there.
pub(crate) fn uninitialized(
    client: &Client,
    memory: *mut PJRT_Memory,
    dtype: PJRT_Buffer_Type,
    dims: &[i64],
) -> Result<*mut PJRT_Buffer, Failure> {
    let made = call!(PJRT_Client_CreateUninitializedBuffer,
        client: client.raw,
        shape_dims: dims.as_ptr(),
        shape_num_dims: dims.len(),
        shape_element_type: dtype,
        memory: memory,
    )?;
    Ok(made.buffer)
}

/// The elements, row-major.
pub(crate) fn get(buffer: *mut PJRT_Buffer) -> Result<Vec<u8>, Failure> {
    let size = call!(PJRT_Buffer_ToHostBuffer, src: buffer)?.dst_size;
    let mut bytes = vec![0_u8; size.max(1)];
    let read = call!(PJRT_Buffer_ToHostBuffer,
        src: buffer, dst: bytes.as_mut_ptr().cast(), dst_size: size)?;
    wait(read.event)?;
    bytes.truncate(size);
    Ok(bytes)
}

pub(crate) fn delete(buffer: *mut PJRT_Buffer) {
    call!(PJRT_Buffer_Delete, buffer: buffer).unwrap();
}

pub(crate) fn destroy(buffer: *mut PJRT_Buffer) {
    call!(PJRT_Buffer_Destroy, buffer: buffer).unwrap();
}

pub(crate) fn is_deleted(buffer: *mut PJRT_Buffer) -> bool {
    call!(PJRT_Buffer_IsDeleted, buffer: buffer).unwrap().is_deleted != 0
}

pub(crate) fn dims(buffer: *mut PJRT_Buffer) -> Vec<i64> {
    let args = call!(PJRT_Buffer_Dimensions, buffer: buffer).unwrap();
    list(args.dims, args.num_dims)
}

/// Where the bytes are in this process.
pub(crate) fn pointer(buffer: *mut PJRT_Buffer) -> Result<*mut c_void, Failure> {
    let args = call!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, buffer: buffer)?;
    Ok(args.device_memory_ptr)
}

/// A layout as jaxlib passes it: the struct's own size says nothing.
pub(crate) fn ordered(minor_to_major: &[i64]) -> PJRT_Buffer_MemoryLayout {
    tiled(minor_to_major, &[], &[])
}

pub(crate) fn tiled(
    minor_to_major: &[i64],
    extents: &[i64],
    sizes: &[usize],
) -> PJRT_Buffer_MemoryLayout {
    let tiled = PJRT_Buffer_MemoryLayout_Tiled {
        struct_size: 0,
        extension_start: null_mut(),
        minor_to_major: minor_to_major.as_ptr(),
        minor_to_major_size: minor_to_major.len(),
        tile_dims: extents.as_ptr(),
        tile_dim_sizes: sizes.as_ptr(),
        num_tiles: sizes.len(),
    };
    PJRT_Buffer_MemoryLayout {
        struct_size: 0,
        extension_start: null_mut(),
        anon_1: PJRT_Buffer_MemoryLayout__bindgen_ty_1 { tiled },
        type_: PJRT_Buffer_MemoryLayout_Type::PJRT_Buffer_MemoryLayout_Type_Tiled,
    }
}

pub(crate) fn strided(strides: &[i64]) -> PJRT_Buffer_MemoryLayout {
    let strides = PJRT_Buffer_MemoryLayout_Strides {
        struct_size: 0,
        extension_start: null_mut(),
        byte_strides: strides.as_ptr(),
        num_byte_strides: strides.len(),
    };
    PJRT_Buffer_MemoryLayout {
        struct_size: 0,
        extension_start: null_mut(),
        anon_1: PJRT_Buffer_MemoryLayout__bindgen_ty_1 { strides },
        type_: PJRT_Buffer_MemoryLayout_Type::PJRT_Buffer_MemoryLayout_Type_Strides,
    }
}

/// Reads a buffer into a layout of client memory; bytes that nobody writes stay `0xee`.
pub(crate) fn get_as(
    buffer: *mut PJRT_Buffer,
    layout: &mut PJRT_Buffer_MemoryLayout,
    size: usize,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0xee_u8; size.max(1)];
    let read = call!(PJRT_Buffer_ToHostBuffer,
        src: buffer, host_layout: layout, dst: bytes.as_mut_ptr().cast(), dst_size: size)?;
    wait(read.event)?;
    bytes.truncate(size);
    Ok(bytes)
}

/// A null list, for arguments that take one.
pub(crate) fn none<T>() -> *const T {
    null()
}

/// The order of the axes in a layout that the library gave out, and its tiles.
pub(crate) fn tiles_of(layout: &PJRT_Buffer_MemoryLayout) -> (Vec<i64>, Vec<Vec<i64>>) {
    assert_eq!(layout.type_, PJRT_Buffer_MemoryLayout_Type::PJRT_Buffer_MemoryLayout_Type_Tiled);
    // SAFETY: the type says that it is tiled.
    let tiled = unsafe { layout.anon_1.tiled };
    let sizes = list(tiled.tile_dim_sizes, tiled.num_tiles);
    let mut extents = list(tiled.tile_dims, sizes.iter().sum()).into_iter();
    let tiles = sizes.iter().map(|&size| extents.by_ref().take(size).collect()).collect();
    (list(tiled.minor_to_major, tiled.minor_to_major_size), tiles)
}
