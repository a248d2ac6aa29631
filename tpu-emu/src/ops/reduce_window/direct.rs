//! Windows of one input under a known combiner, row by row.
use crate::error::Result;
use crate::kernels::fold::{Fold, Visitor};
use crate::kernels::pool::{Along, Pool};
use crate::kernels::{parallel, simd};
use crate::ops::{Cost, Cx, Kernel};
use std::marker::PhantomData;

/// Makes the kernel for a known combiner.
pub(super) struct Build {
    pub(super) pool: Pool,
    /// Whether combining an element twice is the same as once.
    pub(super) idempotent: bool,
    pub(super) cost: Cost,
}

impl Visitor for Build {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        let Self { pool, idempotent, cost } = self;
        Box::new(Direct::<F> { pool, idempotent, cost, fold: PhantomData })
    }
}

#[derive(Debug)]
struct Direct<F> {
    pool: Pool,
    idempotent: bool,
    cost: Cost,
    fold: PhantomData<F>,
}

/// Elements that are looked at in a piece.
const PIECE: usize = 1 << 16;
/// Outputs whose totals are held together where an output is a single element.
const BLOCK: usize = 1024;
/// Elements that each output needs at least to be computed for itself.
const WIDE: usize = 8;
/// Places of a window from which on sums of halves are worth it.
const LONG: usize = 6;

impl<F: Fold> Kernel for Direct<F> {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let input: &[F::Element] = bytemuck::cast_slice(operands[0]);
        let init = F::start(bytemuck::pod_read_unaligned(operands[1]));
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(results[0]);
        let (along, inner) = (self.pool.along(), self.pool.inner());
        let outputs = along.outputs();
        let piece = PIECE / (self.pool.places() * inner).clamp(1, PIECE);
        parallel::chunks_mut(result, piece * inner, |number, result| {
            let mut bases = Vec::new();
            let mut totals = Vec::new();
            let mut halves = [Vec::new(), Vec::new()];
            let (mut at, mut rest) = (number * piece, result);
            while !rest.is_empty() {
                let (row, first) = (at / outputs, at % outputs);
                let count = (outputs - first).min(rest.len() / inner);
                let (result, after) = rest.split_at_mut(count * inner);
                self.pool.bases(row, &mut bases);
                let row = Row::<F> { bases: &bases, along, inner, first, input, init, result };
                let long = self.idempotent && along.is_dense() && along.size() >= LONG;
                if inner >= WIDE {
                    simd::run(row);
                } else if long && inner == 1 && bases.len() == 1 && along.size() <= BLOCK {
                    simd::run(Halves { row, halves: &mut halves });
                } else {
                    simd::run(Singles { row, totals: &mut totals });
                }
                (at, rest) = (at + count, after);
            }
        });
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// Outputs of a row from number `first` on.
struct Row<'a, F: Fold> {
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

impl<F: Fold> simd::Loop for Row<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
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
}

/// The same for outputs of few elements: place by place, for many outputs.
struct Singles<'a, 'b, F: Fold> {
    row: Row<'a, F>,
    totals: &'b mut Vec<F::Total>,
}

impl<F: Fold> simd::Loop for Singles<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Row { bases, along, inner, first, input, init, result } = self.row;
        let count = result.len() / inner;
        for begin in (0..count).step_by(BLOCK) {
            let outputs = first + begin..first + count.min(begin + BLOCK);
            let totals = &mut *self.totals;
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
        (1, 2) => {
            let (pairs, rest) = input.as_chunks::<2>();
            for (total, pair) in totals.iter_mut().zip(pairs) {
                *total = F::extend(*total, F::load(pair[0]));
            }
            // The last one may have nothing behind it.
            if let (Some(total), Some(&element)) = (totals.get_mut(pairs.len()), rest.first()) {
                *total = F::extend(*total, F::load(element));
            }
        }
        _ => {
            for (group, totals) in totals.chunks_exact_mut(inner).enumerate() {
                for (total, &element) in totals.iter_mut().zip(&input[group * stride..]) {
                    *total = F::extend(*total, F::load(element));
                }
            }
        }
    }
}

/// The same for windows without gaps under a combiner that may meet an element twice: results of
/// 2, 4, 8, … elements, of which two make a window.
struct Halves<'a, 'b, F: Fold> {
    row: Row<'a, F>,
    halves: &'b mut [Vec<F::Partial>; 2],
}

impl<F: Fold> simd::Loop for Halves<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Row { bases, along, first, input, init, result, .. } = self.row;
        let [now, next] = self.halves;
        let size = along.size();
        let base = bases[0];
        for (number, result) in result.chunks_mut(BLOCK).enumerate() {
            let begin = first + number * BLOCK;
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

/// Fills in the elements that some windows reach.
#[inline(always)]
fn reach<F: Fold>(
    to: &mut [F::Partial],
    along: Along,
    first: usize,
    input: &[F::Element],
) {
    // Place 0 of the outputs, and of as many behind them as a window has places.
    let (meeting, from) = along.meeting(0, first..first + to.len());
    let start = meeting.start.saturating_sub(first);
    let elements = &input[from..][..meeting.len()];
    for (to, &element) in to[start..].iter_mut().zip(elements) {
        *to = F::load(element);
    }
}
