//! Axes in another order.
use super::access::unique;
use super::{Entry, LayoutRule, Lowered, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::signed;

/// Axis `i` of the result is axis `permutation[i]` of the operand.
///
/// Shapes: `operand [o..]`; result `[o[permutation[0]], ..]`.
/// Errors: `Constraint` C2 for what is no permutation.
/// Source: StableHLO specification, "transpose", C1-C3.
pub(super) const OP: Entry = Entry {
    sharding: ShardingRule::Permuted,
    layout: LayoutRule::Permuted,
    factors: factors::permuted,
    ..Entry::new("transpose", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    let order = site.indices("permutation")?;
    let inside = order.iter().all(|&axis| axis < operand.rank());
    if order.len() != operand.rank() || !inside || !unique(&order) {
        return Err(site.violates("C2", format!("permutation {order:?} of {operand}")));
    }
    let dims: Vec<usize> = order.iter().map(|&axis| operand.dims[axis]).collect();
    Ok(vec![Shape::new(operand.dtype, dims)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand] = site.exactly()?;
    let order = site.indices("permutation")?;
    // Axes with one index may stand anywhere.
    let moving = order.iter().filter(|&&axis| operand.dims[axis] != 1);
    if moving.is_sorted() {
        return Ok(Lowered::View);
    }
    let strides = operand.strides();
    let strides = order.iter().map(|&axis| signed(strides[axis])).collect();
    Ok(Lowered::Access(Access { offset: 0, strides }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(order: &[i64]) -> Case {
        Case::new("stablehlo.transpose")
            .value(DType::U8, &[2, 3, 1], &[1_u8, 2, 3, 4, 5, 6])
            .integers("permutation", order)
    }

    #[test]
    fn rows_become_columns() {
        assert_eq!(case(&[1, 2, 0]).shapes(&OP), "u8[3,1,2]");
        assert_eq!(case(&[1, 2, 0]).eval::<u8>(&OP), [1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn moving_a_single_index_moves_no_byte() {
        assert!(matches!(case(&[2, 0, 1]).lower(&OP).unwrap(), Lowered::View));
        assert!(matches!(case(&[1, 0, 2]).lower(&OP).unwrap(), Lowered::Access(_)));
    }

    #[test]
    fn what_is_no_permutation_breaks_c2() {
        for order in [&[0, 1][..], &[0, 1, 3], &[0, 1, 1]] {
            assert!(case(order).shapes(&OP).contains("violates C2"), "{order:?}");
        }
    }
}
