//! Call frames: what does not change between the calls of one place is made once, and frames
//! are used again.
// UNSAFETY: writes and reads C structs at fixed addresses.
#![expect(unsafe_code, reason = "memory that C reads")]
use super::attributes::Decoded;
use super::context::{Context, Owned};
use super::failure::Failure;
use super::kept::Kept;
use crate::boundary::end_of;
use crate::dtype;
use crate::sys::{
    XLA_FFI_Api, XLA_FFI_ArgType, XLA_FFI_Args, XLA_FFI_Buffer, XLA_FFI_CallFrame,
    XLA_FFI_DataType, XLA_FFI_Error, XLA_FFI_ExecutionStage, XLA_FFI_Future,
    XLA_FFI_InternalExtension, XLA_FFI_RetType, XLA_FFI_Rets,
};
use parking_lot::Mutex;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use tpu_emu::custom_call::CallMemory;
use tpu_emu::tensor::{DType, Shape};
use tpu_emu::{Error, Result};
use tpu_host::foreign::{self, Thrown};

/// Frames that are kept for the next call, at most.
const SPARE: usize = 64;

/// A function of a handler's.
pub(super) type HandlerFunction =
    unsafe extern "C" fn(*mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error;

/// Buffers of one side of a call: everything but their addresses.
#[derive(Debug)]
struct FrameBuffers {
    dtypes: Vec<XLA_FFI_DataType>,
    dims: Vec<Kept<i64>>,
}

impl FrameBuffers {
    fn new(shapes: &[Shape]) -> Result<Self> {
        let dtypes = shapes.iter().map(|shape| number_of(shape.dtype)).collect::<Result<_>>()?;
        let extent = |&dim: &usize| i64::try_from(dim).unwrap_or(i64::MAX);
        let dims = shapes.iter().map(|shape| Kept::new(shape.dims.iter().map(extent))).collect();
        Ok(Self { dtypes, dims })
    }

    /// Buffers without addresses, and pointers to them.
    fn buffers(&self) -> (Kept<XLA_FFI_Buffer>, Kept<*mut c_void>) {
        let buffers =
            Kept::new(self.dtypes.iter().zip(&self.dims).map(|(&dtype, dims)| XLA_FFI_Buffer {
                struct_size: end_of!(XLA_FFI_Buffer, dims),
                extension_start: ptr::null_mut(),
                dtype,
                data: ptr::null_mut(),
                rank: i64::try_from(dims.len()).unwrap_or(i64::MAX),
                dims: dims.pointer(),
            }));
        let first = buffers.pointer();
        let pointers = (0..buffers.len()).map(|at| first.wrapping_add(at).cast());
        let pointers = Kept::new(pointers.collect::<Vec<_>>());
        (buffers, pointers)
    }

    fn is_token(&self, at: usize) -> bool {
        self.dtypes[at] == XLA_FFI_DataType::XLA_FFI_DataType_TOKEN
    }
}

/// XLA's number of an element type.
fn number_of(dtype: DType) -> Result<XLA_FFI_DataType> {
    let number = dtype::to_proto(dtype)
        .map_err(|_| Error::Unimplemented(format!("{} in a custom call", dtype.name())))?;
    Ok(XLA_FFI_DataType((number as i32).cast_unsigned()))
}

/// What all calls of one place share.
pub(super) struct Frames {
    attributes: Decoded,
    operands: FrameBuffers,
    results: FrameBuffers,
    types: Kept<XLA_FFI_ArgType>,
    result_types: Kept<XLA_FFI_RetType>,
    spare: Mutex<Vec<FrameMemory>>,
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").field("attributes", &self.attributes).finish_non_exhaustive()
    }
}

impl Frames {
    /// # Errors
    /// `Unimplemented` for an element type that the interface does not know.
    pub(super) fn new(
        attributes: Decoded,
        operands: &[Shape],
        results: &[Shape],
    ) -> Result<Arc<Self>> {
        let types = operands.iter().map(|_| XLA_FFI_ArgType::XLA_FFI_ArgType_BUFFER);
        let result_types = results.iter().map(|_| XLA_FFI_RetType::XLA_FFI_RetType_BUFFER);
        Ok(Arc::new(Self {
            attributes,
            operands: FrameBuffers::new(operands)?,
            results: FrameBuffers::new(results)?,
            types: Kept::new(types),
            result_types: Kept::new(result_types),
            spare: Mutex::default(),
        }))
    }

    fn memory(&self) -> Result<FrameMemory> {
        let spare = self.spare.lock().pop();
        if let Some(spare) = spare {
            return Ok(spare);
        }
        let (operands, operand_pointers) = self.operands.buffers();
        let (results, result_pointers) = self.results.buffers();
        let mut frame = empty();
        frame.args.size = i64::try_from(operands.len()).unwrap_or(i64::MAX);
        frame.args.types = self.types.pointer();
        frame.args.args = operand_pointers.pointer();
        frame.rets.size = i64::try_from(results.len()).unwrap_or(i64::MAX);
        frame.rets.types = self.result_types.pointer();
        frame.rets.rets = result_pointers.pointer();
        frame.attrs = self.attributes.top();
        Ok(FrameMemory {
            operands,
            _operand_pointers: operand_pointers,
            results,
            _result_pointers: result_pointers,
            frame: Kept::new([frame]),
            seat: Owned::new()?,
            failure: Arc::default(),
        })
    }
}

/// The memory of one frame.
struct FrameMemory {
    operands: Kept<XLA_FFI_Buffer>,
    _operand_pointers: Kept<*mut c_void>,
    results: Kept<XLA_FFI_Buffer>,
    _result_pointers: Kept<*mut c_void>,
    frame: Kept<XLA_FFI_CallFrame>,
    /// The place of the frame's context.
    seat: Owned,
    failure: Arc<Failure>,
}

// SAFETY: memory that is written before a call, by whoever has it; pointers in it lead to memory
// that lives as long.
unsafe impl Send for FrameMemory {}

/// A frame in use, and its context. A handler that goes on uses both until its future ends.
pub(super) struct Frame {
    of: Arc<Frames>,
    memory: Option<FrameMemory>,
    /// Whether it may be used again.
    again: bool,
}

impl Frame {
    /// The frame of a call: of the stages after the first one with buffers, of the first one with
    /// attributes only.
    ///
    /// # Errors
    /// `Host` where too many calls go on at once.
    pub(super) fn new(
        of: &Arc<Frames>,
        api: &'static XLA_FFI_Api,
        mut context: Context,
        places: Option<(&[CallMemory], &[CallMemory])>,
    ) -> Result<Self> {
        let mut memory = of.memory()?;
        // A task of the last call may go on.
        match Arc::get_mut(&mut memory.failure) {
            Some(failure) => *failure = Failure::default(),
            None => memory.failure = Arc::default(),
        }
        context.failure = Arc::clone(&memory.failure);
        let stage = XLA_FFI_ExecutionStage((context.stage as i32).cast_unsigned());
        let frame = memory.frame.pointer();
        // SAFETY: one frame is there, and nobody else has it.
        unsafe {
            (*frame).api = api;
            (*frame).stage = stage;
            (*frame).ctx = memory.seat.open(context);
            (*frame).future = ptr::null_mut();
            if places.is_none() {
                ((*frame).args, (*frame).rets) = (empty().args, empty().rets);
            }
        }
        if let Some((operands, results)) = places {
            fill(&of.operands, &memory.operands, operands);
            fill(&of.results, &memory.results, results);
        }
        Ok(Self { of: Arc::clone(of), memory: Some(memory), again: places.is_some() })
    }

    /// Calls a handler; gives what it returned or threw and the future that it left.
    pub(super) fn call(
        &self,
        handler: HandlerFunction,
    ) -> (Result<*mut XLA_FFI_Error, Thrown>, *mut XLA_FFI_Future) {
        let Some(memory) = &self.memory else { return (Ok(ptr::null_mut()), ptr::null_mut()) };
        let frame = memory.frame.pointer();
        // SAFETY: a handler that was registered as one, with a frame of the version that it
        // states.
        let returned = unsafe { call(handler, frame) };
        // SAFETY: the frame is still there.
        (returned, unsafe { (*frame).future })
    }

    /// What tasks of the call that fail are told to.
    pub(super) fn failure(&self) -> Option<&Arc<Failure>> {
        self.memory.as_ref().map(|memory| &memory.failure)
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        memory.seat.close();
        if self.again {
            let mut spare = self.of.spare.lock();
            if spare.len() < SPARE {
                spare.push(memory);
            }
        }
    }
}

fn fill(side: &FrameBuffers, buffers: &Kept<XLA_FFI_Buffer>, places: &[CallMemory]) {
    for (at, place) in places.iter().enumerate().take(buffers.len()) {
        let data = match side.is_token(at) {
            true => ptr::null_mut(),
            false => ptr::with_exposed_provenance_mut(place.address),
        };
        // SAFETY: `at` is below the length; nobody else has the memory.
        unsafe { (*buffers.pointer().add(at)).data = data };
    }
}

/// A frame of a call without anything.
fn empty() -> XLA_FFI_CallFrame {
    XLA_FFI_CallFrame {
        struct_size: end_of!(XLA_FFI_CallFrame, attrs),
        extension_start: ptr::null_mut(),
        api: ptr::null(),
        ctx: ptr::null_mut(),
        stage: XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INSTANTIATE,
        args: XLA_FFI_Args {
            struct_size: end_of!(XLA_FFI_Args, args),
            extension_start: ptr::null_mut(),
            size: 0,
            types: ptr::null_mut(),
            args: ptr::null_mut(),
        },
        rets: XLA_FFI_Rets {
            struct_size: end_of!(XLA_FFI_Rets, rets),
            extension_start: ptr::null_mut(),
            size: 0,
            types: ptr::null_mut(),
            rets: ptr::null_mut(),
        },
        attrs: crate::sys::XLA_FFI_Attrs {
            struct_size: end_of!(crate::sys::XLA_FFI_Attrs, attrs),
            extension_start: ptr::null_mut(),
            size: 0,
            types: ptr::null_mut(),
            names: ptr::null_mut(),
            attrs: ptr::null_mut(),
        },
        future: ptr::null_mut(),
    }
}

/// # Safety
/// `handler` is one, and `frame` a frame that it can read.
unsafe fn call(
    handler: HandlerFunction,
    frame: *mut XLA_FFI_CallFrame,
) -> Result<*mut XLA_FFI_Error, Thrown> {
    let arguments = [frame.expose_provenance(), 0, 0, 0, 0];
    // SAFETY: the promise of this function's caller.
    let returned = unsafe { foreign::call(handler as *const (), arguments) };
    returned.map(ptr::with_exposed_provenance_mut)
}

/// Calls a handler with nothing but an extension; gives what it returned or threw.
///
/// # Safety
/// `extension` is an extension whose parts live during the call.
pub(super) unsafe fn ask(
    handler: HandlerFunction,
    api: &'static XLA_FFI_Api,
    extension: *mut XLA_FFI_InternalExtension,
) -> Result<*mut XLA_FFI_Error, Thrown> {
    let mut frame = empty();
    frame.api = api;
    frame.extension_start = extension;
    frame.stage = XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_EXECUTE;
    // SAFETY: a handler that was registered as one; the frame lives during the call.
    unsafe { call(handler, &raw mut frame) }
}
