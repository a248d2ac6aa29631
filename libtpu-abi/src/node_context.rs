//! `TpuNodeContext_*`: what a client holds while it uses a device.
// UNSAFETY: exports functions.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::{answer, handle_of, id_of, report, report_or};
use crate::machine;
use crate::sys::{TF_Status, XLA_TpuNodeContext};
use std::ffi::c_int;
use std::ptr;
use tpu_emu::{Error, Result, Table};

/// That a client uses a device.
#[derive(Debug)]
struct NodeContext;

static CONTEXTS: Table<NodeContext> = Table::new("XLA_TpuNodeContext", 142);

/// Whether there is a device of this number.
fn check(device_ordinal: c_int) -> Result<()> {
    let count = machine()?.topology().devices().len();
    if usize::try_from(device_ordinal).is_ok_and(|ordinal| ordinal < count) {
        return Ok(());
    }
    Err(Error::bad(format!("device_ordinal {device_ordinal}; there are {count} devices")))
}

/// The use of a device.
#[unsafe(no_mangle)]
pub extern "C" fn TpuNodeContext_Create(
    device_ordinal: c_int,
    status: *mut TF_Status,
) -> *mut XLA_TpuNodeContext {
    report_or(&"TpuNodeContext_Create", status, ptr::null_mut(), || {
        check(device_ordinal)?;
        Ok(handle_of(CONTEXTS.insert(NodeContext)))
    })
}

/// Ends a node's context; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuNodeContext_Free(node_context: *mut XLA_TpuNodeContext) {
    if node_context.is_null() {
        return;
    }
    answer(&"TpuNodeContext_Free", (), || {
        CONTEXTS.remove(id_of(node_context, "XLA_TpuNodeContext")?).map(drop)
    });
}

/// Makes a device ready, which it is.
#[unsafe(no_mangle)]
pub extern "C" fn TpuNodeContext_Initialize(device_ordinal: c_int, status: *mut TF_Status) {
    report(&"TpuNodeContext_Initialize", status, || check(device_ordinal));
}

/// Lets go of the host's chips. The machine lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn TpuNodeContext_CloseTpuHost(status: *mut TF_Status) {
    report(&"TpuNodeContext_CloseTpuHost", status, || machine().map(drop));
}

/// Stops the heartbeats of the chips, of which there are none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuNodeContext_StopChipHeartbeats(status: *mut TF_Status) {
    report(&"TpuNodeContext_StopChipHeartbeats", status, || machine().map(drop));
}

/// Whether a device can move its allocations together: no, addresses stay.
#[unsafe(no_mangle)]
pub extern "C" fn TpuNodeContext_CompactionSupported(device_ordinal: c_int) -> bool {
    answer(&"TpuNodeContext_CompactionSupported", false, || check(device_ordinal).map(|()| false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::said;

    #[test]
    fn a_device_of_the_machine_can_be_used_and_no_other() {
        let mut context = ptr::null_mut();
        assert_eq!(said(|status| context = TpuNodeContext_Create(7, status)), Ok(()));
        assert!(!context.is_null());
        TpuNodeContext_Free(context);
        TpuNodeContext_Free(ptr::null_mut());
        assert_eq!(said(|status| TpuNodeContext_Initialize(0, status)), Ok(()));
        for ordinal in [-1, 8] {
            let error = format!("device_ordinal {ordinal}; there are 8 devices");
            assert_eq!(said(|status| TpuNodeContext_Initialize(ordinal, status)), Err(error));
            let made = said(|status| assert!(TpuNodeContext_Create(ordinal, status).is_null()));
            assert!(made.is_err());
        }
        assert!(!TpuNodeContext_CompactionSupported(0));
        assert_eq!(said(|status| TpuNodeContext_StopChipHeartbeats(status)), Ok(()));
        assert_eq!(said(|status| TpuNodeContext_CloseTpuHost(status)), Ok(()));
    }
}
