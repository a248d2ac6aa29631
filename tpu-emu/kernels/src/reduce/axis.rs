//! Reductions by a known combiner.
use super::combiner::Fold;
use super::tree::{extend_runs, join_rows};
use crate::movement::loop_nest::{Axis, carve, carved, collapse, rows};
use crate::reduce::tuning::{AXIS_BLOCK_COLUMNS, BLOCK_ROWS};
use std::convert::Infallible;
use std::ops::Range;
use tpu_base::tensor::Shape;

/// Which axes of a dense array stay and which are reduced.
#[derive(Debug, Clone)]
pub struct Reduction {
    /// Axes that stay, in order; neighbours are one axis where they can be.
    pub kept: Vec<Axis<1>>,
    /// Axes that are reduced, in order.
    pub reduced: Vec<Axis<1>>,
}

impl Reduction {
    /// The reduction of `shape` over `dimensions`.
    pub fn new(shape: &Shape, dimensions: &[usize]) -> Self {
        let axes = shape.dims.iter().zip(shape.strides()).enumerate();
        let of = |reduced: bool| {
            let wanted = axes.clone().filter(|(axis, _)| dimensions.contains(axis) == reduced);
            let axes: Vec<_> =
                wanted.map(|(_, (&count, step))| Axis { count, steps: [step] }).collect();
            collapse(axes)
        };
        Self { kept: of(false), reduced: of(true) }
    }

    /// The extents `[outer, count, inner]` of which the middle one is reduced, where the axes are
    /// of that form.
    pub fn middle(&self) -> Option<[usize; 3]> {
        let (&[axis], [inner]) = (&self.reduced[..], self.reduced.first()?.steps) else {
            return None;
        };
        let columns = Axis { count: inner, steps: [1] };
        let rows = |count| Axis { count, steps: [axis.count * inner] };
        let outer = match self.kept[..] {
            [] => 1,
            [only] if only == columns => 1,
            [first, last] if last == columns => first.count,
            [first] if inner == 1 => first.count,
            _ => return None,
        };
        let whole = outer == 1 || self.kept.first() == Some(&rows(outer));
        whole.then_some([outer, axis.count, inner])
    }

    /// The reduction of one of so many equal parts of the array along its first axis, of so many
    /// indices, if that one stays.
    pub fn part(&self, first: usize, parts: usize) -> Option<Self> {
        let kept = self.kept.first()?;
        let outermost = self.reduced.iter().all(|axis| axis.steps < kept.steps);
        if !outermost || !first.is_multiple_of(parts) || !kept.count.is_multiple_of(first) {
            return None;
        }
        Some(self.some(0..kept.count / parts).0)
    }

    /// How many indices the outermost axis that stays has, and of how many elements and results each
    /// of them is. `None` where none stays.
    pub fn outermost(&self) -> Option<[usize; 3]> {
        let (first, rest) = self.kept.split_first()?;
        let count = |axes: &[Axis<1>]| axes.iter().map(|axis| axis.count).product::<usize>();
        let results = count(rest);
        Some([first.count, results * count(&self.reduced), results])
    }

    /// The reduction of some indices of the outermost axis that stays, and where their elements begin.
    pub fn some(&self, indices: Range<usize>) -> (Self, usize) {
        let mut some = self.clone();
        let Some(first) = some.kept.first_mut() else { return (some, 0) };
        let start = indices.start * first.steps[0];
        first.count = indices.len();
        (some, start)
    }

    /// Scratch bytes of [`Reduction::run`].
    pub fn scratch<F: Fold>() -> usize {
        carved([
            AXIS_BLOCK_COLUMNS * size_of::<F::Partial>(),
            AXIS_BLOCK_COLUMNS * size_of::<F::Total>(),
        ])
    }

    /// Reduces `operand`, starting from `init`.
    pub fn run<F: Fold>(
        &self,
        operand: &[F::Stored],
        init: F::Element,
        result: &mut [F::Element],
        scratch: &mut [u8],
    ) {
        match self.kept.split_last() {
            Some((columns, outer)) if columns.steps == [1] => {
                let mut parts = carve(
                    scratch,
                    [
                        AXIS_BLOCK_COLUMNS * size_of::<F::Partial>(),
                        AXIS_BLOCK_COLUMNS * size_of::<F::Total>(),
                    ],
                );
                let totals = parts.pop().unwrap_or_default();
                let partials = parts.pop().unwrap_or_default();
                let partials = bytemuck::cast_slice_mut(partials);
                let totals = bytemuck::cast_slice_mut(totals);
                let mut results = result.chunks_exact_mut(columns.count.max(1));
                each(outer, 0, &mut |at| {
                    let Some(results) = results.next() else { return };
                    for (index, results) in results.chunks_mut(AXIS_BLOCK_COLUMNS).enumerate() {
                        let start = at + index * AXIS_BLOCK_COLUMNS;
                        self.columns::<F>(operand, start, init, partials, totals, results);
                    }
                });
            }
            _ => {
                // What is reduced lies side by side, in a run for each index of the other axes: every
                // result of a block takes one run before any takes the next.
                let one = Axis { count: 1, steps: [0] };
                let (last, outer) = self.kept.split_last().unwrap_or((&one, &[]));
                let (run, rest) = match self.reduced.split_last() {
                    Some((&Axis { count, steps: [1] }, rest)) => (count, rest),
                    _ => (1, &self.reduced[..]),
                };
                let step = last.steps[0];
                let bytes = AXIS_BLOCK_COLUMNS * size_of::<F::Total>();
                let totals = carve(scratch, [bytes]).pop().unwrap_or_default();
                let totals: &mut [F::Total] = bytemuck::cast_slice_mut(totals);
                let mut results = result.chunks_exact_mut(last.count.max(1));
                each(outer, 0, &mut |at| {
                    let Some(results) = results.next() else { return };
                    for (index, results) in results.chunks_mut(AXIS_BLOCK_COLUMNS).enumerate() {
                        let start = at + index * AXIS_BLOCK_COLUMNS * step;
                        let totals = &mut totals[..results.len()];
                        totals.fill(F::start(init));
                        each(rest, start, &mut |at| {
                            extend_runs::<F>(totals, &operand[at..], run, step);
                        });
                        for (result, &total) in results.iter_mut().zip(&*totals) {
                            *result = F::finish(total);
                        }
                    }
                });
            }
        }
    }

    /// Reduces columns that lie side by side.
    fn columns<F: Fold>(
        &self,
        operand: &[F::Stored],
        start: usize,
        init: F::Element,
        partials: &mut [F::Partial],
        totals: &mut [F::Total],
        results: &mut [F::Element],
    ) {
        let columns = results.len();
        let (partials, totals) = (&mut partials[..columns], &mut totals[..columns]);
        totals.fill(F::start(init));
        partials.fill(F::IDENTITY);
        let mut pending = 0;
        each(&self.reduced, start, &mut |at| {
            join_rows::<F>(partials, &operand[at..at + columns], columns);
            pending += 1;
            if pending == BLOCK_ROWS {
                extend::<F>(totals, partials);
                pending = 0;
            }
        });
        extend::<F>(totals, partials);
        for (result, &total) in results.iter_mut().zip(&*totals) {
            *result = F::finish(total);
        }
    }
}

/// Moves partial results into the totals.
fn extend<F: Fold>(totals: &mut [F::Total], partials: &mut [F::Partial]) {
    for (total, partial) in totals.iter_mut().zip(&mut *partials) {
        *total = F::extend(*total, *partial);
    }
    partials.fill(F::IDENTITY);
}

/// Calls `visit` with the offset of every element along the axes, in order.
fn each(axes: &[Axis<1>], start: usize, visit: &mut dyn FnMut(usize)) {
    let done: Result<(), Infallible> = rows(axes, [start], &mut |[at], count, [step]| {
        for index in 0..count {
            visit(at + index * step);
        }
        Ok(())
    });
    let Ok(()) = done;
}

#[cfg(test)]
mod tests {
    use super::super::combiner::{Combiner, Visitor, dispatch};
    use super::*;
    use tpu_base::tensor::DType;

    struct Sum<'a>(&'a Reduction, &'a [i32], usize);

    impl Visitor for Sum<'_> {
        type Output = Vec<i32>;
        fn visit<F: Fold>(self) -> Vec<i32> {
            let mut result = vec![0_i32; self.2];
            let mut scratch = vec![0_u128; Reduction::scratch::<F>() / 16];
            let init = bytemuck::cast_slice::<i32, F::Element>(&[100])[0];
            let scratch = bytemuck::cast_slice_mut(&mut scratch);
            let to = bytemuck::cast_slice_mut(&mut result);
            self.0.run::<F>(bytemuck::cast_slice(self.1), init, to, scratch);
            result
        }
    }

    fn sum(dims: &[usize], dimensions: &[usize]) -> Vec<i32> {
        let shape = Shape::new(DType::S32, dims);
        let data: Vec<i32> = (0..).take(shape.elements()).collect();
        let kept = dims.iter().enumerate().filter(|(axis, _)| !dimensions.contains(axis));
        let count = kept.map(|(_, &dim)| dim).product();
        let visitor = Sum(&Reduction::new(&shape, dimensions), &data, count);
        dispatch(Combiner::Add, DType::S32, visitor).unwrap()
    }

    #[test]
    fn any_set_of_axes_is_summed() {
        assert_eq!(sum(&[2, 3], &[1]), [103, 112]);
        assert_eq!(sum(&[2, 3], &[0]), [103, 105, 107]);
        assert_eq!(sum(&[2, 3], &[0, 1]), [115]);
        assert_eq!(sum(&[2, 3], &[]), [100, 101, 102, 103, 104, 105]);
        assert_eq!(sum(&[2, 2, 2], &[0, 2]), [110, 118]);
        assert_eq!(sum(&[2, 2, 2], &[1]), [102, 104, 110, 112]);
    }

    #[test]
    fn runs_of_many_results_join_in_the_order_of_each() {
        let dims = [3, 1100, 5, 2, 70];
        let found = sum(&dims, &[0, 2, 4]);
        let element = |place: usize| i32::try_from(place).unwrap();
        for (at, &found) in found.iter().enumerate() {
            let (b, d) = (at / 2, at % 2);
            let places =
                (0..3).flat_map(|a| (0..5).map(move |c| (((a * 1100 + b) * 5 + c) * 2 + d) * 70));
            let wanted = places.flat_map(|first| first..first + 70).map(element);
            let wanted = wanted.fold(100_i32, i32::wrapping_add);
            assert_eq!(found, wanted, "{at}");
        }
    }

    #[test]
    fn nothing_sums_to_the_initial_value() {
        assert_eq!(sum(&[2, 0], &[1]), [100, 100]);
        assert_eq!(sum(&[0, 3], &[0]), [100, 100, 100]);
        assert!(sum(&[0, 3], &[1]).is_empty());
    }

    #[test]
    fn more_rows_than_a_block_and_more_columns_than_a_tile() {
        let found = sum(&[130, 1500], &[0]);
        let expected: Vec<i32> =
            (0..1500).map(|column| 100 + 1500 * (129 * 130 / 2) + 130 * column).collect();
        assert_eq!(found, expected);
    }
}
