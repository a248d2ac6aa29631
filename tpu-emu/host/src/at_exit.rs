//! What is done when the process ends by itself.
// UNSAFETY: registers a C function with the C library.
#![expect(unsafe_code, reason = "atexit")]

/// Calls `what` at the end of the process, or when the library is unloaded.
pub(crate) fn at_exit(what: extern "C" fn()) {
    // SAFETY: the function takes nothing and lives as long as the library.
    let failed = unsafe { libc::atexit(what) };
    if failed != 0 {
        tracing::warn!(failed, "atexit");
    }
}
