//! `stablehlo.exponential_minus_one`: powers of e, less one.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry = Entry::elementwise("exponential_minus_one", same::<1>, lower)
    .within(math::ulps::<math::ExponentialMinusOne>());

/// `e^operand - 1`, precise near 0.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "exponential_minus_one", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::ExponentialMinusOne>(dtype).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::exp_m1(a.widen())))),
    );
    lane_of(site, ElementwiseKind::ExponentialMinusOne, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn small_numbers_keep_their_digits() {
        for (got, expected) in unary::<f32, f32>(&OP, &[1e-8, -1e-20, 1.0]).into_iter().zip([
            1e-8,
            -1e-20,
            1.718_281_8,
        ]) {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(1e-9_f64, 0.0)])[0];
        assert!((z - Complex::new(1e-9, 0.0)).norm() < 1e-14, "{z}");
    }
}
