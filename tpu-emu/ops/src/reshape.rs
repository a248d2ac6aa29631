//! The same elements under other extents.
use super::{Entry, Lowered, Relayout, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The operand's elements in row-major order, with the result's extents.
///
/// Shapes: `operand [o..]`; result as declared, as many elements.
/// Errors: `Constraint` C2 for another number of elements.
/// Source: StableHLO specification, "reshape", C1-C2.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Reshaped,
    factors: factors::reshaped,
    relayout: Relayout::Reshaped,
    ..Entry::new("reshape", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    let result = site.declared(0)?.with(operand.dtype);
    if result.elements() != operand.elements() {
        return Err(site.violates("C2", format!("{operand} as {result}")));
    }
    Ok(vec![result])
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::View)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn elements_keep_their_order() {
        let case = Case::new("stablehlo.reshape").value(DType::U8, &[2, 3], &[1_u8, 2, 3, 4, 5, 6]);
        assert_eq!(case.declares(DType::U8, &[3, 2]).eval::<u8>(&OP), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn another_number_of_elements_breaks_c2() {
        let case = Case::new("stablehlo.reshape").operand(DType::U8, &[2, 3]);
        let text = case.declares(DType::U8, &[5]).shapes(&OP);
        assert_eq!(text, "stablehlo.reshape violates C2: u8[2,3] as u8[5]");
    }
}
