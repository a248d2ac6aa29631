//! How handlers and types become known, whichever way they come.
use tpu_emu::{Error, Result};

/// The handlers of one target: addresses of C functions, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bundle {
    pub(crate) instantiate: usize,
    pub(crate) prepare: usize,
    pub(crate) initialize: usize,
    pub(crate) execute: usize,
}

/// Ends the life of a value of a registered type.
pub(crate) type Deleter = unsafe extern "C" fn(*mut std::ffi::c_void);

/// Makes the handlers of a target known. `origin` says who registers it, for errors.
///
/// # Errors
/// `BadArgument` without an execute handler; both versions for handlers of another version of the
/// interface; both origins where the name has another handler.
pub(crate) fn register_typed(
    name: &str,
    platform: &str,
    bundle: Bundle,
    traits: u32,
    origin: String,
) -> Result<()> {
    Err(Error::Unimplemented(format!("{name} {platform} {bundle:?} {traits} {origin}")))
}

/// Makes a function of the older, untyped interface known, by its address.
///
/// # Errors
/// `BadArgument` for a null function; both origins where the name has another one.
pub(crate) fn register_untyped(
    name: &str,
    platform: &str,
    function: usize,
    origin: String,
) -> Result<()> {
    Err(Error::Unimplemented(format!("{name} {platform} {function} {origin}")))
}

/// Gives a type of handlers' states and user data its number; 0 asks for a new one.
///
/// # Errors
/// Both numbers where the name has another one, both names where the number has.
pub(crate) fn register_type(name: &str, number: i64, deleter: Option<Deleter>) -> Result<i64> {
    Err(Error::Unimplemented(format!("{name} {number} {deleter:?}")))
}
