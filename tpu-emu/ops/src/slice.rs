//! A part of an array, with fixed bounds.
use super::access::sliced;
use super::{Entry, Lowered, Relayout, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;

/// Every `strides[d]`th index from `start_indices[d]` to below `limit_indices[d]`.
///
/// Shapes: `operand [o..]`; result `[ceil((limit - start) / stride), ..]`.
/// Errors: `Constraint` C2 to C4.
/// Source: StableHLO specification, "slice", C1-C5.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Pieces,
    factors: factors::sliced,
    relayout: Relayout::Cut,
    ..Entry::new("slice", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    let lists = ["start_indices", "limit_indices", "strides"];
    let [starts, limits, steps] = lists.map(|name| site.indices(name));
    let (starts, limits, steps) = (starts?, limits?, steps?);
    Ok(vec![sliced(site, operand, [&starts, &limits, &steps])?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand] = site.exactly()?;
    if site.results[0] == *operand {
        return Ok(Lowered::View);
    }
    let (starts, steps) = (site.indices("start_indices")?, site.indices("strides")?);
    Ok(Lowered::Access(Access::window(operand, &starts, &steps)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(starts: &[i64], limits: &[i64], steps: &[i64]) -> Case {
        Case::new("stablehlo.slice")
            .value(DType::U8, &[2, 5], &[1_u8, 2, 3, 4, 5, 6, 7, 8, 9, 10])
            .integers("start_indices", starts)
            .integers("limit_indices", limits)
            .integers("strides", steps)
    }

    #[test]
    fn steps_skip_and_the_last_part_counts() {
        assert_eq!(case(&[1, 0], &[2, 5], &[1, 2]).eval::<u8>(&OP), [6, 8, 10]);
        assert_eq!(case(&[0, 1], &[2, 4], &[1, i64::MAX]).eval::<u8>(&OP), [2, 7]);
        assert_eq!(case(&[0, 5], &[2, 5], &[1, 1]).shapes(&OP), "u8[2,0]");
        assert!(matches!(case(&[0, 0], &[2, 5], &[1, 1]).lower(&OP).unwrap(), Lowered::View));
    }

    #[test]
    fn every_broken_constraint_is_named() {
        assert!(case(&[0], &[2, 5], &[1, 1]).shapes(&OP).contains("violates C2"));
        assert!(case(&[0, 0], &[2, 6], &[1, 1]).shapes(&OP).contains("violates C3"));
        assert!(case(&[1, 0], &[0, 5], &[1, 1]).shapes(&OP).contains("violates C3"));
        assert!(case(&[0, 0], &[2, 5], &[0, 1]).shapes(&OP).contains("violates C4"));
        assert!(case(&[-1, 0], &[2, 5], &[0, 1]).shapes(&OP).contains("has -1"));
    }
}
