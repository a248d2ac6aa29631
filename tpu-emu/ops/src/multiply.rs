//! `stablehlo.multiply`: products.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Number, Pred, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `multiply`, which the compiler adds to programs itself, too.
pub const OP: Entry = Entry::elementwise("multiply", same::<2>, lower);

/// `lhs · rhs`; "and" for booleans.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "multiply", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Number => lane!(|a: T, b: T| a.mul(b)))
        .or_else(|| for_dtype!(dtype, T: Pred => lane!(|a: T, b: T| Pred(a.0 & b.0))));
    lane_of(site, ElementwiseKind::Multiply, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::Complex;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn products_wrap_and_complex_numbers_turn() {
        assert_eq!(
            binary::<_, _, i8>(&OP, &Attributes::default(), &[100_i8, -128], &[3_i8, -1]),
            [44, -128]
        );
        assert_eq!(
            binary::<_, _, Complex<f32>>(
                &OP,
                &Attributes::default(),
                &[Complex::new(0.0_f32, 1.0)],
                &[Complex::new(0.0_f32, 1.0)]
            ),
            [Complex::new(-1.0, 0.0)]
        );
    }
}
