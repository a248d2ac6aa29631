//! Clients, through the table.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{destroy, get, put_bytes};
use c::contract::contract;
use c::{Client, EXISTS, INVALID, NOT_FOUND, WRONG_STATE, assert_refused, call, list, text};
use pjrt_sys::{
    PJRT_Client, PJRT_NamedValue, PJRT_NamedValue__bindgen_ty_1, PJRT_NamedValue_Type,
    PJRT_ProcessInfo,
};
use std::ptr::{null_mut, without_provenance_mut};

fn destroy_client(client: *mut PJRT_Client) {
    call!(PJRT_Client_Destroy, client: client).unwrap();
}

fn option(name: &str, kind: u32, value: i64) -> PJRT_NamedValue {
    PJRT_NamedValue {
        struct_size: size_of::<PJRT_NamedValue>(),
        extension_start: null_mut(),
        name: name.as_ptr().cast(),
        name_size: name.len(),
        type_: PJRT_NamedValue_Type(kind),
        anon_1: PJRT_NamedValue__bindgen_ty_1 { int64_value: value },
        value_size: 1,
    }
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let raw = client.raw;
    let mut ids = [0; 8];
    contract!(PJRT_Client_Create(-, client) => |args| destroy_client(args.client));
    contract!(PJRT_Client_Destroy(client, client),
        client: call!(PJRT_Client_Create).unwrap().client);
    contract!(PJRT_Client_PlatformName(client, platform_name_size), client: raw);
    contract!(PJRT_Client_ProcessIndex(client, process_index), client: raw);
    contract!(PJRT_Client_PlatformVersion(client, platform_version_size), client: raw);
    contract!(PJRT_Client_Devices(client, num_devices), client: raw);
    contract!(PJRT_Client_AddressableDevices(client, num_addressable_devices), client: raw);
    contract!(PJRT_Client_LookupDevice(client, device), client: raw);
    contract!(PJRT_Client_LookupAddressableDevice(client, addressable_device), client: raw);
    contract!(PJRT_Client_AddressableMemories(client, num_addressable_memories), client: raw);
    contract!(PJRT_Client_TopologyDescription(client, topology), client: raw);
    contract!(PJRT_Client_UpdateGlobalProcessInfo(client, num_process_infos), client: raw);
    contract!(PJRT_Client_DefaultDeviceAssignment(client, default_assignment),
        client: raw, num_replicas: 2, num_partitions: 4, default_assignment_size: ids.len(),
        default_assignment: ids.as_mut_ptr());
    contract!(PJRT_Client_DmaMap(client, size),
        client: raw, data: without_provenance_mut(4096), size: 64
        => |args| drop(call!(PJRT_Client_DmaUnmap, client: args.client, data: args.data)));
    contract!(PJRT_Client_DmaUnmap(client, data),
    client: raw,
    data: {
        let data = without_provenance_mut(8192);
        let _ = call!(PJRT_Client_DmaMap, client: raw, data: data, size: 64);
        data
    });
}

#[test]
fn a_client_is_the_tpu_of_process_zero_with_eight_devices() {
    let client = Client::new();
    let name = call!(PJRT_Client_PlatformName, client: client.raw).unwrap();
    assert_eq!(text(name.platform_name, name.platform_name_size), "tpu");
    assert_eq!(call!(PJRT_Client_ProcessIndex, client: client.raw).unwrap().process_index, 0);
    let version = call!(PJRT_Client_PlatformVersion, client: client.raw).unwrap();
    let version = text(version.platform_version, version.platform_version_size);
    assert!(version.starts_with("TFRT TPU v5 lite\nEmulated by tpu-emu "), "{version}");

    let addressable = call!(PJRT_Client_AddressableDevices, client: client.raw).unwrap();
    let addressable = list(addressable.addressable_devices, addressable.num_addressable_devices);
    assert_eq!(client.devices().len(), 8);
    assert_eq!(addressable, client.devices());
    let memories = call!(PJRT_Client_AddressableMemories, client: client.raw).unwrap();
    let memories = list(memories.addressable_memories, memories.num_addressable_memories);
    let of_devices: Vec<_> = (0..8).flat_map(|index| client.memories(index)).collect();
    assert_eq!(memories, of_devices);
}

#[test]
fn a_device_is_found_by_its_id_and_by_its_number_in_the_process() {
    let client = Client::new();
    for (number, device) in (0..).zip(client.devices()) {
        let description =
            call!(PJRT_Device_GetDescription, device: device).unwrap().device_description;
        let id = call!(PJRT_DeviceDescription_Id, device_description: description).unwrap().id;
        let found = call!(PJRT_Client_LookupDevice, client: client.raw, id: id).unwrap();
        assert_eq!(found.device, device);
        let found = call!(PJRT_Client_LookupAddressableDevice,
            client: client.raw, local_hardware_id: number)
        .unwrap();
        assert_eq!(found.addressable_device, device);
    }
}

#[test]
fn a_device_that_is_not_there_is_refused_in_the_words_of_other_plugins() {
    let client = Client::new();
    for id in [-1, 8, i32::MIN, i32::MAX] {
        let failure = call!(PJRT_Client_LookupDevice, client: client.raw, id: id).unwrap_err();
        assert_eq!(failure.code, INVALID);
        assert_eq!(failure.message, format!("No matching device found for device_id {id}"));
        let failure = call!(PJRT_Client_LookupAddressableDevice,
            client: client.raw, local_hardware_id: id)
        .unwrap_err();
        assert_eq!(failure.code, INVALID);
        assert_eq!(failure.message, format!("No matching device found for local_hardware_id {id}"));
    }
}

#[test]
fn devices_are_assigned_in_the_order_of_their_ids() {
    let client = Client::new();
    let mut ids = [-7; 9];
    call!(PJRT_Client_DefaultDeviceAssignment,
        client: client.raw, num_replicas: 2, num_partitions: 4, default_assignment_size: 8,
        default_assignment: ids.as_mut_ptr())
    .unwrap();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7, -7]);
}

#[test]
fn an_assignment_that_cannot_be_is_refused() {
    let client = Client::new();
    let mut ids = [-7; 64];
    let mut assign = |replicas, partitions, size| {
        call!(PJRT_Client_DefaultDeviceAssignment,
            client: client.raw, num_replicas: replicas, num_partitions: partitions,
            default_assignment_size: size, default_assignment: ids.as_mut_ptr())
    };
    let failure = assign(1, 2, 1).unwrap_err();
    assert_eq!(failure.code, WRONG_STATE);
    assert_eq!(
        failure.message,
        "PJRT_Client_DefaultDeviceAssignment: `default_assignment_size` 1 < \
         `num_replicas * num_partitions`, 1 * 2 = 2"
    );
    assert_refused(assign(3, 3, 64), INVALID, &["(9)", "(8)"]);
    assert_refused(assign(0, 1, 64), INVALID, &["0 replicas of 1 partitions"]);
    assert_refused(assign(1, -1, 64), INVALID, &["1 replicas of -1 partitions"]);
    assert_refused(assign(i32::MAX, i32::MAX, 64), WRONG_STATE, &["2147483647"]);
    assert_eq!(ids, [-7; 64]);
    let answer = call!(PJRT_Client_DefaultDeviceAssignment,
        client: client.raw, num_replicas: 1, num_partitions: 1, default_assignment_size: 1);
    assert_refused(answer, INVALID, &["null default_assignment"]);
}

#[test]
fn options_of_a_real_tpu_are_accepted_and_those_of_no_type_refused() {
    let create = |options: &[PJRT_NamedValue]| {
        call!(PJRT_Client_Create,
            create_options: options.as_ptr(), num_options: options.len())
    };
    let created = create(&[option("node_id", 1, 0), option("max_inflight_computations", 1, 32)]);
    destroy_client(created.unwrap().client);
    assert_refused(create(&[option("node_id", 1, 1)]), INVALID, &["node_id", "1 processes"]);
    assert_refused(create(&[option("node_id", 1, i64::MIN)]), INVALID, &["node_id"]);
    let two = [option("node_id", 1, 0), option("num_nodes", 1, 2)];
    assert_refused(create(&two), INVALID, &["num_nodes is 2", "1 processes"]);
    assert_refused(create(&[option("odd", 99, 0)]), INVALID, &["option odd has type 99"]);
    let answer = call!(PJRT_Client_Create, num_options: 1);
    assert_refused(answer, INVALID, &["null options"]);
    let one = option("x", 1, 0);
    let answer = call!(PJRT_Client_Create, create_options: &raw const one, num_options: usize::MAX);
    assert_refused(answer, INVALID, &["address space"]);
}

#[test]
fn a_client_is_destroyed_once() {
    let client = call!(PJRT_Client_Create).unwrap().client;
    destroy_client(client);
    let again = call!(PJRT_Client_Destroy, client: client);
    assert_refused(again, INVALID, &["client handle", "stale", "PJRT_Client_Destroy"]);
}

#[test]
fn two_clients_have_handles_of_their_own_and_one_memory() {
    let (first, second) = (Client::new(), Client::new());
    assert_ne!(first.device(7), second.device(7));
    assert_ne!(first.hbm(7), second.hbm(7));
    let before = second.in_use(7);
    let buffer = put_bytes(&first, first.hbm(7), &[1; 4096]);
    assert_eq!(second.in_use(7) - before, 4096);
    // An object of one client is as good in a call of the other.
    let copy = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: second.hbm(7)).unwrap();
    assert_eq!(get(copy.dst_buffer).unwrap(), [1; 4096]);
    destroy(buffer);
    destroy(copy.dst_buffer);
    assert_eq!(first.in_use(7), before);
}

#[test]
fn a_buffer_outlives_its_client() {
    let watcher = Client::new();
    let before = watcher.in_use(6);
    let client = Client::new();
    let buffer = put_bytes(&client, client.hbm(6), b"still here");
    drop(client);
    assert_eq!(get(buffer).unwrap(), b"still here");
    let memory = call!(PJRT_Buffer_Memory, buffer: buffer).unwrap().memory;
    assert_refused(call!(PJRT_Memory_Kind, memory: memory), INVALID, &["memory handle", "stale"]);
    assert_refused(
        call!(PJRT_Buffer_DonateWithControlDependency, buffer: buffer),
        INVALID,
        &["memory handle", "stale"],
    );
    assert!(!c::buffers::is_deleted(buffer), "a donation that fails takes nothing");
    let copy = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: watcher.hbm(6));
    destroy(copy.unwrap().dst_buffer);
    destroy(buffer);
    assert_eq!(watcher.in_use(6), before);
}

#[test]
fn memory_is_mapped_once_and_unmapped_once() {
    let client = Client::new();
    let bytes = [0_u8; 64];
    let data = c::user_pointer(&bytes);
    let map = || call!(PJRT_Client_DmaMap, client: client.raw, data: data, size: bytes.len());
    let unmap = || call!(PJRT_Client_DmaUnmap, client: client.raw, data: data);
    map().unwrap();
    assert_refused(map(), EXISTS, &["mapped already"]);
    unmap().unwrap();
    assert_refused(unmap(), NOT_FOUND, &["is not mapped", "PJRT_Client_DmaUnmap"]);
    assert_refused(call!(PJRT_Client_DmaMap, client: client.raw), INVALID, &["null data"]);
}

#[test]
fn news_of_other_processes_are_heard() {
    let client = Client::new();
    let mut news = [c::blank::<PJRT_ProcessInfo>(); 2];
    call!(PJRT_Client_UpdateGlobalProcessInfo,
        client: client.raw, process_infos: news.as_mut_ptr(), num_process_infos: 2)
    .unwrap();
    let answer = call!(PJRT_Client_UpdateGlobalProcessInfo,
        client: client.raw, num_process_infos: 2);
    assert_refused(answer, INVALID, &["null process_infos"]);
}

#[test]
fn a_topology_of_a_client_ends_with_it() {
    let client = Client::new();
    let topology = call!(PJRT_Client_TopologyDescription, client: client.raw).unwrap().topology;
    // Clients that take it for theirs destroy it, more than once; it stays.
    for _ in 0..2 {
        call!(PJRT_TopologyDescription_Destroy, topology: topology).unwrap();
        let devices = call!(PJRT_TopologyDescription_GetDeviceDescriptions, topology: topology);
        assert!(devices.unwrap().num_descriptions > 0);
        let again = call!(PJRT_Client_TopologyDescription, client: client.raw).unwrap();
        assert_eq!(again.topology, topology);
    }
    drop(client);
    let answer = call!(PJRT_TopologyDescription_Destroy, topology: topology);
    assert_refused(answer, INVALID, &["topology handle", "stale"]);
}
