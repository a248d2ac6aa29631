//! Devices, through the table.
#![expect(unsafe_code, reason = "a deleter of C, and unions of values")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{destroy, put_bytes};
use c::contract::contract;
use c::{Client, INVALID, assert_refused, call, list, text};
use pjrt_sys::{PJRT_AsyncTrackingEvent, PJRT_Device, PJRT_Device_MemoryStats_Args};

fn track(device: *mut PJRT_Device) -> *mut PJRT_AsyncTrackingEvent {
    let words = "all-reduce.1";
    call!(PJRT_Device_CreateAsyncTrackingEvent,
        device: device, description: words.as_ptr().cast(), description_size: words.len())
    .unwrap()
    .event
}

fn stats(client: &Client, index: usize) -> PJRT_Device_MemoryStats_Args {
    let device = client.device(index);
    call!(PJRT_Device_MemoryStats, device: device).unwrap()
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let device = client.device(0);
    contract!(PJRT_Device_GetDescription(device, device_description), device: device);
    contract!(PJRT_Device_IsAddressable(device, is_addressable), device: device);
    contract!(PJRT_Device_LocalHardwareId(device, local_hardware_id), device: device);
    contract!(PJRT_Device_AddressableMemories(device, num_memories), device: device);
    contract!(PJRT_Device_DefaultMemory(device, memory), device: device);
    contract!(PJRT_Device_MemoryStats(device, bytes_in_use), device: device);
    contract!(PJRT_Device_ClearMemoryStats(device, device), device: device);
    contract!(PJRT_Device_PoisonExecution(device, poisoned), device: device);
    contract!(PJRT_Device_GetAttributes(device, attributes_deleter), device: device);
    contract!(PJRT_Device_CreateAsyncTrackingEvent(device, event), device: device => |args| {
        call!(PJRT_AsyncTrackingEvent_Destroy, event: args.event).unwrap();
    });
    contract!(PJRT_AsyncTrackingEvent_Destroy(event, event), event: track(device));
}

#[test]
fn a_device_of_this_process_is_addressable_and_numbered_in_order() {
    let client = Client::new();
    for (number, device) in (0..).zip(client.devices()) {
        assert_eq!(call!(PJRT_Device_IsAddressable, device: device).unwrap().is_addressable, 1);
        let local = call!(PJRT_Device_LocalHardwareId, device: device).unwrap();
        assert_eq!(local.local_hardware_id, number);
    }
}

#[test]
fn the_default_memory_is_hbm_and_comes_first() {
    let client = Client::new();
    for (index, device) in client.devices().into_iter().enumerate() {
        let memories = client.memories(index);
        let default = call!(PJRT_Device_DefaultMemory, device: device).unwrap().memory;
        assert_eq!(default, memories[0]);
        let kinds: Vec<_> = memories
            .into_iter()
            .map(|memory| call!(PJRT_Memory_Kind, memory: memory).unwrap())
            .map(|args| text(args.kind, args.kind_size))
            .collect();
        assert_eq!(kinds, ["device", "pinned_host", "unpinned_host"]);
    }
}

#[test]
fn memory_stats_set_the_fields_that_a_real_tpu_sets() {
    let client = Client::new();
    let stats = stats(&client, 1);
    let limit = stats.bytes_limit;
    assert!(limit > 1 << 33, "{limit}");
    let set = [
        stats.peak_bytes_in_use_is_set,
        stats.num_allocs_is_set,
        stats.largest_alloc_size_is_set,
        stats.bytes_limit_is_set,
        stats.bytes_reserved_is_set,
        stats.peak_bytes_reserved_is_set,
        stats.bytes_reservable_limit_is_set,
        stats.largest_free_block_bytes_is_set,
        stats.peak_allocated_bytes_is_set,
    ];
    assert_eq!(set, [1; 9]);
    assert_eq!([stats.pool_bytes_is_set, stats.peak_pool_bytes_is_set], [0; 2]);
    assert_eq!(stats.bytes_reservable_limit, limit);
    assert_eq!([stats.bytes_reserved, stats.peak_bytes_reserved], [0; 2]);
    assert_eq!(stats.largest_free_block_bytes, limit, "nobody uses this device");
}

#[test]
fn memory_stats_follow_allocations_and_frees() {
    let client = Client::new();
    let before = stats(&client, 2);
    let large = put_bytes(&client, client.hbm(2), &[0; 1 << 20]);
    let small = put_bytes(&client, client.hbm(2), &[0; 4096]);
    let during = stats(&client, 2);
    assert_eq!(during.bytes_in_use, (1 << 20) + 4096);
    assert_eq!(during.num_allocs - before.num_allocs, 2);
    assert_eq!(during.largest_alloc_size, 1 << 20);
    assert_eq!(during.largest_free_block_bytes, before.bytes_limit - (1 << 20) - 4096);
    destroy(large);
    let after = stats(&client, 2);
    assert_eq!((after.bytes_in_use, after.peak_bytes_in_use), (4096, (1 << 20) + 4096));
    assert_eq!(after.peak_allocated_bytes, after.peak_bytes_in_use);
    let device = client.device(2);
    call!(PJRT_Device_ClearMemoryStats, device: device).unwrap();
    let cleared = stats(&client, 2);
    assert_eq!((cleared.peak_bytes_in_use, cleared.largest_alloc_size), (4096, 4096));
    destroy(small);
}

/// JAX before 0.113 passes a struct that ends before the newest field.
#[test]
fn a_shorter_stats_struct_gets_the_fields_that_it_has() {
    let client = Client::new();
    let device = client.device(3);
    let buffer = put_bytes(&client, client.hbm(3), &[0; 4096]);
    let stats = call!(PJRT_Device_MemoryStats, device: device, struct_size: 185).unwrap();
    assert_eq!((stats.bytes_in_use, stats.bytes_limit_is_set), (4096, 1));
    assert_eq!((stats.peak_allocated_bytes, stats.peak_allocated_bytes_is_set), (0, 0));
    destroy(buffer);
}

#[test]
fn attributes_say_where_a_device_is_and_outlive_their_deleter() {
    let client = Client::new();
    let device = client.device(5);
    let args = call!(PJRT_Device_GetAttributes, device: device).unwrap();
    // SAFETY: the deleter and its object are of one answer.
    unsafe { args.attributes_deleter.unwrap()(args.device_attributes) };
    let values = list(args.attributes, args.num_attributes);
    let names: Vec<_> = values.iter().map(|value| text(value.name, value.name_size)).collect();
    assert_eq!(names, ["coords", "core_on_chip", "num_cores", "device_memory_bytes_limit"]);
    assert_eq!(values[0].value_size, 3);
    // SAFETY: `coords` is a list, the others are numbers.
    let (coords, core, limit) = unsafe {
        let coords = list(values[0].anon_1.int64_array_value, 3);
        (coords, values[1].anon_1.int64_value, values[3].anon_1.int64_value)
    };
    assert_eq!((coords, core), (vec![1, 2, 0], 0));
    assert_eq!(limit, stats(&client, 5).bytes_limit);
}

#[test]
fn there_is_no_execution_to_poison() {
    let client = Client::new();
    let device = client.device(0);
    let words = "stop";
    let args = call!(PJRT_Device_PoisonExecution,
        device: device, launch_id: 3, error_code: c::ABORTED,
        error_message: words.as_ptr().cast(), error_message_size: words.len(), poisoned: 9)
    .unwrap();
    assert_eq!(args.poisoned, 0);
    let answer = call!(PJRT_Device_PoisonExecution, device: device, error_message_size: 4);
    assert_refused(answer, INVALID, &["null error_message"]);
}

#[test]
fn a_tracking_event_ends_once() {
    let client = Client::new();
    let event = track(client.device(0));
    call!(PJRT_AsyncTrackingEvent_Destroy, event: event).unwrap();
    let again = call!(PJRT_AsyncTrackingEvent_Destroy, event: event);
    assert_refused(again, INVALID, &["async tracking event handle", "stale"]);
    let device = client.device(0);
    let answer = call!(PJRT_Device_CreateAsyncTrackingEvent, device: device, description_size: 1);
    assert_refused(answer, INVALID, &["null description"]);
}
