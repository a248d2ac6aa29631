//! The kernel of a convolution as the right matrix of a product, in panels of columns.
use crate::matmul::micro_kernel::Lane;
use crate::matmul::pack::{Load, Panel, Visit, elements, lay};
use crate::simd;
use crate::simd::Loop;
use bytemuck::Pod;
use std::ops::Range;

/// How the lines of the matrix lie in the kernel. A line is an input feature under an element of
/// the kernel; the features of one follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    /// Where the elements of the kernel are.
    pub taps: &'a [usize],
    /// Lines whose panels lie together, the second of each pair.
    pub segments: &'a [(Range<usize>, Range<usize>)],
    /// Input features.
    pub features: usize,
    /// Elements from one input feature to the next, and from one column to the next.
    pub strides: [usize; 2],
    /// Columns.
    pub columns: usize,
    /// Columns of a panel; what the last one lacks is zero.
    pub width: usize,
}

impl Lines<'_> {
    /// Lays them out: segment by segment, in it panel by panel, in it line by line.
    pub(crate) fn lay<T: Panel>(&self, load: Load, bytes: &[u8], out: &mut [T]) {
        T::read(load, 0, LayFilter { lines: self, bytes, out });
    }
}

struct LayFilter<'a, T> {
    lines: &'a Lines<'a>,
    bytes: &'a [u8],
    out: &'a mut [T],
}

impl<T: Lane> Visit<T> for LayFilter<'_, T> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let LayFilter { lines, bytes, out } = self;
        simd::run(Each { lines, data: elements::<E>(bytes), out, read });
    }
}

struct Each<'a, E, T, F> {
    lines: &'a Lines<'a>,
    data: &'a [E],
    out: &'a mut [T],
    read: F,
}

impl<E: Copy, T: Lane, F: Fn(E) -> T + Copy> Loop for Each<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lines, data, out, read } = self;
        let &Lines { taps, segments, features, strides, columns, width } = lines;
        let mut out = out.chunks_exact_mut(width);
        for (_, segment) in segments {
            for first in (0..columns).step_by(width) {
                let count = width.min(columns - first);
                let (mut tap, mut feature) = (segment.start / features, segment.start % features);
                for (_, out) in segment.clone().zip(&mut out) {
                    let from = &data[taps[tap] + feature * strides[0] + first * strides[1]..];
                    let (some, rest) = out.split_at_mut(count);
                    lay(from, strides[1], some, read);
                    rest.fill(T::ZERO);
                    feature += 1;
                    if feature == features {
                        (tap, feature) = (tap + 1, 0);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::cast_slice;

    #[test]
    fn panels_hold_the_lines_of_their_segment() {
        let data: Vec<u32> = (1..=600).collect();
        let taps = [40, 0, 90];
        for (strides, columns, width) in [([20, 1], 20, 16), ([1, 7], 5, 16), ([3, 2], 6, 6)] {
            let (features, segments) = (4, [(0..1, 0..7), (1..3, 7..12)]);
            let lines =
                Lines { taps: &taps, segments: &segments, features, strides, columns, width };
            let all = columns.next_multiple_of(width);
            let mut out = vec![9_u32; 12 * all];
            lines.lay(Load::Plain, cast_slice(&data), &mut out);
            for (_, segment) in &segments {
                for (at, &value) in out[segment.start * all..segment.end * all].iter().enumerate() {
                    let panel = at / (segment.len() * width);
                    let line = segment.start + at / width % segment.len();
                    let column = panel * width + at % width;
                    let place = taps[line / features] + line % features * strides[0];
                    let wanted = data.get(place + column * strides[1]).copied().unwrap_or(0);
                    assert_eq!(value, if column < columns { wanted } else { 0 });
                }
            }
        }
    }
}
