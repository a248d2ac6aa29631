//! The extensions: a chain of tables behind the main one, each known by its type.
use crate::sys::PJRT_Extension_Base;

mod abi_version;
mod cross_host_transfers;
mod custom_partitioner;
mod ffi;
mod host_memory_allocator;
mod layouts;
mod memory_descriptions;
mod profiler;
mod raw_buffer;
mod shardings;
mod tpu_topology;

/// The first extension; the rest follow behind it. Null for none.
pub(crate) fn chain() -> *mut PJRT_Extension_Base {
    let mut next = std::ptr::null_mut();
    let all = [
        layouts::extension,
        memory_descriptions::extension,
        tpu_topology::extension,
        raw_buffer::extension,
        shardings::extension,
        abi_version::extension,
        custom_partitioner::extension,
        host_memory_allocator::extension,
        cross_host_transfers::extension,
        ffi::extension,
        profiler::extension,
    ];
    for extension in all {
        next = extension(next);
    }
    next
}

/// Makes an extension that lives as long as the process.
fn leak<E>(extension: E) -> *mut PJRT_Extension_Base {
    Box::into_raw(Box::new(extension)).cast()
}

/// Writes the C functions of an extension, a row each: see `c_function`.
macro_rules! extension_functions {
    ($($name:ident => $how:ident($($with:tt)*),)*) => {
        // C calls these; each hands its arguments to `serve` and nowhere else.
        #[expect(unsafe_code, reason = "functions that C calls")]
        #[allow(non_snake_case, reason = "they are named as in the header")]
        mod table {
            $(crate::boundary::c_function!($name $how($($with)*));)*
        }
    };
}

use extension_functions;
