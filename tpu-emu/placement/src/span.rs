//! A range of addresses.
use tpu_base::units::{Bytes, DevAddr};

/// Addresses from `start` up to, not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first address.
    pub start: DevAddr,
    /// The first address behind it.
    pub end: DevAddr,
}

impl Span {
    /// The `size` bytes from `start` on.
    pub const fn new(start: DevAddr, size: Bytes) -> Self {
        Self { start, end: start.offset(size) }
    }

    /// The number of its bytes.
    pub const fn size(self) -> Bytes {
        Bytes(self.end.0 - self.start.0)
    }
}
