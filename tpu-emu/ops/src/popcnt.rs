//! `stablehlo.popcnt`: bits counted.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("popcnt", same::<1>, lower);

/// How many bits are set.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "popcnt", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T| a.ones()));
    lane_of(site, ElementwiseKind::PopulationCount, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::S4;

    #[test]
    fn the_bits_of_the_width_are_counted() {
        assert_eq!(unary::<_, i8>(&OP, &[-1_i8, 5, 0]), [8, 2, 0]);
        assert_eq!(unary::<_, S4>(&OP, &[S4(-1)]), [S4(4)]);
    }
}
