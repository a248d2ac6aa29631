//! `stablehlo.sine`: sines.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("sine", same::<1>, lower).within(math::ulps::<math::Sine>());

/// `sin(operand)`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "sine", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Sine>(dtype).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::sin(a.widen())))),
    );
    lane_of(site, ElementwiseKind::Sine, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn an_imaginary_argument_grows() {
        for (got, expected) in
            unary::<f32, f32>(&OP, &[0.5, -1.0]).into_iter().zip([0.479_425_54, -0.841_471])
        {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(0.0_f64, 1.0)])[0];
        assert!((z - Complex::new(0.0, 1.175_201_193_643_801_4)).norm() < 1e-14, "{z}");
    }
}
