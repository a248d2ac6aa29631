//! `stablehlo.negate`: the opposite sign.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Number, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("negate", same::<1>, lower);

/// `-operand`; unsigned integers wrap.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "negate", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Number => lane!(|a: T| a.neg()));
    lane_of(site, ElementwiseKind::Negate, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;

    #[test]
    fn the_smallest_integer_and_unsigned_ones_wrap() {
        assert_eq!(unary::<_, i8>(&OP, &[-128_i8, 5]), [-128, -5]);
        assert_eq!(unary::<_, u8>(&OP, &[1_u8]), [255]);
        assert!(unary::<f32, f32>(&OP, &[0.0])[0].is_sign_negative());
    }
}
