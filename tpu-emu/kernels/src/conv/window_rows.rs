//! The windows of a convolution as rows of a matrix, in the order of the result.
use super::dilation::{Along, PhaseAxis};
use super::geometry::Geometry;
use crate::matmul::operand::merged;
use crate::matmul::tuning::BLOCK_DEPTH;
use crate::matmul::unpacked_lhs::ElementRun;
use std::ops::Range;

/// Windows along one axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowRow {
    /// How many.
    pub count: usize,
    /// Elements of the padded input from one to the next.
    pub step: usize,
    /// Elements of the result.
    pub target: usize,
}

/// The windows of one phase of every axis.
#[derive(Debug)]
pub(crate) struct PhaseWindows {
    /// Those of the result that lie farthest apart first.
    pub rows: Vec<WindowRow>,
    /// The first window in the padded input and in the result.
    pub first: [usize; 2],
    /// Elements from a window's first one to those under an element of the kernel.
    pub places: Vec<usize>,
    /// Where these elements of the kernel are.
    pub taps: Vec<usize>,
    /// The same elements of the padded input, as runs of one beside the other.
    pub runs: Vec<ElementRun>,
    /// Runs that are added up at once, with their terms.
    pub segments: Vec<(Range<usize>, Range<usize>)>,
}

impl PhaseWindows {
    /// Plans the windows of one phase of each axis. `strides` are those of the padded input.
    pub(crate) fn new(
        geometry: &Geometry,
        strides: &[usize],
        axes: &[PhaseAxis],
        phase: &[Along],
    ) -> Self {
        let (images, [_, image]) = geometry.batch;
        let mut rows = vec![WindowRow { count: images, step: strides[0], target: image }];
        let mut first = [0, 0];
        let (mut places, mut kernel_places) = (vec![0], vec![0]);
        let spatial = geometry.windows.iter().zip(axes).zip(phase);
        for (((window, axis), along), &stride) in spatial.zip(&strides[1..]) {
            let ([start, apart, count], [tap, between, taps]) = (along.windows, along.taps);
            rows.push(WindowRow {
                count,
                step: along.steps[0] * stride,
                target: apart * window.output.1,
            });
            let before = usize::try_from(along.place.saturating_sub(axis.first)).unwrap_or(0);
            first[0] += before * stride;
            first[1] += start * window.output.1;
            places = sums(&places, (0..taps).map(|l| l * along.steps[1] * stride));
            let kernel_place = |l: usize| {
                let at = tap + l * between;
                let at = if window.reversed { window.kernel.0 - 1 - at } else { at };
                at * window.kernel.1
            };
            kernel_places = sums(&kernel_places, (0..taps).map(kernel_place));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.target));
        let runs = runs(&places, geometry.input_features.0);
        let segments = segments(&runs);
        Self { rows, first, places, taps: kernel_places, runs, segments }
    }

    /// Whether the results follow each other from the first element on, so many a window.
    pub(crate) fn is_dense(&self, columns: usize) -> bool {
        let axes: Vec<_> = self.rows.iter().map(|row| (row.count, row.target)).collect();
        let whole = merged(&axes).is_some_and(|(count, stride)| count == 1 || stride == columns);
        whole && self.first[1] == 0
    }

    /// How many there are.
    pub(crate) fn windows(&self) -> usize {
        self.rows.iter().map(|row| row.count).product()
    }

    /// Where windows begin: `which` is 0 for the padded input, 1 for the result.
    pub(crate) fn starts(&self, windows: Range<usize>, which: usize) -> Vec<usize> {
        let start = |mut window: usize| {
            let mut at = self.first[which];
            for row in self.rows.iter().rev() {
                let step = if which == 0 { row.step } else { row.target };
                at += window % row.count * step;
                window /= row.count;
            }
            at
        };
        let mut starts = Vec::with_capacity(windows.len());
        let Some(last) = self.rows.last() else {
            starts.extend(windows.map(start));
            return starts;
        };
        let step = if which == 0 { last.step } else { last.target };
        let mut window = windows.start;
        while window < windows.end {
            let count = (last.count - window % last.count).min(windows.end - window);
            let first = start(window);
            starts.extend((0..count).map(|i| first + i * step));
            window += count;
        }
        starts
    }

    /// Writes the results of some windows, `columns` elements of `W` bytes each, to places that are
    /// `stride` elements apart.
    pub(crate) fn spread<const W: usize>(
        &self,
        windows: Range<usize>,
        [columns, stride]: [usize; 2],
        values: &[u8],
        result: &mut [u8],
    ) {
        let (values, result) = (values.as_chunks::<W>().0, result.as_chunks_mut::<W>().0);
        let starts = self.starts(windows, 1);
        if stride == 1 {
            for (&start, values) in starts.iter().zip(values.chunks_exact(columns)) {
                result[start..][..columns].copy_from_slice(values);
            }
            return;
        }
        // Windows lie closer together than the elements of one.
        for column in 0..columns {
            for (&start, values) in starts.iter().zip(values.chunks_exact(columns)) {
                result[start + column * stride] = values[column];
            }
        }
    }
}

/// Each of some offsets with each of others added, those of the last axis one after another.
fn sums(offsets: &[usize], others: impl ExactSizeIterator<Item = usize> + Clone) -> Vec<usize> {
    let mut sums = Vec::with_capacity(offsets.len() * others.len());
    for &offset in offsets {
        sums.extend(others.clone().map(|other| offset + other));
    }
    sums
}

/// Elements beside each other at the places, `count` at each.
fn runs(places: &[usize], count: usize) -> Vec<ElementRun> {
    let mut runs: Vec<ElementRun> = Vec::new();
    for &place in places {
        let mut rest = ElementRun { start: place, count };
        if let Some(last) = runs.last_mut()
            && last.start + last.count == place
        {
            let more = rest.count.min(BLOCK_DEPTH - last.count);
            last.count += more;
            rest = ElementRun { start: place + more, count: count - more };
        }
        while rest.count > 0 {
            let some = rest.count.min(BLOCK_DEPTH);
            runs.push(ElementRun { start: rest.start, count: some });
            rest = ElementRun { start: rest.start + some, count: rest.count - some };
        }
    }
    runs
}

/// Runs in order, of at most [`BLOCK_DEPTH`] terms together.
fn segments(runs: &[ElementRun]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut segments: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut terms = 0;
    for (index, run) in runs.iter().enumerate() {
        let end = terms + run.count;
        match segments.last_mut() {
            Some((runs, lines)) if end - lines.start <= BLOCK_DEPTH => {
                runs.end = index + 1;
                lines.end = end;
            }
            _ => segments.push((index..index + 1, terms..end)),
        }
        terms = end;
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_beside_each_other_are_one_run_up_to_a_depth() {
        let run = |start, count| ElementRun { start, count };
        assert_eq!(runs(&[0, 3, 6, 20, 23], 3), [run(0, 9), run(20, 6)]);
        let long = 2 * BLOCK_DEPTH + 8;
        assert_eq!(
            runs(&[5, 5 + long], long),
            [
                run(5, BLOCK_DEPTH),
                run(5 + BLOCK_DEPTH, BLOCK_DEPTH),
                run(5 + 2 * BLOCK_DEPTH, BLOCK_DEPTH),
                run(5 + 3 * BLOCK_DEPTH, BLOCK_DEPTH),
                run(5 + 4 * BLOCK_DEPTH, 16),
            ][..]
        );
        assert!(runs(&[], 3).is_empty());
    }

    #[test]
    fn segments_hold_whole_runs() {
        let run = |count| ElementRun { start: 0, count };
        let parts = segments(&[run(50), run(50), run(50), run(BLOCK_DEPTH)]);
        assert_eq!(parts, [(0..2, 0..100), (2..3, 100..150), (3..4, 150..150 + BLOCK_DEPTH)]);
        assert!(segments(&[]).is_empty());
    }

    #[test]
    fn windows_start_where_their_axes_say() {
        let row = |count, step, target| WindowRow { count, step, target };
        let windows = PhaseWindows {
            rows: vec![row(2, 100, 60), row(3, 10, 20), row(2, 1, 5)],
            first: [7, 1],
            places: vec![0],
            taps: vec![0],
            runs: Vec::new(),
            segments: Vec::new(),
        };
        assert_eq!(windows.windows(), 12);
        assert_eq!(windows.starts(1..8, 0), [8, 17, 18, 27, 28, 107, 108]);
        assert_eq!(windows.starts(5..8, 1), [46, 61, 66]);
        assert!(!windows.is_dense(5));
        let mut result = [0_u8; 80];
        windows.spread::<1>(2..4, [2, 3], &[1, 2, 3, 4], &mut result);
        assert_eq!([21, 24, 26, 29].map(|at| result[at]), [1, 2, 3, 4]);
        windows.spread::<2>(0..1, [2, 1], &[5, 6, 7, 8], &mut result);
        assert_eq!(result[2..6], [5, 6, 7, 8]);
    }
}
