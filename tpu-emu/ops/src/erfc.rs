//! `chlo.erfc`: the complementary error function.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::math;

pub(super) const OP: Entry =
    Entry::elementwise("erfc", same::<1>, lower).within(math::ulps::<math::Erfc>());

/// `1 - erf(operand)`, precise where that is small.
///
/// Shapes: operand and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "erfc".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::unary::<math::Erfc>(dtype);
    lane_of(site, ElementwiseKind::Erfc, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;

    #[test]
    fn the_value_at_one_half_is_right() {
        for (got, expected) in unary::<f32, f32>(&OP, &[0.5]).into_iter().zip([0.479_500_1]) {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
    }
}
