//! `stablehlo.add`: sums.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Number, Pred, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `add`, which the compiler adds to programs itself, too.
pub const OP: Entry = Entry::elementwise("add", same::<2>, lower);

/// `lhs + rhs`; "or" for booleans.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "add", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Number => lane!(|a: T, b: T| a.add(b)))
        .or_else(|| for_dtype!(dtype, T: Pred => lane!(|a: T, b: T| Pred(a.0 | b.0))));
    lane_of(site, ElementwiseKind::Add, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::{Pred, bf16};
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn integers_wrap_and_booleans_join() {
        assert_eq!(
            binary::<_, _, u8>(&OP, &Attributes::default(), &[250_u8, 1], &[10_u8, 2]),
            [4, 3]
        );
        assert_eq!(
            binary::<_, _, Pred>(
                &OP,
                &Attributes::default(),
                &[Pred(1), Pred(0)],
                &[Pred(1), Pred(0)]
            ),
            [Pred(1), Pred(0)]
        );
        assert_eq!(
            binary::<_, _, bf16>(
                &OP,
                &Attributes::default(),
                &[bf16::ONE],
                &[bf16::from_f32(0.001)]
            ),
            [bf16::ONE]
        );
    }
}
