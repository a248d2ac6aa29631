//! Slices cut out of slices, and the slices that a platform offers.
use super::{ask, fill};
use crate::api::topology::publish;
use crate::boundary::{Caller, handle_of};
use crate::state::topology;
use crate::sys::{
    PJRT_TpuTopology_GetDefaultPlatformConfig_Args, PJRT_TpuTopology_GetSliceConfig_Args,
    PJRT_TpuTopology_GetSliceConfigs_Args, PJRT_TpuTopology_ReplaceHostBounds_Args,
    PJRT_TpuTopology_SliceConfig, PJRT_TpuTopology_Subslice_Args,
    PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args,
};
use tpu_emu::Result;
use tpu_emu::topology::{SliceConfig, platform_config, slice_config as find, slice_configs as all};

/// The part of a topology that so many hosts of so many chips make.
pub(super) fn subslice(caller: &Caller, args: &mut PJRT_TpuTopology_Subslice_Args) -> Result<()> {
    let chips_per_host = caller.axes(
        args.chips_per_host_bounds,
        args.chips_per_host_bounds_num_dims,
        "chips_per_host_bounds",
    )?;
    let hosts = caller.axes(args.host_bounds, args.host_bounds_num_dims, "host_bounds")?;
    let part = ask(args.topology, |chips| chips.subslice(chips_per_host, hosts))?;
    args.subslice_topology = handle_of(publish(part, false));
    Ok(())
}

/// The id that a device of the whole has in a part.
pub(super) fn subslice_device_id_from_full_device_id(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args,
) -> Result<()> {
    let part = topology(args.subslice_topology)?;
    let (origin, count) = (args.subslice_origin, args.subslice_origin_dim_num);
    let origin = caller.axes(origin, count, "subslice_origin")?;
    let device = args.full_device_id;
    args.subslice_device_id = ask(args.client_topology, |chips| {
        chips.subslice_device_id_from_full_device_id(&part.topology, origin, device)
    })?;
    Ok(())
}

/// A topology of the same kind of hosts, with other numbers of them along the axes.
pub(super) fn replace_host_bounds(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_ReplaceHostBounds_Args,
) -> Result<()> {
    let hosts = caller.axes(args.host_bounds, args.host_bounds_dim_num, "host_bounds")?;
    let changed = ask(args.topology, |chips| chips.replace_host_bounds(hosts))?;
    args.new_topology = handle_of(publish(changed, false));
    Ok(())
}

/// The slice of a platform that has a name.
pub(super) fn slice_config(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_GetSliceConfig_Args,
) -> Result<()> {
    let platform = platform(caller, args.platform_type_name, args.platform_type_name_len)?;
    let name = caller.text(args.slice_name, args.slice_name_len, "slice_name")?;
    caller.write(args.slice_config, to_c(&find(&platform, &name)?), "slice_config")
}

/// All slices of a platform.
pub(super) fn slice_configs(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_GetSliceConfigs_Args,
) -> Result<()> {
    let platform = platform(caller, args.platform_type_name, args.platform_type_name_len)?;
    let configs: Vec<_> = all(&platform)?.iter().map(to_c).collect();
    let (array, room) = (args.slice_configs, args.max_slice_configs);
    args.num_slice_configs = fill(caller, &configs, array, room, "slice_configs")?;
    Ok(())
}

/// The trays of a platform where nobody names another.
pub(super) fn default_platform_config(
    caller: &Caller,
    args: &mut PJRT_TpuTopology_GetDefaultPlatformConfig_Args,
) -> Result<()> {
    let platform = platform(caller, args.platform_type_name, args.platform_type_name_len)?;
    let config = platform_config(&platform)?;
    (args.num_chips_per_tray, args.num_trays) = (config.chips_per_tray, config.trays);
    Ok(())
}

fn platform(caller: &Caller, name: *const std::ffi::c_char, size: usize) -> Result<String> {
    caller.text(name, size, "platform_type_name")
}

fn to_c(config: &SliceConfig) -> PJRT_TpuTopology_SliceConfig {
    let [x, y, z] = config.bounds;
    let [wraps_x, wraps_y, wraps_z] = config.wrap.map(u8::from);
    PJRT_TpuTopology_SliceConfig {
        dim_size: config.bounds.len(),
        dimensions: [x, y, z, 0],
        wrap: [wraps_x, wraps_y, wraps_z, 0],
        twist: u8::from(config.twist),
    }
}
