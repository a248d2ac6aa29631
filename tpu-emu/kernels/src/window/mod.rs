//! Reductions over windows.
pub mod geometry;
pub mod pool;
mod tuning;
