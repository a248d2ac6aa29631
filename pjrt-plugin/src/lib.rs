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
mod ext;
#[expect(dead_code, unused_imports, reason = "the doors to it come next")]
mod ffi;
mod memory_object;
mod objects;
mod plugin;
mod programs;
mod sharding;
mod snapshot;
mod state;
/// The C interface in Rust, generated from `include/`.
pub mod sys;
mod texts;
mod transfers;
mod views;

pub use plugin::GetPjrtApi;
pub use snapshot::{tpu_emu_release, tpu_emu_snapshot, tpu_emu_snapshot_version};

use std::sync::Arc;
use tpu_emu::{Emulator, Result};

/// The machine of this process.
fn machine() -> Result<Arc<Emulator>> {
    tpu_host::machine()
}

/// The machine of this process, if something has made it.
fn machine_if_made() -> Option<&'static Arc<Emulator>> {
    tpu_host::machine_if_made()
}
