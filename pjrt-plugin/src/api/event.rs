//! Events.
use crate::boundary::{Caller, UserPointer, handle_of, id_of};
use crate::callback;
use crate::error;
use crate::state::{EVENTS, EventEntry, event};
use crate::sys::{
    PJRT_Event_Await_Args, PJRT_Event_Create_Args, PJRT_Event_Destroy_Args, PJRT_Event_Error_Args,
    PJRT_Event_IsReady_Args, PJRT_Event_OnReady_Args, PJRT_Event_Set_Args,
};
use tpu_emu::{Error, Event, Result};

/// Ends the handle's life; callbacks that wait are called all the same.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_Event_Destroy_Args) -> Result<()> {
    EVENTS.remove(id_of(args.event, "event")?).map(drop)
}

/// Whether it is over.
pub(super) fn is_ready(_: &Caller, args: &mut PJRT_Event_IsReady_Args) -> Result<()> {
    args.is_ready = u8::from(event(args.event)?.is_ready());
    Ok(())
}

/// The event's own error, as this call's.
pub(super) fn error(_: &Caller, args: &mut PJRT_Event_Error_Args) -> Result<()> {
    match event(args.event)?.outcome() {
        Some(outcome) => verbatim(outcome.clone()),
        None => Err(Error::WrongState("the event is not ready yet".to_owned())),
    }
}

/// Blocks until it is over. The child of a fork has no thread that would end it, so it is not
/// kept waiting.
pub(super) fn wait(_: &Caller, args: &mut PJRT_Event_Await_Args) -> Result<()> {
    let event = event(args.event)?;
    if let Some(machine) = crate::machine_if_made() {
        machine.client_waits();
        if !event.is_ready() {
            machine.check_not_forked()?;
        }
    }
    verbatim(event.wait())
}

/// The error belongs to another call, whose name it carries; this call's would mislead.
fn verbatim(outcome: Result<()>) -> Result<()> {
    outcome.map_err(|error| {
        let (code, message) = (error.code(), error.to_string().into());
        Error::Verbatim { code, message }
    })
}

/// Calls back once it is over: now, on this thread, if it is already.
pub(super) fn on_ready(_: &Caller, args: &mut PJRT_Event_OnReady_Args) -> Result<()> {
    let event = event(args.event)?;
    let callback = args.callback.ok_or(Error::Null("callback"))?;
    let user_arg = UserPointer(args.user_arg);
    event.on_ready(move |outcome| {
        callback::event_ready(callback, error::give_outcome(outcome), user_arg);
    });
    Ok(())
}

/// An event that the client ends itself.
pub(super) fn create(_: &Caller, args: &mut PJRT_Event_Create_Args) -> Result<()> {
    args.event = handle_of(EVENTS.insert(EventEntry { event: Event::pending(), of_client: true }));
    Ok(())
}

/// Ends an event that the client made, well or badly.
pub(super) fn set(caller: &Caller, args: &mut PJRT_Event_Set_Args) -> Result<()> {
    let entry = EVENTS.get(id_of(args.event, "event")?)?;
    let message = caller.text(args.error_message, args.error_message_size, "error_message")?;
    if !entry.of_client {
        return Err(Error::WrongState("the event is none that PJRT_Event_Create made".to_owned()));
    }
    if entry.event.settle(error::foreign(args.error_code, message)) {
        return Ok(());
    }
    Err(Error::WrongState("the event is over already".to_owned()))
}
