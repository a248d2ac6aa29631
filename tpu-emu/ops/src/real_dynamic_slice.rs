//! A part of an array, with bounds that operands give.
use super::access::sliced;
use super::{Entry, Lowered, Site, extents};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;

/// `slice` with start, limit and strides as operands.
///
/// Shapes: `operand [o..]`; three lists of as many integers as axes; result as `slice`.
/// Errors: `Constraint` C2 to C4; `Unimplemented` for bounds that are not known when the program
/// is compiled.
/// Source: StableHLO specification, "slice", C1-C5, with its attributes as operands.
pub(super) const OP: Entry = Entry::new("real_dynamic_slice", infer, lower);

/// The numbers of operand `at`; a negative one is no bound.
fn bounds(site: &Site<'_>, at: usize) -> Result<Vec<usize>> {
    let bound = |value: i64| {
        usize::try_from(value).map_err(|_| Error::bad(format!("{}: bound {value}", site.name)))
    };
    extents::known(site, at)?.into_iter().map(bound).collect()
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, ..] = site.exactly::<4>()?;
    let (starts, limits, steps) = (bounds(site, 1)?, bounds(site, 2)?, bounds(site, 3)?);
    Ok(vec![sliced(site, operand, [&starts, &limits, &steps])?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let operand = &site.operands[0];
    Ok(Lowered::Access(Access::window(operand, &bounds(site, 1)?, &bounds(site, 3)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn known_bounds_make_a_slice() {
        let case = |limit: i64| {
            Case::new("stablehlo.real_dynamic_slice")
                .value(DType::U8, &[5], &[1_u8, 2, 3, 4, 5])
                .known(DType::S64, &[1], &[1_i64])
                .known(DType::S64, &[1], &[limit])
                .known(DType::S64, &[1], &[2_i64])
        };
        assert_eq!(case(5).shapes(&OP), "u8[2]");
        assert_eq!(case(5).eval::<u8>(&OP), [2, 4]);
        assert!(case(6).shapes(&OP).contains("violates C3"));
        assert!(case(-1).shapes(&OP).contains("bound -1"));
    }
}
