//! Sizes that copies, gathers and scatters tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Offsets that are computed from index vectors at a time.
pub const OFFSET_BATCH_ELEMENTS: usize = 512;

/// Extent from which on an axis is transposed in blocks rather than element by element.
pub(crate) const MIN_BLOCKED_EXTENT_ELEMENTS: usize = 8;

/// Bytes that a fill writes element by element before it copies them: the copies are long whatever
/// the width.
pub(crate) const FILL_BLOCK_BYTES: usize = 4096;

/// Elements of the longest rows of which a loop copies all columns in one pass.
pub const MAX_SHORT_ROW_ELEMENTS: usize = 4;
