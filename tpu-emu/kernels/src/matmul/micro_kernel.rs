//! Products of packed panels: the inner loops of matrix products.
//!
//! A left panel is eight rows of a matrix, a right panel thirty-two columns; both lie in the order
//! of the sums, so that a step of all the sums of a tile reads one line of each.
use crate::simd;
use bytemuck::{Pod, cast_slice};
use pulp::{Simd, WithSimd};

/// Rows of a left panel.
pub(crate) const ROWS: usize = 8;
/// Columns of a right panel.
pub(crate) const COLUMNS: usize = 32;
/// Vectors of a row of a tile that are summed at once.
const VECTORS: usize = 2;

/// A number of 32 bits that vectors hold.
pub trait Lane: Pod + Send + Sync {
    /// 0.
    const ZERO: Self;
    /// A vector.
    type Vector<S: Simd>: Copy;

    /// Numbers as vectors.
    fn vectors<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    /// Numbers as vectors to be written.
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [Self::Vector<S>];
    /// One number in all places.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// The sums of two vectors.
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `sum + a·b`, rounded once where the machine can.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        sum: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// The sum of the numbers of a vector.
    fn sum_of<S: Simd>(simd: S, vector: Self::Vector<S>) -> Self;
}

impl Lane for f32 {
    const ZERO: Self = 0.0;
    type Vector<S: Simd> = S::f32s;

    #[inline(always)]
    fn vectors<S: Simd>(numbers: &[Self]) -> &[S::f32s] {
        S::as_simd_f32s(numbers).0
    }

    #[inline(always)]
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::f32s] {
        S::as_mut_simd_f32s(numbers).0
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::f32s {
        simd.splat_f32s(value)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, a: S::f32s, b: S::f32s, sum: S::f32s) -> S::f32s {
        // Short vectors are those of machines without the fused operation.
        if S::F32_LANES < 8 {
            simd.add_f32s(simd.mul_f32s(a, b), sum)
        } else {
            simd.mul_add_f32s(a, b, sum)
        }
    }

    #[inline(always)]
    fn sum_of<S: Simd>(simd: S, vector: S::f32s) -> Self {
        simd.reduce_sum_f32s(vector)
    }
}

impl Lane for u32 {
    const ZERO: Self = 0;
    type Vector<S: Simd> = S::u32s;

    #[inline(always)]
    fn vectors<S: Simd>(numbers: &[Self]) -> &[S::u32s] {
        S::as_simd_u32s(numbers).0
    }

    #[inline(always)]
    fn vectors_mut<S: Simd>(numbers: &mut [Self]) -> &mut [S::u32s] {
        S::as_mut_simd_u32s(numbers).0
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::u32s {
        simd.splat_u32s(value)
    }

    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::u32s, b: S::u32s) -> S::u32s {
        simd.add_u32s(a, b)
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, a: S::u32s, b: S::u32s, sum: S::u32s) -> S::u32s {
        simd.add_u32s(simd.mul_u32s(a, b), sum)
    }

    #[inline(always)]
    fn sum_of<S: Simd>(_: S, vector: S::u32s) -> Self {
        let numbers = cast_slice::<_, Self>(std::slice::from_ref(&vector));
        numbers.iter().fold(0, |sum, &number| sum.wrapping_add(number))
    }
}

/// The product of packed matrices, stored or added to a result.
#[derive(Debug)]
pub(crate) struct PanelProduct<'a, T> {
    /// Left panels, `depth` lines each.
    pub left: &'a [[T; ROWS]],
    /// Right panels, `depth` lines each.
    pub right: &'a [[T; COLUMNS]],
    /// Length of the sums.
    pub depth: usize,
    /// Rows and columns of the result; those of the panels beyond are left out.
    pub size: [usize; 2],
    /// The result and the elements from one row of it to the next.
    pub out: (&'a mut [T], usize),
    /// Sums are added to what is there.
    pub add: bool,
}

impl<T: Lane> PanelProduct<'_, T> {
    /// Computes it.
    pub(crate) fn run(self) {
        simd::with(self);
    }
}

impl<T: Lane> WithSimd for PanelProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => all::<T, S, ROWS, 2>(simd, self),
            8 => all::<T, S, 4, 4>(simd, self),
            4 => all::<T, S, 4, 8>(simd, self),
            _ => all::<T, S, 4, 32>(simd, self),
        }
    }
}

/// Every tile, with vectors of which `W` are a row of one, `M` rows at once.
#[inline(always)]
fn all<T: Lane, S: Simd, const M: usize, const W: usize>(simd: S, block: PanelProduct<'_, T>) {
    let PanelProduct { left, right, depth, size: [rows, columns], out: (out, stride), add } = block;
    let rights = right.chunks_exact(depth.max(1));
    for (right, column) in rights.zip((0..columns).step_by(COLUMNS)) {
        let width = COLUMNS.min(columns - column);
        for (left, row) in left.chunks_exact(depth.max(1)).zip((0..rows).step_by(ROWS)) {
            let height = ROWS.min(rows - row);
            let out = &mut out[row * stride + column..];
            if width == COLUMNS && height == ROWS {
                tile::<T, S, M, W>(simd, left, right, out, stride, add);
                continue;
            }
            let mut whole = [[T::ZERO; COLUMNS]; ROWS];
            let whole = whole.as_flattened_mut();
            if add {
                for (to, from) in whole.chunks_mut(COLUMNS).zip(out.chunks(stride)).take(height) {
                    to[..width].copy_from_slice(&from[..width]);
                }
            }
            tile::<T, S, M, W>(simd, left, right, whole, COLUMNS, add);
            for (from, to) in whole.chunks(COLUMNS).zip(out.chunks_mut(stride)).take(height) {
                to[..width].copy_from_slice(&from[..width]);
            }
        }
    }
}

/// One tile.
#[inline(always)]
fn tile<T: Lane, S: Simd, const M: usize, const W: usize>(
    simd: S,
    left: &[[T; ROWS]],
    right: &[[T; COLUMNS]],
    out: &mut [T],
    stride: usize,
    add: bool,
) {
    let (right, _) = T::vectors::<S>(right.as_flattened()).as_chunks::<W>();
    for first in (0..ROWS).step_by(M) {
        for start in (0..W).step_by(VECTORS) {
            let mut sums = [[T::splat(simd, T::ZERO); VECTORS]; M];
            for (left, right) in left.iter().zip(right) {
                for i in 0..M {
                    let factor = T::splat(simd, left[first + i]);
                    for j in 0..VECTORS {
                        let right = right[start + j];
                        sums[i][j] = T::multiply_add(simd, factor, right, sums[i][j]);
                    }
                }
            }
            for (i, sums) in sums.iter().enumerate() {
                let row = T::vectors_mut::<S>(&mut out[(first + i) * stride..][..COLUMNS]);
                for (to, &sum) in row[start..].iter_mut().zip(sums) {
                    *to = if add { T::add(simd, *to, sum) } else { sum };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_at_the_edge_leave_the_rest_alone() {
        simd::at_every_level(|_| {
            const DEPTH: usize = 3;
            let left: Vec<[u32; ROWS]> =
                (0..2 * DEPTH).map(|l| std::array::from_fn(|i| narrow(l * ROWS + i))).collect();
            let right: Vec<[u32; COLUMNS]> =
                (0..2 * DEPTH).map(|l| std::array::from_fn(|j| narrow(l + 7 * j))).collect();
            let (rows, columns, stride) = (11, 37, 40);
            let mut out = vec![1_u32; rows * stride];
            for add in [false, true] {
                let (left, right) = (&left[..], &right[..]);
                let out = (&mut out[..], stride);
                PanelProduct { left, right, depth: DEPTH, size: [rows, columns], out, add }.run();
            }
            for (at, &value) in out.iter().enumerate() {
                let (i, j) = (at / stride, at % stride);
                let term = |l: usize| {
                    left[i / ROWS * DEPTH + l][i % ROWS]
                        * right[j / COLUMNS * DEPTH + l][j % COLUMNS]
                };
                let sum = if j < columns { 2 * (0..DEPTH).map(term).sum::<u32>() } else { 1 };
                assert_eq!(value, sum, "({i}, {j})");
            }
        });
    }

    #[test]
    fn floats_sum_in_the_order_of_the_lines() {
        simd::at_every_level(|_| {
            let left: Vec<[f32; ROWS]> = vec![[1e8; ROWS], [1.0; ROWS], [-1e8; ROWS]];
            let right = vec![[1.0_f32; COLUMNS]; 3];
            let mut out = [f32::NAN; ROWS * COLUMNS];
            let size = [ROWS, COLUMNS];
            let to = (&mut out[..], COLUMNS);
            PanelProduct { left: &left, right: &right, depth: 3, size, out: to, add: false }.run();
            assert_eq!(out, [0.0; ROWS * COLUMNS]);
        });
    }

    fn narrow(number: usize) -> u32 {
        u32::try_from(number).unwrap()
    }
}
