//! The elements of 8 bits under the windows of a convolution, as the rows of a matrix.
use super::geometry::{AXES, Geometry, Window, place_room};
use super::pack_windows::loads;
use crate::matmul::bytes::{ByteMachine, ByteRows, UnitForm, lay_copied};
use crate::matmul::pack::Load;
use crate::matmul::precision::{Arithmetic, SumType};
use std::ops::Range;
use tpu_base::tensor::DType;

/// Whether a convolution is of integers of 8 bits that the machine multiplies as such, and the
/// features of a place lie beside each other.
pub(super) fn reads_bytes(
    arithmetic: &Arithmetic,
    geometry: &Geometry,
    dtypes: [DType; 3],
) -> bool {
    let is_byte = |load: &Option<Load>| matches!(load, Some(Load::S8 | Load::U8));
    arithmetic.kind == SumType::U32
        && ByteMachine::found().is_some()
        && geometry.input_features.1[0] == 1
        && loads(arithmetic, dtypes).is_some_and(|loads| loads.iter().all(is_byte))
}

/// The input of a convolution as a matrix: a row for every window, a column for every element under
/// one. The features of a place lie beside each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowBytes<'a> {
    /// Extents and strides.
    pub geometry: &'a Geometry,
    /// The input from its first element on.
    pub data: &'a [u8],
    /// Whether the elements have a sign.
    pub signed: bool,
}

impl ByteRows for WindowBytes<'_> {
    fn signed(&self) -> bool {
        self.signed
    }

    fn lay(&self, form: UnitForm, rows: Range<usize>, depth: Range<usize>, out: &mut [u32]) {
        lay_copied(form, self.signed, rows, depth.len(), out, |window, bytes| {
            self.copy(window, depth.start, bytes);
        });
    }
}

impl WindowBytes<'_> {
    /// Copies what lies under one window, from that element on; padding is zero.
    fn copy(&self, window: usize, first: usize, mut out: &mut [u8]) {
        let Self { geometry, data, .. } = *self;
        let features = geometry.input_features.0;
        let (mut room, mut more) = ([0; AXES], Vec::new());
        let places = place_room(&mut room, &mut more, geometry.windows.len());
        let image = geometry.split(window, places) * geometry.batch.1[0];
        let Some((last, outer)) = geometry.windows.split_last() else {
            out.copy_from_slice(&data[image + first..][..out.len()]);
            return;
        };
        let line = last.kernel.0 * features;
        let mut number = first / line;
        let mut from = first % line;
        while !out.is_empty() {
            let count = (line - from).min(out.len());
            let (some, rest) = std::mem::take(&mut out).split_at_mut(count);
            let mut start = Some(image);
            let mut tap = number;
            for (axis, &place) in outer.iter().zip(&*places).rev() {
                let found = axis.locate(place, tap % axis.kernel.0);
                start = start.zip(found).map(|(start, at)| start + at * axis.input.1);
                tap /= axis.kernel.0;
            }
            match start {
                Some(start) => {
                    copy_line(last, features, places[outer.len()], &data[start..], from, some);
                }
                None => some.fill(0),
            }
            out = rest;
            number += 1;
            from = 0;
        }
    }
}

/// Copies what lies under one line of a window, from that element on.
fn copy_line(
    axis: &Window,
    features: usize,
    place: usize,
    data: &[u8],
    from: usize,
    out: &mut [u8],
) {
    let corner = (place * axis.step).cast_signed() as i64 - axis.low;
    let dense = axis.dilation == 1 && axis.base_dilation == 1 && axis.input.1 == features;
    if dense {
        // Elements of the padded line before this part, and the part of it that has elements.
        let start = corner * features.cast_signed() as i64 + from.cast_signed() as i64;
        let end = (axis.input.0 * features).cast_signed() as i64;
        let within = |at: i64| usize::try_from(at.max(0)).unwrap_or(0).min(out.len());
        let (low, high) = (within(-start), within(end - start));
        if low < high {
            let first = usize::try_from(start).unwrap_or(0);
            out[low..high].copy_from_slice(&data[first..][..high - low]);
        }
        out[..low].fill(0);
        out[high.max(low)..].fill(0);
        return;
    }
    let mut out = out;
    let (mut tap, mut feature) = (from / features, from % features);
    while !out.is_empty() {
        let count = (features - feature).min(out.len());
        let (some, rest) = out.split_at_mut(count);
        match axis.locate(place, tap) {
            Some(at) => some.copy_from_slice(&data[at * axis.input.1 + feature..][..count]),
            None => some.fill(0),
        }
        out = rest;
        (tap, feature) = (tap + 1, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::tests::geometry;
    use super::*;

    #[test]
    fn rows_hold_what_lies_under_the_windows_from_any_element_on() {
        let data: Vec<u8> = (1..=200).collect();
        let apart = |change: &dyn Fn(&mut Window)| {
            let mut geometry = geometry(90, 1, [18, 3]);
            geometry.windows.iter_mut().for_each(change);
            geometry
        };
        let cases = [
            apart(&|_| {}),
            apart(&|axis| axis.low = 2),
            apart(&|axis| axis.low = -1),
            apart(&|axis| axis.dilation = 2),
            apart(&|axis| (axis.base_dilation, axis.low) = (2, 1)),
            geometry(3, 1, [36, 6]),
        ];
        for geometry in cases {
            let windows = WindowBytes { geometry: &geometry, data: &data[2..], signed: true };
            let all: usize = geometry.windows.iter().map(|axis| axis.output.0).product();
            for window in 0..geometry.batch.0 * all {
                let mut places = [0; 2];
                let image = geometry.split(window, &mut places);
                let element = |element: usize| {
                    let (tap, feature) = (element / 3, element % 3);
                    let at = |axis: usize, tap: usize| {
                        let window = &geometry.windows[axis];
                        window.locate(places[axis], tap).map(|at| at * window.input.1)
                    };
                    let place = at(0, tap / 3).zip(at(1, tap % 3));
                    let start = image * geometry.batch.1[0] + feature + 2;
                    place.map_or(0, |(row, column)| data[start + row + column])
                };
                for (first, count) in [(0, 18), (5, 11), (17, 1), (9, 0)] {
                    let mut out = vec![7; count];
                    windows.copy(window, first, &mut out);
                    let expected: Vec<u8> = (first..first + count).map(element).collect();
                    assert_eq!(out, expected, "window {window} from {first} of {geometry:?}");
                }
            }
        }
    }
}
