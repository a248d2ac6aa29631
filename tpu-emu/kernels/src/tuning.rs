//! Sizes that the crate's top level tunes: work shared by threads, random numbers.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Bytes that one thread's chunk of shared work moves at least.
pub(crate) const CHUNK_BYTES: usize = 128 << 10;

/// Blocks of a random generator that one thread's chunk draws.
pub(crate) const RANDOM_CHUNK_BLOCKS: usize = 1 << 14;

/// Counters that a random generator works on at once.
pub(crate) const RANDOM_BATCH_COUNTERS: usize = 256;
