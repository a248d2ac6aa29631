//! Matrix products through packed panels, a block of the result at a time.
use super::accumulate::Work;
use super::micro_kernel::{COLUMNS, PanelProduct, ROWS};
use super::pack::{Panel, Source};
use crate::aligned::Aligned;
use crate::matmul::tuning::{BLOCK_COLUMNS, BLOCK_DEPTH};
use bytemuck::cast_slice_mut;
use std::cell::Cell;
use std::ops::Range;
use std::thread::LocalKey;

thread_local! {
    /// Room for panels. Whoever uses it takes it out meanwhile.
    static PANELS: Cell<Aligned> = Cell::default();
    /// Room for sums, likewise.
    static SUMS: Cell<Aligned> = Cell::default();
}

/// Calls `work` with `bytes` bytes that the thread keeps for the next call.
fn with_workspace<R>(
    workspace: &'static LocalKey<Cell<Aligned>>,
    bytes: usize,
    work: impl FnOnce(&mut [u8]) -> R,
) -> R {
    let mut taken = workspace.take();
    if taken.bytes().len() < bytes {
        taken = Aligned::zeros(bytes);
    }
    let result = work(&mut taken.bytes_mut()[..bytes]);
    workspace.set(taken);
    result
}

/// Calls `work` with `bytes` bytes for panels, at a line of the cache; whatever was there before.
pub(crate) fn with_panels<R>(bytes: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
    with_workspace(&PANELS, bytes, work)
}

/// Calls `work` with room for `count` sums; whatever was there before.
pub(crate) fn with_sums<T: Panel, R>(count: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
    with_workspace(&SUMS, count * size_of::<T>(), |workspace| {
        work(if workspace.is_empty() { &mut [] } else { cast_slice_mut(workspace) })
    })
}

/// Some rows and columns of a product.
#[derive(Debug, Clone)]
pub struct ProductTile {
    /// Rows.
    pub rows: Range<usize>,
    /// Columns.
    pub columns: Range<usize>,
    /// Length of the sums.
    pub depth: usize,
}

/// The terms of sums that are summed up before they are added to a result: `BLOCK_DEPTH` at a time;
/// a rest of at most half as many goes with those before it.
pub(super) fn blocks(depth: usize) -> impl Iterator<Item = Range<usize>> {
    let count = ((depth + BLOCK_DEPTH / 2).saturating_sub(1) / BLOCK_DEPTH).max(1);
    let start = move |block: usize| if block < count { block * BLOCK_DEPTH } else { depth };
    (0..count).map(move |block| start(block)..start(block + 1))
}

/// Computes a part of a product of split operands: the parts of the operands that are multiplied
/// are the `passes`. Sums of many terms are sums of sums of some of them, see `blocks`.
pub fn product<T: Panel>(
    ProductTile { rows, columns, depth }: ProductTile,
    passes: &[(usize, usize)],
    lhs: &impl Source<T>,
    rhs: &impl Source<T>,
    (out, stride): (&mut [T], usize),
) {
    if rows.is_empty() || columns.is_empty() {
        return;
    }
    if depth == 0 {
        for row in out.chunks_mut(stride).take(rows.len()) {
            row[..columns.len()].fill(<T as Work>::ZERO);
        }
        return;
    }
    let longest = blocks(depth).map(|steps| steps.len()).max().unwrap_or(0);
    let left = rows.len().div_ceil(ROWS) * longest * size_of::<[T; ROWS]>();
    let right =
        BLOCK_COLUMNS.min(columns.len()).div_ceil(COLUMNS) * longest * size_of::<[T; COLUMNS]>();
    // Panels of 64 bytes a line or more begin at a line of the cache.
    let left = left.next_multiple_of(64);
    with_workspace(&PANELS, left + right, |workspace| {
        let (left, right) = workspace.split_at_mut(left);
        for (pass, &(one, other)) in passes.iter().enumerate() {
            if pass > 0 && pass + 1 == passes.len() {
                // The small parts of an infinity are NaN; the large product tells the truth.
                for row in out.chunks_mut(stride).take(rows.len()) {
                    row[..columns.len()].iter_mut().for_each(|sum| *sum = sum.without_nan());
                }
            }
            for steps in blocks(depth) {
                let size = rows.len().div_ceil(ROWS) * steps.len();
                let left = &mut cast_slice_mut::<u8, [T; ROWS]>(
                    &mut left[..size * size_of::<[T; ROWS]>()],
                )[..];
                lhs.pack(one, rows.clone(), steps.clone(), left);
                for first in columns.clone().step_by(BLOCK_COLUMNS) {
                    let some = first..columns.end.min(first + BLOCK_COLUMNS);
                    let size = some.len().div_ceil(COLUMNS) * steps.len();
                    let right = &mut cast_slice_mut::<u8, [T; COLUMNS]>(
                        &mut right[..size * size_of::<[T; COLUMNS]>()],
                    )[..];
                    rhs.pack(other, some.clone(), steps.clone(), right);
                    let size = [rows.len(), some.len()];
                    let out = (&mut out[first - columns.start..], stride);
                    let add = pass > 0 || steps.start > 0;
                    PanelProduct { left, right, depth: steps.len(), size, out, add }.run();
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::pack::{Load, Strided};
    use super::*;
    use crate::simd;
    use bytemuck::cast_slice;

    #[test]
    fn parts_of_a_product_are_the_product_and_passes_add_up() {
        simd::at_every_level(|_| {
            let [m, n, k] = [19, 70, 2 * BLOCK_DEPTH + 3];
            let number = |i: usize| u32::try_from(i * 37 % 1009).unwrap();
            let lhs: Vec<u32> = (0..m * k).map(number).collect();
            let rhs: Vec<u32> = (0..k * n).map(|i| number(i + 5)).collect();
            let side = |data, strides| Strided::new(Load::Plain, cast_slice(data), [0, 0], strides);
            let (left, right) = (side(&lhs[..], [k, 1]), side(&rhs[..], [1, n]));
            let (rows, columns) = (3..m, 33..n);
            let mut out = vec![9_u32; rows.len() * n];
            let part = ProductTile { rows: rows.clone(), columns: columns.clone(), depth: k };
            product(part, &[(0, 0), (0, 0)], &left, &right, (&mut out, n));
            for (at, &value) in out.iter().enumerate() {
                let (i, j) = (rows.start + at / n, columns.start + at % n);
                let term = |l: usize| lhs[i * k + l].wrapping_mul(rhs[l * n + j]);
                let sum = || (0..k).map(term).fold(0, u32::wrapping_add).wrapping_mul(2);
                assert_eq!(value, if j < n { sum() } else { 9 });
            }
        });
    }

    #[test]
    fn a_short_rest_goes_with_the_block_before_it() {
        let of = |depth| blocks(depth).collect::<Vec<_>>();
        let (half, whole) = (BLOCK_DEPTH / 2, BLOCK_DEPTH);
        assert_eq!(of(1), vec![0..1]);
        assert_eq!(of(whole + half), vec![0..whole + half]);
        assert_eq!(of(whole + half + 1), [0..whole, whole..whole + half + 1]);
        assert_eq!(of(2 * whole), [0..whole, whole..2 * whole]);
        assert_eq!(of(3 * whole + 1), [0..whole, whole..2 * whole, 2 * whole..3 * whole + 1]);
    }

    #[test]
    fn an_empty_sum_is_zero() {
        let none =
            Strided { load: Load::Plain, bytes: &[], start: [0, 0], strides: [1, 1], outer: None };
        let mut out = [f32::NAN; 6];
        let part = ProductTile { rows: 0..2, columns: 0..3, depth: 0 };
        product(part, &[(0, 0)], &none, &none, (&mut out, 3));
        assert_eq!(out, [0.0; 6]);
    }
}
