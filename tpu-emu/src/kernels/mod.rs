//! The inner loops: bytes in, bytes out, no policy.
pub mod lanes;
