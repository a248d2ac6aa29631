//! Buffers that the client fills piece by piece.
use crate::attributes;
use crate::boundary::{Caller, handle_of, id_of};
use crate::dtype;
use crate::error;
use crate::state::{
    TRANSFERS, TransferEntry, client, give_buffer, give_event, memory as memory_of,
};
use crate::sys::{
    PJRT_AsyncHostToDeviceTransferManager, PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args,
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args,
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args,
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args,
    PJRT_AsyncHostToDeviceTransferManager_Device_Args,
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args,
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args,
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args,
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args,
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args,
};
use crate::views::{HostLayout, layout_request, read_layout};
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use tpu_emu::hbm::spec::LayoutRequest;
use tpu_emu::tensor::strided;
use tpu_emu::units::{Bytes, to_usize};
use tpu_emu::{Error, Event, Result};

fn transfer(handle: *const PJRT_AsyncHostToDeviceTransferManager) -> Result<Arc<TransferEntry>> {
    TRANSFERS.get(id_of(handle, "transfer manager")?)
}

fn index(number: i32) -> Result<usize> {
    usize::try_from(number).map_err(|_| Error::bad(format!("buffer {number} of a transfer")))
}

fn size(what: &str, number: i64) -> Result<Bytes> {
    let size = u64::try_from(number).map_err(|_| Error::bad(format!("{what} {number}")))?;
    Ok(Bytes(size))
}

/// Allocates the buffers; all of them or none.
pub(super) fn create(
    caller: &Caller,
    args: &mut PJRT_Client_CreateBuffersForAsyncHostToDevice_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let memory = memory_of(args.memory)?;
    let shapes =
        caller.slice(args.shape_specs.cast_const(), args.num_shape_specs, "shape_specs")?;
    let layouts = caller.slice(
        args.device_layouts.cast_const(),
        args.num_device_layouts,
        "device_layouts",
    )?;
    if !layouts.is_empty() && layouts.len() != shapes.len() {
        let (given, wanted) = (layouts.len(), shapes.len());
        return Err(Error::bad(format!("{given} layouts for {wanted} shapes")));
    }
    let specs = shapes.iter().enumerate().map(|(number, shape)| {
        let shape = caller.read(shape)?;
        let dims = caller.axes(shape.dims, shape.num_dims, "dims")?;
        let dtype = dtype::from_c(shape.element_type)?;
        let layout = layouts.get(number).copied().unwrap_or(std::ptr::null_mut());
        let layout = layout_request(caller, layout, dims, dtype.host_bytes())?;
        client.machine.describe(dtype, dims, layout)
    });
    let specs = specs.collect::<Result<Vec<_>>>()?;
    let manager = client.machine.begin_transfer(memory.memory, specs)?;
    args.transfer_manager = handle_of(TRANSFERS.insert(TransferEntry { manager, memory }));
    Ok(())
}

/// Ends a transfer; buffers that are not complete fail.
pub(super) fn destroy(
    _: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_Destroy_Args,
) -> Result<()> {
    TRANSFERS.remove(id_of(args.transfer_manager, "transfer manager")?).map(drop)
}

/// Writes a piece, as the bytes are to lie on the device.
pub(super) fn transfer_data(
    caller: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_TransferData_Args,
) -> Result<()> {
    let transfer = transfer(args.transfer_manager)?;
    let offset = size("offset", args.offset)?;
    let length = size("transfer_size", args.transfer_size)?;
    let bytes = caller.bytes(args.data, to_usize(length.0), "data")?;
    let last = args.is_last_transfer != 0;
    transfer.manager.write(index(args.buffer_index)?, offset, bytes, last)?;
    args.done_with_h2d_transfer = give_event(Event::ready());
    Ok(())
}

/// Writes a whole array in client form.
pub(super) fn transfer_literal(
    caller: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args,
) -> Result<()> {
    let transfer = transfer(args.transfer_manager)?;
    let dtype = dtype::from_c(args.shape_element_type)?;
    let dims = caller.axes(args.shape_dims, args.shape_num_dims, "shape_dims")?;
    let spec = transfer.memory.machine.describe(dtype, dims, LayoutRequest::Default)?;
    let size = to_usize(spec.host_size().0);
    let bytes = caller.bytes(args.data, size, "data")?;
    let number = index(args.buffer_index)?;
    match literal_strides(caller, args, &spec.dims, dtype.host_bytes())? {
        None => transfer.manager.write_array(number, &spec, bytes)?,
        Some(strides) => {
            let array = strided::Strided {
                dims: &spec.dims,
                strides: &strides,
                element: dtype.host_bytes(),
            };
            let mut dense = Vec::with_capacity(size);
            array.gather(bytes, 0, &mut dense)?;
            transfer.manager.write_array(number, &spec, &dense)?;
        }
    }
    args.done_with_h2d_transfer = give_event(Event::ready());
    Ok(())
}

/// The strides of a literal's layout; `None` for row-major.
fn literal_strides(
    caller: &Caller,
    args: &PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args,
    dims: &[u64],
    element: usize,
) -> Result<Option<Vec<i64>>> {
    if args.shape_layout.is_null() {
        return Ok(None);
    }
    match read_layout(caller, args.shape_layout)? {
        HostLayout::Tiled(layout) if layout.tiles.is_empty() => {
            strided::ordered_strides(dims, element, &layout.minor_to_major).map(Some)
        }
        HostLayout::Tiled(layout) => {
            Err(Error::Unimplemented(format!("a literal in client memory with tiles: {layout}")))
        }
        HostLayout::Strides(strides) => {
            let kind = "a literal in client memory with byte strides";
            Err(Error::Unimplemented(format!("{kind}: {strides:?}")))
        }
    }
}

/// Hands a buffer out.
pub(super) fn retrieve_buffer(
    _: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args,
) -> Result<()> {
    let transfer = transfer(args.transfer_manager)?;
    let buffer = transfer.manager.retrieve(index(args.buffer_index)?)?;
    args.buffer_out = give_buffer(buffer, &transfer.memory);
    Ok(())
}

/// The device that the buffers are on.
pub(super) fn device(
    _: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_Device_Args,
) -> Result<()> {
    let transfer = transfer(args.transfer_manager)?;
    args.device_out = without_provenance_mut(transfer.memory.devices[0]);
    Ok(())
}

/// How many buffers there are.
pub(super) fn buffer_count(
    _: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args,
) -> Result<()> {
    args.buffer_count = transfer(args.transfer_manager)?.manager.count();
    Ok(())
}

/// Bytes that a buffer takes on the device.
pub(super) fn buffer_size(
    _: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args,
) -> Result<()> {
    let transfer = transfer(args.transfer_manager)?;
    args.buffer_size = to_usize(transfer.manager.size(index(args.buffer_index)?)?.0);
    Ok(())
}

/// Ends a buffer with an error.
pub(super) fn set_buffer_error(
    caller: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args,
) -> Result<()> {
    let transfer = transfer(args.transfer_manager)?;
    let message = caller.text(args.error_message, args.error_message_size, "error_message")?;
    match error::foreign(args.error_code, message) {
        Ok(()) => Err(Error::bad("error_code 0 is no error")),
        Err(error) => transfer.manager.fail(index(args.buffer_index)?, error),
    }
}

/// Hears what the client calls the transfer; read to be checked, and not kept.
pub(super) fn add_metadata(
    caller: &Caller,
    args: &mut PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args,
) -> Result<()> {
    transfer(args.transfer_manager)?;
    attributes::from_c(caller, args.transfer_metadata, args.num_metadata).map(drop)
}
