//! Clients: a view of the machine with handles of its own.
use super::device_description;
use super::topology;
use crate::attributes;
use crate::boundary::{Caller, give_text, handle_of, id_of};
use crate::jax_processes;
use crate::key_value::KeyValueStore;
use crate::memory_object;
use crate::state::TOPOLOGIES;
use crate::state::{CLIENTS, Client, DESCRIPTIONS, DEVICES, Device, MEMORIES, MemoryEntry, client};
use crate::sys::{
    PJRT_Client_AddressableDevices_Args, PJRT_Client_AddressableMemories_Args,
    PJRT_Client_Create_Args, PJRT_Client_DefaultDeviceAssignment_Args, PJRT_Client_Destroy_Args,
    PJRT_Client_Devices_Args, PJRT_Client_DmaMap_Args, PJRT_Client_DmaUnmap_Args,
    PJRT_Client_LookupAddressableDevice_Args, PJRT_Client_LookupDevice_Args,
    PJRT_Client_PlatformName_Args, PJRT_Client_PlatformVersion_Args, PJRT_Client_ProcessIndex_Args,
    PJRT_Client_TopologyDescription_Args, PJRT_Client_UpdateGlobalProcessInfo_Args, PJRT_Device,
    PJRT_Memory,
};
use std::collections::HashMap;
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use tpu_emu::topology::OptionValue;
use tpu_emu::{Code, Emulator, Error, Id, Memory, MemoryKind, Result};
use tpu_host::env::{Nodes, TransportKind};
use tpu_transport::{Member, mpi, shared_memory};

/// What the clients of a TPU look for.
pub(super) const PLATFORM_NAME: &str = "tpu";

/// A client of the machine. Several may exist; they share its memory and its record.
///
/// Options: `node_id` and `num_nodes` say which process of how many this one is. Others are a
/// real TPU's and change nothing here. Where neither these nor the environment say it, JAX does.
pub(super) fn create(caller: &Caller, args: &mut PJRT_Client_Create_Args) -> Result<()> {
    let options = attributes::from_c(caller, args.create_options, args.num_options)?;
    let (node, count) = (number(&options, "node_id")?, number(&options, "num_nodes")?);
    let store = KeyValueStore::of(args);
    let mut nodes = Nodes { node, count, by_jax: false };
    if nodes.is_empty() && store.is_some() && tpu_host::is_alone_by_environment() {
        nodes = jax_processes::said().unwrap_or_default();
    }
    let machine = tpu_host::machine_of(nodes)?;
    machine.check_not_forked()?;
    let process_index = machine.process_index();
    join_slice(&machine, process_index, store)?;
    let topology = topology::publish(machine.topology().clone(), true);
    let mut client = Client {
        process_index,
        devices: Vec::new(),
        by_id: HashMap::new(),
        addressable: Vec::new(),
        memories: Vec::new(),
        dma: parking_lot::Mutex::default(),
        topology,
        machine,
    };
    for index in 0..client.machine.topology().devices().len() {
        publish_device(&mut client, index)?;
    }
    args.client = handle_of(CLIENTS.insert(client));
    Ok(())
}

/// The number that an option says, if it is given.
fn number(options: &[(String, OptionValue)], wanted: &str) -> Result<Option<i32>> {
    let Some((_, value)) = options.iter().find(|(name, _)| name == wanted) else { return Ok(None) };
    let number = match value {
        OptionValue::Int(number) => i32::try_from(*number).ok(),
        OptionValue::Text(text) => text.parse().ok(),
        _ => None,
    };
    number.map(Some).ok_or_else(|| {
        Error::bad(format!("option {wanted} is {value:?}; wanted is a number of processes"))
    })
}

/// Lets the processes of the slice meet, where the client can reach the others.
fn join_slice(machine: &Arc<Emulator>, me: i32, store: Option<KeyValueStore>) -> Result<()> {
    let count = machine.topology().process_count();
    let [me, count] = [me, count].map(|number| usize::try_from(number).unwrap_or(0));
    let Some(store) = store.filter(|_| count > 1) else { return Ok(()) };
    let patience = machine.hosts_timeout();
    let kind = tpu_host::transport()?;
    machine.join_slice(me, |inbox| {
        let member = Member { store: &store, me, count, patience };
        match kind {
            TransportKind::SharedMemory => shared_memory::join(&member, inbox),
            TransportKind::Mpi(library) => mpi::join(&member, library.as_deref(), inbox),
        }
    })
}

/// Gives a device its handles: description, memories, itself.
fn publish_device(client: &mut Client, index: usize) -> Result<()> {
    let machine = &client.machine;
    let topology = machine.topology();
    let info = &topology.devices()[index];
    let limit = machine.memory_limit();
    let addressable = info.process_index == client.process_index;
    let description = device_description::publish(info, topology.device_kind(), limit);
    let device = Device {
        machine: Arc::clone(machine),
        index,
        addressable,
        description,
        attributes: device_description::device_attributes(info, limit),
        memories: std::sync::OnceLock::new(),
    };
    let device = DEVICES.insert(device);
    let handle = handle_of::<PJRT_Device, _>(device).addr();
    let mut memories = Vec::new();
    if addressable {
        for (place, kind) in (0..).zip(MemoryKind::ALL) {
            let memory = Memory { device: index, kind };
            let number = info.id * 3 + place;
            memories.push(publish_memory(machine, memory, number, handle)?);
        }
        client.addressable.push(handle);
        client.memories.extend_from_slice(&memories);
    }
    client.by_id.insert(info.id, client.devices.len());
    client.devices.push(handle);
    // The handle is not out yet, so nobody has set them.
    let _ = DEVICES.get(device)?.memories.set(memories);
    Ok(())
}

fn publish_memory(
    machine: &Arc<Emulator>,
    memory: Memory,
    number: i32,
    device: usize,
) -> Result<usize> {
    let info = &machine.topology().devices()[memory.device];
    let kind = memory.kind.name();
    let entry = MemoryEntry {
        machine: Arc::clone(machine),
        memory,
        number,
        text: format!("{kind} memory of {info}"),
        debug_text: format!("{}_{kind}", info.debug_string()),
        devices: [device],
        handle: std::sync::OnceLock::new(),
    };
    let id = MEMORIES.insert(entry);
    let handle = memory_object::publish(id)?.addr();
    // The handle is not out yet, so nobody has set it.
    let _ = MEMORIES.get(id)?.handle.set(handle);
    Ok(handle)
}

/// Ends a client's life and that of its devices' handles. Buffers live on until they are
/// destroyed themselves.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_Client_Destroy_Args) -> Result<()> {
    let client = CLIENTS.remove(id_of(args.client, "client")?)?;
    client.machine.client_ends("PJRT_Client_Destroy");
    topology::withdraw(client.topology)?;
    for &memory in &client.memories {
        let memory = without_provenance_mut::<PJRT_Memory>(memory);
        let id: Id<MemoryEntry> = memory_object::resolve(memory)?;
        memory_object::withdraw(memory);
        MEMORIES.remove(id)?;
    }
    for &device in &client.devices {
        let handle: *mut PJRT_Device = without_provenance_mut(device);
        let device = DEVICES.remove(id_of(handle, "device")?)?;
        DESCRIPTIONS.remove(device.description)?;
    }
    Ok(())
}

/// `tpu`.
pub(super) fn platform_name(_: &Caller, args: &mut PJRT_Client_PlatformName_Args) -> Result<()> {
    client(args.client)?;
    give_text(PLATFORM_NAME, &mut args.platform_name, &mut args.platform_name_size);
    Ok(())
}

/// The kind of chip and the version of this library.
pub(super) fn platform_version(
    _: &Caller,
    args: &mut PJRT_Client_PlatformVersion_Args,
) -> Result<()> {
    // The topology lives as long as the client, and its text with it.
    let topology = TOPOLOGIES.get(client(args.client)?.topology)?;
    give_text(
        &topology.platform_version,
        &mut args.platform_version,
        &mut args.platform_version_size,
    );
    Ok(())
}

/// The process of the slice that this client is.
pub(super) fn process_index(_: &Caller, args: &mut PJRT_Client_ProcessIndex_Args) -> Result<()> {
    args.process_index = client(args.client)?.process_index;
    Ok(())
}

/// All devices of the slice.
pub(super) fn devices(_: &Caller, args: &mut PJRT_Client_Devices_Args) -> Result<()> {
    let client = client(args.client)?;
    args.devices = client.devices.as_ptr().cast();
    args.num_devices = client.devices.len();
    Ok(())
}

/// The devices of this process.
pub(super) fn addressable_devices(
    _: &Caller,
    args: &mut PJRT_Client_AddressableDevices_Args,
) -> Result<()> {
    let client = client(args.client)?;
    args.addressable_devices = client.addressable.as_ptr().cast();
    args.num_addressable_devices = client.addressable.len();
    Ok(())
}

/// The device with an id.
pub(super) fn lookup_device(_: &Caller, args: &mut PJRT_Client_LookupDevice_Args) -> Result<()> {
    let client = client(args.client)?;
    let index = client.by_id.get(&args.id).ok_or_else(|| no_device("device_id", args.id))?;
    args.device = without_provenance_mut(client.devices[*index]);
    Ok(())
}

/// The device with a number among those of this process.
pub(super) fn lookup_addressable_device(
    _: &Caller,
    args: &mut PJRT_Client_LookupAddressableDevice_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let wanted = args.local_hardware_id;
    let device = usize::try_from(wanted).ok().and_then(|number| client.addressable.get(number));
    let device = device.ok_or_else(|| no_device("local_hardware_id", wanted))?;
    args.addressable_device = without_provenance_mut(*device);
    Ok(())
}

/// The words that the interface's own tests look for.
fn no_device(what: &str, number: i32) -> Error {
    let message = format!("No matching device found for {what} {number}");
    Error::Verbatim { code: Code::InvalidArgument, message: message.into() }
}

/// The memories of this process's devices.
pub(super) fn addressable_memories(
    _: &Caller,
    args: &mut PJRT_Client_AddressableMemories_Args,
) -> Result<()> {
    let client = client(args.client)?;
    args.addressable_memories = client.memories.as_ptr().cast();
    args.num_addressable_memories = client.memories.len();
    Ok(())
}

/// The slice. It lives as long as the client.
pub(super) fn topology(_: &Caller, args: &mut PJRT_Client_TopologyDescription_Args) -> Result<()> {
    args.topology = handle_of(client(args.client)?.topology);
    Ok(())
}

/// Which device runs which part of a program when nobody says: in the order of their ids.
pub(super) fn default_device_assignment(
    caller: &Caller,
    args: &mut PJRT_Client_DefaultDeviceAssignment_Args,
) -> Result<()> {
    let client = client(args.client)?;
    let (replicas, partitions) = (args.num_replicas, args.num_partitions);
    let cores = client.devices.len();
    let wanted = usize::try_from(replicas).ok().zip(usize::try_from(partitions).ok());
    let wanted = wanted.and_then(|(replicas, partitions)| replicas.checked_mul(partitions));
    let wanted = wanted
        .filter(|&wanted| wanted > 0)
        .ok_or_else(|| Error::bad(format!("{replicas} replicas of {partitions} partitions")))?;
    let given = args.default_assignment_size;
    if given < wanted {
        let message = format!(
            "PJRT_Client_DefaultDeviceAssignment: `default_assignment_size` {given} < \
             `num_replicas * num_partitions`, {replicas} * {partitions} = {wanted}"
        );
        return Err(Error::Verbatim { code: Code::FailedPrecondition, message: message.into() });
    }
    if wanted > cores {
        let message = format!(
            "Number of replicas ({wanted}) must be at least 1 and at most the number of cores \
             ({cores})."
        );
        return Err(Error::bad(message));
    }
    let mut ids: Vec<i32> =
        client.machine.topology().devices().iter().map(|device| device.id).collect();
    ids.sort_unstable();
    for (place, id) in ids.into_iter().take(wanted).enumerate() {
        let slot = args.default_assignment.wrapping_add(place);
        caller.write(slot, id, "default_assignment")?;
    }
    Ok(())
}

/// Registers client memory for transfers. The emulated device reaches all of it anyway, so this
/// keeps the account and nothing more.
pub(super) fn dma_map(_: &Caller, args: &mut PJRT_Client_DmaMap_Args) -> Result<()> {
    let client = client(args.client)?;
    let (start, size) = (args.data.addr(), args.size);
    if start == 0 {
        return Err(Error::Null("data"));
    }
    let mut mapped = client.dma.lock();
    if mapped.contains_key(&start) {
        let message = format!("{start:#x} is mapped already");
        return Err(Error::Verbatim { code: Code::AlreadyExists, message: message.into() });
    }
    mapped.insert(start, size);
    Ok(())
}

/// Ends a registration.
pub(super) fn dma_unmap(_: &Caller, args: &mut PJRT_Client_DmaUnmap_Args) -> Result<()> {
    let client = client(args.client)?;
    let start = args.data.addr();
    let mapped = client.dma.lock().remove(&start);
    mapped.map(drop).ok_or_else(|| Error::NotFound(format!("{start:#x} is not mapped")))
}

/// Hears how the slice's other processes are. Nothing here depends on them.
pub(super) fn update_global_process_info(
    caller: &Caller,
    args: &mut PJRT_Client_UpdateGlobalProcessInfo_Args,
) -> Result<()> {
    client(args.client)?;
    caller.slice(args.process_infos.cast_const(), args.num_process_infos, "process_infos")?;
    Ok(())
}
