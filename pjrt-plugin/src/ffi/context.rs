//! `XLA_FFI_ExecutionContext`: one stage of one call, by a handle that dies with it.
use super::UserData;
use super::state::{LaunchStates, Slot};
use crate::boundary::{handle_of, id_of};
use crate::sys::{XLA_FFI_ExecutionContext, XLA_FFI_ExecutionStage};
use std::ffi::c_void;
use std::sync::Arc;
use tpu_emu::custom_call::{Services, Stage};
use tpu_emu::{Error, Id, Result, Table};

/// What a handler may ask for while its stage goes on.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) stage: Stage,
    /// `None` where there is no device yet, when a program is compiled.
    pub(super) services: Option<Arc<dyn Services>>,
    /// What the handler kept when the program was compiled.
    pub(super) instance: Arc<Slot>,
    /// What it keeps for the launch, if there is one.
    pub(super) launch: Option<Arc<LaunchStates>>,
}

static CONTEXTS: Table<Context> = Table::new("execution context", 16);

/// A context while it is open.
#[derive(Debug)]
pub(super) struct Open(Id<Context>);

impl Open {
    /// Gives a context a handle.
    pub(super) fn new(context: Context) -> Self {
        Self(CONTEXTS.insert(context))
    }

    /// The handle.
    pub(super) fn handle(&self) -> *mut XLA_FFI_ExecutionContext {
        handle_of(self.0)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Nobody else takes it away.
        drop(CONTEXTS.remove(self.0));
    }
}

/// The context of a handle.
///
/// # Errors
/// `Null`; `StaleHandle` once its stage is over.
pub(super) fn context(handle: *const XLA_FFI_ExecutionContext) -> Result<Arc<Context>> {
    CONTEXTS.get(id_of(handle, "execution context")?)
}

impl Context {
    /// What the device does for the call.
    ///
    /// # Errors
    /// `WrongState` in the instantiate stage.
    pub(super) fn services(&self) -> Result<&Arc<dyn Services>> {
        self.services.as_ref().ok_or_else(|| {
            let stage = self.stage.name();
            Error::WrongState(format!("there is no device in the {stage} stage"))
        })
    }

    /// The place of the value that `stage` keeps.
    ///
    /// # Errors
    /// `BadArgument` for a stage that keeps nothing; `WrongState` for one of a launch before
    /// there is a launch.
    pub(super) fn slot(&self, stage: XLA_FFI_ExecutionStage) -> Result<&Slot> {
        let launch = || {
            self.launch.as_ref().ok_or_else(|| {
                let stage = self.stage.name();
                Error::WrongState(format!("there is no launch in the {stage} stage"))
            })
        };
        match stage {
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INSTANTIATE => Ok(&self.instance),
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_PREPARE => Ok(&launch()?.prepare),
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INITIALIZE => Ok(&launch()?.initialize),
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_EXECUTE => {
                Err(Error::bad("the execute stage keeps no state"))
            }
            other => Err(Error::bad(format!("{} is no XLA_FFI_ExecutionStage", other.0))),
        }
    }

    /// What the client gave to the launch for values of type `of`.
    ///
    /// # Errors
    /// `NotFound` where it gave nothing.
    pub(super) fn user_data(&self, of: i64) -> Result<*mut c_void> {
        let given = self.services.as_ref().and_then(|services| services.context());
        let given = given.and_then(|given| given.downcast_ref::<UserData>());
        given.and_then(|given| given.get(of)).ok_or_else(|| {
            let of = super::types::name_of(of);
            Error::NotFound(format!("the client gave no user data of type {of} to this launch"))
        })
    }
}
