//! What happens on the device and on threads of our own.
mod callback_order;
mod checks;
mod compile;
mod custom_call;
mod custom_call_services;
mod dependencies;
mod emulator;
mod in_flight;
mod job;
mod launch;
mod loaded;
mod output_buffers;
mod rendezvous;
mod rendezvous_launch;
mod replica_launch;
mod replica_runs;
mod request;
mod run_memory;
mod sharded;

pub use emulator::Emulator;
pub use loaded::LoadedExecutable;
pub use rendezvous::RunKey;
pub use request::{Context, DeviceRequest, LaunchOptions, LaunchRequest, Launched};
