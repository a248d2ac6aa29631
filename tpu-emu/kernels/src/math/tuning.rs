//! Sizes that functions of numbers tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Elements of 16 bits and fewer that pass through single precision at a time.
pub(super) const WIDEN_ELEMENTS: usize = 256;
