//! Which chip, device and process is where.
use super::{ask, fill};
use crate::boundary::Caller;
use crate::sys::{
    PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args, PJRT_TpuTopology_ChipIdFromCoord_Args,
    PJRT_TpuTopology_IsReachableOverLimitedIci_Args,
    PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args,
    PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args, PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args,
    PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args,
    PJRT_TpuTopology_ProcessCoordFromId_Args, PJRT_TpuTopology_ProcessIds_Args,
};
use tpu_emu::{Error, Result};

/// Whether one chip reaches another directly over a network of limited routing.
pub(super) fn is_reachable_over_limited_ici(
    _: &Caller,
    args: &mut PJRT_TpuTopology_IsReachableOverLimitedIci_Args,
) -> Result<()> {
    let (source, target) = (args.source_chip_id, args.dest_chip_id);
    let reachable =
        ask(args.topology, |chips| chips.is_reachable_over_limited_ici(source, target))?;
    args.is_reachable_over_limited_ici = u8::from(reachable);
    Ok(())
}

/// The ids of all processes.
pub(super) fn process_ids(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ProcessIds_Args,
) -> Result<()> {
    let ids: Vec<i32> = ask(args.topology, |chips| Ok(chips.process_ids().collect()))?;
    let room = room("max_process_ids", args.max_process_ids)?;
    args.num_process_ids = fill(caller, &ids, args.process_ids, room, "process_ids")?;
    Ok(())
}

/// The ids of a process's devices.
pub(super) fn logical_device_ids_on_process(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args,
) -> Result<()> {
    let process = args.process_id;
    let ids = ask(args.topology, |chips| chips.logical_device_ids_on_process(process))?;
    let (array, what) =
        (args.logical_device_of_default_type_ids, "logical_device_of_default_type_ids");
    let room = room("max_logical_device_ids", args.max_logical_device_ids)?;
    args.num_logical_device_ids = fill(caller, &ids, array, room, what)?;
    Ok(())
}

/// The process of a chip, and the chip's number on it.
pub(super) fn proc_id_and_idx_on_proc_for_chip(
    _: &Caller,
    args: &mut PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args,
) -> Result<()> {
    let chip = args.chip_id;
    (args.process_id, args.index_on_process) =
        ask(args.topology, |chips| chips.process_of_chip(chip))?;
    Ok(())
}

/// The process of a device, and the device's number on it.
pub(super) fn proc_id_and_idx_on_proc_for_logi_device(
    _: &Caller,
    args: &mut PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args,
) -> Result<()> {
    let device = args.device_id;
    (args.process_id, args.index_on_process) =
        ask(args.topology, |chips| chips.process_of_logical_device(device))?;
    Ok(())
}

/// The place of a process among the processes.
pub(super) fn process_coord_from_id(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ProcessCoordFromId_Args,
) -> Result<()> {
    let process = args.process_id;
    let coords = ask(args.topology, |chips| chips.process_coord_from_id(process))?;
    args.coords_num_dims = fill(caller, &coords, args.coords, args.coords_max_dims, "coords")?;
    Ok(())
}

/// The id of the chip at a place.
pub(super) fn chip_id_from_coord(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ChipIdFromCoord_Args,
) -> Result<()> {
    let coords = caller.axes(args.coords, args.coords_num_dims, "coords")?;
    args.chip_id = ask(args.topology, |chips| chips.chip_id_from_coord(coords))?;
    Ok(())
}

/// The id of a device, by its chip's place and its number on the chip.
pub(super) fn logical_device_id_from_chip_coord_and_idx(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args,
) -> Result<()> {
    let coords = caller.axes(args.chip_coords, args.chip_coords_num_dims, "chip_coords")?;
    let index = args.logical_device_index_on_chip;
    args.logical_device_of_default_type_id =
        ask(args.topology, |chips| chips.logical_device_id(coords, index))?;
    Ok(())
}

/// The place of a device's chip, and the device's number on it.
pub(super) fn chip_coord_and_idx_for_logi_device(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args,
) -> Result<()> {
    let device = args.device_id;
    let (coords, index) = ask(args.topology, |chips| chips.chip_of_logical_device(device))?;
    let (array, room) = (args.chip_coords, args.chip_coords_max_dims);
    args.chip_coords_num_dims = fill(caller, &coords, array, room, "chip_coords")?;
    args.device_index_on_chip = index;
    Ok(())
}

fn room(what: &'static str, max: i32) -> Result<usize> {
    usize::try_from(max).map_err(|_| Error::bad(format!("{what} is {max}")))
}
