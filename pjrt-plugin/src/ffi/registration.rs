//! How handlers become known, whichever way they come.
// UNSAFETY: makes function pointers of addresses that callers state.
#![expect(unsafe_code, reason = "C functions by their addresses")]
use super::frame::HandlerFunction;
use super::handler::{FfiTarget, Handler, Handlers};
use super::metadata::version_of;
use super::untyped::UntypedTarget;
use std::sync::Arc;
use tpu_emu::custom_call::Registration;
use tpu_emu::{Error, Result};

/// The handlers of one target: addresses of C functions, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bundle {
    pub(crate) instantiate: usize,
    pub(crate) prepare: usize,
    pub(crate) initialize: usize,
    pub(crate) execute: usize,
    /// Never called: the emulated TPU has no command buffers.
    pub(crate) record: usize,
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
    _traits: u32,
    origin: String,
) -> Result<()> {
    let handlers = handlers(name, bundle)?;
    tpu_host::custom_calls().register(Registration {
        name: name.into(),
        platform: platform.to_owned(),
        typed: true,
        identity: vec![
            bundle.instantiate,
            bundle.prepare,
            bundle.initialize,
            bundle.execute,
            bundle.record,
        ],
        origin,
        target: Arc::new(FfiTarget(handlers)),
    })
}

fn handlers(name: &str, bundle: Bundle) -> Result<Handlers> {
    let handler = |stage: &str, address: usize| -> Result<Option<Handler>> {
        let Some(function) = function(address) else { return Ok(None) };
        let minor = version_of(function).map_err(|error| {
            let message = format!("custom call target \"{name}\", {stage} handler: {error}");
            Error::Verbatim { code: error.code(), message: message.into() }
        })?;
        Ok(Some(Handler { function, minor }))
    };
    handler("record", bundle.record)?;
    Ok(Handlers {
        execute: handler("execute", bundle.execute)?.ok_or_else(|| {
            Error::bad(format!("custom call target \"{name}\" without an execute handler"))
        })?,
        instantiate: handler("instantiate", bundle.instantiate)?,
        prepare: handler("prepare", bundle.prepare)?,
        initialize: handler("initialize", bundle.initialize)?,
    })
}

/// The function at an address; `None` at 0.
fn function(address: usize) -> Option<HandlerFunction> {
    let address = std::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: null is `None`; whoever states another address says that a handler is there.
    unsafe { std::mem::transmute::<*const (), Option<HandlerFunction>>(address) }
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
    if function == 0 {
        return Err(Error::bad(format!("custom call target \"{name}\" without a function")));
    }
    tpu_host::custom_calls().register(Registration {
        name: name.into(),
        platform: platform.to_owned(),
        typed: false,
        identity: vec![function],
        origin,
        target: Arc::new(UntypedTarget(function)),
    })
}
