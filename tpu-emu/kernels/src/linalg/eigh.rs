//! Eigenvalues and eigenvectors of Hermitian matrices: reduced to a real tridiagonal matrix by
//! reflectors, then implicit QL steps.
use super::length::length_of;
use super::reflectors;
use super::reflectors::{Place, ReflectorBlock, ReflectorOrder};
use super::rotations::{Rotations, cut, join, strips};
use super::scalar::Scalar;
use crate::linalg::tuning::{BLOCK_REFLECTORS, MAX_QL_STEPS};
use crate::matmul::accumulate::Work;
use crate::matmul::widen::Widen;
use crate::simd;
use crate::simd::Loop;
use num_traits::Float;

/// Numbers of `T` that [`eigen`] uses besides its matrix, and real ones.
pub fn workspace(n: usize) -> [usize; 2] {
    let vectors = n.saturating_mul(5).saturating_add(reflectors::room(n, n));
    [
        // Strips take the place of all else.
        n.saturating_mul(n).saturating_add(vectors).max(strips(n)),
        n.saturating_mul(2).saturating_add(Rotations::<f64>::room(n)),
    ]
}

/// Replaces a Hermitian `a [n, n]` by its eigenvectors, one a row, with the eigenvalues, ascending,
/// in the first `n` of `reals`. All NaN where `a` is not finite.
pub fn eigen<T: Scalar>(n: usize, a: &mut [T], workspace: &mut [T], reals: &mut [T::Real]) {
    let (values, reals) = reals.split_at_mut(n);
    let (off, turns) = reals.split_at_mut(n);
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
    let (q, room) = workspace.split_at_mut(n * n);
    let (taus, room) = room.split_at_mut(n);
    tridiagonal(n, a, [values, off], taus, room);
    basis(n, a, taus, q, room);
    // Rows are vectors from here on: a rotation runs along two rows.
    for row in 0..n {
        for column in 0..n {
            a[column * n + row] = q[row * n + column];
        }
    }
    let vectors = &mut workspace[..strips(n)];
    cut(n, a, vectors);
    let found = diagonal(n, values, off, vectors, turns);
    join(n, vectors, a);
    if !found {
        a.fill(T::missing());
        values.fill(T::Real::nan());
        return;
    }
    sort(n, values, a);
    values.iter_mut().for_each(|value| *value *= largest);
}

/// Reduces `a` to tridiagonal form with a real subdiagonal `off` beside `values`. The reflector of
/// step `k` is stored below the subdiagonal in column `k`, its factor in `taus[k]`.
///
/// Each step changes the matrix by the reflector before, and multiplies it by its own on the way.
fn tridiagonal<T: Scalar>(
    n: usize,
    a: &mut [T],
    [values, off]: [&mut [T::Real]; 2],
    taus: &mut [T],
    workspace: &mut [T],
) {
    let half = T::Real::of_f32(0.5);
    let workspace = &mut workspace[..4 * n];
    workspace.fill(T::ZERO);
    let (before, now) = workspace.split_at_mut(2 * n);
    let (mut v, mut w) = before.split_at_mut(n);
    let (mut next, mut sums) = now.split_at_mut(n);
    for k in 0..n {
        let row = &mut a[k * n..(k + 1) * n];
        for column in k..n {
            row[column] -= v[k] * w[column].conjugate() + w[k] * v[column].conjugate();
        }
        (values[k], off[k], taus[k]) = (row[k].re(), T::Real::ZERO, T::ZERO);
        if k + 1 == n {
            break;
        }
        // Row and column k are done: tiles that reach into them change nothing there.
        (v[k], w[k]) = (T::ZERO, T::ZERO);
        next[..=k].fill(T::ZERO);
        for (to, from) in next[k + 1..].iter_mut().zip(&row[k + 1..]) {
            *to = from.conjugate();
        }
        let (head, tail) = (next[k + 1], &mut next[k + 2..]);
        let rest = length_of(tail);
        off[k] = head.re();
        if rest != T::Real::ZERO || head.im() != T::Real::ZERO {
            let whole = head.re().hypot(head.im()).hypot(rest);
            let beta = if head.re() < T::Real::ZERO { whole } else { -whole };
            taus[k] = T::of((beta - head.re()) / beta, -head.im() / beta);
            let scale = head - T::of(beta, T::Real::ZERO);
            tail.iter_mut().for_each(|value| *value = value.over(scale));
            off[k] = beta;
        }
        next[k + 1] = T::of_i64(1);
        for row in k + 2..n {
            a[row * n + k] = next[row];
        }
        sums.fill(T::ZERO);
        let rows = &mut a[(k + 1) * n..];
        simd::run(ReductionStep { n, first: k + 1, rows, v, w, next, sums });
        sums[..=k].fill(T::ZERO);
        // w = tau·A·v, less what makes the change of A symmetric.
        let mut inner = T::ZERO;
        for row in k + 1..n {
            sums[row] *= taus[k];
            inner += sums[row].conjugate() * next[row];
        }
        let shift = (taus[k] * inner).times(-half);
        for row in k + 1..n {
            sums[row] += shift * next[row];
        }
        if taus[k] == T::ZERO {
            next.fill(T::ZERO);
        }
        (v, next) = (next, v);
        (w, sums) = (sums, w);
    }
}

/// `rows -= v·wᴴ + w·vᴴ`, then `sums += rowsᴴ·next`, for rows and columns from `first` on.
/// Vectors are 0 before `first`.
struct ReductionStep<'a, T> {
    n: usize,
    first: usize,
    rows: &'a mut [T],
    v: &'a [T],
    w: &'a [T],
    next: &'a [T],
    sums: &'a mut [T],
}

impl<T: Scalar> Loop for ReductionStep<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // A vector of 512 bits. No bit depends on it.
        match size_of::<T>() {
            4 => self.tiles::<16>(),
            8 => self.tiles::<8>(),
            _ => self.tiles::<4>(),
        }
    }
}

impl<T: Scalar> ReductionStep<'_, T> {
    #[inline(always)]
    fn tiles<const TILE: usize>(mut self) {
        let Self { n, first, .. } = self;
        let count = n - first;
        for at in (0..count / 4 * 4).step_by(4) {
            self.some_rows::<TILE, 4>(at);
        }
        for at in count / 4 * 4..count {
            self.some_rows::<TILE, 1>(at);
        }
    }

    /// A few rows, in tiles that end where the rows do.
    #[inline(always)]
    fn some_rows<const TILE: usize, const ROWS: usize>(&mut self, at: usize) {
        let Self { n, first, v, w, next, .. } = *self;
        let factors: [[T; 3]; ROWS] = std::array::from_fn(|row| {
            let row = first + at + row;
            [v[row], w[row], next[row]]
        });
        let rows = &mut self.rows[at * n..][..ROWS * n];
        let mut end = n;
        while end > first && end >= TILE {
            let tile = end - TILE..end;
            let turn = |values: &[T]| -> [T; TILE] {
                std::array::from_fn(|lane| values[lane].conjugate())
            };
            let (v, w) = (turn(&v[tile.clone()]), turn(&w[tile.clone()]));
            let mut sums = [T::ZERO; TILE];
            sums.copy_from_slice(&self.sums[tile.clone()]);
            for (row, [left, right, next]) in rows.chunks_exact_mut(n).zip(factors) {
                let row = &mut row[tile.clone()];
                let mut values = [T::ZERO; TILE];
                values.copy_from_slice(row);
                for lane in 0..TILE {
                    values[lane] -= left * w[lane] + right * v[lane];
                    sums[lane] += values[lane].conjugate() * next;
                }
                row.copy_from_slice(&values);
            }
            self.sums[tile].copy_from_slice(&sums);
            end -= TILE;
        }
        for column in first..end.max(first) {
            for (row, [left, right, next]) in rows.chunks_exact_mut(n).zip(factors) {
                row[column] -= left * w[column].conjugate() + right * v[column].conjugate();
                self.sums[column] += row[column].conjugate() * next;
            }
        }
    }
}

/// The unitary matrix that the reflectors of [`tridiagonal`] make.
fn basis<T: Scalar>(n: usize, a: &[T], taus: &[T], q: &mut [T], room: &mut [T]) {
    q.fill(T::ZERO);
    for k in 0..n {
        q[k * n + k] = T::of_i64(1);
    }
    let count = n.saturating_sub(1);
    for start in (0..count).step_by(BLOCK_REFLECTORS).rev() {
        let end = count.min(start + BLOCK_REFLECTORS);
        let place = Place { width: n, row: start + 1, column: start };
        let mut block = ReflectorBlock::stored(
            a,
            place,
            ReflectorOrder::Product,
            &taus[start..end],
            &mut *room,
        );
        let rows = &mut q[(start + 1) * n..];
        block.apply(&taus[start..end], (&mut *rows, n), end + 1..n);
        block.apply_to_identity(&taus[start..end], (rows, n), start + 1);
    }
}

/// Diagonalises a tridiagonal matrix and turns the rows of `vectors` along, which are stored strip
/// by strip. `false` if it does not converge.
fn diagonal<T: Scalar>(
    n: usize,
    d: &mut [T::Real],
    e: &mut [T::Real],
    vectors: &mut [T],
    room: &mut [T::Real],
) -> bool {
    let mut rotations = Rotations::new(n, room);
    let (zero, one) = (T::Real::ZERO, T::Real::of_i64(1));
    let two = one + one;
    let tiny = T::Real::min_positive_value() / T::Real::epsilon();
    // Squares that are smaller may have been rounded to nothing. None is too large: the matrix was
    // scaled.
    let least = tiny / T::Real::epsilon();
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
                let squares = f * f + bulge * bulge;
                let r = if squares > least { squares.sqrt() } else { f.hypot(bulge) };
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
                rotations.push(sine, cosine);
            }
            rotations.end_of_sweep(high, vectors);
            if !split {
                d[low] -= moved;
                e[low] = bulge;
                e[high] = zero;
            }
        }
    }
    rotations.apply(vectors);
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
