//! Properties of a slice: how many there are of what, bounds, routing.
use super::{ask, fill};
use crate::boundary::Caller;
use crate::sys::{
    PJRT_TpuTopology_ChipBounds_Args, PJRT_TpuTopology_ChipCount_Args,
    PJRT_TpuTopology_ChipsPerProcess_Args, PJRT_TpuTopology_ChipsPerProcessBounds_Args,
    PJRT_TpuTopology_CoreCount_Args, PJRT_TpuTopology_CoreCountPerChip_Args,
    PJRT_TpuTopology_CoreCountPerProcess_Args, PJRT_TpuTopology_GetRoutingStrategy_Args,
    PJRT_TpuTopology_HasLimitedIciConnectivity_Args,
    PJRT_TpuTopology_IsEnhancedBarrierEnabled_Args, PJRT_TpuTopology_IsSubsliceTopology_Args,
    PJRT_TpuTopology_LogiDeviceCount_Args, PJRT_TpuTopology_LogiDeviceCountPerChip_Args,
    PJRT_TpuTopology_LogiDeviceCountPerProcess_Args, PJRT_TpuTopology_ProcessBounds_Args,
    PJRT_TpuTopology_ProcessCount_Args,
};
use tpu_emu::Result;

/// Whether the slice was cut out of a larger one.
pub(super) fn is_subslice_topology(
    _: &Caller,
    args: &mut PJRT_TpuTopology_IsSubsliceTopology_Args,
) -> Result<()> {
    args.is_subslice_topology =
        ask(args.topology, |chips| Ok(u8::from(chips.is_subslice_topology())))?;
    Ok(())
}

/// Whether the barrier between chips is the newer one.
pub(super) fn is_enhanced_barrier_enabled(
    _: &Caller,
    args: &mut PJRT_TpuTopology_IsEnhancedBarrierEnabled_Args,
) -> Result<()> {
    args.is_enhanced_barrier_enabled =
        ask(args.topology, |chips| Ok(u8::from(chips.is_enhanced_barrier_enabled())))?;
    Ok(())
}

/// Whether the network does not join every pair of chips directly.
pub(super) fn has_limited_ici_connectivity(
    _: &Caller,
    args: &mut PJRT_TpuTopology_HasLimitedIciConnectivity_Args,
) -> Result<()> {
    args.has_limited_ici_connectivity =
        ask(args.topology, |chips| Ok(u8::from(chips.has_limited_ici_connectivity())))?;
    Ok(())
}

/// Processes of the slice.
pub(super) fn process_count(
    _: &Caller,
    args: &mut PJRT_TpuTopology_ProcessCount_Args,
) -> Result<()> {
    args.process_count = ask(args.topology, |chips| Ok(chips.process_count()))?;
    Ok(())
}

/// Chips of a process.
pub(super) fn chips_per_process(
    _: &Caller,
    args: &mut PJRT_TpuTopology_ChipsPerProcess_Args,
) -> Result<()> {
    args.chips_per_process = ask(args.topology, |chips| Ok(chips.chips_per_process()))?;
    Ok(())
}

/// TensorCores of a chip.
pub(super) fn core_count_per_chip(
    _: &Caller,
    args: &mut PJRT_TpuTopology_CoreCountPerChip_Args,
) -> Result<()> {
    args.core_count_of_default_type_per_chip =
        ask(args.topology, |chips| Ok(chips.core_count_per_chip()))?;
    Ok(())
}

/// Chips of the slice.
pub(super) fn chip_count(_: &Caller, args: &mut PJRT_TpuTopology_ChipCount_Args) -> Result<()> {
    args.chip_count = ask(args.topology, |chips| Ok(chips.chip_count()))?;
    Ok(())
}

/// TensorCores of the slice.
pub(super) fn core_count(_: &Caller, args: &mut PJRT_TpuTopology_CoreCount_Args) -> Result<()> {
    args.core_count_of_default_type = ask(args.topology, |chips| Ok(chips.core_count()))?;
    Ok(())
}

/// Devices of a process.
pub(super) fn logical_device_count_per_process(
    _: &Caller,
    args: &mut PJRT_TpuTopology_LogiDeviceCountPerProcess_Args,
) -> Result<()> {
    args.logical_device_count_of_default_type_per_process =
        ask(args.topology, |chips| Ok(chips.logical_device_count_per_process()))?;
    Ok(())
}

/// Devices of the slice.
pub(super) fn logical_device_count(
    _: &Caller,
    args: &mut PJRT_TpuTopology_LogiDeviceCount_Args,
) -> Result<()> {
    args.logical_device_count_of_default_type =
        ask(args.topology, |chips| Ok(chips.logical_device_count()))?;
    Ok(())
}

/// Devices of a chip.
pub(super) fn logical_device_count_per_chip(
    _: &Caller,
    args: &mut PJRT_TpuTopology_LogiDeviceCountPerChip_Args,
) -> Result<()> {
    args.logical_device_count_of_default_type_per_chip =
        ask(args.topology, |chips| Ok(chips.logical_device_count_per_chip()))?;
    Ok(())
}

/// TensorCores of a process.
pub(super) fn core_count_per_process(
    _: &Caller,
    args: &mut PJRT_TpuTopology_CoreCountPerProcess_Args,
) -> Result<()> {
    args.core_count_of_default_type_per_process =
        ask(args.topology, |chips| Ok(chips.core_count_per_process()))?;
    Ok(())
}

/// Chips along each axis of a process.
pub(super) fn chips_per_process_bounds(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ChipsPerProcessBounds_Args,
) -> Result<()> {
    let bounds = ask(args.topology, |chips| Ok(chips.chips_per_process_bounds()))?;
    let (array, room) = (args.chip_per_process_bounds, args.chip_per_process_bounds_max_dims);
    args.chip_per_process_bounds_num_dims =
        fill(caller, &bounds, array, room, "chip_per_process_bounds")?;
    Ok(())
}

/// Chips along each axis.
pub(super) fn chip_bounds(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ChipBounds_Args,
) -> Result<()> {
    let bounds = ask(args.topology, |chips| Ok(chips.chip_bounds()))?;
    let (array, room) = (args.chip_bounds, args.chip_bounds_max_dims);
    args.chip_bounds_num_dims = fill(caller, &bounds, array, room, "chip_bounds")?;
    Ok(())
}

/// Processes along each axis.
pub(super) fn process_bounds(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ProcessBounds_Args,
) -> Result<()> {
    let bounds = ask(args.topology, |chips| Ok(chips.process_bounds()))?;
    let (array, room) = (args.process_bounds, args.process_bounds_max_dims);
    args.process_bounds_num_dims = fill(caller, &bounds, array, room, "process_bounds")?;
    Ok(())
}

/// How the network is routed: `mesh` or `nhop`.
///
/// The interface does not say whose the text is. A caller that brings room for it gets a copy
/// there; one that brings a null pointer gets ours, which is never freed. It ends with no NUL.
pub(super) fn routing_strategy(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_GetRoutingStrategy_Args,
) -> Result<()> {
    let text = ask(args.topology, |chips| Ok(chips.routing_strategy()))?;
    if args.routing_strategy.is_null() {
        args.routing_strategy = text.as_ptr().cast_mut().cast();
        args.routing_strategy_len = text.len();
        return Ok(());
    }
    let (array, room) = (args.routing_strategy.cast::<u8>(), args.routing_strategy_len);
    args.routing_strategy_len = fill(caller, text.as_bytes(), array, room, "routing_strategy")?;
    Ok(())
}
