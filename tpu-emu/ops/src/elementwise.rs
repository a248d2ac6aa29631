//! What elementwise operations have in common: shape rules, and the way into a lane.
use super::{Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::element::{ComplexNumber, Real};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::program::{ElementwiseOp, LoopFn};

/// `N` operands of one type and shape, which is also the result's.
///
/// # Errors
/// `BadArgument` for another number of operands, `Constraint` C1 for types that differ.
pub(super) fn same<const N: usize>(site: &Site<'_>) -> Result<Vec<Shape>> {
    Ok(vec![alike::<N>(site)?.clone()])
}

/// The one type of `N` operands.
///
/// # Errors
/// As [`same`].
pub(super) fn alike<'a, const N: usize>(site: &'a Site<'_>) -> Result<&'a Shape> {
    let operands = site.exactly::<N>()?;
    let first =
        operands.first().ok_or_else(|| Error::bad(format!("{} has no operand", site.name)))?;
    match operands.iter().find(|shape| *shape != first) {
        Some(other) => Err(site.violates("C1", format!("{first} and {other} differ"))),
        None => Ok(first),
    }
}

/// The element type of the last operand.
///
/// # Errors
/// `BadArgument` where there is none.
pub(super) fn dtype(site: &Site<'_>) -> Result<DType> {
    let last = site.operands.last();
    Ok(last.ok_or_else(|| Error::bad(format!("{} has no operand", site.name)))?.dtype)
}

/// The element type of the only result.
///
/// # Errors
/// `BadArgument` where there is none.
pub(super) fn result(site: &Site<'_>) -> Result<DType> {
    let first = site.results.first();
    Ok(first.ok_or_else(|| Error::bad(format!("{} has no result", site.name)))?.dtype)
}

/// A lane of a loop that was found for the operand's type.
///
/// # Errors
/// `BadArgument` where none was found: the operation does not take the type.
pub(super) fn lane_of(
    site: &Site<'_>,
    kind: ElementwiseKind,
    run: Option<LoopFn>,
    transcendental: bool,
) -> Result<Lowered> {
    let (operand, result) = (dtype(site)?, result(site)?);
    let refused = || Error::bad(format!("{} does not take {}", site.name, operand.name()));
    let run = run.ok_or_else(refused)?;
    Ok(Lowered::Elementwise(ElementwiseOp {
        kind,
        operand,
        result,
        run,
        immediate: [0; 2],
        transcendental,
    }))
}

/// Whether a complex number comes before another: by real parts, then by imaginary parts.
pub(super) fn lexical<T: ComplexNumber>(a: T, b: T) -> bool {
    let (a, b) = (a.parts(), b.parts());
    a.re.less(b.re) || (a.re.same(b.re) && a.im.less(b.im))
}
