//! Streams of a device: how their work went, and what joins them.
// UNSAFETY: exports functions, and calls the client.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::{answer, report};
use crate::objects::{self, Executor, STREAMS, Stream};
use crate::status;
use crate::sys::{SE_StatusCallback, SE_Stream, SE_StreamExecutor, TF_Status};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use tpu_emu::{Code, Error};

/// The streams of an executor's device.
fn streams(executor: &Executor) -> impl Iterator<Item = Arc<Stream>> {
    let live = STREAMS.ids().into_iter().filter_map(|id| STREAMS.get(id).ok());
    live.filter(move |stream| stream.executor.device == executor.device)
}

/// Readies a stream that the executor's device made.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_AllocateStream(
    executor: *mut SE_StreamExecutor,
    stream: *mut SE_Stream,
) -> bool {
    answer(&"TpuExecutor_AllocateStream", false, || {
        objects::executor(executor)?.stream(stream).map(|_| true)
    })
}

/// Ends the use of a stream, which is still to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_DeallocateStream(
    executor: *mut SE_StreamExecutor,
    stream: *mut SE_Stream,
) {
    answer(&"TpuExecutor_DeallocateStream", (), || {
        objects::executor(executor)?.stream(stream).map(drop)
    });
}

/// Makes a stream wait for the work of another, of any device. The error of the other becomes
/// the stream's.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_CreateStreamDependency(
    executor: *mut SE_StreamExecutor,
    dependent: *mut SE_Stream,
    other: *mut SE_Stream,
) -> bool {
    answer(&"TpuExecutor_CreateStreamDependency", false, || {
        objects::executor(executor)?;
        let (dependent, other) = (objects::stream(dependent)?, objects::stream(other)?);
        let outcome = other.outcome();
        if let Err(error) = outcome {
            dependent.fail(error);
        }
        Ok(true)
    })
}

/// How a stream's work went.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_GetStatus(
    executor: *mut SE_StreamExecutor,
    stream: *mut SE_Stream,
    status: *mut TF_Status,
) {
    report(&"TpuExecutor_GetStatus", status, || {
        objects::executor(executor)?.stream(stream)?.outcome()
    });
}

/// Waits for a stream's work, which is done, and says how it went.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_BlockHostUntilDone(
    executor: *mut SE_StreamExecutor,
    stream: *mut SE_Stream,
    status: *mut TF_Status,
) {
    report(&"TpuExecutor_BlockHostUntilDone", status, || {
        objects::executor(executor)?.stream(stream)?.outcome()
    });
}

/// Waits for the work of all streams of a device, which is done, and says how it went.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_BlockUntilDoneOrFailed(
    executor: *mut SE_StreamExecutor,
    status: *mut TF_Status,
) {
    report(&"TpuExecutor_BlockUntilDoneOrFailed", status, || {
        streams(&*objects::executor(executor)?).try_for_each(|stream| stream.outcome())
    });
}

/// Takes the errors out of all streams of a device.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_SyncAndForgetFailedStreams(executor: *mut SE_StreamExecutor) {
    answer(&"TpuExecutor_SyncAndForgetFailedStreams", (), || {
        streams(&*objects::executor(executor)?).for_each(|stream| *stream.error.lock() = None);
        Ok(())
    });
}

/// Waits for the work of all streams of a device, which is done.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_SynchronizeAllActivity(executor: *mut SE_StreamExecutor) -> bool {
    answer(&"TpuExecutor_SynchronizeAllActivity", false, || {
        objects::executor(executor).map(|_| true)
    })
}

/// Calls the client when the work of a stream is done, which it is. An error that the client
/// gives back becomes the stream's. A stream that failed calls, too: what the client frees in
/// its function would else stay for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_HostCallback(
    executor: *mut SE_StreamExecutor,
    stream: *mut SE_Stream,
    callback_fn: SE_StatusCallback,
    ctx: *mut c_void,
) -> bool {
    answer(&"TpuExecutor_HostCallback", false, || {
        let stream = objects::executor(executor)?.stream(stream)?;
        let callback = callback_fn.ok_or(Error::Null("callback_fn"))?;
        // SAFETY: the contract of the interface: a function of the client and what it takes. No
        // lock is held.
        let given = unsafe {
            let arguments = [ctx.expose_provenance(), 0, 0, 0, 0];
            tpu_host::foreign::call(callback as *const (), arguments)
        };
        let given: *mut TF_Status = match given {
            Ok(given) => ptr::with_exposed_provenance_mut(given),
            Err(thrown) => {
                let message = format!("the host callback {thrown}").into();
                stream.fail(Error::Verbatim { code: Code::Internal, message });
                return Ok(true);
            }
        };
        if given.is_null() {
            return Ok(true);
        }
        if let Err(error) = status::take(given) {
            stream.fail(error);
        }
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{CStatus, executor, stream};
    use crate::sys::SE_DeviceMemoryBase;
    use crate::{
        TpuExecutor_Allocate, TpuExecutor_Deallocate, TpuStatus_Create, TpuStatus_New,
        TpuStream_Free, TpuStream_Status,
    };
    use std::ptr;

    fn outcome(device: usize, stream: *mut SE_Stream) -> String {
        let status = CStatus::new();
        TpuExecutor_BlockHostUntilDone(executor(device), stream, status.0);
        let blocked = status.text();
        TpuExecutor_GetStatus(executor(device), stream, status.0);
        assert_eq!(status.text(), blocked);
        blocked
    }

    fn call(
        stream: *mut SE_Stream,
        callback: unsafe extern "C" fn(*mut c_void) -> *mut TF_Status,
        ctx: *mut c_void,
    ) -> bool {
        // SAFETY: a function of this test and what it takes.
        unsafe { TpuExecutor_HostCallback(executor(1), stream, Some(callback), ctx) }
    }

    /// Counts its calls in `ctx`.
    unsafe extern "C" fn count(ctx: *mut c_void) -> *mut TF_Status {
        // SAFETY: the test gives a number.
        unsafe { *ctx.cast::<u32>() += 1 };
        TpuStatus_New()
    }

    unsafe extern "C" fn fail(ctx: *mut c_void) -> *mut TF_Status {
        // SAFETY: as in `count`.
        unsafe { *ctx.cast::<u32>() += 1 };
        // SAFETY: text with a NUL.
        unsafe { TpuStatus_Create(10, c"the client gave up".as_ptr()) }
    }

    unsafe extern "C" fn no_status(_: *mut c_void) -> *mut TF_Status {
        ptr::null_mut()
    }

    unsafe extern "C" fn a_stale_status(_: *mut c_void) -> *mut TF_Status {
        ptr::without_provenance_mut(77)
    }

    /// Calls the library in many ways: no lock is held, so none of them waits for ever.
    unsafe extern "C" fn calls_back(ctx: *mut c_void) -> *mut TF_Status {
        let stream: *mut SE_Stream = ctx.cast();
        let own = executor(1);
        let mut block = TpuExecutor_Allocate(own, 64, 0);
        let mut counted = 0_u32;
        assert!(call(stream, count, (&raw mut counted).cast()));
        assert_eq!((counted, outcome(1, stream)), (1, String::new()));
        // SAFETY: a block's base.
        unsafe { TpuExecutor_Deallocate(own, &raw mut block) };
        assert_ne!(block.opaque, SE_DeviceMemoryBase::NULL.opaque);
        TpuStream_Free(stream);
        TpuStatus_New()
    }

    #[test]
    fn a_stream_is_of_one_device() {
        let (own, work) = (executor(1), stream(1));
        assert!(TpuExecutor_AllocateStream(own, work));
        assert!(!TpuExecutor_AllocateStream(executor(2), work));
        assert!(!TpuExecutor_AllocateStream(own, ptr::null_mut()));
        assert!(!TpuExecutor_AllocateStream(ptr::null_mut(), work));
        assert_eq!(outcome(2, work), "the stream is of device ordinal 1, the executor of 2");
        TpuExecutor_DeallocateStream(own, work);
        TpuStream_Free(work);
        TpuExecutor_DeallocateStream(own, work);
        assert!(!TpuExecutor_AllocateStream(own, work));
        assert!(TpuExecutor_SynchronizeAllActivity(own));
        assert!(!TpuExecutor_SynchronizeAllActivity(ptr::null_mut()));
    }

    #[test]
    fn a_dependent_stream_takes_the_error_of_the_other() {
        let (own, [first, second, third]) = (executor(1), [stream(1), stream(2), stream(1)]);
        assert!(TpuExecutor_CreateStreamDependency(own, second, first));
        assert_eq!(outcome(2, second), "");
        objects::stream(first).unwrap().fail(Error::bad("lost"));
        assert!(TpuExecutor_CreateStreamDependency(own, second, first));
        assert!(TpuExecutor_CreateStreamDependency(own, third, second));
        assert!(TpuExecutor_CreateStreamDependency(own, first, first));
        assert_eq!((outcome(2, second), outcome(1, third)), ("lost".into(), "lost".into()));
        assert!(!TpuExecutor_CreateStreamDependency(own, ptr::null_mut(), first));
        assert!(!TpuExecutor_CreateStreamDependency(own, third, ptr::null_mut()));
        assert!(!TpuExecutor_CreateStreamDependency(ptr::null_mut(), third, first));
    }

    #[test]
    fn the_errors_of_a_devices_streams_are_told_and_forgotten_together() {
        // No other test has streams on this device.
        let (own, [first, second], status) = (executor(6), [stream(6), stream(6)], CStatus::new());
        TpuExecutor_BlockUntilDoneOrFailed(own, status.0);
        assert_eq!(status.text(), "");
        objects::stream(second).unwrap().fail(Error::bad("lost"));
        TpuExecutor_BlockUntilDoneOrFailed(own, status.0);
        assert_eq!(status.text(), "lost");
        TpuExecutor_SyncAndForgetFailedStreams(own);
        TpuExecutor_SyncAndForgetFailedStreams(ptr::null_mut());
        assert_eq!((outcome(6, first), outcome(6, second)), (String::new(), String::new()));
        TpuExecutor_BlockUntilDoneOrFailed(ptr::null_mut(), status.0);
        assert_eq!(status.text(), "null SE_StreamExecutor");
    }

    #[test]
    fn a_callback_is_called_once_and_its_error_is_the_streams() {
        let (work, mut calls) = (stream(1), 0_u32);
        let ctx = (&raw mut calls).cast();
        assert!(call(work, count, ctx));
        assert_eq!((calls, outcome(1, work)), (1, String::new()));
        assert!(call(work, no_status, ctx));
        assert!(call(work, fail, ctx));
        assert_eq!((calls, outcome(1, work).as_str()), (2, "the client gave up"));
        assert!(!TpuStream_Status(work));
        // A failed stream calls, too.
        assert!(call(work, count, ctx));
        assert_eq!(calls, 3);
        let other = stream(1);
        assert!(call(other, a_stale_status, ctx));
        assert!(outcome(1, other).starts_with("TF_Status handle 0x4d"), "{}", outcome(1, other));
    }

    #[test]
    fn a_callback_may_call_the_library() {
        let work = stream(1);
        assert!(call(work, calls_back, work.cast()));
        assert!(objects::stream(work).is_err());
    }

    #[test]
    fn what_cannot_be_called_is_not() {
        let mut calls = 0_u32;
        let ctx = (&raw mut calls).cast();
        // SAFETY: nothing is called.
        unsafe {
            assert!(!TpuExecutor_HostCallback(executor(1), stream(1), None, ctx));
            assert!(!TpuExecutor_HostCallback(executor(1), ptr::null_mut(), Some(count), ctx));
            assert!(!TpuExecutor_HostCallback(ptr::null_mut(), stream(1), Some(count), ctx));
            assert!(!TpuExecutor_HostCallback(executor(1), stream(2), Some(count), ctx));
        }
        assert_eq!(calls, 0);
    }
}
