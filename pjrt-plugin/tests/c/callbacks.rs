//! A client's side of the host transfers of a program.
// UNSAFETY: C functions that follow the pointers which the library hands them.
use super::programs::Run;
use super::{Failure, blank, call, list, user_pointer};
use pjrt_sys::{
    PJRT_Buffer, PJRT_CallbackError, PJRT_Chunk, PJRT_CopyToDeviceStream, PJRT_Error,
    PJRT_Error_Code, PJRT_Event, PJRT_LoadedExecutable, PJRT_RecvCallbackInfo,
    PJRT_SendCallbackInfo,
};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two floats out by channel 1, two floats in by channel 2.
pub(crate) const THROUGH_THE_HOST: &str = r#"module @jit_callback {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.create_token : !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %2:2 = "stablehlo.recv"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    return %2#0 : tensor<2xf32>
  }
}
"#;

/// A code and words, for an error of the client.
pub(crate) type Refusal = (PJRT_Error_Code, &'static str);

/// What a client does with an array that it is sent.
pub(crate) type OnSend<'a> = Box<dyn Fn(&[u8]) -> Result<(), Refusal> + Sync + 'a>;

/// What a client does with what it is handed.
pub(crate) struct Host<'a> {
    pub(crate) on_send: OnSend<'a>,
    pub(crate) on_recv: Box<dyn Fn(Stream) + Sync + 'a>,
    /// What was called, in order.
    pub(crate) log: Mutex<Vec<String>>,
}

impl<'a> Host<'a> {
    /// A client that takes everything and gives what it is told to.
    pub(crate) fn new(on_recv: impl Fn(Stream) + Sync + 'a) -> Self {
        let on_send = Box::new(|_: &[u8]| Ok(()));
        Self { on_send, on_recv: Box::new(on_recv), log: Mutex::default() }
    }

    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn send_info(&self, channel_id: i64) -> PJRT_SendCallbackInfo {
        let user_arg = user_pointer(self);
        PJRT_SendCallbackInfo { channel_id, user_arg, send_callback: Some(sent) }
    }

    pub(crate) fn recv_info(&self, channel_id: i64) -> PJRT_RecvCallbackInfo {
        let user_arg = user_pointer(self);
        PJRT_RecvCallbackInfo { channel_id, user_arg, recv_callback: Some(wanted) }
    }
}

unsafe extern "C" fn sent(
    chunk: *mut PJRT_Chunk,
    callback_error: *mut PJRT_CallbackError,
    total: usize,
    done: u8,
    user_arg: *mut c_void,
) -> *mut PJRT_Error {
    // SAFETY: from `Host::send_info`, by a test that waits for the run; chunk and function are
    // the library's.
    let (host, chunk, make) =
        unsafe { (&*user_arg.cast_const().cast::<Host<'_>>(), *chunk, (*callback_error).unwrap()) };
    let bytes = list(chunk.data.cast_const().cast::<u8>(), chunk.size);
    // SAFETY: the chunk is ours, and deleted once.
    unsafe { chunk.deleter.unwrap()(chunk.data, chunk.deleter_arg) };
    host.note(format!("send {bytes:?} of {total}, {done}"));
    match (host.on_send)(&bytes) {
        Ok(()) => null_mut(),
        // SAFETY: a text and its size.
        Err((code, words)) => unsafe { make(code, words.as_ptr().cast(), words.len()) },
    }
}

unsafe extern "C" fn wanted(stream: *mut PJRT_CopyToDeviceStream, user_arg: *mut c_void) {
    // SAFETY: from `Host::recv_info`, by a test that waits for the run.
    let host = unsafe { &*user_arg.cast_const().cast::<Host<'_>>() };
    host.note("recv".to_owned());
    (host.on_recv)(Stream(stream.addr()));
}

/// A stream, for any thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream(pub(crate) usize);

/// Chunks of ours that were deleted.
pub(crate) static DELETED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn delete(_: *mut c_void, counter: *mut c_void) {
    // SAFETY: the counter above.
    let counter = unsafe { &*counter.cast_const().cast::<AtomicUsize>() };
    counter.fetch_add(1, Ordering::SeqCst);
}

/// A chunk over bytes; its deleter counts.
pub(crate) fn chunk(bytes: &[u8]) -> PJRT_Chunk {
    let (data, size) = (bytes.as_ptr().cast_mut().cast(), bytes.len());
    PJRT_Chunk { data, size, deleter: Some(delete), deleter_arg: user_pointer(&DELETED) }
}

impl Stream {
    pub(crate) fn raw(self) -> *mut PJRT_CopyToDeviceStream {
        without_provenance_mut(self.0)
    }

    pub(crate) fn add(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut chunk = chunk(bytes);
        let args =
            call!(PJRT_CopyToDeviceStream_AddChunk, stream: self.raw(), chunk: &raw mut chunk)?;
        super::wait(args.transfer_complete)
    }

    /// Bytes that have come, bytes that are wanted.
    pub(crate) fn progress(self) -> (i64, i64) {
        let current = call!(PJRT_CopyToDeviceStream_CurrentBytes, stream: self.raw()).unwrap();
        let total = call!(PJRT_CopyToDeviceStream_TotalBytes, stream: self.raw()).unwrap();
        (current.current_bytes, total.total_bytes)
    }

    pub(crate) fn destroy(self) -> Result<(), Failure> {
        call!(PJRT_CopyToDeviceStream_Destroy, stream: self.raw()).map(drop)
    }
}

/// A run that was started.
pub(crate) struct Started {
    pub(crate) result: *mut PJRT_Buffer,
    pub(crate) done: *mut PJRT_Event,
}

/// Starts a run of one argument and one result with these callbacks.
pub(crate) fn start(
    loaded: *mut PJRT_LoadedExecutable,
    argument: *mut PJRT_Buffer,
    sends: &mut [PJRT_SendCallbackInfo],
    recvs: &mut [PJRT_RecvCallbackInfo],
    row_major: bool,
) -> Result<Started, Failure> {
    let (mut result, mut done) = (null_mut(), null_mut());
    let arguments = [argument];
    let (inputs, outputs) = ([arguments.as_ptr()], [&raw mut result]);
    let (mut send_lists, mut recv_lists) = ([sends.as_mut_ptr()], [recvs.as_mut_ptr()]);
    let mut options = Run::new(loaded, &[], 0).options;
    (options.num_send_ops, options.num_recv_ops) = (sends.len(), recvs.len());
    options.send_callbacks = send_lists.as_mut_ptr();
    options.recv_callbacks = recv_lists.as_mut_ptr();
    options.use_major_to_minor_data_layout_for_callbacks = row_major.into();
    call!(PJRT_LoadedExecutable_Execute,
        executable: loaded,
        options: &raw mut options,
        argument_lists: inputs.as_ptr(),
        num_devices: 1,
        num_args: 1,
        output_lists: outputs.as_ptr(),
        device_complete_events: &raw mut done,
    )?;
    Ok(Started { result, done })
}

/// Starts a run with the callbacks that [`THROUGH_THE_HOST`] needs.
pub(crate) fn start_through(
    loaded: *mut PJRT_LoadedExecutable,
    argument: *mut PJRT_Buffer,
    host: &Host<'_>,
) -> Started {
    let (mut sends, mut recvs) = ([host.send_info(1)], [host.recv_info(2)]);
    start(loaded, argument, &mut sends, &mut recvs, true).unwrap()
}
