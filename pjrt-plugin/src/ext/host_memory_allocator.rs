//! Extension 23: host memory for transfers.
// UNSAFETY: allocates, and frees what a set of the live allocations says is ours.
#![expect(unsafe_code, reason = "an allocator that C calls")]
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args};
use crate::state::client;
use crate::sys::{
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_HostMemoryAllocator_Allocate_Args,
    PJRT_HostMemoryAllocator_Extension,
};
use parking_lot::Mutex;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::LazyLock;
use tpu_emu::{Code, Error, Result};

c_args!(PJRT_HostMemoryAllocator_Allocate_Args);

extension_functions! {
    PJRT_HostMemoryAllocator_Allocate =>
        call(super::allocate, PJRT_HostMemoryAllocator_Allocate_Args, deleter_arg),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_HostMemoryAllocator_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_HostMemoryAllocator_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_HostMemoryAllocator,
            next,
        },
        allocate: Some(table::PJRT_HostMemoryAllocator_Allocate),
    })
}

/// A page: what a transfer engine would pin.
const ALIGNMENT: usize = 4096;

/// The live allocations by address.
static LIVE: LazyLock<Mutex<HashMap<usize, Layout>>> = LazyLock::new(Mutex::default);

/// Memory of the host, aligned to pages, not cleared.
///
/// Every node is the same memory here. Units: `size` in bytes. Errors: `BadArgument` for no
/// bytes, more than an address space has, or a node below -1; RESOURCE_EXHAUSTED where the
/// host has no such block.
fn allocate(_: &Caller, args: &mut PJRT_HostMemoryAllocator_Allocate_Args) -> Result<()> {
    client(args.client)?;
    let (size, node) = (args.size, args.numa_node);
    if node < -1 {
        return Err(Error::bad(format!("numa_node is {node}; -1 is any, others are 0 and up")));
    }
    let layout = Layout::from_size_align(size, ALIGNMENT).ok().filter(|_| size > 0);
    let layout = layout.ok_or_else(|| Error::bad(format!("{size} bytes cannot be allocated")))?;
    // SAFETY: the size is not 0.
    let pointer = unsafe { alloc(layout) };
    if pointer.is_null() {
        let message = format!("the host has no {size} bytes in one block");
        return Err(Error::Verbatim { code: Code::ResourceExhausted, message: message.into() });
    }
    LIVE.lock().insert(pointer.addr(), layout);
    args.ptr = pointer;
    args.deleter = Some(free);
    args.deleter_arg = std::ptr::null_mut();
    Ok(())
}

/// Frees an allocation; any other pointer changes nothing.
unsafe extern "C" fn free(pointer: *mut c_void, _arg: *mut c_void) {
    let layout = LIVE.lock().remove(&pointer.addr());
    if let Some(layout) = layout {
        // SAFETY: allocated with this layout and, until now, live.
        unsafe { dealloc(pointer.cast(), layout) };
    }
}
