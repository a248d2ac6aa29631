//! Sizes that products of matrices tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Multiplications and additions of one thread's chunk.
pub(crate) const CHUNK_MULTIPLY_ADDS: usize = 1 << 23;

/// Multiplications and additions of one thread's chunk of small products, and of those whose sums
/// are short.
pub(crate) const SMALL_CHUNK_MULTIPLY_ADDS: usize = 1 << 20;

/// What writing an element costs, in multiplications and additions.
pub(crate) const WRITE_MULTIPLY_ADDS: usize = 16;

/// Terms of sums that are too short for packed blocks.
pub(crate) const MAX_UNPACKED_DEPTH: usize = 64;

/// Elements of a right matrix that needs no packed blocks.
pub(crate) const MAX_UNPACKED_RHS_ELEMENTS: usize = 1 << 16;

/// Rows whose packed panels stay in a cache.
pub(crate) const MAX_PACKED_LHS_ROWS: usize = 256;

/// Rows of integers of 8 bits, likewise.
pub(crate) const MAX_PACKED_BYTE_ROWS: usize = 512;

/// Rows that are too few to be split over threads.
pub(crate) const MAX_UNSPLIT_ROWS: usize = 32;

/// Bytes of small matrices that are packed at once.
pub(crate) const SMALL_BATCH_BYTES: usize = 128 << 10;

/// Multiplications and additions of a product that counts as small.
pub(crate) const MAX_SMALL_MULTIPLY_ADDS: usize = 1 << 20;

/// Terms of the longest sums of a small product.
pub(crate) const MAX_SMALL_DEPTH: usize = 256;

/// Multiplications and additions of a product that counts as tiny: those of two matrices of four
/// rows, which have as many elements as a scalar loop takes apart. Tiny products round each product
/// before they add it: it decides bits of results.
pub(crate) const MAX_TINY_MULTIPLY_ADDS: usize = 64;

/// Elements of a right matrix that stays in the first cache.
pub(crate) const MAX_CACHED_RHS_ELEMENTS: usize = 1 << 12;

/// Columns of a right matrix whose last panel may be a narrow one: beyond, it is a small part.
pub(crate) const MAX_NARROW_PANEL_COLUMNS: usize = 128;

/// Terms that are summed up before they are added to a result, also by convolutions. It decides the
/// order of sums, and so bits of results: kernels multiply blocks of 128 by 128 and add them up.
pub(crate) const BLOCK_DEPTH: usize = 128;

/// Terms of integers of 8 bits that are summed up before they are added to a result.
pub(crate) const BYTE_BLOCK_DEPTH_BYTES: usize = 1024;

/// Columns of a block of a right matrix.
pub(crate) const BLOCK_COLUMNS: usize = 512;

/// Elements of a row that a product with a vector converts at a time. It decides the order of sums
/// of elements that are converted, and so bits of results.
pub(crate) const GEMV_WIDEN_ELEMENTS: usize = 1024;

/// Terms that a product with a vector sums up before it adds them to its results, where rows lie
/// beside each other. It decides the order of sums, and so bits of results.
pub(crate) const GEMV_COLUMN_DEPTH: usize = 256;

/// Rows or columns whose sums a product with a vector holds together.
pub(crate) const GEMV_BLOCK_SUMS: usize = 512;

/// Bytes of a matrix that a thread multiplies with a vector at least, before another is woken.
pub(crate) const GEMV_CHUNK_BYTES: usize = 512 << 10;

/// Terms of one thread's chunk of a few long sums. It decides the order of sums, and so bits of
/// results.
pub(crate) const GEMV_CHUNK_DEPTH: usize = 1 << 16;

/// Sums that are too few to be split over threads by themselves, so that their terms are.
pub(crate) const MAX_GEMV_SPLIT_SUMS: usize = 8;

/// Rows and columns that a product has at least whose operands change places for the order of its
/// result: with fewer, panels would be empty in part.
pub(crate) const MIN_TURNED_ROWS: usize = 32;

/// Columns of a row of integer sums: they stay in the first cache.
pub(crate) const INTEGER_BLOCK_COLUMNS: usize = 1024;
