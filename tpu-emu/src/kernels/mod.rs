//! The inner loops: bytes in, bytes out, no policy.
pub mod access;
pub mod aligned;
pub mod copy;
pub mod fold;
pub mod index;
pub mod iota;
pub mod lanes;
pub mod reduce;
pub mod walk;
pub mod window;
