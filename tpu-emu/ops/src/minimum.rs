//! `stablehlo.minimum`: the smaller of two.
use super::elementwise::{dtype, lane_of, lexical, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Pred, Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `minimum`, by which a loop reduces a few elements, too.
pub const OP: Entry = Entry::elementwise("minimum", same::<2>, lower);

/// The smaller one; "and" for booleans. NaN wins, -0 is less than +0, and complex numbers are
/// compared part by part, the real one first.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "minimum", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Real => lane!(|a: T, b: T| a.nan_min(b)))
        .or_else(|| for_dtype!(dtype, T: Pred => lane!(|a: T, b: T| Pred(a.0 & b.0))))
        .or_else(|| for_dtype!(dtype, T: Complex => lane!(|a: T, b: T| if lexical(a, b) { a } else { b })));
    lane_of(site, ElementwiseKind::Minimum, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn nan_wins_and_negative_zero_is_smaller() {
        let smaller = binary::<_, _, f32>(
            &OP,
            &Attributes::default(),
            &[1.0_f32, f32::NAN, -0.0],
            &[2.0_f32, 1.0, 0.0],
        );
        assert!(smaller[0] == 1.0 && smaller[1].is_nan() && smaller[2].is_sign_negative());
        assert_eq!(binary::<_, _, u8>(&OP, &Attributes::default(), &[200_u8], &[3_u8]), [3]);
    }
}
