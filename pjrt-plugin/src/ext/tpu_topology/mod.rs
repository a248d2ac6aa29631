//! Extension 16: a topology as chips, cores, processes and coordinates.
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args};
use crate::state::topology;
use crate::sys::{
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_TopologyDescription, PJRT_TpuTopology_Extension,
};
use tpu_emu::topology::Chips;
use tpu_emu::{Error, Result};

mod places;
mod properties;
mod slices;

c_args!(
    PJRT_TpuTopology_ChipBounds_Args,
    PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args,
    PJRT_TpuTopology_ChipCount_Args,
    PJRT_TpuTopology_ChipIdFromCoord_Args,
    PJRT_TpuTopology_ChipsPerProcess_Args,
    PJRT_TpuTopology_ChipsPerProcessBounds_Args,
    PJRT_TpuTopology_CoreCount_Args,
    PJRT_TpuTopology_CoreCountPerChip_Args,
    PJRT_TpuTopology_CoreCountPerProcess_Args,
    PJRT_TpuTopology_GetDefaultPlatformConfig_Args,
    PJRT_TpuTopology_GetRoutingStrategy_Args,
    PJRT_TpuTopology_GetSliceConfig_Args,
    PJRT_TpuTopology_GetSliceConfigs_Args,
    PJRT_TpuTopology_HasLimitedIciConnectivity_Args,
    PJRT_TpuTopology_IsEnhancedBarrierEnabled_Args,
    PJRT_TpuTopology_IsReachableOverLimitedIci_Args,
    PJRT_TpuTopology_IsSubsliceTopology_Args,
    PJRT_TpuTopology_LogiDeviceCount_Args,
    PJRT_TpuTopology_LogiDeviceCountPerChip_Args,
    PJRT_TpuTopology_LogiDeviceCountPerProcess_Args,
    PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args,
    PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args,
    PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args,
    PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args,
    PJRT_TpuTopology_ProcessBounds_Args,
    PJRT_TpuTopology_ProcessCoordFromId_Args,
    PJRT_TpuTopology_ProcessCount_Args,
    PJRT_TpuTopology_ProcessIds_Args,
    PJRT_TpuTopology_ReplaceHostBounds_Args,
    PJRT_TpuTopology_Subslice_Args,
    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args,
);

extension_functions! {
    PJRT_TpuTopology_Subslice =>
        call(super::slices::subslice, PJRT_TpuTopology_Subslice_Args, subslice_topology),
    PJRT_TpuTopology_IsSubsliceTopology => call(
        super::properties::is_subslice_topology,
        PJRT_TpuTopology_IsSubsliceTopology_Args,
        is_subslice_topology
    ),
    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId => call(
        super::slices::subslice_device_id_from_full_device_id,
        PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args,
        subslice_device_id
    ),
    PJRT_TpuTopology_ReplaceHostBounds => call(
        super::slices::replace_host_bounds,
        PJRT_TpuTopology_ReplaceHostBounds_Args,
        new_topology
    ),
    PJRT_TpuTopology_IsEnhancedBarrierEnabled => call(
        super::properties::is_enhanced_barrier_enabled,
        PJRT_TpuTopology_IsEnhancedBarrierEnabled_Args,
        is_enhanced_barrier_enabled
    ),
    PJRT_TpuTopology_HasLimitedIciConnectivity => call(
        super::properties::has_limited_ici_connectivity,
        PJRT_TpuTopology_HasLimitedIciConnectivity_Args,
        has_limited_ici_connectivity
    ),
    PJRT_TpuTopology_IsReachableOverLimitedIci => call(
        super::places::is_reachable_over_limited_ici,
        PJRT_TpuTopology_IsReachableOverLimitedIci_Args,
        is_reachable_over_limited_ici
    ),
    PJRT_TpuTopology_ProcessCount =>
        call(super::properties::process_count, PJRT_TpuTopology_ProcessCount_Args, process_count),
    PJRT_TpuTopology_ChipsPerProcess => call(
        super::properties::chips_per_process,
        PJRT_TpuTopology_ChipsPerProcess_Args,
        chips_per_process
    ),
    PJRT_TpuTopology_CoreCountPerChip => call(
        super::properties::core_count_per_chip,
        PJRT_TpuTopology_CoreCountPerChip_Args,
        core_count_of_default_type_per_chip
    ),
    PJRT_TpuTopology_ChipCount =>
        call(super::properties::chip_count, PJRT_TpuTopology_ChipCount_Args, chip_count),
    PJRT_TpuTopology_CoreCount => call(
        super::properties::core_count,
        PJRT_TpuTopology_CoreCount_Args,
        core_count_of_default_type
    ),
    PJRT_TpuTopology_LogiDeviceCountPerProcess => call(
        super::properties::logical_device_count_per_process,
        PJRT_TpuTopology_LogiDeviceCountPerProcess_Args,
        logical_device_count_of_default_type_per_process
    ),
    PJRT_TpuTopology_LogiDeviceCount => call(
        super::properties::logical_device_count,
        PJRT_TpuTopology_LogiDeviceCount_Args,
        logical_device_count_of_default_type
    ),
    PJRT_TpuTopology_LogiDeviceCountPerChip => call(
        super::properties::logical_device_count_per_chip,
        PJRT_TpuTopology_LogiDeviceCountPerChip_Args,
        logical_device_count_of_default_type_per_chip
    ),
    PJRT_TpuTopology_CoreCountPerProcess => call(
        super::properties::core_count_per_process,
        PJRT_TpuTopology_CoreCountPerProcess_Args,
        core_count_of_default_type_per_process
    ),
    PJRT_TpuTopology_ProcessIds =>
        call(super::places::process_ids, PJRT_TpuTopology_ProcessIds_Args, num_process_ids),
    PJRT_TpuTopology_LogiDeviceIdsOnProcess => call(
        super::places::logical_device_ids_on_process,
        PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args,
        num_logical_device_ids
    ),
    PJRT_TpuTopology_ProcIdAndIdxOnProcForChip => call(
        super::places::proc_id_and_idx_on_proc_for_chip,
        PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args,
        index_on_process
    ),
    PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice => call(
        super::places::proc_id_and_idx_on_proc_for_logi_device,
        PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args,
        index_on_process
    ),
    PJRT_TpuTopology_ProcessCoordFromId => call(
        super::places::process_coord_from_id,
        PJRT_TpuTopology_ProcessCoordFromId_Args,
        coords_num_dims
    ),
    PJRT_TpuTopology_ChipIdFromCoord =>
        call(super::places::chip_id_from_coord, PJRT_TpuTopology_ChipIdFromCoord_Args, chip_id),
    PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx => call(
        super::places::logical_device_id_from_chip_coord_and_idx,
        PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args,
        logical_device_of_default_type_id
    ),
    PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice => call(
        super::places::chip_coord_and_idx_for_logi_device,
        PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args,
        device_index_on_chip
    ),
    PJRT_TpuTopology_ChipsPerProcessBounds => call(
        super::properties::chips_per_process_bounds,
        PJRT_TpuTopology_ChipsPerProcessBounds_Args,
        chip_per_process_bounds_num_dims
    ),
    PJRT_TpuTopology_ChipBounds => call(
        super::properties::chip_bounds,
        PJRT_TpuTopology_ChipBounds_Args,
        chip_bounds_num_dims
    ),
    PJRT_TpuTopology_ProcessBounds => call(
        super::properties::process_bounds,
        PJRT_TpuTopology_ProcessBounds_Args,
        process_bounds_num_dims
    ),
    PJRT_TpuTopology_GetRoutingStrategy => call(
        super::properties::routing_strategy,
        PJRT_TpuTopology_GetRoutingStrategy_Args,
        routing_strategy_len
    ),
    PJRT_TpuTopology_GetSliceConfig =>
        call(super::slices::slice_config, PJRT_TpuTopology_GetSliceConfig_Args, slice_config),
    PJRT_TpuTopology_GetSliceConfigs => call(
        super::slices::slice_configs,
        PJRT_TpuTopology_GetSliceConfigs_Args,
        num_slice_configs
    ),
    PJRT_TpuTopology_GetDefaultPlatformConfig => call(
        super::slices::default_platform_config,
        PJRT_TpuTopology_GetDefaultPlatformConfig_Args,
        num_trays
    ),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_TpuTopology_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_TpuTopology_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_TpuTopology,
            next,
        },
        subslice: Some(table::PJRT_TpuTopology_Subslice),
        is_subslice_topology: Some(table::PJRT_TpuTopology_IsSubsliceTopology),
        subslice_device_id_from_full_device_id: Some(
            table::PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId,
        ),
        replace_host_bounds: Some(table::PJRT_TpuTopology_ReplaceHostBounds),
        is_enhanced_barrier_enabled: Some(table::PJRT_TpuTopology_IsEnhancedBarrierEnabled),
        has_limited_ici_connectivity: Some(table::PJRT_TpuTopology_HasLimitedIciConnectivity),
        is_reachable_over_limited_ici: Some(table::PJRT_TpuTopology_IsReachableOverLimitedIci),
        process_count: Some(table::PJRT_TpuTopology_ProcessCount),
        chips_per_process: Some(table::PJRT_TpuTopology_ChipsPerProcess),
        core_count_per_chip: Some(table::PJRT_TpuTopology_CoreCountPerChip),
        chip_count: Some(table::PJRT_TpuTopology_ChipCount),
        core_count: Some(table::PJRT_TpuTopology_CoreCount),
        logical_device_count_per_process: Some(table::PJRT_TpuTopology_LogiDeviceCountPerProcess),
        logical_device_count: Some(table::PJRT_TpuTopology_LogiDeviceCount),
        logical_device_count_per_chip: Some(table::PJRT_TpuTopology_LogiDeviceCountPerChip),
        core_count_per_process: Some(table::PJRT_TpuTopology_CoreCountPerProcess),
        process_ids: Some(table::PJRT_TpuTopology_ProcessIds),
        logical_device_ids_on_process: Some(table::PJRT_TpuTopology_LogiDeviceIdsOnProcess),
        proc_id_and_idx_on_proc_for_chip: Some(table::PJRT_TpuTopology_ProcIdAndIdxOnProcForChip),
        proc_id_and_idx_on_proc_for_logi_device: Some(
            table::PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice,
        ),
        process_coord_from_id: Some(table::PJRT_TpuTopology_ProcessCoordFromId),
        chip_id_from_coord: Some(table::PJRT_TpuTopology_ChipIdFromCoord),
        logical_device_id_from_chip_coord_and_idx: Some(
            table::PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx,
        ),
        chip_coord_and_idx_for_logi_device: Some(
            table::PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice,
        ),
        chips_per_process_bounds: Some(table::PJRT_TpuTopology_ChipsPerProcessBounds),
        chip_bounds: Some(table::PJRT_TpuTopology_ChipBounds),
        process_bounds: Some(table::PJRT_TpuTopology_ProcessBounds),
        get_routing_strategy: Some(table::PJRT_TpuTopology_GetRoutingStrategy),
        get_slice_config: Some(table::PJRT_TpuTopology_GetSliceConfig),
        get_slice_configs: Some(table::PJRT_TpuTopology_GetSliceConfigs),
        get_default_platform_config: Some(table::PJRT_TpuTopology_GetDefaultPlatformConfig),
    })
}

/// What `question` says of the chips of a topology of one slice.
///
/// # Errors
/// `StaleHandle`; `Unimplemented` for several slices; those of `question`.
fn ask<T>(
    handle: *const PJRT_TopologyDescription,
    question: impl FnOnce(Chips<'_>) -> Result<T>,
) -> Result<T> {
    let entry = topology(handle)?;
    question(entry.topology.chips()?)
}

/// Writes `values` to an array of the caller that has room for `room` of them; their number.
/// Without an array and room it only counts.
///
/// # Errors
/// `BadArgument` where the room is too small, `Null` for room without an array.
fn fill<T: Copy>(
    caller: &Caller,
    values: &[T],
    array: *mut T,
    room: usize,
    what: &'static str,
) -> Result<usize> {
    let count = values.len();
    if array.is_null() && room == 0 {
        return Ok(count);
    }
    if room < count {
        return Err(Error::bad(format!("{what} has room for {room} values; there are {count}")));
    }
    for (place, &value) in values.iter().enumerate() {
        caller.write(array.wrapping_add(place), value, what)?;
    }
    Ok(count)
}
