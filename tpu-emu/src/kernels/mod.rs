//! The inner loops.
pub mod batch_norm;
//! The inner loops: bytes in, bytes out, no policy.
pub mod access;
pub mod aligned;
pub mod arithmetic;
pub mod complex;
pub mod contraction;
pub mod convert;
pub mod convolution;
pub mod copy;
pub mod fold;
pub mod gather;
pub mod gemm;
pub mod index;
pub mod integer_product;
pub mod iota;
pub mod lanes;
pub mod random;
pub mod map;
pub mod reduce;
pub mod walk;
pub mod window;
pub mod work;
