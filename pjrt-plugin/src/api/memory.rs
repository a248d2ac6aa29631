//! Memories: HBM and host memory as a device sees them.
use crate::boundary::{Caller, give_text};
use crate::state::memory;
use crate::sys::{
    PJRT_Memory_AddressableByDevices_Args, PJRT_Memory_DebugString_Args, PJRT_Memory_Id_Args,
    PJRT_Memory_Kind_Args, PJRT_Memory_Kind_Id_Args, PJRT_Memory_ToString_Args,
};
use tpu_emu::Result;

/// The number, unique in the whole slice.
pub(super) fn id(_: &Caller, args: &mut PJRT_Memory_Id_Args) -> Result<()> {
    args.id = memory(args.memory)?.number;
    Ok(())
}

/// `device`, `pinned_host` or `unpinned_host`.
pub(super) fn kind(_: &Caller, args: &mut PJRT_Memory_Kind_Args) -> Result<()> {
    let kind = memory(args.memory)?.memory.kind;
    give_text(kind.name(), &mut args.kind, &mut args.kind_size);
    Ok(())
}

/// The kind's number.
pub(super) fn kind_id(_: &Caller, args: &mut PJRT_Memory_Kind_Id_Args) -> Result<()> {
    args.kind_id = memory(args.memory)?.memory.kind.number();
    Ok(())
}

/// A text for logs.
pub(super) fn debug_string(_: &Caller, args: &mut PJRT_Memory_DebugString_Args) -> Result<()> {
    let memory = memory(args.memory)?;
    give_text(&memory.debug_text, &mut args.debug_string, &mut args.debug_string_size);
    Ok(())
}

/// A text for people.
pub(super) fn to_string(_: &Caller, args: &mut PJRT_Memory_ToString_Args) -> Result<()> {
    let memory = memory(args.memory)?;
    give_text(&memory.text, &mut args.to_string, &mut args.to_string_size);
    Ok(())
}

/// The device that sees it.
pub(super) fn addressable_by_devices(
    _: &Caller,
    args: &mut PJRT_Memory_AddressableByDevices_Args,
) -> Result<()> {
    let memory = memory(args.memory)?;
    args.devices = memory.devices.as_ptr().cast();
    args.num_devices = memory.devices.len();
    Ok(())
}
