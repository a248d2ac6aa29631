//! The inner loops: bytes in, bytes out, no policy.
pub mod access;
pub mod aligned;
pub mod complex;
pub mod copy;
pub mod fold;
pub mod gather;
pub mod index;
pub mod iota;
pub mod lanes;
pub mod map;
pub mod order;
pub mod reduce;
pub mod top;
pub mod walk;
pub mod window;
