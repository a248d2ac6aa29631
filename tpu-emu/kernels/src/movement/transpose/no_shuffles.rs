//! Stands for the instructions that interleave vectors where there are none.
use super::{BlockTranspose, SIDE};
use crate::simd::Shuffles;
use bytemuck::Pod;

/// What nobody can have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interleaved(pub(super) Shuffles);

impl<T: Pod> BlockTranspose<T> for Interleaved {
    fn transpose(self, _: &[T], _: usize, _: &mut [T], _: usize) {
        match self.0 {}
    }
}

/// Columns of rows.
pub(crate) fn eight_columns<T>(machine: Shuffles, _: &[T], _: usize, _: &mut [[T; SIDE]; 8]) {
    match machine {}
}

/// Columns of short rows.
pub(crate) fn few_columns<T, const N: usize>(machine: Shuffles, _: &[[T; N]; 8]) -> [[T; 8]; N] {
    match machine {}
}

/// The columns of a square.
pub(crate) fn eight_by_eight<T>(machine: Shuffles, _: &[[T; 8]; 8]) -> [[T; 8]; 8] {
    match machine {}
}
