//! Products of a few numbers each, many beside each other: a lane of a vector is a product.
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
    [m, n, k]: [usize; 3],
    operands: [SmallOperand<'_>; 2],
    starts: impl Fn(usize) -> [usize; 2],
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
    fn every_size_and_order_gives_sums_of_rounded_products_in_order() {
        let number = |i: usize| (i * 7919 % 1013) as f32 / 37.0 - 11.0;
        let data: Vec<f32> = (0..2000).map(number).collect();
        for [m, n, k] in [[1, 1, 1], [2, 2, 2], [3, 3, 3], [4, 4, 4], [1, 5, 3], [64, 1, 1]] {
            for (left, right) in [([k, 1], [1, n]), ([1, m], [k, 1])] {
                let side =
                    |strides| SmallOperand { load: Load::Plain, bytes: cast_slice(&data), strides };
                let starts = |index: usize| [index * 5, 300 + index * 7];
                for count in [1, 16, 37] {
                    simd::at_every_level(|level| {
                        let mut out = vec![f32::NAN; count * m * n];
                        products([m, n, k], [side(left), side(right)], starts, &mut out);
                        for (at, &value) in out.iter().enumerate() {
                            let (index, i, j) = (at / (m * n), at / n % m, at % n);
                            let [a, b] = starts(index);
                            let wanted = (0..k).fold(0.0, |sum, l| {
                                let product = data[a + i * left[0] + l * left[1]]
                                    * data[b + j * right[0] + l * right[1]];
                                sum + product
                            });
                            assert_eq!(value, wanted, "{level:?} {m} {n} {k} at {at}");
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
