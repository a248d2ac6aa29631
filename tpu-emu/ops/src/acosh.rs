//! `chlo.acosh`: inverse hyperbolic cosines.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex_inverse;

pub(super) const OP: Entry =
    Entry::elementwise("acosh", same::<1>, lower).within(math::ulps::<math::Acosh>());

/// The inverse hyperbolic cosine; NaN below 1 for floats.
///
/// Shapes: operand and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "acosh".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Acosh>(dtype)
        .or_else(|| for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex_inverse::acosh(a.widen())))));
    lane_of(site, ElementwiseKind::Acosh, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn the_domain_of_floats_begins_at_one() {
        for (got, expected) in unary::<f32, f32>(&OP, &[2.0, 1.0]).into_iter().zip([1.316_958, 0.0])
        {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        assert!(unary::<f32, f32>(&OP, &[0.5, -1e5]).iter().all(|value| value.is_nan()));
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(0.5_f64, 0.25)])[0];
        assert!((z - Complex::new(0.28139605624529274, 1.069187473519396)).norm() < 1e-14, "{z}");
    }
}
