//! Collectives of one device: groups of one member.
use super::Site;
use crate::error::{Error, Result};
use tpu_stablehlo::ir::{Attribute, DYNAMIC};

/// Checks that every group of `replica_groups` has one member, device 0; none is all devices,
/// which is the same.
///
/// # Errors
/// `Unimplemented` for other groups.
pub(super) fn alone(site: &Site<'_>) -> Result<()> {
    let Some(attribute) = site.attributes.get("replica_groups") else { return Ok(()) };
    let Attribute::Elements(groups) = attribute else {
        return Err(site.unimplemented("replica_groups that are no dense array"));
    };
    let &[count, size] = &groups.of.dims[..] else {
        let dims = &groups.of.dims;
        return Err(Error::bad(format!("{}: replica_groups of shape {dims:?}", site.name)));
    };
    if count == 0 || size == 0 {
        return Ok(());
    }
    // -1 fills the room of groups that are smaller than others.
    let members = groups.integers().unwrap_or_default();
    if count == DYNAMIC || members.iter().any(|&member| member != 0) || members.len() != 1 {
        let what = format!("replica_groups {members:?} of shape [{count}, {size}]");
        return Err(site.unimplemented(format!("{what} take several devices")));
    }
    Ok(())
}

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
