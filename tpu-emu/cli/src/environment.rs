//! What the environment says.
#![expect(clippy::disallowed_methods, reason = "the one file of the command that reads it")]
use std::ffi::OsString;

/// A variable that is set, and not to nothing.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A variable as text; what is no UTF-8 in it is replaced.
pub(crate) fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}
