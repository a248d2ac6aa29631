//! `chlo.next_after`: the next float towards another.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Float, Real, bf16, f16};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::elementwise::program::LoopFn;

pub(super) const OP: Entry = Entry::elementwise("next_after", same::<2>, lower);

/// The float after `lhs` in the direction of `rhs`; `rhs` where they are equal, NaN if either is.
///
/// Shapes: operands and result `[d..]`.
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "next_after".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    macro_rules! step {
        ($T:ty) => {{
            let run: LoopFn = lane!(|a: $T, b: $T| {
                let (from, to) = (a.widen(), b.widen());
                if from.is_nan() || to.is_nan() {
                    <$T>::narrow(from + to)
                } else if from == to {
                    b
                } else if from == 0.0 {
                    // The smallest number with the sign of the other.
                    <$T>::from_bits(
                        <$T>::from_f32(1.0_f32.copysign(to.to_f32())).to_bits()
                            & <$T>::from_f32(-0.0).to_bits()
                            | 1,
                    )
                } else if (to > from) == (from > 0.0) {
                    <$T>::from_bits(a.to_bits() + 1)
                } else {
                    <$T>::from_bits(a.to_bits() - 1)
                }
            });
            Some(run)
        }};
    }
    let run = match dtype(site)? {
        DType::F32 => step!(f32),
        DType::F64 => step!(f64),
        DType::Bf16 => step!(bf16),
        DType::F16 => step!(f16),
        _ => None,
    };
    lane_of(site, ElementwiseKind::NextAfter, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::bf16;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn one_step_in_the_direction_of_the_other() {
        let a = [1.0_f32, -1.0, 0.0, -0.0, f32::MAX, 2.0, f32::NAN];
        let b = [2.0_f32, -2.0, -1.0, 1.0, f32::INFINITY, 2.0, 1.0];
        let next: Vec<f32> = binary(&OP, &Attributes::default(), &a, &b);
        let expected = [1.000_000_1, -1.000_000_1, -1e-45, 1e-45, f32::INFINITY, 2.0];
        assert_eq!(next[..6], expected);
        assert!(next[6].is_nan());
        let next: Vec<bf16> = binary(&OP, &Attributes::default(), &[bf16::ONE], &[bf16::ZERO]);
        assert_eq!(next[0].to_bits(), 0x3f7f);
    }
}
