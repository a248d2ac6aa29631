//! `stablehlo.logistic`: the logistic function.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("logistic", same::<1>, lower).within(math::ulps::<math::Logistic>());

/// `1 / (1 + e^-operand)`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "logistic", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Logistic>(dtype).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::logistic(a.widen())))),
    );
    lane_of(site, ElementwiseKind::Logistic, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn the_ends_are_zero_and_one() {
        for (got, expected) in unary::<f32, f32>(&OP, &[0.0, 2.0, -2.0]).into_iter().zip([
            0.5,
            0.880_797_1,
            0.119_202_92,
        ]) {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        assert_eq!(unary::<f32, f32>(&OP, &[f32::NEG_INFINITY, f32::INFINITY]), [0.0, 1.0]);
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(2.0_f64, 0.0)])[0];
        assert!((z - Complex::new(0.880_797_077_977_882_4, 0.0)).norm() < 1e-14, "{z}");
    }
}
