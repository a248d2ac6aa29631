//! Products of matrices, and all that is one: `dot_general` over axes in any order.
//!
//! [`dot_general::Contraction`] plans and runs one; `tpu-emu/ops/src/contraction.rs` makes it.
//! Convolutions and decompositions use the inner loops. Thresholds stand in `matmul/tuning.rs`.
//! A product has `m` rows, `n` columns and sums of `k` terms. [`precision::SumType`] decides first:
//!
//! * **f64 and complex numbers**: the `gemm` crate, through `gemm_crate`.
//! * **Integers of 64 bits**: rows of `INTEGER_BLOCK_COLUMNS` sums, in [`integer`].
//! * **f32 and integers of 32 bits**: the first of these that fits. Integers of 8 bits are summed in
//!   f32 where that holds all sums, or by `bytes` where the machine can and the product is neither
//!   small nor with a vector.
//!
//! | case | algorithm |
//! |------|-----------|
//! | tiny: `m·n·k` to `MAX_TINY_MULTIPLY_ADDS` | [`tiny`] |
//! | matrix times vector: `m` or `n` is 1 | GEMV, `gemv` |
//! | small: `k` to `MAX_SMALL_DEPTH`, `m·n·k` to `MAX_SMALL_MULTIPLY_ADDS` | [`small`] |
//! | few rows: `m` to `MAX_UNSPLIT_ROWS`, `n` over half of `BLOCK_COLUMNS`, much work | [`blocked`] |
//! | shallow: `k` to `MAX_UNPACKED_DEPTH` | the loops of [`small`] |
//! | everything else | packed panels, [`blocked`] |
//!
//! * *Tiny* products round each product of two numbers. Their rows are vectors up to four columns and
//!   terms; else the lanes of vectors are products.
//! * *GEMV* reads the matrix once, in the order of its memory.
//! * *Small* products are laid out for many at once, `SMALL_BATCH_BYTES` of operands.
//!   `unpacked_lhs` multiplies, by panels of 32 columns, or 16 if
//!   `unpacked_lhs::is_narrow` finds less of those empty (up to `MAX_NARROW_PANEL_COLUMNS`).
//! * *Few rows* are split by columns; much work is `CHUNK_MULTIPLY_ADDS` or more.
//! * *Shallow* needs at most `MAX_UNPACKED_RHS_ELEMENTS` in its part of the right matrix.
//! * *Packed panels* are 8 rows or 32 columns wide ([`pack`], `micro_kernel`). A block has at
//!   most `MAX_PACKED_LHS_ROWS` by `BLOCK_COLUMNS` sums, of `BLOCK_DEPTH` terms at a time.
//!   All arithmetic of several passes ([`precision::Passes`]) goes there, the smallest first.
//!
//! For all of them:
//! * Operands are read where they lie if one stride reaches their rows, and one their columns; in
//!   f32 panels of long sums go along two axes of terms. `operand.rs` copies others into order first, and converts types that panels do not read.
//! * [`pack`] rounds elements on the way, as `tpu-emu/ops/src/precision.rs` says.
//!   On the emulated chip, f32 becomes bf16 by default, but not in products with a vector.
//!   What is dense the other way than a panel is transposed by squares of eight elements.
//! * Work is split at places that shapes decide, so the number of threads changes no bit.
//!   Chunks are `CHUNK_MULTIPLY_ADDS`, or `SMALL_CHUNK_MULTIPLY_ADDS` of small products.
//!   In GEMV, `CHUNK_BYTES` of the crate's `tuning.rs` counts.
//!   Sums are not split over threads, with one exception.
//!   GEMV of up to `MAX_GEMV_SPLIT_SUMS` sums cuts them at `GEMV_CHUNK_DEPTH` terms.
//! * Long sums are sums of sums of `BLOCK_DEPTH` terms, in order; a rest of at most half as many
//!   goes with those before it.
//!   GEMV along dense rows keeps a sum for each place of a vector.
//!   There, bits of floats follow the width of the machine's vectors.
//! * Machines without fused multiply-add round once more for each term.
//! * [`dot_general::Contraction::scratch`] says how much scratch memory the caller gives.
//!
//! Why: `gemm` takes operands of the type that it sums in, so each would be rounded into memory
//! first. Blocks and packing cost more than they save where little is computed. See
//! `docs/decisions/0024-products-through-panels-of-32-bits.md`.
pub mod accumulate;
pub mod blocked;
pub(crate) mod bytes;
pub mod dot_general;
pub(crate) mod gemm_crate;
pub(crate) mod gemv;
pub mod integer;
pub(crate) mod micro_kernel;
pub mod operand;
pub mod pack;
pub mod precision;
pub mod small;
pub mod tiny;
pub(crate) mod tuning;
pub(crate) mod unpacked_lhs;
pub mod widen;
