//! `chlo.polygamma`: derivatives of the digamma function.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math::special;

pub(super) const OP: Entry = Entry::elementwise("polygamma", same::<2>, lower);

/// Derivative number `n` of the digamma function at `x`; NaN for an `n` that is no integer from 0
/// on.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "polygamma".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T, b: T| T::from_f64(special::polygamma(a.to_f64(), b.to_f64()))));
    lane_of(site, ElementwiseKind::Polygamma, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn the_second_derivative_has_the_value_of_scipy() {
        let value: Vec<f64> = binary(&OP, &Attributes::default(), &[2.0_f64], &[1.5_f64]);
        assert!((value[0] + 0.828_796_644_234_32).abs() < 1e-14);
    }
}
