//! `stablehlo.maximum`: the larger of two.
use super::elementwise::{dtype, lane_of, lexical, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Pred, Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `maximum`, by which a loop reduces a few elements, too.
pub const OP: Entry = Entry::elementwise("maximum", same::<2>, lower);

/// The larger one; "or" for booleans. NaN wins, -0 is less than +0, and complex numbers are
/// compared part by part, the real one first.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "maximum", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Real => lane!(|a: T, b: T| a.nan_max(b)))
        .or_else(|| for_dtype!(dtype, T: Pred => lane!(|a: T, b: T| Pred(a.0 | b.0))))
        .or_else(|| for_dtype!(dtype, T: Complex => lane!(|a: T, b: T| if lexical(b, a) { a } else { b })));
    lane_of(site, ElementwiseKind::Maximum, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::Complex;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn nan_wins_and_positive_zero_is_larger() {
        let larger = binary::<_, _, f32>(
            &OP,
            &Attributes::default(),
            &[1.0_f32, f32::NAN, -0.0],
            &[2.0_f32, 1.0, 0.0],
        );
        assert!(larger[0] == 2.0 && larger[1].is_nan() && larger[2].is_sign_positive());
        assert_eq!(
            binary::<_, _, Complex<f32>>(
                &OP,
                &Attributes::default(),
                &[Complex::new(1.0_f32, 2.0)],
                &[Complex::new(1.0_f32, 3.0)]
            ),
            [Complex::new(1.0, 3.0)]
        );
    }
}
