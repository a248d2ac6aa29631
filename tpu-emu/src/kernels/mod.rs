//! The inner loops: bytes in, bytes out, no policy.
pub mod access;
pub mod aligned;
pub mod complex;
pub mod complex_inverse;
pub mod copy;
pub mod index;
pub mod iota;
pub mod lanes;
pub mod map;
pub mod special;
