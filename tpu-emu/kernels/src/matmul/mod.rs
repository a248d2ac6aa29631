//! Products of matrices and whatever is one: `dot_general`.
pub mod accumulate;
pub mod blocked;
pub mod dot_general;
pub mod gemm_crate;
pub mod gemv;
pub mod integer;
pub mod micro_kernel;
pub mod operand;
pub mod pack;
pub mod precision;
pub mod small;
pub(crate) mod tuning;
pub mod unpacked_lhs;
pub mod widen;
