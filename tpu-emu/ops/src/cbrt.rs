//! `stablehlo.cbrt`: cube roots.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("cbrt", same::<1>, lower).within(math::ulps::<math::Cbrt>());

/// The real cube root; the principal one for complex numbers.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "cbrt", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Cbrt>(dtype).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::cbrt(a.widen())))),
    );
    lane_of(site, ElementwiseKind::Cbrt, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn negative_numbers_have_real_roots() {
        for (got, expected) in unary::<f32, f32>(&OP, &[27.0, -8.0]).into_iter().zip([3.0, -2.0]) {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(0.0_f64, 8.0)])[0];
        assert!((z - Complex::new(3.0_f64.sqrt(), 1.0)).norm() < 1e-14, "{z}");
    }
}
