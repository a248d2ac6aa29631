//! Sizes that reductions tune. The first three decide the order of combinations, and so bits of
//! results.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Elements of a row that become one partial result before it joins the total.
pub(crate) const BLOCK_ELEMENTS: usize = 4096;

/// Interleaved partial results of a block: two vectors of 16 numbers.
pub const BLOCK_PARTIALS: usize = 32;

/// Rows that become one partial result of each column before it joins the totals.
pub(crate) const BLOCK_ROWS: usize = 64;

/// Columns that are reduced side by side.
pub(crate) const AXIS_BLOCK_COLUMNS: usize = 1024;

/// Columns whose partial results and totals lie on the stack.
pub(crate) const STACK_COLUMNS: usize = 256;

/// Columns up to which each is taken through all rows before the next ones.
pub(crate) const MAX_HELD_COLUMNS: usize = 128;

/// Elements of a run from which on an argmax goes through it twice, instead of many runs at a time.
pub const MIN_PICKED_ELEMENTS: usize = 64;
