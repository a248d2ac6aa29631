//! StableHLO programs as plain data: [`ir`] is the one form; the readers make it, the printer
//! writes it. Nothing here executes.
#![forbid(unsafe_code)]

pub mod bytecode;
mod canonical;
mod futures;
mod inlined;
pub mod ir;
mod plain;
pub mod text;
mod vhlo;

pub use ir::Module;
pub use tpu_mlir::{Place, ReadError, error};

use tpu_mlir::float;
