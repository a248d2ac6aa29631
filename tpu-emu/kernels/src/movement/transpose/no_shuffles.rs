//! Stands for the instructions that interleave vectors where there are none.
use super::BlockTurn;
use crate::simd::Shuffles;
use bytemuck::Pod;

/// What nobody can have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interleaved(pub(super) Shuffles);

impl<T: Pod> BlockTurn<T> for Interleaved {
    fn turn(self, _: &[T], _: usize, _: &mut [T], _: usize) {
        match self.0 {}
    }
}
