//! Notices a fork: the child has the machine's memory as a copy and none of its threads.
// UNSAFETY: registers a C function with the C library.
#![expect(unsafe_code, reason = "pthread_atfork")]
use crate::machine::machine_if_made;
use crate::{bus_error, forked};

/// Marks the machine in every child of this process from now on.
pub(crate) fn watch() {
    // SAFETY: the handler only sets flags and closes files.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    if failed != 0 {
        tracing::warn!(failed, "pthread_atfork");
    }
}

extern "C" fn in_child() {
    forked::set_forked();
    bus_error::forget_all();
    tpu_metrics::forget_in_child();
    if let Some(machine) = machine_if_made() {
        machine.mark_forked();
    }
}
