//! `stablehlo.cosine`: cosines.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("cosine", same::<1>, lower).within(math::ulps::<math::Cosine>());

/// `cos(operand)`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "cosine", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Cosine>(dtype).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::cos(a.widen())))),
    );
    lane_of(site, ElementwiseKind::Cosine, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn an_imaginary_argument_grows() {
        for (got, expected) in
            unary::<f32, f32>(&OP, &[0.5, -1.0]).into_iter().zip([0.877_582_55, 0.540_302_3])
        {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(0.0_f64, 1.0)])[0];
        assert!((z - Complex::new(1.543_080_634_815_243_7, 0.0)).norm() < 1e-14, "{z}");
    }
}
