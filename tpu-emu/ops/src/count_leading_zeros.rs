//! `stablehlo.count_leading_zeros`: zeros before the first set bit.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("count_leading_zeros", same::<1>, lower);

/// How many bits above the highest set one; the width for 0.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "count_leading_zeros", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T| a.zeros_above()));
    lane_of(site, ElementwiseKind::CountLeadingZeros, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::U4;

    #[test]
    fn zero_has_as_many_as_its_width() {
        assert_eq!(unary::<_, i32>(&OP, &[0_i32, 1, -1]), [32, 31, 0]);
        assert_eq!(unary::<_, U4>(&OP, &[U4(0), U4(3)]), [U4(4), U4(2)]);
    }
}
