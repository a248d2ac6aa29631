//! Extension 6: the memories of a device that is only described.
// UNSAFETY: the descriptions are C objects at fixed addresses.
#![expect(unsafe_code, reason = "a static table of pointers that C reads")]
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args, give_text};
use crate::state::description;
use crate::sys::{
    PJRT_DeviceDescription_MemoryDescriptions_Args, PJRT_Extension_Base, PJRT_Extension_Type,
    PJRT_MemoryDescription, PJRT_MemoryDescription_Kind_Args, PJRT_MemoryDescriptions_Extension,
};
use std::ptr::without_provenance;
use tpu_emu::{Error, MemoryKind, Result};

c_args!(PJRT_DeviceDescription_MemoryDescriptions_Args, PJRT_MemoryDescription_Kind_Args);

extension_functions! {
    PJRT_DeviceDescription_MemoryDescriptions => call(
        super::of_device, PJRT_DeviceDescription_MemoryDescriptions_Args, default_memory_index
    ),
    PJRT_MemoryDescription_Kind =>
        call(super::kind, PJRT_MemoryDescription_Kind_Args, kind_id),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_MemoryDescriptions_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_MemoryDescriptions_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_MemoryDescriptions,
            next,
        },
        PJRT_DeviceDescription_MemoryDescriptions: Some(
            table::PJRT_DeviceDescription_MemoryDescriptions,
        ),
        PJRT_MemoryDescription_Kind: Some(table::PJRT_MemoryDescription_Kind),
    })
}

/// The handles of the kinds: 1, 2 and 3. Every device has the same.
struct Handles([*const PJRT_MemoryDescription; MemoryKind::ALL.len()]);

// SAFETY: numbers that nobody follows.
unsafe impl Sync for Handles {}

static HANDLES: Handles =
    Handles([without_provenance(1), without_provenance(2), without_provenance(3)]);

fn of_device(_: &Caller, args: &mut PJRT_DeviceDescription_MemoryDescriptions_Args) -> Result<()> {
    description(args.device_description)?;
    args.memory_descriptions = HANDLES.0.as_ptr();
    args.num_memory_descriptions = HANDLES.0.len();
    args.default_memory_index = 0;
    Ok(())
}

fn kind(_: &Caller, args: &mut PJRT_MemoryDescription_Kind_Args) -> Result<()> {
    let handle = args.memory_description.addr();
    let kind = handle.checked_sub(1).and_then(|place| MemoryKind::ALL.get(place));
    let raw = handle as u64;
    let kind = kind.ok_or(Error::StaleHandle { kind: "memory description", raw })?;
    give_text(kind.name(), &mut args.kind, &mut args.kind_size);
    args.kind_id = kind.number();
    Ok(())
}
