//! XLA FFI: C functions as custom calls of the machine.
mod api;
mod attributes;
mod calls;
mod context;
mod error;
mod frame;
mod future;
mod handler;
mod jax_hook;
mod kept;
mod libraries;
mod metadata;
mod probe;
mod registration;
mod state;
mod status;
mod task;
mod types;
mod untyped;
mod user_data;

pub use api::XLA_FFI_GetApi;
pub(crate) use jax_hook::install;
pub(crate) use libraries::load;
pub(crate) use registration::{Bundle, Deleter, register_typed, register_untyped};
pub use status::{XlaCustomCallStatusSetFailure, XlaCustomCallStatusSetSuccess};
pub(crate) use types::register_type;
pub(crate) use user_data::UserData;
