//! Factorizations, triangular systems and eigenvalues of dense matrices, in row-major order.
//!
//! The operations are `cholesky.rs` and `triangular_solve.rs` in `tpu-emu/ops/src`, and custom
//! calls of JAX in its folder `custom`: `eigh.rs`, `qr.rs`, `householder_product.rs` and
//! `lu_decomposition.rs`. Thresholds stand in `linalg/tuning.rs`.
//! The task alone decides the algorithm; no size and no type changes it:
//!
//! | task | function | algorithm |
//! |------|----------|-----------|
//! | Cholesky factor | [`factor::cholesky`] | blocked, right-looking |
//! | LU with partial pivoting | [`lu::lu`] | blocked, right-looking; a block by halves |
//! | triangular system | [`factor::solve_left`], [`factor::solve_right`] | blocked substitution |
//! | QR | [`householder::qr`] | Householder reflectors, blocked |
//! | `Q` of a QR | [`householder::product`] | Householder reflectors, blocked |
//! | Hermitian eigenvalues | [`eigh::eigen`] | tridiagonal by Householder, then implicit QL |
//!
//! * *Blocked*: `BLOCK_ROWS` columns or rows, or `BLOCK_REFLECTORS`, are finished by plain loops.
//!   Products of matrices, by `gemm_crate`, then take them out of what is left.
//! * A block's columns lie one after the other while they are worked on (`lu.rs`,
//!   `reflectors.rs`), so that loops run along columns.
//! * Rows that are zero at the end of a block of QR stay out: two fifths of the work where an
//!   identity lies below a matrix, as in JAX's polar decompositions.
//! * A reduction to tridiagonal form passes over the matrix once for each column.
//!   Its basis is made of blocks of reflectors; the rotations of `SWEEPS` QL steps are applied
//!   together (`rotations.rs`).
//! * Columns of a Cholesky block are computed with `REGISTER_ROWS` sums in registers, solutions of
//!   a triangular block with those of four rows.
//! * Implicit QL gives up after `MAX_QL_STEPS` steps for one eigenvalue; all is NaN then.
//! * Jacobi's method is not here: what JAX configures for it is ignored.
//! * Pivots of complex matrices are compared by the sum of their parts, as in LAPACK and in JAX.
//!
//! For all of them:
//! * Real and complex numbers share the code, as [`scalar::Scalar`].
//! * `tpu-emu/ops/src/factor.rs` chooses the type of the work: f32 for bf16, f16 and f32.
//!   Numbers of f64, c64 and c128 keep their type.
//!   Eigenvalues are always computed in f64 or c128 and rounded once.
//! * No operand is rounded to bf16, whatever precision is asked for.
//! * Threads share the rows that a block's product changes; [`factor::solve_right`] shares its
//!   right sides. Chunks are `CHUNK_MULTIPLY_ADDS`, at places that shapes decide.
//!   Reductions to tridiagonal form, and rotations, stay on one thread.
//! * Matrices of a batch are shared among threads by `tpu-emu/ops/src/factor.rs`.
//!   Neither the number of threads nor the width of vectors changes a bit. `BLOCK_ROWS`,
//!   `BLOCK_REFLECTORS`, `LANES` and `PRODUCT_DEPTH` decide the order of sums.
//! * QR, LU and triangular systems of what is not finite end after as many steps as any other.
//! * A matrix that is not positive definite has a Cholesky factor of NaN.
//!   A matrix that is not finite has eigenvalues and eigenvectors of NaN.
//! * Results lie as LAPACK has them: reflectors below the diagonal, both factors of LU in one.
//! * Matrices are replaced in place. Most workspace is the caller's:
//!   functions named `workspace` say how much.
//!
//! Why `gemm`: our own panels are for sums of 32 bits alone. See
//! `docs/decisions/0024-products-through-panels-of-32-bits.md`. Why no crate for all of it: see
//! `docs/decisions/0159-decompositions-are-our-own-and-blocked.md`.
//!
pub mod eigh;
pub mod factor;
pub mod householder;
mod length;
pub mod lu;
mod reflectors;
mod rotations;
pub mod scalar;
#[cfg(test)]
mod tests;
mod tuning;
