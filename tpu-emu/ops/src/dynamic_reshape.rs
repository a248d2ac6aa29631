//! The same elements under extents that an operand gives.
use super::{Entry, Lowered, Site, extents};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// `reshape` to the extents in `output_shape`.
///
/// Shapes: `operand [o..]`; `output_shape [r]`; result as many elements as the operand.
/// Errors: `Constraint` C2; `Unimplemented` for extents that nobody knows when the program is
/// compiled.
/// Source: StableHLO specification, "dynamic_reshape", C1-C4.
pub(super) const OP: Entry = Entry::new("dynamic_reshape", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, _] = site.exactly()?;
    let result = site.shape(operand.dtype, extents::result(site, 1)?)?;
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

    fn case() -> Case {
        Case::new("stablehlo.dynamic_reshape").value(DType::U8, &[2, 2], &[1_u8, 2, 3, 4])
    }

    #[test]
    fn the_extents_are_the_operands_or_the_declared_ones() {
        assert_eq!(case().known(DType::S32, &[1], &[4]).shapes(&OP), "u8[4]");
        let declared = case().operand(DType::S32, &[3]).declares(DType::U8, &[1, 4, 1]);
        assert_eq!(declared.shapes(&OP), "u8[1,4,1]");
        assert_eq!(declared.eval::<u8>(&OP), [1, 2, 3, 4]);
    }

    #[test]
    fn wrong_and_unknown_extents_are_errors() {
        assert!(case().known(DType::S32, &[1], &[3]).shapes(&OP).contains("violates C2"));
        assert!(case().known(DType::S32, &[1], &[-4]).shapes(&OP).contains("extent -4"));
        assert!(case().operand(DType::S32, &[1]).shapes(&OP).contains("is not known"));
    }
}
