//! Extension 12: arrays that go to a device of another process, and come from one.
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args};
use crate::dtype;
use crate::state::{
    Client, buffer, client, device as device_of, give_buffer, give_event, memory as memory_of,
};
use crate::sys::{
    PJRT_Buffer, PJRT_CrossHostTransfers_Extension, PJRT_Event, PJRT_Extension_Base,
    PJRT_Extension_Type, PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args,
    PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args,
    PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args,
};
use crate::views::layout_request;
use std::ptr::without_provenance;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tpu_emu::{Error, Result};

c_args!(
    PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args,
    PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args,
    PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args,
);

extension_functions! {
    PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers =>
        missing(PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args),
    PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers => call(
        super::receive, PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args, buffers
    ),
    PJRT_Transfers_PJRT_Client_CrossHostSendBuffers => call(
        super::send, PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args, send_events
    ),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_CrossHostTransfers_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_CrossHostTransfers_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_CrossHostTransfers,
            next,
        },
        PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers: Some(
            table::PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers,
        ),
        PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice: Some(copy_to_remote_device),
        PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers: Some(
            table::PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers,
        ),
        PJRT_Transfers_PJRT_Client_CrossHostSendBuffers: Some(
            table::PJRT_Transfers_PJRT_Client_CrossHostSendBuffers,
        ),
    })
}

/// Refuses the send of version 1, which cannot give an error. Its receiver gets one.
extern "C" fn copy_to_remote_device(_: *mut PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args) {
    tracing::warn!(
        "PJRT_Buffer_CopyToRemoteDevice is not implemented by the emulated TPU: arrays go to \
         other processes by CrossHostSendBuffers"
    );
}

/// Sends arrays to a device of another process.
fn send(
    caller: &Caller,
    args: &mut PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args,
) -> Result<()> {
    let (client, count) = (client(args.client)?, args.num_buffers);
    let handles = caller.slice(args.buffers.cast_const(), count, "buffers")?;
    let buffers = handles.iter().map(|&handle| Ok(Arc::clone(&buffer(handle)?.buffer)));
    let buffers = buffers.collect::<Result<Vec<_>>>()?;
    if buffers.is_empty() {
        return Ok(());
    }
    let to = partner(caller, &client, args.dst_global_device_ids, count)?;
    let keys = keys(caller, args.transfer_keys, count)?;
    let sent = client.machine.send_arrays(&buffers, to, &keys)?;
    let events: Vec<*mut PJRT_Event> = sent.into_iter().map(give_event).collect();
    caller.write_all(args.send_events, &events, "send_events")
}

/// Makes buffers for arrays that come from a device of another process.
fn receive(
    caller: &Caller,
    args: &mut PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args,
) -> Result<()> {
    let (client, count) = (client(args.client)?, args.num_shapes);
    let memory = memory_of(without_provenance(device_of(args.device)?.default_memory()?))?;
    let ranks = caller.slice(args.shape_num_dims.cast_const(), count, "shape_num_dims")?;
    let dims = caller.slice(args.num_dims.cast_const(), count, "num_dims")?;
    let types = caller.slice(args.element_types.cast_const(), count, "element_types")?;
    let layouts = caller.slice(args.layouts.cast_const(), count, "layouts")?;
    let specs = (0..count).map(|number| {
        let dims = caller.axes(dims[number], ranks[number], "num_dims")?;
        let dtype = dtype::from_c(types[number])?;
        let layout = layout_request(caller, layouts[number], dims, dtype.host_bytes())?;
        client.machine.describe(dtype, dims, layout)
    });
    let specs = specs.collect::<Result<Vec<_>>>()?;
    if specs.is_empty() {
        return Ok(());
    }
    let from = partner(caller, &client, args.src_global_device_ids, count)?;
    let keys = keys(caller, args.transfer_keys, count)?;
    let buffers = client.machine.receive_arrays(memory.memory, specs, from, &keys)?;
    let handles = buffers.into_iter().map(|buffer| give_buffer(buffer, &memory));
    let handles: Vec<*mut PJRT_Buffer> = handles.collect();
    caller.write_all(args.buffers, &handles, "buffers")
}

/// The device at the other end of a call, as an index into the topology's.
///
/// A client names one for each array, and the same each time. Its numbers have 4 bytes or 8,
/// which differs between versions; the first 4 of a number are the number in both.
fn partner(caller: &Caller, client: &Client, ids: *const i32, count: usize) -> Result<usize> {
    let ids = caller.slice(ids, count, "global_device_ids")?;
    let first = ids[0];
    let same = ids.iter().all(|&id| id == first);
    let wide = || ids.iter().enumerate().all(|(at, &id)| id == if at % 2 == 0 { first } else { 0 });
    if !same && !wide() {
        let message = "one call with arrays for several devices, or from several";
        return Err(Error::Unimplemented(message.to_owned()));
    }
    let known = client.by_id.get(&first).copied();
    known.ok_or_else(|| Error::bad(format!("the slice has no device with the number {first}")))
}

/// The keys of a call's arrays.
///
/// Version 2 has one number in the place of the pointer, the first time a small one: no pointer
/// is as low.
fn keys(caller: &Caller, keys: *const i64, count: usize) -> Result<Vec<i64>> {
    const LOWEST: usize = 1 << 16;
    static ONE_FOR_ALL: AtomicBool = AtomicBool::new(false);
    if keys.addr() < LOWEST {
        ONE_FOR_ALL.store(true, Ordering::Relaxed);
    }
    if ONE_FOR_ALL.load(Ordering::Relaxed) {
        let key = i64::try_from(keys.addr()).map_err(|_| Error::bad("a key below 0"))?;
        return Ok(vec![key; count]);
    }
    Ok(caller.slice(keys, count, "transfer_keys")?.to_vec())
}
