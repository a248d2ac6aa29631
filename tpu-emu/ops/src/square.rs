//! `chlo.square`: squares.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, Number, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math::complex;

pub(super) const OP: Entry = Entry::elementwise("square", same::<1>, lower);

/// `operand · operand`; integers wrap.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "square".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Real => lane!(|a: T| a.mul(a))).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::square(a.widen())))),
    );
    lane_of(site, ElementwiseKind::Square, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn integers_wrap_and_complex_numbers_turn() {
        assert_eq!(unary::<_, u8>(&OP, &[17_u8]), [33]);
        assert_eq!(
            unary::<_, Complex<f64>>(&OP, &[Complex::new(0.0_f64, 2.0)]),
            [Complex::new(-4.0, 0.0)]
        );
    }
}
