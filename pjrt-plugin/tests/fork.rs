//! The child of a fork: what needs the machine says so, what gives something up does nothing.
#![expect(unsafe_code, reason = "fork")]
#![expect(clippy::disallowed_methods, reason = "the environment says which process this is")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{Array, U8, get, put_bytes, uninitialized};
use c::{Client, Failure, WRONG_STATE, assert_refused, call, wait};
use std::env::{current_exe, var_os};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

/// Set in the process that forks. A fork of the test program itself would copy its threads'
/// locks in any state.
const FORKS: &str = "TPU_EMU_TEST_FORKS";
/// Seconds until a child that hangs is killed.
const PATIENCE: u32 = 30;

/// Runs `child` in the child of a fork, within a process of its own; panics if it does.
fn in_a_child(test: &str, before: impl FnOnce() -> Box<dyn FnOnce()>) {
    if var_os(FORKS).is_none() {
        let run = Command::new(current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(FORKS, "1")
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        return;
    }
    let child = before();
    // SAFETY: the child calls nothing but the library under test, which promises to bear it.
    let process = unsafe { libc::fork() };
    if process == 0 {
        // SAFETY: ends this process should it hang.
        unsafe { libc::alarm(PATIENCE) };
        let outcome = catch_unwind(AssertUnwindSafe(child));
        // SAFETY: ends the child without running what belongs to its parent.
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just made.
    let waited = unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert_eq!((waited, status), (process, 0), "the child panicked or hung");
}

#[test]
fn what_needs_the_machine_is_refused_by_name() {
    in_a_child("what_needs_the_machine_is_refused_by_name", || {
        let client = Client::new();
        let buffer = put_bytes(&client, client.hbm(0), b"abcd");
        let pending = call!(PJRT_Event_Create).unwrap().event;
        Box::new(move || {
            let mut dst = [0_u8; 4];
            let dst = dst.as_mut_ptr().cast();
            let memory = client.hbm(0);
            let answers: [(&str, Result<(), Failure>); 7] = [
                ("PJRT_Client_Create", call!(PJRT_Client_Create).map(drop)),
                (
                    "PJRT_Client_CreateUninitializedBuffer",
                    uninitialized(&client, memory, U8, &[4]).map(drop),
                ),
                (
                    "PJRT_Client_BufferFromHostBuffer",
                    Array::dense(U8, &[4], b"abcd").put(&client, memory).map(drop),
                ),
                (
                    "PJRT_Buffer_ToHostBuffer",
                    call!(PJRT_Buffer_ToHostBuffer, src: buffer, dst: dst, dst_size: 4).map(drop),
                ),
                (
                    "PJRT_Buffer_CopyRawToHost",
                    call!(PJRT_Buffer_CopyRawToHost, buffer: buffer, dst: dst, transfer_size: 4)
                        .map(drop),
                ),
                (
                    "PJRT_Buffer_CopyToMemory",
                    call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: memory).map(drop),
                ),
                ("PJRT_Event_Await", call!(PJRT_Event_Await, event: pending).map(drop)),
            ];
            for (name, answer) in answers {
                assert_refused(answer, WRONG_STATE, &["this process was forked", name]);
            }
            std::mem::forget(client);
        })
    });
}

#[test]
fn what_gives_something_up_does_nothing_in_silence() {
    in_a_child("what_gives_something_up_does_nothing_in_silence", || {
        let client = Client::new();
        let buffer = put_bytes(&client, client.hbm(0), b"abcd");
        let event = call!(PJRT_Event_Create).unwrap().event;
        Box::new(move || {
            let in_use = client.in_use(0);
            for _ in 0..2 {
                call!(PJRT_Buffer_Delete, buffer: buffer).unwrap();
                call!(PJRT_Buffer_Destroy, buffer: buffer).unwrap();
                call!(PJRT_Event_Destroy, event: event).unwrap();
                call!(PJRT_Client_Destroy, client: client.raw).unwrap();
            }
            assert_eq!(client.in_use(0), in_use);
        })
    });
}

#[test]
fn the_parent_goes_on_as_if_nothing_had_happened() {
    in_a_child("the_parent_goes_on_as_if_nothing_had_happened", || {
        let client = Client::new();
        let buffer = put_bytes(&client, client.hbm(0), b"abcd");
        // SAFETY: the child ends at once.
        let process = unsafe { libc::fork() };
        if process == 0 {
            // SAFETY: as above.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: waits for the child that was just made.
        unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) };
        assert_eq!(get(buffer).unwrap(), b"abcd");
        let copy = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: client.hbm(1));
        let ready = call!(PJRT_Buffer_ReadyEvent, buffer: copy.unwrap().dst_buffer).unwrap();
        wait(ready.event).unwrap();
        Box::new(|| ())
    });
}
