//! Events, through the table.
#![expect(unsafe_code, reason = "callbacks")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::contract::contract;
use c::{
    ABORTED, Failure, INVALID, UNKNOWN, WRONG_STATE, assert_refused, call, is_ready, look, outcome,
    user_pointer, wait,
};
use pjrt_sys::{PJRT_Error, PJRT_Error_Code, PJRT_Event};
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

fn pending() -> *mut PJRT_Event {
    call!(PJRT_Event_Create).unwrap().event
}

fn set(event: *mut PJRT_Event, code: u32, words: &str) -> Result<(), Failure> {
    call!(PJRT_Event_Set,
        event: event,
        error_code: PJRT_Error_Code(code),
        error_message: words.as_ptr().cast(),
        error_message_size: words.len(),
    )
    .map(drop)
}

fn over(code: u32, words: &str) -> *mut PJRT_Event {
    let event = pending();
    set(event, code, words).unwrap();
    event
}

fn destroy(event: *mut PJRT_Event) {
    call!(PJRT_Event_Destroy, event: event).unwrap();
}

/// Sends what the callback got to the test.
unsafe extern "C" fn tell(error: *mut PJRT_Error, user_arg: *mut c_void) {
    // SAFETY: every test passes a sender that lives until the end of the test.
    let sender = unsafe { &*user_arg.cast_const().cast::<Sender<Result<(), Failure>>>() };
    sender.send(outcome(error)).unwrap();
}

#[test]
fn every_function_keeps_the_contract() {
    contract!(PJRT_Event_Create(-, event) => |args| destroy(args.event));
    contract!(PJRT_Event_Destroy(event, event), event: pending());
    contract!(PJRT_Event_IsReady(event, is_ready), event: pending() => |args| destroy(args.event));
    contract!(PJRT_Event_Error(event, event), event: over(0, "") => |args| destroy(args.event));
    contract!(PJRT_Event_Await(event, event), event: over(0, "") => |args| destroy(args.event));
    contract!(PJRT_Event_Set(event, error_message_size), event: pending() => |args| {
        destroy(args.event);
    });
    let (sender, receiver) = channel::<Result<(), Failure>>();
    contract!(PJRT_Event_OnReady(event, user_arg),
        event: over(0, ""), callback: Some(tell), user_arg: user_pointer(&sender)
        => |args| destroy(args.event));
    assert_eq!(receiver.try_iter().count(), 4);
}

#[test]
fn an_event_is_pending_until_it_is_set_and_then_over_for_good() {
    let event = pending();
    assert!(!is_ready(event));
    assert_refused(call!(PJRT_Event_Error, event: event), WRONG_STATE, &["not ready"]);
    set(event, 0, "").unwrap();
    assert!(is_ready(event));
    call!(PJRT_Event_Error, event: event).unwrap();
    assert_refused(set(event, 10, "late"), WRONG_STATE, &["over already", "PJRT_Event_Set"]);
    assert_eq!(wait(event), Ok(()));
}

#[test]
fn an_events_error_is_told_in_its_own_words_by_every_way() {
    for code in 1..=16 {
        let event = over(code, "lost the wire");
        let failure = Failure { code: PJRT_Error_Code(code), message: "lost the wire".to_owned() };
        let (sender, receiver) = channel::<Result<(), Failure>>();
        let user_arg = user_pointer(&sender);
        call!(PJRT_Event_OnReady, event: event, callback: Some(tell), user_arg: user_arg).unwrap();
        assert_eq!(receiver.try_recv().unwrap(), Err(failure.clone()));
        assert_eq!(call!(PJRT_Event_Error, event: event).unwrap_err(), failure);
        assert_eq!(wait(event), Err(failure));
    }
}

#[test]
fn a_code_without_a_name_stays_an_error() {
    for code in [17, 4096, u32::MAX] {
        assert_refused(wait(over(code, "odd")), UNKNOWN, &["odd"]);
    }
}

#[test]
fn a_text_that_is_promised_must_be_there() {
    let event = pending();
    let answer = call!(PJRT_Event_Set,
        event: event, error_code: ABORTED, error_message_size: 4);
    assert_refused(answer, INVALID, &["null error_message", "PJRT_Event_Set"]);
    assert!(!is_ready(event));
    let answer = call!(PJRT_Event_Set,
        event: event, error_code: ABORTED, error_message: c"x".as_ptr(),
        error_message_size: usize::MAX);
    assert_refused(answer, INVALID, &["address space"]);
    destroy(event);
}

#[test]
fn a_callback_is_needed() {
    let event = over(0, "");
    assert_refused(call!(PJRT_Event_OnReady, event: event), INVALID, &["null callback"]);
    destroy(event);
}

#[test]
fn a_callback_is_called_once_whether_it_comes_before_or_after_the_end() {
    let (sender, receiver) = channel::<Result<(), Failure>>();
    let event = pending();
    let on_ready = || {
        let user_arg = user_pointer(&sender);
        call!(PJRT_Event_OnReady, event: event, callback: Some(tell), user_arg: user_arg).unwrap();
    };
    on_ready();
    on_ready();
    assert_eq!(receiver.try_iter().count(), 0);
    set(event, 0, "").unwrap();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [Ok(()), Ok(())]);
    on_ready();
    assert_eq!(receiver.try_iter().count(), 1);
    destroy(event);
}

/// JAX destroys an event right after it asked to be called back.
#[test]
fn a_callback_outlives_the_events_handle() {
    let (sender, receiver) = channel::<Result<(), Failure>>();
    let client = c::Client::new();
    let token = promised(&client);
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: token.alias_buffer).unwrap().event;
    let user_arg = user_pointer(&sender);
    call!(PJRT_Event_OnReady, event: ready, callback: Some(tell), user_arg: user_arg).unwrap();
    destroy(ready);
    call!(PJRT_Client_FulfillAliasBuffer,
        client: client.raw, status_code: ABORTED,
        fulfill_alias_buffer_cb: token.fulfill_alias_buffer_cb)
    .unwrap();
    assert_eq!(receiver.try_recv().unwrap().unwrap_err().code, ABORTED);
    c::buffers::destroy(token.alias_buffer);
}

fn promised(client: &c::Client) -> pjrt_sys::PJRT_Client_CreateAliasBuffer_Args {
    call!(PJRT_Client_CreateAliasBuffer,
        client: client.raw, memory: client.hbm(0), shape_element_type: c::buffers::F32)
    .unwrap()
}

/// Otherwise a client could say that bytes are there which are not.
#[test]
fn only_the_clients_own_events_can_be_set() {
    let client = c::Client::new();
    let promise = promised(&client);
    let ready = call!(PJRT_Buffer_ReadyEvent, buffer: promise.alias_buffer).unwrap().event;
    assert_refused(set(ready, 0, ""), WRONG_STATE, &["none that PJRT_Event_Create made"]);
    assert!(!is_ready(ready));
    destroy(ready);
    c::buffers::destroy(promise.alias_buffer);
}

#[test]
fn a_destroyed_event_is_stale() {
    let event = pending();
    destroy(event);
    assert_refused(call!(PJRT_Event_Destroy, event: event), INVALID, &["event handle", "stale"]);
    assert_refused(call!(PJRT_Event_Await, event: event), INVALID, &["stale"]);
    assert_refused(set(event, 0, ""), INVALID, &["stale"]);
}

/// What a callback that calls back into the library needs.
struct Nested {
    event: *mut PJRT_Event,
    answers: Mutex<Vec<Result<(), Failure>>>,
}

unsafe extern "C" fn call_back_in(error: *mut PJRT_Error, user_arg: *mut c_void) {
    assert_eq!(look(error).code, ABORTED);
    // SAFETY: the test passes a `Nested` that lives until its end.
    let nested = unsafe { &*user_arg.cast_const().cast::<Nested>() };
    let event = nested.event;
    assert!(is_ready(event));
    let answers = [
        outcome(error),
        call!(PJRT_Event_Await, event: event).map(drop),
        set(event, 0, ""),
        call!(PJRT_Event_Destroy, event: event).map(drop),
    ];
    nested.answers.lock().unwrap().extend(answers);
    drop(c::Client::new());
}

#[test]
fn a_callback_may_use_its_own_event_and_everything_else() {
    let nested = Nested { event: pending(), answers: Mutex::default() };
    let event = nested.event;
    let user_arg = user_pointer(&nested);
    call!(PJRT_Event_OnReady, event: event, callback: Some(call_back_in), user_arg: user_arg)
        .unwrap();
    set(event, 10, "stop").unwrap();
    let answers = nested.answers.into_inner().unwrap();
    let codes: Vec<_> =
        answers.into_iter().map(|answer| answer.map_err(|failure| failure.code)).collect();
    assert_eq!(codes, [Err(ABORTED), Err(ABORTED), Err(WRONG_STATE), Ok(())]);
}

#[test]
fn threads_that_wait_are_woken() {
    let event = pending();
    let bits = event.addr();
    std::thread::scope(|scope| {
        let wait = || {
            let event: *mut PJRT_Event = std::ptr::without_provenance_mut(bits);
            call!(PJRT_Event_Await, event: event).map(drop)
        };
        let waiters = [scope.spawn(wait), scope.spawn(wait)];
        set(event, 10, "stop").unwrap();
        for waiter in waiters {
            assert_refused(waiter.join().unwrap(), ABORTED, &["stop"]);
        }
    });
    destroy(event);
}
