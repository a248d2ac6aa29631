//! StableHLO programs as plain data: [`ir`] is the one form; the readers make it, the printer
//! writes it. Nothing here executes.
#![forbid(unsafe_code)]

pub mod bytecode;
mod canonical;
pub mod error;
mod float;
mod futures;
mod inlined;
pub mod ir;
mod plain;
pub mod text;
mod vhlo;

pub use error::{Place, ReadError};
pub use ir::Module;
