//! Eigenvalues and eigenvectors of Hermitian matrices: reduced to a real tridiagonal matrix by
//! reflectors, then implicit QL steps.
use super::householder::{apply, reflect};
use super::scalar::{Scalar, add_conjugates, rotate, subtract_both};
use crate::linalg::tuning::MAX_QL_STEPS;
use crate::matmul::accumulate::Work;
use crate::matmul::widen::Widen;
use num_traits::Float;

/// Numbers of `T` that [`eigen`] uses besides its matrix, and real ones.
pub fn workspace(n: usize) -> [usize; 2] {
    [n * n + 3 * n, 2 * n]
}

/// Replaces a Hermitian `a [n, n]` by its eigenvectors, one a row, with the eigenvalues, ascending,
/// in the first `n` of `reals`. All NaN where `a` is not finite.
pub fn eigen<T: Scalar>(n: usize, a: &mut [T], workspace: &mut [T], reals: &mut [T::Real]) {
    let (values, off) = reals.split_at_mut(n);
    let largest = a
        .iter()
        .fold(T::Real::ZERO, |largest, value| largest.max(value.re().abs()).max(value.im().abs()));
    if !a.iter().all(|value| value.finite()) {
        a.fill(T::missing());
        values.fill(T::Real::nan());
        return;
    }
    if largest > T::Real::ZERO {
        a.iter_mut().for_each(|value| *value = T::of(value.re() / largest, value.im() / largest));
    }
    let (q, workspace) = workspace.split_at_mut(n * n);
    tridiagonal(n, a, workspace);
    let (taus, sums) = workspace.split_at_mut(n);
    for k in 0..n {
        values[k] = a[k * n + k].re();
        off[k] = if k + 1 < n { a[(k + 1) * n + k].re() } else { T::Real::ZERO };
    }
    basis(n, a, taus, q, sums);
    // Rows are vectors from here on: a rotation runs along two rows.
    for row in 0..n {
        for column in 0..n {
            a[column * n + row] = q[row * n + column];
        }
    }
    if !diagonal(n, values, off, a) {
        a.fill(T::missing());
        values.fill(T::Real::nan());
        return;
    }
    sort(n, values, a);
    values.iter_mut().for_each(|value| *value *= largest);
}

/// Reduces `a` to tridiagonal form with a real subdiagonal. The reflector of step `k` is stored
/// below the subdiagonal in column `k`, its `tau` in `room[k]`.
fn tridiagonal<T: Scalar>(n: usize, a: &mut [T], workspace: &mut [T]) {
    let (taus, workspace) = workspace.split_at_mut(n);
    let (v, w) = workspace.split_at_mut(n);
    let half = T::Real::of_f32(0.5);
    for k in 0..n {
        if k + 1 == n {
            taus[k] = T::ZERO;
            continue;
        }
        let tau = reflect(a, n, k + 1, k);
        taus[k] = tau;
        if tau == T::ZERO {
            continue;
        }
        v[k + 1] = T::of_i64(1);
        for row in k + 2..n {
            v[row] = a[row * n + k];
        }
        // w = tau·A·v; columns of A are its rows conjugated.
        w[k + 1..].fill(T::ZERO);
        for row in k + 1..n {
            let factor = v[row];
            add_conjugates(&mut w[k + 1..n], factor, &a[row * n + k + 1..(row + 1) * n]);
        }
        let mut inner = T::ZERO;
        for row in k + 1..n {
            w[row] *= tau;
            inner += w[row].conjugate() * v[row];
        }
        let shift = (tau * inner).times(-half);
        for row in k + 1..n {
            w[row] += shift * v[row];
        }
        for row in k + 1..n {
            let (left, right) = (v[row], w[row]);
            let values = &mut a[row * n + k + 1..(row + 1) * n];
            subtract_both(values, (left, &w[k + 1..]), (right, &v[k + 1..]));
        }
    }
}

/// The unitary matrix that the reflectors of [`tridiagonal`] make.
fn basis<T: Scalar>(n: usize, a: &[T], taus: &[T], q: &mut [T], sums: &mut [T]) {
    q.fill(T::ZERO);
    for k in 0..n {
        q[k * n + k] = T::of_i64(1);
    }
    for k in (1..n).rev() {
        apply((a, n, k - 1), taus[k - 1], (q, n), k, k, sums);
    }
}

/// Diagonalises a tridiagonal matrix and turns the rows of `vectors` along. `false` if it does not
/// converge.
fn diagonal<T: Scalar>(n: usize, d: &mut [T::Real], e: &mut [T::Real], vectors: &mut [T]) -> bool {
    let (zero, one) = (T::Real::ZERO, T::Real::of_i64(1));
    let two = one + one;
    let tiny = T::Real::min_positive_value() / T::Real::epsilon();
    for low in 0..n {
        let mut steps = 0;
        loop {
            let small = |at: usize| {
                let size = d[at].abs() + d[at + 1].abs();
                e[at].abs() <= T::Real::epsilon() * size || e[at].abs() < tiny
            };
            let high = (low..n - 1).find(|&at| small(at)).unwrap_or(n - 1);
            if high == low {
                break;
            }
            steps += 1;
            if steps > MAX_QL_STEPS {
                return false;
            }
            // The shift is the eigenvalue of the first 2x2 block that is nearer to its corner.
            let slope = (d[low + 1] - d[low]) / (two * e[low]);
            let root = slope.hypot(one);
            let root = if slope < zero { -root } else { root };
            let mut bulge = d[high] - d[low] + e[low] / (slope + root);
            let (mut sine, mut cosine, mut moved) = (one, one, zero);
            let mut split = false;
            for at in (low..high).rev() {
                let (f, b) = (sine * e[at], cosine * e[at]);
                let r = f.hypot(bulge);
                e[at + 1] = r;
                if r == zero {
                    d[at + 1] -= moved;
                    e[high] = zero;
                    split = true;
                    break;
                }
                (sine, cosine) = (f / r, bulge / r);
                let base = d[at + 1] - moved;
                let change = (d[at] - base) * sine + two * cosine * b;
                moved = sine * change;
                d[at + 1] = base + moved;
                bulge = cosine * change - b;
                let (first, second) = vectors[at * n..(at + 2) * n].split_at_mut(n);
                rotate(first, second, [sine, cosine]);
            }
            if !split {
                d[low] -= moved;
                e[low] = bulge;
                e[high] = zero;
            }
        }
    }
    true
}

/// Orders values ascending, with their rows.
fn sort<T: Scalar>(n: usize, values: &mut [T::Real], vectors: &mut [T]) {
    for at in 0..n {
        let mut least = at;
        for other in at + 1..n {
            if values[other] < values[least] {
                least = other;
            }
        }
        if least != at {
            values.swap(at, least);
            let (before, from) = vectors.split_at_mut(least * n);
            before[at * n..(at + 1) * n].swap_with_slice(&mut from[..n]);
        }
    }
}
