//! `chlo.conj`: complex conjugates.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Complex, ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

pub(super) const OP: Entry = Entry::elementwise("conj", same::<1>, lower);

/// The conjugate; a real number is its own.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "conj".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Complex => {lane!(|a: T| { let z = a.parts(); T::from_parts(Complex::new(z.re, -z.im)) })})
        .or_else(|| for_dtype!(dtype, T: Real => lane!(|a: T| a)));
    lane_of(site, ElementwiseKind::Conjugate, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn the_imaginary_part_changes_its_sign() {
        assert_eq!(
            unary::<_, Complex<f32>>(&OP, &[Complex::new(1.0_f32, 2.0)]),
            [Complex::new(1.0, -2.0)]
        );
        assert_eq!(unary::<_, f32>(&OP, &[-3.0_f32]), [-3.0]);
    }
}
