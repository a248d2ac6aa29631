//! Plane rotations of neighbouring rows, kept until there are enough of them to be applied while a
//! few columns are in a cache.
use super::scalar::Scalar;
use crate::linalg::tuning::{CHUNK_MULTIPLY_ADDS, ROTATED_COLUMNS as TILE, SWEEPS};
use crate::parallel;
use crate::simd;
use crate::simd::Loop;

/// Sweeps over the rows of a matrix with `n` rows and columns. Each goes up from a row: rotates it
/// with the one above, that one with the next, and so on.
pub(crate) struct Rotations<'a, R> {
    n: usize,
    /// Sine and cosine of each rotation.
    turns: &'a mut [R],
    /// Rotations in `turns`.
    count: usize,
    /// Of each sweep the row that it begins with, and where its rotations end in `turns`.
    sweeps: [(usize, usize); SWEEPS],
    used: usize,
}

impl<'a, R: Scalar<Real = R>> Rotations<'a, R> {
    /// Numbers of room.
    pub(crate) fn room(n: usize) -> usize {
        n.saturating_mul(2 * SWEEPS)
    }

    pub(crate) fn new(n: usize, turns: &'a mut [R]) -> Self {
        Self { n, turns, count: 0, sweeps: [(0, 0); SWEEPS], used: 0 }
    }

    /// Adds the next rotation of a sweep, for rows `(x, y)` that become
    /// `(cosine·x - sine·y, sine·x + cosine·y)`.
    pub(crate) fn push(&mut self, sine: R, cosine: R) {
        self.turns[2 * self.count..][..2].copy_from_slice(&[sine, cosine]);
        self.count += 1;
    }

    /// Ends a sweep that began with row `row`; `strips` take part in those that were kept where
    /// there is no room for another one.
    pub(crate) fn end_of_sweep<T: Scalar<Real = R>>(&mut self, row: usize, strips: &mut [T]) {
        self.sweeps[self.used] = (row, self.count);
        self.used += 1;
        if self.used == SWEEPS {
            self.apply(strips);
        }
    }

    /// Applies what was kept to the rows of a matrix that is stored strip by strip, on all threads.
    pub(crate) fn apply<T: Scalar<Real = R>>(&mut self, strips: &mut [T]) {
        let Self { n, turns, count, sweeps, used } = self;
        let (turns, sweeps) = (&turns[..2 * *count], &sweeps[..*used]);
        // A rotation multiplies four times for each column.
        let work = 4 * TILE * (*count).max(1);
        let some = (CHUNK_MULTIPLY_ADDS / work).max(1) * strip(*n);
        parallel::chunks_mut(strips, some, |_, strips| {
            simd::run(Apply { n: *n, turns, sweeps, strips });
        });
        (*count, *used) = (0, 0);
    }
}

/// Numbers of a strip: `ROTATED_COLUMNS` columns, row by row. Next to each other, they keep one
/// another out of no cache.
fn strip(n: usize) -> usize {
    n.max(1) * TILE
}

/// Numbers of a matrix `[n, n]` that is stored strip by strip: the last one is filled up.
pub(crate) fn strips(n: usize) -> usize {
    n.div_ceil(TILE).saturating_mul(n).saturating_mul(TILE)
}

/// Stores a matrix `[n, n]` strip by strip.
pub(crate) fn cut<T: Scalar>(n: usize, from: &[T], strips: &mut [T]) {
    for (first, strip) in (0..n).step_by(TILE).zip(strips.chunks_exact_mut(strip(n))) {
        for (to, from) in strip.as_chunks_mut::<TILE>().0.iter_mut().zip(from.chunks_exact(n)) {
            let from = &from[first..n.min(first + TILE)];
            *to = [T::ZERO; TILE];
            to[..from.len()].copy_from_slice(from);
        }
    }
}

/// Joins strips to a matrix `[n, n]`.
pub(crate) fn join<T: Scalar>(n: usize, strips: &[T], to: &mut [T]) {
    for (first, strip) in (0..n).step_by(TILE).zip(strips.chunks_exact(strip(n))) {
        for (from, to) in strip.as_chunks::<TILE>().0.iter().zip(to.chunks_exact_mut(n)) {
            let to = &mut to[first..n.min(first + TILE)];
            to.copy_from_slice(&from[..to.len()]);
        }
    }
}

struct Apply<'a, T: Scalar> {
    n: usize,
    turns: &'a [T::Real],
    sweeps: &'a [(usize, usize)],
    strips: &'a mut [T],
}

impl<T: Scalar> Loop for Apply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { n, turns, sweeps, strips } = self;
        for strip in strips.chunks_exact_mut(strip(n)) {
            let mut begin = 0;
            for &(row, end) in sweeps {
                sweep(&turns[2 * begin..2 * end], &mut strip[..(row + 1) * TILE]);
                begin = end;
            }
        }
    }
}

/// Rotates the last row with the one above, that one with the next, and so on. The row that the
/// next rotation shares stays in registers.
#[inline(always)]
fn sweep<T: Scalar>(turns: &[T::Real], rows: &mut [T]) {
    let mut y = [T::ZERO; TILE];
    y.copy_from_slice(&rows[rows.len() - TILE..]);
    let mut at = rows.len() - TILE;
    for turn in turns.chunks_exact(2) {
        let (sine, cosine) = (turn[0], turn[1]);
        let mut x = [T::ZERO; TILE];
        let both = &mut rows[at - TILE..at + TILE];
        x.copy_from_slice(&both[..TILE]);
        let mut below = [T::ZERO; TILE];
        for lane in 0..TILE {
            below[lane] = x[lane].times(sine) + y[lane].times(cosine);
            y[lane] = x[lane].times(cosine) - y[lane].times(sine);
        }
        both[TILE..].copy_from_slice(&below);
        at -= TILE;
    }
    rows[at..at + TILE].copy_from_slice(&y);
}
