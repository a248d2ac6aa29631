//! `stablehlo.subtract`: differences.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Number, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `subtract`, which the compiler adds to programs itself, too.
pub const OP: Entry = Entry::elementwise("subtract", same::<2>, lower);

/// `lhs - rhs`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "subtract", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Number => lane!(|a: T, b: T| a.sub(b)));
    lane_of(site, ElementwiseKind::Subtract, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::S4;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn differences_wrap_and_keep_signed_zeros() {
        assert_eq!(binary::<_, _, u8>(&OP, &Attributes::default(), &[1_u8], &[2_u8]), [255]);
        assert_eq!(binary::<_, _, S4>(&OP, &Attributes::default(), &[S4(-8)], &[S4(1)]), [S4(7)]);
        assert_eq!(
            binary::<_, _, f32>(&OP, &Attributes::default(), &[1.5_f32], &[2.0_f32]),
            [-0.5]
        );
    }
}
