//! Scatters that put elements directly, without a body.
use super::ScatterWindows;
use crate::OneHot;
use crate::tuning::{
    MIN_SHARED_SCATTER_BYTES, MIN_SHARED_SCATTER_WINDOW_ELEMENTS, SHARED_SCATTER_CHUNKS,
};
use crate::{Cost, Cx, Kernel};
use bytemuck::Pod;
use std::convert::Infallible;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::DType;
use tpu_kernels::for_width;
use tpu_kernels::movement::index::{NOWHERE, Outside};
use tpu_kernels::movement::loop_nest::rows;
use tpu_kernels::movement::move_list::{Move, Moves, Start};
use tpu_kernels::reduce::combiner::{Combiner, Fold, Visitor};
use tpu_kernels::{parallel, simd};

/// What an update does to an element.
trait Put: Debug + Send + Sync + 'static {
    /// The type in memory.
    type Element: Pod + Send + Sync;

    /// The element after the update.
    fn put(held: Self::Element, update: Self::Element) -> Self::Element;
}

/// Combines both.
#[derive(Debug)]
struct Combine<F>(PhantomData<F>);

impl<F: Fold> Put for Combine<F> {
    type Element = F::Element;

    #[inline(always)]
    fn put(held: F::Element, update: F::Element) -> F::Element {
        F::combine(held, update)
    }
}

/// Replaces one by the other.
#[derive(Debug)]
struct Replace<T>(PhantomData<T>);

impl<T: Pod + Send + Sync + Debug> Put for Replace<T> {
    type Element = T;

    #[inline(always)]
    fn put(_: T, update: T) -> T {
        update
    }
}

/// Makes the kernel for a known combiner of a type.
pub(super) struct MakeScatter<'a>(pub(super) &'a Arc<ScatterWindows>, pub(super) (Combiner, DType));

impl Visitor for MakeScatter<'_> {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        let (windows, does) = (Arc::clone(self.0), Some(Does::Joins(self.1)));
        Box::new(Direct { windows, inputs: vec![scatter::<Combine<F>>], does })
    }
}

/// The kernel that replaces elements of these widths.
pub(super) fn overwrite(
    windows: &Arc<ScatterWindows>,
    widths: impl Iterator<Item = usize>,
) -> Box<dyn Kernel> {
    let replace = |width| -> Scatter { for_width!(width, T => scatter::<Replace<T>>) };
    let widths: Vec<usize> = widths.collect();
    let does = if let &[width] = &widths[..] { Some(Does::Replaces(width)) } else { None };
    let inputs = widths.into_iter().map(replace).collect();
    Box::new(Direct { windows: Arc::clone(windows), inputs, does })
}

/// What a scatter into a single input does with elements.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// Replaces those of so many bytes.
    Replaces(usize),
    /// Joins those of a type.
    Joins((Combiner, DType)),
}

/// Scatters updates into one input.
type Scatter = fn(&ScatterWindows, indices: &[u8], updates: &[u8], result: &mut [u8]);

/// A scatter into inputs that have nothing to do with each other.
#[derive(Debug)]
struct Direct {
    windows: Arc<ScatterWindows>,
    inputs: Vec<Scatter>,
    does: Option<Does>,
}

impl Direct {
    /// One window of elements of so many bytes, where there is one.
    fn window(&self, width: usize) -> Option<Moves> {
        let (elements, starts) = self.windows.plan.single(self.windows.indices)?;
        let run = Move { operand: 2, from: 0, to: 0, bytes: elements * width };
        let scaled = |start: Start| Start { step: start.step * width, ..start };
        let starts = starts.into_iter().map(scaled).collect();
        Some(Moves { width, moves: vec![run], starts, outside: Outside::Skip, into: true })
    }
}

impl Kernel for Direct {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (indices, updates) = (operands[self.inputs.len()], &operands[self.inputs.len() + 1..]);
        for ((scatter, update), result) in self.inputs.iter().zip(updates).zip(results) {
            scatter(&self.windows, indices, update, result);
        }
        Ok(())
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        Some(result)
    }

    fn moves(&self, _: usize) -> Option<Moves> {
        let Some(Does::Replaces(width)) = self.does else { return None };
        self.window(width)
    }

    fn joined_moves(&self) -> Option<(Moves, (Combiner, DType))> {
        let Some(Does::Joins(of)) = self.does else { return None };
        Some((self.window(of.1.host_bytes())?, of))
    }

    fn one_hot(&self) -> Option<&OneHot> {
        self.windows.one_hot.as_ref()
    }

    fn cost(&self) -> Cost {
        self.windows.cost
    }
}

fn scatter<P: Put>(windows: &ScatterWindows, indices: &[u8], updates: &[u8], result: &mut [u8]) {
    let large = updates.len() >= MIN_SHARED_SCATTER_BYTES;
    let updates: &[P::Element] = bytemuck::cast_slice(updates);
    let result: &mut [P::Element] = bytemuck::cast_slice_mut(result);
    let plan = &windows.plan;
    let ignore = |done: Result<(), Infallible>| {
        let Ok(()) = done;
    };
    match plan.window[..] {
        [] => ignore(plan.chunks(indices, &mut |from, step, places| {
            simd::run(Ones::<P> { from, step, places, updates, result });
            Ok(())
        })),
        [axis] if axis.steps == [1, 1] => {
            let count = axis.count;
            let rows = |result: &mut [P::Element], part: Range<usize>| {
                ignore(plan.chunks(indices, &mut |from, step, places| {
                    let part = part.clone();
                    simd::run(RunScatter::<P> { from, step, places, count, updates, result, part });
                    Ok(())
                }));
            };
            // Each chunk takes the updates of its part of the result, in their order.
            if large && count >= MIN_SHARED_SCATTER_WINDOW_ELEMENTS && parallel::threads() > 1 {
                let size = result.len().div_ceil(SHARED_SCATTER_CHUNKS);
                parallel::chunks_mut(result, size, |number, result| {
                    rows(result, number * size..number * size + result.len());
                });
            } else {
                let whole = 0..result.len();
                rows(result, whole);
            }
        }
        _ => ignore(plan.chunks(indices, &mut |from, step, places| {
            let inside = places.iter().enumerate().filter(|&(_, &place)| place != NOWHERE);
            for (number, &place) in inside {
                let start = [from + number * step, place];
                ignore(rows(&plan.window, start, &mut |at, count, steps| {
                    run::<P>(at, count, steps, updates, result);
                    Ok(())
                }));
            }
            Ok(())
        })),
    }
}

/// A run of a window.
fn run<P: Put>(
    [from, to]: [usize; 2],
    count: usize,
    steps: [usize; 2],
    updates: &[P::Element],
    result: &mut [P::Element],
) {
    for index in 0..count {
        let result = &mut result[to + index * steps[1]];
        *result = P::put(*result, updates[from + index * steps[0]]);
    }
}

/// Windows of one element.
struct Ones<'a, P: Put> {
    from: usize,
    step: usize,
    places: &'a [usize],
    updates: &'a [P::Element],
    result: &'a mut [P::Element],
}

impl<P: Put> simd::Loop for Ones<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { from, step, places, updates, result } = self;
        // A place that is nowhere is past the end.
        if step == 1 {
            for (&place, &update) in places.iter().zip(&updates[from..from + places.len()]) {
                if let Some(held) = result.get_mut(place) {
                    *held = P::put(*held, update);
                }
            }
        } else {
            for (number, &place) in places.iter().enumerate() {
                if let Some(held) = result.get_mut(place) {
                    *held = P::put(*held, updates[from + number * step]);
                }
            }
        }
    }
}

/// Windows that are runs of elements, as far as they are in a part of the result.
struct RunScatter<'a, P: Put> {
    from: usize,
    step: usize,
    places: &'a [usize],
    count: usize,
    updates: &'a [P::Element],
    result: &'a mut [P::Element],
    part: Range<usize>,
}

impl<P: Put> simd::Loop for RunScatter<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { from, step, places, count, updates, result, part } = self;
        for (number, &place) in places.iter().enumerate() {
            if place >= part.end || place + count <= part.start {
                continue;
            }
            let (start, end) = (place.max(part.start), (place + count).min(part.end));
            let held = &mut result[start - part.start..end - part.start];
            let update = from + number * step + (start - place);
            let updates = &updates[update..update + held.len()];
            for (held, &update) in held.iter_mut().zip(updates) {
                *held = P::put(*held, update);
            }
        }
    }
}
