//! Windows that reach from one end of an axis to each element: running results.
use crate::error::Result;
use bytemuck::Pod;
use crate::kernels::fold::{Fold, Visitor};
use crate::kernels::lanes::TILE;
use crate::kernels::walk::{carve, carved, gather, spread};
use crate::kernels::window::WindowAxis;
use crate::ops::reducer::{Reducer, splat};
use crate::ops::{Cost, Cx, Kernel};
use std::marker::PhantomData;

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
        let scan =
            Self { outer: count(before), length: axes[along].input, inner: count(after) };
        trivial.then_some((scan, reverse))
    }
}

/// Makes the kernel for a known combiner.
pub(super) struct Build {
    pub(super) scan: Scan,
    pub(super) reverse: bool,
    pub(super) cost: Cost,
}

impl Visitor for Build {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        let Self { scan, reverse, cost } = self;
        Box::new(Known::<F> { scan, reverse, cost, fold: PhantomData })
    }
}

/// A scan by a known combiner.
#[derive(Debug)]
struct Known<F> {
    scan: Scan,
    reverse: bool,
    cost: Cost,
    fold: PhantomData<F>,
}

/// Sums of at most this many elements are made in the type of the elements, one after the other,
/// as compilers make them; longer ones in a wider type.
const SHORT: usize = 64;

impl<F: Fold> Known<F> {
    /// Scans with totals of type `T`.
    fn scan<T: Pod>(
        &self,
        totals: &mut [T],
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
        start: impl Fn(F::Element) -> T,
        extend: impl Fn(T, F::Element) -> T,
        finish: impl Fn(T) -> F::Element,
    ) {
        let Scan { length, inner, .. } = self.scan;
        let input: &[F::Element] = bytemuck::cast_slice(operands[0]);
        let init: F::Element = bytemuck::pod_read_unaligned(operands[1]);
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(results[0]);
        for outer in 0..self.scan.outer {
            for column in (0..inner).step_by(TILE) {
                let columns = TILE.min(inner - column);
                let totals = &mut totals[..columns];
                totals.fill(start(init));
                for step in 0..length {
                    let row = if self.reverse { length - 1 - step } else { step };
                    let at = (outer * length + row) * inner + column;
                    let places = at..at + columns;
                    let pairs = result[places.clone()].iter_mut().zip(&input[places]);
                    for (total, (result, &element)) in totals.iter_mut().zip(pairs) {
                        *total = extend(*total, element);
                        *result = finish(*total);
                    }
                }
            }
        }
    }
}

impl<F: Fold> Kernel for Known<F> {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if self.scan.length <= SHORT {
            let mut parts = carve(cx.scratch, [TILE * size_of::<F::Partial>()]);
            let totals: &mut [F::Partial] = bytemuck::cast_slice_mut(parts.remove(0));
            let extend = |total, element| F::join(total, F::load(element));
            self.scan(totals, operands, results, F::load, extend, F::store);
        } else {
            let mut parts = carve(cx.scratch, [TILE * size_of::<F::Total>()]);
            let totals: &mut [F::Total] = bytemuck::cast_slice_mut(parts.remove(0));
            let extend = |total, element| F::extend(total, F::load(element));
            self.scan(totals, operands, results, F::start, extend, F::finish);
        }
        Ok(())
    }

    fn scratch(&self) -> usize {
        carved([TILE * size_of::<F::Total>().max(size_of::<F::Partial>())])
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// A forward scan by any body, whose lanes are the outer and inner axes.
#[derive(Debug)]
pub(super) struct General {
    pub(super) scan: Scan,
    pub(super) reducer: Reducer,
    pub(super) cost: Cost,
}

impl General {
    /// Offsets, then for each input what is held, what comes next, and elements.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let widths = self.reducer.widths().map(|width| width * TILE);
        let offsets = std::iter::once(TILE * size_of::<usize>());
        offsets.chain(widths.clone()).chain(widths.clone()).chain(widths)
    }
}

impl Kernel for General {
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
        for first in (0..outer * inner).step_by(TILE) {
            let lanes = TILE.min(outer * inner - first);
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
