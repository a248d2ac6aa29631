//! The runtime that threw an exception ends it.
// UNSAFETY: the functions of the C++ runtime and of the unwinder, and their structs.
#![expect(unsafe_code, reason = "the exceptions of others")]
use super::Thrown;
use super::thrown::{CXX_CLASSES, RUST_CLASS};
use std::ffi::{CStr, c_int, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr;

/// The head of every exception, as the unwinder has it.
#[repr(C, align(16))]
#[derive(Debug)]
pub(super) struct Exception {
    class: u64,
    cleanup: Option<unsafe extern "C" fn(c_int, *mut Exception)>,
    private: [u64; 2],
}

#[cfg(test)]
impl Exception {
    pub(super) fn new(class: u64, cleanup: unsafe extern "C" fn(c_int, *mut Self)) -> Self {
        Self { class, cleanup: Some(cleanup), private: [0; 2] }
    }
}

#[link(name = "gcc_s")]
unsafe extern "C" {
    fn _Unwind_DeleteException(exception: *mut Exception);
}

/// Reads an exception and ends its life.
///
/// # Safety
/// `exception` was taken by a handler, which is over; nobody else ends it.
pub(super) unsafe fn finish(exception: *mut Exception) -> Thrown {
    // SAFETY: the head of an exception.
    let (class, cleanup) = unsafe { ((*exception).class, (*exception).cleanup) };
    let thrown = Thrown::read(class, exception.addr(), size_of::<Exception>());
    if class == 0 {
        // A thread that ends itself: the C library owns the head.
        return thrown;
    }
    if class == RUST_CLASS {
        // Rust ends the process where a runtime ends the panic of another one.
        return thrown;
    }
    let runtime = CXX_CLASSES.contains(&class).then_some(cleanup).flatten().and_then(runtime_of);
    // SAFETY: an exception of this runtime; or one that nobody has ended.
    unsafe {
        match runtime {
            // These count what a thread has thrown and not caught, which the other does not.
            Some((begin, end)) => {
                begin(exception.cast());
                end();
            }
            None => _Unwind_DeleteException(exception),
        }
    }
    thrown
}

type Begin = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type End = unsafe extern "C" fn();

/// How the library that an exception comes from ends it: a process may have several.
fn runtime_of(cleanup: unsafe extern "C" fn(c_int, *mut Exception)) -> Option<(Begin, End)> {
    let (base, path) = library_of((cleanup as *const ()).cast())?;
    // SAFETY: a name that the loader gave; nothing is loaded. It stays loaded, as it is.
    let handle = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    let handle = if handle.is_null() { libc::RTLD_DEFAULT } else { handle };
    let of_it = |name: &CStr| {
        // SAFETY: a handle of the loader's and a name.
        let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
        let is_same = !found.is_null() && library_of(found).is_some_and(|(at, _)| at == base);
        is_same.then_some(found)
    };
    let (begin, end) = (of_it(c"__cxa_begin_catch")?, of_it(c"__cxa_end_catch")?);
    // SAFETY: the functions of these names.
    unsafe { Some((transmute::<*mut c_void, Begin>(begin), transmute::<*mut c_void, End>(end))) }
}

/// Where the library of an address begins, and its name.
fn library_of(address: *const c_void) -> Option<(usize, *const libc::c_char)> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the result is a place of its type, all zeros is a value of it.
    let (known, found) =
        unsafe { (libc::dladdr(address, found.as_mut_ptr()), found.assume_init()) };
    (known != 0 && !ptr::eq(found.dli_fname, ptr::null()))
        .then(|| (found.dli_fbase.addr(), found.dli_fname))
}
