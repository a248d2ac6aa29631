//! Sizes that decompositions tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Rows and columns that are reduced at once, by products of matrices. It decides the order of
/// sums, and so bits of results.
pub(crate) const BLOCK_ROWS: usize = 64;

/// Reflectors that are applied at once, by products of matrices. It decides the order of sums, and
/// so bits of results.
pub(crate) const BLOCK_REFLECTORS: usize = 32;

/// Numbers that a sum over a vector runs over side by side: a vector of 512 bits of f32, two of
/// f64. It decides the order of sums, and so bits of results.
pub(crate) const LANES: usize = 16;

/// Terms of the sums of one call of `gemm`, which never divides so few: beyond, it divides where
/// the machine's caches say.
pub(crate) const PRODUCT_DEPTH: usize = 512;

/// Columns of a block of LU that are computed one by one.
pub(crate) const LEAF_COLUMNS: usize = 8;

/// Multiplications and additions of one thread's chunk.
pub(crate) const CHUNK_MULTIPLY_ADDS: usize = 1 << 21;

/// Rows whose sums are held in registers.
pub(crate) const REGISTER_ROWS: usize = 32;

/// Sweeps of rotations that are applied at once.
pub(crate) const SWEEPS: usize = 32;

/// Columns that rotations are applied to at once.
pub(crate) const ROTATED_COLUMNS: usize = 16;

/// QL steps for one eigenvalue before the matrix counts as one that does not converge; a few are
/// usual.
pub(crate) const MAX_QL_STEPS: usize = 60;
