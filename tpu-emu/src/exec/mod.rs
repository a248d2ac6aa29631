//! Work that goes on after a call has returned.
mod queue;

pub(crate) use queue::Workers;
