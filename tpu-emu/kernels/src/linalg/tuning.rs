//! Sizes that decompositions tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Rows and columns that are reduced at once, by products of matrices. It decides the order of
/// sums, and so bits of results.
pub(crate) const BLOCK_ROWS: usize = 64;

/// Multiplications and additions of one thread's chunk.
pub(crate) const CHUNK_MULTIPLY_ADDS: usize = 1 << 21;

/// Rows whose sums are held in registers.
pub(crate) const REGISTER_ROWS: usize = 32;

/// Elements below which a loop over vectors does not pay for its call.
pub(crate) const MIN_VECTOR_ELEMENTS: usize = 16;

/// QL steps for one eigenvalue before the matrix counts as one that does not converge; a few are
/// usual.
pub(crate) const MAX_QL_STEPS: usize = 60;
