//! Extension 1: the device planes of a profile.
// UNSAFETY: reads and writes through pointers of C structs, and gives a table and errors out.
#![expect(unsafe_code, reason = "functions that C calls")]
use super::leak;
use crate::boundary::{handle_of, id_of};
use crate::sys::{
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_Profiler_Extension, PLUGIN_Profiler,
    PLUGIN_Profiler_Api, PLUGIN_Profiler_CollectData_Args, PLUGIN_Profiler_Create_Args,
    PLUGIN_Profiler_Destroy_Args, PLUGIN_Profiler_Error, PLUGIN_Profiler_Error_Destroy_Args,
    PLUGIN_Profiler_Error_GetCode_Args, PLUGIN_Profiler_Error_Message_Args,
    PLUGIN_Profiler_Start_Args, PLUGIN_Profiler_Stop_Args,
};
use parking_lot::Mutex;
use std::mem::offset_of;
use std::ptr;
use std::sync::Arc;
use tpu_emu::entry;
use tpu_emu::trace::Session;
use tpu_emu::{Error, Result, Table};
use tpu_trace::{History, OperationRun, Profiled, read, xspace};

/// The profilers that were created.
static PROFILERS: Table<Mutex<Profiler>> = Table::new("profiler", 22);

/// A profiler, from its creation on.
#[derive(Debug, Default)]
struct Profiler {
    /// What is recorded, or was until it was stopped.
    session: Option<Arc<Session>>,
    /// The `XSpace`, once it was asked for.
    made: Option<Vec<u8>>,
}

/// Offers the profiler. Its table ends before the functions that came later, as older plugins' do.
pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    let api = leak_api(PLUGIN_Profiler_Api {
        struct_size: offset_of!(PLUGIN_Profiler_Api, consume),
        priv_: ptr::null_mut(),
        error_destroy: Some(error_destroy),
        error_message: Some(error_message),
        error_get_code: Some(error_get_code),
        create: Some(create),
        destroy: Some(destroy),
        start: Some(start),
        stop: Some(stop),
        collect_data: Some(collect_data),
        consume: None,
        consume_result_destroy: None,
        serialize: None,
    });
    leak(PJRT_Profiler_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_Profiler_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_Profiler,
            next,
        },
        profiler_api: api,
        traceme_context_id: 0,
    })
}

fn leak_api(api: PLUGIN_Profiler_Api) -> *mut PLUGIN_Profiler_Api {
    Box::into_raw(Box::new(api))
}

/// Runs a function over a C struct; gives its error as an object.
///
/// jaxlib leaves `struct_size` as it finds it, so that nothing can be learned from it. No field was
/// added to these structs since their first version.
///
/// # Safety
/// `args` is null, or a struct of its kind.
unsafe fn serve<A>(
    name: entry::FunctionName,
    args: *mut A,
    run: impl FnOnce(&mut A) -> Result<()>,
) -> *mut PLUGIN_Profiler_Error {
    let outcome = entry::enter(name, || {
        if args.is_null() {
            return Err(Error::Null("args"));
        }
        // SAFETY: not null, and a struct of its kind by the promise of this function's caller.
        run(unsafe { &mut *args })
    });
    match outcome {
        Ok(()) => ptr::null_mut(),
        Err(error) => Box::into_raw(Box::new(error)).cast(),
    }
}

unsafe extern "C" fn error_destroy(args: *mut PLUGIN_Profiler_Error_Destroy_Args) {
    // SAFETY: null, or a struct of this kind.
    if let Some(args) = unsafe { args.as_ref() }
        && !args.error.is_null()
    {
        // SAFETY: an error of `serve`, which is destroyed once.
        drop(unsafe { Box::from_raw(args.error.cast::<Error>()) });
    }
}

unsafe extern "C" fn error_message(args: *mut PLUGIN_Profiler_Error_Message_Args) {
    // SAFETY: null, or a struct of this kind.
    if let Some(args) = unsafe { args.as_mut() } {
        // The words live as long as the process: errors are few.
        // SAFETY: null, or an error of `serve` that was not destroyed.
        let error = unsafe { args.error.cast::<Error>().as_ref() };
        let text: &'static str = error.map(ToString::to_string).unwrap_or_default().leak();
        (args.message, args.message_size) = (text.as_ptr().cast(), text.len());
    }
}

unsafe extern "C" fn error_get_code(
    args: *mut PLUGIN_Profiler_Error_GetCode_Args,
) -> *mut PLUGIN_Profiler_Error {
    // SAFETY: null, or a struct of this kind.
    if let Some(args) = unsafe { args.as_mut() } {
        // SAFETY: null, or an error of `serve` that was not destroyed.
        let error = unsafe { args.error.cast::<Error>().as_ref() };
        args.code = error.map_or(0, |error| error.code() as i32);
    }
    ptr::null_mut()
}

unsafe extern "C" fn create(args: *mut PLUGIN_Profiler_Create_Args) -> *mut PLUGIN_Profiler_Error {
    // SAFETY: the promise of this function's caller.
    unsafe {
        serve(&"PLUGIN_Profiler_Create", args, |args| {
            args.profiler = handle_of(PROFILERS.insert(Mutex::default()));
            Ok(())
        })
    }
}

unsafe extern "C" fn destroy(
    args: *mut PLUGIN_Profiler_Destroy_Args,
) -> *mut PLUGIN_Profiler_Error {
    // SAFETY: the promise of this function's caller.
    unsafe {
        serve(&"PLUGIN_Profiler_Destroy", args, |args| {
            PROFILERS.remove(id_of(args.profiler, "profiler")?).map(drop)
        })
    }
}

unsafe extern "C" fn start(args: *mut PLUGIN_Profiler_Start_Args) -> *mut PLUGIN_Profiler_Error {
    // SAFETY: the promise of this function's caller.
    unsafe {
        serve(&"PLUGIN_Profiler_Start", args, |args| {
            let profiler = profiler(args.profiler)?;
            let machine = crate::machine()?;
            let session = machine.begin_session(&tpu_host::header()?);
            *profiler.lock() = Profiler { session: Some(session), made: None };
            Ok(())
        })
    }
}

unsafe extern "C" fn stop(args: *mut PLUGIN_Profiler_Stop_Args) -> *mut PLUGIN_Profiler_Error {
    // SAFETY: the promise of this function's caller.
    unsafe {
        serve(&"PLUGIN_Profiler_Stop", args, |args| {
            profiler(args.profiler)?;
            crate::machine()?.end_session();
            Ok(())
        })
    }
}

unsafe extern "C" fn collect_data(
    args: *mut PLUGIN_Profiler_CollectData_Args,
) -> *mut PLUGIN_Profiler_Error {
    // SAFETY: the promise of this function's caller.
    unsafe {
        serve(&"PLUGIN_Profiler_CollectData", args, |args| {
            let profiler = profiler(args.profiler)?;
            let mut profiler = profiler.lock();
            if profiler.made.is_none() {
                let made = profiler.session.as_deref().map(space).transpose()?;
                profiler.made = Some(made.unwrap_or_default());
            }
            let made = profiler.made.get_or_insert_default();
            args.buffer_size_in_bytes = made.len();
            if args.buffer.is_null() {
                // jaxlib reads it there, before it destroys the profiler.
                args.buffer = made.as_mut_ptr();
            } else {
                // SAFETY: the caller's buffer has the size that it was told.
                ptr::copy_nonoverlapping(made.as_ptr(), args.buffer, made.len());
            }
            Ok(())
        })
    }
}

fn profiler(handle: *const PLUGIN_Profiler) -> Result<Arc<Mutex<Profiler>>> {
    PROFILERS.get(id_of(handle, "profiler")?)
}

/// What a session has recorded, as an `XSpace`.
fn space(session: &Session) -> Result<Vec<u8>> {
    let trace = read(&session.bytes()[..]).map_err(|why| Error::bad(why.to_string()))?;
    let history = History::new(&trace);
    let begun = session.begun().0;
    let spaces = history.spaces.iter();
    let spans: Vec<_> = spaces.map(|space| space.changes_until(begun)..space.order.len()).collect();
    let operations: Vec<OperationRun> = session
        .operations()
        .into_iter()
        .map(|of| OperationRun {
            program: of.program,
            run: of.run,
            device: of.device,
            step: of.step,
            name: of.name,
            line: of.line,
            bytes: of.bytes,
            started: of.started.0,
            ended: of.ended.0,
        })
        .collect();
    // The profile has a plane of the host's own, into which the one of this name is merged.
    let host = "/host:TPU-runtime";
    Ok(xspace(&trace, &history, &spans, &Profiled { operations, host, since: begun }))
}
