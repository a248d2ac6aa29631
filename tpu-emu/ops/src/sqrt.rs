//! `stablehlo.sqrt`: square roots.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{ComplexNumber, Float, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::elementwise::program::LoopFn;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry = Entry::elementwise("sqrt", same::<1>, lower);

/// The square root; NaN below 0.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "sqrt", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::narrow(a.widen().sqrt()))).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::sqrt(a.widen())))),
    );
    let single: LoopFn = math::complex_simd::unary::<math::complex_simd::Sqrt>;
    let run = if dtype == DType::C64 { Some(single) } else { run };
    lane_of(site, ElementwiseKind::Sqrt, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn negative_numbers_have_a_root_only_among_complex_ones() {
        for (got, expected) in
            unary::<f32, f32>(&OP, &[4.0, 1e-30, 0.0]).into_iter().zip([2.0, 1e-15, 0.0])
        {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
        let z = unary::<_, Complex<f64>>(&OP, &[Complex::new(-4.0_f64, -0.0)])[0];
        assert!((z - Complex::new(0.0, -2.0)).norm() < 1e-14, "{z}");
        assert!(unary::<f32, f32>(&OP, &[-1.0])[0].is_nan());
    }
}
