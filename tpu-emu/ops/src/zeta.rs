//! `chlo.zeta`: the Hurwitz zeta function.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Real, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math::special;

pub(super) const OP: Entry = Entry::elementwise("zeta", same::<2>, lower);

/// `Σ (q + k)^-x` for `k` from 0 on; NaN below `x = 1`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "zeta".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T, b: T| T::from_f64(special::zeta(a.to_f64(), b.to_f64()))));
    lane_of(site, ElementwiseKind::Zeta, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn the_sum_of_inverse_squares_is_a_sixth_of_pi_squared() {
        let value: Vec<f64> = binary(&OP, &Attributes::default(), &[2.0_f64], &[1.0_f64]);
        assert!((value[0] - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
    }
}
