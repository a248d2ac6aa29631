//! Collectives of one device: groups of one member. Whether the groups are such, the loader sees.
use super::Site;
use tpu_base::error::Result;

/// Checks that axis `name` is one of every operand's; gives it.
///
/// # Errors
/// `Constraint` with this label.
pub(super) fn axis(site: &Site<'_>, name: &str, constraint: &'static str) -> Result<usize> {
    let axis = site.index(name)?;
    match site.operands.iter().find(|operand| axis >= operand.rank()) {
        Some(operand) => Err(site.violates(constraint, format!("axis {axis} of {operand}"))),
        None => Ok(axis),
    }
}

/// Checks that the computation gives the operands' types, as it must where it is not run.
///
/// # Errors
/// `Unimplemented` for a promotion.
pub(super) fn keeps_types(site: &Site<'_>) -> Result<()> {
    let body = site.body(0)?;
    for operand in site.operands {
        let same = matches!(body.results(), [result] if result.dtype == operand.dtype);
        if !same {
            let what = format!("{operand} with a computation of {:?}", body.results());
            return Err(site.unimplemented(what));
        }
    }
    Ok(())
}
