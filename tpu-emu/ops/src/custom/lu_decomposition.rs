//! `LuDecomposition`: LU with partial pivoting, as JAX asks a TPU for it.
use crate::factor::{Batch, each, for_scalar, item, kind, read, write};
use crate::{Cost, Cx, Entry, Kernel, Lowered, Site};
use bytemuck::cast_slice_mut;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::linalg::lu::{lu, workspace};
use tpu_kernels::linalg::scalar::Scalar;
use tpu_kernels::matmul::precision::{SumType, scratch_bytes, split_scratch};

/// `a = P·L·U`: both factors in one matrix, the exchanges of rows in order, and the permutation
/// that they make.
///
/// Shapes: `a [b…, m, n]`; results `[b…, m, n]`, `s32[b…, min(m, n)]`, `s32[b…, m]`.
/// Errors: `Unimplemented` for matrices of other numbers than floats and complex ones.
/// Source: JAX, `lu_p` on TPU; LAPACK's getrf, counted from 0.
pub(super) const OP: Entry = Entry::target("LuDecomposition", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [a] = site.exactly::<1>()?;
    let Batch { rows, columns, .. } = Batch::new(site, a)?;
    kind(site, a.dtype)?;
    let outer = &a.dims[..a.rank() - 2];
    let vector = |last: usize| Shape::new(DType::S32, [outer, &[last]].concat());
    Ok(vec![a.clone(), vector(rows.min(columns)), vector(rows)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [a] = site.exactly::<1>()?;
    let (batch, kind) = (Batch::new(site, a)?, kind(site, a.dtype)?);
    Ok(Lowered::Kernel(Box::new(Lu { batch, kind, dtype: a.dtype })))
}

#[derive(Debug)]
struct Lu {
    batch: Batch,
    kind: SumType,
    dtype: DType,
}

impl Lu {
    fn run_in<T: Scalar>(
        &self,
        scratch: &mut [u8],
        a: &[u8],
        [out, pivots, permutation]: [&mut [u8]; 3],
    ) -> Result<()> {
        let Batch { count, rows, columns } = self.batch;
        let size = self.batch.size();
        let results = &mut [out, pivots, permutation];
        each(count, scratch, results, |index, mut scratch, results| {
            let [out, pivots, permutation] = results else { return Ok(()) };
            let matrix = split_scratch::<T>(&mut scratch, size)?;
            let room = split_scratch::<T>(&mut scratch, workspace([rows, columns]))?;
            read(self.dtype, item(a, self.dtype, size, index), matrix)?;
            let (pivots, permutation) = (cast_slice_mut(pivots), cast_slice_mut(permutation));
            lu([rows, columns], matrix, pivots, permutation, room);
            write(matrix, self.dtype, out)
        })
    }
}

impl Kernel for Lu {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[a], [out, pivots, permutation]) = (operands, results) else {
            return Err(Error::bad("LuDecomposition takes one operand and gives three results"));
        };
        for_scalar!(self.kind, T => self.run_in::<T>(cx.scratch, a, [out, pivots, permutation]))
    }

    fn scratch(&self) -> usize {
        let (Batch { rows, columns, .. }, width) = (self.batch, self.kind.bytes());
        scratch_bytes(self.batch.size(), width)
            .saturating_add(scratch_bytes(workspace([rows, columns]), width))
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        let Batch { count, rows, columns } = self.batch;
        let (long, short) = (rows.max(columns) as f64, rows.min(columns) as f64);
        Cost { flops: count as f64 * short * short * (long - short / 3.0), transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue};

    fn decompose(dims: [usize; 2], a: &[f64]) -> (Vec<f64>, Vec<i32>, Vec<i32>) {
        let declared = [
            Shape::new(DType::F64, dims),
            Shape::new(DType::S32, [dims[0].min(dims[1])]),
            Shape::new(DType::S32, [dims[0]]),
        ];
        let operands = [TestValue::of(DType::F64, &dims, a)];
        let outcome = Case::new(OP.mnemonic)
            .given(&operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP);
        let results = outcome.unwrap();
        (results[0].elements(), results[1].elements(), results[2].elements())
    }

    #[test]
    fn factors_pivots_and_permutation_are_those_of_lapack() {
        // Wanted values from scipy.linalg.lapack.dgetrf.
        let a = [1.0, 2.0, 4.0, 4.0, 8.0, 0.0, 2.0, 0.0, 8.0];
        let (lu, pivots, permutation) = decompose([3, 3], &a);
        assert_eq!(lu, [4.0, 8.0, 0.0, 0.5, -4.0, 8.0, 0.25, 0.0, 4.0]);
        assert_eq!((pivots, permutation), (vec![1, 2, 2], vec![1, 2, 0]));
    }

    #[test]
    fn matrices_may_be_wide_tall_singular_and_empty() {
        let (lu, pivots, permutation) = decompose([2, 3], &[1.0, 2.0, 3.0, 2.0, 2.0, 2.0]);
        assert_eq!(lu, [2.0, 2.0, 2.0, 0.5, 1.0, 2.0]);
        assert_eq!((pivots, permutation), (vec![1, 1], vec![1, 0]));
        let (lu, pivots, permutation) = decompose([3, 1], &[1.0, -4.0, 2.0]);
        assert_eq!(lu, [-4.0, -0.25, -0.5]);
        assert_eq!((pivots, permutation), (vec![1], vec![1, 0, 2]));
        let (lu, ..) = decompose([2, 2], &[0.0; 4]);
        assert_eq!(lu, [0.0; 4]);
        assert_eq!(decompose([2, 0], &[]), (vec![], vec![], vec![0, 1]));
    }
}
