//! Copies of blocks between arrays, and fills: bytes of any element width.
use super::loop_nest::{Axis, collapse};
use crate::for_width;
use crate::movement::tuning::FILL_BLOCK_BYTES;
use crate::parallel;
use crate::simd;
use crate::simd::Loop;
use crate::tuning::CHUNK_BYTES;
use bytemuck::Pod;

/// One loop of a copy: how often, and how many bytes further on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CopyLoop {
    count: usize,
    from: usize,
    to: usize,
}

/// A copy of a block with any strides, reduced to as few loops and as long runs as it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCopy {
    /// Outer loops first.
    axes: Vec<CopyLoop>,
    /// Bytes that lie side by side on both sides; 0 for an empty block.
    run: usize,
}

impl BlockCopy {
    /// A block of `dims` elements of `width` bytes; `from` and `to` are the elements from one
    /// index to the next, per axis, in the source and in the destination.
    pub fn new(width: usize, dims: &[usize], from: &[usize], to: &[usize]) -> Self {
        if width == 0 || dims.contains(&0) {
            return Self { axes: Vec::new(), run: 0 };
        }
        let axes = dims.iter().zip(from.iter().zip(to));
        let axes = axes
            .map(|(&count, (from, to))| Axis { count, steps: [from, to].map(|step| step * width) });
        let axes = collapse(axes).into_iter();
        let mut axes: Vec<CopyLoop> =
            axes.map(|Axis { count, steps: [from, to] }| CopyLoop { count, from, to }).collect();
        let inner = axes.pop_if(|inner| inner.from == width && inner.to == width);
        Self { axes, run: width * inner.map_or(1, |inner| inner.count) }
    }

    /// Copies the block; both slices begin at its first element.
    pub fn run(&self, from: &[u8], to: &mut [u8]) {
        if self.run > 0 {
            level(&self.axes, self.run, from, to);
        }
    }

    /// Elements of the block, and their bytes, if they lie side by side in the source, and in the
    /// destination each is the first of so many.
    pub fn each_of(&self, turns: usize) -> Option<(usize, usize)> {
        match self.axes[..] {
            [axis] if axis.from == self.run && axis.to == turns * self.run => {
                Some((axis.count, self.run))
            }
            _ => None,
        }
    }

    /// Copies the block on all threads, where it is large.
    pub fn run_shared(&self, from: &[u8], to: &mut [u8]) {
        let Some((&outer, inner)) = self.axes.split_first() else {
            let (from, to) = (&from[..self.run], &mut to[..self.run]);
            return parallel::chunks_mut(to, CHUNK_BYTES, |number, to| {
                to.copy_from_slice(&from[number * CHUNK_BYTES..][..to.len()]);
            });
        };
        let bytes = inner.iter().fold(self.run, |bytes, axis| bytes * axis.count);
        let reach: usize =
            self.run + inner.iter().map(|axis| (axis.count - 1) * axis.to).sum::<usize>();
        let chunk = parallel::items_per_chunk(bytes);
        // Chunks of the outer loop, where it goes through the destination once.
        if self.run == 0 || chunk >= outer.count || reach > outer.to {
            return self.run(from, to);
        }
        let end = (outer.count - 1) * outer.to + reach;
        parallel::chunks_mut(&mut to[..end], chunk * outer.to, |number, to| {
            let first = number * chunk;
            let part = CopyLoop { count: chunk.min(outer.count - first), ..outer };
            let from = &from[first * outer.from..];
            match inner {
                [] => level(&[part], self.run, from, to),
                _ => each(part, inner, self.run, from, to),
            }
        });
    }

    /// The block's outermost loop, if it goes through a destination of so many bytes once: how
    /// often, and the bytes further on each side; and the rest of the block.
    pub fn outermost(&self, bytes: usize) -> Option<([usize; 3], Self)> {
        let (&CopyLoop { count, from, to }, inner) = self.axes.split_first()?;
        (to.checked_mul(count) == Some(bytes))
            .then(|| ([count, from, to], Self { axes: inner.to_vec(), run: self.run }))
    }

    /// Where its runs begin in the source and in the destination, and the bytes of each. `None`
    /// for more than `most` of them.
    pub fn runs(&self, most: usize) -> Option<(Vec<(usize, usize)>, usize)> {
        let count = self.axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.count));
        if count > most {
            return None;
        }
        let mut runs = vec![(0, 0)];
        for axis in &self.axes {
            let along = |&(from, to): &(usize, usize)| {
                (0..axis.count).map(move |at| (from + at * axis.from, to + at * axis.to))
            };
            runs = runs.iter().flat_map(along).collect();
        }
        Some((runs, self.run))
    }

    /// The bytes, if the block is one run on both sides.
    pub fn one_run(&self) -> Option<usize> {
        self.axes.is_empty().then_some(self.run)
    }
}

fn level(axes: &[CopyLoop], run: usize, from: &[u8], to: &mut [u8]) {
    match axes {
        [] => to[..run].copy_from_slice(&from[..run]),
        &[axis] => match run {
            1 => elements::<1>(axis, from, to),
            2 => elements::<2>(axis, from, to),
            4 => elements::<4>(axis, from, to),
            8 => elements::<8>(axis, from, to),
            12 => elements::<12>(axis, from, to),
            16 => elements::<16>(axis, from, to),
            20 => elements::<20>(axis, from, to),
            24 => elements::<24>(axis, from, to),
            28 => elements::<28>(axis, from, to),
            32 => elements::<32>(axis, from, to),
            40 => elements::<40>(axis, from, to),
            48 => elements::<48>(axis, from, to),
            64 => elements::<64>(axis, from, to),
            128 => elements::<128>(axis, from, to),
            256 => elements::<256>(axis, from, to),
            33..=63 => ends::<32, false>(axis, run, from, to),
            65..=127 => ends::<64, false>(axis, run, from, to),
            129..=255 => ends::<128, false>(axis, run, from, to),
            257..=384 => ends::<128, true>(axis, run, from, to),
            _ => {
                for index in 0..axis.count {
                    let from = &from[index * axis.from..][..run];
                    to[index * axis.to..][..run].copy_from_slice(from);
                }
            }
        },
        [axis, inner @ ..] => each(*axis, inner, run, from, to),
    }
}

fn each(axis: CopyLoop, inner: &[CopyLoop], run: usize, from: &[u8], to: &mut [u8]) {
    for index in 0..axis.count {
        level(inner, run, &from[index * axis.from..], &mut to[index * axis.to..]);
    }
}

/// One loop over runs of `N` bytes: the length is known to the compiler.
fn elements<const N: usize>(axis: CopyLoop, from: &[u8], to: &mut [u8]) {
    let CopyLoop { count, from: from_step, to: to_step } = axis;
    if to_step == N && from_step == 2 * N {
        let whole = (from.len() / (2 * N)).min(count);
        let (to, last) = to[..count * N].split_at_mut(whole * N);
        for (to, from) in to.chunks_exact_mut(N).zip(from.chunks_exact(2 * N)) {
            to.copy_from_slice(&from[..N]);
        }
        // The last element may have nothing behind it.
        last.copy_from_slice(&from[whole * 2 * N..][..last.len()]);
    } else if from_step == N && to_step == 2 * N {
        apart::<N>(2 * N, &from[..count * N], to);
    } else if from_step == N && to_step > N {
        apart::<N>(to_step, &from[..count * N], to);
    } else if to_step == N {
        for (index, to) in to[..count * N].chunks_exact_mut(N).enumerate() {
            to.copy_from_slice(&from[index * from_step..][..N]);
        }
    } else {
        for index in 0..count {
            to[index * to_step..][..N].copy_from_slice(&from[index * from_step..][..N]);
        }
    }
}

/// One loop over runs of `N` to `2 · N` bytes, or `3 · N` with what lies between: their first and
/// their last `N` bytes, some of them twice. Each length is known to the compiler.
fn ends<const N: usize, const BETWEEN: bool>(
    axis: CopyLoop,
    run: usize,
    from: &[u8],
    to: &mut [u8],
) {
    for index in 0..axis.count {
        let from = &from[index * axis.from..][..run];
        let to = &mut to[index * axis.to..][..run];
        to[..N].copy_from_slice(&from[..N]);
        if BETWEEN {
            to[N..][..N].copy_from_slice(&from[N..][..N]);
        }
        to[run - N..].copy_from_slice(&from[run - N..]);
    }
}

/// Copies runs of `N` bytes that lie side by side to places that are `step` bytes apart, which is
/// `N` or more.
#[inline(always)]
fn apart<const N: usize>(step: usize, from: &[u8], to: &mut [u8]) {
    let count = from.len() / N;
    // The last run may have nothing behind it.
    let whole = (to.len() / step).min(count);
    let (to, last) = to.split_at_mut(whole * step);
    for (to, from) in to.chunks_exact_mut(step).zip(from.chunks_exact(N)) {
        to[..N].copy_from_slice(from);
    }
    last[..(count - whole) * N].copy_from_slice(&from[whole * N..]);
}

/// Fills `to` with copies of one element, on all threads where it is large. Elements have one, two,
/// four, eight or sixteen bytes.
pub fn fill_shared(to: &mut [u8], element: &[u8]) {
    parallel::chunks_mut(to, CHUNK_BYTES, |_, to| fill(to, element));
}

/// Fills `to` with copies of one element.
pub fn fill(to: &mut [u8], element: &[u8]) {
    let Some(&first) = element.first() else { return };
    if element.iter().all(|&byte| byte == first) {
        to.fill(first);
        return;
    }
    // Blocks of many elements: the copies are long whatever the width.
    let head = FILL_BLOCK_BYTES.min(to.len());
    let (block, rest) = to.split_at_mut(head - head % element.len());
    for part in block.chunks_exact_mut(element.len()) {
        part.copy_from_slice(element);
    }
    if block.is_empty() {
        return;
    }
    for part in rest.chunks_mut(block.len()) {
        part.copy_from_slice(&block[..part.len()]);
    }
}

/// Copies elements into every second place, and `between` into the others; `to` has room for
/// twice the elements.
pub fn interleave(from: &[u8], between: &[u8], to: &mut [u8]) {
    fn fixed<const N: usize>(from: &[u8], between: &[u8], to: &mut [u8]) {
        let ((from, _), (to, _)) = (from.as_chunks::<N>(), to.as_chunks_mut::<N>());
        let Some(&between) = between.first_chunk::<N>() else { return };
        let (pairs, _) = to.as_chunks_mut::<2>();
        for (to, &from) in pairs.iter_mut().zip(from) {
            *to = [from, between];
        }
    }
    let chunk = CHUNK_BYTES;
    parallel::chunks_mut(to, chunk, |number, to| {
        let from = &from[number * chunk / 2..][..to.len() / 2];
        for_width!(between.len(), T => fixed::<{ size_of::<T>() }>(from, between, to));
    });
}

/// Copies elements of `width` bytes from some arrays in turn: the first of each, then the second.
/// `None` for a width or a number of arrays without a loop.
pub fn in_turn(width: usize, arrays: &[&[u8]], to: &mut [u8]) -> Option<()> {
    let run: fn(&[&[u8]], &mut [u8]) = for_width!(width, T => match arrays.len() {
        2 => turns::<T, 2>,
        3 => turns::<T, 3>,
        4 => turns::<T, 4>,
        6 => turns::<T, 6>,
        8 => turns::<T, 8>,
        _ => return None,
    }, else return None);
    let row = width * arrays.len();
    let chunk = CHUNK_BYTES / row * row;
    parallel::chunks_mut(to, chunk, |number, to| {
        let first = number * chunk / arrays.len();
        let mut parts: [&[u8]; 8] = [&[]; 8];
        for (slot, from) in parts.iter_mut().zip(arrays) {
            *slot = &from[first..][..to.len() / arrays.len()];
        }
        run(&parts[..arrays.len()], to);
    });
    Some(())
}

fn turns<T: Pod, const K: usize>(arrays: &[&[u8]], to: &mut [u8]) {
    struct InTurn<'a, T, const K: usize>([&'a [T]; K], &'a mut [[T; K]]);
    impl<T: Pod, const K: usize> Loop for InTurn<'_, T, K> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            let Self(arrays, rows) = self;
            let arrays = arrays.map(|array| &array[..rows.len()]);
            for (at, row) in rows.iter_mut().enumerate() {
                *row = arrays.map(|array| array[at]);
            }
        }
    }
    let (rows, _) = bytemuck::cast_slice_mut::<u8, T>(to).as_chunks_mut::<K>();
    let mut parts: [&[T]; K] = [&[]; K];
    for (part, array) in parts.iter_mut().zip(arrays) {
        *part = bytemuck::cast_slice(array);
    }
    simd::run(InTurn(parts, rows));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_continue_each_other_become_one() {
        let whole = BlockCopy::new(4, &[2, 3, 4], &[12, 4, 1], &[12, 4, 1]);
        assert_eq!(whole, BlockCopy { axes: Vec::new(), run: 96 });
        assert_eq!(whole.one_run(), Some(96));
        // The columns of a slice: two loops over rows are one, each a run of two elements.
        let slice = BlockCopy::new(4, &[2, 3, 2], &[12, 4, 1], &[6, 2, 1]);
        assert_eq!(slice, BlockCopy { axes: vec![CopyLoop { count: 6, from: 16, to: 8 }], run: 8 });
        assert_eq!(BlockCopy::new(4, &[2, 0], &[0, 1], &[0, 1]).run, 0);
    }

    #[test]
    fn a_transposition_is_copied_for_every_width() {
        for width in [1, 2, 4, 8, 16, 3] {
            let from: Vec<u8> = (0..6 * width).map(|byte| u8::try_from(byte).unwrap()).collect();
            let mut to = vec![0; 6 * width];
            BlockCopy::new(width, &[3, 2], &[1, 3], &[2, 1]).run(&from, &mut to);
            let order: Vec<usize> =
                to.chunks(width).map(|element| usize::from(element[0]) / width).collect();
            assert_eq!(order, [0, 3, 1, 4, 2, 5], "{width}");
        }
    }

    #[test]
    fn shared_copies_are_the_same_for_any_number_of_threads() {
        let bytes: Vec<u8> =
            (0..3_000_000).map(|at: u32| at.to_le_bytes()[1] ^ at.to_le_bytes()[0]).collect();
        for (width, dims, from, to) in [
            (1, vec![900_000], vec![1], vec![1]),
            (4, vec![1000, 300], vec![300, 1], vec![700, 1]),
            (4, vec![500, 40, 10], vec![400, 10, 1], vec![1000, 20, 1]),
            (2, vec![300_000], vec![2], vec![1]),
            (2, vec![300_001], vec![1], vec![2]),
            (12, vec![50_000], vec![1], vec![2]),
            // The outer loop goes through the destination in between.
            (4, vec![3, 60_000], vec![60_000, 1], vec![1, 3]),
        ] {
            let copy = BlockCopy::new(width, &dims, &from, &to);
            let mut expected = vec![7; 3_000_000];
            copy.run(&bytes, &mut expected);
            for threads in [1, 2, 5] {
                let mut found = vec![7; 3_000_000];
                parallel::with_threads(threads, || copy.run_shared(&bytes, &mut found));
                assert!(found == expected, "{dims:?} on {threads} threads");
            }
        }
    }

    #[test]
    fn every_second_element_is_copied_up_to_the_last() {
        for count in [1, 2, 5] {
            let apart: Vec<u16> = (0..2 * count - 1).collect();
            let every = usize::from(count);
            let mut to = vec![9_u16; every];
            let copy = BlockCopy::new(2, &[every], &[2], &[1]);
            copy.run(bytemuck::cast_slice(&apart), bytemuck::cast_slice_mut(&mut to));
            assert_eq!(to, (0..count).map(|at| 2 * at).collect::<Vec<_>>());
            let mut back = vec![9_u16; 2 * every - 1];
            let copy = BlockCopy::new(2, &[every], &[1], &[2]);
            copy.run(bytemuck::cast_slice(&to), bytemuck::cast_slice_mut(&mut back));
            let expected = (0..2 * count - 1).map(|at| if at % 2 == 0 { at } else { 9 });
            assert_eq!(back, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_are_copied_into_longer_ones_up_to_the_last() {
        for (row, step) in [
            (1, 4),
            (3, 4),
            (3, 7),
            (2, 2),
            (5, 9),
            (9, 9),
            (17, 20),
            (33, 40),
            (64, 70),
            (65, 66),
            (96, 99),
            (97, 98),
        ] {
            for count in [1, 2, 8, 9, 17] {
                let from: Vec<u32> = (1..).take(row * count).collect();
                let expected = |at: usize| {
                    let place = at / step * row + at % step;
                    if at % step < row { from[place] } else { 0 }
                };
                let length = (count - 1) * step + row;
                let mut to = vec![0; length];
                let copy = BlockCopy::new(4, &[count, row], &[row, 1], &[step, 1]);
                copy.run(bytemuck::cast_slice(&from), bytemuck::cast_slice_mut(&mut to));
                assert_eq!(to, (0..length).map(expected).collect::<Vec<u32>>(), "{row} {step}");
            }
        }
    }

    #[test]
    fn a_fill_repeats_the_element_past_the_first_block() {
        let mut to = vec![0; 3 * 4099];
        fill(&mut to, &[1, 2, 3]);
        assert!(to.chunks(3).all(|element| element == [1, 2, 3]));
        let mut bytes = vec![0; 5];
        fill(&mut bytes, &[7]);
        assert_eq!(bytes, [7; 5]);
        fill(&mut [], &[1, 2]);
    }
}
