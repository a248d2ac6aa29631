//! Slices of an array taken at computed places.
use super::copy::BlockCopy;
use super::index::{clamped, reader};
use crate::tensor::DType;

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

/// One component of an index vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// The largest start.
    pub room: usize,
    /// From one index to the next in the operand, in bytes.
    pub step: usize,
}

/// Where slices are taken and where they go.
#[derive(Debug)]
pub struct Gather {
    /// The type of the indices.
    pub dtype: DType,
    /// Loops over index vectors, outer first.
    pub batches: Vec<Batch>,
    /// The components of an index vector.
    pub components: Vec<Component>,
    /// From one component to the next, in elements.
    pub component_step: usize,
    /// One slice.
    pub slice: BlockCopy,
}

impl Gather {
    /// Makes one loop of loops that continue each other.
    pub fn merge(&mut self) {
        let mut merged: Vec<Batch> = Vec::with_capacity(self.batches.len());
        for &outer in self.batches.iter().rev() {
            match merged.last_mut() {
                _ if outer.count == 1 => {}
                Some(inner)
                    if outer.indices == inner.indices * inner.count
                        && outer.operand == inner.operand * inner.count
                        && outer.result == inner.result * inner.count =>
                {
                    inner.count *= outer.count;
                }
                _ => merged.push(outer),
            }
        }
        merged.reverse();
        self.batches = merged;
    }

    /// Takes every slice.
    pub fn run(&self, operand: &[u8], indices: &[u8], result: &mut [u8]) {
        if result.is_empty() || self.batches.iter().any(|batch| batch.count == 0) {
            return;
        }
        // The common index types get loops of their own.
        match self.dtype {
            DType::S32 => {
                let indices = bytemuck::cast_slice::<u8, i32>(indices);
                self.batch(&self.batches, operand, 0, &|at| indices[at].into(), 0, result);
            }
            DType::U32 => {
                let indices = bytemuck::cast_slice::<u8, u32>(indices);
                self.batch(&self.batches, operand, 0, &|at| indices[at].into(), 0, result);
            }
            other => {
                let Some(read) = reader(other) else { return };
                self.batch(&self.batches, operand, 0, &|at| read(indices, at), 0, result);
            }
        }
    }

    fn batch(
        &self,
        batches: &[Batch],
        operand: &[u8],
        offset: usize,
        index: &impl Fn(usize) -> i64,
        vector: usize,
        result: &mut [u8],
    ) {
        match batches {
            [] => self.slice.run(&operand[self.place(offset, index, vector)..], result),
            [last] => self.slices(*last, operand, offset, index, vector, result),
            [outer, inner @ ..] => {
                for at in 0..outer.count {
                    let offset = offset + at * outer.operand;
                    let result = &mut result[at * outer.result..];
                    self.batch(inner, operand, offset, index, vector + at * outer.indices, result);
                }
            }
        }
    }

    /// Where in the operand the slice of the index vector at `vector` begins.
    fn place(&self, offset: usize, index: &impl Fn(usize) -> i64, vector: usize) -> usize {
        let starts = self.components.iter().enumerate().map(|(at, component)| {
            clamped(index(vector + at * self.component_step), component.room) * component.step
        });
        offset + starts.sum::<usize>()
    }

    fn slices(
        &self,
        loops: Batch,
        operand: &[u8],
        offset: usize,
        index: &impl Fn(usize) -> i64,
        vector: usize,
        result: &mut [u8],
    ) {
        let place =
            |at: usize| self.place(offset + at * loops.operand, index, vector + at * loops.indices);
        match self.slice.one_run() {
            Some(1) => runs::<1>(loops, operand, place, result),
            Some(2) => runs::<2>(loops, operand, place, result),
            Some(4) => runs::<4>(loops, operand, place, result),
            Some(8) => runs::<8>(loops, operand, place, result),
            Some(16) => runs::<16>(loops, operand, place, result),
            _ => {
                for at in 0..loops.count {
                    self.slice.run(&operand[place(at)..], &mut result[at * loops.result..]);
                }
            }
        }
    }
}

/// Slices of `N` bytes.
fn runs<const N: usize>(
    loops: Batch,
    operand: &[u8],
    place: impl Fn(usize) -> usize,
    result: &mut [u8],
) {
    for at in 0..loops.count {
        result[at * loops.result..][..N].copy_from_slice(&operand[place(at)..][..N]);
    }
}
