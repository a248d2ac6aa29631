//! Sizes that machine code tunes.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Bytes of executable memory that are mapped at once.
pub(crate) const CODE_CHUNK_BYTES: usize = 256 << 10;
