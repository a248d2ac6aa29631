//! How full a memory space is.
use crate::units::Bytes;

/// The numbers that `memory_stats` shows of a real TPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapStats {
    /// Sum of the live blocks.
    pub bytes_in_use: Bytes,
    /// The most that was in use since the start or the last reset.
    pub peak_bytes_in_use: Bytes,
    /// Allocations so far, those freed since included.
    pub num_allocs: u64,
    /// The largest block so far.
    pub largest_alloc_size: Bytes,
    /// What can be allocated in all.
    pub bytes_limit: Bytes,
    /// The largest block that would fit now.
    pub largest_free_block_bytes: Bytes,
}
