//! The inner loops.
pub mod copy;
pub mod index;
pub mod lanes;
