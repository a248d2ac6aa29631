//! What stands behind the functions of the table.
use super::context::context;
use super::libraries::note_refusal;
use super::registration::{Bundle, register_typed};
use super::types::{self, register_type};
use super::{Deleter, future, probe};
use crate::boundary::{Caller, UserPointer};
use crate::sys::{
    XLA_FFI_ByteSpan, XLA_FFI_DeviceMemory_Allocate_Args, XLA_FFI_DeviceMemory_Free_Args,
    XLA_FFI_DeviceOrdinal_Get_Args, XLA_FFI_ExecutionStage, XLA_FFI_Future_SetAvailable_Args,
    XLA_FFI_Future_SetError_Args, XLA_FFI_Handler, XLA_FFI_Handler_Bundle,
    XLA_FFI_Handler_Register_Args, XLA_FFI_Handler_Register_Args_0_3, XLA_FFI_InvokeContext,
    XLA_FFI_InvokeContext_FindExtension_Args, XLA_FFI_InvokeContext_Get_Args,
    XLA_FFI_RunId_Get_Args, XLA_FFI_State_Get_Args, XLA_FFI_State_Get_Args_0_2,
    XLA_FFI_State_Set_Args, XLA_FFI_State_Set_Args_0_1, XLA_FFI_State_Set_Args_0_2,
    XLA_FFI_Stream_Get_Args, XLA_FFI_ThreadPool_NumThreads_Args, XLA_FFI_ThreadPool_Schedule_Args,
    XLA_FFI_Type_Register_Args, XLA_FFI_TypeId,
};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use tpu_emu::{Error, Result};

const INSTANTIATE: XLA_FFI_ExecutionStage =
    XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INSTANTIATE;

fn text(caller: &Caller, span: XLA_FFI_ByteSpan, what: &'static str) -> Result<String> {
    caller.text(span.ptr, span.len, what)
}

fn number(caller: &Caller, id: *const XLA_FFI_TypeId) -> Result<i64> {
    Ok(caller.read_plain(id, "type_id")?.type_id)
}

/// A library registers a handler, usually when it is loaded.
pub(super) fn handler_register(
    caller: &Caller,
    args: &mut XLA_FFI_Handler_Register_Args,
) -> Result<()> {
    handlers_register(caller, args.name, args.platform, args.bundle, args.traits)
}

/// Before 0.4 there is no record stage.
pub(super) fn handler_register_0_3(
    caller: &Caller,
    args: &mut XLA_FFI_Handler_Register_Args_0_3,
) -> Result<()> {
    let bundle = XLA_FFI_Handler_Bundle {
        instantiate: args.bundle.instantiate,
        prepare: args.bundle.prepare,
        initialize: args.bundle.initialize,
        execute: args.bundle.execute,
        record: None,
    };
    handlers_register(caller, args.name, args.platform, bundle, args.traits)
}

fn handlers_register(
    caller: &Caller,
    name: XLA_FFI_ByteSpan,
    platform: XLA_FFI_ByteSpan,
    bundle: XLA_FFI_Handler_Bundle,
    traits: u32,
) -> Result<()> {
    let name = text(caller, name, "name")?;
    let platform = text(caller, platform, "platform")?;
    let address = |handler: XLA_FFI_Handler| {
        handler.map_or(0, |function| (function as *const ()).expose_provenance())
    };
    let bundle = Bundle {
        instantiate: address(bundle.instantiate),
        prepare: address(bundle.prepare),
        initialize: address(bundle.initialize),
        execute: address(bundle.execute),
        record: address(bundle.record),
    };
    let origin = format!("XLA_FFI_Handler_Register with {:#x}", bundle.execute);
    let registered = register_typed(&name, &platform, bundle, traits, origin);
    registered.as_ref().err().into_iter().for_each(note_refusal);
    registered
}

/// No header adds anything to a context here: records and collectives are of GPUs.
pub(super) fn find_extension(
    _: &Caller,
    args: &mut XLA_FFI_InvokeContext_FindExtension_Args,
) -> Result<()> {
    context(args.ctx)?;
    args.extension = ptr::null();
    Ok(())
}

/// There is no stream behind an emulated device.
pub(super) fn stream_get(_: &Caller, args: &mut XLA_FFI_Stream_Get_Args) -> Result<()> {
    context(args.ctx)?;
    args.stream = ptr::null_mut();
    let what = "the emulated TPU has no platform stream: handlers run on the host";
    Err(Error::Unimplemented(what.to_owned()))
}

fn register(
    caller: &Caller,
    args: &XLA_FFI_Type_Register_Args,
    deleter: Option<Deleter>,
) -> Result<()> {
    let name = text(caller, args.name, "name")?;
    let given = number(caller, args.type_id)?;
    let type_id = register_type(&name, given, deleter)?;
    caller.write(args.type_id, XLA_FFI_TypeId { type_id }, "type_id")
}

/// A type without a deleter: states come with one each.
pub(super) fn type_register_0_1(
    caller: &Caller,
    args: &mut XLA_FFI_Type_Register_Args,
) -> Result<()> {
    register(caller, args, None)
}

/// A type with what is known at the address `place`, if that is a pointer to a type's facts.
pub(super) fn type_register(
    caller: &Caller,
    args: &mut XLA_FFI_Type_Register_Args,
    place: usize,
) -> Result<()> {
    register(caller, args, probe::deleter_at(place))
}

/// What the client gave to the launch.
pub(super) fn execution_context_get(
    caller: &Caller,
    args: &mut XLA_FFI_InvokeContext_Get_Args,
) -> Result<()> {
    args.data = context(args.ctx)?.user_data(number(caller, args.type_id)?)?;
    Ok(())
}

fn set(
    ctx: *const XLA_FFI_InvokeContext,
    stage: XLA_FFI_ExecutionStage,
    of: i64,
    state: *mut c_void,
    deleter: Option<Deleter>,
) -> Result<()> {
    context(ctx)?.slot(stage)?.set(of, state, deleter)
}

/// Before 0.2 a state comes with its deleter.
pub(super) fn state_set_0_1(caller: &Caller, args: &mut XLA_FFI_State_Set_Args_0_1) -> Result<()> {
    let of = number(caller, args.type_id)?;
    set(args.ctx, INSTANTIATE, of, args.state, args.deleter)
}

/// Before 0.3 only the instantiate stage keeps a state.
pub(super) fn state_set_0_2(caller: &Caller, args: &mut XLA_FFI_State_Set_Args_0_2) -> Result<()> {
    let of = number(caller, args.type_id)?;
    set(args.ctx, INSTANTIATE, of, args.state, types::deleter_of(of)?)
}

/// Keeps a state of one of three stages.
pub(super) fn state_set(caller: &Caller, args: &mut XLA_FFI_State_Set_Args) -> Result<()> {
    let of = number(caller, args.type_id)?;
    set(args.ctx, args.stage, of, args.state, types::deleter_of(of)?)
}

/// The state of the instantiate stage.
pub(super) fn state_get_0_2(caller: &Caller, args: &mut XLA_FFI_State_Get_Args_0_2) -> Result<()> {
    let of = number(caller, args.type_id)?;
    args.state = context(args.ctx)?.slot(INSTANTIATE)?.get(of)?;
    Ok(())
}

/// The state of one of three stages.
pub(super) fn state_get(caller: &Caller, args: &mut XLA_FFI_State_Get_Args) -> Result<()> {
    let of = number(caller, args.type_id)?;
    args.state = context(args.ctx)?.slot(args.stage)?.get(of)?;
    Ok(())
}

/// Scratch memory in HBM.
pub(super) fn device_memory_allocate(
    _: &Caller,
    args: &mut XLA_FFI_DeviceMemory_Allocate_Args,
) -> Result<()> {
    let context = context(args.ctx)?;
    let address = context.services()?.allocate(args.size, args.alignment)?;
    args.data = ptr::with_exposed_provenance_mut(address);
    Ok(())
}

/// Gives scratch memory back; null is none.
pub(super) fn device_memory_free(
    _: &Caller,
    args: &mut XLA_FFI_DeviceMemory_Free_Args,
) -> Result<()> {
    let context = context(args.ctx)?;
    if args.data.is_null() {
        return Ok(());
    }
    context.services()?.free(args.data.addr())
}

/// Runs a task of the handler's.
pub(super) fn thread_pool_schedule(
    _: &Caller,
    args: &mut XLA_FFI_ThreadPool_Schedule_Args,
) -> Result<()> {
    let context = context(args.ctx)?;
    let task = super::task::Task::new(args.task, UserPointer(args.data))?;
    let (stage, failure) = (context.stage, Arc::clone(&context.failure));
    context.services()?.schedule(Box::new(move || task.run(stage, &failure)));
    Ok(())
}

/// How many threads tasks have.
pub(super) fn thread_pool_num_threads(
    caller: &Caller,
    args: &mut XLA_FFI_ThreadPool_NumThreads_Args,
) -> Result<()> {
    let threads = context(args.ctx)?.services()?.threads();
    let threads = i64::try_from(threads).unwrap_or(i64::MAX);
    caller.write(args.num_threads, threads, "num_threads")
}

/// Ends a future well.
pub(super) fn future_set_available(
    _: &Caller,
    args: &mut XLA_FFI_Future_SetAvailable_Args,
) -> Result<()> {
    future::set_available(args.future)
}

/// Ends a future badly.
pub(super) fn future_set_error(_: &Caller, args: &mut XLA_FFI_Future_SetError_Args) -> Result<()> {
    future::set_error(args.future, args.error)
}

/// The number of the launch.
pub(super) fn run_id_get(_: &Caller, args: &mut XLA_FFI_RunId_Get_Args) -> Result<()> {
    args.run_id = context(args.ctx)?.services()?.run_id();
    Ok(())
}

/// The number of the device.
pub(super) fn device_ordinal_get(
    _: &Caller,
    args: &mut XLA_FFI_DeviceOrdinal_Get_Args,
) -> Result<()> {
    let device = context(args.ctx)?.services()?.device();
    args.device_ordinal = i32::try_from(device)
        .map_err(|_| Error::bad(format!("device {device} has no number of 32 bits")))?;
    Ok(())
}
