//! The kernels that Pallas makes for a TPU, as plain data: [`config`] reads what a custom call
//! carries, [`reader`] its module in Mosaic's bytecode, [`ir`] is the one form, whatever version
//! it was written in, [`memory`] counts what it takes of its core's memories. Nothing here executes.
#![forbid(unsafe_code)]

mod base64;
pub mod config;
pub mod error;
pub mod ir;
pub mod memory;
mod print;
pub mod reader;

pub use config::Config;
pub use error::{Error, Refusal};
pub use ir::Module;
pub use reader::read;
