//! Functions of a client that throw, as C++ does: the library goes on.
#![cfg(target_arch = "x86_64")]
#![expect(unsafe_code, reason = "functions in C's manner, and the unwinder's")]

mod c;

use c::buffers::{Array, F32, destroy, get};
use c::callbacks::{Host, Stream, THROUGH_THE_HOST, start};
use c::handlers::{error, handler, register};
use c::programs::{compile, end, run_target};
use c::{Client, INTERNAL, assert_refused, call, is_ready, wait};
use pjrt_sys::{
    PJRT_CallbackError, PJRT_Chunk, PJRT_CopyToDeviceStream, PJRT_Error, XLA_FFI_Error_Code,
};
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The head of an exception, as the unwinder has it.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    cleanup: unsafe extern "C" fn(c_int, *mut Exception),
    private: [u64; 2],
}

unsafe extern "C-unwind" {
    fn _Unwind_RaiseException(exception: *mut Exception) -> c_int;
}

static ENDED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn cleanup(_: c_int, exception: *mut Exception) {
    ENDED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: from `throw`, once.
    drop(unsafe { Box::from_raw(exception) });
}

/// The words of what [`throw`] throws.
const THROWN: &str = "threw an exception of class \"ABCDEFGH\"";

extern "C-unwind" fn throw() {
    let class = u64::from_be_bytes(*b"ABCDEFGH");
    let exception = Box::into_raw(Box::new(Exception { class, cleanup, private: [0; 2] }));
    // SAFETY: a whole exception; nothing here has to be cleaned up on the way.
    unsafe { _Unwind_RaiseException(exception) };
}

unsafe extern "C-unwind" fn throwing_event(error: *mut PJRT_Error, _: *mut c_void) {
    assert!(error.is_null());
    throw();
}

#[test]
fn a_callback_of_an_event_may_throw() {
    let event = call!(PJRT_Event_Create).unwrap().event;
    // SAFETY: the same arguments; that it throws is what is tested.
    let callback = unsafe {
        transmute::<
            unsafe extern "C-unwind" fn(*mut PJRT_Error, *mut c_void),
            unsafe extern "C" fn(*mut PJRT_Error, *mut c_void),
        >(throwing_event)
    };
    let before = ENDED.load(Ordering::SeqCst);
    call!(PJRT_Event_OnReady, event: event, callback: Some(callback), user_arg: null_mut())
        .unwrap();
    call!(PJRT_Event_Set, event: event).unwrap();
    assert!(is_ready(event));
    assert!(ENDED.load(Ordering::SeqCst) > before);
    assert_eq!(wait(event), Ok(()));
}

unsafe extern "C-unwind" fn throwing_send(
    chunk: *mut PJRT_Chunk,
    _: *mut PJRT_CallbackError,
    _: usize,
    _: u8,
    _: *mut c_void,
) -> *mut PJRT_Error {
    // SAFETY: the chunk is the callback's to read and to delete, as a client's destructor does.
    let chunk = unsafe { *chunk };
    if let Some(deleter) = chunk.deleter {
        // SAFETY: as above, once.
        unsafe { deleter(chunk.data, chunk.deleter_arg) };
    }
    throw();
    null_mut()
}

unsafe extern "C-unwind" fn throwing_recv(_: *mut PJRT_CopyToDeviceStream, _: *mut c_void) {
    throw();
}

#[test]
fn callbacks_of_a_program_that_throw_fail_its_run() {
    type Send = unsafe extern "C" fn(
        *mut PJRT_Chunk,
        *mut PJRT_CallbackError,
        usize,
        u8,
        *mut c_void,
    ) -> *mut PJRT_Error;
    type Recv = unsafe extern "C" fn(*mut PJRT_CopyToDeviceStream, *mut c_void);
    // SAFETY: the same arguments; that they throw is what is tested.
    let (send, recv): (Send, Recv) = unsafe {
        (
            transmute::<*const (), Send>(throwing_send as *const ()),
            transmute::<*const (), Recv>(throwing_recv as *const ()),
        )
    };
    let client = Client::new();
    let loaded = compile(&client, THROUGH_THE_HOST);
    let two = [0, 0, 128, 63, 0, 0, 0, 64];
    for throws in ["send", "recv", "neither"] {
        let argument = Array::dense(F32, &[2], &two).put(&client, client.hbm(0)).unwrap();
        let host = Host::new(|stream: Stream| {
            stream.add(&two).unwrap();
            stream.destroy().unwrap();
        });
        let (mut sends, mut recvs) = ([host.send_info(1)], [host.recv_info(2)]);
        match throws {
            "send" => sends[0].send_callback = Some(send),
            "recv" => recvs[0].recv_callback = Some(recv),
            _ => {}
        }
        let started = start(loaded, argument, &mut sends, &mut recvs, true).unwrap();
        let done = wait(started.done);
        if throws == "neither" {
            done.unwrap();
            assert_eq!(get(started.result).unwrap(), two);
        } else {
            assert_refused(done, INTERNAL, &[&format!("the {throws} callback {THROWN}")]);
        }
        destroy(started.result);
        destroy(argument);
    }
    end(loaded);
}

unsafe extern "C-unwind" fn throwing_deleter(_: *mut c_void, _: *mut c_void) {
    throw();
}

handler!(silent, |_frame| null_mut());
handler!(aborts, |_frame| error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "given up"));

unsafe extern "C-unwind" fn throwing_handler(
    frame: *mut pjrt_sys::XLA_FFI_CallFrame,
) -> *mut pjrt_sys::XLA_FFI_Error {
    if c::handlers::answered(frame, 5) {
        return null_mut();
    }
    throw();
    null_mut()
}

unsafe extern "C-unwind" fn throws_when_asked(
    _: *mut pjrt_sys::XLA_FFI_CallFrame,
) -> *mut pjrt_sys::XLA_FFI_Error {
    throw();
    null_mut()
}

#[test]
fn a_handler_that_throws_fails_its_call_and_no_other() {
    // SAFETY: the same arguments; that they throw is what is tested.
    let handler_of =
        |function: *const ()| unsafe { transmute::<*const (), c::handlers::Function>(function) };
    let thrower = handler_of(throwing_handler as *const ());
    let asked = handler_of(throws_when_asked as *const ());
    register("exceptions.throws", thrower);
    register("exceptions.silent", silent);
    register("exceptions.aborts", aborts);
    let client = Client::new();
    for _ in 0..3 {
        let refused = run_target(&client, "exceptions.throws");
        let words = format!("exceptions.throws: the execute handler {THROWN}");
        assert_refused(refused, INTERNAL, &[&words]);
        run_target(&client, "exceptions.silent").unwrap();
        assert_refused(run_target(&client, "exceptions.aborts"), c::ABORTED, &["given up"]);
    }
    let text = c::handlers::register_bundle("exceptions.asked", "TPU", c::handlers::only(asked));
    let words = format!("the question for its version {THROWN}");
    assert!(text.clone().unwrap_err().contains(&words), "{text:?}");
}

#[test]
fn a_views_deleter_may_throw() {
    let client = Client::new();
    // SAFETY: the same arguments; that it throws is what is tested.
    let deleter: unsafe extern "C" fn(*mut c_void, *mut c_void) =
        unsafe { transmute(throwing_deleter as *const ()) };
    let before = ENDED.load(Ordering::SeqCst);
    let argument = Array::dense(F32, &[2], &[0; 8]).put(&client, client.hbm(0)).unwrap();
    let at = call!(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, buffer: argument).unwrap();
    let dims = [2_i64];
    let made = call!(PJRT_Client_CreateViewOfDeviceBuffer,
        client: client.raw,
        memory: client.hbm(0),
        device_buffer_ptr: at.device_memory_ptr,
        dims: dims.as_ptr(),
        num_dims: 1,
        element_type: F32,
        on_delete_callback: Some(deleter),
    );
    destroy(made.unwrap().buffer);
    assert!(ENDED.load(Ordering::SeqCst) > before);
    destroy(argument);
}
