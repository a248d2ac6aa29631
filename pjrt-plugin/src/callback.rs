//! Calls out to the client. Each runs with no lock of ours held.
// UNSAFETY: the functions and pointers are the client's; it says when and how often they may be
// called.
#![expect(unsafe_code, reason = "calls of C functions")]
use crate::boundary::{Caller, UserPointer, c_args, end_of, with_args};
use crate::error;
use crate::sys;
use std::ffi::{c_char, c_void};
use std::ptr::{with_exposed_provenance_mut, without_provenance_mut};
use std::sync::Arc;
use tpu_emu::buffer::OnDelete;
use tpu_emu::{Buffer, Code, Error, Event, Result};
use tpu_host::foreign::{self, Thrown};

/// The error of a function of the client's that threw something.
fn threw(what: &str, thrown: &Thrown) -> Error {
    Error::Verbatim { code: Code::Internal, message: format!("{what} {thrown}").into() }
}

/// Tells a client that its event is over. It takes the error.
pub(crate) fn event_ready(
    callback: unsafe extern "C" fn(*mut sys::PJRT_Error, *mut c_void),
    error: *mut sys::PJRT_Error,
    user_arg: UserPointer,
) {
    let arguments = [error.expose_provenance(), user_arg.get().expose_provenance(), 0, 0, 0];
    // SAFETY: the client gave both together, to be called once.
    unsafe { foreign::call_or_tell("a callback of an event", callback as *const (), arguments) };
}

/// What to call when a view of the client's bytes is given up.
pub(crate) fn on_delete(
    callback: unsafe extern "C" fn(*mut c_void, *mut c_void),
    pointer: UserPointer,
    user_arg: UserPointer,
) -> OnDelete {
    Box::new(move || {
        let [pointer, user_arg] = [pointer, user_arg].map(|one| one.get().expose_provenance());
        let arguments = [pointer, user_arg, 0, 0, 0];
        let what = "a callback of a view's end";
        // SAFETY: the client gave all three together, to be called once.
        unsafe { foreign::call_or_tell(what, callback as *const (), arguments) };
    })
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
                return Err(Error::Null("callback_data"));
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
            return Err(Error::Null("callback_data"));
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

/// A client's function that takes an array from a running program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendFunction {
    function: unsafe extern "C" fn(
        *mut sys::PJRT_Chunk,
        *mut sys::PJRT_CallbackError,
        usize,
        u8,
        *mut c_void,
    ) -> *mut sys::PJRT_Error,
    user_arg: UserPointer,
}

impl SendFunction {
    /// The function of a callback.
    ///
    /// # Errors
    /// `Null` for none.
    pub(crate) fn new(info: &sys::PJRT_SendCallbackInfo) -> Result<Self> {
        let function = info.send_callback.ok_or(Error::Null("send_callback"))?;
        Ok(Self { function, user_arg: UserPointer(info.user_arg) })
    }

    /// Gives the client a copy of an array, whole.
    ///
    /// # Errors
    /// The client's own.
    pub(crate) fn call(&self, bytes: &[u8]) -> Result<()> {
        let size = bytes.len();
        let copy: Box<[u8]> = bytes.into();
        let mut chunk = sys::PJRT_Chunk {
            data: Box::into_raw(copy).cast(),
            size,
            deleter: Some(delete_copy),
            deleter_arg: without_provenance_mut(size),
        };
        let mut make_error: sys::PJRT_CallbackError = Some(make_error);
        let (chunk, make_error) = (&raw mut chunk, &raw mut make_error);
        // SAFETY: the client gave both together, to be called until the execution is over. It
        // owns the chunk's bytes from here on.
        let returned = unsafe {
            let (chunk, make_error) = (chunk.expose_provenance(), make_error.expose_provenance());
            let user_arg = self.user_arg.get().expose_provenance();
            let arguments = [chunk, make_error, size, 1, user_arg];
            foreign::call(self.function as *const (), arguments)
        };
        let error = returned.map_err(|thrown| threw("the send callback", &thrown))?;
        error::take(with_exposed_provenance_mut(error))
    }
}

/// Deletes the bytes of a chunk of ours; `size` is their number.
unsafe extern "C" fn delete_copy(data: *mut c_void, size: *mut c_void) {
    if !data.is_null() {
        let bytes = std::ptr::slice_from_raw_parts_mut(data.cast::<u8>(), size.addr());
        // SAFETY: from `SendFunction::call`; whoever owns a chunk deletes it once.
        drop(unsafe { Box::from_raw(bytes) });
    }
}

/// Makes the error object with which a callback tells that it has failed.
pub(crate) unsafe extern "C" fn make_error(
    code: sys::PJRT_Error_Code,
    message: *const c_char,
    message_size: usize,
) -> *mut sys::PJRT_Error {
    let make = || {
        // SAFETY: the client passes its text and its size.
        let caller = unsafe { Caller::new() };
        let message = caller.text(message, message_size, "message")?;
        let number = i32::try_from(code.0).unwrap_or(i32::MAX);
        Ok(error::give(Code::from_number(number).unwrap_or(Code::Unknown), message))
    };
    match tpu_emu::entry::enter(&"PJRT_CallbackError", make) {
        Ok(made) => made,
        Err(error) => error::give(error.code(), error.to_string()),
    }
}

/// A client's function that gives an array to a running program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecvFunction {
    function: unsafe extern "C" fn(*mut sys::PJRT_CopyToDeviceStream, *mut c_void),
    user_arg: UserPointer,
}

impl RecvFunction {
    /// The function of a callback.
    ///
    /// # Errors
    /// `Null` for none.
    pub(crate) fn new(info: &sys::PJRT_RecvCallbackInfo) -> Result<Self> {
        let function = info.recv_callback.ok_or(Error::Null("recv_callback"))?;
        Ok(Self { function, user_arg: UserPointer(info.user_arg) })
    }

    /// Hands the client the stream that it fills, now or later.
    ///
    /// # Errors
    /// `Internal` for a client that throws something.
    pub(crate) fn call(&self, stream: *mut sys::PJRT_CopyToDeviceStream) -> Result<()> {
        let user_arg = self.user_arg.get().expose_provenance();
        let arguments = [stream.expose_provenance(), user_arg, 0, 0, 0];
        // SAFETY: as for `SendFunction::call`.
        let called = unsafe { foreign::call(self.function as *const (), arguments) };
        called.map(drop).map_err(|thrown| threw("the recv callback", &thrown))
    }
}

/// A client's chunk that is ours; its bytes are deleted with it.
#[derive(Debug)]
pub(crate) struct OwnedChunk(sys::PJRT_Chunk);

/// Takes a chunk over.
///
/// # Errors
/// `Null` for none.
pub(crate) fn take_chunk(caller: &Caller, chunk: *const sys::PJRT_Chunk) -> Result<OwnedChunk> {
    let chunk = caller.slice(chunk, 1, "chunk")?;
    chunk.first().copied().map(OwnedChunk).ok_or(Error::Null("chunk"))
}

impl OwnedChunk {
    /// Where its bytes are.
    pub(crate) fn data(&self) -> *const c_void {
        self.0.data.cast_const()
    }

    /// How many they are.
    pub(crate) fn size(&self) -> usize {
        self.0.size
    }
}

impl Drop for OwnedChunk {
    fn drop(&mut self) {
        if let Some(deleter) = self.0.deleter {
            let [data, of] =
                [self.0.data, self.0.deleter_arg].map(<*mut c_void>::expose_provenance);
            let what = "the deleter of a chunk";
            // SAFETY: the client gave all three together, to be called once.
            unsafe { foreign::call_or_tell(what, deleter as *const (), [data, of, 0, 0, 0]) };
        }
    }
}

c_args!(
    PJRT_Buffer_DonateWithControlDependency_Callback_Args,
    PJRT_Buffer_CopyRawToHostFuture_Callback_Args,
    PJRT_Buffer_MemoryLayout,
    PJRT_ShapeSpec,
    PJRT_Program,
);
