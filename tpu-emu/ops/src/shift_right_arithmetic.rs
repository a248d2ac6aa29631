//! `stablehlo.shift_right_arithmetic`: bits moved down, the sign moved in.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("shift_right_arithmetic", same::<2>, lower);

/// `lhs >> rhs` with copies of the highest bit; only those for a shift by the width or more.
///
/// Shapes: operands and result `[d..]`.
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "shift_right_arithmetic", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T, b: T| a.right_signed(b)));
    lane_of(site, ElementwiseKind::ShiftRightArithmetic, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn the_sign_moves_in() {
        assert_eq!(
            binary::<_, _, i8>(
                &OP,
                &Attributes::default(),
                &[-128_i8, -1, 64, 64],
                &[1_i8, 8, 9, -1]
            ),
            [-64, -1, 0, 0]
        );
        assert_eq!(
            binary::<_, _, u8>(&OP, &Attributes::default(), &[128_u8, 128], &[1_u8, 9]),
            [192, 255]
        );
    }
}
