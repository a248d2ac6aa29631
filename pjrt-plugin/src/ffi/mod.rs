//! XLA FFI: C functions as custom calls of the machine.
mod jax_hook;
mod libraries;
mod registration;
mod user_data;

pub(crate) use jax_hook::install;
pub(crate) use libraries::load;
pub(crate) use registration::{Bundle, Deleter, register_type, register_typed, register_untyped};
pub(crate) use user_data::UserData;
