//! Repeats along new axes and along axes with one index.
use super::access::check_spread;
use super::{Entry, Lowered, ShardingRule, Simplification, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;

/// Axis `d` of the operand becomes axis `broadcast_dimensions[d]` of the result.
///
/// Shapes: `operand [o..]`; result as declared, `o[d]` or, where that is 1, any extent.
/// Errors: `Constraint` C2 to C5.
/// Source: StableHLO specification, "broadcast_in_dim", C1-C5.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Broadcast,
    simplification: Simplification::Moved,
    factors: factors::broadcast,
    ..Entry::new("broadcast_in_dim", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    let result = site.declared(0)?.with(operand.dtype);
    check_spread(site, operand, &result, &site.indices("broadcast_dimensions")?)?;
    Ok(vec![result])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand] = site.exactly()?;
    let axes = site.indices("broadcast_dimensions")?;
    Ok(Lowered::Access(Access::spread(operand, &site.results[0], &axes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(axes: &[i64], dims: &[usize]) -> Case {
        Case::new("stablehlo.broadcast_in_dim")
            .value(DType::S32, &[1, 3], &[1, 2, 3])
            .integers("broadcast_dimensions", axes)
            .declares(DType::S32, dims)
    }

    #[test]
    fn axes_move_and_single_indices_repeat() {
        let values: Vec<i32> = case(&[2, 1], &[2, 3, 2]).eval(&OP);
        assert_eq!(values, [1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn every_broken_constraint_is_named() {
        let shapes = |axes: &[i64], dims: &[usize]| case(axes, dims).shapes(&OP);
        assert!(shapes(&[1], &[2, 3]).contains("violates C2"));
        assert!(shapes(&[0, 2], &[2, 3]).contains("violates C3: axis 2 of s32[2,3]"));
        assert!(shapes(&[1, 1], &[2, 3]).contains("violates C4"));
        assert!(shapes(&[0, 1], &[2, 4]).contains("violates C5"));
        assert_eq!(shapes(&[0, 1], &[2, 3]), "s32[2,3]");
    }
}
