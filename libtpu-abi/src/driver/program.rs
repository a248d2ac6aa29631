//! `TpuCompiledProgramHandle`: a program, and what is known of it.
// UNSAFETY: exports functions, and reads the client's programs.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::loans::{Loans, number};
use super::opened::{self, Driver, Opened};
use super::sys::{CompiledProgramShape, HloProto, TpuCompiledProgramHandle, TpuDriver, TpuEvent};
use super::system_info::size_of_message;
use super::{event, message, status};
use crate::boundary::answer;
use crate::memory;
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::runtime::LoadedExecutable;
use tpu_emu::{Error, Id, Result};
use tpu_proto::Message;
use tpu_proto::xla::{self, HloModuleProto, ProgramShapeProto};

static PROGRAMS: Loans<TpuCompiledProgramHandle, Program> = Loans::new("TpuCompiledProgramHandle");
/// The message of each is the object behind it.
static SHAPES: Loans<CompiledProgramShape, Vec<u8>> = Loans::new("CompiledProgramShape");

/// A compiled program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) executable: Arc<LoadedExecutable>,
    /// Types of parameters and results, as the program says them.
    shape: ProgramShapeProto,
}

impl Program {
    /// Compiles a serialized `HloModuleProto` for one core.
    fn compile(opened: &Opened, module: &[u8], replicas: i32) -> Result<Self> {
        match replicas {
            1 => {}
            2.. => return Err(Error::Unimplemented(format!("programs over {replicas} replicas"))),
            _ => return Err(Error::bad(format!("a program of {replicas} replicas"))),
        }
        let unreadable = |error| Error::bad(format!("the program cannot be read: {error}"));
        let proto = HloModuleProto::decode(module)
            .map_err(|error| unreadable(format!("no HLO program: {error}")))?;
        let read = tpu_hlo::read_message(&proto, module.len())
            .map_err(|error| unreadable(error.to_string()))?;
        let source = (Format::Hlo, module.into());
        let options = CompileOptions { replicas: 1, partitions: 1, ..CompileOptions::default() };
        let executable = opened.machine.compile_module(read, source, options)?;
        Ok(Self { executable, shape: shape_of(&proto) })
    }
}

/// The program shape that a module states, else what its instructions say.
fn shape_of(module: &HloModuleProto) -> ProgramShapeProto {
    let entry = module.computations.iter().find(|computation| {
        computation.id == module.entry_computation_id
            || (module.entry_computation_id == 0
                && computation.name == module.entry_computation_name)
    });
    let stated = entry.and_then(|entry| entry.program_shape.as_ref());
    let stated = module.host_program_shape.as_ref().or(stated);
    if let Some(stated) = stated.filter(|stated| stated.result.is_some()) {
        return stated.clone();
    }
    let Some(entry) = entry else { return ProgramShapeProto::default() };
    let instructions = &entry.instructions;
    let mut parameters: Vec<_> =
        instructions.iter().filter(|instruction| instruction.opcode == "parameter").collect();
    parameters.sort_by_key(|parameter| parameter.parameter_number);
    let root = instructions.iter().find(|instruction| instruction.id == entry.root_id);
    ProgramShapeProto {
        parameters: parameters.iter().filter_map(|one| one.shape.clone()).collect(),
        result: root.and_then(|root| root.shape.clone()),
        parameter_names: parameters.iter().map(|one| one.name.clone()).collect(),
    }
}

/// The program of a handle.
///
/// # Errors
/// `Null`, `StaleHandle`, `BadArgument` for another driver's, the error of the compilation.
pub(super) fn get(handle: *const TpuCompiledProgramHandle, of: Id<Driver>) -> Result<Arc<Program>> {
    PROGRAMS.get(handle, of)
}

/// Takes back all programs of a driver.
pub(super) fn forget_all(of: Id<Driver>) {
    drop(PROGRAMS.take_all(of));
}

/// A handle for the client: a program, or the error in its place.
fn give(opened: &Opened, program: Result<Program>) -> *mut TpuCompiledProgramHandle {
    let event = event::give(program.as_ref().map(|_| ()).map_err(Clone::clone));
    let own = TpuCompiledProgramHandle { internal_handle: number(opened.id), event };
    PROGRAMS.give(own, Some(opened.id), program.map(Arc::new))
}

/// Compiles a serialized `xla::HloProto` for one core. Where that fails, the handle's event has
/// the error; null without a driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_CompileProgram(
    driver: *mut TpuDriver,
    hlo_proto: HloProto,
    num_replicas: i32,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuCompiledProgramHandle {
    answer(&"TpuDriver_CompileProgram", ptr::null_mut(), || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        let program = ready.and_then(|()| {
            let (buffer, size) = (hlo_proto.buffer.cast_const(), hlo_proto.size);
            // SAFETY: the contract of the interface.
            let bytes = unsafe { message(buffer, size, "hlo_proto") }?;
            let proto = xla::HloProto::decode(bytes).map_err(|error| {
                Error::bad(format!("{} bytes are no HloProto: {error}", bytes.len()))
            })?;
            Program::compile(&opened, &proto.hlo_module, num_replicas)
        });
        Ok(give(&opened, program))
    })
}

/// Compiles a program from HLO text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_CompileProgramFromText(
    driver: *mut TpuDriver,
    hlo_text: *const c_char,
    num_replicas: i32,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuCompiledProgramHandle {
    answer(&"TpuDriver_CompileProgramFromText", ptr::null_mut(), || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        let program = ready.and_then(|()| {
            if hlo_text.is_null() {
                return Err(Error::Null("hlo_text"));
            }
            // SAFETY: the contract of the interface.
            let text = unsafe { memory::text(hlo_text) };
            let module = tpu_hlo::text::parse(&text)
                .map_err(|error| Error::bad(format!("the text cannot be read: {error}")))?;
            Program::compile(&opened, &module.encode_to_vec(), num_replicas)
        });
        Ok(give(&opened, program))
    })
}

/// Frees a program, which stays where it is loaded. The handle's event stays.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_FreeCompiledProgramHandle(handle: *mut TpuCompiledProgramHandle) {
    if handle.is_null() {
        return;
    }
    let function = &"TpuDriver_FreeCompiledProgramHandle";
    answer(function, (), || PROGRAMS.take(handle, None).map(drop));
}

/// Types of a program's parameters and results, as a serialized `xla::ProgramShapeProto`.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_GetCompiledProgramShape(
    handle: *mut TpuCompiledProgramHandle,
) -> *mut CompiledProgramShape {
    answer(&"TpuDriver_GetCompiledProgramShape", ptr::null_mut(), || {
        let shape = PROGRAMS.get_of_any(handle).and_then(|program| {
            let message = program.shape.encode_to_vec();
            Ok((size_of_message(&message)?, message))
        });
        let status = status::give(shape.as_ref().map(|_| ()));
        let (size, message) = shape.unwrap_or_default();
        let message = Arc::new(message);
        let bytes = message.as_ptr().cast_mut().cast();
        Ok(SHAPES.give(CompiledProgramShape { status, bytes, size }, None, Ok(message)))
    })
}

/// Frees it, with its status; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuDriver_FreeCompiledProgramShape(shape: *mut CompiledProgramShape) {
    if shape.is_null() {
        return;
    }
    answer(&"TpuDriver_FreeCompiledProgramShape", (), || SHAPES.take(shape, None).map(drop));
}
