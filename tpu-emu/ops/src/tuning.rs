//! Sizes that operations tune, by operation.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Bytes that a Fourier transform's tables take for each element of an axis, at most.
pub(crate) const FFT_ELEMENT_TABLE_BYTES: usize = 64;

/// Bytes of tables that a Fourier transform takes without asking the host for them first.
pub(crate) const FFT_UNCHECKED_BYTES: usize = 16 << 20;

/// Elements of the lines that are transformed together where they lie across memory.
pub(crate) const FFT_BLOCK_ELEMENTS: usize = 1 << 15;

/// Elements of a product that sums nothing from which on it is a multiplication of what its operands
/// are spread to, which loops fuse.
pub(crate) const MIN_OUTER_ELEMENTS: usize = 1024;

/// Parts that few long rows are cut into, so that a reduction fills its tiles. It decides the order
/// of combinations, and so bits of results.
pub(crate) const MAX_REDUCE_ROW_PARTS: usize = 256;

/// Elements that one thread's chunk of windows reads.
pub(crate) const REDUCE_WINDOW_CHUNK_ELEMENTS: usize = 1 << 16;

/// Outputs whose totals are held together where an output is a single element.
pub(crate) const REDUCE_WINDOW_BLOCK_OUTPUTS: usize = 1024;

/// Elements that each output needs at least to be computed for itself.
pub(crate) const MIN_REDUCE_WINDOW_OUTPUT_ELEMENTS: usize = 8;

/// Places of a window from which on results of halves are combined.
pub(crate) const MIN_REDUCE_WINDOW_HALVED_PLACES: usize = 6;

/// Elements of a running sum that is made in the type of the elements, one after the other, as
/// compilers make it; longer ones are made in a wider type. It decides bits of results.
pub(crate) const MAX_NARROW_SCAN_ELEMENTS: usize = 64;

/// Elements of one thread's chunk of a running result.
pub(crate) const SCAN_CHUNK_ELEMENTS: usize = 1 << 15;

/// Columns whose running results are held together.
pub(crate) const SCAN_BLOCK_COLUMNS: usize = 256;

/// Elements of a window from which on a scatter is shared by threads.
pub(crate) const MIN_SHARED_SCATTER_WINDOW_ELEMENTS: usize = 32;

/// Bytes of updates from which on a scatter is shared by threads.
pub(crate) const MIN_SHARED_SCATTER_BYTES: usize = 1 << 20;

/// Chunks of the result of a scatter that threads share.
pub(crate) const SHARED_SCATTER_CHUNKS: usize = 8;

/// Elements that a scatter tells apart by marks: offsets that differ by a multiple of it count as
/// equal.
pub(crate) const SCATTER_MARK_ELEMENTS: usize = 4096;

/// Bytes of scratch memory that groups of rows of a sort share.
pub(crate) const SORT_SCRATCH_BYTES: usize = 8 << 20;

/// Groups of rows that a sort shares among threads.
pub(crate) const MAX_SORT_ROW_GROUPS: usize = 16;

/// Elements of a row that is sorted as a whole, whose codes and places are in memory twice; a longer
/// one is sorted range by range. Measured on two cores: 1M and 4M numbers of 32 bits take 1.3 and
/// 1.9 times as long range by range, 16M 0.75 times.
pub(crate) const MAX_WHOLE_ROW_ELEMENTS: usize = 1 << 19;

/// Elements of a row of whose codes and places as much is held as the chip holds; of a longer one, the
/// share that `SORT_ROW_PARTS` tells.
pub(crate) const MAX_SORT_ROW_ELEMENTS: usize = 4 << 20;

/// Parts, by ranges of codes, that a very long row is sorted in at least. Each is one more pass over the
/// row, and what is held is that much less.
pub(crate) const SORT_ROW_PARTS: usize = 8;

/// Bits of codes by which elements are counted before a long row is cut into ranges.
pub(crate) const SORT_RANGE_BITS: u32 = 12;

/// Elements of a long row that one thread counts at a time.
pub(crate) const SORT_PART_ELEMENTS: usize = 1 << 18;

/// Elements that a sort encodes as keys at a time: a power of two.
pub(crate) const SORT_BLOCK_ELEMENTS: usize = 256;

/// Elements that a sort with a program as its comparator merges at the same time, unless one row is
/// longer.
pub(crate) const SORT_MERGE_ELEMENTS: usize = 8192;

/// Places of the table in which rows are found by their names: a power of two, and several for each
/// row, so that most lie where the hash says.
pub(crate) const NAME_PLACES: usize = 1024;
