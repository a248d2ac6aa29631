//! `ProductOfElementaryHouseholderReflectors`: the `Q` of a QR decomposition.
use crate::factor::{Batch, each, for_scalar, item, kind, read, write};
use crate::{Cost, Cx, Entry, Kernel, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::linalg::householder::{product, workspace};
use tpu_kernels::linalg::scalar::Scalar;
use tpu_kernels::matmul::precision::{SumType, scratch_bytes, split_scratch};

/// The first columns of the product of the reflectors that are stored below a diagonal.
///
/// Shapes: `a [b…, m, n]`, `taus [b…, k]` with `k ≤ min(m, n)`; result `[b…, m, n]`.
/// Errors: `BadArgument` for shapes and types that do not fit.
/// Source: JAX, `householder_product_p` on TPU; LAPACK's orgqr and ungqr.
pub(super) const OP: Entry =
    Entry::target("ProductOfElementaryHouseholderReflectors", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [a, taus] = site.exactly::<2>()?;
    let Batch { rows, columns, .. } = Batch::new(site, a)?;
    kind(site, a.dtype)?;
    let outer = &a.dims[..a.rank() - 2];
    let fits = taus.dtype == a.dtype
        && taus
            .dims
            .split_last()
            .is_some_and(|(&count, batch)| count <= rows.min(columns) && batch == outer);
    if !fits {
        return Err(Error::bad(format!("{}: {taus} does not fit {a}", site.name)));
    }
    Ok(vec![a.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [a, taus] = site.exactly::<2>()?;
    let (batch, kind) = (Batch::new(site, a)?, kind(site, a.dtype)?);
    let reflectors = taus.dims.last().copied().unwrap_or(0);
    Ok(Lowered::Kernel(Box::new(Product { batch, reflectors, kind, dtype: a.dtype })))
}

#[derive(Debug)]
struct Product {
    batch: Batch,
    reflectors: usize,
    kind: SumType,
    dtype: DType,
}

impl Product {
    /// Reflectors, result, factors, room.
    fn numbers(&self) -> [usize; 4] {
        let Batch { rows, columns, .. } = self.batch;
        let size = self.batch.size();
        [size, size, self.reflectors, workspace([rows, columns])]
    }

    fn run_in<T: Scalar>(
        &self,
        scratch: &mut [u8],
        [a, factors]: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<()> {
        let Batch { count, rows, columns } = self.batch;
        let [size, _, reflectors, room] = self.numbers();
        each(count, scratch, &mut [out], |index, mut scratch, results| {
            let [out] = results else { return Ok(()) };
            let matrix = split_scratch::<T>(&mut scratch, size)?;
            let q = split_scratch::<T>(&mut scratch, size)?;
            let taus = split_scratch::<T>(&mut scratch, reflectors)?;
            let room = split_scratch::<T>(&mut scratch, room)?;
            read(self.dtype, item(a, self.dtype, size, index), matrix)?;
            read(self.dtype, item(factors, self.dtype, reflectors, index), taus)?;
            product([rows, columns], matrix, taus, q, room);
            write(q, self.dtype, out)
        })
    }
}

impl Kernel for Product {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[a, taus], [out]) = (operands, results) else {
            return Err(Error::bad("a product of reflectors takes two operands"));
        };
        for_scalar!(self.kind, T => self.run_in::<T>(cx.scratch, [a, taus], out))
    }

    fn scratch(&self) -> usize {
        let width = self.kind.bytes();
        self.numbers()
            .into_iter()
            .fold(0, |all, count| all.saturating_add(scratch_bytes(count, width)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        let flops = 4.0 * self.batch.count as f64 * self.batch.size() as f64;
        Cost { flops: flops * self.reflectors as f64, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::custom::qr;
    use crate::testing::{Case, TestValue};
    use num_complex::Complex;
    use tpu_kernels::matmul::widen::Widen;

    fn check<T: Scalar>(dtype: DType, [m, n]: [usize; 2], a: &[T], tolerance: f64) {
        let rank = m.min(n);
        let declared = [Shape::new(dtype, [m, n]), Shape::new(dtype, [rank])];
        let operands = [TestValue::of(dtype, &[m, n], a)];
        let results = Case::new(qr::OP.mnemonic)
            .given(&operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&qr::OP)
            .unwrap();
        let r: Vec<T> = results[0].elements();
        // The first columns are the reflectors of a square or tall Q.
        let narrow: Vec<T> = (0..m * rank).map(|at| r[at / rank * n + at % rank]).collect();
        let operands = [TestValue::of(dtype, &[m, rank], &narrow), results[1].clone()];
        let declared = [Shape::new(dtype, [m, rank])];
        let q: Vec<T> = Case::new(OP.mnemonic)
            .given(&operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP)
            .unwrap()[0]
            .elements();
        let near = |left: T, right: T| {
            let error = num_traits::ToPrimitive::to_f64(&(left - right).size()).unwrap();
            assert!(error < tolerance, "{m} {n}: off by {error}");
        };
        for i in 0..m {
            for j in 0..n {
                let mut sum = T::ZERO;
                for k in 0..rank.min(j + 1) {
                    sum += q[i * rank + k] * r[k * n + j];
                }
                near(sum, a[i * n + j]);
            }
        }
        for i in 0..rank {
            for j in 0..rank {
                let mut sum = T::ZERO;
                for k in 0..m {
                    sum += q[k * rank + i].conjugate() * q[k * rank + j];
                }
                near(sum, T::of_i64(i64::from(i == j)));
            }
        }
    }

    #[test]
    fn q_times_r_is_the_matrix_and_q_is_unitary() {
        let part = |i: usize| f64::from(u32::try_from(i * 37 % 101).unwrap()) / 50.0 - 1.0;
        for dims in [[4, 4], [7, 3], [3, 7], [1, 1], [5, 1]] {
            let count = dims[0] * dims[1];
            let reals: Vec<f64> = (0..count).map(part).collect();
            check(DType::F64, dims, &reals, 1e-13);
            let singles: Vec<f32> = reals.iter().map(|&value| f32::of_f64(value)).collect();
            check(DType::F32, dims, &singles, 1e-5);
            let complex: Vec<Complex<f64>> =
                (0..count).map(|i| Complex::new(part(i), part(3 * i + 1))).collect();
            check(DType::C128, dims, &complex, 1e-13);
        }
    }

    #[test]
    fn reflectors_are_those_of_lapack() {
        // Wanted values by hand: the norm of (3, 4) is 5.
        let operands = [TestValue::of(DType::F64, &[2, 1], &[3.0, 4.0])];
        let declared = [Shape::new(DType::F64, [2, 1]), Shape::new(DType::F64, [1])];
        let results = Case::new(qr::OP.mnemonic)
            .given(&operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&qr::OP)
            .unwrap();
        assert_eq!(results[0].elements::<f64>(), [-5.0, 0.5]);
        assert_eq!(results[1].elements::<f64>(), [1.6]);
    }
}
