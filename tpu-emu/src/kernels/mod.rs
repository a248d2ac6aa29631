//! The inner loops: bytes in, bytes out, no policy.
pub mod access;
pub mod aligned;
pub mod arithmetic;
pub mod contraction;
pub mod convert;
pub mod convolution;
pub mod copy;
pub mod eigen;
pub mod factor;
pub mod gemm;
pub mod index;
pub mod integer_product;
pub mod iota;
pub mod lanes;
pub mod reflector;
pub mod scalar;
pub mod work;
