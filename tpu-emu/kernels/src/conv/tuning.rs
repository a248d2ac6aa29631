//! Sizes that convolutions tune; what they share with products of matrices stands there.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Multiplications and additions of one thread's chunk of explicit windows.
pub(crate) const IM2COL_CHUNK_MULTIPLY_ADDS: usize = 1 << 23;

/// Multiplications and additions of one thread's chunk of implicit windows.
pub(crate) const IMPLICIT_CHUNK_MULTIPLY_ADDS: usize = 1 << 22;

/// Windows of a block at most: a multiple of the rows of a panel.
pub(crate) const MAX_BLOCK_WINDOWS: usize = 256;

/// Windows of a block of many sums.
pub(crate) const MIN_BLOCK_WINDOWS: usize = 64;

/// Sums of a block, as far as its windows are more than the least.
pub(crate) const BLOCK_SUMS: usize = 1 << 17;

/// Blocks whose results wait to be written.
pub(crate) const WAVE_BLOCKS: usize = 16;

/// Elements of the windows that are copied out together.
pub(crate) const WINDOW_TILE_ELEMENTS: usize = 1 << 18;

/// Elements of a filter whose offsets in the input are kept.
pub(crate) const MAX_TAP_OFFSETS: usize = 1 << 18;

/// Elements that a padded input may have beyond twice those of the input.
pub(crate) const PADDED_INPUT_SLACK_ELEMENTS: usize = 1 << 16;

/// Output features of a group up to which groups are computed side by side in a vector.
pub(crate) const MAX_INTERLEAVED_FEATURES: usize = 4;

/// Bytes of scratch memory that a convolution's padded input, or its filter, may have before it is
/// computed in bands, each of which stays below this where that is not too short to be worth it.
pub(crate) const BAND_BYTES: usize = 8 << 20;
