//! Spaces and their blocks, as those see them who take and give blocks back.
use super::backing::Region;
use super::uses::PendingUses;
use std::sync::Arc;
use tpu_base::units::Bytes;

/// One memory space of a device.
#[derive(Debug, Clone)]
pub struct Space {
    /// Chip coordinates and memory, as `0x0x0_HBM0`; named in errors.
    pub place: Arc<str>,
    /// The size.
    pub capacity: Bytes,
    /// Every block starts at a multiple of this and has a multiple of it as its size.
    pub granule: Bytes,
}

/// A block that was taken.
#[derive(Debug)]
pub struct Allocated {
    /// The bytes.
    pub region: Region,
    /// Position of the allocation in the order of changes of this heap.
    pub sequence: u64,
    /// What still uses the bytes for their last owner: until it is over they must not be written
    /// to.
    pub uses: PendingUses,
}

/// What a freed block was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freed<R> {
    /// The size, rounded to granules.
    pub size: Bytes,
    /// What its owner wrote down.
    pub record: R,
    /// Position of the free in the order of changes of this heap.
    pub sequence: u64,
}
