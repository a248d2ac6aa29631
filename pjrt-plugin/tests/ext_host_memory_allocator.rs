//! Extension 23 through the C table.
// UNSAFETY: writes to memory that the table gives, and gives it back.
#![expect(unsafe_code, reason = "a C client")]
mod ext;

use ext::{
    Failure, INVALID_ARGUMENT, STALE, args, call, client, destroy_client, extension,
    refuses_what_is_missing,
};
use pjrt_sys::{
    PJRT_Client, PJRT_Extension_Type, PJRT_HostMemoryAllocator_Allocate_Args,
    PJRT_HostMemoryAllocator_Extension,
};

fn table() -> &'static PJRT_HostMemoryAllocator_Extension {
    extension(PJRT_Extension_Type::PJRT_Extension_Type_HostMemoryAllocator)
}

fn allocate(
    client: *mut PJRT_Client,
    size: usize,
    numa_node: i32,
) -> Result<PJRT_HostMemoryAllocator_Allocate_Args, Failure> {
    let mut allocate: PJRT_HostMemoryAllocator_Allocate_Args = args();
    (allocate.client, allocate.size, allocate.numa_node) = (client, size, numa_node);
    call(table().allocate, &raw mut allocate).map(|()| allocate)
}

#[test]
fn memory_is_aligned_to_pages_and_ours_until_its_deleter_is_called() {
    let client = client();
    for (size, node) in [(1, -1), (100_000, 0), (4096, 1)] {
        let given = allocate(client, size, node).unwrap();
        assert!(given.ptr.addr().is_multiple_of(4096));
        // SAFETY: memory of this size.
        unsafe { given.ptr.write_bytes(7, size) };
        let deleter = given.deleter.unwrap();
        // SAFETY: what the call gave; a second time changes nothing.
        unsafe {
            deleter(given.ptr.cast(), given.deleter_arg);
            deleter(given.ptr.cast(), given.deleter_arg);
            deleter(std::ptr::null_mut(), given.deleter_arg);
        }
    }
    destroy_client(client);
}

#[test]
fn sizes_and_nodes_that_cannot_be_are_refused() {
    let client = client();
    let (code, message) = allocate(client, 0, -1).unwrap_err();
    assert_eq!(code, INVALID_ARGUMENT);
    assert!(message.starts_with("0 bytes cannot be allocated"), "{message}");
    assert_eq!(allocate(client, usize::MAX, -1).unwrap_err().0, INVALID_ARGUMENT);
    assert_eq!(allocate(client, 1 << 62, -1).unwrap_err().0, 8, "RESOURCE_EXHAUSTED");
    assert_eq!(allocate(client, 1, -2).unwrap_err().0, INVALID_ARGUMENT);
    destroy_client(client);
}

#[test]
fn a_client_is_needed() {
    refuses_what_is_missing(table().allocate);
    let stale = client();
    destroy_client(stale);
    assert_eq!(allocate(stale, 1, -1).unwrap_err().0, STALE);
}
