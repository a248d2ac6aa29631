//! Elements in another order: transposes, broadcasts, slices, reversals.
use super::loop_nest::{Axis, collapse};
use crate::movement::tuning::MIN_BLOCKED_EXTENT_ELEMENTS;
use tpu_base::tensor::Shape;

/// Where the elements of a result come from: element `i` of the result is element
/// `offset + Σ strides[d]·i[d]` of the operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Element of the operand that the result's first element is.
    pub offset: usize,
    /// Operand elements from one index of the result to the next, per axis of the result.
    pub strides: Vec<isize>,
}

/// A stride as a signed number. Arrays are shorter than `isize::MAX` bytes.
pub fn signed(stride: usize) -> isize {
    isize::try_from(stride).unwrap_or(isize::MAX)
}

impl Access {
    /// Axis `d` of the operand runs along axis `axes[d]` of the result, or stands still if it
    /// has one index.
    pub fn spread(operand: &Shape, result: &Shape, axes: &[usize]) -> Self {
        let mut strides = vec![0; result.rank()];
        for ((&axis, stride), &dim) in axes.iter().zip(operand.strides()).zip(&operand.dims) {
            if dim != 1 {
                strides[axis] = signed(stride);
            }
        }
        Self { offset: 0, strides }
    }

    /// From `starts` on, every `steps[d]`th index.
    pub fn window(operand: &Shape, starts: &[usize], steps: &[usize]) -> Self {
        let strides = operand.strides();
        let offset = strides.iter().zip(starts).map(|(stride, start)| stride * start).sum();
        // The step of an axis with one index is never taken and may be any number.
        let strides = strides
            .iter()
            .zip(steps)
            .map(|(&stride, &step)| stride.checked_mul(step).map_or(isize::MAX, signed));
        Self { offset, strides: strides.collect() }
    }
}

/// An access over a result's extents, with neighbouring axes joined where that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessMap {
    pub(super) offset: usize,
    /// Extent and stride in elements, major first; at least one axis.
    pub(super) axes: Vec<(usize, isize)>,
}

impl AccessMap {
    /// The map of `access` for a result with extents `dims`.
    ///
    /// The maps of all results without elements are one map.
    pub fn new(access: &Access, dims: &[usize]) -> Self {
        if dims.contains(&0) {
            return Self { offset: 0, axes: vec![(0, 1)] };
        }
        let axes = dims.iter().zip(&access.strides);
        let axes = collapse(axes.map(|(&count, &stride)| Axis { count, steps: [stride] }));
        let mut axes: Vec<(usize, isize)> =
            axes.into_iter().map(|Axis { count, steps: [stride] }| (count, stride)).collect();
        if axes.is_empty() {
            axes.push((1, 0));
        }
        Self { offset: access.offset, axes }
    }

    /// The first element and the step to the next one, where it is the same from each to each.
    pub fn steps(&self) -> Option<(usize, isize)> {
        match self.axes[..] {
            [(_, step)] => Some((self.offset, step)),
            _ => None,
        }
    }

    /// The extents and strides of its joined axes, major first, where it begins at the first element.
    pub fn from_first(&self) -> Option<&[(usize, isize)]> {
        (self.offset == 0).then_some(&self.axes)
    }

    /// Whether the result has no element.
    fn is_empty(&self) -> bool {
        self.axes[0].0 == 0
    }

    /// Whether every element of the result is one element of the operand.
    pub fn is_one_element(&self) -> bool {
        self.axes.iter().all(|&(_, stride)| stride == 0)
    }

    /// Whether it is better followed in blocks than in runs: elements that lie side by side in the
    /// operand do not in the result.
    pub fn wants_blocks(&self) -> bool {
        let Some((&(columns, step), outer)) = self.axes.split_last() else { return false };
        let beside = |&(extent, stride): &(usize, isize)| {
            stride == 1 && extent >= MIN_BLOCKED_EXTENT_ELEMENTS
        };
        step > 1 && columns >= MIN_BLOCKED_EXTENT_ELEMENTS && outer.iter().any(beside)
    }

    /// The one element of the operand that every element of the result is.
    pub fn one_element(&self) -> Option<usize> {
        self.is_one_element().then_some(self.offset)
    }

    /// Whether the elements are a run of the operand's in order.
    pub fn run(&self) -> Option<usize> {
        matches!(self.axes[..], [(_, 1)]).then_some(self.offset)
    }

    /// How many elements of the result in a row are one of the operand, and how many lie side by
    /// side in the operand.
    pub fn innermost(&self) -> (usize, usize) {
        let same = self.axes.iter().rev().take_while(|axis| axis.1 == 0).map(|axis| axis.0);
        let run = self.axes.last().map_or(1, |&(extent, step)| if step == 1 { extent } else { 1 });
        (same.product(), run)
    }

    /// After how many elements the first one comes again, and all that follow.
    pub fn period(&self) -> usize {
        self.axes.iter().skip_while(|axis| axis.1 == 0).map(|axis| axis.0).product()
    }

    /// The operand's element that element `index` of the result is.
    pub fn at(&self, mut index: usize) -> usize {
        let mut at = self.offset;
        for &(extent, stride) in self.axes[1..].iter().rev() {
            at = at.wrapping_add_signed(isize::try_from(index % extent).unwrap_or(0) * stride);
            index /= extent;
        }
        at.wrapping_add_signed(isize::try_from(index).unwrap_or(0) * self.axes[0].1)
    }

    /// The operand's element that element `index` of the result is, and so many spans of `span`
    /// elements of the result from there on that begin equally far apart in the operand: how far,
    /// and how many. Spans that go backwards are one.
    pub fn stretch(&self, index: usize, span: usize) -> (usize, usize, usize) {
        let at = self.at(index);
        let mut size = 1;
        for &(extent, stride) in self.axes.iter().rev() {
            if span >= size * extent {
                size *= extent;
                continue;
            }
            let Ok(stride) = usize::try_from(stride) else { break };
            if span == 0 || !span.is_multiple_of(size) || !index.is_multiple_of(size) {
                break;
            }
            let steps = span / size;
            let left = extent - index / size % extent;
            return (at, steps * stride, (left / steps).max(1));
        }
        (at, 0, 1)
    }

    /// The extent of the outermost axis.
    pub fn outermost(&self) -> usize {
        self.axes[0].0
    }

    /// Whether each of `rows` equal parts of the result has only elements of the same one of as
    /// many equal parts of an operand with so many elements, at places that do not depend on the
    /// part. Then the map of one part is the beginning of the whole map.
    pub fn keeps_rows(&self, rows: usize, operand: usize) -> bool {
        let (extent, stride) = self.axes[0];
        let signed = |number: usize| isize::try_from(number).unwrap_or(isize::MAX);
        if rows == 0 || !extent.is_multiple_of(rows) || !operand.is_multiple_of(rows) {
            return false;
        }
        let (inside, row) = (extent / rows, signed(operand / rows));
        if rows > 1 && signed(inside).checked_mul(stride) != Some(row) {
            return false;
        }
        let (mut low, mut high) = (signed(self.offset), signed(self.offset));
        for &(extent, stride) in [(inside, stride)].iter().chain(&self.axes[1..]) {
            let span = signed(extent.saturating_sub(1)).saturating_mul(stride);
            let end = if span < 0 { &mut low } else { &mut high };
            *end = end.saturating_add(span);
        }
        low >= 0 && high < row
    }

    /// This map of what another one makes, as a map of that one's operand, where it is one.
    #[must_use]
    pub fn of(&self, inner: &Self) -> Option<Self> {
        if self.is_empty() {
            return Some(self.clone());
        }
        // The places of the other one's axes in its result, major first.
        let mut places = vec![1_isize; inner.axes.len()];
        for axis in (1..places.len()).rev() {
            let extent = isize::try_from(inner.axes[axis].0).ok()?;
            places[axis - 1] = places[axis].checked_mul(extent)?;
        }
        // Where the first element is, and the reach of the indices from there.
        let mut left = isize::try_from(self.offset).ok()?;
        let mut offset = isize::try_from(inner.offset).ok()?;
        let mut reach = Vec::with_capacity(places.len());
        for (&(_, stride), &place) in inner.axes.iter().zip(&places) {
            let index = left / place;
            left %= place;
            offset = offset.checked_add(index.checked_mul(stride)?)?;
            reach.push((index, index));
        }
        let mut axes = Vec::new();
        for &(extent, stride) in &self.axes {
            let count = isize::try_from(extent).ok()?;
            if count < 2 || stride == 0 {
                axes.push((extent, 0));
                continue;
            }
            let at = places.iter().position(|&place| place.abs() <= stride.abs())?;
            let (steps, rest) = (stride / places[at], stride % places[at]);
            if rest != 0 {
                return None;
            }
            let span = steps.checked_mul(count - 1)?;
            let (low, high) = &mut reach[at];
            *(if span < 0 { low } else { high }) += span;
            axes.push((extent, steps.checked_mul(inner.axes[at].1)?));
        }
        let inside = |((low, high), axis): (&(isize, isize), &(usize, isize))| {
            *low >= 0 && isize::try_from(axis.0).is_ok_and(|extent| *high < extent)
        };
        if !reach.iter().zip(&inner.axes).all(inside) {
            return None;
        }
        #[cfg(any(test, feature = "testing"))]
        fault::strike(&mut axes);
        let dims: Vec<usize> = axes.iter().map(|&(extent, _)| extent).collect();
        let strides = axes.into_iter().map(|(_, stride)| stride).collect();
        Some(Self::new(&Access { offset: usize::try_from(offset).ok()?, strides }, &dims))
    }

    /// For a map of elements that count up from zero: elements from one number to the next, and
    /// how many numbers there are, where the result counts up again and again.
    pub fn counts(&self) -> Option<(usize, usize)> {
        let mut moving = (0..self.axes.len()).filter(|&axis| self.axes[axis].1 != 0);
        let (axis, None) = (moving.next()?, moving.next()) else { return None };
        let inner = self.axes[axis + 1..].iter().map(|&(extent, _)| extent).product();
        (self.offset == 0 && self.axes[axis].1 == 1).then_some((inner, self.axes[axis].0))
    }
}

/// Counts along an axis: `count / inner % extent` for element `start` and on, as `T`.
#[inline(always)]
pub(crate) fn count_up<T: Copy>(
    start: usize,
    inner: usize,
    extent: usize,
    result: &mut [T],
    number: impl Fn(usize) -> T,
) {
    // Nothing to fill: the axis, or one behind it, may be empty.
    if result.is_empty() {
        return;
    }
    let mut index = start / inner % extent;
    let mut result = result;
    if inner == 1 {
        while !result.is_empty() {
            let (now, rest) = result.split_at_mut(result.len().min(extent - index));
            for (element, index) in now.iter_mut().zip(index..) {
                *element = number(index);
            }
            (result, index) = (rest, 0);
        }
        return;
    }
    let mut left = inner - start % inner;
    while !result.is_empty() {
        let (now, rest) = result.split_at_mut(result.len().min(left));
        now.fill(number(index));
        result = rest;
        left = inner;
        index = if index + 1 == extent { 0 } else { index + 1 };
    }
}

/// A fault that a test plants, to see that the random programs find it.
#[cfg(any(test, feature = "testing"))]
pub mod fault {
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<bool> = const { Cell::new(false) };
    }

    /// From now on, on this thread, the last two axes of a composed view change places, or not.
    pub fn plant(planted: bool) {
        PLANTED.set(planted);
    }

    pub(super) fn strike(axes: &mut [(usize, isize)]) {
        if let (true, [.., (_, one), (_, other)]) = (PLANTED.get(), axes) {
            std::mem::swap(one, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(offset: usize, strides: &[isize], dims: &[usize], operand: &[u32]) -> Vec<u32> {
        let map = AccessMap::new(&Access { offset, strides: strides.to_vec() }, dims);
        let count = dims.iter().product();
        let mut result = vec![0_u32; count];
        let operand = bytemuck::cast_slice(operand);
        map.fill(4, operand, 0, bytemuck::cast_slice_mut(&mut result));
        // Any other start gives the same tail.
        for start in 0..count {
            let mut tail = vec![0_u32; count - start];
            map.fill(4, operand, start, bytemuck::cast_slice_mut(&mut tail));
            assert_eq!(tail, result[start..], "from {start}");
        }
        result
    }

    #[test]
    fn an_axis_of_nothing_counts_nothing() {
        let mut nothing = [0_u32; 0];
        for (inner, extent) in [(0, 3), (2, 0), (0, 0)] {
            count_up(0, inner, extent, &mut nothing, |_| unreachable!("no element"));
        }
    }

    #[test]
    fn transposes_broadcasts_and_reversals_are_strides() {
        let six = [1, 2, 3, 4, 5, 6];
        assert_eq!(filled(0, &[1, 3], &[3, 2], &six), [1, 4, 2, 5, 3, 6]);
        assert_eq!(filled(0, &[0, 1], &[2, 3], &six[..3]), [1, 2, 3, 1, 2, 3]);
        assert_eq!(filled(0, &[1, 0], &[2, 3], &six[..2]), [1, 1, 1, 2, 2, 2]);
        assert_eq!(filled(5, &[-3, -1], &[2, 3], &six), [6, 5, 4, 3, 2, 1]);
        assert_eq!(filled(1, &[3, 2], &[2, 1], &six), [2, 5]);
    }

    #[test]
    fn parts_of_a_result_that_are_made_of_parts_of_the_operand_are_recognised() {
        let map = |offset, strides: &[isize], dims: &[usize]| {
            AccessMap::new(&Access { offset, strides: strides.to_vec() }, dims)
        };
        // A column beside each row, a slice of each row, each row backwards, turned matrices.
        assert!(map(0, &[1, 0], &[6, 4]).keeps_rows(6, 6));
        assert!(map(0, &[1, 0], &[6, 4]).keeps_rows(2, 6));
        assert!(map(1, &[8, 1], &[6, 4]).keeps_rows(6, 48));
        assert!(map(3, &[4, -1], &[6, 4]).keeps_rows(3, 24));
        assert!(map(0, &[12, 1, 4], &[6, 4, 3]).keeps_rows(6, 72));
        // One row everywhere, rows in reverse, a transposition, the next row.
        assert!(!map(0, &[0, 1], &[6, 4]).keeps_rows(6, 6));
        assert!(!map(20, &[-4, 1], &[6, 4]).keeps_rows(6, 24));
        assert!(!map(0, &[1, 6], &[6, 6]).keeps_rows(6, 36));
        assert!(!map(4, &[4, 1], &[5, 4]).keeps_rows(5, 20));
    }

    #[test]
    fn spans_of_a_stretch_begin_where_single_elements_are() {
        let mut long = 0;
        for (offset, strides, dims) in [
            (0, [0, 1, 0], [3, 4, 6]),
            (0, [1, 0, 3], [3, 4, 6]),
            (5, [24, 6, 1], [3, 4, 6]),
            (0, [30, 7, 1], [3, 4, 6]),
            (90, [-24, 6, 1], [3, 4, 6]),
        ] {
            let map = AccessMap::new(&Access { offset, strides: strides.to_vec() }, &dims);
            for (index, span) in (0..72).flat_map(|index| (0..30).map(move |span| (index, span))) {
                let (at, step, spans) = map.stretch(index, span);
                long += usize::from(spans > 1 && span > 1);
                for number in 0..spans {
                    let first = index + number * span;
                    assert!(first < 72, "{map:?} {index} {span}");
                    assert_eq!(at + number * step, map.at(first), "{map:?} {index} {span}");
                }
            }
        }
        assert!(long > 100, "{long}");
    }

    #[test]
    fn a_map_of_a_map_is_a_map_where_one_index_does_not_run_over_into_another() {
        let map = |offset, strides: &[isize], dims: &[usize]| {
            AccessMap::new(&Access { offset, strides: strides.to_vec() }, dims)
        };
        let data: Vec<u32> = (0..60).collect();
        let fill = |map: &AccessMap, data: &[u32], count: usize| {
            let mut result = vec![0_u32; count];
            let to = bytemuck::cast_slice_mut(&mut result);
            map.fill(4, bytemuck::cast_slice(data), 0, to);
            result
        };
        let inner = [
            (map(0, &[1, 5], &[5, 12]), 60),
            (map(0, &[1, 0, 5], &[5, 3, 12]), 180),
            (map(59, &[-5, -1], &[12, 5]), 60),
            (map(7, &[10, 1], &[5, 6]), 30),
        ];
        let outer = [
            (map(0, &[1, 12], &[12, 5]), 60),
            (map(0, &[1, 5], &[5, 6]), 30),
            (map(13, &[12, 1], &[3, 4]), 12),
            (map(0, &[0, 1], &[3, 6]), 18),
            (map(29, &[-6, -1], &[5, 6]), 30),
            (map(2, &[0], &[7]), 7),
            (map(0, &[1], &[30]), 30),
            (map(5, &[2], &[9]), 9),
        ];
        let mut composed = 0;
        for (first, made) in &inner {
            let middle = fill(first, &data, *made);
            for (second, count) in outer.iter().filter(|_| *made >= 30) {
                if *made < 60 && *count == 60 {
                    continue;
                }
                let Some(both) = second.of(first) else { continue };
                composed += 1;
                assert_eq!(fill(&both, &data, *count), fill(second, &middle, *count));
            }
        }
        assert!(composed > 12, "{composed}");
        assert_eq!(map(0, &[0, 1, 0], &[2, 3, 4]).counts(), Some((4, 3)));
        assert_eq!(map(1, &[1], &[3]).counts(), None);
    }

    #[test]
    fn maps_of_nothing_are_one_map_and_compose() {
        let map = |offset, strides: &[isize], dims: &[usize]| {
            AccessMap::new(&Access { offset, strides: strides.to_vec() }, dims)
        };
        let nothing = map(0, &[1], &[0]);
        for (strides, dims) in
            [([20, 5, 1], [3, 0, 4]), ([1, 0, 12], [0, 3, 4]), ([4, 4, 1], [3, 1, 0])]
        {
            assert_eq!(map(16, &strides, &dims), nothing);
        }
        assert_eq!(nothing.of(&nothing), Some(nothing.clone()));
        assert_eq!(nothing.of(&map(16, &[20, 5, 1], &[3, 2, 4])), Some(nothing.clone()));
        assert_eq!((nothing.run(), nothing.one_element(), nothing.period()), (Some(0), None, 0));
    }

    #[test]
    fn dense_axes_join() {
        let access = Access { offset: 2, strides: vec![12, 4, 1] };
        assert_eq!(AccessMap::new(&access, &[2, 3, 4]).run(), Some(2));
        let splat = Access { offset: 0, strides: vec![0, 0] };
        assert!(AccessMap::new(&splat, &[2, 3]).is_one_element());
    }
}
