//! `stablehlo.tanh`: hyperbolic tangents.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("tanh", same::<1>, lower).within(math::ulps::<math::Tanh>());

/// `tanh(operand)`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "tanh", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Tanh>(dtype).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::tanh(a.widen())))),
    );
    lane_of(site, ElementwiseKind::Tanh, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn large_numbers_have_one() {
        for (got, expected) in
            unary::<f32, f32>(&OP, &[0.5, -100.0, 100.0]).into_iter().zip([0.462_117_16, -1.0, 1.0])
        {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(1.0_f64, 2.0)])[0];
        assert!(
            (z - Complex::new(1.166_736_257_240_92, -0.243_458_201_185_725_3)).norm() < 1e-14,
            "{z}"
        );
    }
}
