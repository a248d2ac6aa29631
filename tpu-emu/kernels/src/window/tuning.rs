//! Sizes that windows tune.
//! Chosen without a measurement that is recorded, unless a line says what a number follows from.

/// Outputs that are computed together where there are many small problems.
pub(crate) const BLOCK_OUTPUTS: usize = 8192;
