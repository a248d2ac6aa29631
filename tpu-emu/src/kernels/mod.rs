//! The inner loops.
pub mod batch_norm;
pub mod copy;
pub mod gather;
pub mod index;
pub mod lanes;
pub mod random;
