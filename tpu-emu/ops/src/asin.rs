//! `chlo.asin`: arc sines.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex_inverse;

pub(super) const OP: Entry =
    Entry::elementwise("asin", same::<1>, lower).within(math::ulps::<math::Asin>());

/// The arc sine; NaN past ±1 for floats.
///
/// Shapes: operand and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "asin".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Asin>(dtype)
        .or_else(|| for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex_inverse::asin(a.widen())))));
    lane_of(site, ElementwiseKind::Asin, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn the_value_at_one_half_is_right() {
        for (got, expected) in
            unary::<f32, f32>(&OP, &[0.5]).into_iter().zip([std::f32::consts::FRAC_PI_6])
        {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(0.5_f64, 0.25)])[0];
        assert!((z - Complex::new(0.5016088532755008, 0.28139605624529274)).norm() < 1e-14, "{z}");
    }
}
