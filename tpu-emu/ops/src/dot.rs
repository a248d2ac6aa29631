//! `dot`: products of vectors and matrices.
use super::contraction::Pairs;
use super::{Entry, LayoutRule, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;

/// The last axis of `lhs` against the first one of `rhs`.
///
/// Shapes: `[k]` or `[m, k]` by `[k]` or `[k, n]`.
/// Errors: `BadArgument` for other ranks and for extents that differ.
/// Source: StableHLO before 1.14, "dot".
pub(super) const OP: Entry =
    Entry { layout: LayoutRule::Default, ..Entry::new("dot", infer, lower) };

fn pairs(site: &Site<'_>) -> Result<Pairs> {
    let [lhs, rhs] = site.exactly::<2>()?;
    if !matches!(lhs.rank(), 1 | 2) || !matches!(rhs.rank(), 1 | 2) {
        return Err(Error::bad(format!("dot takes vectors and matrices, not {lhs} and {rhs}")));
    }
    let last = lhs.rank() - 1;
    if lhs.dims[last] != rhs.dims[0] {
        return Err(Error::bad(format!("dot of {lhs} and {rhs}: extents differ")));
    }
    Ok(Pairs { batch: Default::default(), sum: [vec![last], vec![0]] })
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let pairs = pairs(site)?;
    let [lhs, rhs] = site.exactly::<2>()?;
    Ok(vec![Shape::new(site.declared(0)?.dtype, pairs.result([lhs, rhs]))])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    pairs(site)?.lower(site)
}
