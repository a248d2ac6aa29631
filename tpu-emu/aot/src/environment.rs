//! Variables that say where a user's files and programs are.
use std::ffi::OsString;

/// The value of a variable.
#[expect(clippy::disallowed_methods, reason = "no variables of tpu-emu")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
