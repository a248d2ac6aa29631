//! Sizes that sorts tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Numbers from which on counting digits is faster than comparing.
pub const MIN_RADIX_ELEMENTS: usize = 1500;

/// Numbers that one thread sorts, or merges, at least.
pub(crate) const CHUNK_ELEMENTS: usize = 1 << 16;

/// Elements that are encoded as keys at a time.
pub(crate) const TOP_K_BLOCK_ELEMENTS: usize = 256;

/// Largest elements that are held before they are written.
pub(crate) const TOP_K_HELD_ELEMENTS: usize = 1 << 16;

/// Elements that one thread's chunk of a search for the largest ones has.
pub(crate) const TOP_K_CHUNK_ELEMENTS: usize = 1 << 15;
