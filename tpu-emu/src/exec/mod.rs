//! What happens on the device and on threads of our own.
#[cfg(test)]
mod differential;
mod frame;
mod lane_body;
mod launch;
mod queue;
mod run;
mod sharded;

pub use launch::{LaunchOptions, Launched};
pub(crate) use queue::Workers;
