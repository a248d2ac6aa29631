//! Elements in another order, copied.
use super::strided_view::AccessMap;
use super::transpose::{Transposed, transpose};
use crate::for_width;
use crate::parallel;
use crate::simd;
use bytemuck::Pod;

impl AccessMap {
    /// Fills `result` with the elements from number `start` on. `width` is an element's bytes.
    pub fn fill(&self, width: usize, operand: &[u8], start: usize, result: &mut [u8]) {
        for_width!(width, T => self.copy::<T>(operand, start, result));
    }

    /// Fills a result with all elements, on all threads.
    pub fn fill_all(&self, width: usize, operand: &[u8], result: &mut [u8]) {
        if self.wants_blocks() {
            return self.fill_blocks(width, operand, result);
        }
        let chunk = parallel::items_per_chunk(width);
        parallel::chunks_mut(result, chunk * width, |number, result| {
            self.fill(width, operand, number * chunk, result);
        });
    }

    /// Fills a result with all elements, block by block, on all threads.
    pub fn fill_blocks(&self, width: usize, operand: &[u8], result: &mut [u8]) {
        for_width!(width, T => self.blocks::<T>(operand, result));
    }

    fn copy<T: Pod>(&self, operand: &[u8], start: usize, result: &mut [u8]) {
        let operand: &[T] = bytemuck::cast_slice(operand);
        let mut result: &mut [T] = bytemuck::cast_slice_mut(result);
        if result.is_empty() {
            return;
        }
        let (&(inner, step), outer) = self.axes.split_last().unwrap_or((&(1, 0), &[]));
        let mut index = Indices { at: [0; Indices::RANK] };
        let mut at = index.seek(self, start);
        let mut column = start % inner;
        let (extent, above) = outer.last().copied().unwrap_or((1, 0));
        while !result.is_empty() {
            // Whole rows that follow one another along one axis, or a part of a row.
            let left = outer.len().checked_sub(1).map_or(1, |last| extent - index.at[last]);
            let count = if column == 0 { left.min(result.len() / inner) } else { 0 };
            let (length, rows) = match count {
                0 => (result.len().min(inner - column), 1),
                count => (inner, count),
            };
            let (now, rest) = result.split_at_mut(length * rows);
            let first = at.wrapping_add_signed(isize::try_from(column).unwrap_or(0) * step);
            // Rows of few columns are read by loops for these strides.
            if above == 1 && step > 4 && rows > 1 {
                let step = step.unsigned_abs();
                let size = [rows, length];
                transpose(
                    Transposed { operand: &operand[first..], step, size, width: length },
                    now,
                );
            } else {
                simd::run_to_avx2(StridedRows { operand, first, above, length, step, result: now });
            }
            result = rest;
            column = 0;
            at = index.advance(outer, at, rows);
        }
    }

    fn blocks<T: Pod + Send + Sync>(&self, operand: &[u8], result: &mut [u8]) {
        let operand: &[T] = bytemuck::cast_slice(operand);
        let result: &mut [T] = bytemuck::cast_slice_mut(result);
        let Some((&(_, stride), inner)) = self.axes.split_first() else { return };
        let size: usize = inner.iter().map(|axis| axis.0).product();
        // Lines of the cache are read by one thread, where they lie along the outermost axis.
        let least = if stride == 1 { 64 / size_of::<T>() } else { 1 };
        let chunk = parallel::items_per_chunk(size * size_of::<T>()).next_multiple_of(least);
        parallel::chunks_mut(result, chunk * size, |number, result| {
            let first = isize::try_from(number * chunk).unwrap_or(0) * stride;
            let mut axes = Vec::with_capacity(self.axes.len());
            axes.push((result.len() / size.max(1), stride, size));
            let mut place = size;
            for &(extent, stride) in inner {
                place /= extent;
                axes.push((extent, stride, place));
            }
            let Some((columns, _, _)) = axes.last().copied() else { return };
            let Some(beside) = axes.iter().position(|axis| axis.1 == 1) else { return };
            let (rows, _, width) = axes.remove(beside);
            let Some((_, step, _)) = axes.pop() else { return };
            let at = self.offset.wrapping_add_signed(first);
            let size = [rows, columns];
            each(&axes, at, 0, &mut |from, to| {
                let step = step.unsigned_abs();
                transpose(
                    Transposed { operand: &operand[from..], step, size, width },
                    &mut result[to..],
                );
            });
        });
    }
}

/// Calls `visit` with the places in the operand and in the result along all axes.
fn each(
    axes: &[(usize, isize, usize)],
    from: usize,
    to: usize,
    visit: &mut impl FnMut(usize, usize),
) {
    let Some((&(extent, stride, place), inner)) = axes.split_first() else {
        return visit(from, to);
    };
    let (mut from, mut to) = (from, to);
    for _ in 0..extent {
        each(inner, from, to, visit);
        from = from.wrapping_add_signed(stride);
        to += place;
    }
}

/// Rows of a result: their first elements are `above` apart in the operand, their elements `step`.
struct StridedRows<'a, T> {
    operand: &'a [T],
    first: usize,
    above: isize,
    length: usize,
    step: isize,
    result: &'a mut [T],
}

impl<T: Pod> simd::Loop for StridedRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match (self.step, self.length) {
            (0, 2) => self.repeated::<2>(),
            (0, 3) => self.repeated::<3>(),
            (0, 4) => self.repeated::<4>(),
            (0, 8) => self.repeated::<8>(),
            (0, _) => self.rows(|operand, from, row| row.fill(operand[from])),
            (-1, 2) => self.reversed::<2>(),
            (-1, 3) => self.reversed::<3>(),
            (-1, 4) => self.reversed::<4>(),
            (1, 2) => self.fixed::<2>(),
            (1, 3) => self.fixed::<3>(),
            (1, 4) => self.fixed::<4>(),
            (1, 5) => self.fixed::<5>(),
            (1, 8) => self.fixed::<8>(),
            (1, 16) => self.fixed::<16>(),
            (1, 32) => self.fixed::<32>(),
            (1, 64) => self.fixed::<64>(),
            (1, 128) => self.fixed::<128>(),
            (1, _) => self.rows(|operand, from, row| {
                row.copy_from_slice(&operand[from..from + row.len()]);
            }),
            (-1, _) => self.rows(|operand, from, row| {
                let from = &operand[from + 1 - row.len()..=from];
                for (to, &from) in row.iter_mut().zip(from.iter().rev()) {
                    *to = from;
                }
            }),
            (2, _) => self.strided::<2>(),
            (3, _) => self.strided::<3>(),
            (4, _) => self.strided::<4>(),
            (step, _) => self.rows(|operand, from, row| {
                let mut from = from;
                for element in row {
                    *element = operand[from];
                    from = from.wrapping_add_signed(step);
                }
            }),
        }
    }
}

impl<T: Pod> StridedRows<'_, T> {
    #[inline(always)]
    fn rows(self, fill: impl Fn(&[T], usize, &mut [T])) {
        let mut from = self.first;
        for row in self.result.chunks_exact_mut(self.length) {
            fill(self.operand, from, row);
            from = from.wrapping_add_signed(self.above);
        }
    }

    /// Each element of the operand `N` times.
    #[inline(always)]
    fn repeated<const N: usize>(self) {
        let (rows, _) = self.result.as_chunks_mut::<N>();
        if self.above == 1 {
            let from = &self.operand[self.first..][..rows.len()];
            for (row, &element) in rows.iter_mut().zip(from) {
                *row = [element; N];
            }
            return;
        }
        let mut from = self.first;
        for row in rows {
            *row = [self.operand[from]; N];
            from = from.wrapping_add_signed(self.above);
        }
    }

    /// Rows of `N` elements that lie side by side in the operand too.
    #[inline(always)]
    fn fixed<const N: usize>(self) {
        let first = self.first;
        self.dense::<N>(first, |row| row);
    }

    /// Rows of `N` elements that lie side by side in the operand in the opposite order.
    #[inline(always)]
    fn reversed<const N: usize>(self) {
        let first = self.first.wrapping_sub(N - 1);
        self.dense::<N>(first, |mut row| {
            row.reverse();
            row
        });
    }

    /// Rows of `N` elements side by side, the first of them from `from` on, each turned.
    #[inline(always)]
    fn dense<const N: usize>(self, mut from: usize, turned: impl Fn([T; N]) -> [T; N]) {
        for row in self.result.as_chunks_mut::<N>().0 {
            if let Some(found) = self.operand.get(from..).and_then(<[T]>::first_chunk::<N>) {
                *row = turned(*found);
            }
            from = from.wrapping_add_signed(self.above);
        }
    }

    /// Every `N`th element.
    #[inline(always)]
    fn strided<const N: usize>(self) {
        self.rows(|operand, from, row| {
            let from = &operand[from..from + (row.len() - 1) * N + 1];
            let (groups, last) = from.as_chunks::<N>();
            let (most, rest) = row.split_at_mut(groups.len());
            for (to, group) in most.iter_mut().zip(groups) {
                *to = group[0];
            }
            for (to, &from) in rest.iter_mut().zip(last) {
                *to = from;
            }
        });
    }
}

/// Where a walk over the outer axes is.
#[derive(Debug)]
struct Indices {
    at: [usize; Self::RANK],
}

impl Indices {
    /// Programs have arrays of at most this many axes; see `check_rank`.
    const RANK: usize = 64;

    /// Goes to the row of element `start`; gives the operand's element at its beginning.
    fn seek(&mut self, map: &AccessMap, start: usize) -> usize {
        let (&(inner, _), outer) = map.axes.split_last().unwrap_or((&(1, 0), &[]));
        let mut left = start / inner;
        let mut at = map.offset;
        for (slot, &(extent, stride)) in self.at[..outer.len()].iter_mut().zip(outer).rev() {
            *slot = left % extent;
            left /= extent;
            at = at.wrapping_add_signed(isize::try_from(*slot).unwrap_or(0) * stride);
        }
        at
    }

    /// Goes on by rows, at most to the end of the last axis.
    fn advance(&mut self, outer: &[(usize, isize)], mut at: usize, rows: usize) -> usize {
        let mut count = rows;
        for (slot, &(extent, stride)) in self.at[..outer.len()].iter_mut().zip(outer).rev() {
            *slot += count;
            at = at.wrapping_add_signed(isize::try_from(count).unwrap_or(0) * stride);
            if *slot < extent {
                return at;
            }
            *slot = 0;
            let back = isize::try_from(extent).unwrap_or(0) * stride;
            at = at.wrapping_add_signed(-back);
            count = 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::movement::strided_view::Access;
    use crate::simd::at_every_level;

    /// Every map of these strides gives what the strides say, from any start, for every width.
    fn check(offset: usize, strides: &[isize], dims: &[usize]) {
        let map = AccessMap::new(&Access { offset, strides: strides.to_vec() }, dims);
        let count: usize = dims.iter().product();
        let place = |mut index: usize| {
            let mut at = offset;
            for (&extent, &stride) in dims.iter().zip(strides).rev() {
                at = at.wrapping_add_signed(isize::try_from(index % extent).unwrap() * stride);
                index /= extent;
            }
            at
        };
        let places: Vec<usize> = (0..count).map(place).collect();
        let size = places.iter().max().map_or(0, |&last| last + 1);
        assert!((0..count).all(|index| map.at(index) == places[index]), "{strides:?} {dims:?}");
        for width in [1, 2, 4, 8, 16] {
            let mut units = vec![0_u128; (size * width).div_ceil(16) + 1];
            let operand: &mut [u8] = bytemuck::cast_slice_mut(&mut units);
            for (index, byte) in operand.iter_mut().enumerate() {
                *byte = u8::try_from((index * 7 + index / 251) % 256).unwrap();
            }
            let operand = &operand[..size * width];
            let wanted: Vec<u8> = places
                .iter()
                .flat_map(|&at| operand[at * width..(at + 1) * width].iter().copied())
                .collect();
            let mut units = vec![0_u128; (count * width).div_ceil(16) + 1];
            let result: &mut [u8] = bytemuck::cast_slice_mut(&mut units);
            for (start, end) in [(0, count), (count / 3, count), (1, count - 1), (0, count / 2)] {
                let result = &mut result[..end.saturating_sub(start) * width];
                map.fill(width, operand, start, result);
                assert!(wanted[start * width..].starts_with(result), "{strides:?} of {width}");
            }
            if map.wants_blocks() {
                let result = &mut result[..count * width];
                result.fill(0);
                parallel::with_threads(2, || map.fill_blocks(width, operand, result));
                assert!(wanted == result, "blocks {strides:?} {dims:?} of {width}");
            }
        }
    }

    #[test]
    fn every_order_of_elements_is_followed_at_every_width() {
        at_every_level(|_| {
            for inner in [2, 3, 4, 5, 7, 8, 16, 17, 40] {
                for step in [-3, -1, 0, 1, 2, 3, 4, 5] {
                    for above in [-1, 0, 1, 43, 200] {
                        let low = isize::try_from(inner).unwrap() * 3 + 9;
                        let offset = usize::try_from(low.max(0)).unwrap();
                        check(offset, &[above, step], &[9, inner]);
                    }
                }
            }
        });
    }

    #[test]
    fn axes_in_any_order_are_followed_in_blocks() {
        at_every_level(|_| {
            check(0, &[1, 70], &[70, 70]);
            check(0, &[1, 33, 33 * 20], &[33, 20, 18]);
            check(0, &[33 * 20, 1, 33], &[3, 33, 20]);
            check(5, &[20 * 130, 1, 20 * 130 * 3, 20], &[3, 9, 2, 130]);
        });
        check(0, &[1, 300, 300 * 40], &[300, 40, 30]);
        check(0, &[1, 2000], &[2000, 90]);
    }
}
