//! What happens on the device and on threads of our own.
mod launch;
mod queue;

pub use launch::{LaunchOptions, Launched};
pub(crate) use queue::Workers;
