//! Counting along an axis.
use super::{Entry, Lowered, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The index along `iota_dimension`, in the result's type.
///
/// Shapes: result as declared.
/// Errors: `Constraint` C1 for an axis that is not there.
/// Source: StableHLO specification, "iota", C1.
pub const OP: Entry = Entry { factors: factors::counting, ..Entry::new("iota", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [] = site.exactly()?;
    let result = site.declared(0)?;
    let axis = site.index("iota_dimension")?;
    if axis >= result.rank() {
        return Err(site.violates("C1", format!("axis {axis} of {result}")));
    }
    Ok(vec![result])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Iota(site.index("iota_dimension")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(axis: i64) -> Case {
        Case::new("stablehlo.iota").integer("iota_dimension", axis).declares(DType::S32, &[2, 3])
    }

    #[test]
    fn the_index_along_the_axis() {
        assert_eq!(case(0).eval::<i32>(&OP), [0, 0, 0, 1, 1, 1]);
        assert_eq!(case(1).eval::<i32>(&OP), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn an_axis_that_is_not_there_breaks_c1() {
        assert!(case(2).shapes(&OP).contains("violates C1: axis 2 of s32[2,3]"));
    }
}
