//! `stablehlo.divide`: quotients.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Number, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::elementwise::program::LoopFn;
use tpu_kernels::math;
use tpu_kernels::math::int_div;

pub(super) const OP: Entry = Entry::elementwise("divide", same::<2>, lower);

/// `lhs / rhs`. Integers truncate; division by zero gives all ones.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "divide", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Number => lane!(|a: T, b: T| a.div(b)));
    let single: LoopFn = math::complex_simd::divide;
    let run = if dtype == DType::C64 { Some(single) } else { int_div::quotients(dtype).or(run) };
    lane_of(site, ElementwiseKind::Divide, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn integers_truncate_and_zero_divides() {
        assert_eq!(
            binary::<_, _, i32>(
                &OP,
                &Attributes::default(),
                &[-7_i32, 7, i32::MIN],
                &[2_i32, 0, -1]
            ),
            [-3, -1, i32::MIN]
        );
        assert_eq!(
            binary::<_, _, f32>(&OP, &Attributes::default(), &[1.0_f32, -1.0], &[0.0_f32, 0.0]),
            [f32::INFINITY, f32::NEG_INFINITY]
        );
    }
}
