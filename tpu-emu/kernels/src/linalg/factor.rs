//! Triangular systems, and factors that are triangular. Matrices are dense and row-major.
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
fn chunk(columns: usize) -> usize {
    (CHUNK_MULTIPLY_ADDS / (columns * BLOCK_ROWS).max(1)).max(1).next_multiple_of(BLOCK_ROWS)
}

/// `to -= factor·from`.
#[inline(always)]
fn subtract<T: Scalar>(to: &mut [T], factor: T, from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to -= factor * from;
    }
}

/// `rows -= left·right` for some columns of rows that are `width` apart. `left` has `depth` columns.
fn reduce<T: Scalar>(
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
                reduce((rows, n, columns), left, right, depth);
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
        let Self { n, a, columns, workspace } = self;
        let (start, rows) = (columns.start, n - columns.start);
        // Sums may be of rows behind the last one.
        let length = rows + REGISTER_ROWS;
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
            for first in (k..rows).step_by(REGISTER_ROWS) {
                let mut sums = [T::ZERO; REGISTER_ROWS];
                sums.copy_from_slice(&column[first..][..REGISTER_ROWS]);
                for other in done.chunks_exact(length) {
                    let factor = other[k].conjugate();
                    let other = &other[first..][..REGISTER_ROWS];
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
                column[first..][..REGISTER_ROWS].copy_from_slice(&sums);
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

/// `a = P·L·U` with `L` of unit diagonal, both in the place of `a [m, n]`. `pivots[k]` is the row
/// that row `k` was exchanged with, and row `i` of `P⁻¹·a` is row `permutation[i]` of `a`.
pub fn lu<T: Scalar>([m, n]: [usize; 2], a: &mut [T], pivots: &mut [i32], permutation: &mut [i32]) {
    for (index, row) in (0..).zip(permutation.iter_mut()) {
        *row = index;
    }
    let rank = m.min(n);
    for first in (0..rank).step_by(BLOCK_ROWS) {
        let end = rank.min(first + BLOCK_ROWS);
        let columns = first..end;
        simd::run(LuColumns {
            size: [m, n],
            a: &mut *a,
            columns,
            pivots: &mut *pivots,
            permutation: &mut *permutation,
        });
        if end == n {
            continue;
        }
        let (above, below) = a.split_at_mut(end * n);
        let top = &mut above[first * n..];
        // The block's rows to its right.
        simd::run(LuRows { n, top: &mut *top, columns: first..end });
        let top = &*top;
        parallel::chunks_mut(below, chunk(n - end) * n, |_, rows| {
            let depth = end - first;
            let left: Vec<T> =
                rows.chunks_exact(n).flat_map(|row| row[first..end].iter().copied()).collect();
            let left = Matrix { data: &left, row: depth, column: 1 };
            let right = Matrix { data: &top[end..], row: n, column: 1 };
            reduce((rows, n, end..n), left, right, depth);
        });
    }
}

/// The rows to the right of a block's columns, which are done.
struct LuRows<'a, T> {
    n: usize,
    top: &'a mut [T],
    columns: Range<usize>,
}

impl<T: Scalar> Loop for LuRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { n, top, columns } = self;
        for i in 1..columns.len() {
            let (solved, row) = top.split_at_mut(i * n);
            for (solved, k) in solved.chunks_exact(n).zip(columns.start..) {
                let factor = row[k];
                subtract(&mut row[columns.end..n], factor, &solved[columns.end..]);
            }
        }
    }
}

/// Some columns of the factors, where those before are done; rows are exchanged as a whole.
struct LuColumns<'a, T> {
    size: [usize; 2],
    a: &'a mut [T],
    columns: Range<usize>,
    pivots: &'a mut [i32],
    permutation: &'a mut [i32],
}

impl<T: Scalar> Loop for LuColumns<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { size: [m, n], a, columns, pivots, permutation } = self;
        for k in columns.clone() {
            let mut pivot = k;
            let mut largest = a[k * n + k].size();
            for i in k + 1..m {
                let size = a[i * n + k].size();
                if size > largest {
                    (pivot, largest) = (i, size);
                }
            }
            pivots[k] = i32::try_from(pivot).unwrap_or(i32::MAX);
            if pivot != k {
                permutation.swap(k, pivot);
                let (before, from) = a.split_at_mut(pivot * n);
                before[k * n..(k + 1) * n].swap_with_slice(&mut from[..n]);
            }
            let (before, below) = a.split_at_mut((k + 1) * n);
            let top = &before[k * n..];
            if top[k] == T::ZERO {
                continue;
            }
            for row in below.chunks_exact_mut(n) {
                let factor = row[k].over(top[k]);
                row[k] = factor;
                subtract(&mut row[k + 1..columns.end], factor, &top[k + 1..columns.end]);
            }
        }
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
        simd::run(SolvedRows { n, triangle, a: a_block, b: &mut *rows, columns });
        let (open, start) = if triangle.lower { (after, end) } else { (before, 0) };
        let rows = &*rows;
        let chunk = chunk(columns);
        parallel::chunks_mut(open, chunk * columns, |index, open| {
            let row = start + index * chunk;
            let left = Matrix { data: &a[row * n + first..], row: n, column: 1 };
            let right = Matrix { data: rows, row: columns, column: 1 };
            reduce((open, columns, 0..columns), left, right, end - first);
        });
    }
}

/// The rows of one block: `a` begins with its triangle.
struct SolvedRows<'a, T> {
    n: usize,
    triangle: Triangle,
    a: &'a [T],
    b: &'a mut [T],
    columns: usize,
}

impl<T: Scalar> Loop for SolvedRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { n, triangle, a, b, columns } = self;
        let count = b.len() / columns;
        for step in 0..count {
            let i = if triangle.lower { step } else { count - 1 - step };
            let (before, rest) = b.split_at_mut(i * columns);
            let (row, after) = rest.split_at_mut(columns);
            let known = if triangle.lower { before } else { after };
            let first = if triangle.lower { 0 } else { i + 1 };
            for (solved, &factor) in known.chunks_exact(columns).zip(&a[i * n + first..]) {
                subtract(row, factor, solved);
            }
            if !triangle.unit {
                let diagonal = a[i * n + i];
                row.iter_mut().for_each(|value| *value = value.over(diagonal));
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
            reduce((&mut *b, n, open), left, right, end - first);
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
    fn factors_of_several_blocks_are_the_permuted_matrix() {
        let square = 2 * BLOCK_ROWS + 9;
        for [m, n] in [[square, square], [square, BLOCK_ROWS + 3], [BLOCK_ROWS + 3, square]] {
            let a: Vec<f64> = (0..m * n).map(|i| number(i * i + i / 7)).collect();
            let (mut both, rank) = (a.clone(), m.min(n));
            let (mut pivots, mut permutation) = (vec![0; rank], vec![0; m]);
            lu([m, n], &mut both, &mut pivots, &mut permutation);
            let lower = |at: usize| match (at / rank).cmp(&(at % rank)) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => both[at / rank * n + at % rank],
            };
            let lower: Vec<f64> = (0..m * rank).map(lower).collect();
            let upper = |at: usize| if at / n <= at % n { both[at] } else { 0.0 };
            let upper: Vec<f64> = (0..rank * n).map(upper).collect();
            let row = |i: usize| usize::try_from(permutation[i]).unwrap();
            let wanted: Vec<f64> = (0..m * n).map(|at| a[row(at / n) * n + at % n]).collect();
            near(&times(&lower, &upper, [m, rank, n]), &wanted);
        }
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
