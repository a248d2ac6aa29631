//! The inner loops: bytes in, bytes out, no policy.
pub mod complex;
pub mod lanes;
pub mod map;
