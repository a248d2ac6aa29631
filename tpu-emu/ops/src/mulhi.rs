//! `chlo.mulhi`: the upper half of products.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Int, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("mulhi", same::<2>, lower);

/// The bits of the exact product above those that `multiply` gives.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "mulhi".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T, b: T| a.upper_product(b)));
    lane_of(site, ElementwiseKind::MultiplyHigh, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::S4;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn the_upper_half_has_the_sign() {
        assert_eq!(
            binary::<_, _, i8>(&OP, &Attributes::default(), &[100_i8, -100], &[100_i8, 100]),
            [39, -40]
        );
        assert_eq!(
            binary::<_, _, u64>(&OP, &Attributes::default(), &[u64::MAX], &[u64::MAX]),
            [u64::MAX - 1]
        );
        assert_eq!(binary::<_, _, S4>(&OP, &Attributes::default(), &[S4(7)], &[S4(7)]), [S4(3)]);
    }
}
