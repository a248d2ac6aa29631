//! Windows that reach from one end of an axis to each element: running results.
use crate::reducer::{Reducer, splat};
use crate::tuning::{MAX_NARROW_SCAN_ELEMENTS, SCAN_BLOCK_COLUMNS, SCAN_CHUNK_ELEMENTS};
use crate::{Cost, Cx, Kernel};
use bytemuck::Pod;
use std::marker::PhantomData;
use tpu_base::error::Result;
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::movement::loop_nest::{carve, carved, gather, spread};
use tpu_kernels::reduce::combiner::{Fold, Visitor};
use tpu_kernels::window::geometry::WindowAxis;
use tpu_kernels::{parallel, simd};

/// Running results along the middle one of three axes.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    outer: usize,
    length: usize,
    inner: usize,
}

impl Scan {
    /// The scan that windows along these axes are, and whether it runs backward.
    pub(super) fn of(axes: &[WindowAxis]) -> Option<(Self, bool)> {
        let along = axes.iter().position(|axis| !axis.is_trivial())?;
        let (before, after) = (&axes[..along], &axes[along + 1..]);
        let reverse = axes[along].scan()?;
        let count = |axes: &[WindowAxis]| axes.iter().map(|axis| axis.input).product();
        let trivial = after.iter().all(WindowAxis::is_trivial);
        let scan = Self { outer: count(before), length: axes[along].input, inner: count(after) };
        trivial.then_some((scan, reverse))
    }
}

/// Makes the kernel for a known combiner.
pub(super) struct MakeScan {
    pub(super) scan: Scan,
    pub(super) reverse: bool,
    pub(super) cost: Cost,
}

impl Visitor for MakeScan {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        let Self { scan, reverse, cost } = self;
        Box::new(FixedScan::<F> { scan, reverse, cost, fold: PhantomData })
    }
}

/// A scan by a known combiner.
#[derive(Debug)]
struct FixedScan<F> {
    scan: Scan,
    reverse: bool,
    cost: Cost,
    fold: PhantomData<F>,
}

impl<F: Fold> FixedScan<F> {
    /// Scans with totals of type `T`.
    fn scan<T: Pod + Send + Sync>(
        &self,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
        steps: Steps<T, impl Sync + Fn(T, F::Element) -> T, impl Sync + Fn(T) -> F::Element>,
    ) {
        let Scan { length, inner, .. } = self.scan;
        let input: &[F::Element] = bytemuck::cast_slice(operands[0]);
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(results[0]);
        let row = length * inner;
        let chunk = (SCAN_CHUNK_ELEMENTS / row.max(1)).max(1) * row;
        parallel::chunks_mut(result, chunk, |number, result| {
            let input = &input[number * chunk..][..result.len()];
            if inner == 1 {
                let reverse = self.reverse;
                simd::run(RowScan { input, result, length, reverse, steps: &steps });
            } else {
                let rows = result.chunks_exact_mut(row).zip(input.chunks_exact(row));
                for (result, input) in rows {
                    let reverse = self.reverse;
                    simd::run(Columns { input, result, inner, reverse, steps: &steps });
                }
            }
        });
    }
}

/// How a total begins, goes on, and becomes an element.
struct Steps<T, X, Y> {
    start: T,
    extend: X,
    finish: Y,
}

/// Running results along rows.
struct RowScan<'a, E, T, X, Y> {
    input: &'a [E],
    result: &'a mut [E],
    length: usize,
    reverse: bool,
    steps: &'a Steps<T, X, Y>,
}

/// Rows that go on together: no one waits for the sum of another.
const TOGETHER: usize = 4;

impl<E, T, X, Y> simd::Loop for RowScan<'_, E, T, X, Y>
where
    E: Pod,
    T: Pod,
    X: Fn(T, E) -> T,
    Y: Fn(T) -> E,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { input, result, length, reverse, steps } = self;
        let place = |step: usize| if reverse { length - 1 - step } else { step };
        let together = result.chunks_exact_mut(TOGETHER * length);
        let whole = together.len() * TOGETHER * length;
        for (result, input) in together.zip(input.chunks_exact(TOGETHER * length)) {
            let mut totals = [steps.start; TOGETHER];
            for at in (0..length).map(place) {
                for (row, total) in totals.iter_mut().enumerate() {
                    *total = (steps.extend)(*total, input[row * length + at]);
                    result[row * length + at] = (steps.finish)(*total);
                }
            }
        }
        let rest = result[whole..].chunks_exact_mut(length);
        for (result, input) in rest.zip(input[whole..].chunks_exact(length)) {
            let mut total = steps.start;
            let mut one = |result: &mut E, element: E| {
                total = (steps.extend)(total, element);
                *result = (steps.finish)(total);
            };
            let pairs = result.iter_mut().zip(input);
            if reverse {
                pairs.rev().for_each(|(result, &element)| one(result, element));
            } else {
                pairs.for_each(|(result, &element)| one(result, element));
            }
        }
    }
}

/// Running results along the first of two axes.
struct Columns<'a, E, T, X, Y> {
    input: &'a [E],
    result: &'a mut [E],
    inner: usize,
    reverse: bool,
    steps: &'a Steps<T, X, Y>,
}

impl<E, T, X, Y> simd::Loop for Columns<'_, E, T, X, Y>
where
    E: Pod,
    T: Pod,
    X: Fn(T, E) -> T,
    Y: Fn(T) -> E,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { input, result, inner, reverse, steps } = self;
        let length = result.len() / inner;
        for column in (0..inner).step_by(SCAN_BLOCK_COLUMNS) {
            let columns = SCAN_BLOCK_COLUMNS.min(inner - column);
            let mut totals = [steps.start; SCAN_BLOCK_COLUMNS];
            let totals = &mut totals[..columns];
            for step in 0..length {
                let row = if reverse { length - 1 - step } else { step };
                let places = row * inner + column..row * inner + column + columns;
                let pairs = result[places.clone()].iter_mut().zip(&input[places]);
                for (total, (result, &element)) in totals.iter_mut().zip(pairs) {
                    *total = (steps.extend)(*total, element);
                    *result = (steps.finish)(*total);
                }
            }
        }
    }
}

impl<F: Fold> Kernel for FixedScan<F> {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let init: F::Element = bytemuck::pod_read_unaligned(operands[1]);
        if self.scan.length <= MAX_NARROW_SCAN_ELEMENTS {
            let extend = |total, element| F::join(total, F::load(element));
            let steps = Steps { start: F::load(init), extend, finish: F::store };
            self.scan(operands, results, steps);
        } else {
            let extend = |total, element| F::extend(total, F::load(element));
            let steps = Steps { start: F::start(init), extend, finish: F::finish };
            self.scan(operands, results, steps);
        }
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// A forward scan by any body, whose lanes are the outer and inner axes.
#[derive(Debug)]
pub(super) struct BodyScan {
    pub(super) scan: Scan,
    pub(super) reducer: Reducer,
    pub(super) cost: Cost,
}

impl BodyScan {
    /// Offsets, then for each input what is held, what comes next, and elements.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let widths = self.reducer.widths().map(|width| width * TILE_ELEMENTS);
        let offsets = std::iter::once(TILE_ELEMENTS * size_of::<usize>());
        offsets.chain(widths.clone()).chain(widths.clone()).chain(widths)
    }
}

impl Kernel for BodyScan {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let Scan { outer, length, inner } = self.scan;
        let count = results.len();
        let (inputs, initial) = operands.split_at(count);
        let mut parts = carve(cx.scratch, self.parts()).into_iter();
        let Some(offsets) = parts.next() else { return Ok(()) };
        let offsets: &mut [usize] = bytemuck::cast_slice_mut(offsets);
        let mut held: Vec<&mut [u8]> = parts.by_ref().take(count).collect();
        let mut next: Vec<&mut [u8]> = parts.by_ref().take(count).collect();
        let mut elements: Vec<&mut [u8]> = parts.collect();
        for first in (0..outer * inner).step_by(TILE_ELEMENTS) {
            let lanes = TILE_ELEMENTS.min(outer * inner - first);
            let offsets = &mut offsets[..lanes];
            for (offset, lane) in offsets.iter_mut().zip(first..) {
                *offset = lane / inner * (length * inner) + lane % inner;
            }
            for (held, initial) in held.iter_mut().zip(initial) {
                splat(initial, held);
            }
            for row in 0..length {
                let parts = inputs.iter().zip(&mut elements).zip(self.reducer.widths());
                for ((input, element), width) in parts {
                    gather(width, input, row * inner, offsets, &mut element[..lanes * width]);
                }
                let parts = elements.iter().zip(self.reducer.widths());
                let now: Vec<&[u8]> =
                    parts.map(|(element, width)| &element[..lanes * width]).collect();
                self.reducer.step(lanes, &mut held, &now, &mut next)?;
                let parts = results.iter_mut().zip(&held).zip(self.reducer.widths());
                for ((result, held), width) in parts {
                    spread(width, &held[..lanes * width], row * inner, offsets, result);
                }
            }
        }
        Ok(())
    }

    fn scratch(&self) -> usize {
        carved(self.parts())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
