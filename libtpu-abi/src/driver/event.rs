//! `TpuEvent`: when work is over, and how it went.
// UNSAFETY: exports functions, reads the client's lists, calls the client's functions.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::status;
use super::sys::{TpuEvent, TpuStatus};
use crate::boundary::{answer, handle_of, id_of};
use crate::memory::{self, UserPointer};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::{Error, Event, Result, Table};

static EVENTS: Table<Event> = Table::new("TpuEvent", 151);

type Callback = Option<unsafe extern "C" fn(*mut TpuStatus, *mut c_void)>;

/// An event for the client, which frees it.
pub(super) fn give(outcome: Result<()>) -> *mut TpuEvent {
    handle_of(EVENTS.insert(Event::settled(outcome)))
}

/// Runs a function that gives an event.
pub(super) fn report(function: FunctionName, body: impl FnOnce() -> Result<()>) -> *mut TpuEvent {
    give(entry::enter(function, body))
}

fn get(event: *const TpuEvent) -> Result<Arc<Event>> {
    EVENTS.get(id_of(event, "TpuEvent")?)
}

/// Waits for a client's list of events.
///
/// # Safety
/// `eventv` is null or valid for `eventc` pointers.
///
/// # Errors
/// The first error among the events, after all are over; `BadArgument`, `Null` and `StaleHandle`
/// for what is no list of events.
pub(super) unsafe fn wait_all(eventc: i32, eventv: *mut *mut TpuEvent) -> Result<()> {
    let count = memory::count_of(eventc.into(), "events")?;
    // SAFETY: the promise of this function's caller.
    let events = unsafe { memory::slice(eventv.cast_const(), count, "eventv") }?;
    let events: Vec<_> = events.iter().map(|&event| get(event)).collect::<Result<_>>()?;
    let outcomes: Vec<_> = events.iter().map(|event| event.wait()).collect();
    outcomes.into_iter().collect()
}

/// Calls `callback_fn` once: when the event is over, or now. Where there is no such event, the
/// callback gets the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_EventAddCallback(
    event: *mut TpuEvent,
    callback_fn: Callback,
    additional_info: *mut c_void,
) {
    answer(&"TpuDriver_EventAddCallback", (), || {
        let callback = callback_fn.ok_or(Error::Null("callback_fn"))?;
        let info = UserPointer(additional_info);
        let tell = move |outcome: &Result<()>| {
            // The whole of it, and not the pointer inside alone, goes to the thread that calls.
            let UserPointer(info) = { info };
            let status = status::give(outcome.as_ref().map(|&()| ()));
            let arguments = [status.expose_provenance(), info.expose_provenance(), 0, 0, 0];
            let what = "a callback of a TpuEvent";
            // SAFETY: a function of the client with the pointer that it gave for it.
            unsafe { tpu_host::foreign::call_or_tell(what, callback as *const (), arguments) };
            // A client that freed it has done what is done here.
            let _ = status::take_back(status);
        };
        match get(event) {
            Ok(event) => {
                event.on_ready(tell);
                Ok(())
            }
            Err(error) => {
                tell(&Err(error.clone()));
                Err(error)
            }
        }
    });
}

/// Waits up to `timeout_in_us` microseconds, for ever if that is negative; null if time is up.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_EventAwait(event: *mut TpuEvent, timeout_in_us: i64) -> *mut TpuStatus {
    let outcome = entry::enter(&"TpuDriver_EventAwait", || {
        let event = get(event)?;
        match u64::try_from(timeout_in_us) {
            Ok(us) => Ok(event.wait_for(Duration::from_micros(us))),
            Err(_) => Ok(Some(event.wait())),
        }
    });
    match outcome {
        Ok(None) => ptr::null_mut(),
        Ok(Some(outcome)) => status::give(outcome.as_ref().map(|&()| ())),
        Err(error) => status::give(Err(&error)),
    }
}

/// Frees an event; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_FreeEvent(event: *mut TpuEvent) {
    if event.is_null() {
        return;
    }
    answer(&"TpuDriver_FreeEvent", (), || EVENTS.remove(id_of(event, "TpuEvent")?).map(drop));
}
