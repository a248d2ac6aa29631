//! The interface of our own: what lives in the emulated memories now, for tools of the process.
// UNSAFETY: exports C symbols that hand memory out and take it back.
#![expect(unsafe_code, reason = "exported symbols")]
use crate::boundary::Caller;
use std::ffi::{c_char, c_int};
use tpu_emu::entry;

/// The version of this interface. Later versions add functions; they change none.
#[unsafe(no_mangle)]
pub extern "C" fn tpu_emu_snapshot_version() -> c_int {
    3
}

/// Names this moment in the trace, where there is one: the `length` bytes of UTF-8 at `name`.
/// Since version 2.
///
/// Returns 0, or the code of an error (a number of `PJRT_Error_Code`).
///
/// # Safety
/// The bytes can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_mark(name: *const c_char, length: usize) -> c_int {
    let marked = entry::enter(&"tpu_emu_mark", || {
        // SAFETY: the contract of this function.
        let name = unsafe { Caller::new() }.text(name, length, "name")?;
        let machine = crate::machine()?;
        machine.check_not_forked()?;
        machine.mark(&name);
        Ok(())
    });
    marked.map_or_else(|error| error.code() as c_int, |()| 0)
}

/// Everything that lives now, as a trace (`docs/trace-format.md`) of `*size` bytes at `*bytes`.
/// The caller gives them back by `tpu_emu_release`.
///
/// Returns 0, or the code of an error (a number of `PJRT_Error_Code`) and writes nothing.
///
/// # Safety
/// Both pointers are valid for one value each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_snapshot(bytes: *mut *mut u8, size: *mut usize) -> c_int {
    let taken = entry::enter(&"tpu_emu_snapshot", || {
        if bytes.is_null() || size.is_null() {
            return Err(tpu_emu::Error::Null("result place"));
        }
        let machine = crate::machine()?;
        // The fork may have copied a lock that another thread held.
        machine.check_not_forked()?;
        Ok(machine.snapshot(&tpu_host::header()?))
    });
    match taken {
        Err(error) => error.code() as c_int,
        Ok(trace) => {
            let trace = trace.into_boxed_slice();
            // SAFETY: not null, checked above; valid by this function's contract.
            unsafe {
                size.write(trace.len());
                bytes.write(Box::into_raw(trace).cast());
            }
            0
        }
    }
}

/// Ends the life of a snapshot.
///
/// # Safety
/// Both values came from one call of `tpu_emu_snapshot`, and are given back once; null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_release(bytes: *mut u8, size: usize) {
    if !bytes.is_null() {
        // SAFETY: the promise of this function's caller.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes, size)) });
    }
}
