//! The inner loops: bytes in, bytes out, no policy.
pub mod aligned;
pub mod conv;
pub mod elementwise;
pub mod jit;
pub mod linalg;
pub mod math;
pub mod matmul;
pub mod movement;
pub mod parallel;
pub mod random;
pub mod reduce;
pub mod simd;
pub mod sort;
mod tuning;
pub mod vm;
pub mod window;
