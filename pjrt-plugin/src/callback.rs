//! Calls out to the client. Each runs with no lock of ours held.
// UNSAFETY: the functions and pointers are the client's; it gave them to be called once each.
#![expect(unsafe_code, reason = "calls of C functions")]
use crate::boundary::{Caller, UserPointer, c_args, end_of, with_args};
use crate::error;
use crate::sys;
use std::ffi::c_void;
use std::sync::Arc;
use tpu_emu::buffer::OnDelete;
use tpu_emu::{Buffer, Event};

/// Tells a client that its event is over. It takes the error.
pub(crate) fn event_ready(
    callback: unsafe extern "C" fn(*mut sys::PJRT_Error, *mut c_void),
    error: *mut sys::PJRT_Error,
    user_arg: UserPointer,
) {
    // SAFETY: the client gave both together, to be called once.
    unsafe { callback(error, user_arg.get()) };
}

/// What to call when a view of the client's bytes is given up.
pub(crate) fn on_delete(
    callback: unsafe extern "C" fn(*mut c_void, *mut c_void),
    pointer: UserPointer,
    user_arg: UserPointer,
) -> OnDelete {
    // SAFETY: the client gave all three together, to be called once.
    Box::new(move || unsafe { callback(pointer.get(), user_arg.get()) })
}

/// The event that a donation waits for, for its C callback to end.
pub(crate) fn give_dependency(event: Event) -> *mut c_void {
    Box::into_raw(Box::new(event)).cast()
}

/// Ends the event of [`give_dependency`].
pub(crate) unsafe extern "C" fn dependency_ready(
    args: *mut sys::PJRT_Buffer_DonateWithControlDependency_Callback_Args,
) {
    let function = &"PJRT_Buffer_DonateWithControlDependency callback";
    let needed = end_of!(sys::PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_code);
    let end =
        |caller: &Caller, args: &mut sys::PJRT_Buffer_DonateWithControlDependency_Callback_Args| {
            if args.callback_data.is_null() {
                return Err(tpu_emu::Error::Null("callback_data"));
            }
            let message =
                caller.text(args.error_message, args.error_message_size, "error_message")?;
            // SAFETY: from `give_dependency`; the header lets the client call back once.
            let event = unsafe { Box::from_raw(args.callback_data.cast::<Event>()) };
            event.settle(error::foreign(args.error_code, message));
            Ok(())
        };
    // SAFETY: the caller keeps the header's contract for `args`.
    let served = tpu_emu::entry::enter(function, || unsafe { with_args(args, needed, end) });
    // The header gives no way to report it; `enter` has logged it.
    drop(served);
}

/// A raw copy that waits for its destination.
#[derive(Debug)]
struct RawCopy {
    buffer: Arc<Buffer>,
    offset: tpu_emu::units::Bytes,
    size: usize,
    done: Event,
}

/// The copy that [`destination_ready`] starts once the client knows where to.
pub(crate) fn give_raw_copy(
    buffer: Arc<Buffer>,
    offset: tpu_emu::units::Bytes,
    size: usize,
    done: Event,
) -> *mut c_void {
    Box::into_raw(Box::new(RawCopy { buffer, offset, size, done })).cast()
}

/// Starts the copy of [`give_raw_copy`], or ends its event with the client's error.
pub(crate) unsafe extern "C" fn destination_ready(
    args: *mut sys::PJRT_Buffer_CopyRawToHostFuture_Callback_Args,
) {
    let function = &"PJRT_Buffer_CopyRawToHostFuture callback";
    let needed = end_of!(sys::PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);
    let start = |caller: &Caller, args: &mut sys::PJRT_Buffer_CopyRawToHostFuture_Callback_Args| {
        if args.callback_data.is_null() {
            return Err(tpu_emu::Error::Null("callback_data"));
        }
        let message = caller.text(args.error_message, args.error_message_size, "error_message")?;
        // SAFETY: from `give_raw_copy`; the header lets the client call back once.
        let copy = unsafe { Box::from_raw(args.callback_data.cast::<RawCopy>()) };
        let RawCopy { buffer, offset, size, done } = *copy;
        let started = error::foreign(args.error_code, message)
            .and_then(|()| caller.target(args.dst, size))
            .and_then(|target| buffer.get_raw(offset, target));
        match started {
            Ok(copied) => copied.on_ready(move |outcome| {
                done.settle(outcome.clone());
            }),
            Err(error) => {
                done.settle(Err(error));
            }
        }
        Ok(())
    };
    // SAFETY: the caller keeps the header's contract for `args`.
    let served = tpu_emu::entry::enter(function, || unsafe { with_args(args, needed, start) });
    // As above.
    drop(served);
}

c_args!(
    PJRT_Buffer_DonateWithControlDependency_Callback_Args,
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args,
    PJRT_Buffer_MemoryLayout,
    PJRT_ShapeSpec,
    PJRT_Program,
);
