//! What happens on the device and on threads of our own.
mod callback_order;
mod checks;
mod compile;
pub(crate) mod custom_call;
mod custom_call_services;
mod dependencies;
mod in_flight;
mod joint;
mod launch;
mod output_buffers;
mod rendezvous;
mod rendezvous_launch;
mod run_memory;
mod sharded;
mod workers;

pub(crate) use callback_order::CallbackOrder;
pub use custom_call::Context;
pub(crate) use in_flight::InFlight;
pub(crate) use joint::Joints;
pub use launch::{LaunchOptions, Launched};
pub(crate) use rendezvous::RendezvousTable;
pub use rendezvous::RunKey;
pub(crate) use workers::Workers;
