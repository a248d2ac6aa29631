//! Axes backwards.
use super::access::unique;
use super::{Entry, Lowered, Relayout, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::signed;

/// Index `i` along a listed axis is `dim - 1 - i` of the operand.
///
/// Shapes: `operand [o..]`; result `[o..]`.
/// Errors: `Constraint` C2 for an axis that comes twice, C3 for one that is not there.
/// Source: StableHLO specification, "reverse", C1-C3.
pub(super) const OP: Entry = Entry {
    sharding: ShardingRule::Same,
    factors: factors::reversed,
    relayout: Relayout::Reversed,
    ..Entry::new("reverse", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    let axes = site.indices("dimensions")?;
    if !unique(&axes) {
        return Err(site.violates("C2", format!("dimensions {axes:?}")));
    }
    if let Some(axis) = axes.iter().find(|&&axis| axis >= operand.rank()) {
        return Err(site.violates("C3", format!("axis {axis} of {operand}")));
    }
    Ok(vec![operand.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand] = site.exactly()?;
    let axes = site.indices("dimensions")?;
    let mut strides: Vec<isize> = operand.strides().into_iter().map(signed).collect();
    let mut offset = 0;
    for axis in axes.into_iter().filter(|&axis| operand.dims[axis] > 1) {
        offset += (operand.dims[axis] - 1) * strides[axis].unsigned_abs();
        strides[axis] = -strides[axis];
    }
    if offset == 0 {
        return Ok(Lowered::View);
    }
    Ok(Lowered::Access(Access { offset, strides }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(axes: &[i64]) -> Case {
        Case::new("stablehlo.reverse")
            .value(DType::U8, &[2, 1, 3], &[1_u8, 2, 3, 4, 5, 6])
            .integers("dimensions", axes)
    }

    #[test]
    fn listed_axes_run_backwards() {
        assert_eq!(case(&[2]).eval::<u8>(&OP), [3, 2, 1, 6, 5, 4]);
        assert_eq!(case(&[0, 2]).eval::<u8>(&OP), [6, 5, 4, 3, 2, 1]);
        assert!(matches!(case(&[1]).lower(&OP).unwrap(), Lowered::View));
    }

    #[test]
    fn every_broken_constraint_is_named() {
        assert!(case(&[0, 0]).shapes(&OP).contains("violates C2"));
        assert!(case(&[3]).shapes(&OP).contains("violates C3: axis 3 of u8[2,1,3]"));
    }
}
