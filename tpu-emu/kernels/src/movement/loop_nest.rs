//! Walks over several arrays at once along common axes.

/// One axis of a walk: its extent, and the elements from one index to the next in each array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis<const N: usize> {
    /// Extent.
    pub count: usize,
    /// Elements to step, by array.
    pub steps: [usize; N],
}

/// Drops axes of extent one and joins neighbours that one axis can stand for.
pub fn collapse<const N: usize>(axes: &[Axis<N>]) -> Vec<Axis<N>> {
    let mut out: Vec<Axis<N>> = Vec::with_capacity(axes.len());
    for &axis in axes.iter().filter(|axis| axis.count != 1) {
        let fits = |before: &Axis<N>| {
            let inner = axis.steps.iter().map(|step| step.checked_mul(axis.count));
            before.steps.iter().zip(inner).all(|(&outer, inner)| Some(outer) == inner)
        };
        match out.last_mut().filter(|before| fits(before)) {
            Some(before) => *before = Axis { count: before.count * axis.count, ..axis },
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
    match width {
        1 => fixed::<1>(from, base, offsets, to),
        2 => fixed::<2>(from, base, offsets, to),
        4 => fixed::<4>(from, base, offsets, to),
        8 => fixed::<8>(from, base, offsets, to),
        16 => fixed::<16>(from, base, offsets, to),
        _ => {}
    }
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
    match width {
        1 => fixed::<1>(from, base, offsets, to),
        2 => fixed::<2>(from, base, offsets, to),
        4 => fixed::<4>(from, base, offsets, to),
        8 => fixed::<8>(from, base, offsets, to),
        16 => fixed::<16>(from, base, offsets, to),
        _ => {}
    }
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
        assert_eq!(collapse(&axes), expected);
        assert_eq!(collapse(&[axis(2, [12, 6]), axis(3, [4, 2])]), [axis(6, [4, 2])]);
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
