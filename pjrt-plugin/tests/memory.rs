//! Memories, through the table and through the table in front of them.
#![expect(unsafe_code, reason = "follows the function table of an object")]

mod c;

use c::contract::contract;
use c::{Client, INVALID, assert_refused, call, list, text};
use pjrt_sys::{PJRT_Memory, PJRT_Memory_FunctionTable};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

fn table(memory: *mut PJRT_Memory) -> PJRT_Memory_FunctionTable {
    // SAFETY: a memory of ours begins with the address of its table, for ever.
    unsafe { *(*memory).vtable }
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let memory = client.hbm(0);
    contract!(PJRT_Memory_Id(memory, id), memory: memory);
    contract!(PJRT_Memory_Kind(memory, kind_size), memory: memory);
    contract!(PJRT_Memory_Kind_Id(memory, kind_id), memory: memory);
    contract!(PJRT_Memory_DebugString(memory, debug_string_size), memory: memory);
    contract!(PJRT_Memory_ToString(memory, to_string_size), memory: memory);
    contract!(PJRT_Memory_AddressableByDevices(memory, num_devices), memory: memory);
}

#[test]
fn a_memory_says_what_it_is_and_whose() {
    let client = Client::new();
    let kinds = [
        ("device", -569_941_144),
        ("pinned_host", -1_650_963_262),
        ("unpinned_host", -2_062_524_483),
    ];
    for (memory, (name, number)) in client.memories(1).into_iter().zip(kinds) {
        let kind = call!(PJRT_Memory_Kind, memory: memory).unwrap();
        assert_eq!(text(kind.kind, kind.kind_size), name);
        assert_eq!(call!(PJRT_Memory_Kind_Id, memory: memory).unwrap().kind_id, number);
        let shown = call!(PJRT_Memory_ToString, memory: memory).unwrap();
        let shown = text(shown.to_string, shown.to_string_size);
        assert!(shown.starts_with(&format!("{name} memory of TpuDevice(id=1")), "{shown}");
        let debug = call!(PJRT_Memory_DebugString, memory: memory).unwrap();
        let debug = text(debug.debug_string, debug.debug_string_size);
        assert!(debug.starts_with("TPU_1(") && debug.ends_with(&format!("_{name}")), "{debug}");
        let seen = call!(PJRT_Memory_AddressableByDevices, memory: memory).unwrap();
        assert_eq!(list(seen.devices, seen.num_devices), [client.device(1)]);
    }
}

#[test]
fn numbers_are_unique() {
    let client = Client::new();
    let memories = (0..8).flat_map(|index| client.memories(index));
    let ids: BTreeSet<i32> =
        memories.map(|memory| call!(PJRT_Memory_Id, memory: memory).unwrap().id).collect();
    assert_eq!(ids.len(), 24);
}

#[test]
fn what_is_no_memory_is_told_without_following_it() {
    let client = Client::new();
    let inside = client.hbm(0).wrapping_byte_add(8);
    for memory in [inside, without_provenance_mut(8), without_provenance_mut(usize::MAX)] {
        let answer = call!(PJRT_Memory_Kind, memory: memory);
        assert_refused(answer, INVALID, &["memory handle", "stale"]);
    }
}

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count(data: *mut c_void) {
    DESTROYED.fetch_add(data.addr(), Ordering::SeqCst);
}

#[test]
fn user_data_is_kept_until_the_client_is_destroyed() {
    let client = Client::new();
    let memory = client.hbm(0);
    let functions = table(memory);
    assert_eq!(functions.struct_size, size_of::<PJRT_Memory_FunctionTable>());
    let (get, set) = (functions.get_user_data.unwrap(), functions.set_user_data.unwrap());
    let key: *const c_void = without_provenance(8);
    // SAFETY: a memory of ours, which stays readable after its client's end, and data that
    // nobody follows.
    unsafe {
        set(memory, key, without_provenance_mut(1), Some(count));
        assert_eq!(get(memory, key).addr(), 1);
        assert!(get(client.hbm(1), key).is_null());
        drop(client);
        assert_eq!(DESTROYED.load(Ordering::SeqCst), 1);
        assert!(get(memory, key).is_null());
        assert!(get(null_mut(), key).is_null());
    }
}
