//! `stablehlo.atan2`: the angle of a point.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("atan2", same::<2>, lower).within(math::ulps2::<math::Atan2>());

/// The angle of the point with ordinate `lhs` and abscissa `rhs`.
///
/// Shapes: operands and result `[d..]`.
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "atan2", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::binary::<math::Atan2>(dtype).or_else(|| {
        for_dtype!(dtype, T: Complex => {
            lane!(|a: T, b: T| T::narrow(complex::atan2(a.widen(), b.widen())))
        })
    });
    lane_of(site, ElementwiseKind::Atan2, run, true)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use std::f32::consts::{FRAC_PI_4, PI};
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn signs_choose_the_quadrant() {
        let (y, x) = ([1.0_f32, 0.0, -0.0, 0.0], [1.0_f32, -0.0, -1.0, 0.0]);
        let angles: Vec<f32> = binary(&OP, &Attributes::default(), &y, &x);
        assert_eq!(angles, [FRAC_PI_4, PI, -PI, 0.0]);
    }
}
