//! `stablehlo.not`: bits inverted.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, Pred, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("not", same::<1>, lower);

/// `!operand`, bit by bit.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "not", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T| T::wrap(!a.bits())))
        .or_else(|| for_dtype!(dtype, T: Pred => lane!(|a: T| Pred(a.0 ^ 1))));
    lane_of(site, ElementwiseKind::Not, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::{Pred, S4, U4};

    #[test]
    fn the_bits_of_a_narrow_integer_stay_inside_its_width() {
        assert_eq!(unary::<_, U4>(&OP, &[U4(5)]), [U4(10)]);
        assert_eq!(unary::<_, S4>(&OP, &[S4(5)]), [S4(-6)]);
        assert_eq!(unary::<_, Pred>(&OP, &[Pred(1), Pred(0)]), [Pred(0), Pred(1)]);
    }
}
