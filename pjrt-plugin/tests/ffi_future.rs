//! Handlers that go on after they have returned.
#![expect(unsafe_code, reason = "handlers in C's manner")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{Array, F32, destroy, get};
use c::handlers::{api_of, ask, elements, error, handler, newest, operand, register, result};
use c::programs::{Run, compile, end};
use c::{ABORTED, Client, Failure, assert_refused, blank};
use pjrt_sys::{
    XLA_FFI_CallFrame, XLA_FFI_DeviceMemory_Allocate_Args, XLA_FFI_Error_Code, XLA_FFI_Future,
    XLA_FFI_Future_Create_Args, XLA_FFI_Future_SetAvailable_Args, XLA_FFI_Future_SetError_Args,
    XLA_FFI_RunId_Get_Args, XLA_FFI_ThreadPool_Schedule_Args,
};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Mutex;
use std::thread;

/// A pointer for another thread.
#[derive(Debug)]
struct Sent<T>(*mut T);

// SAFETY: handlers may end futures on any thread, and use their frame there until then.
unsafe impl<T> Send for Sent<T> {}

impl<T> Sent<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

fn future() -> *mut XLA_FFI_Future {
    let mut args = blank::<XLA_FFI_Future_Create_Args>();
    // SAFETY: a struct of the function's own type.
    let error = unsafe { newest().XLA_FFI_Future_Create.unwrap()(&raw mut args) };
    assert!(error.is_null());
    args.future
}

fn set_available(future: *mut XLA_FFI_Future) -> Result<(), String> {
    let function = newest().XLA_FFI_Future_SetAvailable;
    ask(function, |args: &mut XLA_FFI_Future_SetAvailable_Args| args.future = future).map(drop)
}

fn set_error(future: *mut XLA_FFI_Future, words: &str) -> Result<(), String> {
    let error = error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, words);
    let args = ask(newest().XLA_FFI_Future_SetError, |args: &mut XLA_FFI_Future_SetError_Args| {
        (args.future, args.error) = (future, error);
    });
    args.map(drop)
}

fn leave(frame: *mut XLA_FFI_CallFrame, future: *mut XLA_FFI_Future) {
    // SAFETY: a frame of the runtime's.
    unsafe { (*frame).future = future };
}

/// Runs one call on a number; gives the number that comes out after half a program more.
fn run(target: &str, execute: c::handlers::Function) -> Result<f32, Failure> {
    register(target, execute);
    let client = Client::new();
    let code = format!(
        "module @jit_call {{\n  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {{\n    \
         %0 = stablehlo.custom_call @{target}(%arg0) {{mhlo.backend_config = {{}}}} \
         : (tensor<f32>) -> tensor<f32>\n    %1 = stablehlo.add %0, %0 : tensor<f32>\n    \
         return %1 : tensor<f32>\n  }}\n}}\n"
    );
    let it = compile(&client, &code);
    let argument =
        Array::dense(F32, &[], &3_f32.to_ne_bytes()).put(&client, client.hbm(0)).unwrap();
    let outcome = Run::new(it, &[argument], 1).start().map(|results| {
        let bytes = get(results[0]).unwrap();
        results.into_iter().for_each(destroy);
        f32::from_ne_bytes(bytes.try_into().unwrap())
    });
    destroy(argument);
    end(it);
    outcome
}

/// What a handler does later, on a thread of its own: it uses its buffers and its context.
fn work(frame: *mut XLA_FFI_CallFrame) {
    let (from, to) = (operand(frame, 0), result(frame, 0));
    elements::<f32>(&to)[0] = elements::<f32>(&from)[0] + 1.0;
    // SAFETY: a frame of the runtime's, while the future is pending.
    let ctx = unsafe { (*frame).ctx };
    ask(api_of(frame).XLA_FFI_RunId_Get, |args: &mut XLA_FFI_RunId_Get_Args| args.ctx = ctx)
        .unwrap();
    ask(
        api_of(frame).XLA_FFI_DeviceMemory_Allocate,
        |args: &mut XLA_FFI_DeviceMemory_Allocate_Args| {
            (args.ctx, args.size, args.alignment) = (ctx, 128, 64);
        },
    )
    .unwrap();
}

handler!(later, |frame| {
    let future = future();
    leave(frame, future);
    let (frame, future) = (Sent(frame), Sent(future));
    thread::spawn(move || {
        thread::yield_now();
        work(frame.get());
        set_available(future.get()).unwrap();
        // The call is over: the handle with it, or soon.
        assert!(set_available(future.get()).is_err());
    });
    null_mut()
});

#[test]
fn the_program_goes_on_when_the_future_ends() {
    assert_eq!(run("future.later", later), Ok(8.0));
}

static SCHEDULED: Mutex<Option<(Sent<XLA_FFI_CallFrame>, Sent<XLA_FFI_Future>)>> = Mutex::new(None);

unsafe extern "C" fn task(_: *mut c_void) {
    let (frame, future) = SCHEDULED.lock().unwrap().take().unwrap();
    work(frame.get());
    set_available(future.get()).unwrap();
}

handler!(on_the_pool, |frame| {
    let future = future();
    leave(frame, future);
    *SCHEDULED.lock().unwrap() = Some((Sent(frame), Sent(future)));
    let function = api_of(frame).XLA_FFI_ThreadPool_Schedule;
    ask(function, |args: &mut XLA_FFI_ThreadPool_Schedule_Args| {
        // SAFETY: a frame of the runtime's.
        args.ctx = unsafe { (*frame).ctx };
        args.task = Some(task);
    })
    .unwrap();
    null_mut()
});

#[test]
fn a_task_of_the_pool_may_end_a_future() {
    assert_eq!(run("future.on_the_pool", on_the_pool), Ok(8.0));
}

handler!(at_once, |frame| {
    work(frame);
    let future = future();
    set_available(future).unwrap();
    assert!(set_available(future).unwrap_err().contains("ended already"));
    assert!(set_error(future, "late").unwrap_err().contains("ended already"));
    leave(frame, future);
    null_mut()
});

#[test]
fn a_future_may_have_ended_when_the_handler_returns() {
    assert_eq!(run("future.at_once", at_once), Ok(8.0));
}

handler!(fails_at_once, |frame| {
    let future = future();
    set_error(future, "failed before").unwrap();
    leave(frame, future);
    null_mut()
});

handler!(fails_later, |frame| {
    let future = future();
    leave(frame, future);
    let future = Sent(future);
    thread::spawn(move || set_error(future.get(), "failed behind").unwrap());
    null_mut()
});

handler!(fails_twice, |frame| {
    let future = future();
    leave(frame, future);
    let future = Sent(future);
    thread::spawn(move || set_available(future.get()).unwrap());
    error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "failed and going on")
});

#[test]
fn an_error_of_a_future_fails_the_execution_in_its_words() {
    let refused = run("future.fails_at_once", fails_at_once);
    assert_refused(refused, ABORTED, &["failed before", "future.fails_at_once"]);
    let refused = run("future.fails_later", fails_later);
    assert_refused(refused, ABORTED, &["failed behind", "future.fails_later"]);
    let refused = run("future.fails_twice", fails_twice);
    assert_refused(refused, ABORTED, &["failed and going on", "future.fails_twice"]);
}

handler!(foreign, |frame| {
    leave(frame, without_provenance_mut(64));
    null_mut()
});

#[test]
fn what_is_no_future_is_refused() {
    assert_refused(run("future.foreign", foreign), c::INVALID, &["future handle 0x40 is stale"]);
    let pending = future();
    for wrong in [null_mut(), without_provenance_mut(64)] {
        let function = newest().XLA_FFI_Future_SetError;
        let refused = ask(function, |args: &mut XLA_FFI_Future_SetError_Args| {
            (args.future, args.error) = (pending, wrong);
        });
        assert!(refused.unwrap_err().contains("is no error"));
        assert!(set_available(wrong.cast()).is_err());
    }
    set_available(pending).unwrap();
}
