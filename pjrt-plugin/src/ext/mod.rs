//! The extensions: a chain of tables behind the main one, each known by its type.
use crate::sys::PJRT_Extension_Base;

mod abi_version;
mod host_memory_allocator;
mod layouts;
mod memory_descriptions;
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
        host_memory_allocator::extension,
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

/// Writes the C functions of an extension: `name => path(Args, last)` serves `name` by the safe
/// function at `path`, `name => missing(Args)` answers UNIMPLEMENTED.
macro_rules! extension_functions {
    ($($name:ident => $how:ident($($with:tt)*),)*) => {
        // UNSAFETY: C calls these; each hands its arguments to `serve` and nowhere else.
        #[expect(unsafe_code, reason = "functions that C calls")]
        #[allow(non_snake_case, reason = "they are named as in the header")]
        mod table {
            use crate::ext::extension_function;
            $(extension_function!($name $how($($with)*));)*
        }
    };
}

macro_rules! extension_function {
    ($name:ident call($path:path, $args:ident, $last:ident)) => {
        pub(super) unsafe extern "C" fn $name(
            args: *mut crate::sys::$args,
        ) -> *mut crate::sys::PJRT_Error {
            let needed = crate::boundary::end_of!(crate::sys::$args, $last);
            // SAFETY: the caller keeps the header's contract for `args`.
            unsafe { crate::boundary::serve(&stringify!($name), args, needed, $path) }
        }
    };
    ($name:ident missing($args:ident)) => {
        pub(super) unsafe extern "C" fn $name(
            args: *mut crate::sys::$args,
        ) -> *mut crate::sys::PJRT_Error {
            let refuse = |_: &crate::boundary::Caller, _: &mut crate::sys::$args| {
                crate::api::not_done(stringify!($name))
            };
            // SAFETY: the caller keeps the header's contract for `args`.
            unsafe { crate::boundary::serve(&stringify!($name), args, size_of::<usize>(), refuse) }
        }
    };
}

use {extension_function, extension_functions};
