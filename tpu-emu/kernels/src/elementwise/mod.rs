//! Elementwise programs: each element of a result from the elements at the same place.
pub mod kind;
pub mod loops;
pub mod program;
pub mod take;
pub mod tuning;
