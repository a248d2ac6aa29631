//! The memory descriptions extension, through its table.
#![expect(unsafe_code, reason = "follows the chain of extensions")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::contract::contract_of;
use c::{Client, INVALID, assert_refused, call, call_with, list, text};
use pjrt_sys::{
    PJRT_DeviceDescription, PJRT_Extension_Type, PJRT_MemoryDescription,
    PJRT_MemoryDescriptions_Extension,
};
use std::ptr::{null, without_provenance};

fn extension() -> &'static PJRT_MemoryDescriptions_Extension {
    let kind = PJRT_Extension_Type::PJRT_Extension_Type_MemoryDescriptions;
    let found = c::extension(kind).unwrap();
    // SAFETY: the type says what it is, and the table lives as long as the library.
    let extension = unsafe { &*found.cast::<PJRT_MemoryDescriptions_Extension>() };
    assert_eq!(extension.base.struct_size, size_of::<PJRT_MemoryDescriptions_Extension>());
    extension
}

fn memories(of: *mut PJRT_DeviceDescription) -> (Vec<*const PJRT_MemoryDescription>, usize) {
    let args = call_with(extension().PJRT_DeviceDescription_MemoryDescriptions, |args| {
        args.device_description = of;
    })
    .unwrap();
    let all = list(args.memory_descriptions, args.num_memory_descriptions);
    (all, args.default_memory_index)
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let extension = extension();
    let of = client.description(0);
    contract_of!(extension,
        PJRT_DeviceDescription_MemoryDescriptions(device_description, default_memory_index),
        device_description: of);
    let (all, _) = memories(of);
    contract_of!(extension, PJRT_MemoryDescription_Kind(-, kind_id), memory_description: all[0]);
}

#[test]
fn a_described_device_has_the_memories_of_a_live_one() {
    let client = Client::new();
    let (all, default) = memories(client.description(0));
    assert_eq!(default, 0);
    let live = client.memories(0);
    assert_eq!(all.len(), live.len());
    for (described, live) in all.into_iter().zip(live) {
        let kind = call_with(extension().PJRT_MemoryDescription_Kind, |args| {
            args.memory_description = described;
        })
        .unwrap();
        let live_kind = call!(PJRT_Memory_Kind, memory: live).unwrap();
        assert_eq!(text(kind.kind, kind.kind_size), text(live_kind.kind, live_kind.kind_size));
        assert_eq!(kind.kind_id, call!(PJRT_Memory_Kind_Id, memory: live).unwrap().kind_id);
    }
}

#[test]
fn what_is_no_description_is_refused() {
    for wrong in [null(), without_provenance(4), without_provenance(usize::MAX)] {
        let answer = call_with(extension().PJRT_MemoryDescription_Kind, |args| {
            args.memory_description = wrong;
        });
        assert_refused(answer, INVALID, &["memory description", "PJRT_MemoryDescription_Kind"]);
    }
}
