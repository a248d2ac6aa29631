//! Slices of an array taken at computed places.
use super::block_copy::BlockCopy;
use super::index::{Component, Placer, Vectors};
use super::loop_nest::{Axis, collapse};
use crate::for_width;
use crate::movement::tuning::OFFSET_BATCH_ELEMENTS;
use crate::parallel;

/// One loop over index vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How often.
    pub count: usize,
    /// From one vector's first component to the next vector's, in elements.
    pub indices: usize,
    /// From one slice to the next in the operand where the loop is a batching dimension, in
    /// bytes; else 0.
    pub operand: usize,
    /// From one slice to the next in the result, in bytes.
    pub result: usize,
}

impl Batch {
    /// As much of the loop as a result of so many bytes has room for.
    fn within(self, result: usize) -> Self {
        Self { count: result / self.result, ..self }
    }
}

/// Where slices are taken and where they go.
#[derive(Debug)]
pub struct Gather {
    /// How the indices are read.
    pub placer: Placer,
    /// Loops over index vectors, outer first.
    pub batches: Vec<Batch>,
    /// The components of an index vector, with steps in bytes.
    pub components: Vec<Component>,
    /// From one component to the next, in elements.
    pub component_step: usize,
    /// One slice.
    pub slice: BlockCopy,
}

impl Gather {
    /// Makes one loop of loops that continue each other.
    pub fn merge(&mut self) {
        let axes = self.batches.iter().map(|batch| {
            let &Batch { count, indices, operand, result } = batch;
            Axis { count, steps: [indices, operand, result] }
        });
        let batch = |Axis { count, steps: [indices, operand, result] }| Batch {
            count,
            indices,
            operand,
            result,
        };
        self.batches = collapse(axes).into_iter().map(batch).collect();
    }

    /// Takes every slice.
    pub fn run(&self, operand: &[u8], indices: &[u8], result: &mut [u8]) {
        if result.is_empty() || self.batches.iter().any(|batch| batch.count == 0) {
            return;
        }
        let at = At { operand: 0, vector: 0 };
        if let [loops] = self.batches[..]
            && let Some(([count, from, to], rest)) = self.slice.outermost(result.len())
            && loops.result * loops.count <= to
        {
            // The slices lie beside one another in each row of the result.
            let mut places = vec![0; loops.count];
            for (number, places) in places.chunks_mut(OFFSET_BATCH_ELEMENTS).enumerate() {
                self.places(
                    loops,
                    indices,
                    at.further(loops, number * OFFSET_BATCH_ELEMENTS),
                    places,
                );
            }
            let chunk = parallel::items_per_chunk(to).min(count);
            return parallel::chunks_mut(result, chunk * to, |number, result| {
                for (row, result) in result.chunks_exact_mut(to).enumerate() {
                    let operand = &operand[(number * chunk + row) * from..];
                    take(&rest, &places, operand, loops.result, result);
                }
            });
        }
        let Some((&outer, inner)) = self.batches.split_first() else {
            return self.batch(&[], operand, indices, at, result);
        };
        // Chunks of the outer loop, where it goes through the result once.
        let chunk = parallel::items_per_chunk(outer.result);
        if outer.result * outer.count != result.len() || chunk >= outer.count {
            return self.batch(&self.batches, operand, indices, at, result);
        }
        parallel::chunks_mut(result, chunk * outer.result, |number, result| {
            let at = at.further(outer, number * chunk);
            self.each(outer.within(result.len()), inner, operand, indices, at, result);
        });
    }

    /// The rows that the result of so many bytes can be made in, each of equal parts of so many
    /// indices; `None` where the outermost loop does not go through both in order.
    pub fn rows(&self, indices: usize, result: usize) -> Option<usize> {
        let outer = self.batches.first()?;
        let both = outer.indices * outer.count == indices && outer.result * outer.count == result;
        (both && outer.count > 0).then_some(outer.count)
    }

    /// Some rows, from row `first` on. `indices` has those of these rows.
    pub fn some_rows(&self, operand: &[u8], indices: &[u8], first: usize, result: &mut [u8]) {
        let Some((&outer, inner)) = self.batches.split_first() else { return };
        let at = At { operand: first * outer.operand, vector: 0 };
        self.each(outer.within(result.len()), inner, operand, indices, at, result);
    }

    fn batch(&self, batches: &[Batch], operand: &[u8], indices: &[u8], at: At, result: &mut [u8]) {
        match batches {
            [] => {
                let one = Batch { count: 1, indices: 0, operand: 0, result: result.len() };
                self.slices(one, operand, indices, at, result);
            }
            [outer, inner @ ..] => self.each(*outer, inner, operand, indices, at, result),
        }
    }

    /// All of a loop, with the loops in it.
    fn each(
        &self,
        outer: Batch,
        inner: &[Batch],
        operand: &[u8],
        indices: &[u8],
        at: At,
        result: &mut [u8],
    ) {
        if inner.is_empty() {
            return self.slices(outer, operand, indices, at, result);
        }
        for index in 0..outer.count {
            let result = &mut result[index * outer.result..];
            self.batch(inner, operand, indices, at.further(outer, index), result);
        }
    }

    /// The slices of one loop.
    fn slices(&self, loops: Batch, operand: &[u8], indices: &[u8], at: At, result: &mut [u8]) {
        let mut room = [0; OFFSET_BATCH_ELEMENTS];
        for first in (0..loops.count).step_by(OFFSET_BATCH_ELEMENTS) {
            let places = &mut room[..OFFSET_BATCH_ELEMENTS.min(loops.count - first)];
            self.places(loops, indices, at.further(loops, first), places);
            take(&self.slice, places, operand, loops.result, &mut result[first * loops.result..]);
        }
    }

    /// Where the slices of a loop begin in the operand, from `at` on.
    fn places(&self, loops: Batch, indices: &[u8], at: At, places: &mut [usize]) {
        let vectors =
            Vectors { first: at.vector, step: loops.indices, between: self.component_step };
        let base = [at.operand, loops.operand];
        (self.placer)(indices, vectors, &self.components, base, places);
    }
}

/// Copies the slice at each place; in the result they are `step` bytes apart.
fn take(slice: &BlockCopy, places: &[usize], operand: &[u8], step: usize, result: &mut [u8]) {
    match slice.one_run() {
        Some(run) => for_width!(run,
            T => runs::<{ size_of::<T>() }>(places, operand, step, result),
            else for (index, &place) in places.iter().enumerate() {
                let to = &mut result[index * step..][..run];
                to.copy_from_slice(&operand[place..][..run]);
            }
        ),
        None => {
            for (index, &place) in places.iter().enumerate() {
                slice.run(&operand[place..], &mut result[index * step..]);
            }
        }
    }
}

/// Where a loop begins: in the operand, in bytes, and among the indices, in elements.
#[derive(Debug, Clone, Copy)]
struct At {
    operand: usize,
    vector: usize,
}

impl At {
    /// Element `index` of a loop.
    fn further(self, along: Batch, index: usize) -> Self {
        Self {
            operand: self.operand + index * along.operand,
            vector: self.vector + index * along.indices,
        }
    }
}

/// Slices of `N` bytes.
fn runs<const N: usize>(places: &[usize], operand: &[u8], step: usize, result: &mut [u8]) {
    if step == N {
        let (to, _) = result.as_chunks_mut::<N>();
        for (to, &place) in to.iter_mut().zip(places) {
            if let Some(found) = operand.get(place..place + N) {
                to.copy_from_slice(found);
            }
        }
    } else {
        for (index, &place) in places.iter().enumerate() {
            result[index * step..][..N].copy_from_slice(&operand[place..][..N]);
        }
    }
}
