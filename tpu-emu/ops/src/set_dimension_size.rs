//! A dynamic extent, which is the full one here.
use super::{Entry, Lowered, Site, extents};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The operand with axis `dimension` cut to `size` indices, which must be all of them.
///
/// Shapes: `operand [o..]`; `size []`; result `[o..]`.
/// Errors: `Constraint` C1 for an axis that is not there; `Unimplemented` for another size than
/// the extent, or one that is not known when the program is compiled.
/// Source: StableHLO's dialect, "set_dimension_size".
pub(super) const OP: Entry = Entry::new("set_dimension_size", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, size] = site.exactly()?;
    let axis = site.index("dimension")?;
    let Some(&extent) = operand.dims.get(axis) else {
        return Err(site.violates("C1", format!("axis {axis} of {operand}")));
    };
    match extents::known(site, 1)?[..] {
        [known] if usize::try_from(known) == Ok(extent) => Ok(vec![operand.clone()]),
        [known] => Err(site.unimplemented(format!("size {known} for axis {axis} of {operand}"))),
        _ => Err(site.unimplemented(format!("a size of {size}"))),
    }
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
    fn only_the_full_size_is_done() {
        let case = |size: i32| {
            let case = Case::new("stablehlo.set_dimension_size");
            let case = case.value(DType::U8, &[2], &[1_u8, 2]).known(DType::S32, &[], &[size]);
            case.integer("dimension", 0)
        };
        assert_eq!(case(2).eval::<u8>(&OP), [1, 2]);
        let text = case(1).shapes(&OP);
        assert_eq!(text, "stablehlo.set_dimension_size: size 1 for axis 0 of u8[2]");
    }
}
