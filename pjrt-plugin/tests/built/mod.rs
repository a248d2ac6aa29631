//! The library that was built for this test: it lies beside the test's own file. Tests load it as
//! clients do, and name its headers as `pjrt_sys`: a test that names the library itself has all of
//! it in its own file, and forty of those are gigabytes.
// UNSAFETY: loads a library and takes functions from it by name.
#![expect(unsafe_code, reason = "functions of a loaded library")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use libloading::Library;
use pjrt_sys::PJRT_Api;
use std::env::current_exe;
use std::path::PathBuf;
use std::sync::LazyLock;

pub fn path() -> PathBuf {
    let path = current_exe().unwrap().with_file_name("libpjrt_tpu_emu.so");
    assert!(path.exists(), "{}", path.display());
    path
}

/// Never unloaded.
static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    // SAFETY: nothing runs when the library is loaded.
    unsafe { Library::new(path()) }.unwrap()
});

/// A function of the library.
///
/// # Safety
///
/// `F` is the function's type.
pub unsafe fn function<F: Copy>(name: &str) -> F {
    // SAFETY: the promise of the caller.
    *unsafe { LIBRARY.get::<F>(name.as_bytes()) }.unwrap()
}

/// The table of PJRT.
pub fn api() -> &'static PJRT_Api {
    // SAFETY: the function's own type.
    static GET: LazyLock<extern "C" fn() -> *const PJRT_Api> =
        LazyLock::new(|| unsafe { function("GetPjrtApi") });
    // SAFETY: the table lives as long as the library and never changes.
    unsafe { &*GET() }
}
