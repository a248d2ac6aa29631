//! The PJRT C API over the emulated TPU.

/// The C interface in Rust, generated from `include/`.
pub mod sys;
