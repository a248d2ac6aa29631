//! Work that goes on after a call has returned.
mod queue;

pub use queue::Workers;
