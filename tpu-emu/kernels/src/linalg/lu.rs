//! LU with partial pivoting. Matrices are dense and row-major.
use super::factor::{Triangle, chunk, solve_block, subtract, subtract_product};
use super::reflectors::stride;
use super::scalar::Scalar;
use crate::linalg::tuning::{BLOCK_ROWS, LANES, LEAF_COLUMNS};
use crate::matmul::accumulate::Work;
use crate::matmul::gemm_crate::Matrix;
use crate::parallel;
use crate::simd;
use crate::simd::Loop;
use num_traits::Float;

const BELOW: Triangle = Triangle { lower: true, unit: true };

/// Numbers of room that [`lu`] uses.
pub fn workspace([m, n]: [usize; 2]) -> usize {
    let columns = m.min(n).min(BLOCK_ROWS);
    stride(m).saturating_add(columns).saturating_mul(columns)
}

/// `a = P·L·U` with `L` of unit diagonal, both in the place of `a [m, n]`. `pivots[k]` is the row
/// that row `k` was exchanged with, and row `i` of `P⁻¹·a` is row `permutation[i]` of `a`. `room`
/// has [`workspace`] numbers.
pub fn lu<T: Scalar>(
    [m, n]: [usize; 2],
    a: &mut [T],
    pivots: &mut [i32],
    permutation: &mut [i32],
    room: &mut [T],
) {
    for (index, row) in (0..).zip(permutation.iter_mut()) {
        *row = index;
    }
    let rank = m.min(n);
    for first in (0..rank).step_by(BLOCK_ROWS) {
        let end = rank.min(first + BLOCK_ROWS);
        let (depth, stride) = (end - first, stride(m - first));
        let (columns, square) = room.split_at_mut(depth * stride);
        let mut panel = LuColumns { rows: m - first, stride, columns, exchanged: [0; BLOCK_ROWS] };
        for (at, row) in a[first * n..].chunks_exact(n).enumerate() {
            for (column, &value) in row[first..end].iter().enumerate() {
                panel.columns[column * stride + at] = value;
            }
        }
        panel.factor(0, depth, square);
        for (k, &other) in panel.exchanged[..depth].iter().enumerate() {
            let (row, other) = (first + k, first + other);
            pivots[row] = i32::try_from(other).unwrap_or(i32::MAX);
            if row != other {
                permutation.swap(row, other);
                let (before, from) = a.split_at_mut(other * n);
                before[row * n..(row + 1) * n].swap_with_slice(&mut from[..n]);
            }
        }
        for (at, row) in a[first * n..].chunks_exact_mut(n).enumerate() {
            for (column, value) in row[first..end].iter_mut().enumerate() {
                *value = panel.columns[column * stride + at];
            }
        }
        if end == n {
            continue;
        }
        let (above, below) = a.split_at_mut(end * n);
        let top = &mut above[first * n..];
        // The block's rows to its right.
        let square = &mut square[..depth * depth];
        for (to, from) in square.chunks_exact_mut(depth).zip(top.chunks_exact(n)) {
            to.copy_from_slice(&from[first..end]);
        }
        solve_block(depth, BELOW, square, (&mut *top, n, end..n));
        let (top, columns) = (&*top, &*panel.columns);
        let chunk = chunk(n - end);
        parallel::chunks_mut(below, chunk * n, |index, rows| {
            let left = Matrix { data: &columns[depth + index * chunk..], row: 1, column: stride };
            let right = Matrix { data: &top[end..], row: n, column: 1 };
            subtract_product((rows, n, end..n), left, right, depth);
        });
    }
}

/// Some columns of the matrix, one after the other.
struct LuColumns<'a, T> {
    rows: usize,
    /// Elements from one column to the next.
    stride: usize,
    columns: &'a mut [T],
    /// The row that each row was exchanged with.
    exchanged: [usize; BLOCK_ROWS],
}

impl<T: Scalar> LuColumns<'_, T> {
    /// Computes columns `from..to` of the factors where those before took part in them.
    fn factor(&mut self, from: usize, to: usize, room: &mut [T]) {
        let Self { rows, stride, .. } = *self;
        if to - from <= LEAF_COLUMNS {
            let Self { columns, exchanged, .. } = self;
            simd::run(LuLeaf { rows, stride, columns, exchanged, from, to });
            return;
        }
        let middle =
            from + (to - from).div_ceil(2).next_multiple_of(LEAF_COLUMNS).min(to - from - 1);
        self.factor(from, middle, room);
        let depth = middle - from;
        let (left, right) = self.columns.split_at_mut(middle * stride);
        let (left, right) = (&left[from * stride..], &mut right[..(to - middle) * stride]);
        simd::run(Above { stride, left, right: &mut *right, from, middle });
        let upper = &mut room[..(to - middle) * depth];
        for (to, column) in upper.chunks_exact_mut(depth).zip(right.chunks_exact(stride)) {
            to.copy_from_slice(&column[from..middle]);
        }
        let upper = Matrix { data: &*upper, row: depth, column: 1 };
        if middle < rows {
            let lower = Matrix { data: &left[middle..], row: stride, column: 1 };
            subtract_product((right, stride, middle..rows), upper, lower, depth);
        }
        self.factor(middle, to, room);
    }
}

/// Rows `from..middle` of columns that come after those.
struct Above<'a, T> {
    stride: usize,
    left: &'a [T],
    right: &'a mut [T],
    from: usize,
    middle: usize,
}

impl<T: Scalar> Loop for Above<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { stride, left, right, from, middle } = self;
        for column in right.chunks_exact_mut(stride) {
            for (known, k) in left.chunks_exact(stride).zip(from..middle) {
                let factor = column[k];
                subtract(&mut column[k + 1..middle], factor, &known[k + 1..middle]);
            }
        }
    }
}

/// A few columns, one by one.
struct LuLeaf<'a, T> {
    rows: usize,
    stride: usize,
    columns: &'a mut [T],
    exchanged: &'a mut [usize; BLOCK_ROWS],
    from: usize,
    to: usize,
}

/// What pivots are compared by: as in LAPACK, not the absolute value of a complex number.
#[inline(always)]
fn weight<T: Scalar>(value: T) -> T::Real {
    value.re().abs() + value.im().abs()
}

/// The first of the largest numbers; the first number where that is NaN.
#[inline(always)]
fn largest<T: Scalar>(values: &[T]) -> usize {
    let mut most = [T::Real::ZERO; LANES];
    let (groups, rest) = values.as_chunks::<LANES>();
    for values in groups {
        for (most, &value) in most.iter_mut().zip(values) {
            let weight = weight(value);
            *most = if weight > *most { weight } else { *most };
        }
    }
    for (most, &value) in most.iter_mut().zip(rest) {
        let weight = weight(value);
        *most = if weight > *most { weight } else { *most };
    }
    let most =
        most.into_iter().fold(T::Real::ZERO, |most, other| if other > most { other } else { most });
    let first = values.first().is_none_or(|&value| {
        let weight = weight(value);
        weight.partial_cmp(&weight).is_none()
    });
    if first { 0 } else { values.iter().position(|&value| weight(value) == most).unwrap_or(0) }
}

impl<T: Scalar> Loop for LuLeaf<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rows, stride, columns, exchanged, from, to } = self;
        let one = T::of_i64(1);
        for k in from..to {
            let pivot = k + largest(&columns[k * stride + k..k * stride + rows]);
            exchanged[k] = pivot;
            if pivot != k {
                for column in columns.chunks_exact_mut(stride) {
                    column.swap(k, pivot);
                }
            }
            let (done, open) = columns.split_at_mut((k + 1) * stride);
            let column = &mut done[k * stride..][..rows];
            let top = column[k];
            if top != T::ZERO {
                let inverse = one.over(top);
                // A product is as exact as the quotient where numbers are complex.
                if T::IS_REAL || !inverse.finite() {
                    column[k + 1..].iter_mut().for_each(|value| *value = value.over(top));
                } else {
                    column[k + 1..].iter_mut().for_each(|value| *value *= inverse);
                }
            }
            let column = &column[k + 1..];
            for open in open.chunks_exact_mut(stride).take(to - k - 1) {
                let factor = open[k];
                subtract(&mut open[k + 1..rows], factor, column);
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
    fn factors_of_several_blocks_are_the_permuted_matrix() {
        let square = 2 * BLOCK_ROWS + 9;
        for [m, n] in [[square, square], [square, BLOCK_ROWS + 3], [BLOCK_ROWS + 3, square]] {
            let a: Vec<f64> = (0..m * n).map(|i| number(i * i + i / 7)).collect();
            let (mut both, rank) = (a.clone(), m.min(n));
            let (mut pivots, mut permutation) = (vec![0; rank], vec![0; m]);
            let mut room = vec![f64::NAN; workspace([m, n])];
            lu([m, n], &mut both, &mut pivots, &mut permutation, &mut room);
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
    fn the_first_of_the_largest_is_the_pivot_and_nan_is_passed_over() {
        let nan = f32::NAN;
        let mut values = vec![1.0_f32; 40];
        (values[3], values[17], values[30], values[33]) = (nan, -3.0, 3.0, 2.0);
        assert_eq!(largest(&values), 17);
        values[0] = nan;
        assert_eq!(largest(&values), 0);
        assert_eq!((largest(&[0.0_f32; 20]), largest::<f32>(&[])), (0, 0));
    }
}
