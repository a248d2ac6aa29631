//! Matrices transposed, block by block.
#[cfg(not(all(target_arch = "x86_64", not(tpu_emu_portable))))]
mod no_shuffles;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod shuffles;
#[cfg(not(all(target_arch = "x86_64", not(tpu_emu_portable))))]
use no_shuffles as shuffles;

use crate::for_width;
use crate::simd;
use bytemuck::Pod;
use shuffles::Interleaved;
pub(crate) use shuffles::{eight_by_eight, eight_columns, few_columns};
use std::ops::Range;

/// Rows and columns of a block.
const SIDE: usize = 16;
/// Bytes of a line of the cache.
const LINE: usize = 64;

/// A matrix to be transposed: row `r` of the result has element `r + c * step` of the operand in
/// column `c`.
#[derive(Debug, Clone, Copy)]
pub struct Transposed<'a, T> {
    /// What is transposed.
    pub operand: &'a [T],
    /// Elements from one column of the result to the next.
    pub step: usize,
    /// Rows and columns of the result.
    pub size: [usize; 2],
    /// Elements from one row of the result to the next.
    pub width: usize,
}

/// Transposes a matrix.
pub fn transpose<T: Pod>(matrix: Transposed<'_, T>, result: &mut [T]) {
    let shuffles = simd::shuffles().filter(|_| size_of::<T>() <= 2);
    match (shuffles, matrix.size[1]) {
        (_, 2) => simd::run(Few::<T, 2> { matrix, result }),
        (_, 3) => simd::run(Few::<T, 3> { matrix, result }),
        (_, 4) => simd::run(Few::<T, 4> { matrix, result }),
        (_, 5) => simd::run(Few::<T, 5> { matrix, result }),
        (_, 6) => simd::run(Few::<T, 6> { matrix, result }),
        (_, 7) => simd::run(Few::<T, 7> { matrix, result }),
        (_, 8) => simd::run(Few::<T, 8> { matrix, result }),
        (Some(machine), _) => {
            simd::run(BlockedTranspose { side: Interleaved(machine), matrix, result })
        }
        (None, _) => simd::run(BlockedTranspose { side: ElementTranspose, matrix, result }),
    }
}

/// Transposes a matrix of elements of `width` bytes into one of `size` rows and columns; `step` is
/// [`Transposed::step`].
pub fn transpose_bytes(
    width: usize,
    operand: &[u8],
    step: usize,
    size: [usize; 2],
    result: &mut [u8],
) {
    fn of<T: Pod>(operand: &[u8], step: usize, size: [usize; 2], result: &mut [u8]) {
        let operand: &[T] = bytemuck::cast_slice(operand);
        transpose(
            Transposed { operand, step, size, width: size[1] },
            bytemuck::cast_slice_mut(result),
        );
    }
    for_width!(width, T => of::<T>(operand, step, size, result));
}

/// A few columns.
struct Few<'a, T, const N: usize> {
    matrix: Transposed<'a, T>,
    result: &'a mut [T],
}

impl<T: Pod, const N: usize> simd::Loop for Few<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Transposed { operand, step, size: [rows, _], width } = self.matrix;
        let columns: [&[T]; N] = std::array::from_fn(|column| &operand[column * step..][..rows]);
        if width == N {
            let (to, _) = self.result.as_chunks_mut::<N>();
            for (row, to) in to[..rows].iter_mut().enumerate() {
                for (element, column) in to.iter_mut().zip(&columns) {
                    *element = column[row];
                }
            }
            return;
        }
        for row in 0..rows {
            let to = &mut self.result[row * width..][..N];
            for (element, column) in to.iter_mut().zip(&columns) {
                *element = column[row];
            }
        }
    }
}

/// What transposes a block. `transpose` is `#[inline(always)]`.
trait BlockTranspose<T>: Copy {
    /// Transposes a whole block: its lines are `step` apart in the operand and `width` in the result.
    fn transpose(self, operand: &[T], step: usize, result: &mut [T], width: usize);
}

struct BlockedTranspose<'a, T, S> {
    side: S,
    matrix: Transposed<'a, T>,
    result: &'a mut [T],
}

impl<T: Pod, S: BlockTranspose<T>> simd::Loop for BlockedTranspose<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [rows, columns] = self.matrix.size;
        // The blocks of lines of the cache come one after another, those of a line that is written
        // next to each other: rows of many sizes keep one another out of a cache.
        let lines = SIDE.max(LINE / size_of::<T>());
        for line in (0..rows).step_by(lines) {
            for column in (0..columns).step_by(lines) {
                let high = line..rows.min(line + lines);
                let wide = column..columns.min(column + lines);
                transpose_blocks(self.side, &self.matrix, [high, wide], self.result);
            }
        }
    }
}

/// Transposes some rows and columns of a matrix, block by block.
#[inline(always)]
fn transpose_blocks<T: Pod, S: BlockTranspose<T>>(
    side: S,
    matrix: &Transposed<'_, T>,
    [rows, columns]: [Range<usize>; 2],
    result: &mut [T],
) {
    let &Transposed { operand, step, width, .. } = matrix;
    for first in rows.clone().step_by(SIDE) {
        let high = SIDE.min(rows.end - first);
        for left in columns.clone().step_by(SIDE) {
            let wide = SIDE.min(columns.end - left);
            let (operand, result) =
                (&operand[left * step + first..], &mut result[first * width + left..]);
            if (high, wide) == (SIDE, SIDE) {
                side.transpose(operand, step, result, width);
            } else {
                partly(side, [high, wide], (operand, step), (result, width));
            }
        }
    }
}

/// Transposes less than a block, as a whole one at another place.
#[inline(always)]
fn partly<T: Pod, S: BlockTranspose<T>>(
    side: S,
    [high, wide]: [usize; 2],
    (operand, step): (&[T], usize),
    (result, width): (&mut [T], usize),
) {
    let (mut from, mut to) = ([[T::zeroed(); SIDE]; SIDE], [[T::zeroed(); SIDE]; SIDE]);
    for (column, line) in from.iter_mut().enumerate().take(wide) {
        let found = &operand[column * step..];
        match found.first_chunk::<SIDE>() {
            // What lies behind is transposed too, and left out.
            Some(found) => *line = *found,
            None => line[..high].copy_from_slice(&found[..high]),
        }
    }
    side.transpose(from.as_flattened(), SIDE, to.as_flattened_mut(), SIDE);
    for (row, line) in to.iter().enumerate().take(high) {
        put(line, &mut result[row * width..][..wide]);
    }
}

/// Copies the beginning of a line, in two parts of a fixed length that may overlap.
#[inline(always)]
fn put<T: Pod>(line: &[T; SIDE], to: &mut [T]) {
    let wide = to.len().min(SIDE);
    if wide == SIDE {
        to.copy_from_slice(line);
    } else if wide >= 8 {
        to[..8].copy_from_slice(&line[..8]);
        to[wide - 8..][..8].copy_from_slice(&line[wide - 8..][..8]);
    } else if wide >= 4 {
        to[..4].copy_from_slice(&line[..4]);
        to[wide - 4..][..4].copy_from_slice(&line[wide - 4..][..4]);
    } else {
        for (to, &from) in to.iter_mut().zip(line) {
            *to = from;
        }
    }
}

/// Element by element.
#[derive(Debug, Clone, Copy)]
struct ElementTranspose;

impl<T: Pod> BlockTranspose<T> for ElementTranspose {
    #[inline(always)]
    fn transpose(self, operand: &[T], step: usize, result: &mut [T], width: usize) {
        let mut lines = [[T::zeroed(); SIDE]; SIDE];
        for (column, line) in lines.iter_mut().enumerate() {
            if let Some(from) = operand[column * step..].first_chunk::<SIDE>() {
                *line = *from;
            }
        }
        for row in 0..SIDE {
            if let Some(to) = result[row * width..].first_chunk_mut::<SIDE>() {
                for (element, line) in to.iter_mut().zip(&lines) {
                    *element = line[row];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Pod + PartialEq + std::fmt::Debug>(number: impl Fn(usize) -> T) {
        for (rows, columns, step) in [
            (1, 1, 1),
            (16, 16, 16),
            (5, 40, 9),
            (40, 10, 40),
            (30, 5, 33),
            (3, 16, 5),
            (33, 17, 33),
            (50, 3, 64),
            (70, 40, 90),
            (70, 130, 70),
            (9, 2, 9),
        ] {
            for width in [columns, columns + 5] {
                let operand: Vec<T> = (0..columns * step).map(&number).collect();
                let mut result = vec![number(9); rows * width];
                let size = [rows, columns];
                transpose(Transposed { operand: &operand, step, size, width }, &mut result);
                for (at, &found) in result.iter().enumerate() {
                    let (row, column) = (at / width, at % width);
                    let wanted =
                        if column < columns { operand[row + column * step] } else { number(9) };
                    assert_eq!(found, wanted, "{rows} x {columns} by {step}, {at}");
                }
            }
        }
    }

    #[test]
    fn rows_become_columns_whatever_their_numbers() {
        simd::at_every_level(|_| {
            check(|index| u8::try_from(index % 251).unwrap());
            check(|index| u16::try_from(index).unwrap());
            check(|index| u32::try_from(index).unwrap());
            check(|index| [u64::try_from(index).unwrap(); 2]);
        });
    }
}
