//! Triangular systems, and Cholesky factors. Matrices are dense and row-major.
use super::scalar::Scalar;
use crate::linalg::tuning::{BLOCK_ROWS, CHUNK_MULTIPLY_ADDS, REGISTER_ROWS};
use crate::matmul::accumulate::Work;
use crate::matmul::gemm_crate;
use crate::matmul::gemm_crate::{Extent, Matrix};
use crate::parallel;
use crate::simd;
use crate::simd::Loop;
use num_traits::Float;
use std::ops::Range;

/// Rows of a chunk, whole blocks of them, where each has so many results of sums of a block.
pub(super) fn chunk(columns: usize) -> usize {
    (CHUNK_MULTIPLY_ADDS / (columns * BLOCK_ROWS).max(1)).max(1).next_multiple_of(BLOCK_ROWS)
}

/// `to -= factor·from`.
#[inline(always)]
pub(super) fn subtract<T: Scalar>(to: &mut [T], factor: T, from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to -= factor * from;
    }
}

/// `rows -= left·right` for some columns of rows that are `width` apart. `left` has `depth` columns.
pub(super) fn subtract_product<T: Scalar>(
    (rows, width, columns): (&mut [T], usize, Range<usize>),
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    depth: usize,
) {
    let extent = Extent { m: rows.len() / width, n: columns.len(), k: depth };
    let rows = &mut rows[columns.start..];
    gemm_crate::product(extent, rows, width, (true, -T::one(), T::one()), left, right);
}

/// Numbers of room that [`cholesky`] uses.
pub fn cholesky_workspace(n: usize) -> usize {
    n.saturating_add(n.max(REGISTER_ROWS)).saturating_mul(BLOCK_ROWS.min(n))
}

/// The lower triangular `L` with `L·Lᴴ = a`, of the lower triangle of `a`, in its place; the upper
/// one becomes zero. All NaN where there is none. `workspace` has [`cholesky_workspace`] numbers.
pub fn cholesky<T: Scalar>(n: usize, a: &mut [T], workspace: &mut [T]) {
    for first in (0..n).step_by(BLOCK_ROWS) {
        let end = n.min(first + BLOCK_ROWS);
        if !simd::run(CholeskyColumns {
            n,
            a: &mut *a,
            columns: first..end,
            workspace: &mut *workspace,
        }) {
            a.fill(T::missing());
            return;
        }
        let depth = end - first;
        // The block's columns below it, and their conjugates.
        let (below, conjugates) = workspace.split_at_mut((n - end) * depth);
        let copies = below.chunks_exact_mut(depth).zip(conjugates.chunks_exact_mut(depth));
        for ((below, conjugates), row) in copies.zip(a[end * n..].chunks_exact(n)) {
            below.copy_from_slice(&row[first..end]);
            for (to, from) in conjugates.iter_mut().zip(&*below) {
                *to = from.conjugate();
            }
        }
        let (below, conjugates) = (&*below, &*conjugates);
        let chunk = chunk(n - end);
        parallel::chunks_mut(&mut a[end * n..], chunk * n, |index, rows| {
            let starts = (index * chunk..).step_by(BLOCK_ROWS);
            for (start, rows) in starts.zip(rows.chunks_mut(BLOCK_ROWS * n)) {
                let columns = end..end + start + rows.len() / n;
                let left = Matrix { data: &below[start * depth..], row: depth, column: 1 };
                let right = Matrix { data: conjugates, row: 1, column: depth };
                subtract_product((rows, n, columns), left, right, depth);
            }
        });
    }
    for row in 0..n {
        a[row * n + row + 1..(row + 1) * n].fill(T::ZERO);
    }
}

/// Some columns of the factor, where those before are done; `false` where there is none. `workspace`
/// holds them one after the other, so that sums are over runs.
struct CholeskyColumns<'a, T> {
    n: usize,
    a: &'a mut [T],
    columns: Range<usize>,
    workspace: &'a mut [T],
}

impl<T: Scalar> Loop for CholeskyColumns<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // No bit depends on it.
        if self.n <= 8 { self.columns::<8>() } else { self.columns::<REGISTER_ROWS>() }
    }
}

impl<T: Scalar> CholeskyColumns<'_, T> {
    /// Computes the columns with as many sums in registers as there are `ROWS`.
    #[inline(always)]
    fn columns<const ROWS: usize>(self) -> bool {
        let Self { n, a, columns, workspace } = self;
        let (start, rows) = (columns.start, n - columns.start);
        // Sums may be of rows behind the last one.
        let length = rows + ROWS;
        for column in workspace.chunks_exact_mut(length).take(columns.len()) {
            column[rows..].fill(T::ZERO);
        }
        for (row, from) in a[start * n..].chunks_exact(n).enumerate() {
            let from = &from[columns.clone()];
            for (column, &from) in from[..from.len().min(row + 1)].iter().enumerate() {
                workspace[column * length + row] = from;
            }
        }
        for k in 0..columns.len() {
            let (done, column) = workspace.split_at_mut(k * length);
            let mut root = T::Real::ZERO;
            for first in (k..rows).step_by(ROWS) {
                let mut sums = [T::ZERO; ROWS];
                sums.copy_from_slice(&column[first..][..ROWS]);
                for other in done.chunks_exact(length) {
                    let factor = other[k].conjugate();
                    let other = &other[first..][..ROWS];
                    for (sum, &other) in sums.iter_mut().zip(other) {
                        *sum -= other * factor;
                    }
                }
                if first == k {
                    let pivot = sums[0].re();
                    // Written so that NaN fails.
                    if !(pivot > T::Real::ZERO && pivot.is_finite()) {
                        return false;
                    }
                    root = pivot.sqrt();
                }
                for sum in &mut sums {
                    *sum = T::of(sum.re() / root, sum.im() / root);
                }
                if first == k {
                    sums[0] = T::of(root, T::Real::ZERO);
                }
                column[first..][..ROWS].copy_from_slice(&sums);
            }
        }
        for (row, to) in a[start * n..].chunks_exact_mut(n).enumerate() {
            let to = &mut to[columns.clone()];
            let end = to.len().min(row + 1);
            for (column, to) in to[..end].iter_mut().enumerate() {
                *to = workspace[column * length + row];
            }
        }
        true
    }
}

/// A triangular matrix: which triangle is used, and whether its diagonal counts as ones.
#[derive(Debug, Clone, Copy)]
pub struct Triangle {
    /// The lower one.
    pub lower: bool,
    /// Ones on the diagonal, whatever is stored there.
    pub unit: bool,
}

/// Solves `a·x = b` in the place of `b [n, columns]`.
pub fn solve_left<T: Scalar>(n: usize, triangle: Triangle, a: &[T], b: &mut [T], columns: usize) {
    if columns == 0 {
        return;
    }
    let blocks = n.div_ceil(BLOCK_ROWS);
    for step in 0..blocks {
        let block = if triangle.lower { step } else { blocks - 1 - step };
        let (first, end) = (block * BLOCK_ROWS, n.min((block + 1) * BLOCK_ROWS));
        let (before, rest) = b.split_at_mut(first * columns);
        let (rows, after) = rest.split_at_mut((end - first) * columns);
        let a_block = &a[first * n + first..];
        solve_block(n, triangle, a_block, (&mut *rows, columns, 0..columns));
        let (open, start) = if triangle.lower { (after, end) } else { (before, 0) };
        let rows = &*rows;
        let chunk = chunk(columns);
        parallel::chunks_mut(open, chunk * columns, |index, open| {
            let row = start + index * chunk;
            let left = Matrix { data: &a[row * n + first..], row: n, column: 1 };
            let right = Matrix { data: rows, row: columns, column: 1 };
            subtract_product((open, columns, 0..columns), left, right, end - first);
        });
    }
}

/// Solves a system of at most [`BLOCK_ROWS`] rows, whose triangle `a` begins with, in the place of
/// some columns of `b`, whose rows are `width` apart. Rows of `a` are `n` apart.
pub(super) fn solve_block<T: Scalar>(
    n: usize,
    triangle: Triangle,
    a: &[T],
    (b, width, columns): (&mut [T], usize, Range<usize>),
) {
    simd::run(SolvedRows { n, triangle, a, b, width, columns });
}

/// The rows of one block: `a` begins with its triangle.
struct SolvedRows<'a, T> {
    n: usize,
    triangle: Triangle,
    a: &'a [T],
    b: &'a mut [T],
    width: usize,
    columns: Range<usize>,
}

impl<T: Scalar> Loop for SolvedRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // As many columns as a vector of 512 bits has numbers. No bit depends on it.
        match size_of::<T>() {
            4 => self.tiles::<16>(),
            8 => self.tiles::<8>(),
            _ => self.tiles::<4>(),
        }
    }
}

impl<T: Scalar> SolvedRows<'_, T> {
    /// Solves for `TILE` columns at a time, with the sums of four rows in registers.
    #[inline(always)]
    fn tiles<const TILE: usize>(self) {
        let Self { n, triangle, a, b, width: stride, columns } = self;
        let rows = b.len() / stride;
        let mut tile = [[T::ZERO; TILE]; BLOCK_ROWS];
        let tile = &mut tile[..rows];
        // The order in which rows are solved; the last one first is that of the other triangle.
        let at = |step: usize| if triangle.lower { step } else { rows - 1 - step };
        for first in columns.clone().step_by(TILE) {
            let width = TILE.min(columns.end - first);
            for (step, tile) in tile.iter_mut().enumerate() {
                tile[..width].copy_from_slice(&b[at(step) * stride + first..][..width]);
            }
            for start in (0..rows).step_by(4) {
                let (known, open) = tile.split_at_mut(start);
                let count = open.len().min(4);
                if let Some(open) = open.first_chunk_mut::<4>() {
                    let factors: [&[T]; 4] = std::array::from_fn(|row| &a[at(start + row) * n..]);
                    let mut sums = *open;
                    for (step, known) in known.iter().enumerate() {
                        let column = at(step);
                        for (sums, factors) in sums.iter_mut().zip(&factors) {
                            let factor = factors[column];
                            for (sum, &known) in sums.iter_mut().zip(known) {
                                *sum -= factor * known;
                            }
                        }
                    }
                    *open = sums;
                } else {
                    for (row, sums) in open.iter_mut().enumerate() {
                        let factors = &a[at(start + row) * n..];
                        for (step, known) in known.iter().enumerate() {
                            subtract(sums, factors[at(step)], known);
                        }
                    }
                }
                for row in 0..count {
                    let (known, open) = open.split_at_mut(row);
                    let factors = &a[at(start + row) * n..];
                    for (step, known) in known.iter().enumerate() {
                        subtract(&mut open[0], factors[at(start + step)], known);
                    }
                    if !triangle.unit {
                        let diagonal = factors[at(start + row)];
                        open[0].iter_mut().for_each(|value| *value = value.over(diagonal));
                    }
                }
            }
            for (step, tile) in tile.iter().enumerate() {
                b[at(step) * stride + first..][..width].copy_from_slice(&tile[..width]);
            }
        }
    }
}

/// Solves `x·a = b` for every row of `b [rows, n]` in its place.
pub fn solve_right<T: Scalar>(n: usize, triangle: Triangle, a: &[T], b: &mut [T]) {
    if n == 0 {
        return;
    }
    let blocks = n.div_ceil(BLOCK_ROWS);
    // All blocks take part in a row.
    let chunk = (CHUNK_MULTIPLY_ADDS / (n * n)).max(1).next_multiple_of(BLOCK_ROWS);
    parallel::chunks_mut(b, chunk * n, |_, b| {
        for step in 0..blocks {
            let block = if triangle.lower { blocks - 1 - step } else { step };
            let (first, end) = (block * BLOCK_ROWS, n.min((block + 1) * BLOCK_ROWS));
            simd::run(SolvedColumns { n, triangle, a, b: &mut *b, columns: first..end });
            let open = if triangle.lower { 0..first } else { end..n };
            if open.is_empty() {
                continue;
            }
            let solved: Vec<T> =
                b.chunks_exact(n).flat_map(|row| row[first..end].iter().copied()).collect();
            let left = Matrix { data: &solved, row: end - first, column: 1 };
            let right = Matrix { data: &a[first * n + open.start..], row: n, column: 1 };
            subtract_product((&mut *b, n, open), left, right, end - first);
        }
    });
}

/// The columns of one block of every row.
struct SolvedColumns<'a, T> {
    n: usize,
    triangle: Triangle,
    a: &'a [T],
    b: &'a mut [T],
    columns: Range<usize>,
}

impl<T: Scalar> Loop for SolvedColumns<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { n, triangle, a, b, columns: Range { start: first, end } } = self;
        for row in b.chunks_exact_mut(n) {
            for step in 0..end - first {
                let j = if triangle.lower { end - 1 - step } else { first + step };
                if !triangle.unit {
                    row[j] = row[j].over(a[j * n + j]);
                }
                let factor = row[j];
                let open = if triangle.lower { first..j } else { j + 1..end };
                subtract(&mut row[open.clone()], factor, &a[j * n..][open]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(i: usize) -> f64 {
        f64::from(u32::try_from(i * 37 % 101).unwrap()) / 50.0 - 1.0
    }

    fn times(left: &[f64], right: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
        let sum = |at: usize| (0..k).map(|l| left[at / n * k + l] * right[l * n + at % n]).sum();
        (0..m * n).map(sum).collect()
    }

    fn near(left: &[f64], right: &[f64]) {
        for (at, (left, right)) in left.iter().zip(right).enumerate() {
            assert!((left - right).abs() < 1e-9, "{at}: {left} {right}");
        }
    }

    #[test]
    fn a_factor_of_several_blocks_times_its_transpose_is_the_matrix() {
        let n = 2 * BLOCK_ROWS + 9;
        let half: Vec<f64> = (0..n * n).map(number).collect();
        let turned: Vec<f64> = (0..n * n).map(|at| half[at % n * n + at / n]).collect();
        let mut a = times(&half, &turned, [n, n, n]);
        (0..n).for_each(|i| a[i * n + i] += 1.0);
        let factors = [1, 2].map(|threads| {
            let (mut factor, mut workspace) = (a.clone(), vec![0.0; cholesky_workspace(n)]);
            parallel::with_threads(threads, || {
                cholesky(n, &mut factor, &mut workspace);
                factor
            })
        });
        assert_eq!(factors[0], factors[1]);
        let turned: Vec<f64> = (0..n * n).map(|at| factors[0][at % n * n + at / n]).collect();
        near(&times(&factors[0], &turned, [n, n, n]), &a);
        assert_eq!(factors[0][n - 1], 0.0);
    }

    #[test]
    fn systems_of_several_blocks_are_solved_from_both_sides() {
        let (n, columns) = (2 * BLOCK_ROWS + 9, 5);
        for (lower, unit) in [(true, false), (false, false), (true, true), (false, true)] {
            let inside = |at: usize| if lower { at / n >= at % n } else { at / n <= at % n };
            let entry = |at: usize| {
                let diagonal = at / n == at % n;
                if diagonal { if unit { 1.0 } else { 40.0 } } else { number(at) / 40.0 }
            };
            let a: Vec<f64> =
                (0..n * n).map(|at| if inside(at) { entry(at) } else { 0.0 }).collect();
            let b: Vec<f64> = (0..n * columns).map(number).collect();
            let triangle = Triangle { lower, unit };
            let mut x = b.clone();
            solve_left(n, triangle, &a, &mut x, columns);
            near(&times(&a, &x, [n, n, columns]), &b);
            let mut x = b.clone();
            solve_right(n, triangle, &a, &mut x);
            near(&times(&x, &a, [columns, n, n]), &b);
        }
    }
}
