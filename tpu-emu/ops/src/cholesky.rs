//! `cholesky`: triangular factors of positive definite matrices.
use super::factor::{Batch, each, for_scalar, item, kind, read, write};
use super::{Cost, Cx, Entry, Kernel, Lowered, Relayout, Site, factors};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::linalg::factor::{cholesky, cholesky_workspace};
use tpu_kernels::linalg::scalar::Scalar;
use tpu_kernels::matmul::precision::{SumType, scratch_bytes, split_scratch};

/// `L` with `L·Lᴴ = a`, or `U` with `Uᴴ·U = a`. Only that triangle of `a` is read, the other one
/// of the result is zero, and a matrix that is not positive definite gives NaN everywhere.
///
/// Shapes: `a [b…, n, n]`, result the same.
/// Errors: `Constraint` C3 for a matrix that is not square.
/// Source: StableHLO specification, "cholesky", C1-C3.
pub(super) const OP: Entry = Entry {
    factors: factors::rows,
    relayout: Relayout::Factored,
    ..Entry::new("cholesky", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [a] = site.exactly::<1>()?;
    let batch = Batch::new(site, a)?;
    kind(site, a.dtype)?;
    if batch.rows != batch.columns {
        return Err(site.violates("C3", format!("{a} is not square")));
    }
    Ok(vec![a.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [a] = site.exactly::<1>()?;
    let (batch, kind) = (Batch::new(site, a)?, kind(site, a.dtype)?);
    let lower = site.attributes.flag("lower");
    Ok(Lowered::Kernel(Box::new(Cholesky { batch, kind, dtype: a.dtype, lower })))
}

#[derive(Debug)]
struct Cholesky {
    batch: Batch,
    kind: SumType,
    dtype: DType,
    lower: bool,
}

impl Cholesky {
    fn run_in<T: Scalar>(&self, scratch: &mut [u8], a: &[u8], out: &mut [u8]) -> Result<()> {
        let (n, size) = (self.batch.rows, self.batch.size());
        each(self.batch.count, scratch, &mut [out], |index, mut scratch, results| {
            let [out] = results else { return Ok(()) };
            let matrix = split_scratch::<T>(&mut scratch, size)?;
            let workspace = split_scratch::<T>(&mut scratch, cholesky_workspace(n))?;
            read(self.dtype, item(a, self.dtype, size, index), matrix)?;
            if !self.lower {
                adjoint(n, matrix);
            }
            cholesky(n, matrix, workspace);
            if !self.lower {
                adjoint(n, matrix);
            }
            write(matrix, self.dtype, out)
        })
    }
}

/// The conjugate transpose, in place.
fn adjoint<T: Scalar>(n: usize, a: &mut [T]) {
    for row in 0..n {
        a[row * n + row] = a[row * n + row].conjugate();
        for column in 0..row {
            let (left, right) = (row * n + column, column * n + row);
            (a[left], a[right]) = (a[right].conjugate(), a[left].conjugate());
        }
    }
}

impl Kernel for Cholesky {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[a], [out]) = (operands, results) else {
            return Err(Error::bad("cholesky takes one operand and gives one result"));
        };
        if self.batch.size() == 0 {
            return Ok(());
        }
        for_scalar!(self.kind, T => self.run_in::<T>(cx.scratch, a, out))
    }

    fn scratch(&self) -> usize {
        let width = self.kind.bytes();
        scratch_bytes(self.batch.size(), width)
            .saturating_add(scratch_bytes(cholesky_workspace(self.batch.rows), width))
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        let n = self.batch.rows as f64;
        Cost { flops: self.batch.count as f64 * n * n * n / 3.0, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue};
    use num_complex::Complex;
    use tpu_stablehlo::ir::Attribute;

    fn factor(lower: bool, a: TestValue) -> TestValue {
        let attributes = [("lower", Attribute::Bool(lower))];
        let declared = [a.shape.clone()];
        Case::new(OP.mnemonic)
            .attributes(&attributes)
            .given(&[a])
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP)
            .unwrap()
            .remove(0)
    }

    #[test]
    fn both_triangles_give_their_factor_and_the_other_one_is_not_read() {
        let nan = f32::NAN;
        let lower = TestValue::of(DType::F32, &[2, 2], &[4.0, nan, 2.0, 10.0]);
        assert_eq!(factor(true, lower).elements::<f32>(), [2.0, 0.0, 1.0, 3.0]);
        let upper = TestValue::of(DType::F32, &[2, 2], &[4.0, 2.0, nan, 10.0]);
        assert_eq!(factor(false, upper).elements::<f32>(), [2.0, 1.0, 0.0, 3.0]);
    }

    #[test]
    fn a_complex_factor_times_its_adjoint_is_the_matrix() {
        let [zero, i] = [Complex::new(0.0, 0.0), Complex::new(0.0, 1.0)];
        let a = [Complex::new(4.0, 0.0), -2.0 * i, 2.0 * i, Complex::new(10.0, 0.0)];
        let result = factor(true, TestValue::of(DType::C128, &[2, 2], &a));
        let wanted = [Complex::new(2.0, 0.0), zero, i, Complex::new(3.0, 0.0)];
        assert_eq!(result.elements::<Complex<f64>>(), wanted);
    }

    #[test]
    fn what_is_not_positive_definite_gives_nan_and_leaves_the_rest_of_the_batch() {
        let a = TestValue::of(DType::F64, &[2, 2, 2], &[1.0, 2.0, 2.0, 1.0, 9.0, 3.0, 3.0, 5.0]);
        let result = factor(true, a).elements::<f64>();
        assert!(result[..4].iter().all(|value| value.is_nan()), "{result:?}");
        assert_eq!(result[4..], [3.0, 0.0, 1.0, 2.0]);
    }
}
