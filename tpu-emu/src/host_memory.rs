//! What the host has left, asked before something large is written: a refusal has a name, and a
//! process that the system ends for want of memory has none.
use std::fmt;
use tpu_base::units::Bytes;

/// Knows what the host has left.
pub trait HostMemory: Send + Sync + fmt::Debug {
    /// Memory that this process may still take; `None` where nobody knows.
    fn left(&self) -> Option<Bytes>;
}

/// A host without end.
#[derive(Debug)]
pub(crate) struct NoEnd;

impl HostMemory for NoEnd {
    fn left(&self) -> Option<Bytes> {
        None
    }
}
