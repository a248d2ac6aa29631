//! Live devices.
use crate::attributes::Attributes;
use crate::boundary::{Caller, give_slice, handle_of, id_of};
use crate::state::{Device, TRACKING, TrackingEntry, device};
use crate::sys::{
    PJRT_AsyncTrackingEvent_Destroy_Args, PJRT_Device_AddressableMemories_Args,
    PJRT_Device_Attributes, PJRT_Device_ClearMemoryStats_Args,
    PJRT_Device_CreateAsyncTrackingEvent_Args, PJRT_Device_DefaultMemory_Args,
    PJRT_Device_GetAttributes_Args, PJRT_Device_GetDescription_Args,
    PJRT_Device_IsAddressable_Args, PJRT_Device_LocalHardwareId_Args, PJRT_Device_MemoryStats_Args,
    PJRT_Device_PoisonExecution_Args,
};
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use tpu_emu::hbm::HeapStats;
use tpu_emu::units::Bytes;
use tpu_emu::{Memory, MemoryKind, Result};

/// The device's description.
pub(super) fn description(_: &Caller, args: &mut PJRT_Device_GetDescription_Args) -> Result<()> {
    args.device_description = handle_of(device(args.device)?.description);
    Ok(())
}

/// Whether this process can use it.
pub(super) fn is_addressable(_: &Caller, args: &mut PJRT_Device_IsAddressable_Args) -> Result<()> {
    args.is_addressable = u8::from(device(args.device)?.addressable);
    Ok(())
}

/// The number among the devices of its process.
pub(super) fn local_hardware_id(
    _: &Caller,
    args: &mut PJRT_Device_LocalHardwareId_Args,
) -> Result<()> {
    let device = device(args.device)?;
    let info = &device.machine.topology().devices()[device.index];
    args.local_hardware_id = info.local_hardware_id;
    Ok(())
}

/// The memories that it can address, the default one first.
pub(super) fn addressable_memories(
    _: &Caller,
    args: &mut PJRT_Device_AddressableMemories_Args,
) -> Result<()> {
    let device = device(args.device)?;
    args.memories = device.memories().as_ptr().cast();
    args.num_memories = device.memories().len();
    Ok(())
}

/// HBM.
pub(super) fn default_memory(_: &Caller, args: &mut PJRT_Device_DefaultMemory_Args) -> Result<()> {
    let device = device(args.device)?;
    args.memory = without_provenance_mut(device.default_memory()?);
    Ok(())
}

fn hbm_stats(device: &Arc<Device>) -> Result<HeapStats> {
    device.default_memory()?;
    Ok(device.machine.memory_stats(hbm(device)))
}

fn hbm(device: &Device) -> Memory {
    Memory { device: device.index, kind: MemoryKind::Device }
}

/// How full the device's HBM is, in the fields that a real TPU sets.
pub(super) fn memory_stats(_: &Caller, args: &mut PJRT_Device_MemoryStats_Args) -> Result<()> {
    let stats = hbm_stats(&device(args.device)?)?;
    let signed = |size: Bytes| size.0.cast_signed();
    args.bytes_in_use = signed(stats.bytes_in_use);
    let set = |value: &mut i64, is_set: &mut u8, to: i64| (*value, *is_set) = (to, 1);
    set(
        &mut args.peak_bytes_in_use,
        &mut args.peak_bytes_in_use_is_set,
        signed(stats.peak_bytes_in_use),
    );
    set(&mut args.num_allocs, &mut args.num_allocs_is_set, stats.num_allocs.cast_signed());
    set(
        &mut args.largest_alloc_size,
        &mut args.largest_alloc_size_is_set,
        signed(stats.largest_alloc_size),
    );
    set(&mut args.bytes_limit, &mut args.bytes_limit_is_set, signed(stats.bytes_limit));
    set(&mut args.bytes_reserved, &mut args.bytes_reserved_is_set, signed(stats.bytes_reserved));
    set(
        &mut args.peak_bytes_reserved,
        &mut args.peak_bytes_reserved_is_set,
        signed(stats.peak_bytes_reserved),
    );
    set(
        &mut args.bytes_reservable_limit,
        &mut args.bytes_reservable_limit_is_set,
        signed(stats.bytes_reservable_limit),
    );
    set(
        &mut args.largest_free_block_bytes,
        &mut args.largest_free_block_bytes_is_set,
        signed(stats.largest_free_block_bytes),
    );
    set(
        &mut args.peak_allocated_bytes,
        &mut args.peak_allocated_bytes_is_set,
        signed(stats.peak_bytes_in_use),
    );
    (args.pool_bytes_is_set, args.peak_pool_bytes_is_set) = (0, 0);
    Ok(())
}

/// Forgets the peaks; what is in use stays.
pub(super) fn clear_memory_stats(
    _: &Caller,
    args: &mut PJRT_Device_ClearMemoryStats_Args,
) -> Result<()> {
    let device = device(args.device)?;
    device.default_memory()?;
    device.machine.heap(hbm(&device)).reset_peak();
    Ok(())
}

/// Names and values of the device's properties. They live as long as the device.
pub(super) fn attributes(_: &Caller, args: &mut PJRT_Device_GetAttributes_Args) -> Result<()> {
    let device = device(args.device)?;
    give_slice(device.attributes.as_slice(), &mut args.attributes, &mut args.num_attributes);
    args.device_attributes = std::ptr::from_ref::<Attributes>(&device.attributes).cast_mut().cast();
    args.attributes_deleter = Some(keep_attributes);
    Ok(())
}

/// The attributes belong to the device, so giving them back does nothing.
extern "C" fn keep_attributes(_: *mut PJRT_Device_Attributes) {}

/// Fails an execution that is under way. There are no executions yet, so there is none to fail,
/// and the answer says so.
pub(super) fn poison_execution(
    caller: &Caller,
    args: &mut PJRT_Device_PoisonExecution_Args,
) -> Result<()> {
    device(args.device)?.default_memory()?;
    caller.text(args.error_message, args.error_message_size, "error_message")?;
    args.poisoned = 0;
    Ok(())
}

/// Remembers that the client waits for something on this device.
pub(super) fn create_async_tracking_event(
    caller: &Caller,
    args: &mut PJRT_Device_CreateAsyncTrackingEvent_Args,
) -> Result<()> {
    device(args.device)?;
    let description = caller.text(args.description, args.description_size, "description")?;
    args.event = handle_of(TRACKING.insert(TrackingEntry { description }));
    Ok(())
}

/// The client waits no more.
pub(super) fn destroy_async_tracking_event(
    _: &Caller,
    args: &mut PJRT_AsyncTrackingEvent_Destroy_Args,
) -> Result<()> {
    TRACKING.remove(id_of(args.event, "async tracking event")?).map(drop)
}
