//! The PJRT C API over the emulated TPU: `libpjrt_tpu_emu.so`.
#[cfg(panic = "abort")]
compile_error!("a panic must become an error of the call that met it: build with panic=unwind");

pub mod api;
mod attributes;
mod boundary;
mod callback;
mod compile_options;
mod dtype;
mod error;
mod execution_devices;
mod exit;
mod ext;
mod ffi;
#[cfg(versions_of_glibc)]
#[path = "../glibc/src/jumps.rs"]
mod glibc;
mod inspection;
mod jax_processes;
mod key_value;
mod memory_object;
mod objects;
mod partitioner;
mod plugin;
mod programs;
mod real_compiler;
mod recording;
mod shapes;
mod sharding;
mod snapshot;
mod state;
mod texts;
mod transfers;
mod views;

/// The other door of the same library; its functions are exported by their own names.
pub use libtpu_abi as libtpu;

/// The C interface in Rust.
pub use pjrt_sys as sys;

pub use ffi::{XLA_FFI_GetApi, XlaCustomCallStatusSetFailure, XlaCustomCallStatusSetSuccess};
pub use plugin::GetPjrtApi;
pub use recording::{tpu_emu_record_read, tpu_emu_record_start, tpu_emu_record_stop};
pub use snapshot::{
    tpu_emu_address_of, tpu_emu_mark, tpu_emu_pointer_to, tpu_emu_release, tpu_emu_snapshot,
    tpu_emu_snapshot_version,
};

use std::sync::Arc;
use tpu_emu::{Emulator, Result};

/// The machine of this process.
fn machine() -> Result<Arc<Emulator>> {
    tpu_host::machine()
}

/// The machine, unless the first client makes it, and every way by which custom calls become
/// known to it.
fn start() -> Result<()> {
    tpu_host::start(jax_processes::said().is_some())?;
    ffi::load(tpu_host::handler_libraries()?)?;
    ffi::install();
    Ok(())
}

/// The machine of this process, if something has made it.
fn machine_if_made() -> Option<&'static Arc<Emulator>> {
    tpu_host::machine_if_made()
}
