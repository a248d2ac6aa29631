//! Windows of one input under a known combiner, row by row.
use crate::tuning::{
    MIN_REDUCE_WINDOW_HALVED_PLACES, MIN_REDUCE_WINDOW_OUTPUT_ELEMENTS,
    REDUCE_WINDOW_BLOCK_OUTPUTS, REDUCE_WINDOW_CHUNK_ELEMENTS,
};
use crate::{Cost, Cx, Kernel};
use std::marker::PhantomData;
use tpu_base::error::Result;
use tpu_kernels::reduce::combiner::{Fold, Visitor};
use tpu_kernels::window::pool::{Along, Pool};
use tpu_kernels::{parallel, simd};

/// Makes the kernel for a known combiner.
pub(super) struct MakeDirectWindow {
    pub(super) pool: Pool,
    /// Whether combining an element twice is the same as once.
    pub(super) idempotent: bool,
    pub(super) cost: Cost,
}

impl Visitor for MakeDirectWindow {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        let Self { pool, idempotent, cost } = self;
        Box::new(DirectWindows::<F> { pool, idempotent, cost, fold: PhantomData })
    }
}

#[derive(Debug)]
struct DirectWindows<F> {
    pool: Pool,
    idempotent: bool,
    cost: Cost,
    fold: PhantomData<F>,
}

impl<F: Fold> Kernel for DirectWindows<F> {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let input: &[F::Element] = bytemuck::cast_slice(operands[0]);
        let init = F::start(bytemuck::pod_read_unaligned(operands[1]));
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(results[0]);
        let (along, inner) = (self.pool.along(), self.pool.inner());
        let chunk = REDUCE_WINDOW_CHUNK_ELEMENTS
            / (self.pool.places() * inner).clamp(1, REDUCE_WINDOW_CHUNK_ELEMENTS);
        let halves = self.idempotent
            && !self.pool.is_spread()
            && along.is_dense()
            && along.size() >= MIN_REDUCE_WINDOW_HALVED_PLACES;
        parallel::chunks_mut(result, chunk * inner, |number, result| {
            let (pool, first) = (&self.pool, number * chunk);
            simd::run_to_avx2(Chunk::<F> { pool, halves, first, input, init, result });
        });
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// Outputs from number `first` on.
struct Chunk<'a, F: Fold> {
    pool: &'a Pool,
    /// Whether windows along a row may be computed by halves.
    halves: bool,
    first: usize,
    input: &'a [F::Element],
    init: F::Total,
    result: &'a mut [F::Element],
}

impl<F: Fold> simd::Loop for Chunk<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { pool, halves, first: mut at, input, init, result: mut rest } = self;
        let (along, inner) = (pool.along(), pool.inner());
        let outputs = along.outputs();
        let (mut bases, mut totals) = (Vec::new(), Vec::new());
        let (mut now, mut next) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let (row, first) = (at / outputs, at % outputs);
            let count = (outputs - first).min(rest.len() / inner);
            let (result, after) = rest.split_at_mut(count * inner);
            pool.bases(row, &mut bases);
            let row = OutputRow::<F> { bases: &bases, along, inner, first, input, init, result };
            if inner >= MIN_REDUCE_WINDOW_OUTPUT_ELEMENTS || pool.is_spread() {
                row.groups();
            } else if halves
                && inner == 1
                && bases.len() == 1
                && along.size() <= REDUCE_WINDOW_BLOCK_OUTPUTS
            {
                row.halves(&mut now, &mut next);
            } else {
                row.singles(&mut totals);
            }
            (at, rest) = (at + count, after);
        }
    }
}

/// Outputs of a row from number `first` on.
struct OutputRow<'a, F: Fold> {
    bases: &'a [usize],
    along: Along,
    inner: usize,
    first: usize,
    input: &'a [F::Element],
    init: F::Total,
    result: &'a mut [F::Element],
}

/// Elements of an output that are held together.
const LANES: usize = 16;

impl<F: Fold> OutputRow<'_, F> {
    /// Outputs of many elements, one after the other.
    #[inline(always)]
    fn groups(self) {
        let Self { bases, along, inner, first, input, init, result } = self;
        let step = along.step();
        for (output, result) in (first..).zip(result.chunks_exact_mut(inner)) {
            let (start, count) = along.span(output);
            let mut column = 0;
            let (blocks, rest) = result.as_chunks_mut::<LANES>();
            for block in blocks {
                let mut totals = [init; LANES];
                for base in bases {
                    for place in 0..count {
                        let at = base + start + place * step + column;
                        let elements = &input[at..at + LANES];
                        for (total, &element) in totals.iter_mut().zip(elements) {
                            *total = F::extend(*total, F::load(element));
                        }
                    }
                }
                for (result, &total) in block.iter_mut().zip(&totals) {
                    *result = F::finish(total);
                }
                column += LANES;
            }
            let mut totals = [init; LANES];
            let totals = &mut totals[..rest.len()];
            for base in bases {
                for place in 0..count {
                    let at = base + start + place * step + column;
                    for (total, &element) in totals.iter_mut().zip(&input[at..]) {
                        *total = F::extend(*total, F::load(element));
                    }
                }
            }
            for (result, &total) in rest.iter_mut().zip(&*totals) {
                *result = F::finish(total);
            }
        }
    }

    /// Outputs of few elements: place by place, for many outputs.
    #[inline(always)]
    fn singles(self, totals: &mut Vec<F::Total>) {
        let Self { bases, along, inner, first, input, init, result } = self;
        let count = result.len() / inner;
        for begin in (0..count).step_by(REDUCE_WINDOW_BLOCK_OUTPUTS) {
            let outputs = first + begin..first + count.min(begin + REDUCE_WINDOW_BLOCK_OUTPUTS);
            totals.clear();
            totals.resize(outputs.len() * inner, init);
            for base in bases {
                for place in 0..along.size() {
                    let (meeting, from) = along.meeting(place, outputs.clone());
                    let to = meeting.start.saturating_sub(outputs.start) * inner;
                    let totals = &mut totals[to..][..meeting.len() * inner];
                    join::<F>(totals, inner, along.stride(), input, base + from);
                }
            }
            let result = &mut result[begin * inner..][..totals.len()];
            for (result, &total) in result.iter_mut().zip(&*totals) {
                *result = F::finish(total);
            }
        }
    }

    /// Windows without gaps under a combiner that may meet an element twice: results of 2, 4,
    /// 8, … elements, of which two make a window.
    #[inline(always)]
    fn halves(self, now: &mut Vec<F::Partial>, next: &mut Vec<F::Partial>) {
        let Self { bases, along, first, input, init, result, .. } = self;
        let size = along.size();
        let base = bases[0];
        for (number, result) in result.chunks_mut(REDUCE_WINDOW_BLOCK_OUTPUTS).enumerate() {
            let begin = first + number * REDUCE_WINDOW_BLOCK_OUTPUTS;
            let length = result.len() + size - 1;
            // The elements that the windows reach, and what changes nothing beside them.
            now.clear();
            now.resize(length, F::IDENTITY);
            reach::<F>(now, along, begin, &input[base..]);
            let mut width = 1;
            while 2 * width <= size {
                next.clear();
                next.extend_from_slice(now);
                let pairs = next.iter_mut().zip(&now[width..]);
                for (to, &element) in pairs {
                    *to = F::join(*to, element);
                }
                std::mem::swap(now, next);
                width *= 2;
            }
            let ends = now.iter().zip(&now[size - width..]);
            for (result, (&a, &b)) in result.iter_mut().zip(ends) {
                *result = F::finish(F::extend(init, F::join(a, b)));
            }
        }
    }
}

/// Combines groups of `inner` elements, `stride` apart, into totals.
#[inline(always)]
fn join<F: Fold>(
    totals: &mut [F::Total],
    inner: usize,
    stride: usize,
    input: &[F::Element],
    from: usize,
) {
    if totals.is_empty() {
        return;
    }
    let input = &input[from..];
    match (inner, stride) {
        (1, 1) => {
            for (total, &element) in totals.iter_mut().zip(input) {
                *total = F::extend(*total, F::load(element));
            }
        }
        (1, 2) => join_apart::<F, 2>(totals, input),
        (1, 3) => join_apart::<F, 3>(totals, input),
        (1, 4) => join_apart::<F, 4>(totals, input),
        (1, _) => join_groups::<F, 1>(totals, input, stride),
        (2, _) => join_groups::<F, 2>(totals, input, stride),
        (3, _) => join_groups::<F, 3>(totals, input, stride),
        (4, _) => join_groups::<F, 4>(totals, input, stride),
        _ => {
            for (group, totals) in totals.chunks_exact_mut(inner).enumerate() {
                for (total, &element) in totals.iter_mut().zip(&input[group * stride..]) {
                    *total = F::extend(*total, F::load(element));
                }
            }
        }
    }
}

/// Combines every `STRIDE`-th element into totals.
#[inline(always)]
fn join_apart<F: Fold, const STRIDE: usize>(totals: &mut [F::Total], input: &[F::Element]) {
    let (groups, rest) = input.as_chunks::<STRIDE>();
    for (total, group) in totals.iter_mut().zip(groups) {
        *total = F::extend(*total, F::load(group[0]));
    }
    // The last one may have less than a stride behind it.
    if let (Some(total), Some(&element)) = (totals.get_mut(groups.len()), rest.first()) {
        *total = F::extend(*total, F::load(element));
    }
}

/// Combines groups of `INNER` elements, `stride` apart, into totals.
#[inline(always)]
fn join_groups<F: Fold, const INNER: usize>(
    totals: &mut [F::Total],
    input: &[F::Element],
    stride: usize,
) {
    for (totals, group) in totals.as_chunks_mut::<INNER>().0.iter_mut().zip(input.chunks(stride)) {
        for (total, &element) in totals.iter_mut().zip(group) {
            *total = F::extend(*total, F::load(element));
        }
    }
}

/// Fills in the elements that some windows reach.
#[inline(always)]
fn reach<F: Fold>(to: &mut [F::Partial], along: Along, first: usize, input: &[F::Element]) {
    // Place 0 of the outputs, and of as many behind them as a window has places.
    let (meeting, from) = along.meeting(0, first..first + to.len());
    let start = meeting.start.saturating_sub(first);
    let elements = &input[from..][..meeting.len()];
    for (to, &element) in to[start..].iter_mut().zip(elements) {
        *to = F::load(element);
    }
}
