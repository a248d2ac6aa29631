//! `stablehlo.rsqrt`: one over square roots.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, Float, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math::complex;

pub(super) const OP: Entry = Entry::elementwise("rsqrt", same::<1>, lower);

/// `1 / sqrt(operand)`; infinite at 0 with its sign.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "rsqrt", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::narrow(1.0 / a.widen().sqrt())))
        .or_else(
            || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::rsqrt(a.widen())))),
        );
    lane_of(site, ElementwiseKind::Rsqrt, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn zeros_have_infinite_ones() {
        for (got, expected) in unary::<f32, f32>(&OP, &[4.0, 0.25]).into_iter().zip([0.5, 2.0]) {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        assert_eq!(
            unary::<f32, f32>(&OP, &[0.0, -0.0, f32::INFINITY]),
            [f32::INFINITY, f32::NEG_INFINITY, 0.0]
        );
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(-4.0_f64, 0.0)])[0];
        assert!((z - Complex::new(0.0, -0.5)).norm() < 1e-14, "{z}");
    }
}
