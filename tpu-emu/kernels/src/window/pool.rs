//! Windows over arrays, of which the windows or the input may be dilated, row by row of the outputs.
use super::geometry::WindowAxis;
use std::ops::Range;

/// Windows along axes between outer ones and inner ones that they do not run along.
///
/// A row is the outputs along the last axis of windows, each of `inner` elements.
#[derive(Debug)]
pub struct Pool {
    outer: usize,
    axes: Vec<WindowAxis>,
    inner: usize,
    /// Elements of the input from one index to the next, per axis.
    steps: Vec<usize>,
}

impl Pool {
    /// Windows along these axes. `None` where there are none, where the input and the
    /// window are both dilated, and for numbers past any array's.
    pub fn new(axes: &[WindowAxis]) -> Option<Self> {
        const MOST: i128 = 1 << 48;
        let first = axes.iter().position(|axis| !axis.is_trivial())?;
        let last = axes.iter().rposition(|axis| !axis.is_trivial())?;
        let count = |axes: &[WindowAxis]| axes.iter().map(|axis| axis.input).product::<usize>();
        let (outer, inner) = (count(&axes[..first]), count(&axes[last + 1..]));
        let axes = &axes[first..=last];
        let wide = |value: usize| i128::try_from(value).ok();
        for axis in axes {
            let over = wide(axis.output)?.checked_mul(wide(axis.stride)?)?;
            let inside = wide(axis.size)?.checked_mul(wide(axis.dilation)?)?;
            let low = i128::from(axis.low).abs();
            let dilated = wide(axis.input)?.checked_mul(wide(axis.base)?)?;
            let both = axis.base != 1 && axis.dilation != 1;
            if both || axis.input == 0 || [over, inside, low, dilated].iter().any(|&n| n > MOST) {
                return None;
            }
        }
        let mut steps = vec![inner; axes.len()];
        for index in (1..axes.len()).rev() {
            steps[index - 1] = steps[index] * axes[index].input;
        }
        Some(Self { outer, axes: axes.to_vec(), inner, steps })
    }

    /// Whether the input is dilated along a row.
    pub fn is_spread(&self) -> bool {
        self.axes[self.axes.len() - 1].base != 1
    }

    /// Elements that windows do not run along, behind those that they do.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// Independent arrays, one after the other.
    pub fn outer(&self) -> usize {
        self.outer
    }

    /// Elements of one of them, in the input.
    pub fn chunk(&self) -> usize {
        self.steps[0] * self.axes[0].input
    }

    /// Rows of outputs of one of them.
    pub fn rows(&self) -> usize {
        self.axes[..self.axes.len() - 1].iter().map(|axis| axis.output).product()
    }

    /// The windows along a row.
    pub fn along(&self) -> Along {
        let axis = self.axes[self.axes.len() - 1];
        Along { axis, inner: self.inner }
    }

    /// Places of a window.
    pub fn places(&self) -> usize {
        self.axes.iter().fold(1, |count, axis| count.saturating_mul(axis.size))
    }

    /// Where the rows of the input begin that row `row` of the outputs has windows over, in the
    /// order of the windows' places; in elements.
    pub fn bases(&self, row: usize, bases: &mut Vec<usize>) {
        let axes = &self.axes[..self.axes.len() - 1];
        let rows = self.rows().max(1);
        bases.clear();
        bases.push(row / rows * self.chunk());
        let mut below = rows;
        for (axis, step) in axes.iter().zip(&self.steps) {
            below /= axis.output.max(1);
            let (first, count) = span(axis, row / below.max(1) % axis.output.max(1));
            // From the last one on, so that none is overwritten before it is read.
            let before = bases.len();
            bases.resize(before.max(before * count), 0);
            for index in (0..before).rev() {
                let base = bases[index] + first * step;
                for place in 0..count {
                    bases[index * count + place] = base + place * axis.dilation * step;
                }
            }
            bases.truncate(before * count);
        }
    }
}

/// The windows along the last axis.
#[derive(Debug, Clone, Copy)]
pub struct Along {
    axis: WindowAxis,
    inner: usize,
}

impl Along {
    /// Outputs of a row.
    pub fn outputs(&self) -> usize {
        self.axis.output
    }

    /// Places of a window along the row.
    pub fn size(&self) -> usize {
        self.axis.size
    }

    /// Elements of the input from one place of a window to the next.
    pub fn step(&self) -> usize {
        self.axis.dilation * self.inner
    }

    /// Elements of the input from one window to the next.
    pub fn stride(&self) -> usize {
        self.axis.stride * self.inner
    }

    /// The first element of a window that is inside, and how many places are.
    #[inline(always)]
    pub fn span(&self, output: usize) -> (usize, usize) {
        let (first, count) = span(&self.axis, output);
        (first * self.inner, count)
    }

    /// Whether each window begins one element behind the one before and has no gaps.
    pub fn is_dense(&self) -> bool {
        self.axis.stride == 1 && self.axis.dilation == 1
    }

    /// Of a row whose input is not dilated: those of some outputs that have a place of their window inside, and the first one's
    /// element there.
    #[inline(always)]
    pub fn meeting(&self, place: usize, outputs: Range<usize>) -> (Range<usize>, usize) {
        let (stride, low) = (self.axis.stride, self.axis.low);
        // Output `o` has element `o·stride + over - low`; `new` keeps all of this small.
        let over = narrow(place * self.axis.dilation) - low;
        let input = narrow(self.axis.input);
        let first = if over < 0 { wide(-over).div_ceil(stride) } else { 0 };
        let end = if input > over { wide(input - over).div_ceil(stride) } else { 0 };
        let (first, end) = (first.max(outputs.start), end.min(outputs.end));
        if first >= end {
            return (0..0, 0);
        }
        (first..end, wide(narrow(first * stride) + over) * self.inner)
    }
}

/// The first index of a window that is inside, and how many places are.
#[inline(always)]
fn span(axis: &WindowAxis, output: usize) -> (usize, usize) {
    let at = narrow(output * axis.stride) - axis.low;
    if axis.base != 1 {
        let end = wide(at + narrow(axis.size)).div_ceil(axis.base).min(axis.input);
        let first = wide(at).div_ceil(axis.base).min(end);
        return (first, end - first);
    }
    let skipped = if at < 0 { wide(-at).div_ceil(axis.dilation) } else { 0 };
    let first = wide(at + narrow(skipped * axis.dilation));
    if skipped >= axis.size || first >= axis.input {
        return (0, 0);
    }
    let last = axis.input - 1 - first;
    let room = if axis.dilation == 1 { last + 1 } else { last / axis.dilation + 1 };
    (first, room.min(axis.size - skipped))
}

#[inline(always)]
fn narrow(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[inline(always)]
fn wide(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_meetings_are_what_a_search_finds() {
        for size in 1..5 {
            for (stride, dilation, base) in
                [(1, 1, 1), (2, 1, 1), (3, 2, 1), (1, 3, 1), (1, 1, 2), (2, 1, 3), (3, 1, 2)]
            {
                for (low, high) in [(0, 0), (2, 1), (-1, 3), (9, 9), (1, -2)] {
                    let axis =
                        WindowAxis { input: 7, output: 0, size, stride, dilation, base, low, high };
                    let axis = WindowAxis { output: axis.windows().unwrap(), ..axis };
                    let Some(pool) = Pool::new(&[axis]) else {
                        assert!(axis.is_trivial());
                        continue;
                    };
                    let along = pool.along();
                    let element = |output: usize, place: usize| {
                        let over = i64::try_from(output * stride + place * dilation).unwrap();
                        let at = usize::try_from(over - low).ok()?;
                        Some(at / base).filter(|&index| at % base == 0 && index < 7)
                    };
                    for output in 0..axis.output {
                        let expected: Vec<usize> =
                            (0..size).filter_map(|place| element(output, place)).collect();
                        let (first, count) = along.span(output);
                        let found: Vec<usize> =
                            (0..count).map(|place| first + place * dilation).collect();
                        assert_eq!(found, expected, "{axis:?}");
                    }
                    for place in (0..size).filter(|_| base == 1) {
                        let inside = |&output: &usize| element(output, place).is_some();
                        let expected: Vec<usize> = (1..axis.output).filter(inside).collect();
                        let (found, first) = along.meeting(place, 1..axis.output);
                        assert_eq!(found.clone().collect::<Vec<_>>(), expected, "{axis:?}");
                        if !found.is_empty() {
                            assert_eq!(Some(first), element(found.start, place));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rows_begin_where_their_windows_do() {
        let axis = |input, size, stride, low| {
            let axis =
                WindowAxis { input, output: 0, size, stride, dilation: 1, base: 1, low, high: low };
            WindowAxis { output: axis.windows().unwrap(), ..axis }
        };
        let axes = [axis(2, 1, 1, 0), axis(4, 3, 2, 1), axis(5, 2, 1, 0), axis(3, 1, 1, 0)];
        let pool = Pool::new(&axes).unwrap();
        assert_eq!((pool.outer(), pool.rows(), pool.inner(), pool.chunk()), (2, 2, 3, 60));
        let mut bases = Vec::new();
        let mut of = |row| {
            pool.bases(row, &mut bases);
            bases.clone()
        };
        assert_eq!([of(0), of(1), of(3)], [vec![0, 15], vec![15, 30, 45], vec![75, 90, 105]]);
        let far = WindowAxis { stride: usize::MAX, ..axes[1] };
        assert!(Pool::new(&[far]).is_none());
        assert!(Pool::new(&axes[..1]).is_none());
    }
}
