//! Topologies: a slice described without its hardware.
use super::client::PLATFORM_NAME;
use super::device_description;
use crate::attributes::{self, Attributes};
use crate::boundary::{Caller, give_bytes, give_slice, give_text, handle_of, id_of, take_bytes};
use crate::real_compiler;
use crate::state::{DESCRIPTIONS, TOPOLOGIES, TopologyEntry, topology};
use crate::sys::{
    PJRT_DeviceDescription, PJRT_TopologyDescription_Attributes_Args,
    PJRT_TopologyDescription_Create_Args, PJRT_TopologyDescription_Deserialize_Args,
    PJRT_TopologyDescription_Destroy_Args, PJRT_TopologyDescription_Fingerprint_Args,
    PJRT_TopologyDescription_GetDeviceDescriptions_Args,
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args,
    PJRT_TopologyDescription_PlatformName_Args, PJRT_TopologyDescription_PlatformVersion_Args,
    PJRT_TopologyDescription_Serialize_Args,
};
use std::ptr::without_provenance_mut;
use std::sync::OnceLock;
use tpu_emu::topology::{MEMORY_SPACE_KIND_IDS, OptionValue, Topology};
use tpu_emu::{Error, Id, Result};

pub(super) mod shape;

/// The first bytes of a serialized topology, version included.
const SERIALIZED: &str = "tpu-emu topology 1\n";

/// A topology with a handle, and its devices with theirs.
pub(crate) fn publish(topology: Topology, of_client: bool) -> Id<TopologyEntry> {
    let limit = topology.aot_memory_limit();
    let kind = topology.device_kind();
    let description = |info| {
        let id = device_description::publish(info, kind, limit);
        handle_of::<PJRT_DeviceDescription, _>(id).addr()
    };
    let descriptions = topology.devices().iter().map(description).collect();
    let wrap = topology.wrap().iter().map(|&wraps| i64::from(wraps)).collect();
    let attributes = Attributes::new([
        ("device_memory_bytes_limit", OptionValue::Int(limit.0.cast_signed())),
        ("twist", OptionValue::Int(topology.twist().into())),
        ("wrap", OptionValue::Ints(wrap)),
    ]);
    let platform_version = platform_version_of(&topology);
    TOPOLOGIES.insert(TopologyEntry {
        topology,
        descriptions,
        platform_version,
        attributes,
        of_client,
        compiler: OnceLock::new(),
    })
}

/// When the release of the real library that is emulated was built, in seconds since 1970.
///
/// Source: `PJRT_Client_PlatformVersion` of libtpu 0.0.51.
const EMULATED_BUILD: &str = "Oct 21 2026 (1792589089)";

/// The real library's first line, and a second one that says what this is. Clients read the
/// build date in the brackets to tell what the library can do.
fn platform_version_of(topology: &Topology) -> String {
    let megascale = if topology.is_megascale() { "megascale+" } else { "" };
    let (kind, version) = (topology.device_kind(), env!("CARGO_PKG_VERSION"));
    format!("{megascale}TFRT {kind}\nEmulated by tpu-emu {version}, as built on {EMULATED_BUILD}")
}

/// Ends the life of a topology's handle and of its devices'.
pub(super) fn withdraw(id: Id<TopologyEntry>) -> Result<()> {
    let entry = TOPOLOGIES.remove(id)?;
    for &description in &entry.descriptions {
        let handle: *mut PJRT_DeviceDescription = without_provenance_mut(description);
        DESCRIPTIONS.remove(id_of(handle, "device description")?)?;
    }
    Ok(())
}

/// The slice of a name, as `v5e:2x4`, and options.
pub(super) fn create(
    caller: &Caller,
    args: &mut PJRT_TopologyDescription_Create_Args,
) -> Result<()> {
    real_compiler::prepare();
    let name = caller.text(args.topology_name, args.topology_name_size, "topology_name")?;
    let options = attributes::from_c(caller, args.create_options, args.num_options)?;
    args.topology = handle_of(publish(Topology::create(&name, &options)?, false));
    Ok(())
}

/// Ends a topology's life. A client's own ends with the client: destroying it, as clients do that
/// take it for theirs, changes nothing.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_TopologyDescription_Destroy_Args) -> Result<()> {
    if topology(args.topology)?.of_client {
        return Ok(());
    }
    withdraw(id_of(args.topology, "topology")?)
}

/// `tpu`.
pub(super) fn platform_name(
    _: &Caller,
    args: &mut PJRT_TopologyDescription_PlatformName_Args,
) -> Result<()> {
    topology(args.topology)?;
    give_text(PLATFORM_NAME, &mut args.platform_name, &mut args.platform_name_size);
    Ok(())
}

/// The kind of chip and the version of this library.
pub(super) fn platform_version(
    _: &Caller,
    args: &mut PJRT_TopologyDescription_PlatformVersion_Args,
) -> Result<()> {
    let entry = topology(args.topology)?;
    give_text(&entry.platform_version, &mut args.platform_version, &mut args.platform_version_size);
    Ok(())
}

/// The devices, by process and then by id.
pub(super) fn device_descriptions(
    _: &Caller,
    args: &mut PJRT_TopologyDescription_GetDeviceDescriptions_Args,
) -> Result<()> {
    let entry = topology(args.topology)?;
    args.descriptions = entry.descriptions.as_ptr().cast();
    args.num_descriptions = entry.descriptions.len();
    Ok(())
}

/// The topology as bytes, which `deserialize` reads in this and later versions.
pub(super) fn serialize(
    _: &Caller,
    args: &mut PJRT_TopologyDescription_Serialize_Args,
) -> Result<()> {
    let entry = topology(args.topology)?;
    let bytes = format!("{SERIALIZED}{}", entry.topology.canonical_spec()).into_bytes();
    (args.serialized_bytes, args.serialized_bytes_size, args.serialized_topology) =
        give_bytes(bytes);
    args.serialized_topology_deleter = Some(take_bytes);
    Ok(())
}

/// The topology that `serialize` wrote.
pub(super) fn deserialize(
    caller: &Caller,
    args: &mut PJRT_TopologyDescription_Deserialize_Args,
) -> Result<()> {
    let size = args.serialized_topology_size;
    let text = caller.text(args.serialized_topology, size, "serialized_topology")?;
    let spec = text.strip_prefix(SERIALIZED).ok_or_else(|| {
        let wanted = SERIALIZED.trim_end();
        Error::bad(format!("{size} bytes that do not begin with {wanted:?}; another library's?"))
    })?;
    args.topology = handle_of(publish(Topology::parse(spec)?, false));
    Ok(())
}

/// Names and values of the slice's properties.
pub(super) fn attributes(
    _: &Caller,
    args: &mut PJRT_TopologyDescription_Attributes_Args,
) -> Result<()> {
    let entry = topology(args.topology)?;
    give_slice(entry.attributes.as_slice(), &mut args.attributes, &mut args.num_attributes);
    Ok(())
}

/// A number that equal topologies share.
pub(super) fn fingerprint(
    _: &Caller,
    args: &mut PJRT_TopologyDescription_Fingerprint_Args,
) -> Result<()> {
    args.fingerprint = topology(args.topology)?.topology.fingerprint();
    Ok(())
}

/// The numbers of the memory kinds, as the real library lists them here.
pub(super) fn memory_space_kind_ids(
    _: &Caller,
    args: &mut PJRT_TopologyDescription_GetMemorySpaceKindIds_Args,
) -> Result<()> {
    topology(args.topology)?;
    give_slice(
        &MEMORY_SPACE_KIND_IDS,
        &mut args.memory_space_kind_ids,
        &mut args.num_memory_space_kind_ids,
    );
    Ok(())
}
