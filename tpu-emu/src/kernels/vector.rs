//! Products of a matrix and a vector, which read the matrix once and in the order of its memory.
use super::panel::{Panel, Source, Strided, Visit, elements};
use super::parallel;
use super::simd::{self, Loop};
use super::work::Work;
use bytemuck::Pod;
use std::ops::Range;

/// Sums of a row that run beside each other.
const LANES: usize = 32;
/// Rows or columns of a block of sums.
const BLOCK: usize = 512;
/// Steps that are added up before they are added to a sum.
const DEPTH: usize = 256;
/// Steps of a piece of long sums.
const LONG: usize = 1 << 16;
/// Sums that are too few to be split over threads by themselves.
const FEW: usize = 8;

/// `out[i] = Σ_l matrix[i, l]·vector[l]`. Large ones are split over threads.
pub fn product<T: Panel>(matrix: Strided<'_>, vector: Strided<'_>, depth: usize, out: &mut [T]) {
    let mut packed = vec![[<T as Work>::ZERO]; depth];
    vector.pack(0, 0..1, 0..depth, &mut packed);
    let vector = packed.as_flattened();
    if out.len() <= FEW && depth > LONG {
        let pieces = parallel::map(depth.div_ceil(LONG), |piece| {
            let steps = piece * LONG..depth.min((piece + 1) * LONG);
            let mut sums = [<T as Work>::ZERO; FEW];
            part(matrix, vector, (0, steps), &mut sums[..out.len()]);
            sums
        });
        out.fill(<T as Work>::ZERO);
        for sums in pieces {
            out.iter_mut().zip(sums).for_each(|(to, sum)| *to = to.sum(sum));
        }
        return;
    }
    let rows = parallel::piece_of(depth * size_of::<T>());
    // Rows beside each other are read in lines, which are not cut short.
    let rows = if matrix.strides[1] == 1 { rows } else { rows.next_multiple_of(BLOCK) };
    parallel::chunks_mut(out, rows, |index, out| {
        part(matrix, vector, (index * rows, 0..depth), out);
    });
}

/// Some of the sums over some of the steps.
fn part<T: Panel>(
    matrix: Strided<'_>,
    vector: &[T],
    (first, steps): (usize, Range<usize>),
    out: &mut [T],
) {
    let bytes = matrix.bytes.get(matrix.start[0]..).unwrap_or_default();
    let vector = &vector[steps.clone()];
    let from = [first, steps.start];
    T::read(matrix.load, 0, Sums { bytes, strides: matrix.strides, from, vector, out });
}

struct Sums<'a, T> {
    bytes: &'a [u8],
    strides: [usize; 2],
    /// The first row, and the first step.
    from: [usize; 2],
    vector: &'a [T],
    out: &'a mut [T],
}

impl<T: Panel> Visit<T> for Sums<'_, T> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let Sums { bytes, strides: [across, along], from, vector, out } = self;
        let start = from[0] * across + from[1] * along;
        let data = elements::<E>(bytes).get(start..).unwrap_or_default();
        if along == 1 {
            simd::run(Rows { data, across, vector, out, read });
        } else {
            simd::run(Columns { data, strides: [across, along], vector, out, read });
        }
    }
}

/// Rows that are dense along the sums.
struct Rows<'a, E, T, F> {
    data: &'a [E],
    across: usize,
    vector: &'a [T],
    out: &'a mut [T],
    read: F,
}

impl<E: Copy, T: Panel, F: Fn(E) -> T + Copy> Loop for Rows<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { data, across, vector, out, read } = self;
        let (lines, rest) = vector.as_chunks::<LANES>();
        for (i, out) in out.iter_mut().enumerate() {
            let row = data.get(i * across..).unwrap_or_default();
            let (values, _) = row[..vector.len()].as_chunks::<LANES>();
            let mut sums = [<T as Work>::ZERO; LANES];
            for (line, values) in lines.iter().zip(values) {
                for ((sum, &factor), &value) in sums.iter_mut().zip(line).zip(values) {
                    *sum = sum.plus(factor, read(value));
                }
            }
            let last = &row[vector.len() - rest.len()..vector.len()];
            for ((sum, &factor), &value) in sums.iter_mut().zip(rest).zip(last) {
                *sum = sum.plus(factor, read(value));
            }
            let mut width = LANES;
            while width > 1 {
                width /= 2;
                for at in 0..width {
                    sums[at] = sums[at].sum(sums[at + width]);
                }
            }
            *out = sums[0];
        }
    }
}

/// Rows that lie beside each other.
struct Columns<'a, E, T, F> {
    data: &'a [E],
    strides: [usize; 2],
    vector: &'a [T],
    out: &'a mut [T],
    read: F,
}

impl<E: Copy, T: Panel, F: Fn(E) -> T + Copy> Loop for Columns<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { data, strides: [across, along], vector, out, read } = self;
        for (out, first) in out.chunks_mut(BLOCK).zip((0..).step_by(BLOCK)) {
            out.fill(<T as Work>::ZERO);
            for (factors, step) in vector.chunks(DEPTH).zip((0..).step_by(DEPTH)) {
                let mut sums = [<T as Work>::ZERO; BLOCK];
                let sums = &mut sums[..out.len()];
                for (l, &factor) in factors.iter().enumerate() {
                    let row = &data[(step + l) * along + first * across..];
                    if across == 1 {
                        for (sum, &value) in sums.iter_mut().zip(&row[..out.len()]) {
                            *sum = sum.plus(factor, read(value));
                        }
                    } else {
                        for (sum, &value) in sums.iter_mut().zip(row.iter().step_by(across.max(1)))
                        {
                            *sum = sum.plus(factor, read(value));
                        }
                    }
                }
                out.iter_mut().zip(sums).for_each(|(to, sum)| *to = to.sum(*sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::panel::Load;
    use super::*;
    use bytemuck::cast_slice;

    #[test]
    fn every_order_of_the_matrix_gives_the_sums_for_any_number_of_threads() {
        let number = |i: usize| u32::try_from(i * 37 % 1009).unwrap();
        for (rows, depth) in [(1, 3), (5, 100), (700, 300), (3, LONG + 5), (1100, 2)] {
            let data: Vec<u32> = (0..2 * rows * depth).map(number).collect();
            for strides in [[depth, 1], [1, rows], [2, 2 * rows]] {
                let side = |strides, start| Strided {
                    load: Load::Plain,
                    bytes: cast_slice(&data),
                    start: [start, 0],
                    strides,
                };
                let (matrix, vector) = (side(strides, 0), side([0, 1], 4));
                let term = |i: usize, l: usize| {
                    data[i * strides[0] + l * strides[1]].wrapping_mul(data[1 + l])
                };
                let wanted: Vec<u32> = (0..rows)
                    .map(|i| (0..depth).map(|l| term(i, l)).fold(0, u32::wrapping_add))
                    .collect();
                for threads in [1, 2] {
                    simd::at_every_level(|_| {
                        let sums = parallel::with_threads(threads, || {
                            let mut out = vec![7; rows];
                            product(matrix, vector, depth, &mut out);
                            out
                        });
                        assert_eq!(sums, wanted, "{rows} {depth} {strides:?}");
                    });
                }
            }
        }
    }
}
