//! The end of a Python process: the callbacks of running programs have returned by then, and what
//! lives then is what the program held.
use std::ffi::c_int;
use std::sync::Once;
use std::time::Duration;
use tpu_emu::entry;

/// How long one question takes. Python handles signals in between.
const PATIENCE: Duration = Duration::from_millis(50);

/// What runs in the interpreter, with the address of [`pending`] among its globals.
///
/// A thread that wants the interpreter's lock when the interpreter is gone does not survive it.
const TEXT: &str = "
import atexit, ctypes
pending = ctypes.CFUNCTYPE(ctypes.c_int)(PENDING)
@atexit.register
def wait_for_callbacks():
    while pending():
        pass
";

/// Has the interpreter of this process, where there is one, wait at its end.
pub(crate) fn wait_for_callbacks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let pending: *const () = pending as *const ();
        let globals = [("PENDING", pending.expose_provenance())];
        let install = || tpu_host::run_python(TEXT, "exit", &globals);
        // `enter` logs an error; a client that does not wait is better than none.
        drop(entry::enter(&"waiting at the end of the interpreter", install));
    });
}

/// What the trace calls this end.
///
/// What the program and JAX have registered with `atexit` before the client was made runs behind it,
/// and the interpreter lets go of modules after that.
const SIGN: &str = "atexit of Python";

/// Waits a while for callbacks to return; 0 when there is nothing to wait for.
extern "C" fn pending() -> c_int {
    let wait = || {
        let Some(machine) = crate::machine_if_made() else { return Ok(false) };
        let pending = machine.wait_for_clients(PATIENCE);
        if !pending {
            machine.client_ends(SIGN);
        }
        Ok(pending)
    };
    entry::enter(&"the end of the interpreter", wait).map_or(0, c_int::from)
}
