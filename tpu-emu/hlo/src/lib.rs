//! Programs in XLA's own form (`HloModuleProto`) as the [`Module`] that StableHLO programs are
//! read into, and back ([`write()`]). Nothing here executes.
//!
//! Tuples dissolve: a value of HLO is the list of its arrays from the left. Computations that are
//! called (`call`, `fusion`) become private functions; those that an instruction applies become
//! its regions. Layouts inside the program matter to `bitcast` and to constants only, which are
//! brought into row-major order.
#![forbid(unsafe_code)]

mod attributes;
mod body;
mod entry;
mod error;
mod literal;
mod location;
mod ops;
mod reader;
mod scheduled;
mod shape;
mod sharding;
pub mod text;
mod tiled;
pub mod told;
mod write;

pub use error::ReadError;
pub use scheduled::{Scheduled, ScheduledValue, scheduled};
pub use sharding::{parse as sharding_of, text as sharding_text};
pub use tiled::Tiled;
pub use write::{HOST as HOST_MEMORY, WriteError, moves_to_host, write};

use tpu_proto::Message as _;
use tpu_proto::xla::{HloModuleProto, HloModuleProtoWithConfig};
use tpu_stablehlo::Module;

/// Reads a serialized `HloModuleProto`, or an `HloModuleProtoWithConfig` if `with_config`.
///
/// # Errors
///
/// Bytes that are no such message, a program that contradicts itself, and instructions that have
/// no counterpart: the error names computation, instruction and opcode.
pub fn read(bytes: &[u8], with_config: bool) -> Result<Module, ReadError> {
    let damaged = |error| ReadError::new(format!("no HLO program: {error}"));
    let (module, config) = if with_config {
        let both = HloModuleProtoWithConfig::decode(bytes).map_err(damaged)?;
        (both.hlo_module.unwrap_or_default(), both.config)
    } else {
        (HloModuleProto::decode(bytes).map_err(damaged)?, None)
    };
    entry::module(&module, config.as_ref(), bytes.len())
}

/// The program of a message that was decoded from `size` bytes.
///
/// # Errors
///
/// As for [`read`], the bytes apart.
pub fn read_message(module: &HloModuleProto, size: usize) -> Result<Module, ReadError> {
    entry::module(module, None, size)
}
