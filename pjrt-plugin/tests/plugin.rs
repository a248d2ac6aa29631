//! The library as a whole, through the table.
#![expect(unsafe_code, reason = "an older caller's struct, and unions of values")]

mod c;

use c::built::function;
use c::contract::contract;
use c::{api, blank, call, list, outcome, text};
use pjrt_sys::{PJRT_NamedValue_Type, PJRT_Plugin_Attributes_Args};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

#[test]
fn every_function_keeps_the_contract() {
    contract!(PJRT_Plugin_Initialize(-, extension_start));
}

#[test]
fn initialising_twice_is_fine() {
    call!(PJRT_Plugin_Initialize).unwrap();
    call!(PJRT_Plugin_Initialize).unwrap();
}

#[test]
fn the_attributes_are_those_that_jax_reads() {
    let args = call!(PJRT_Plugin_Attributes).unwrap();
    let all = list(args.attributes, args.num_attributes);
    let names: Vec<_> = all.iter().map(|value| text(value.name, value.name_size)).collect();
    assert_eq!(names, ["xla_version", "stablehlo_current_version", "stablehlo_minimum_version"]);
    assert_eq!(all[0].type_, PJRT_NamedValue_Type::PJRT_NamedValue_kInt64);
    for version in &all[1..] {
        assert_eq!(version.type_, PJRT_NamedValue_Type::PJRT_NamedValue_kInt64List);
        // SAFETY: the type says that it is a list.
        let numbers = list(unsafe { version.anon_1.int64_array_value }, version.value_size);
        assert_eq!(numbers.len(), 3);
    }
}

/// Headers before 0.76 stated a size that ends before the count, which is there all the same.
#[test]
fn the_count_is_written_where_an_older_header_forgot_its_size() {
    let mut args = blank::<PJRT_Plugin_Attributes_Args>();
    args.struct_size = offset_of!(PJRT_Plugin_Attributes_Args, num_attributes);
    assert_eq!(args.struct_size, 24);
    // SAFETY: a whole struct.
    outcome(unsafe { api().PJRT_Plugin_Attributes.unwrap()(&raw mut args) }).unwrap();
    assert_eq!(args.num_attributes, 3);
    assert_eq!(list(args.attributes, 3).len(), 3);
}

/// The function of the library that takes a snapshot.
fn snapshot(bytes: *mut *mut u8, size: *mut usize) -> c_int {
    // SAFETY: the function's own type; both places are written, or null.
    unsafe {
        let take: unsafe extern "C" fn(*mut *mut u8, *mut usize) -> c_int =
            function("tpu_emu_snapshot");
        take(bytes, size)
    }
}

/// Gives a snapshot back.
fn release(bytes: *mut u8, size: usize) {
    // SAFETY: the function's own type, and what `snapshot` gave.
    unsafe { function::<unsafe extern "C" fn(*mut u8, usize)>("tpu_emu_release")(bytes, size) }
}

#[test]
fn a_snapshot_is_a_trace_that_its_taker_gives_back() {
    // SAFETY: the function's own type.
    let version: extern "C" fn() -> c_int = unsafe { function("tpu_emu_snapshot_version") };
    assert_eq!(version(), 4);
    let (mut bytes, mut size) = (null_mut(), 0);
    assert_eq!(snapshot(&raw mut bytes, &raw mut size), 0);
    assert!(list(bytes, size).len() > 8);
    release(bytes, size);
}

#[test]
fn a_pointer_into_no_emulated_memory_and_an_address_of_no_space_are_refused() {
    let (mut space, mut address, mut pointer) = (7, 7, null_mut());
    // SAFETY: the functions' own types; every place is this function's, or null.
    unsafe {
        let address_of: unsafe extern "C" fn(*const c_void, *mut u32, *mut u64) -> c_int =
            function("tpu_emu_address_of");
        let pointer_to: unsafe extern "C" fn(u32, u64, *mut *mut c_void) -> c_int =
            function("tpu_emu_pointer_to");
        let own = (&raw const space).cast();
        assert_eq!(address_of(own, &raw mut space, &raw mut address), 3);
        assert_eq!(address_of(own, null_mut(), &raw mut address), 3);
        assert_eq!(pointer_to(1 << 20, 0, &raw mut pointer), 3);
        assert_eq!(pointer_to(0, 0, null_mut()), 3);
    }
    assert_eq!((space, address, pointer), (7, 7, null_mut()));
}

#[test]
fn a_snapshot_without_a_place_is_refused() {
    let mut size = 7;
    assert_eq!(snapshot(null_mut(), &raw mut size), 3);
    release(null_mut(), 0);
    assert_eq!(size, 7);
}
