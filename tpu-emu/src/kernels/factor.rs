//! Triangular systems, and factors that are triangular. Matrices are dense and row-major.
use super::scalar::Scalar;
use super::work::Work;
use num_traits::Float;

/// `to -= factor·from`.
fn subtract<T: Scalar>(to: &mut [T], factor: T, from: &[T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to -= factor * from;
    }
}

/// The lower triangular `L` with `L·Lᴴ = a`, of the lower triangle of `a`, in its place; the upper
/// one becomes zero. All NaN where there is none. `column` has room for `n` numbers.
pub fn cholesky<T: Scalar>(n: usize, a: &mut [T], column: &mut [T]) {
    for k in 0..n {
        let pivot = a[k * n + k].re();
        // Written so that NaN fails.
        if !(pivot > T::Real::ZERO && pivot.is_finite()) {
            a.fill(T::missing());
            return;
        }
        let root = pivot.sqrt();
        a[k * n + k] = T::of(root, T::Real::ZERO);
        a[k * n + k + 1..(k + 1) * n].fill(T::ZERO);
        for i in k + 1..n {
            let value = &mut a[i * n + k];
            *value = T::of(value.re() / root, value.im() / root);
            column[i] = value.conjugate();
        }
        for i in k + 1..n {
            let factor = a[i * n + k];
            subtract(&mut a[i * n + k + 1..=i * n + i], factor, &column[k + 1..=i]);
        }
    }
}

/// `a = P·L·U` with `L` of unit diagonal, both in the place of `a [m, n]`. `pivots[k]` is the row
/// that row `k` was exchanged with, and row `i` of `P⁻¹·a` is row `permutation[i]` of `a`.
pub fn lu<T: Scalar>([m, n]: [usize; 2], a: &mut [T], pivots: &mut [i32], permutation: &mut [i32]) {
    for (index, row) in (0..).zip(permutation.iter_mut()) {
        *row = index;
    }
    for k in 0..m.min(n) {
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
            let factor = row[k] / top[k];
            row[k] = factor;
            subtract(&mut row[k + 1..], factor, &top[k + 1..]);
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
    for step in 0..n {
        let i = if triangle.lower { step } else { n - 1 - step };
        let (before, rest) = b.split_at_mut(i * columns);
        let (row, after) = rest.split_at_mut(columns);
        let known = if triangle.lower { before } else { after };
        let first = if triangle.lower { 0 } else { i + 1 };
        if columns > 0 {
            for (solved, &factor) in known.chunks_exact(columns).zip(&a[i * n + first..]) {
                subtract(row, factor, solved);
            }
        }
        if !triangle.unit {
            let diagonal = a[i * n + i];
            row.iter_mut().for_each(|value| *value /= diagonal);
        }
    }
}

/// Solves `x·a = b` for every row of `b [rows, n]` in its place.
pub fn solve_right<T: Scalar>(n: usize, triangle: Triangle, a: &[T], b: &mut [T]) {
    if n == 0 {
        return;
    }
    for row in b.chunks_exact_mut(n) {
        for step in 0..n {
            let j = if triangle.lower { n - 1 - step } else { step };
            if !triangle.unit {
                row[j] /= a[j * n + j];
            }
            let factor = row[j];
            let open = if triangle.lower { 0..j } else { j + 1..n };
            subtract(&mut row[open.clone()], factor, &a[j * n..][open]);
        }
    }
}
