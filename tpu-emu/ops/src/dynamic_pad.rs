//! Room around and between elements, as much as operands say.
use super::edges::Edges;
use super::{Entry, Lowered, Site, extents};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// `pad` with the paddings as operands.
///
/// Shapes: `operand [o..]`; `padding_value []`; three lists of as many integers as axes; result
/// as `pad`.
/// Errors: `Constraint` C1 to C4; `Unimplemented` for paddings that are not known when the
/// program is compiled.
/// Source: StableHLO specification, "dynamic_pad", C1-C4.
pub(super) const OP: Entry = Entry::new("dynamic_pad", infer, lower);

fn edges(site: &Site<'_>) -> Result<Edges> {
    Ok(Edges {
        low: extents::known(site, 2)?,
        high: extents::known(site, 3)?,
        interior: extents::known(site, 4)?,
    })
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, value, ..] = site.exactly::<5>()?;
    Ok(vec![edges(site)?.result(site, operand, value)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    Ok(edges(site)?.lower(&site.operands[0], &site.results[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn known_paddings_make_a_pad() {
        let case = |interior: i32| {
            Case::new("stablehlo.dynamic_pad")
                .value(DType::U8, &[2], &[1_u8, 2])
                .value(DType::U8, &[], &[7_u8])
                .known(DType::S32, &[1], &[1])
                .known(DType::S32, &[1], &[-1])
                .known(DType::S32, &[1], &[interior])
        };
        assert_eq!(case(2).shapes(&OP), "u8[4]");
        assert_eq!(case(2).eval::<u8>(&OP), [7, 1, 7, 7]);
        assert!(case(-1).shapes(&OP).contains("violates C3"));
    }
}
