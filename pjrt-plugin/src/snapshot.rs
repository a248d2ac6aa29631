//! The interface of our own: what lives in the emulated memories now, for tools of the process.
// UNSAFETY: exports C symbols that hand memory out and take it back.
#![expect(unsafe_code, reason = "exported symbols")]
use crate::boundary::Caller;
use std::ffi::{c_char, c_int, c_void};
use tpu_emu::entry;
use tpu_emu::units::DevAddr;

/// The version of this interface. Later versions add functions; they change none.
#[unsafe(no_mangle)]
pub extern "C" fn tpu_emu_snapshot_version() -> c_int {
    4
}

/// The memory space that `pointer` points into, by its number in traces and snapshots, and the
/// address there: of what `Array.unsafe_buffer_pointer()` of JAX gives, or of any byte behind it.
/// Since version 4.
///
/// Returns 0, or the code of an error (a number of `PJRT_Error_Code`) and writes nothing: that of
/// `INVALID_ARGUMENT` for a pointer into no emulated memory.
///
/// # Safety
/// `space` and `address` are valid for one value each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_address_of(
    pointer: *const c_void,
    space: *mut u32,
    address: *mut u64,
) -> c_int {
    let found = entry::enter(&"tpu_emu_address_of", || {
        if space.is_null() || address.is_null() {
            return Err(tpu_emu::Error::Null("result place"));
        }
        crate::machine()?.address_of(pointer.addr())
    });
    match found {
        Err(error) => error.code() as c_int,
        Ok((found, at)) => {
            // SAFETY: not null, checked above; valid by this function's contract.
            unsafe {
                space.write(found);
                address.write(at.0);
            }
            0
        }
    }
}

/// Where an address of a space, as traces and snapshots have both, is in this process. It can be
/// read while a block lies there. Since version 4.
///
/// Returns 0, or the code of an error (a number of `PJRT_Error_Code`) and writes nothing: that of
/// `INVALID_ARGUMENT` for a space that is not there and an address past its end, that of
/// `FAILED_PRECONDITION` for a space that nothing was allocated in.
///
/// # Safety
/// `pointer` is valid for one value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpu_emu_pointer_to(
    space: u32,
    address: u64,
    pointer: *mut *mut c_void,
) -> c_int {
    let found = entry::enter(&"tpu_emu_pointer_to", || {
        if pointer.is_null() {
            return Err(tpu_emu::Error::Null("result place"));
        }
        crate::machine()?.pointer_to(space, DevAddr(address))
    });
    match found {
        Err(error) => error.code() as c_int,
        Ok(found) => {
            // SAFETY: not null, checked above; valid by this function's contract.
            unsafe { pointer.write(std::ptr::with_exposed_provenance_mut(found)) };
            0
        }
    }
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
