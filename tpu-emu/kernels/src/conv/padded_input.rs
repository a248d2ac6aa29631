//! The input of a convolution with its padding, laid out so that windows lie in order.
use crate::matmul::micro_kernel::Lane;
use crate::matmul::pack::{Load, Panel, Visit, elements, lay};
use crate::parallel;
use crate::simd;
use crate::simd::Loop;
use bytemuck::Pod;

/// One axis of a padded input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaddedAxis {
    /// Extent and stride in the input.
    pub input: (usize, usize),
    /// The place of the input that comes first; negative for padding.
    pub first: i64,
    /// Places.
    pub places: usize,
}

/// How a padded input is made of an input: the axes, then `inner` elements of every place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaddedInput {
    /// Images and spatial axes.
    pub sides: Vec<PaddedAxis>,
    /// Features of a group, then groups that lie beside each other: extents and strides.
    pub inner: [(usize, usize); 2],
    /// How often each element is repeated.
    pub times: usize,
}

impl PaddedInput {
    /// Elements of a place.
    pub(crate) fn depth(&self) -> usize {
        self.inner[0].0.saturating_mul(self.inner[1].0).saturating_mul(self.times)
    }

    /// All elements.
    pub(crate) fn elements(&self) -> usize {
        self.sides.iter().fold(self.depth(), |all, side| all.saturating_mul(side.places))
    }

    /// Elements from one place to the next of each axis.
    pub(crate) fn strides(&self) -> Vec<usize> {
        let mut stride = self.depth();
        let mut strides: Vec<usize> = Vec::with_capacity(self.sides.len());
        for side in self.sides.iter().rev() {
            strides.push(stride);
            stride = stride.saturating_mul(side.places);
        }
        strides.reverse();
        strides
    }

    /// Lays it out; the first element of the input is that of `bytes`.
    pub(crate) fn lay<T: Panel>(&self, load: Load, bytes: &[u8], out: &mut [T]) {
        T::read(load, 0, LayInput { padded: self, bytes, out });
    }
}

struct LayInput<'a, T> {
    padded: &'a PaddedInput,
    bytes: &'a [u8],
    out: &'a mut [T],
}

impl<T: Lane> Visit<T> for LayInput<'_, T> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let LayInput { padded, bytes, out } = self;
        let data = elements::<E>(bytes);
        let whole = PaddedAxis { input: (1, 0), first: 0, places: 1 };
        let (last, outer) = padded.sides.split_last().unwrap_or((&whole, &[]));
        let line = last.places * padded.depth();
        if line == 0 {
            return;
        }
        let some = parallel::items_per_chunk(line * size_of::<T>());
        parallel::chunks_mut(out, some * line, |index, out| {
            for (out, number) in out.chunks_exact_mut(line).zip(index * some..) {
                let mut start = Some(0);
                let mut number = number;
                for side in outer.iter().rev() {
                    let found = inside(side, number % side.places);
                    start = start.zip(found).map(|(start, at)| start + at * side.input.1);
                    number /= side.places;
                }
                simd::run(LastAxis { padded, last, data, start, out, read });
            }
        });
    }
}

/// Where the input has a place.
#[inline(always)]
fn inside(side: &PaddedAxis, at: usize) -> Option<usize> {
    let place = side.first.checked_add(i64::try_from(at).ok()?)?;
    usize::try_from(place).ok().filter(|&place| place < side.input.0)
}

/// The places along the last axis.
struct LastAxis<'a, E, T, F> {
    padded: &'a PaddedInput,
    last: &'a PaddedAxis,
    data: &'a [E],
    /// Where the line begins in the input; `None` for padding.
    start: Option<usize>,
    out: &'a mut [T],
    read: F,
}

impl<E: Copy, T: Lane, F: Fn(E) -> T + Copy> Loop for LastAxis<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { padded, last, data, start, out, read } = self;
        let depth = padded.depth();
        let before = usize::try_from(last.first.saturating_neg()).unwrap_or(0).min(last.places);
        let skipped = usize::try_from(last.first).unwrap_or(0);
        let count = last.input.0.saturating_sub(skipped).min(last.places - before);
        let Some(start) = start.filter(|_| count > 0) else {
            out.fill(T::ZERO);
            return;
        };
        let (padding, rest) = out.split_at_mut(before * depth);
        padding.fill(T::ZERO);
        let (out, padding) = rest.split_at_mut(count * depth);
        padding.fill(T::ZERO);
        let start = start + skipped * last.input.1;
        let [(features, feature), (groups, group)] = padded.inner;
        let whole = match (features, groups) {
            (_, 1) => features == 1 || feature == 1,
            (1, _) => group == 1,
            _ => feature == groups && group == 1,
        };
        if padded.times > 1 || !whole || (last.input.1 != depth && depth < 4) {
            for f in 0..features {
                for g in 0..groups {
                    let from = data[start + f * feature + g * group..].iter();
                    let from = from.step_by(last.input.1.max(1));
                    let first = (f * groups + g) * padded.times;
                    for (out, &from) in out.chunks_exact_mut(depth).zip(from) {
                        out[first..first + padded.times].fill(read(from));
                    }
                }
            }
        } else if last.input.1 == depth || count == 1 {
            lay(&data[start..][..out.len()], 1, out, read);
        } else {
            for (out, at) in out.chunks_exact_mut(depth).zip(0..) {
                lay(&data[start + at * last.input.1..][..depth], 1, out, read);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::cast_slice;

    fn check(sides: &[PaddedAxis], inner: [(usize, usize); 2], times: usize) {
        let data: Vec<u32> = (1..=400).collect();
        let padded = PaddedInput { sides: sides.to_vec(), inner, times };
        let mut out = vec![7_u32; padded.elements()];
        padded.lay(Load::Plain, cast_slice(&data), &mut out);
        let strides = padded.strides();
        for (at, &value) in out.iter().enumerate() {
            let mut rest = at;
            let mut start = Some(0);
            for (side, stride) in sides.iter().zip(&strides) {
                let found = inside(side, rest / stride);
                start = start.zip(found).map(|(start, at)| start + at * side.input.1);
                rest %= stride;
            }
            let (rest, group) = (rest / times, rest / times % inner[1].0);
            let more = rest / inner[1].0 * inner[0].1 + group * inner[1].1;
            assert_eq!(value, start.map_or(0, |start| data[start + more]), "{padded:?} {at}");
        }
    }

    #[test]
    fn a_padded_input_has_the_input_in_its_padding() {
        let side = |input, first, places| PaddedAxis { input, first, places };
        let images = side((2, 90), 0, 2);
        // Features beside each other, then apart, cropped, repeated, in groups.
        check(&[images, side((5, 18), -1, 7), side((6, 3), -2, 9)], [(3, 1), (1, 1)], 1);
        check(&[images, side((5, 6), 1, 3), side((6, 1), -1, 8)], [(3, 30), (1, 1)], 1);
        check(&[images, side((5, 18), 0, 5), side((6, 3), 2, 3)], [(1, 1), (3, 1)], 2);
        check(&[images, side((6, 12), -1, 7)], [(2, 5), (4, 1)], 1);
        check(&[side((6, 12), -1, 9)], [(5, 1), (1, 1)], 1);
        check(&[side((6, 12), 20, 2), side((2, 1), 0, 2)], [(1, 1), (1, 1)], 1);
        check(&[], [(5, 2), (1, 1)], 1);
    }
}
