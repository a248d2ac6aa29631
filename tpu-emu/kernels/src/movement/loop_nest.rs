//! Loops over several arrays at once along common axes, as few as there can be.
use crate::for_width;

/// Elements or bytes from one index of an axis to the next.
pub trait Step: Copy + PartialEq {
    /// So many steps as one; `None` past the largest.
    fn times(self, count: usize) -> Option<Self>;
}

impl Step for usize {
    fn times(self, count: usize) -> Option<Self> {
        self.checked_mul(count)
    }
}

impl Step for isize {
    fn times(self, count: usize) -> Option<Self> {
        self.checked_mul(Self::try_from(count).ok()?)
    }
}

/// One axis of a loop nest: its extent, and the step from one index to the next in each array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis<const N: usize, S = usize> {
    /// Extent.
    pub count: usize,
    /// Steps, by array.
    pub steps: [S; N],
}

impl<const N: usize, S: Step> Axis<N, S> {
    /// The axis that stands for this one and the one inside of it, where one can.
    pub fn joined(self, inner: Self) -> Option<Self> {
        let mut steps = self.steps.iter().zip(inner.steps);
        let continues = steps.all(|(&outer, step)| step.times(inner.count) == Some(outer));
        continues.then(|| Self { count: self.count * inner.count, ..inner })
    }
}

/// Drops axes of extent one and joins neighbours that one axis can stand for; outer axes first.
pub fn collapse<const N: usize, S: Step>(
    axes: impl IntoIterator<Item = Axis<N, S>>,
) -> Vec<Axis<N, S>> {
    let axes = axes.into_iter();
    let mut out: Vec<Axis<N, S>> = Vec::with_capacity(axes.size_hint().1.unwrap_or(0));
    for axis in axes.filter(|axis| axis.count != 1) {
        match out.last_mut().and_then(|outer| Some((outer.joined(axis)?, outer))) {
            Some((joined, outer)) => *outer = joined,
            None => out.push(axis),
        }
    }
    out
}

/// Calls `row` for every run along the last axis: offsets of its first elements, its length, and
/// the steps along it. Runs come in row-major order of the other axes.
///
/// # Errors
/// The first one of `row`.
pub fn rows<const N: usize, E>(
    axes: &[Axis<N>],
    start: [usize; N],
    row: &mut dyn FnMut([usize; N], usize, [usize; N]) -> Result<(), E>,
) -> Result<(), E> {
    match axes {
        [] => row(start, 1, [1; N]),
        [axis] if axis.count == 0 => Ok(()),
        [axis] => row(start, axis.count, axis.steps),
        [axis, rest @ ..] => {
            let mut at = start;
            for _ in 0..axis.count {
                rows(rest, at, row)?;
                for (at, step) in at.iter_mut().zip(axis.steps) {
                    *at += step;
                }
            }
            Ok(())
        }
    }
}

/// Copies elements of `width` bytes at `base + offset` for each offset into `to`, side by side.
pub fn gather(width: usize, from: &[u8], base: usize, offsets: &[usize], to: &mut [u8]) {
    fn fixed<const W: usize>(from: &[u8], base: usize, offsets: &[usize], to: &mut [u8]) {
        let (from, _) = from.as_chunks::<W>();
        let (to, _) = to.as_chunks_mut::<W>();
        for (to, offset) in to.iter_mut().zip(offsets) {
            *to = from[base + offset];
        }
    }
    for_width!(width, T => fixed::<{ size_of::<T>() }>(from, base, offsets, to), else ());
}

/// The converse of [`gather`]: element `i` of `from` goes to `base + offsets[i]`.
pub fn spread(width: usize, from: &[u8], base: usize, offsets: &[usize], to: &mut [u8]) {
    fn fixed<const W: usize>(from: &[u8], base: usize, offsets: &[usize], to: &mut [u8]) {
        let (from, _) = from.as_chunks::<W>();
        let (to, _) = to.as_chunks_mut::<W>();
        for (from, offset) in from.iter().zip(offsets) {
            to[base + offset] = *from;
        }
    }
    for_width!(width, T => fixed::<{ size_of::<T>() }>(from, base, offsets, to), else ());
}

/// Cuts memory into parts of the given sizes, each starting at a multiple of 64 bytes.
pub fn carve(mut memory: &mut [u8], sizes: impl IntoIterator<Item = usize>) -> Vec<&mut [u8]> {
    let mut parts = Vec::new();
    for size in sizes {
        let (part, rest) = memory.split_at_mut(size.next_multiple_of(64));
        parts.push(&mut part[..size]);
        memory = rest;
    }
    parts
}

/// Bytes that [`carve`] needs for these sizes.
pub fn carved(sizes: impl IntoIterator<Item = usize>) -> usize {
    sizes.into_iter().map(|size| size.next_multiple_of(64)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join_where_all_arrays_agree() {
        let axis = |count, steps| Axis::<2> { count, steps };
        let axes = [axis(2, [12, 4]), axis(1, [7, 7]), axis(3, [4, 0]), axis(4, [1, 1])];
        let expected = [axis(2, [12, 4]), axis(3, [4, 0]), axis(4, [1, 1])];
        assert_eq!(collapse(axes), expected);
        assert_eq!(collapse([axis(2, [12, 6]), axis(3, [4, 2])]), [axis(6, [4, 2])]);
    }

    #[test]
    fn steps_back_join_and_steps_past_the_largest_do_not() {
        let axis = |count, step| Axis { count, steps: [step] };
        assert_eq!(collapse([axis(2, -3_isize), axis(3, -1)]), [axis(6, -1)]);
        let apart = [axis(2, 0_isize), axis(4, isize::MAX)];
        assert_eq!(collapse(apart), apart);
    }

    #[test]
    fn rows_come_in_order() {
        let axes = [Axis { count: 2, steps: [10] }, Axis { count: 3, steps: [2] }];
        let mut seen = Vec::new();
        let done: Result<(), ()> = rows(&axes, [5], &mut |at, count, steps| {
            seen.push((at, count, steps));
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(seen, [([5], 3, [2]), ([15], 3, [2])]);
    }
}
