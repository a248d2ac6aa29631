//! `TpuDriver`: a client's view of the machine, with what it took.
// UNSAFETY: exports functions, and reads the client's text.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::sys::{TpuDriver, TpuStatus};
use super::{buffer, loaded_program, program, status};
use crate::boundary::{answer, handle_of, id_of};
use crate::memory;
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;
use tpu_emu::{Emulator, Error, Id, Result, Table};

/// The machine by its name: this process's own.
const LOCAL: &str = "local://";
/// `MemoryRegion_HBM`, the one memory that the interface names.
const HBM: i32 = super::sys::MemoryRegion_HBM.cast_signed();

static DRIVERS: Table<Driver> = Table::new("TpuDriver", 150);

/// A driver that a client opened.
#[derive(Debug)]
pub(super) struct Driver {
    machine: Arc<Emulator>,
}

/// A driver in a call.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    /// Whose handles are whose.
    pub(super) id: Id<Driver>,
    pub(super) machine: Arc<Emulator>,
}

/// The driver of a handle.
///
/// # Errors
/// `Null`, `StaleHandle`.
pub(super) fn get(driver: *const TpuDriver) -> Result<Opened> {
    let id = id_of(driver, "TpuDriver")?;
    DRIVERS.with(id, |driver| Opened { id, machine: Arc::clone(&driver.machine) })
}

impl Opened {
    /// The device that a core's number means.
    ///
    /// # Errors
    /// `BadArgument` for a core that is not there or not of this process.
    pub(super) fn core(&self, core: i32) -> Result<usize> {
        let devices = self.machine.topology().devices();
        let index = devices.iter().position(|device| device.id == core);
        let index = index.ok_or_else(|| {
            Error::bad(format!("core {core} of a machine with {}", devices.len()))
        })?;
        let (owner, own) = (devices[index].process_index, self.machine.process_index());
        if owner == own {
            return Ok(index);
        }
        Err(Error::bad(format!("core {core} is of process {owner}; this is process {own}")))
    }

    /// Whether a memory is there.
    ///
    /// # Errors
    /// `BadArgument` for all but HBM.
    pub(super) fn check_region(region: i32) -> Result<()> {
        if region == HBM {
            return Ok(());
        }
        Err(Error::bad(format!("memory region {region}; a core has region {HBM}, its HBM")))
    }

    /// Frees all that was taken through this driver.
    ///
    /// # Errors
    /// The first of the buffers that could not be freed.
    fn reset(&self) -> Result<()> {
        loaded_program::forget_all(self.id);
        program::forget_all(self.id);
        buffer::free_all(self)
    }
}

/// Opens the machine of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_Open(worker: *const c_char) -> *mut TpuDriver {
    answer(&"TpuDriver_Open", ptr::null_mut(), || {
        if worker.is_null() {
            return Err(Error::Null("worker"));
        }
        // SAFETY: the contract of the interface.
        let name = unsafe { memory::text(worker) };
        if name != LOCAL {
            return Err(Error::NotFound(format!("no TPU worker {name:?}; there is {LOCAL:?}")));
        }
        Ok(handle_of(DRIVERS.insert(Driver { machine: crate::machine()? })))
    })
}

/// Frees a driver, with all that was taken through it.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_Close(driver: *mut TpuDriver) {
    answer(&"TpuDriver_Close", (), || {
        let opened = get(driver)?;
        DRIVERS.remove(opened.id)?;
        crate::machine()?.client_ends("TpuDriver_Close");
        opened.reset()
    });
}

/// Frees all buffers and programs of a driver, which stays open.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_Reset(driver: *mut TpuDriver) -> *mut TpuStatus {
    status::report(&"TpuDriver_Reset", || get(driver)?.reset())
}
