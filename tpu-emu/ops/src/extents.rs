//! Extents that operands give: known when the program is compiled, or not done.
use super::Site;
use tpu_base::error::{Error, Result};

/// The integers of operand `operand`.
///
/// # Errors
/// `Unimplemented` where they are not known at compile time.
pub(super) fn known(site: &Site<'_>, operand: usize) -> Result<Vec<i64>> {
    site.known_integers(operand).ok_or_else(|| {
        site.unimplemented(format!("operand {operand} is not known when the program is compiled"))
    })
}

/// The extents of result 0 that operand `operand` gives; those of the declared type where the
/// operand is not known.
///
/// # Errors
/// `BadArgument` for a negative extent, `Unimplemented` where neither is known.
pub(super) fn result(site: &Site<'_>, operand: usize) -> Result<Vec<usize>> {
    let Some(values) = site.known_integers(operand) else {
        return match site.declared.first().and_then(super::Declared::shape) {
            Some(shape) => Ok(shape.dims.into_vec()),
            None => known(site, operand).map(|_| Vec::new()),
        };
    };
    let negative = |value: i64| {
        usize::try_from(value).map_err(|_| Error::bad(format!("{}: extent {value}", site.name)))
    };
    values.into_iter().map(negative).collect()
}
