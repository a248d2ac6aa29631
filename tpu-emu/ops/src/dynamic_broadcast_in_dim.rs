//! Repeats along axes, to extents that an operand gives.
use super::access::{check_spread, unique};
use super::{Entry, Lowered, Simplification, Site, extents};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;

/// `broadcast_in_dim` to the extents in `output_dimensions`.
///
/// Shapes: `operand [o..]`; `output_dimensions [r]`; result of those extents.
/// Errors: `Constraint` C2 to C5, C8 to C10; `Unimplemented` for extents that nobody knows when
/// the program is compiled.
/// Source: StableHLO specification, "dynamic_broadcast_in_dim", C1-C10.
pub(super) const OP: Entry = Entry {
    simplification: Simplification::Moved,
    ..Entry::new("dynamic_broadcast_in_dim", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, _] = site.exactly()?;
    let result = site.shape(operand.dtype, extents::result(site, 1)?)?;
    check_spread(site, operand, &result, &site.optional_indices("broadcast_dimensions")?)?;
    let expanding = site.optional_indices("known_expanding_dimensions")?;
    let fixed = site.optional_indices("known_nonexpanding_dimensions")?;
    let both = [&expanding[..], &fixed[..]].concat();
    if !unique(&both) {
        return Err(site.violates("C8", format!("known axes {both:?}")));
    }
    for (list, label) in [(expanding, "C9"), (fixed, "C10")] {
        if list.iter().any(|&axis| axis >= operand.rank()) {
            return Err(site.violates(label, format!("axes {list:?} of {operand}")));
        }
    }
    Ok(vec![result])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand, _] = site.exactly()?;
    let axes = site.optional_indices("broadcast_dimensions")?;
    Ok(Lowered::Access(Access::spread(operand, &site.results[0], &axes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(dims: &[i32]) -> Case {
        Case::new("stablehlo.dynamic_broadcast_in_dim")
            .value(DType::U8, &[1, 2], &[1_u8, 2])
            .known(DType::S32, &[dims.len()], dims)
            .integers("broadcast_dimensions", &[0, 1])
    }

    #[test]
    fn known_extents_make_a_broadcast() {
        assert_eq!(case(&[2, 2]).shapes(&OP), "u8[2,2]");
        assert_eq!(case(&[2, 2]).eval::<u8>(&OP), [1, 2, 1, 2]);
    }

    #[test]
    fn every_broken_constraint_is_named() {
        assert!(case(&[2, 3]).shapes(&OP).contains("violates C5"));
        let twice = case(&[2, 2]).integers("known_expanding_dimensions", &[0, 0]);
        assert!(twice.shapes(&OP).contains("violates C8"));
        let outside = case(&[2, 2]).integers("known_nonexpanding_dimensions", &[2]);
        assert!(outside.shapes(&OP).contains("violates C10"));
    }
}
