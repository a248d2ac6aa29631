//! Counting along an axis of an array whose extents an operand gives.
use super::{Entry, Lowered, Site, extents};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// `iota` of the extents in `output_shape`.
///
/// Shapes: `output_shape [r]`; result of those extents, its type as declared.
/// Errors: `Constraint` C1; `Unimplemented` for extents that nobody knows when the program is
/// compiled.
/// Source: StableHLO specification, "dynamic_iota", C1-C2.
pub(super) const OP: Entry = Entry::new("dynamic_iota", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [_] = site.exactly()?;
    let axis = site.index("iota_dimension")?;
    let dtype = match site.declared.first() {
        Some(declared) => declared.dtype,
        None => site.declared(0)?.dtype,
    };
    let result = site.shape(dtype, extents::result(site, 0)?)?;
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

    #[test]
    fn known_extents_make_an_iota() {
        let case = |axis| {
            let case = Case::new("stablehlo.dynamic_iota").integer("iota_dimension", axis);
            case.known(DType::S64, &[1], &[3_i64]).declares(DType::S32, &[3])
        };
        assert_eq!(case(0).eval::<i32>(&OP), [0, 1, 2]);
        assert!(case(1).shapes(&OP).contains("violates C1: axis 1 of s32[3]"));
    }
}
