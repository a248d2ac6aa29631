//! The inner loops: bytes in, bytes out, no policy.
pub mod arithmetic;
pub mod contraction;
pub mod convert;
pub mod convolution;
pub mod gemm;
pub mod integer_product;
pub mod lanes;
pub mod work;
