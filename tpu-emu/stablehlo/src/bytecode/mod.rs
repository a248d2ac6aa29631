//! Reads MLIR bytecode, versions 0 to 6, with the dialects that frameworks put into it: VHLO of
//! every version, builtin, func, sdy, and what they mix in.
//!
//! The container, and how far its input is trusted, are of `tpu-mlir`.
mod asm;
mod attributes;
mod elements;
mod function;
mod mesh_axes;
mod operation;
mod properties;
mod sdy;
mod table;
mod types;

pub(crate) use table::{BytecodeReader, Node};
pub(crate) use tpu_mlir::Cursor;
pub use tpu_mlir::container::is_bytecode;

use crate::{Module, ReadError};
use tpu_mlir::code::REGION_DEPTH;
use tpu_mlir::container::File;

/// Reads a module.
///
/// Locations are decoded with everything else: a damaged one is an error, one of a kind that is
/// not known reads as unknown. VHLO is upgraded to its newest operations and written in
/// StableHLO's names; casts between dialects are dropped.
///
/// # Errors
///
/// What is damaged, unknown or newer than this reader, with its offset.
pub fn read(bytes: &[u8]) -> Result<Module, ReadError> {
    let (file, code) = File::open(bytes)?;
    BytecodeReader::new(bytes.len(), file).module(code)
}
