//! `stablehlo.sign`: signs.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math::complex;

pub(super) const OP: Entry = Entry::elementwise("sign", same::<1>, lower);

/// -1, 0 or 1; zeros and NaN are their own; `z / |z|` for complex numbers.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "sign", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Real => lane!(|a: T| a.sign())).or_else(
        || for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::sign(a.widen())))),
    );
    lane_of(site, ElementwiseKind::Sign, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;
    use tpu_base::tensor::element::Complex;

    #[test]
    fn zeros_and_nan_are_their_own() {
        assert_eq!(unary::<_, i8>(&OP, &[-7_i8, 0, 7]), [-1, 0, 1]);
        let signs = unary::<f32, f32>(&OP, &[-2.0, -0.0, f32::NAN, f32::INFINITY]);
        assert!(
            signs[0] == -1.0
                && signs[1].to_bits() == 1 << 31
                && signs[2].is_nan()
                && signs[3] == 1.0
        );
        assert_eq!(
            unary::<_, Complex<f32>>(&OP, &[Complex::new(3.0_f32, 4.0)]),
            [Complex::new(0.6, 0.8)]
        );
    }
}
