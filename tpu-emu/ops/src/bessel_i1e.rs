//! `chlo.bessel_i1e`: a scaled Bessel function.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math::special;

pub(super) const OP: Entry = Entry::elementwise("bessel_i1e", same::<1>, lower);

/// `e^-|x| · I₁(x)`, the modified Bessel function of the first kind.
///
/// Shapes: operand and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "bessel_i1e".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run =
        for_dtype!(dtype, T: Float => lane!(|a: T| T::from_f64(special::bessel_i1e(a.to_f64()))));
    lane_of(site, ElementwiseKind::BesselI1e, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::unary;

    #[test]
    fn the_value_at_one_half_is_right() {
        for (got, expected) in unary::<f32, f32>(&OP, &[0.5]).into_iter().zip([0.156_420_8]) {
            assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got}");
        }
    }
}
