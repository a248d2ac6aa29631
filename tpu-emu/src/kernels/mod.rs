//! The inner loops: bytes in, bytes out, no policy.
pub mod fold;
pub mod lanes;
pub mod reduce;
pub mod walk;
pub mod window;
