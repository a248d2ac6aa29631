//! Programs on the devices of a client: where they run, and running them.
use crate::boundary::{Caller, give_bytes, give_slice, give_text, id_of, take_bytes};
use crate::programs::{LOADED, give_executable, loaded};
use crate::sys::{
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
    PJRT_LoadedExecutable_AddressableDevices_Args, PJRT_LoadedExecutable_Delete_Args,
    PJRT_LoadedExecutable_Destroy_Args, PJRT_LoadedExecutable_Fingerprint_Args,
    PJRT_LoadedExecutable_GetDeviceAssignment_Args, PJRT_LoadedExecutable_GetExecutable_Args,
    PJRT_LoadedExecutable_IsDeleted_Args,
};
use std::sync::Arc;
use tpu_emu::Result;
use tpu_proto::Message;

pub(super) mod execute;

/// Ends a program's life on its devices. Runs that were started go on.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_LoadedExecutable_Destroy_Args) -> Result<()> {
    if args.executable.is_null() {
        return Ok(());
    }
    LOADED.remove(id_of(args.executable, "loaded executable")?).map(drop)
}

/// A handle of its own for what was compiled.
pub(super) fn executable(
    _: &Caller,
    args: &mut PJRT_LoadedExecutable_GetExecutable_Args,
) -> Result<()> {
    args.executable = give_executable(Arc::clone(&loaded(args.loaded_executable)?.of));
    Ok(())
}

/// The devices of this process that it runs on.
pub(super) fn addressable_devices(
    _: &Caller,
    args: &mut PJRT_LoadedExecutable_AddressableDevices_Args,
) -> Result<()> {
    let entry = loaded(args.executable)?;
    args.addressable_devices = entry.devices.as_ptr().cast();
    args.num_addressable_devices = entry.devices.len();
    Ok(())
}

/// Replica and partition of each of those devices.
pub(super) fn addressable_device_logical_ids(
    _: &Caller,
    args: &mut PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
) -> Result<()> {
    let entry = loaded(args.executable)?;
    let mut ids = std::ptr::null();
    give_slice(&entry.logical_ids, &mut ids, &mut args.num_addressable_device_logical_ids);
    args.addressable_device_logical_ids = ids.cast_mut();
    Ok(())
}

/// Says that it will not run again.
pub(super) fn delete(_: &Caller, args: &mut PJRT_LoadedExecutable_Delete_Args) -> Result<()> {
    loaded(args.executable)?.delete();
    Ok(())
}

/// Whether [`delete`] was called.
pub(super) fn is_deleted(
    _: &Caller,
    args: &mut PJRT_LoadedExecutable_IsDeleted_Args,
) -> Result<()> {
    args.is_deleted = u8::from(loaded(args.executable)?.is_deleted());
    Ok(())
}

/// A hash of program, options and version.
pub(super) fn fingerprint(
    _: &Caller,
    args: &mut PJRT_LoadedExecutable_Fingerprint_Args,
) -> Result<()> {
    let entry = loaded(args.executable)?;
    give_text(
        &entry.of.executable.fingerprint,
        &mut args.executable_fingerprint,
        &mut args.executable_fingerprint_size,
    );
    Ok(())
}

/// Which device runs which part, as a `DeviceAssignmentProto`.
pub(super) fn device_assignment(
    _: &Caller,
    args: &mut PJRT_LoadedExecutable_GetDeviceAssignment_Args,
) -> Result<()> {
    let entry = loaded(args.executable)?;
    (args.serialized_bytes, args.serialized_bytes_size, args.serialized_device_assignment) =
        give_bytes(entry.of.assignment.encode_to_vec());
    args.serialized_device_assignment_deleter = Some(take_bytes);
    Ok(())
}
