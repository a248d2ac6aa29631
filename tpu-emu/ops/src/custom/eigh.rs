//! `Eigh`: eigenvalues and eigenvectors of Hermitian matrices, as JAX asks a TPU for them.
use crate::factor::{Batch, each, for_scalar, item, kind, read, write};
use crate::{Cost, Cx, Entry, Kernel, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::linalg::eigh;
use tpu_kernels::linalg::eigh::eigen;
use tpu_kernels::linalg::scalar::Scalar;
use tpu_kernels::matmul::accumulate::Work;
use tpu_kernels::matmul::precision::{SumType, scratch_bytes, split_scratch};

/// Eigenvectors, one a column, and eigenvalues, ascending. The configuration is
/// `lower,sort,sweeps,tolerance`: which triangle is read, whether the order is free, and for
/// Jacobi's method what does not apply here. Without sorting, trailing rows that only have a
/// diagonal keep their place, as with rotations that never touch them. Values are computed in 64
/// bits and rounded once. A matrix that is not finite gives NaN.
///
/// Shapes: `a [b…, n, n]`; results `[b…, n, n]` and reals `[b…, n]`.
/// Errors: `BadArgument` for a matrix that is not square.
/// Source: JAX, `eigh_p` on TPU.
pub(super) const OP: Entry = Entry::target("Eigh", infer, lower);

/// The type of the parts of a number.
fn real(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        real => real,
    }
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [a] = site.exactly::<1>()?;
    let Batch { rows, columns, .. } = Batch::new(site, a)?;
    kind(site, a.dtype)?;
    if rows != columns {
        return Err(Error::bad(format!("{}: {a} is not square", site.name)));
    }
    let values = &a.dims[..a.rank() - 1];
    Ok(vec![a.clone(), Shape::new(real(a.dtype), values)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [a] = site.exactly::<1>()?;
    let config = site.attributes.text("backend_config").unwrap_or("1");
    let mut flags = config.split(',').map(|flag| match flag {
        "1" | "" => Ok(true),
        "0" => Ok(false),
        _ => Err(site.unimplemented(format!("configuration {config:?}"))),
    });
    let lower = flags.next().unwrap_or(Ok(true))?;
    let sort = flags.next().unwrap_or(Ok(true))?;
    let kind = match kind(site, a.dtype)? {
        SumType::C64 | SumType::C128 => SumType::C128,
        _ => SumType::F64,
    };
    let batch = Batch::new(site, a)?;
    Ok(Lowered::Kernel(Box::new(Eigh { batch, kind, dtype: a.dtype, lower, sort })))
}

#[derive(Debug)]
struct Eigh {
    batch: Batch,
    kind: SumType,
    dtype: DType,
    lower: bool,
    sort: bool,
}

/// Number of leading rows behind which a Hermitian matrix is diagonal.
fn coupled<T: Scalar>(n: usize, matrix: &[T]) -> usize {
    let below = |&row: &usize| matrix[row * n..row * n + row].iter().any(|&x| x != T::ZERO);
    (1..n).rev().find(below).map_or(0, |row| row + 1)
}

impl Eigh {
    fn run_in<T: Scalar>(
        &self,
        scratch: &mut [u8],
        a: &[u8],
        [vectors, values]: [&mut [u8]; 2],
    ) -> Result<()> {
        let (n, size) = (self.batch.rows, self.batch.size());
        let [numbers, reals] = eigh::workspace(n);
        let results = &mut [vectors, values];
        each(self.batch.count, scratch, results, |index, mut scratch, results| {
            let [vectors, values] = results else { return Ok(()) };
            let matrix = split_scratch::<T>(&mut scratch, size)?;
            let numbers = split_scratch::<T>(&mut scratch, numbers)?;
            let reals = split_scratch::<T::Real>(&mut scratch, reals)?;
            read(self.dtype, item(a, self.dtype, size, index), matrix)?;
            for row in 0..n {
                matrix[row * n + row] = T::of(matrix[row * n + row].re(), T::Real::ZERO);
                for column in 0..row {
                    let (low, high) = (row * n + column, column * n + row);
                    let (from, to) = if self.lower { (low, high) } else { (high, low) };
                    matrix[to] = matrix[from].conjugate();
                }
            }
            let m = if self.sort { n } else { coupled(n, matrix) };
            for row in 1..m {
                matrix.copy_within(row * n..row * n + m, row * m);
            }
            let [some, few] = eigh::workspace(m);
            eigen(m, &mut matrix[..m * m], &mut numbers[..some], &mut reals[..few]);
            for (row, value) in reals.iter_mut().enumerate().take(n).skip(m) {
                *value = matrix[row * n + row].re();
            }
            // Rows are vectors; the result has them as columns.
            for row in 0..m {
                for column in 0..row {
                    matrix.swap(row * m + column, column * m + row);
                }
            }
            for row in (0..m).rev() {
                matrix.copy_within(row * m..(row + 1) * m, row * n);
                matrix[row * n + m..(row + 1) * n].fill(T::ZERO);
            }
            matrix[m * n..].fill(T::ZERO);
            for row in m..n {
                matrix[row * n + row] = T::of_i64(1);
            }
            write(matrix, self.dtype, vectors)?;
            let real = real(self.dtype);
            write(&reals[..n], real, values)
        })
    }
}

impl Kernel for Eigh {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[a], [vectors, values]) = (operands, results) else {
            return Err(Error::bad("Eigh takes one operand and gives two results"));
        };
        if self.batch.size() == 0 {
            return Ok(());
        }
        for_scalar!(self.kind, T => self.run_in::<T>(cx.scratch, a, [vectors, values]))
    }

    fn scratch(&self) -> usize {
        let width = self.kind.bytes();
        let [numbers, reals] = eigh::workspace(self.batch.rows);
        let all = [self.batch.size(), numbers, reals].map(|count| scratch_bytes(count, width));
        all.into_iter().fold(0, usize::saturating_add)
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        let n = self.batch.rows as f64;
        Cost { flops: 9.0 * self.batch.count as f64 * n * n * n, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue};
    use num_complex::Complex;
    use tpu_stablehlo::ir::Attribute;

    fn decompose<T: Scalar>(dtype: DType, n: usize, a: &[T], lower: bool) -> (Vec<T>, TestValue) {
        let config = if lower { "1,1,100,1e-6" } else { "0,1,100,1e-6" };
        let attributes = [("backend_config", Attribute::string(config))];
        let declared = [Shape::new(dtype, [n, n]), Shape::new(real(dtype), [n])];
        let operands = [TestValue::of(dtype, &[n, n], a)];
        let mut results = Case::new(OP.mnemonic)
            .attributes(&attributes)
            .given(&operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP)
            .unwrap();
        let values = results.pop().unwrap();
        (results[0].elements(), values)
    }

    #[test]
    fn vectors_diagonalise_and_values_ascend() {
        let part = |i: usize| f64::from(u32::try_from(i * 37 % 101).unwrap()) / 50.0 - 1.0;
        for n in [1, 2, 3, 8, 33] {
            let mut a = vec![Complex::new(0.0, 0.0); n * n];
            for i in 0..n {
                a[i * n + i] = Complex::new(part(i), 0.0);
                for j in 0..i {
                    a[i * n + j] = Complex::new(part(i * n + j), part(3 * i + j));
                    a[j * n + i] = a[i * n + j].conj();
                }
            }
            for lower in [true, false] {
                let (v, w) = decompose(DType::C128, n, &a, lower);
                let w: Vec<f64> = w.elements();
                assert!(w.is_sorted(), "{w:?}");
                for i in 0..n {
                    for j in 0..n {
                        let product: Complex<f64> =
                            (0..n).map(|k| a[i * n + k] * v[k * n + j]).sum();
                        let error = (product - v[i * n + j] * w[j]).norm();
                        assert!(error < 1e-12, "{n} {i} {j}: {error}");
                        let inner: Complex<f64> =
                            (0..n).map(|k| v[k * n + i].conj() * v[k * n + j]).sum();
                        assert!((inner - f64::from(u8::from(i == j))).norm() < 1e-12, "{n}");
                    }
                }
            }
        }
    }

    #[test]
    fn unsorted_padding_stays_behind() {
        let mut a = [0.0_f32; 16];
        (a[0], a[1], a[4], a[5], a[15]) = (3.0, 1.0, 1.0, 3.0, -7.0);
        let attributes = [("backend_config", Attribute::string("1,0,100,1e-6"))];
        let declared = [Shape::new(DType::F32, [4, 4]), Shape::new(DType::F32, [4])];
        let operands = [TestValue::of(DType::F32, &[4, 4], &a)];
        let results = Case::new(OP.mnemonic)
            .attributes(&attributes)
            .given(&operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP)
            .unwrap();
        assert_eq!(results[1].elements::<f32>(), [2.0, 4.0, 0.0, -7.0]);
        let vectors: Vec<f32> = results[0].elements();
        assert_eq!(vectors[8..], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!([vectors[2], vectors[3], vectors[6], vectors[7]], [0.0; 4]);
        assert!((vectors[0].abs() - 0.5_f32.sqrt()).abs() < 1e-7);
    }

    #[test]
    fn easy_matrices_are_exact_and_others_end() {
        let (v, w) = decompose(DType::F32, 2, &[2.0_f32, 0.0, 0.0, 1.0], true);
        assert_eq!(w.elements::<f32>(), [1.0, 2.0]);
        assert_eq!(v.iter().map(|value| value.abs()).collect::<Vec<_>>(), [0.0, 1.0, 1.0, 0.0]);
        let (_, w) = decompose(DType::F32, 3, &[0.0_f32; 9], true);
        assert_eq!(w.elements::<f32>(), [0.0; 3]);
        let (v, w) = decompose(DType::F32, 2, &[f32::NAN, 1.0, 1.0, 1.0], true);
        assert!(v.iter().chain(&w.elements::<f32>()).all(|value| value.is_nan()));
        let (_, w) = decompose(DType::F64, 2, &[1e300_f64, 1e300, 1e300, 1e300], true);
        let w: Vec<f64> = w.elements();
        assert!(w[0].abs() < 1e285 && (w[1] / 2e300 - 1.0).abs() < 1e-14, "{w:?}");
    }
}
