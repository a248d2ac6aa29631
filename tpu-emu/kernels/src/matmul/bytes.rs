//! Products of integers of 8 bits, by instructions that add several products to a sum of 32 bits.
//!
//! | machine | terms in a unit of 32 bits | instruction |
//! |---------|----------------------------|-------------|
//! | AMX | four of 8 bits | `tdpbssd` and the like, tiles of sixteen rows |
//! | AVX-512 VNNI | four of 8 bits | `vpdpbusd` |
//! | AVX-512 BW, AVX2 | two of 16 bits | `vpmaddwd` |
//!
//! Rows of the left matrix are rows of units, and [`COLUMNS`] columns of the right one lie unit by
//! unit beside each other. Sums are exact modulo 2^32, so the machine and the order change no bit.
//! See `docs/decisions/0228-bytes-are-multiplied-as-bytes.md`.
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod amx;
#[cfg(any(not(target_arch = "x86_64"), tpu_emu_portable))]
mod none;
mod units;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod x86;

use super::blocked::{ProductTile, with_panels};
use super::pack::{Load, Strided};
use super::tuning::{BLOCK_COLUMNS, BYTE_BLOCK_DEPTH_BYTES};
use crate::simd;
use crate::simd::Loop;
use bytemuck::cast_slice_mut;
#[cfg(any(not(target_arch = "x86_64"), tpu_emu_portable))]
pub(crate) use none::ByteMachine;
use std::ops::Range;
pub(crate) use units::{UnitForm, lay_copied};
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
pub(crate) use x86::ByteMachine;

/// Columns of a right panel.
const COLUMNS: usize = 32;

/// Rows of the largest tile.
const LARGEST_TILE_ROWS: usize = 32;

/// Integers of 8 bits in rows, or columns, and steps of the sums.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteMatrix<'a> {
    data: &'a [u8],
    /// Elements from one row or column to the next, and from one step of the sums to the next.
    strides: [usize; 2],
    signed: bool,
}

impl<'a> ByteMatrix<'a> {
    /// The matrix whose elements are read in such a way. `None` where they are no such integers.
    pub(crate) fn of(side: Strided<'a>) -> Option<Self> {
        let signed = match side.load {
            Load::S8 => true,
            Load::U8 => false,
            _ => return None,
        };
        let data = side.bytes.get(side.start[0]..).unwrap_or_default();
        Some(Self { data, strides: side.strides, signed })
    }
}

/// A left matrix of such integers.
pub(crate) trait ByteRows {
    /// Whether they have a sign.
    fn signed(&self) -> bool;
    /// Lays rows out, each as units one after the other; what the last tile lacks is zero.
    fn lay(&self, form: UnitForm, rows: Range<usize>, depth: Range<usize>, out: &mut [u32]);
}

impl ByteRows for ByteMatrix<'_> {
    fn signed(&self) -> bool {
        self.signed
    }

    fn lay(&self, form: UnitForm, rows: Range<usize>, depth: Range<usize>, out: &mut [u32]) {
        units::lay_rows(form, *self, rows, depth, out);
    }
}

/// `out = lhs·rhs` modulo 2^32, rows `stride` apart.
pub(crate) fn product(
    machine: ByteMachine,
    ProductTile { rows, columns, depth }: ProductTile,
    lhs: &impl ByteRows,
    rhs: ByteMatrix<'_>,
    (out, stride): (&mut [u32], usize),
) {
    if rows.is_empty() || columns.is_empty() {
        return;
    }
    if depth == 0 {
        for row in out.chunks_mut(stride).take(rows.len()) {
            row[..columns.len()].fill(0);
        }
        return;
    }
    let form = machine.form([lhs.signed(), rhs.signed]);
    let most = form.units(BYTE_BLOCK_DEPTH_BYTES.min(depth));
    let height = rows.len().next_multiple_of(machine.tile_rows());
    let panels = BLOCK_COLUMNS.min(columns.len()).div_ceil(COLUMNS);
    let (left, right) = (height * most, panels * most * COLUMNS);
    with_panels((left + right) * size_of::<u32>() + 64, |workspace| {
        // A row of units may be any number of them: the right panels begin at a line of the cache.
        let (left, right) = workspace.split_at_mut((left * size_of::<u32>()).next_multiple_of(64));
        let (left, right) = (cast_slice_mut::<u8, u32>(left), cast_slice_mut::<u8, u32>(right));
        for start in (0..depth).step_by(BYTE_BLOCK_DEPTH_BYTES) {
            let steps = start..depth.min(start + BYTE_BLOCK_DEPTH_BYTES);
            let units = form.units(steps.len());
            let left = &mut left[..height * units];
            lhs.lay(form, rows.clone(), steps.clone(), left);
            let of_rows = form.of_rows(left, units);
            for first in columns.clone().step_by(BLOCK_COLUMNS) {
                let some = first..columns.end.min(first + BLOCK_COLUMNS);
                let right = &mut right[..some.len().div_ceil(COLUMNS) * units * COLUMNS];
                let (right, _) = right.as_chunks_mut::<COLUMNS>();
                units::lay_columns(form, rhs, some.clone(), steps.clone(), right);
                let of_columns = form.of_columns(right, units, steps.len());
                let corrections = [&of_rows[..], &of_columns];
                let block =
                    ByteBlock { machine, form, left, right, units, corrections, add: start > 0 };
                let out = &mut out[first - columns.start..];
                block.run([0..rows.len(), 0..some.len()], (out, stride));
            }
        }
    });
}

/// Packed operands.
struct ByteBlock<'a> {
    machine: ByteMachine,
    form: UnitForm,
    left: &'a [u32],
    right: &'a [[u32; COLUMNS]],
    /// Units of a row and of a column.
    units: usize,
    /// What is added to the sums of each row and of each column; nothing where that is zero.
    corrections: [&'a [u32]; 2],
    /// Sums are added to what is there.
    add: bool,
}

impl ByteBlock<'_> {
    fn run(&self, [rows, columns]: [Range<usize>; 2], (out, stride): (&mut [u32], usize)) {
        let tile_rows = self.machine.tile_rows();
        let lefts =
            || self.left.chunks_exact(tile_rows * self.units).zip(rows.clone().step_by(tile_rows));
        let rights = self.right.chunks_exact(self.units).zip(columns.clone().step_by(COLUMNS));
        for (right, column) in rights {
            for (left, row) in lefts() {
                let (height, width) =
                    (tile_rows.min(rows.end - row), COLUMNS.min(columns.end - column));
                let out = &mut out[row * stride + column..];
                let whole = height == tile_rows && width == COLUMNS;
                let exact = self.corrections.iter().all(|of| of.is_empty());
                if whole && !self.add && exact {
                    self.machine.tile(self.form, left, right, (out, stride));
                    continue;
                }
                let mut sums = [[0; COLUMNS]; LARGEST_TILE_ROWS];
                self.machine.tile(self.form, left, right, (sums.as_flattened_mut(), COLUMNS));
                let [of_rows, of_columns] = self.corrections;
                let of_rows = of_rows.get(row..).unwrap_or_default();
                let of_columns = of_columns.get(column..).unwrap_or_default();
                let sums = &sums[..height];
                let add = self.add;
                simd::run(Merge { sums, width, of_rows, of_columns, out, stride, add });
            }
        }
    }
}

/// Sums that become part of a result.
struct Merge<'a> {
    sums: &'a [[u32; COLUMNS]],
    width: usize,
    /// What each row has besides; zero beyond the end.
    of_rows: &'a [u32],
    /// What each column has besides; nothing where none has.
    of_columns: &'a [u32],
    out: &'a mut [u32],
    stride: usize,
    add: bool,
}

impl Loop for Merge<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { sums, width, of_rows, of_columns, out, stride, add } = self;
        for (at, (sums, out)) in sums.iter().zip(out.chunks_mut(stride)).enumerate() {
            let mut sums = *sums;
            let more = of_rows.get(at).copied().unwrap_or_default();
            for sum in &mut sums {
                *sum = sum.wrapping_add(more);
            }
            for (sum, &more) in sums.iter_mut().zip(of_columns) {
                *sum = sum.wrapping_add(more);
            }
            let out = &mut out[..width];
            if add {
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = out.wrapping_add(sum);
                }
            } else {
                out.copy_from_slice(&sums[..width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of which all values come, the largest most often.
    fn bytes(count: usize, seed: usize) -> Vec<u8> {
        let byte = |i: usize| match (i * 7 + seed) % 5 {
            0 => 0x80,
            1 => 0x7f,
            2 => 0xff,
            _ => u8::try_from((i * 37 + seed * 11) % 251).unwrap(),
        };
        (0..count).map(byte).collect()
    }

    fn value(byte: u8, signed: bool) -> u32 {
        if signed { i32::from(byte.cast_signed()).cast_unsigned() } else { u32::from(byte) }
    }

    #[test]
    fn every_machine_has_the_products_of_every_sign_order_and_size() {
        let sizes = [
            [1, 1, 1],
            [2, 3, 5],
            [8, 32, 64],
            [9, 33, 65],
            [40, 70, 131],
            [33, 513, 7],
            [70, 31, 1025],
        ];
        for machine in ByteMachine::all() {
            for [m, n, k] in sizes {
                for signs in [[true, true], [true, false], [false, true], [false, false]] {
                    for turned in [[false, false], [true, true], [false, true], [true, false]] {
                        let data = [bytes((m + 2) * k * 2, 1), bytes((n + 2) * k * 2, 2)];
                        let side = |at: usize, count: usize| {
                            let strides = if turned[at] { [1, count + 2] } else { [k + 1, 1] };
                            ByteMatrix { data: &data[at], strides, signed: signs[at] }
                        };
                        let sides = [side(0, m), side(1, n)];
                        let (rows, columns) = (m / 3..m, n / 4..n);
                        let stride = columns.len() + 3;
                        let mut out = vec![7_u32; rows.len() * stride];
                        let tile =
                            ProductTile { rows: rows.clone(), columns: columns.clone(), depth: k };
                        product(machine, tile, &sides[0], sides[1], (&mut out, stride));
                        for (at, &sum) in out.iter().enumerate() {
                            let (i, j) = (rows.start + at / stride, columns.start + at % stride);
                            let element = |side: ByteMatrix<'_>, i: usize, l: usize| {
                                value(
                                    side.data[i * side.strides[0] + l * side.strides[1]],
                                    side.signed,
                                )
                            };
                            let term =
                                |l| element(sides[0], i, l).wrapping_mul(element(sides[1], j, l));
                            let expected =
                                if j < n { (0..k).map(term).fold(0, u32::wrapping_add) } else { 7 };
                            assert_eq!(
                                sum, expected,
                                "{machine:?} {m}x{n}x{k} {signs:?} {turned:?} at {i}, {j}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_empty_sum_is_zero_and_strides_of_two_are_followed() {
        let data = bytes(300, 3);
        for machine in ByteMachine::all() {
            let none = ByteMatrix { data: &[], strides: [1, 1], signed: true };
            let mut out = [5; 6];
            let tile = |depth| ProductTile { rows: 0..2, columns: 0..3, depth };
            product(machine, tile(0), &none, none, (&mut out, 3));
            assert_eq!(out, [0; 6]);
            let some = ByteMatrix { data: &data, strides: [2, 8], signed: true };
            product(machine, tile(5), &some, some, (&mut out, 3));
            for (at, sum) in out.into_iter().enumerate() {
                let element = |i: usize, l: usize| value(data[i * 2 + l * 8], true);
                let term = |l| element(at / 3, l).wrapping_mul(element(at % 3, l));
                assert_eq!(sum, (0..5).map(term).fold(0, u32::wrapping_add), "{machine:?}");
            }
        }
    }
}
