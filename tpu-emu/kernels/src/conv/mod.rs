//! Convolutions multiply the elements under every window of an input by a filter, and sum up.
//!
//! [`im2col::Convolution`] plans and runs one; `tpu-emu/ops/src/convolve.rs` makes it.
//! Thresholds stand in `conv/tuning.rs`. A plan takes the first of these algorithms that fits:
//!
//! 1. **Implicit GEMM** (`implicit_gemm`): no window is stored.
//!    `padded_input` lays the input out once, rounded and with its padding.
//!    Windows are rows of a matrix that overlap (`window_rows`).
//!    The filter lies in panels of 16 or 32 columns (`pack_filter`). All of these must hold:
//!    * Sums are f32 or integers of 32 bits, and [`Load`] reads both operands as stored.
//!    * The arithmetic takes one pass over its operands.
//!    * The padded input has at most twice the input's elements and `PADDED_INPUT_SLACK_ELEMENTS`.
//!    * The offsets of the filter's elements are at most `MAX_TAP_OFFSETS`.
//! 2. **Packed windows** (`pack_windows`): any other sums of f32 or integers of 32 bits.
//!    A block of windows is packed as a left matrix, and [`blocked`] multiplies.
//!    Integers of 8 bits whose features lie beside each other are multiplied as such, where the machine
//!    does so: `byte_windows`, before the other two.
//! 3. **im2col** ([`im2col`]): sums of f64, complex numbers and integers of 64 bits.
//!    Tiles of `WINDOW_TILE_ELEMENTS` are copied out on one thread, for [`Work::product`].
//!
//! | inside of implicit GEMM | what is done |
//! |-------------------------|--------------|
//! | groups of one input feature | `depthwise`: vectors run over the groups |
//! | groups of up to `MAX_INTERLEAVED_FEATURES` output features | likewise |
//! | other groups | one after the other, each with a padded input of its own |
//! | padded input of more than `BAND_BYTES` | `bands`: some images after the other |
//! | filter of more than that, few windows | `bands`: some rows of the filter after the other |
//! | dilated input | [`dilation`]: phases, each a plain convolution with part of the filter |
//! | 1x1, strided windows, dilated or reversed filter | nothing special |
//!
//! For example, a 3x3 convolution of f32 with 64 channels and the usual padding takes implicit
//! GEMM by default, with panels of 32 columns. Each row of its filter is one run of 192 terms.
//! Precision `HIGH` takes three passes on the emulated chip, and so packed windows.
//!
//! For all of them:
//! * Threads take blocks of windows at places that shapes decide, so their number changes no bit.
//!   One takes `IMPLICIT_CHUNK_MULTIPLY_ADDS`, or `IM2COL_CHUNK_MULTIPLY_ADDS` of packed windows.
//! * A block has up to `MAX_BLOCK_WINDOWS` windows. `BLOCK_SUMS` lowers this, down to
//!   `MIN_BLOCK_WINDOWS`. Results that lie apart are written after each `WAVE_BLOCKS` blocks.
//! * The algorithm decides the order of sums, and so do the thresholds that choose it. Bands of a
//!   filter cut sums where they meet.
//!   Packed windows add up blocks of `BLOCK_DEPTH` terms, which stands in `matmul/tuning.rs`.
//!   Implicit GEMM ends a block early if the next run does not fit; depthwise sums are not cut.
//! * Padding is multiplied as zeros. So are the gaps of a dilated input, but not in phases.
//! * [`Arithmetic`] says what operands are rounded to; `tpu-emu/ops/src/precision.rs` makes it.
//! * [`im2col::Convolution::scratch`] says how much scratch memory the caller gives.
//!
//! Why: operands are rounded on the way, and no array of windows is written. See
//! `docs/decisions/0024-products-through-panels-of-32-bits.md`.
//!
//! [`Arithmetic`]: crate::matmul::precision::Arithmetic
//! [`blocked`]: crate::matmul::blocked
//! [`Load`]: crate::matmul::pack::Load
//! [`Work::product`]: crate::matmul::accumulate::Work::product
pub(crate) mod bands;
pub(crate) mod byte_windows;
pub(crate) mod depthwise;
pub mod dilation;
pub mod geometry;
pub mod im2col;
pub(crate) mod implicit_gemm;
pub(crate) mod pack_filter;
pub(crate) mod pack_windows;
pub(crate) mod padded_input;
#[cfg(test)]
mod test_cases;
mod tuning;
pub(crate) mod window_rows;
