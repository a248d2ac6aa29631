//! Damages programs, compiles and runs what is left of them, and reads bytes as a fuzzer gives
//! them. `docs/testing.md` says how it is used.
#![forbid(unsafe_code)]

pub mod bytes;
pub mod careless;
pub mod check;
pub mod inputs;
pub mod kernels;
pub mod planted;
pub mod random;
pub mod readers;
pub mod seeds;
pub mod text;
mod traces;
mod words;

/// The options of a compilation are read by a private module of the door.
#[path = "../../../pjrt-plugin/src/compile_options/mod.rs"]
mod compile_options;
