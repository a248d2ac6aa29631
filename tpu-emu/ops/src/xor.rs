//! `stablehlo.xor`: bits set in one of two.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, Pred, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `xor`, by which a loop reduces a few elements, too.
pub const OP: Entry = Entry::elementwise("xor", same::<2>, lower);

/// `lhs ^ rhs`, bit by bit.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "xor", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T, b: T| a.xor(b)))
        .or_else(|| for_dtype!(dtype, T: Pred => lane!(|a: T, b: T| Pred(a.0 ^ b.0))));
    lane_of(site, ElementwiseKind::Xor, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::{Pred, S4};
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn bits_and_booleans_differ() {
        assert_eq!(binary::<_, _, S4>(&OP, &Attributes::default(), &[S4(-1)], &[S4(5)]), [S4(-6)]);
        assert_eq!(
            binary::<_, _, Pred>(
                &OP,
                &Attributes::default(),
                &[Pred(1), Pred(1)],
                &[Pred(1), Pred(0)]
            ),
            [Pred(0), Pred(1)]
        );
    }
}
