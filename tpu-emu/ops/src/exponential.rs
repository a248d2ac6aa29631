//! `stablehlo.exponential`: powers of e.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::elementwise::program::LoopFn;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("exponential", same::<1>, lower).within(math::ulps::<math::Exponential>());

/// `e^operand`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "exponential", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Exponential>(dtype).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::exp(a.widen())))),
    );
    let single: LoopFn = math::complex_simd::unary::<math::complex_simd::Exponential>;
    let run = if dtype == DType::C64 { Some(single) } else { run };
    lane_of(site, ElementwiseKind::Exponential, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn a_turn_by_half_a_circle_is_minus_one() {
        for (got, expected) in unary::<f32, f32>(&OP, &[0.0, 1.0, -2.5]).into_iter().zip([
            1.0,
            std::f32::consts::E,
            0.082_085,
        ]) {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(0.0_f64, std::f64::consts::PI)])[0];
        assert!((z - Complex::new(-1.0, 0.0)).norm() < 1e-14, "{z}");
        assert_eq!(unary::<f32, f32>(&OP, &[f32::NEG_INFINITY, 1000.0]), [0.0, f32::INFINITY]);
    }
}
