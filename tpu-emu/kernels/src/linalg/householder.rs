//! Householder reflectors `I - tau·v·vᴴ` in LAPACK's convention: `v` begins with a one that is not
//! stored, and `(I - tau·v·vᴴ)ᴴ` maps the vector to a real multiple of the first axis.
use super::scalar::Scalar;
use crate::matmul::accumulate::Work;
use crate::simd;
use crate::simd::Loop;
use num_traits::Float;

/// The length of a vector, without overflow between.
fn length<T: Scalar>(vector: impl Iterator<Item = T> + Clone) -> T::Real {
    let zero = T::Real::ZERO;
    let mut largest = zero;
    for value in vector.clone() {
        let size = value.re().abs().max(value.im().abs());
        if value.re().is_nan() || value.im().is_nan() {
            return T::Real::nan();
        }
        largest = largest.max(size);
    }
    if largest == zero || largest.is_infinite() {
        return largest;
    }
    let square = |part: T::Real| (part / largest) * (part / largest);
    let sum = vector.fold(zero, |sum, value| sum + square(value.re()) + square(value.im()));
    largest * sum.sqrt()
}

/// Makes the reflector of rows `at..` of column `column` of a matrix with `width` columns: what
/// remains is stored in the first row, `v` below it. Returns `tau`.
pub(crate) fn reflect<T: Scalar>(a: &mut [T], width: usize, at: usize, column: usize) -> T {
    let zero = T::Real::ZERO;
    let first = at * width + column;
    let Some((&head, _)) = a.get(first..).and_then(<[T]>::split_first) else { return T::ZERO };
    let below = a[first..].iter().skip(width).step_by(width.max(1)).copied();
    let rest = length(below);
    if rest == zero && head.im() == zero {
        return T::ZERO;
    }
    let whole = head.re().hypot(head.im()).hypot(rest);
    let beta = if head.re() < zero { whole } else { -whole };
    let tau = T::of((beta - head.re()) / beta, -head.im() / beta);
    let scale = head - T::of(beta, zero);
    for value in a[first..].iter_mut().skip(width).step_by(width.max(1)) {
        *value = value.over(scale);
    }
    a[first] = T::of(beta, zero);
    tau
}

/// `rows -= tau·v·(vᴴ·rows)` for columns `from..` of rows `at..` of `matrix`, with `v` below row
/// `at` in column `column` of `stored`. `sums` has room for a row.
pub fn apply<T: Scalar>(
    (stored, stored_width, column): (&[T], usize, usize),
    tau: T,
    (matrix, width): (&mut [T], usize),
    at: usize,
    from: usize,
    sums: &mut [T],
) {
    if tau == T::ZERO || from >= width {
        return;
    }
    let sums = &mut sums[from..width];
    simd::run(Apply { stored, stored_width, column, tau, matrix, width, rows: (at, from), sums });
}

struct Apply<'a, T> {
    stored: &'a [T],
    stored_width: usize,
    column: usize,
    tau: T,
    matrix: &'a mut [T],
    width: usize,
    /// The first row and the first column.
    rows: (usize, usize),
    sums: &'a mut [T],
}

impl<T: Scalar> Loop for Apply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { stored, stored_width, column, tau, matrix, width, rows: (at, from), sums } =
            self;
        let count = matrix.len() / width;
        sums.fill(T::ZERO);
        for row in at..count {
            let one = row == at;
            let entry = if one { T::of_i64(1) } else { stored[row * stored_width + column] };
            let factor = entry.conjugate();
            let values = &matrix[row * width + from..(row + 1) * width];
            sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum += factor * value);
        }
        for row in at..count {
            let one = row == at;
            let entry = if one { T::of_i64(1) } else { stored[row * stored_width + column] };
            let factor = tau * entry;
            let values = &mut matrix[row * width + from..(row + 1) * width];
            values.iter_mut().zip(&*sums).for_each(|(value, &sum)| *value -= factor * sum);
        }
    }
}

/// `a [m, n]` becomes `R` with the reflectors below its diagonal; `taus` has `min(m, n)` numbers,
/// `sums` room for `n`, `column` for `m`.
pub fn qr<T: Scalar>(
    [m, n]: [usize; 2],
    a: &mut [T],
    taus: &mut [T],
    sums: &mut [T],
    column: &mut [T],
) {
    for k in 0..m.min(n) {
        let tau = reflect(a, n, k, k);
        taus[k] = tau;
        for row in k..m {
            column[row] = a[row * n + k];
        }
        apply((column, 1, 0), tau.conjugate(), (a, n), k, k + 1, sums);
    }
}

/// The first `n` columns of the product of the reflectors stored in `a [m, n]`, into `q [m, n]`.
pub fn product<T: Scalar>([m, n]: [usize; 2], a: &[T], taus: &[T], q: &mut [T], sums: &mut [T]) {
    q.fill(T::ZERO);
    for k in 0..m.min(n) {
        q[k * n + k] = T::of_i64(1);
    }
    for (k, &tau) in taus.iter().enumerate().take(m.min(n)).rev() {
        apply((a, n, k), tau, (q, n), k, k, sums);
    }
}
