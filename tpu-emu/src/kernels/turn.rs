//! Matrices turned, block by block.
use super::simd;
use bytemuck::Pod;
use pulp::x86::V3;
use std::arch::x86_64::__m128i;

/// Rows and columns of a block.
const SIDE: usize = 16;
/// Bytes of a line of the cache.
const LINE: usize = 64;

/// A matrix to be turned: row `r` of the result has element `r + c * step` of the operand in
/// column `c`.
#[derive(Debug, Clone, Copy)]
pub struct Turned<'a, T> {
    /// What is turned.
    pub operand: &'a [T],
    /// Elements from one column of the result to the next.
    pub step: usize,
    /// Rows and columns of the result.
    pub size: [usize; 2],
    /// Elements from one row of the result to the next.
    pub width: usize,
}

/// Turns a matrix.
pub fn turn<T: Pod>(matrix: Turned<'_, T>, result: &mut [T]) {
    let shuffles = simd::shuffles().filter(|_| size_of::<T>() <= 2);
    match (shuffles, matrix.size[1]) {
        (_, 2) => simd::run(Few::<T, 2> { matrix, result }),
        (_, 3) => simd::run(Few::<T, 3> { matrix, result }),
        (_, 4) => simd::run(Few::<T, 4> { matrix, result }),
        (Some(machine), _) => machine.vectorize(Shuffled { machine, matrix, result }),
        (None, _) => simd::run(Turn { matrix, result }),
    }
}

/// Turns a matrix of elements of `width` bytes into one of `size` rows and columns; `step` is
/// [`Turned::step`].
pub fn turn_bytes(width: usize, operand: &[u8], step: usize, size: [usize; 2], result: &mut [u8]) {
    fn of<T: Pod>(operand: &[u8], step: usize, size: [usize; 2], result: &mut [u8]) {
        let operand: &[T] = bytemuck::cast_slice(operand);
        turn(Turned { operand, step, size, width: size[1] }, bytemuck::cast_slice_mut(result));
    }
    match width {
        1 => of::<u8>(operand, step, size, result),
        2 => of::<u16>(operand, step, size, result),
        4 => of::<u32>(operand, step, size, result),
        8 => of::<u64>(operand, step, size, result),
        _ => of::<[u64; 2]>(operand, step, size, result),
    }
}

/// A few columns.
struct Few<'a, T, const N: usize> {
    matrix: Turned<'a, T>,
    result: &'a mut [T],
}

impl<T: Pod, const N: usize> simd::Loop for Few<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Turned { operand, step, size: [rows, _], width } = self.matrix;
        let columns: [&[T]; N] = std::array::from_fn(|column| &operand[column * step..][..rows]);
        if width == N {
            let (to, _) = self.result.as_chunks_mut::<N>();
            for (row, to) in to[..rows].iter_mut().enumerate() {
                *to = columns.map(|column| column[row]);
            }
            return;
        }
        for row in 0..rows {
            let to = &mut self.result[row * width..][..N];
            to.copy_from_slice(&columns.map(|column| column[row]));
        }
    }
}

struct Turn<'a, T> {
    matrix: Turned<'a, T>,
    result: &'a mut [T],
}

impl<T: Pod> simd::Loop for Turn<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Turned { step, width, .. } = self.matrix;
        blocks(self.matrix, self.result, |from, to| block(from, step, to, width));
    }
}

/// Calls `whole` for every whole block, and moves the other elements one by one. The blocks of a
/// line of the cache come one after another.
#[inline(always)]
fn blocks<T: Pod>(matrix: Turned<'_, T>, result: &mut [T], whole: impl Fn(&[T], &mut [T])) {
    let Turned { operand, step, size: [rows, columns], width } = matrix;
    let lines = SIDE.max(LINE / size_of::<T>());
    for line in (0..rows).step_by(lines) {
        for left in (0..columns).step_by(SIDE) {
            let wide = SIDE.min(columns - left);
            for first in (line..rows.min(line + lines)).step_by(SIDE) {
                let high = SIDE.min(rows - first);
                let (from, to) = (left * step + first, first * width + left);
                if (high, wide) == (SIDE, SIDE) {
                    whole(&operand[from..], &mut result[to..]);
                    continue;
                }
                for row in 0..high {
                    for column in 0..wide {
                        result[to + row * width + column] = operand[from + column * step + row];
                    }
                }
            }
        }
    }
}

/// Turns a whole block: its lines are `step` apart in the operand and `width` in the result.
#[inline(always)]
fn block<T: Pod>(operand: &[T], step: usize, result: &mut [T], width: usize) {
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

/// The same for elements of one or two bytes, by instructions that interleave vectors.
struct Shuffled<'a, T> {
    machine: V3,
    matrix: Turned<'a, T>,
    result: &'a mut [T],
}

impl<T: Pod> pulp::NullaryFnOnce for Shuffled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { machine, matrix, result } = self;
        let Turned { step, width, .. } = matrix;
        blocks(matrix, result, |from, to| {
            if size_of::<T>() == 1 {
                shuffle::<T, 16>(machine, (from, step), (to, width));
            } else {
                // Eight elements are a vector: four quarters.
                for quarter in 0..4 {
                    let (right, down) = (quarter % 2 * 8, quarter / 2 * 8);
                    let from = &from[right * step + down..];
                    let to = &mut to[down * width + right..];
                    shuffle::<T, 8>(machine, (from, step), (to, width));
                }
            }
        });
    }
}

/// Turns a square of `N` vectors of `N` elements; with the slices stand the elements from one line
/// to the next.
#[inline(always)]
fn shuffle<T: Pod, const N: usize>(
    machine: V3,
    (operand, step): (&[T], usize),
    (result, width): (&mut [T], usize),
) {
    let sse = machine.sse2;
    let mut lines: [__m128i; N] = std::array::from_fn(|line| {
        let bytes: &[u8] = bytemuck::cast_slice(&operand[line * step..][..N]);
        bytes.first_chunk::<16>().map_or(sse._mm_setzero_si128(), |bytes| pulp::cast(*bytes))
    });
    let mut round = N;
    while round > 1 {
        lines = std::array::from_fn(|line| {
            let (a, b) = (lines[line / 2], lines[line / 2 + N / 2]);
            match (size_of::<T>(), line % 2) {
                (1, 0) => sse._mm_unpacklo_epi8(a, b),
                (1, _) => sse._mm_unpackhi_epi8(a, b),
                (_, 0) => sse._mm_unpacklo_epi16(a, b),
                _ => sse._mm_unpackhi_epi16(a, b),
            }
        });
        round /= 2;
    }
    for (line, vector) in lines.into_iter().enumerate() {
        let bytes: [u8; 16] = pulp::cast(vector);
        let to: &mut [u8] = bytemuck::cast_slice_mut(&mut result[line * width..][..N]);
        to.copy_from_slice(&bytes);
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
            (33, 17, 33),
            (50, 3, 64),
            (70, 40, 90),
            (9, 2, 9),
        ] {
            for width in [columns, columns + 5] {
                let operand: Vec<T> = (0..columns * step).map(&number).collect();
                let mut result = vec![number(9); rows * width];
                let size = [rows, columns];
                turn(Turned { operand: &operand, step, size, width }, &mut result);
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
