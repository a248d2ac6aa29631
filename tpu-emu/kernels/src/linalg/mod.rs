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
//! | LU with partial pivoting | [`factor::lu`] | blocked, right-looking |
//! | triangular system | [`factor::solve_left`], [`factor::solve_right`] | blocked substitution |
//! | QR | [`householder::qr`] | Householder reflectors, not blocked |
//! | `Q` of a QR | [`householder::product`] | Householder reflectors, not blocked |
//! | Hermitian eigenvalues | [`eigh::eigen`] | tridiagonal by Householder, then implicit QL |
//!
//! * *Blocked*: `BLOCK_ROWS` columns or rows are finished by plain loops.
//!   Products of matrices, by `gemm_crate`, then take them out of what is left.
//!   A square matrix of at most `BLOCK_ROWS` rows needs no such product.
//! * Columns of a Cholesky block are computed with `REGISTER_ROWS` sums in registers.
//! * Implicit QL gives up after `MAX_QL_STEPS` steps for one eigenvalue; all is NaN then.
//! * Jacobi's method is not here: what JAX configures for it is ignored.
//! * Loops in `scalar.rs` over fewer than `MIN_VECTOR_ELEMENTS` elements take no wide vectors.
//!
//! For all of them:
//! * Real and complex numbers share the code, as [`scalar::Scalar`].
//! * `tpu-emu/ops/src/factor.rs` chooses the type of the work: f32 for bf16, f16 and f32.
//!   Numbers of f64, c64 and c128 keep their type.
//!   Eigenvalues are always computed in f64 or c128 and rounded once.
//! * No operand is rounded to bf16, whatever precision is asked for.
//! * Threads share the rows that a block's product changes; [`factor::solve_right`] shares its
//!   right sides. Chunks are `CHUNK_MULTIPLY_ADDS`, at places that shapes decide.
//!   QR and eigenvalues of one matrix stay on one thread.
//! * Matrices of a batch are shared among threads by `tpu-emu/ops/src/factor.rs`.
//!   The number of threads changes no bit. `BLOCK_ROWS` decides the order of sums.
//! * A matrix that is not positive definite has a Cholesky factor of NaN.
//!   A matrix that is not finite has eigenvalues and eigenvectors of NaN.
//! * Results lie as LAPACK has them: reflectors below the diagonal, both factors of LU in one.
//! * Matrices are replaced in place. Most workspace is the caller's:
//!   [`factor::cholesky_workspace`] and [`eigh::workspace`] say how much.
//!
//! Why `gemm`: our own panels are for sums of 32 bits alone. See
//! `docs/decisions/0024-products-through-panels-of-32-bits.md`.
//!
pub mod eigh;
pub mod factor;
pub mod householder;
pub mod scalar;
#[cfg(test)]
mod tests;
mod tuning;
