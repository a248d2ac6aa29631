//! An extent as a value.
use super::{Entry, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};

/// The extent of axis `dimension`.
///
/// Shapes: `operand [o..]`; result `s32[]`.
/// Errors: `Constraint` C1 for an axis that is not there.
/// Source: StableHLO specification, "get_dimension_size", C1.
pub(super) const OP: Entry = Entry::new("get_dimension_size", infer, lower);

fn extent(site: &Site<'_>) -> Result<usize> {
    let [operand] = site.exactly()?;
    let axis = site.index("dimension")?;
    let outside = || site.violates("C1", format!("axis {axis} of {operand}"));
    operand.dims.get(axis).copied().ok_or_else(outside)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    extent(site)?;
    Ok(vec![Shape::scalar(DType::S32)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let extent = extent(site)?;
    let value = i32::try_from(extent)
        .map_err(|_| Error::bad(format!("{}: {extent} is no 32-bit extent", site.name)))?;
    Ok(Lowered::Constant(value.to_le_bytes().as_slice().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;

    #[test]
    fn the_extent_is_known_when_the_program_is_compiled() {
        let case = |axis| {
            let case = Case::new("stablehlo.get_dimension_size").operand(DType::U8, &[2, 3]);
            case.integer("dimension", axis)
        };
        assert_eq!(case(1).eval::<i32>(&OP), [3]);
        assert!(case(2).shapes(&OP).contains("violates C1: axis 2 of u8[2,3]"));
    }
}
