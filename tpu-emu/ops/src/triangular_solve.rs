//! `triangular_solve`: systems with a triangular matrix.
use super::factor::{Batch, each, for_scalar, item, kind, read, write};
use super::{Cost, Cx, Entry, Kernel, Lowered, Site, factors};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::linalg::factor::{Triangle, solve_left, solve_right};
use tpu_kernels::linalg::scalar::Scalar;
use tpu_kernels::matmul::precision::{SumType, scratch_bytes, split_scratch};

/// `x` with `op(a)·x = b`, or `x·op(a) = b` where `left_side` is false. Only the triangle that
/// `lower` names is read, and not its diagonal if `unit_diagonal`.
///
/// Shapes: `a [b…, n, n]`, `b [b…, n, k]` or `[b…, k, n]`, result as `b`.
/// Errors: `Constraint` C1 for element types that differ, C3 for extents that do not fit.
/// Source: StableHLO specification, "triangular_solve", C1-C4.
pub(super) const OP: Entry =
    Entry { factors: factors::rows, ..Entry::new("triangular_solve", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [a, b] = site.exactly::<2>()?;
    if a.dtype != b.dtype {
        return Err(site.violates("C1", format!("{a} and {b} differ in element type")));
    }
    kind(site, a.dtype)?;
    let (matrix, right) = (Batch::new(site, a)?, Batch::new(site, b)?);
    let side = if site.attributes.flag("left_side") { right.rows } else { right.columns };
    let outer = |shape: &Shape| shape.dims[..shape.rank() - 2].to_vec();
    if matrix.rows != matrix.columns || side != matrix.rows || outer(a) != outer(b) {
        return Err(site.violates("C3", format!("{a} does not fit {b}")));
    }
    Ok(vec![b.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [a, b] = site.exactly::<2>()?;
    let (transposed, conjugated) = match site.attribute("transpose_a")?.as_str() {
        Some("NO_TRANSPOSE") => (false, false),
        Some("TRANSPOSE") => (true, false),
        Some("ADJOINT") => (true, true),
        other => return Err(site.unimplemented(format!("transpose_a {other:?}"))),
    };
    let lower = site.attributes.flag("lower");
    Ok(Lowered::Kernel(Box::new(Solve {
        matrix: Batch::new(site, a)?,
        right: Batch::new(site, b)?,
        kind: kind(site, a.dtype)?,
        dtype: a.dtype,
        left_side: site.attributes.flag("left_side"),
        transposed,
        conjugated,
        triangle: Triangle {
            lower: lower != transposed,
            unit: site.attributes.flag("unit_diagonal"),
        },
    })))
}

#[derive(Debug)]
struct Solve {
    matrix: Batch,
    right: Batch,
    kind: SumType,
    dtype: DType,
    left_side: bool,
    transposed: bool,
    conjugated: bool,
    /// Of the matrix after it is transposed.
    triangle: Triangle,
}

impl Solve {
    fn run_in<T: Scalar>(
        &self,
        scratch: &mut [u8],
        [a, b]: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<()> {
        let (n, size, right) = (self.matrix.rows, self.matrix.size(), self.right.size());
        each(self.matrix.count, scratch, &mut [out], |index, mut scratch, results| {
            let [out] = results else { return Ok(()) };
            let matrix = split_scratch::<T>(&mut scratch, size)?;
            let values = split_scratch::<T>(&mut scratch, right)?;
            read(self.dtype, item(a, self.dtype, size, index), matrix)?;
            read(self.dtype, item(b, self.dtype, right, index), values)?;
            if self.transposed {
                for row in 0..n {
                    for column in 0..row {
                        matrix.swap(row * n + column, column * n + row);
                    }
                }
            }
            if self.conjugated {
                matrix.iter_mut().for_each(|value| *value = value.conjugate());
            }
            if self.left_side {
                solve_left(n, self.triangle, matrix, values, self.right.columns);
            } else {
                solve_right(n, self.triangle, matrix, values);
            }
            write(values, self.dtype, out)
        })
    }
}

impl Kernel for Solve {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[a, b], [out]) = (operands, results) else {
            return Err(Error::bad("triangular_solve takes two operands and gives one result"));
        };
        if out.is_empty() {
            return Ok(());
        }
        for_scalar!(self.kind, T => self.run_in::<T>(cx.scratch, [a, b], out))
    }

    fn scratch(&self) -> usize {
        let width = self.kind.bytes();
        scratch_bytes(self.matrix.size(), width)
            .saturating_add(scratch_bytes(self.right.size(), width))
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        let (n, right) = (self.matrix.rows as f64, self.right.size() as f64);
        Cost { flops: self.matrix.count as f64 * n * right, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue};
    use num_complex::Complex;
    use tpu_stablehlo::ir::Attribute;

    /// `left·right` of square matrices.
    fn product(left: &[Complex<f64>], right: &[Complex<f64>], n: usize) -> Vec<Complex<f64>> {
        let columns = right.len() / n;
        let rows = left.len() / n;
        let sum = |i: usize, j: usize| -> Complex<f64> {
            (0..n).map(|k| left[i * n + k] * right[k * columns + j]).sum()
        };
        (0..rows * columns).map(|at| sum(at / columns, at % columns)).collect()
    }

    #[test]
    fn every_combination_solves_its_system() {
        const N: usize = 4;
        let part = |i: usize| f64::from(u32::try_from(i * 37 % 101).unwrap()) / 50.0 - 1.0;
        let number = |i: usize| Complex::new(part(i) + 2.0, part(3 * i + 1));
        let a: Vec<Complex<f64>> = (0..N * N).map(number).collect();
        for case in 0..24 {
            let [left_side, lower, unit] = [case & 1, case & 2, case & 4].map(|bit| bit != 0);
            let word = ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"][case / 8];
            let attributes = [
                ("left_side", Attribute::Bool(left_side)),
                ("lower", Attribute::Bool(lower)),
                ("unit_diagonal", Attribute::Bool(unit)),
                ("transpose_a", Attribute::Word(word.into())),
            ];
            let dims = if left_side { [N, 3] } else { [3, N] };
            let b: Vec<Complex<f64>> = (0..3 * N).map(|i| number(i + 50)).collect();
            let operands =
                [TestValue::of(DType::C128, &[N, N], &a), TestValue::of(DType::C128, &dims, &b)];
            let declared = [Shape::new(DType::C128, dims)];
            let outcome = Case::new(OP.mnemonic)
                .attributes(&attributes)
                .given(&operands)
                .declares_all(&declared)
                .numerics(Numerics::Tpu)
                .results(&OP);
            let x = outcome.unwrap()[0].elements::<Complex<f64>>();

            let mut used = vec![Complex::new(0.0, 0.0); N * N];
            for row in 0..N {
                for column in 0..N {
                    let inside = if lower { column <= row } else { column >= row };
                    let one = unit && row == column;
                    let value = if one { Complex::new(1.0, 0.0) } else { a[row * N + column] };
                    if inside {
                        let turned = word != "NO_TRANSPOSE";
                        let at = if turned { column * N + row } else { row * N + column };
                        used[at] = if word == "ADJOINT" { value.conj() } else { value };
                    }
                }
            }
            let back = if left_side { product(&used, &x, N) } else { product(&x, &used, N) };
            for (back, b) in back.iter().zip(&b) {
                assert!((back - b).norm() < 1e-10, "{left_side} {lower} {unit} {word}");
            }
        }
    }
}
