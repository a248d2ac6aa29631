//! `dynamic_conv`: a convolution with its padding as an operand.
use super::convolve::ConvolutionAttributes;
use super::{Entry, LayoutRule, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// As `convolution`, padded by a matrix of two integers an axis.
///
/// Shapes: those of `convolution`, and `padding [n, 2]` for `n` spatial axes.
/// Errors: those of `convolution`; `Unimplemented` where the padding is not known when the program
/// is compiled.
/// Source: StableHLO specification, "dynamic_conv", C1-C27.
pub(super) const OP: Entry =
    Entry { layout: LayoutRule::Default, ..Entry::new("dynamic_conv", infer, lower) };

fn attributes(site: &Site<'_>) -> Result<ConvolutionAttributes> {
    let [lhs, rhs, _] = site.exactly::<3>()?;
    let unknown = || site.unimplemented("padding that only running tells");
    let padding = site.known_integers(2).ok_or_else(unknown)?;
    ConvolutionAttributes::new(site, [lhs, rhs], &padding)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [lhs, rhs, _] = site.exactly::<3>()?;
    let dims = attributes(site)?.infer(site, [lhs, rhs])?;
    Ok(vec![Shape::new(site.declared(0)?.dtype, dims)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [lhs, rhs, _] = site.exactly::<3>()?;
    attributes(site)?.lower(site, [lhs, rhs])
}
