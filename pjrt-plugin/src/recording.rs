//! The interface of our own: what changes in the emulated memories between two calls.
// UNSAFETY: exports C symbols that hand memory out.
#![expect(unsafe_code, reason = "exported symbols")]
use std::ffi::c_int;
use tpu_emu::entry;

/// Begins to keep every change in memory, until `tpu_emu_record_stop` is called with the number at
/// `*recording`. `*time` is the time of now, in nanoseconds since the start of the machine.
/// Since version 3.
///
/// Returns 0, or the code of an error (a number of `PJRT_Error_Code`) and writes nothing.
///
/// # Safety
/// Both pointers are valid for one value each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_record_start(recording: *mut u64, time: *mut u64) -> c_int {
    let begun = entry::enter(&"tpu_emu_record_start", || {
        if recording.is_null() || time.is_null() {
            return Err(tpu_emu::Error::Null("result place"));
        }
        crate::machine()?.begin_recording()
    });
    match begun {
        Err(error) => error.code() as c_int,
        Ok((number, now)) => {
            // SAFETY: not null, checked above; valid by this function's contract.
            unsafe {
                recording.write(number);
                time.write(now.0);
            }
            0
        }
    }
}

/// What a recording has so far, as a trace (`docs/trace-format.md`) of `*size` bytes at `*bytes`:
/// what lived when it began and what changed since. The caller gives the bytes back by
/// `tpu_emu_release`. Since version 3.
///
/// Returns 0, or the code of an error (a number of `PJRT_Error_Code`) and writes nothing.
///
/// # Safety
/// Both pointers are valid for one value each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_record_read(
    recording: u64,
    bytes: *mut *mut u8,
    size: *mut usize,
) -> c_int {
    // SAFETY: the promise of the caller.
    unsafe { hand_out(&"tpu_emu_record_read", recording, true, bytes, size) }
}

/// Ends a recording, and gives it as `tpu_emu_record_read` does. Since version 3.
///
/// Returns 0, or the code of an error (a number of `PJRT_Error_Code`) and writes nothing.
///
/// # Safety
/// Both pointers are valid for one value each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_record_stop(
    recording: u64,
    bytes: *mut *mut u8,
    size: *mut usize,
) -> c_int {
    // SAFETY: the promise of the caller.
    unsafe { hand_out(&"tpu_emu_record_stop", recording, false, bytes, size) }
}

/// # Safety
/// Both pointers are valid for one value each, or null.
unsafe fn hand_out(
    name: entry::FunctionName,
    recording: u64,
    goes_on: bool,
    bytes: *mut *mut u8,
    size: *mut usize,
) -> c_int {
    let read = entry::enter(name, || {
        if bytes.is_null() || size.is_null() {
            return Err(tpu_emu::Error::Null("result place"));
        }
        crate::machine()?.recording(recording, goes_on, &tpu_host::header()?)
    });
    match read {
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
