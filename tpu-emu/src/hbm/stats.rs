//! The numbers of one heap, as a client asks for them.
use tpu_base::units::{Bytes, DevAddr};

/// How full a space is. The doors copy the fields that their header has.
///
/// Source: the dictionary of a real v4 in jax#1491: nothing reserved, `bytes_reservable_limit`
/// equal to `bytes_limit`, sizes in granules.
#[doc(alias = "PJRT_Device_MemoryStats")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapStats {
    /// Sum of all live blocks.
    pub bytes_in_use: Bytes,
    /// The most `bytes_in_use` has been since the start or the last reset.
    pub peak_bytes_in_use: Bytes,
    /// Allocations that have succeeded since the start.
    pub num_allocs: u64,
    /// Blocks that are live now.
    pub live_blocks: u64,
    /// The largest block ever given out.
    pub largest_alloc_size: Bytes,
    /// The capacity.
    pub bytes_limit: Bytes,
    /// Held back at the bottom of the space for running programs. Always zero: their temporaries
    /// are blocks like any other.
    pub bytes_reserved: Bytes,
    /// The most `bytes_reserved` has been.
    pub peak_bytes_reserved: Bytes,
    /// What `bytes_reserved` could at most become.
    pub bytes_reservable_limit: Bytes,
    /// Sum of all holes.
    pub bytes_free: Bytes,
    /// The largest hole.
    pub largest_free_block_bytes: Bytes,
    /// Whole pages of holes that the host may still keep committed.
    pub bytes_kept: Bytes,
}

/// The holes of one heap at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoleList {
    /// The position of its last change.
    pub sequence: u64,
    /// Sum of all live blocks.
    pub in_use: Bytes,
    /// Sum of all holes.
    pub free: Bytes,
    /// How many holes there are.
    pub count: u64,
    /// The largest ones, the largest first.
    pub largest: Vec<(DevAddr, Bytes)>,
}
