//! Slices at computed places, their extents an operand.
use super::gather_dimensions::Dimensions;
use super::{Entry, Lowered, Site, extents};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;

/// `gather` with `slice_sizes` as the third operand.
///
/// Shapes: as `gather`.
/// Errors: `Constraint` C1 to C21 of `gather`; `Unimplemented` for extents that are not known
/// when the program is compiled.
/// Source: StableHLO specification, "dynamic_gather", C1-C14, under the labels of "gather".
pub(super) const OP: Entry = Entry::new("dynamic_gather", infer, lower);

fn dimensions(site: &Site<'_>) -> Result<Dimensions> {
    let negative = |size: i64| {
        usize::try_from(size).map_err(|_| Error::bad(format!("{}: slice of {size}", site.name)))
    };
    let sizes: Result<Vec<usize>> = extents::known(site, 2)?.into_iter().map(negative).collect();
    Dimensions::of(site, sizes?)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, indices, _] = site.exactly()?;
    Ok(vec![dimensions(site)?.result(site, operand, indices)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand, indices, _] = site.exactly()?;
    dimensions(site)?.lower(site, operand, indices, &site.results[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case() -> Case {
        Case::new("stablehlo.dynamic_gather")
            .value(DType::U8, &[3, 2], &[1_u8, 2, 3, 4, 5, 6])
            .value(DType::S32, &[2], &[2, 0])
            .integers("offset_dims", &[1])
            .integers("collapsed_slice_dims", &[0])
            .integers("start_index_map", &[0])
            .integer("index_vector_dim", 1)
    }

    #[test]
    fn known_sizes_make_a_gather() {
        let known = case().known(DType::S64, &[2], &[1_i64, 2]);
        assert_eq!(known.shapes(&OP), "u8[2,2]");
        assert_eq!(known.eval::<u8>(&OP), [5, 6, 1, 2]);
        assert!(case().known(DType::S64, &[2], &[1_i64, -2]).shapes(&OP).contains("slice of -2"));
    }

    #[test]
    fn unknown_sizes_are_not_done() {
        let text = case().operand(DType::S64, &[2]).shapes(&OP);
        let expected = "operand 2 is not known when the program is compiled";
        assert_eq!(text, format!("stablehlo.dynamic_gather: {expected}"));
    }
}
