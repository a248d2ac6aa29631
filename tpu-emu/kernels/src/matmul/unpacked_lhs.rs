//! Products whose left rows are read where they lie; only the right matrix is laid out in panels.
use super::micro_kernel::Lane;
use crate::matmul::blocked::blocks;
use crate::matmul::tuning::{MAX_CACHED_RHS_ELEMENTS, MAX_NARROW_PANEL_COLUMNS};
use crate::simd;
use pulp::{Simd, WithSimd};

/// Columns of a narrow panel.
pub(crate) const NARROW: usize = 16;
/// Columns of a wide one.
pub(crate) const WIDE: usize = 32;

/// Whether so many columns leave less of narrow panels empty than of wide ones.
pub(crate) fn is_narrow(columns: usize) -> bool {
    let rest = columns % WIDE;
    columns <= MAX_NARROW_PANEL_COLUMNS && rest > 0 && rest <= NARROW
}

/// Elements beside each other under every row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementRun {
    /// Elements from where a row begins to the first one.
    pub start: usize,
    /// How many.
    pub count: usize,
}

/// `out[i, j] = Σ_l data[starts[i] + place(l)]·right[l, j]`, stored or added; `place` goes through
/// the runs.
#[derive(Debug)]
pub(crate) struct UnpackedProduct<'a, T, const P: usize> {
    /// The left elements.
    pub data: &'a [T],
    /// Where each row begins.
    pub starts: &'a [usize],
    /// The elements of a row.
    pub runs: &'a [ElementRun],
    /// Panels of [`NARROW`] or [`WIDE`] columns, a line for every element of a row.
    pub right: &'a [[T; P]],
    /// Lines from one panel to the next.
    pub pitch: usize,
    /// Columns of the result; those of the panels beyond are left out.
    pub columns: usize,
    /// The result and the elements from one row of it to the next.
    pub out: (&'a mut [T], usize),
    /// Sums are added to what is there.
    pub add: bool,
}

impl<T: Lane, const P: usize> UnpackedProduct<'_, T, P> {
    /// Computes it.
    pub(crate) fn run(self) {
        simd::with(self);
    }
}

impl<T: Lane, const P: usize> WithSimd for UnpackedProduct<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (P / S::F32_LANES, S::F32_LANES) {
            (1, _) => all::<T, S, P, 8, 1, 1>(simd, self),
            (2, 16) => all::<T, S, P, 8, 2, 2>(simd, self),
            (2, _) => all::<T, S, P, 4, 2, 2>(simd, self),
            (4, _) => all::<T, S, P, 4, 4, 2>(simd, self),
            (8, _) => all::<T, S, P, 4, 8, 2>(simd, self),
            (16, _) => all::<T, S, P, 4, 16, 2>(simd, self),
            _ => all::<T, S, P, 4, 32, 2>(simd, self),
        }
    }
}

/// Every tile: `M` rows of it at once, lines of `V` vectors, `C` of them at once.
#[inline(always)]
fn all<T: Lane, S: Simd, const P: usize, const M: usize, const V: usize, const C: usize>(
    simd: S,
    direct: UnpackedProduct<'_, T, P>,
) {
    let UnpackedProduct { data, starts, runs, right, pitch, columns, out, add } = direct;
    let (out, stride) = out;
    let depth: usize = runs.iter().map(|run| run.count).sum();
    let (tiles, panels) = (starts.len().div_ceil(M), columns.div_ceil(P));
    // A right matrix that stays in a cache is read again for the sake of writes in order.
    let in_order = depth * columns <= MAX_CACHED_RHS_ELEMENTS;
    let [outer, inner] = if in_order { [tiles, panels] } else { [panels, tiles] };
    for one in 0..outer {
        for other in 0..inner {
            let (at, panel) = if in_order { (one * M, other) } else { (other * M, one) };
            let (right, column) = (&right[panel * pitch..][..depth], panel * P);
            let (width, height) = (P.min(columns - column), M.min(starts.len() - at));
            // Rows beyond the last one repeat it and are left out.
            let mut some = [starts[starts.len() - 1]; M];
            some[..height].copy_from_slice(&starts[at..at + height]);
            let out = &mut out[at * stride + column..];
            if width == P && height == M {
                tile::<T, S, P, M, V, C>(simd, data, &some, runs, right, (out, stride), add);
                continue;
            }
            let mut sums = [[T::ZERO; P]; M];
            if add {
                for (to, from) in sums.iter_mut().zip(out.chunks(stride)).take(height) {
                    to[..width].copy_from_slice(&from[..width]);
                }
            }
            let to = (sums.as_flattened_mut(), P);
            tile::<T, S, P, M, V, C>(simd, data, &some, runs, right, to, add);
            for (from, to) in sums.iter().zip(out.chunks_mut(stride)).take(height) {
                to[..width].copy_from_slice(&from[..width]);
            }
        }
    }
}

/// One tile.
#[inline(always)]
fn tile<T: Lane, S: Simd, const P: usize, const M: usize, const V: usize, const C: usize>(
    simd: S,
    data: &[T],
    starts: &[usize; M],
    runs: &[ElementRun],
    right: &[[T; P]],
    (out, stride): (&mut [T], usize),
    add: bool,
) {
    let (lines, _) = T::vectors::<S>(right.as_flattened()).as_chunks::<V>();
    for first in (0..V).step_by(C) {
        let mut sums = [[T::splat(simd, T::ZERO); C]; M];
        let mut rest = lines;
        for &ElementRun { start, count } in runs {
            let (some, after) = rest.split_at(count);
            rest = after;
            let mut rows = [&data[..0]; M];
            for i in 0..M {
                rows[i] = &data[starts[i] + start..][..count];
            }
            for (l, line) in some.iter().enumerate() {
                for i in 0..M {
                    let factor = T::splat(simd, rows[i][l]);
                    for j in 0..C {
                        sums[i][j] = T::multiply_add(simd, factor, line[first + j], sums[i][j]);
                    }
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            let row = T::vectors_mut::<S>(&mut out[i * stride..][..P]);
            for (to, &sum) in row[first..].iter_mut().zip(sums) {
                *to = if add { T::add(simd, *to, sum) } else { sum };
            }
        }
    }
}

/// Products of small matrices of one size, one after the other. Sums of many terms are sums of sums
/// of some of them, see [`blocks`].
#[derive(Debug)]
pub(crate) struct Several<'a, T, const P: usize> {
    /// Left matrices, rows of `depth` elements, one matrix after the other.
    pub left: &'a [T],
    /// The panels of the right matrices, one matrix after the other.
    pub right: &'a [[T; P]],
    /// Rows, columns, and length of the sums; none is 0.
    pub size: [usize; 3],
    /// The results, dense.
    pub out: &'a mut [T],
}

impl<T: Lane, const P: usize> Several<'_, T, P> {
    /// Computes them.
    pub(crate) fn run(self) {
        simd::with(self);
    }
}

impl<T: Lane, const P: usize> WithSimd for Several<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { left, right, size: [m, columns, depth], out } = self;
        let panels = columns.div_ceil(P) * depth;
        let starts: Vec<usize> = (0..m).map(|row| row * depth).collect();
        let starts = &starts[..];
        let sides = left.chunks_exact(m * depth).zip(right.chunks_exact(panels));
        for ((data, right), out) in sides.zip(out.chunks_exact_mut(m * columns)) {
            for steps in blocks(depth) {
                let runs = &[ElementRun { start: steps.start, count: steps.len() }][..];
                let (right, pitch, add) = (&right[steps.start..], depth, steps.start > 0);
                let out = (&mut *out, columns);
                UnpackedProduct { data, starts, runs, right, pitch, columns, out, add }
                    .with_simd(simd);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::tuning::BLOCK_DEPTH;

    fn number(i: usize) -> u32 {
        u32::try_from(i * 37 % 1009).unwrap()
    }

    fn panels<const P: usize>(depth: usize, columns: usize) -> Vec<[u32; P]> {
        let line = |at: usize| {
            let (panel, l) = (at / depth, at % depth);
            std::array::from_fn(|j| {
                let column = panel * P + j;
                if column < columns { number(l * columns + column + 3) } else { 0 }
            })
        };
        (0..columns.div_ceil(P) * depth).map(line).collect()
    }

    fn check<const P: usize>(rows: usize, columns: usize) {
        let data: Vec<u32> = (0..400).map(number).collect();
        let starts: Vec<usize> = (0..rows).map(|i| i * 19 % 300).collect();
        let runs = [ElementRun { start: 4, count: 3 }, ElementRun { start: 50, count: 5 }];
        let stride = columns + 2;
        let mut out = vec![1_u32; rows * stride];
        let right = panels::<P>(8, columns);
        for add in [false, true] {
            let (data, starts, right) = (&data[..], &starts[..], &right[..]);
            UnpackedProduct {
                data,
                starts,
                runs: &runs,
                right,
                pitch: 8,
                columns,
                out: (&mut out, stride),
                add,
            }
            .run();
        }
        let places = [4, 5, 6, 50, 51, 52, 53, 54];
        for (at, &value) in out.iter().enumerate() {
            let (i, j) = (at / stride, at % stride);
            let each = places.iter().enumerate();
            let sum: u32 =
                each.map(|(l, place)| data[starts[i] + place] * number(l * columns + j + 3)).sum();
            assert_eq!(value, if j < columns { 2 * sum } else { 1 }, "({i}, {j}) of {columns}");
        }
    }

    #[test]
    fn rows_are_read_where_they_lie_and_edges_leave_the_rest_alone() {
        simd::at_every_level(|_| {
            for rows in [1, 4, 7, 16, 19] {
                for columns in [1, 16, 33, 64] {
                    check::<NARROW>(rows, columns);
                    check::<WIDE>(rows, columns);
                }
            }
        });
    }

    #[test]
    fn panels_are_narrow_where_wide_ones_would_be_half_empty() {
        let narrow: Vec<usize> =
            [1, 16, 17, 32, 33, 48, 49, 100, 130].into_iter().filter(|&n| is_narrow(n)).collect();
        assert_eq!(narrow, [1, 16, 33, 48, 100]);
    }

    #[test]
    fn several_products_are_each_that_of_its_matrices() {
        simd::at_every_level(|_| {
            for depth in [5, 2 * BLOCK_DEPTH] {
                several_of(depth);
            }
        });
    }

    fn several_of(depth: usize) {
        let [count, m, n] = [3, 9, 18];
        let left: Vec<u32> = (0..count * m * depth).map(number).collect();
        let one = panels::<NARROW>(depth, n);
        let right: Vec<_> = (0..count).flat_map(|_| one.clone()).collect();
        let mut out = vec![7; count * m * n];
        Several { left: &left, right: &right, size: [m, n, depth], out: &mut out }.run();
        for (at, &value) in out.iter().enumerate() {
            let (row, j) = (at / n, at % n);
            let term = |l: usize| left[row * depth + l] * number(l * n + j + 3);
            assert_eq!(value, (0..depth).map(term).sum::<u32>());
        }
    }
}
