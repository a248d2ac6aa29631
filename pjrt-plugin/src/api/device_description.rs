//! Device descriptions, of live devices and of topologies.
use crate::attributes::Attributes;
use crate::boundary::{Caller, give_slice, give_text};
use crate::state::{DESCRIPTIONS, Description, description};
use crate::sys::{
    PJRT_DeviceDescription_Attributes_Args, PJRT_DeviceDescription_DebugString_Args,
    PJRT_DeviceDescription_Id_Args, PJRT_DeviceDescription_Kind_Args,
    PJRT_DeviceDescription_ProcessIndex_Args, PJRT_DeviceDescription_ToString_Args,
};
use tpu_emu::topology::{DeviceInfo, OptionValue};
use tpu_emu::units::Bytes;
use tpu_emu::{Id, Result};

/// A description with a handle.
pub(super) fn publish(info: &DeviceInfo, kind: &str, limit: Bytes) -> Id<Description> {
    DESCRIPTIONS.insert(Description {
        info: info.clone(),
        kind: kind.to_owned(),
        text: info.to_string(),
        debug_text: info.debug_string(),
        attributes: device_attributes(info, limit),
    })
}

/// What JAX reads of a device: where it is, and what it has.
pub(super) fn device_attributes(info: &DeviceInfo, limit: Bytes) -> Attributes {
    let coords = info.coords.iter().map(|&axis| i64::from(axis)).collect();
    let mut attributes = vec![
        ("coords", OptionValue::Ints(coords)),
        ("core_on_chip", OptionValue::Int(info.core_on_chip.into())),
        ("num_cores", OptionValue::Int(info.num_cores.into())),
        ("device_memory_bytes_limit", OptionValue::Int(limit.0.cast_signed())),
    ];
    if let Some(slice) = info.slice_index {
        attributes.push(("slice_index", OptionValue::Int(slice.into())));
    }
    Attributes::new(attributes)
}

/// The device's id, unique in the whole slice.
pub(super) fn id(_: &Caller, args: &mut PJRT_DeviceDescription_Id_Args) -> Result<()> {
    args.id = description(args.device_description)?.info.id;
    Ok(())
}

/// The process that the device belongs to.
pub(super) fn process_index(
    _: &Caller,
    args: &mut PJRT_DeviceDescription_ProcessIndex_Args,
) -> Result<()> {
    args.process_index = description(args.device_description)?.info.process_index;
    Ok(())
}

/// Names and values of the device's properties.
pub(super) fn attributes(
    _: &Caller,
    args: &mut PJRT_DeviceDescription_Attributes_Args,
) -> Result<()> {
    let description = description(args.device_description)?;
    give_slice(description.attributes.as_slice(), &mut args.attributes, &mut args.num_attributes);
    Ok(())
}

/// The kind of chip, as `TPU v5 lite`.
pub(super) fn kind(_: &Caller, args: &mut PJRT_DeviceDescription_Kind_Args) -> Result<()> {
    let description = description(args.device_description)?;
    give_text(&description.kind, &mut args.device_kind, &mut args.device_kind_size);
    Ok(())
}

/// A text for logs.
pub(super) fn debug_string(
    _: &Caller,
    args: &mut PJRT_DeviceDescription_DebugString_Args,
) -> Result<()> {
    let description = description(args.device_description)?;
    give_text(&description.debug_text, &mut args.debug_string, &mut args.debug_string_size);
    Ok(())
}

/// A text for people.
pub(super) fn to_string(_: &Caller, args: &mut PJRT_DeviceDescription_ToString_Args) -> Result<()> {
    let description = description(args.device_description)?;
    give_text(&description.text, &mut args.to_string, &mut args.to_string_size);
    Ok(())
}
