//! Products of a matrix and a vector, which read the matrix once and in the order of its memory.
use super::accumulate::Work;
use super::pack::{Load, Panel, Source, Strided, Visit, elements, lay};
use crate::matmul::tuning::{
    GEMV_BLOCK_SUMS, GEMV_CHUNK_BYTES, GEMV_CHUNK_DEPTH, GEMV_COLUMN_DEPTH, GEMV_WIDEN_ELEMENTS,
    MAX_GEMV_SPLIT_SUMS,
};
use crate::parallel;
use crate::simd;
use crate::simd::Loop;
use bytemuck::Pod;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Rows whose sums run beside each other.
const TOGETHER: usize = 4;
/// Groups of elements of a row whose sums do.
const WAYS: usize = 4;
/// Elements of a group: those of a vector of 512 bits. Narrower vectors share one, so that each sum
/// is of the same elements in the same order.
const GROUP: usize = 16;

/// `out[i] = Σ_l matrix[i, l]·vector[l]`. Large ones are split over threads.
pub(crate) fn product<T: Panel>(
    matrix: Strided<'_>,
    vector: Strided<'_>,
    depth: usize,
    out: &mut [T],
) {
    let mut packed = Vec::new();
    let vector = if vector.load == Load::Plain && (vector.strides[1] == 1 || depth == 1) {
        &elements::<T>(vector.bytes.get(vector.start[0]..).unwrap_or_default())[..depth]
    } else {
        packed.resize(depth, [<T as Work>::ZERO]);
        vector.pack(0, 0..1, 0..depth, &mut packed);
        packed.as_flattened()
    };
    if out.len() <= MAX_GEMV_SPLIT_SUMS && depth > GEMV_CHUNK_DEPTH {
        let chunks = parallel::map(depth.div_ceil(GEMV_CHUNK_DEPTH), |chunk| {
            let steps = chunk * GEMV_CHUNK_DEPTH..depth.min((chunk + 1) * GEMV_CHUNK_DEPTH);
            let mut sums = [<T as Work>::ZERO; MAX_GEMV_SPLIT_SUMS];
            part(matrix, vector, (0, steps), &mut sums[..out.len()]);
            sums
        });
        out.fill(<T as Work>::ZERO);
        for sums in chunks {
            for (to, sum) in out.iter_mut().zip(sums) {
                *to = to.sum(sum);
            }
        }
        return;
    }
    let row = depth.saturating_mul(matrix.load.element_bytes()).max(1);
    let rows = (GEMV_CHUNK_BYTES / row).max(1);
    // Rows beside each other are read in lines, which are not cut short.
    let rows = if matrix.strides[1] == 1 { rows } else { rows.next_multiple_of(GEMV_BLOCK_SUMS) };
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
    let [across, along] = matrix.strides;
    if matrix.load == Load::Plain && along == 1 {
        let data = elements::<T>(bytes).get(first * across + steps.start..).unwrap_or_default();
        if across == vector.len() {
            match *vector {
                [a, b] => return simd::run(ShortRows { data, vector: [a, b], out }),
                [a, b, c] => return simd::run(ShortRows { data, vector: [a, b, c], out }),
                [a, b, c, d] => return simd::run(ShortRows { data, vector: [a, b, c, d], out }),
                _ => {}
            }
        }
        simd::with(WidenedRow { data, across, vector, out, add: false });
        return;
    }
    T::read(matrix.load, 0, Sums { bytes, strides: matrix.strides, from, vector, out });
}

/// Rows of `N` numbers that lie one after the other: each lane of a vector is a row. The bits are
/// those of [`WidenedRow`], which adds what fills no group one after the other too.
struct ShortRows<'a, T, const N: usize> {
    data: &'a [T],
    vector: [T; N],
    out: &'a mut [T],
}

impl<T: Panel, const N: usize> Loop for ShortRows<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, row) in self.out.iter_mut().zip(self.data.as_chunks::<N>().0) {
            let terms = self.vector.iter().zip(row);
            *out = terms.fold(<T as Work>::ZERO, |sum, (&factor, &value)| sum.plus(factor, value));
        }
    }
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
            simd::run(DotRows { data, across, vector, out, read });
        } else {
            simd::run(Columns { data, strides: [across, along], vector, out, read });
        }
    }
}

/// Rows that are dense along the sums. Elements that are no numbers yet become some in a cache.
struct DotRows<'a, E, T, F> {
    data: &'a [E],
    across: usize,
    vector: &'a [T],
    out: &'a mut [T],
    read: F,
}

impl<E: Copy, T: Panel, F: Fn(E) -> T + Copy> Loop for DotRows<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { data, across, vector, out, read } = self;
        let mut block = [<T as Work>::ZERO; TOGETHER * GEMV_WIDEN_ELEMENTS];
        for (out, first) in out.chunks_mut(TOGETHER).zip((0..).step_by(TOGETHER)) {
            for (factors, step) in
                vector.chunks(GEMV_WIDEN_ELEMENTS).zip((0..).step_by(GEMV_WIDEN_ELEMENTS))
            {
                for (row, i) in
                    block.chunks_exact_mut(GEMV_WIDEN_ELEMENTS).zip(first..first + out.len())
                {
                    lay(&data[i * across + step..][..factors.len()], 1, row, read);
                }
                let data = &block[..];
                simd::with(WidenedRow {
                    data,
                    across: GEMV_WIDEN_ELEMENTS,
                    vector: factors,
                    out,
                    add: step > 0,
                });
            }
        }
    }
}

/// Rows of numbers that are dense along the sums, some of them at a time.
struct WidenedRow<'a, T> {
    data: &'a [T],
    across: usize,
    vector: &'a [T],
    out: &'a mut [T],
    add: bool,
}

impl<T: Panel> WithSimd for WidenedRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Sums of as many rows as there are vectors for.
        match S::F32_LANES {
            GROUP => self.rows::<S, TOGETHER, 1>(simd),
            8 => self.rows::<S, { TOGETHER / 2 }, 2>(simd),
            4 => self.rows::<S, 1, 4>(simd),
            _ => self.rows::<S, 1, GROUP>(simd),
        }
    }
}

impl<T: Panel> WidenedRow<'_, T> {
    /// `M` rows at a time, with `P` vectors a group.
    #[inline(always)]
    fn rows<S: Simd, const M: usize, const P: usize>(self, simd: S) {
        let Self { data, across, vector, out, add } = self;
        let (whole, rest) = out.as_chunks_mut::<M>();
        let first = whole.len() * M;
        for (out, i) in whole.iter_mut().zip((0..).step_by(M)) {
            dots::<T, S, M, P>(simd, &data[i * across..], across, vector, out, add);
        }
        for (out, i) in rest.iter_mut().zip(first..) {
            let out = std::array::from_mut(out);
            dots::<T, S, 1, P>(simd, &data[i * across..], across, vector, out, add);
        }
    }
}

/// The sums of `M` rows, with `P` vectors a group.
#[inline(always)]
fn dots<T: Panel, S: Simd, const M: usize, const P: usize>(
    simd: S,
    data: &[T],
    across: usize,
    vector: &[T],
    out: &mut [T; M],
    add: bool,
) {
    debug_assert_eq!(P * S::F32_LANES, GROUP);
    let zero = <T as Work>::ZERO;
    let mut sums = [[[T::splat(simd, zero); P]; WAYS]; M];
    let groups = T::vectors::<S>(vector).as_chunks::<P>().0;
    let (factors, single) = groups.as_chunks::<WAYS>();
    let mut rows = [groups; M];
    for i in 0..M {
        let row = &data[i * across..][..vector.len()];
        rows[i] = &T::vectors::<S>(row).as_chunks::<P>().0[..groups.len()];
    }
    for (l, factors) in factors.iter().enumerate() {
        for i in 0..M {
            let row = &rows[i][l * WAYS..][..WAYS];
            for j in 0..WAYS {
                for p in 0..P {
                    sums[i][j][p] = T::multiply_add(simd, factors[j][p], row[j][p], sums[i][j][p]);
                }
            }
        }
    }
    let done = groups.len() * GROUP;
    for i in 0..M {
        for (factors, row) in single.iter().zip(&rows[i][factors.len() * WAYS..]) {
            for p in 0..P {
                sums[i][0][p] = T::multiply_add(simd, factors[p], row[p], sums[i][0][p]);
            }
        }
        let [a, b, c, d] = sums[i];
        let mut parts = a;
        for p in 0..P {
            parts[p] = T::add(simd, T::add(simd, a[p], b[p]), T::add(simd, c[p], d[p]));
        }
        // Halves are added to one another, as those of a vector are.
        let mut half = P / 2;
        while half > 0 {
            for p in 0..half {
                parts[p] = T::add(simd, parts[p], parts[p + half]);
            }
            half /= 2;
        }
        let mut sum = T::sum_of(simd, parts[0]);
        let last = &data[i * across..][done..vector.len()];
        for (&factor, &value) in vector[done..].iter().zip(last) {
            sum = sum.plus(factor, value);
        }
        out[i] = if add { out[i].sum(sum) } else { sum };
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
        for (out, first) in out.chunks_mut(GEMV_BLOCK_SUMS).zip((0..).step_by(GEMV_BLOCK_SUMS)) {
            out.fill(<T as Work>::ZERO);
            for (factors, step) in
                vector.chunks(GEMV_COLUMN_DEPTH).zip((0..).step_by(GEMV_COLUMN_DEPTH))
            {
                let mut sums = [<T as Work>::ZERO; GEMV_BLOCK_SUMS];
                let sums = &mut sums[..out.len()];
                let data = &data[step * along + first * across..];
                if across == 1 {
                    // Several rows at a time: each sum still takes them in their order.
                    let (some, rest) = factors.as_chunks();
                    for (factors, l) in some.iter().zip((0..).step_by(TOGETHER)) {
                        add_rows(&data[l * along..], along, factors, sums, read);
                    }
                    for (&factor, l) in rest.iter().zip(some.len() * TOGETHER..) {
                        let row = &data[l * along..][..sums.len()];
                        for (sum, &value) in sums.iter_mut().zip(row) {
                            *sum = sum.plus(factor, read(value));
                        }
                    }
                } else {
                    for (&factor, l) in factors.iter().zip(0..) {
                        let row = data[l * along..].iter().step_by(across.max(1));
                        for (sum, &value) in sums.iter_mut().zip(row) {
                            *sum = sum.plus(factor, read(value));
                        }
                    }
                }
                for (to, sum) in out.iter_mut().zip(sums) {
                    *to = to.sum(*sum);
                }
            }
        }
    }
}

/// Adds four rows times their factors to sums, one row after the other to each.
#[inline(always)]
fn add_rows<E: Copy, T: Panel>(
    data: &[E],
    along: usize,
    factors: &[T; TOGETHER],
    sums: &mut [T],
    read: impl Fn(E) -> T,
) {
    let row = |i: usize| &data[i * along..][..sums.len()];
    let rows = row(0).iter().zip(row(1)).zip(row(2)).zip(row(3));
    for (sum, (((&a, &b), &c), &d)) in sums.iter_mut().zip(rows) {
        let first = sum.plus(factors[0], read(a)).plus(factors[1], read(b));
        *sum = first.plus(factors[2], read(c)).plus(factors[3], read(d));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::cast_slice;

    #[test]
    fn every_order_of_the_matrix_gives_the_sums_for_any_number_of_threads() {
        let number = |i: usize| u32::try_from(i * 37 % 1009).unwrap();
        for (rows, depth) in [(1, 3), (5, 100), (700, 300), (3, GEMV_CHUNK_DEPTH + 5), (1100, 2)] {
            let data: Vec<u32> = (0..2 * rows * depth).map(number).collect();
            for strides in [[depth, 1], [1, rows], [2, 2 * rows]] {
                let side = |strides, start| {
                    Strided::new(Load::Plain, cast_slice(&data), [start, 0], strides)
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

    #[test]
    fn short_rows_give_the_same_bits_apart_and_one_after_the_other() {
        let number = |i: usize| (u16::try_from(i * 7919 % 10_007).unwrap() as f32).sqrt() - 40.0;
        for (depth, rows) in (2..6).flat_map(|depth| [1, 7, 16, 17, 1000].map(|rows| (depth, rows)))
        {
            let apart: Vec<f32> = (0..rows * 7 + 9).map(number).collect();
            let row = |i: usize| &apart[i * 7..][..depth];
            let beside: Vec<f32> = (0..rows).flat_map(row).copied().collect();
            simd::at_every_level(|level| {
                let sums = [(&apart, 7), (&beside, depth)].map(|(data, across)| {
                    let side = |data, strides| {
                        Strided::new(Load::Plain, cast_slice(data), [0, 0], strides)
                    };
                    let mut out = vec![f32::NAN; rows];
                    let vector = side(&apart[rows..], [0, 1]);
                    product(side(&data[..], [across, 1]), vector, depth, &mut out);
                    out
                });
                assert_eq!(sums[0], sums[1], "{level:?}: {rows} of {depth}");
            });
        }
    }

    #[test]
    fn vectors_of_every_width_with_one_rounding_give_the_same_bits() {
        let number = |i: usize| (u16::try_from(i * 7919 % 10_007).unwrap() as f32).sqrt() - 40.0;
        let data: Vec<f32> = (0..9 * 300).map(number).collect();
        for rows in [1, 2, 3, 4, 9] {
            for depth in [0, 1, 7, 8, 15, 16, 17, 31, 48, 63, 64, 65, 100, 127, 130, 300] {
                let side = |strides, start| {
                    Strided::new(Load::Plain, cast_slice(&data), [start, 0], strides)
                };
                let found: std::cell::OnceCell<Vec<u32>> = std::cell::OnceCell::new();
                simd::at_every_level(|level| {
                    if level != simd::Level::Portable {
                        let mut out = vec![f32::NAN; rows];
                        product(side([300, 1], 0), side([0, 1], 4), depth, &mut out);
                        let bits: Vec<u32> = out.iter().map(|sum| sum.to_bits()).collect();
                        let known = found.get_or_init(|| bits.clone());
                        assert_eq!(*known, bits, "{rows} of {depth}");
                    }
                });
            }
        }
    }
}
