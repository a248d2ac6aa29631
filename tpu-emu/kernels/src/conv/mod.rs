//! Convolutions.
pub mod depthwise;
pub mod dilation;
pub mod geometry;
pub mod im2col;
pub mod implicit_gemm;
pub mod pack_filter;
pub mod pack_windows;
pub mod padded_input;
mod tuning;
pub mod window_rows;
