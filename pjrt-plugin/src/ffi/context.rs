//! `XLA_FFI_InvokeContext`: one stage of one call, by a handle that dies with it.
use super::UserData;
use super::failure::Failure;
use super::state::{LaunchStates, StageState};
use crate::sys::{XLA_FFI_ExecutionStage, XLA_FFI_InvokeContext};
use parking_lot::{Mutex, RwLock};
use std::ffi::c_void;
use std::sync::Arc;
use tpu_emu::custom_call::{Services, Stage};
use tpu_emu::{Error, Result};

/// What a handler may ask for while its stage goes on.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) stage: Stage,
    /// `None` where there is no device yet, when a program is compiled.
    pub(super) services: Option<Arc<dyn Services>>,
    /// What the handler kept when the program was compiled.
    pub(super) instance: Arc<StageState>,
    /// What it keeps for the launch, if there is one.
    pub(super) launch: Option<Arc<LaunchStates>>,
    /// What tasks of the call that fail are told to.
    pub(super) failure: Arc<Failure>,
}

/// Bits of a handle, from the top: its kind (8), the seat (24), how often that was left (32).
const KIND: u64 = 13 << 56;
const LEFT_BITS: u32 = 32;
const SEATS: usize = 1 << 24;

/// A place for one context after another, which costs less than a place for each.
#[derive(Debug)]
struct Seat {
    number: usize,
    taken: Mutex<(u32, Option<Context>)>,
}

static ALL: RwLock<Vec<Arc<Seat>>> = RwLock::new(Vec::new());
static FREE: Mutex<Vec<Arc<Seat>>> = Mutex::new(Vec::new());

/// A seat that nobody else has.
#[derive(Debug)]
pub(super) struct Owned(Arc<Seat>);

impl Owned {
    /// # Errors
    /// `Host` where too many calls go on at once.
    pub(super) fn new() -> Result<Self> {
        let free = FREE.lock().pop();
        if let Some(seat) = free {
            return Ok(Self(seat));
        }
        let mut all = ALL.write();
        if all.len() >= SEATS {
            return Err(Error::Host(format!("more than {SEATS} execution contexts")));
        }
        let seat = Arc::new(Seat { number: all.len(), taken: Mutex::default() });
        all.push(Arc::clone(&seat));
        Ok(Self(seat))
    }

    /// Opens a context; gives its handle.
    pub(super) fn open(&self, context: Context) -> *mut XLA_FFI_InvokeContext {
        let mut taken = self.0.taken.lock();
        taken.1 = Some(context);
        let raw = KIND | (self.0.number as u64) << LEFT_BITS | u64::from(taken.0);
        std::ptr::without_provenance_mut(tpu_emu::units::to_usize(raw))
    }

    /// Ends the context; its handle is stale from now on.
    pub(super) fn close(&self) {
        let context = {
            let mut taken = self.0.taken.lock();
            taken.0 = taken.0.wrapping_add(1);
            taken.1.take()
        };
        drop(context);
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.close();
        FREE.lock().push(Arc::clone(&self.0));
    }
}

/// The context of a handle.
///
/// # Errors
/// `Null`; `StaleHandle` once its stage is over.
pub(super) fn context(handle: *const XLA_FFI_InvokeContext) -> Result<Context> {
    const WHAT: &str = "execution context";
    if handle.is_null() {
        return Err(Error::Null(WHAT));
    }
    let raw = handle.addr() as u64;
    let number = (raw & !(0xff << 56)) >> LEFT_BITS;
    let seat = usize::try_from(number).ok().and_then(|number| ALL.read().get(number).cloned());
    let seat = seat.filter(|_| raw & (0xff << 56) == KIND);
    let context = seat.and_then(|seat| {
        let taken = seat.taken.lock();
        let is_same = u64::from(taken.0) == raw & u64::from(u32::MAX);
        taken.1.as_ref().filter(|_| is_same).cloned()
    });
    context.ok_or(Error::StaleHandle { kind: WHAT, raw })
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
    pub(super) fn slot(&self, stage: XLA_FFI_ExecutionStage) -> Result<&StageState> {
        let launch = || {
            self.launch.as_ref().ok_or_else(|| {
                let stage = self.stage.name();
                Error::WrongState(format!(
                    "in the {stage} stage there is no state of a prepare or initialize handler"
                ))
            })
        };
        match stage {
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INSTANTIATE => Ok(&self.instance),
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_PREPARE => Ok(&launch()?.prepare),
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INITIALIZE => Ok(&launch()?.initialize),
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_EXECUTE => {
                Err(Error::bad("the execute stage keeps no state"))
            }
            XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_RECORD => {
                Err(Error::Unimplemented("the emulated TPU has no record stage".to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_of_one_stage() {
        let open = || Context {
            stage: Stage::Instantiate,
            services: None,
            instance: Arc::default(),
            launch: None,
            failure: Arc::default(),
        };
        let seat = Owned::new().unwrap();
        let first = seat.open(open());
        assert!(context(first).is_ok());
        seat.close();
        let second = seat.open(open());
        assert_ne!(first, second);
        assert!(context(first).is_err());
        assert!(context(second).is_ok());
        let other = second.wrapping_byte_add(1 << 56);
        assert!(context(other).is_err());
        drop(seat);
        assert!(context(second).is_err());
    }
}
