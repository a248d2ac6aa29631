//! Sizes that elementwise loops tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Elements that one call of an operation is for: the values of a few steps stay in the first
/// cache. Reductions whose body is a program cut their rows by it: it decides bits of results.
pub const TILE_ELEMENTS: usize = 1024;

/// Operations on elements after which a program is hot, and gets machine code.
pub(crate) const HOT_ELEMENT_OPERATIONS: usize = 4096;

/// Operands that a step takes without an allocation.
pub(crate) const INLINE_OPERANDS: usize = 4;

/// Arrays that machine code takes without an allocation.
pub(crate) const INLINE_ARRAYS: usize = 32;

/// Elements of a table that are taken together, and written by one instruction where they are
/// bytes.
pub(crate) const TAKE_GROUP_ELEMENTS: usize = 8;
