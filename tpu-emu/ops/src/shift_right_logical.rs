//! `stablehlo.shift_right_logical`: bits moved down, zeros moved in.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("shift_right_logical", same::<2>, lower);

/// `lhs >> rhs` of the bits; 0 for a shift by the width or more.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "shift_right_logical", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T, b: T| a.right(b)));
    lane_of(site, ElementwiseKind::ShiftRightLogical, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::S4;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn zeros_move_in() {
        assert_eq!(
            binary::<_, _, i8>(&OP, &Attributes::default(), &[-1_i8, -1, -1], &[1_i8, 8, -1]),
            [127, 0, 0]
        );
        assert_eq!(binary::<_, _, S4>(&OP, &Attributes::default(), &[S4(-8)], &[S4(1)]), [S4(4)]);
    }
}
