//! `stablehlo.shift_left`: bits moved up.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("shift_left", same::<2>, lower);

/// `lhs << rhs`; 0 for a shift by the width or more.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "shift_left", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T, b: T| a.left(b)));
    lane_of(site, ElementwiseKind::ShiftLeft, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::S4;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn a_shift_by_the_width_or_more_gives_zero() {
        assert_eq!(
            binary::<_, _, i32>(
                &OP,
                &Attributes::default(),
                &[1_i32, 1, 1, -1],
                &[31_i32, 32, -1, 1]
            ),
            [i32::MIN, 0, 0, -2]
        );
        assert_eq!(binary::<_, _, S4>(&OP, &Attributes::default(), &[S4(3)], &[S4(2)]), [S4(-4)]);
    }
}
