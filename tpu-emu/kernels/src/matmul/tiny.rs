//! Products of a few numbers each, many beside each other: rows of a product are vectors, or a lane of
//! a vector is a product.
//!
//! Each product of two numbers is rounded before it is added, on every machine, so that a loop of
//! machine code can do the same by single operations, and vectors of any width give the same bits.
use super::accumulate::Work;
use super::pack::{Panel, Visit, elements};
use super::small::SmallOperand;
use crate::matmul::tuning::MAX_TINY_MULTIPLY_ADDS;
use crate::simd;
use crate::simd::Loop;
use bytemuck::Pod;

/// Products that are computed beside each other.
const LANES: usize = 16;
/// Products of short rows that are laid out at once.
const ROWS_AT_ONCE: usize = 64;
/// Numbers of an operand that are laid out at once: those of [`LANES`] of the largest matrices.
const LAID: usize = LANES * MAX_TINY_MULTIPLY_ADDS;

/// Whether a product of `m` rows, `n` columns and sums of `k` terms is tiny.
pub fn is_tiny(size: [usize; 3]) -> bool {
    let all = size.iter().fold(1_usize, |all, &extent| all.saturating_mul(extent));
    (1..=MAX_TINY_MULTIPLY_ADDS).contains(&all)
}

/// A tiny product in single operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TinyProduct {
    /// For each element of the result, the elements of both operands that are multiplied; the
    /// products are added to zero in this order.
    pub terms: Vec<Vec<[usize; 2]>>,
    /// Whether the elements of each operand are rounded to the nearest bf16 first.
    pub rounded: [bool; 2],
}

/// Computes `out.len() / (m·n)` products of matrices of `size` `[m, n, k]`. `starts` gives the
/// first elements of both operands of a product.
pub(crate) fn products<T: Panel>(
    size: [usize; 3],
    operands: [SmallOperand<'_>; 2],
    starts: impl Fn(usize) -> [usize; 2],
    out: &mut [T],
) {
    match size {
        [_, 1, 1..=4] => short::<T, 1>(size, operands, &starts, out),
        [_, 2, 1..=4] => short::<T, 2>(size, operands, &starts, out),
        [_, 3, 1..=4] => short::<T, 3>(size, operands, &starts, out),
        [_, 4, 1..=4] => short::<T, 4>(size, operands, &starts, out),
        _ => in_lanes(size, operands, &starts, out),
    }
}

/// Products of `N` columns and sums of up to four terms, by rows of both matrices.
fn short<T: Panel, const N: usize>(
    [m, _, k]: [usize; 3],
    operands: [SmallOperand<'_>; 2],
    starts: &dyn Fn(usize) -> [usize; 2],
    out: &mut [T],
) {
    let mut laid = [[<T as Work>::ZERO; LAID]; 2];
    let some = (LAID / (m * k).max(k * N)).min(ROWS_AT_ONCE);
    for (out, first) in out.chunks_mut(some * m * N).zip((0..).step_by(some)) {
        let count = out.len() / (m * N);
        let [mut lefts, mut rights] = [[0; ROWS_AT_ONCE]; 2];
        let pairs = lefts.iter_mut().zip(&mut rights).take(count);
        for (product, (left, right)) in pairs.enumerate() {
            [*left, *right] = starts(first + product);
        }
        for (side, places) in [&lefts, &rights].into_iter().enumerate() {
            let SmallOperand { load, bytes, strides: [across, along] } = operands[side];
            let axes =
                if side == 0 { [(m, across), (k, along)] } else { [(k, along), (N, across)] };
            let places = &places[..count];
            T::read(load, 0, LayRows { bytes, places, axes, out: &mut laid[side] });
        }
        let [left, right] = &laid;
        let (left, right) = (&left[..count * m * k], &right[..count * k * N]);
        match k {
            1 => simd::run(MultiplyRows::<T, N, 1> { left, right, m, out }),
            2 => simd::run(MultiplyRows::<T, N, 2> { left, right, m, out }),
            3 => simd::run(MultiplyRows::<T, N, 3> { left, right, m, out }),
            _ => simd::run(MultiplyRows::<T, N, 4> { left, right, m, out }),
        }
    }
}

/// Lays the elements of an operand of some products one after the other, row by row.
struct LayRows<'a, T> {
    bytes: &'a [u8],
    places: &'a [usize],
    /// The extent of each axis, and how far its elements are apart.
    axes: [(usize, usize); 2],
    out: &'a mut [T],
}

impl<T: Panel> Visit<T> for LayRows<'_, T> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let Self { bytes, places, axes, out } = self;
        simd::run(Read { data: elements::<E>(bytes), places, axes, read, out });
    }
}

/// As [`LayRows`], where it is known how elements are read.
struct Read<'a, E, T, F> {
    data: &'a [E],
    places: &'a [usize],
    axes: [(usize, usize); 2],
    read: F,
    out: &'a mut [T],
}

impl<E: Pod, T, F: Fn(E) -> T> Loop for Read<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { data, places, axes: [(rows, down), (columns, across)], read, out } = self;
        let each = rows * columns;
        let dense = (columns == 1 || across == 1) && (rows == 1 || down == columns);
        if dense && places.windows(2).all(|pair| pair[1] == pair[0] + each) {
            let data = &data[places[0]..][..places.len() * each];
            out.iter_mut().zip(data).for_each(|(out, &element)| *out = read(element));
            return;
        }
        for (out, &place) in out.chunks_exact_mut(each).zip(places) {
            for (row, out) in out.chunks_exact_mut(columns).enumerate() {
                for (column, out) in out.iter_mut().enumerate() {
                    *out = read(data[place + row * down + column * across]);
                }
            }
        }
    }
}

/// Multiplies matrices of rows of `K` numbers by those of `K` rows of `N`.
struct MultiplyRows<'a, T, const N: usize, const K: usize> {
    left: &'a [T],
    right: &'a [T],
    m: usize,
    out: &'a mut [T],
}

impl<T: Panel, const N: usize, const K: usize> Loop for MultiplyRows<'_, T, N, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { left, right, m, out } = self;
        let (left, _) = left.as_chunks::<K>();
        let (rows, _) = right.as_chunks::<N>();
        let (right, _) = rows.as_chunks::<K>();
        let (out, _) = out.as_chunks_mut::<N>();
        for ((left, right), out) in left.chunks_exact(m).zip(right).zip(out.chunks_exact_mut(m)) {
            for (left, out) in left.iter().zip(out) {
                let mut sums = [<T as Work>::ZERO; N];
                for (&left, right) in left.iter().zip(right) {
                    for (sum, &right) in sums.iter_mut().zip(right) {
                        *sum = sum.plus(left, right);
                    }
                }
                *out = sums;
            }
        }
    }
}

/// As [`products`], whatever the size: each lane of a vector is a product.
fn in_lanes<T: Panel>(
    [m, n, k]: [usize; 3],
    operands: [SmallOperand<'_>; 2],
    starts: &dyn Fn(usize) -> [usize; 2],
    out: &mut [T],
) {
    let mut laid = [[[<T as Work>::ZERO; LANES]; MAX_TINY_MULTIPLY_ADDS]; 2];
    for (index, out) in out.chunks_mut(LANES * m * n).enumerate() {
        let count = out.len() / (m * n);
        let [mut lefts, mut rights] = [[0; LANES]; 2];
        let pairs = lefts.iter_mut().zip(&mut rights).take(count);
        for (lane, (left, right)) in pairs.enumerate() {
            [*left, *right] = starts(index * LANES + lane);
        }
        for (side, (places, extent)) in [(&lefts, m), (&rights, n)].into_iter().enumerate() {
            let SmallOperand { load, bytes, strides } = operands[side];
            let (places, size) = (&places[..count], [extent, k]);
            T::read(load, 0, Lay { bytes, strides, places, size, out: &mut laid[side] });
        }
        let [left, right] = &laid;
        simd::run(Multiply { left, right, size: [m, n, k], out });
    }
}

/// Lays the elements of an operand of some products beside each other.
struct Lay<'a, T> {
    bytes: &'a [u8],
    strides: [usize; 2],
    places: &'a [usize],
    /// Rows or columns, and terms.
    size: [usize; 2],
    out: &'a mut [[T; LANES]],
}

impl<T: Panel> Visit<T> for Lay<'_, T> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let Self { bytes, strides: [across, along], places, size: [count, terms], out } = self;
        let data = elements::<E>(bytes);
        for (lane, &place) in places.iter().enumerate() {
            for (i, lines) in out.chunks_mut(terms).take(count).enumerate() {
                for (l, line) in lines.iter_mut().enumerate() {
                    line[lane] = read(data[place + i * across + l * along]);
                }
            }
        }
    }
}

/// Multiplies what is laid out.
struct Multiply<'a, T> {
    left: &'a [[T; LANES]],
    right: &'a [[T; LANES]],
    size: [usize; 3],
    out: &'a mut [T],
}

impl<T: Panel> Loop for Multiply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { left, right, size: [m, n, k], out } = self;
        for (i, left) in left.chunks_exact(k).take(m).enumerate() {
            for (j, right) in right.chunks_exact(k).take(n).enumerate() {
                let mut sums = [<T as Work>::ZERO; LANES];
                for (left, right) in left.iter().zip(right) {
                    for lane in 0..LANES {
                        sums[lane] = sums[lane].plus(left[lane], right[lane]);
                    }
                }
                for (out, sum) in out.chunks_exact_mut(m * n).zip(sums) {
                    out[i * n + j] = sum;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::Load;
    use super::*;
    use bytemuck::cast_slice;

    #[test]
    fn every_size_order_and_place_gives_sums_of_rounded_products_in_order() {
        let number = |i: usize| (i * 7919 % 1013) as f32 / 37.0 - 11.0;
        let data: Vec<f32> = (0..7000).map(number).collect();
        let sizes = (1..5).flat_map(|n| (1..5).map(move |k| [3, n, k]));
        let others = [[1, 1, 1], [4, 4, 4], [1, 5, 3], [2, 3, 5], [64, 1, 1], [1, 1, 64]];
        for [m, n, k] in sizes.chain(others) {
            let apart = |index: usize| [index * 5, 300 + index * 7];
            let beside = |index: usize| [index * m * k, 300 + index * k * n];
            let shared = |index: usize| [40, 300 + index / 3];
            let starts: [&dyn Fn(usize) -> [usize; 2]; 3] = [&apart, &beside, &shared];
            let orders = [([k, 1], [1, n]), ([1, m], [k, 1])];
            for (at, count) in [1, 16, 97].into_iter().cycle().take(18).enumerate() {
                let (starts, (left, right)) = (starts[at / 3 % 3], orders[at / 9]);
                for load in [Load::Plain, Load::Nearest] {
                    let side = |strides| SmallOperand { load, bytes: cast_slice(&data), strides };
                    let read = |at: usize| match load {
                        Load::Nearest => half::bf16::from_f32(data[at]).to_f32(),
                        _ => data[at],
                    };
                    simd::at_every_level(|level| {
                        let mut out = vec![f32::NAN; count * m * n];
                        products([m, n, k], [side(left), side(right)], starts, &mut out);
                        for (at, &value) in out.iter().enumerate() {
                            let (index, i, j) = (at / (m * n), at / n % m, at % n);
                            let [a, b] = starts(index);
                            let wanted = (0..k).fold(0.0, |sum, l| {
                                let left = read(a + i * left[0] + l * left[1]);
                                sum + left * read(b + j * right[0] + l * right[1])
                            });
                            assert_eq!(value, wanted, "{level:?} {load:?} {m} {n} {k} at {at}");
                        }
                    });
                }
            }
        }
    }

    #[test]
    fn a_product_without_terms_or_of_many_is_not_tiny() {
        assert!(is_tiny([1, 1, 1]) && is_tiny([4, 4, 4]) && is_tiny([1, 1, 64]));
        assert!(!is_tiny([2, 2, 0]) && !is_tiny([0, 2, 2]) && !is_tiny([5, 4, 4]));
        assert!(!is_tiny([usize::MAX, 2, 2]));
    }
}
