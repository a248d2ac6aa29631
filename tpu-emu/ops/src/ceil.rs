//! `stablehlo.ceil`: rounding up.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Float, Wide, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("ceil", same::<1>, lower);

/// The smallest integer that is not smaller.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "ceil", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::narrow(a.widen().flushed().ceil())));
    lane_of(site, ElementwiseKind::Ceil, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::bf16;

    #[test]
    fn negative_numbers_move_towards_zero() {
        assert_eq!(unary::<_, f32>(&OP, &[1.5_f32, -1.5, 3.0]), [2.0, -1.0, 3.0]);
        assert_eq!(unary::<_, bf16>(&OP, &[bf16::from_f32(2.5)]), [bf16::from_f32(3.0)]);
    }
}
