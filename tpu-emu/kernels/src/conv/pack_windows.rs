//! The elements under the windows of a convolution, as the rows of a matrix that is never stored.
use super::geometry::Geometry;
use crate::matmul::micro_kernel::Lane;
use crate::matmul::pack::{
    Load, Panel, Source, TRANSPOSED_STEPS, Visit, elements, lay_beside, turn,
};
use crate::matmul::precision::{Arithmetic, SumType};
use crate::simd;
use crate::simd::Loop;
use bytemuck::Pod;
use std::ops::Range;
use tpu_base::tensor::DType;

/// How input and kernel are read where products go through panels.
pub(super) fn loads(arithmetic: &Arithmetic, dtypes: [DType; 3]) -> Option<[Option<Load>; 2]> {
    let load = |dtype| match arithmetic.kind {
        SumType::F32 => Some(f32::load(arithmetic, dtype)),
        SumType::U32 => Some(u32::load(arithmetic, dtype)),
        _ => None,
    };
    load(dtypes[0]).zip(load(dtypes[1])).map(<[_; 2]>::from)
}

/// The input of a convolution as a matrix: a row for every window, a column for every element
/// under one, the features of a place beside each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowPanels<'a> {
    /// Extents and strides.
    pub geometry: &'a Geometry,
    /// How elements are read.
    pub load: Load,
    /// The input.
    pub bytes: &'a [u8],
    /// Bytes of the first element, and from one part to the next.
    pub start: [usize; 2],
}

impl<T: Panel> Source<T> for WindowPanels<'_> {
    fn pack<const W: usize>(
        &self,
        part: usize,
        free: Range<usize>,
        depth: Range<usize>,
        out: &mut [[T; W]],
    ) {
        let [start, step] = self.start;
        let bytes = self.bytes.get(start + part * step..).unwrap_or_default();
        let geometry = self.geometry;
        T::read(self.load, part, LayWindows { geometry, bytes, free, depth, out });
    }
}

struct LayWindows<'a, T, const W: usize> {
    geometry: &'a Geometry,
    bytes: &'a [u8],
    free: Range<usize>,
    depth: Range<usize>,
    out: &'a mut [[T; W]],
}

impl<T: Panel, const W: usize> Visit<T> for LayWindows<'_, T, W> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let LayWindows { geometry, bytes, free, depth, out } = self;
        let data = elements::<E>(bytes);
        let (features, [stride, _]) = geometry.input_features;
        let steps = depth.len();
        if steps == 0 || features == 0 {
            return;
        }
        let axes = geometry.windows.len();
        // Where each row's window begins along each axis, padding before it negative.
        let mut corners = vec![[0_i64; W]; axes];
        let mut places = vec![0; axes];
        let mut tap = vec![0; axes];
        for (panel, first) in out.chunks_exact_mut(steps).zip(free.clone().step_by(W)) {
            let width = W.min(free.end - first);
            let mut images = [None; W];
            for (i, image) in images[..width].iter_mut().enumerate() {
                *image = Some(geometry.split(first + i, &mut places) * geometry.batch.1[0]);
                for ((corner, axis), &place) in
                    corners.iter_mut().zip(&geometry.windows).zip(&places)
                {
                    corner[i] = signed(place * axis.step) - axis.low;
                }
            }
            let mut number = depth.start / features;
            for (tap, axis) in tap.iter_mut().zip(&geometry.windows).rev() {
                (*tap, number) = (number % axis.kernel.0.max(1), number / axis.kernel.0.max(1));
            }
            let mut feature = depth.start % features;
            let mut lines = panel;
            while !lines.is_empty() {
                let mut starts = images;
                for ((corner, axis), &tap) in corners.iter().zip(&geometry.windows).zip(&tap) {
                    let along = signed(tap * axis.dilation);
                    for (start, corner) in starts[..width].iter_mut().zip(corner) {
                        let found = axis.found(corner + along);
                        *start = start.zip(found).map(|(start, at)| start + at * axis.input.1);
                    }
                }
                let count = (features - feature).min(lines.len());
                let (some, rest) = lines.split_at_mut(count);
                let from = feature * stride;
                simd::run(Tap { data, starts, from, stride, width, lines: some, read });
                lines = rest;
                feature = 0;
                for (tap, axis) in tap.iter_mut().zip(&geometry.windows).rev() {
                    *tap += 1;
                    if *tap < axis.kernel.0 {
                        break;
                    }
                    *tap = 0;
                }
            }
        }
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The features under one element of the kernel, of some windows.
struct Tap<'a, E, T, const W: usize, F> {
    data: &'a [E],
    /// Where each window finds its elements; `None` for padding.
    starts: [Option<usize>; W],
    /// Elements before the first feature, and from one to the next.
    from: usize,
    stride: usize,
    width: usize,
    lines: &'a mut [[T; W]],
    read: F,
}

impl<E: Copy, T: Lane, const W: usize, F: Fn(E) -> T + Copy> Loop for Tap<'_, E, T, W, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { data, starts, from, stride, width, lines, read } = self;
        let first = starts[0];
        let beside = width == W
            && starts
                .iter()
                .zip(0..)
                .all(|(&start, i)| start.is_some() && start == first.map(|at| at + i));
        if let (true, Some(first)) = (beside, first) {
            for (line, at) in lines.iter_mut().zip(0..) {
                lay_beside(&data[first + from + at * stride..][..W], line, read);
            }
            return;
        }
        if stride == 1 {
            let machine = simd::shuffles();
            let mut block = [[T::ZERO; TRANSPOSED_STEPS]; W];
            let steps = lines.len();
            for (lines, at) in
                lines.chunks_mut(TRANSPOSED_STEPS).zip((0..steps).step_by(TRANSPOSED_STEPS))
            {
                for (row, start) in block.iter_mut().zip(starts) {
                    let Some(start) = start else {
                        *row = [T::ZERO; TRANSPOSED_STEPS];
                        continue;
                    };
                    lay_beside(&data[start + from + at..][..lines.len()], row, read);
                }
                turn(machine, &block, lines);
            }
            return;
        }
        for (line, at) in lines.iter_mut().zip(0..) {
            for (to, start) in line.iter_mut().zip(starts) {
                *to = start.map_or(T::ZERO, |start| read(data[start + from + at * stride]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::tests::geometry;
    use super::*;
    use bytemuck::cast_slice;

    /// Checks panels of some windows and some elements under them.
    fn check(geometry: &Geometry, free: Range<usize>, depth: Range<usize>) {
        let data: Vec<u32> = (1..=200).collect();
        let panels =
            WindowPanels { geometry, load: Load::Plain, bytes: cast_slice(&data), start: [8, 0] };
        let steps = depth.len();
        let mut out = vec![[7_u32; 4]; free.len().div_ceil(4) * steps];
        panels.pack(0, free.clone(), depth.clone(), &mut out);
        let (features, [feature, _]) = geometry.input_features;
        let across = geometry.windows[1].kernel.0;
        for (at, line) in out.iter().enumerate() {
            let element = depth.start + at % steps;
            let (tap, kind) = (element / features, element % features);
            for (i, &value) in line.iter().enumerate() {
                let window = free.start + at / steps * 4 + i;
                let mut places = [0; 2];
                let image = geometry.split(window, &mut places);
                let [rows, columns] = [0, 1].map(|axis: usize| {
                    let tap = if axis == 0 { tap / across } else { tap % across };
                    let window = &geometry.windows[axis];
                    window.locate(places[axis], tap).map(|at| at * window.input.1)
                });
                let place = rows.zip(columns).map(|(row, column)| row + column);
                let place = place.filter(|_| window < free.end);
                let wanted = place.map_or(0, |place| {
                    data[2 + image * geometry.batch.1[0] + place + kind * feature]
                });
                assert_eq!(value, wanted, "window {window}, element {element}");
            }
        }
    }

    #[test]
    fn panels_hold_what_lies_under_the_windows() {
        simd::at_every_level(|_| {
            // Features beside each other, apart, and images beside each other.
            for geometry in
                [geometry(90, 1, [18, 3]), geometry(90, 30, [6, 1]), geometry(1, 2, [36, 6])]
            {
                check(&geometry, 0..24, 0..18);
                check(&geometry, 3..17, 5..16);
                check(&geometry, 23..24, 17..18);
            }
        });
    }

    #[test]
    fn nothing_is_written_where_there_are_no_steps() {
        let geometry = geometry(90, 1, [18, 3]);
        let panels =
            WindowPanels { geometry: &geometry, load: Load::Plain, bytes: &[], start: [0, 0] };
        let mut out = [[7_u32; 4]];
        panels.pack(0, 0..4, 3..3, &mut out);
        assert_eq!(out, [[7; 4]]);
    }
}
