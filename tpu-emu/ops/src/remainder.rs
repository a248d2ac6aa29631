//! `stablehlo.remainder`: remainders of division.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::int_div;

pub(super) const OP: Entry = Entry::elementwise("remainder", same::<2>, lower);

/// The remainder of the division that truncates: the sign is that of `lhs`, and `lhs` over an
/// integer zero stays.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "remainder", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = int_div::remainders(dtype)
        .or_else(|| for_dtype!(dtype, T: Int => lane!(|a: T, b: T| a.rem(b))))
        .or_else(|| math::binary::<math::Remainder>(dtype));
    lane_of(site, ElementwiseKind::Remainder, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn the_sign_is_that_of_the_first() {
        assert_eq!(
            binary::<_, _, i32>(&OP, &Attributes::default(), &[-7_i32, 7, 7], &[2_i32, -2, 0]),
            [-1, 1, 7]
        );
        assert_eq!(
            binary::<_, _, f32>(&OP, &Attributes::default(), &[-7.5_f32, 7.5], &[2.0_f32, -2.0]),
            [-1.5, 1.5]
        );
    }
}
