//! XLA FFI: C functions as custom calls of the machine.
mod registration;

pub(crate) use registration::{Bundle, Deleter, register_type, register_typed, register_untyped};
