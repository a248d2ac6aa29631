//! The functions that handlers call back: the contract of each, what the device does for a call,
//! and what is left of a context after its stage.
#![expect(unsafe_code, reason = "handlers in C's manner")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::handlers::{
    api_of, ask, context_of, error, handler, newest, only, register, register_bundle, said,
};
use c::programs::{run_target as run, run_target_on as run_on, run_target_once as run_once};
use c::{ABORTED, Client, EXHAUSTED, assert_refused, blank, call};
use pjrt_sys::{
    XLA_FFI_Api, XLA_FFI_CallFrame, XLA_FFI_DeviceMemory_Allocate_Args,
    XLA_FFI_DeviceMemory_Free_Args, XLA_FFI_DeviceOrdinal_Get_Args, XLA_FFI_Error,
    XLA_FFI_Error_Code, XLA_FFI_Error_Create_Args, XLA_FFI_Error_Destroy_Args,
    XLA_FFI_Error_GetDetails_Args, XLA_FFI_Future_Create_Args, XLA_FFI_InvokeContext_Get_Args,
    XLA_FFI_RunId_Get_Args, XLA_FFI_Stream_Get_Args, XLA_FFI_ThreadPool_NumThreads_Args,
    XLA_FFI_ThreadPool_Schedule_Args, XLA_FFI_TypeId,
};
use std::ffi::{CStr, c_void};
use std::mem::offset_of;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of a struct.
type Of<A> = unsafe extern "C" fn(*mut A) -> *mut XLA_FFI_Error;

/// A function as one of words.
fn of_words<A>(function: Option<Of<A>>) -> Of<usize> {
    // SAFETY: it takes a pointer to a struct that begins with its size, a word.
    unsafe { std::mem::transmute::<Of<A>, Of<usize>>(function.unwrap()) }
}

/// All functions that return an error.
fn functions(api: &XLA_FFI_Api) -> Vec<Of<usize>> {
    macro_rules! all {
        ($($name:ident),*) => {
            vec![$(of_words(api.$name)),*]
        };
    }
    all!(
        XLA_FFI_Error_Create,
        XLA_FFI_Handler_Register,
        XLA_FFI_Stream_Get,
        XLA_FFI_Type_Register,
        XLA_FFI_InvokeContext_Get,
        XLA_FFI_State_Set,
        XLA_FFI_State_Get,
        XLA_FFI_DeviceMemory_Allocate,
        XLA_FFI_DeviceMemory_Free,
        XLA_FFI_ThreadPool_Schedule,
        XLA_FFI_ThreadPool_NumThreads,
        XLA_FFI_Future_Create,
        XLA_FFI_Future_SetAvailable,
        XLA_FFI_Future_SetError,
        XLA_FFI_RunId_Get,
        XLA_FFI_DeviceOrdinal_Get,
        XLA_FFI_InvokeContext_FindExtension,
        XLA_FFI_CustomOptions_Get
    )
}

static TABLES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

handler!(shows_0_1, 1, |frame| {
    TABLES.lock().unwrap().push(std::ptr::from_ref(api_of(frame)).expose_provenance());
    null_mut()
});
handler!(shows_0_2, 2, |frame| {
    TABLES.lock().unwrap().push(std::ptr::from_ref(api_of(frame)).expose_provenance());
    null_mut()
});
handler!(shows_0_3, 3, |frame| {
    TABLES.lock().unwrap().push(std::ptr::from_ref(api_of(frame)).expose_provenance());
    null_mut()
});
handler!(shows_0_4, 4, |frame| {
    TABLES.lock().unwrap().push(std::ptr::from_ref(api_of(frame)).expose_provenance());
    null_mut()
});

#[test]
fn every_function_of_every_version_refuses_wrong_arguments() {
    run_once("api.shows_0_1", shows_0_1).unwrap();
    run_once("api.shows_0_2", shows_0_2).unwrap();
    run_once("api.shows_0_3", shows_0_3).unwrap();
    run_once("api.shows_0_4", shows_0_4).unwrap();
    let tables = TABLES.lock().unwrap().clone();
    // SAFETY: tables live as long as the library.
    let old = tables.iter().map(|&at| unsafe { &*std::ptr::with_exposed_provenance(at) });
    for (api, minor) in old.chain([newest()]).zip(1..) {
        assert_eq!((api.struct_size, api.api_version.minor_version), (208, minor));
        for function in functions(api) {
            let mut args = [0_usize; 16];
            // SAFETY: a struct of less than any, an address that is not aligned, none.
            let (null, short, crooked) = unsafe {
                args[0] = 8;
                let crooked = args.as_mut_ptr().wrapping_byte_add(4);
                (function(null_mut()), function(args.as_mut_ptr()), function(crooked))
            };
            assert!(said(null).unwrap().starts_with("null XLA_FFI_"));
            assert!(said(short).unwrap().starts_with("struct_size 8 is short of the "));
            assert!(said(crooked).unwrap().contains("is not aligned"));
        }
        for destroys in [true, false] {
            // SAFETY: null is refused, and a struct that is too short.
            unsafe {
                let mut args = [8_usize; 4];
                let args = args.as_mut_ptr();
                if destroys {
                    api.XLA_FFI_Error_Destroy.unwrap()(null_mut());
                    api.XLA_FFI_Error_Destroy.unwrap()(args.cast());
                } else {
                    api.XLA_FFI_Error_GetDetails.unwrap()(null_mut());
                    api.XLA_FFI_Error_GetDetails.unwrap()(args.cast());
                }
            }
        }
    }
}

#[test]
fn an_error_is_readable_until_it_is_destroyed() {
    let api = newest();
    let read = |error| {
        let mut args = blank::<XLA_FFI_Error_GetDetails_Args>();
        args.error = error;
        // SAFETY: a struct of the function's own type; a text that lives as long as the error.
        unsafe {
            api.XLA_FFI_Error_GetDetails.unwrap()(&raw mut args);
            CStr::from_ptr(args.message).to_str().unwrap().to_owned()
        }
    };
    let error = error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "words");
    assert_eq!(read(error), "words");
    let mut args = blank::<XLA_FFI_Error_Destroy_Args>();
    args.error = error;
    for _ in 0..2 {
        // SAFETY: a struct of the function's own type.
        unsafe { api.XLA_FFI_Error_Destroy.unwrap()(&raw mut args) };
    }
    assert_eq!(read(error), "");
    assert_eq!(read(without_provenance_mut(64)), "");
    assert_eq!(read(null_mut()), "");
    let mut args = blank::<XLA_FFI_Error_Create_Args>();
    args.errc = XLA_FFI_Error_Code::XLA_FFI_Error_Code_INTERNAL;
    // SAFETY: a struct of the function's own type, without a message.
    let silent = unsafe { api.XLA_FFI_Error_Create.unwrap()(&raw mut args) };
    assert_eq!(said(silent), Some(String::new()));
}

fn allocate(
    frame: *mut XLA_FFI_CallFrame,
    size: usize,
    alignment: usize,
) -> Result<*mut c_void, String> {
    let function = api_of(frame).XLA_FFI_DeviceMemory_Allocate;
    let args = ask(function, |args: &mut XLA_FFI_DeviceMemory_Allocate_Args| {
        (args.ctx, args.size, args.alignment) = (context_of(frame), size, alignment);
    });
    args.map(|args| args.data)
}

fn free(frame: *mut XLA_FFI_CallFrame, size: usize, data: *mut c_void) -> Result<(), String> {
    let function = api_of(frame).XLA_FFI_DeviceMemory_Free;
    let args = ask(function, |args: &mut XLA_FFI_DeviceMemory_Free_Args| {
        (args.ctx, args.size, args.data) = (context_of(frame), size, data);
    });
    args.map(drop)
}

handler!(scratch, |frame| {
    for alignment in [1, 16, 64, 4096, 1 << 20] {
        let data = allocate(frame, 1000, alignment).unwrap();
        assert_eq!(data.addr() % alignment, 0);
        // SAFETY: as many bytes are there.
        unsafe { data.cast::<u8>().write_bytes(0xff, 1000) };
        free(frame, 1000, data).unwrap();
        assert!(free(frame, 1000, data).unwrap_err().contains("none of the 0 blocks"));
    }
    let none = allocate(frame, 0, 1).unwrap();
    let other = allocate(frame, 0, 1).unwrap();
    assert!(!none.is_null() && none != other);
    free(frame, 0, none).unwrap();
    free(frame, 0, null_mut()).unwrap();
    let mine = 0_u64;
    let foreign = c::handlers::pointer(&mine);
    assert!(free(frame, 8, foreign).unwrap_err().contains("none of the 1 blocks"));
    for alignment in [0, 3] {
        assert!(allocate(frame, 8, alignment).unwrap_err().contains("no power of two"));
    }
    let text = allocate(frame, usize::MAX, 1).unwrap_err();
    assert!(!text.is_empty());
    // What is not given back is when the call is over.
    allocate(frame, 1 << 20, 64).unwrap();
    null_mut()
});

#[test]
fn scratch_memory_is_of_the_device_and_of_the_call() {
    register("api.scratch", scratch);
    let client = Client::new();
    // The other tests leave this device alone.
    let before = client.in_use(5);
    run_on(&client, 5, "api.scratch").unwrap();
    assert_eq!(client.in_use(5), before);
}

handler!(greedy, |frame| {
    let function = api_of(frame).XLA_FFI_DeviceMemory_Allocate;
    let mut args = blank::<XLA_FFI_DeviceMemory_Allocate_Args>();
    (args.ctx, args.size, args.alignment) = (context_of(frame), 1 << 50, 64);
    // SAFETY: a struct of the function's own type. The error goes on to the runtime.
    unsafe { function.unwrap()(&raw mut args) }
});

#[test]
fn scratch_memory_that_the_device_does_not_have_is_an_error_that_may_be_passed_on() {
    register("api.greedy", greedy);
    let client = Client::new();
    let refused = run(&client, "api.greedy");
    assert_refused(refused, EXHAUSTED, &["Attempting to allocate 1024.00T", "api.greedy"]);
    register("api.after_greedy", scratch);
    run(&client, "api.after_greedy").unwrap();
}

static RUNS: Mutex<Vec<i64>> = Mutex::new(Vec::new());

handler!(asks, |frame| {
    let (api, ctx) = (api_of(frame), context_of(frame));
    let run = ask(api.XLA_FFI_RunId_Get, |args: &mut XLA_FFI_RunId_Get_Args| args.ctx = ctx);
    RUNS.lock().unwrap().push(run.unwrap().run_id);
    let device = ask(api.XLA_FFI_DeviceOrdinal_Get, |args: &mut XLA_FFI_DeviceOrdinal_Get_Args| {
        args.ctx = ctx;
    });
    assert_eq!(device.unwrap().device_ordinal, 0);
    let mut threads = 0;
    ask(api.XLA_FFI_ThreadPool_NumThreads, |args: &mut XLA_FFI_ThreadPool_NumThreads_Args| {
        (args.ctx, args.num_threads) = (ctx, &raw mut threads);
    })
    .unwrap();
    assert!(threads > 0);
    let stream = ask(api.XLA_FFI_Stream_Get, |args: &mut XLA_FFI_Stream_Get_Args| args.ctx = ctx);
    assert!(stream.unwrap_err().contains("has no platform stream"));
    let mut type_id = XLA_FFI_TypeId { type_id: 77 };
    let data = ask(api.XLA_FFI_InvokeContext_Get, |args: &mut XLA_FFI_InvokeContext_Get_Args| {
        (args.ctx, args.type_id) = (ctx, &raw mut type_id);
    });
    assert!(data.unwrap_err().contains("no user data of type number 77"));
    null_mut()
});

#[test]
fn a_call_knows_its_launch_and_its_device() {
    register("api.asks", asks);
    let client = Client::new();
    (0..3).for_each(|_| run(&client, "api.asks").unwrap());
    let mut runs = RUNS.lock().unwrap().clone();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), 3);
}

static TASKS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn task(data: *mut c_void) {
    TASKS.fetch_add(data.addr(), Ordering::SeqCst);
}

handler!(schedules, |frame| {
    let function = api_of(frame).XLA_FFI_ThreadPool_Schedule;
    for number in 1..=4 {
        ask(function, |args: &mut XLA_FFI_ThreadPool_Schedule_Args| {
            args.ctx = context_of(frame);
            args.task = Some(task);
            args.data = without_provenance_mut(number);
        })
        .unwrap();
    }
    let none = ask(function, |args: &mut XLA_FFI_ThreadPool_Schedule_Args| {
        args.ctx = context_of(frame);
    });
    assert!(none.unwrap_err().contains("null task"));
    while TASKS.load(Ordering::SeqCst) < 10 {
        std::thread::yield_now();
    }
    null_mut()
});

#[test]
fn tasks_run_while_their_handler_waits_for_them() {
    run_once("api.schedules", schedules).unwrap();
    assert_eq!(TASKS.load(Ordering::SeqCst), 10);
}

static CONTEXT: AtomicUsize = AtomicUsize::new(0);

handler!(leaks_its_context, |frame| {
    CONTEXT.store(context_of(frame).addr(), Ordering::SeqCst);
    null_mut()
});

#[test]
fn a_context_is_stale_once_its_call_is_over() {
    run_once("api.leaks", leaks_its_context).unwrap();
    let stale = without_provenance_mut(CONTEXT.load(Ordering::SeqCst));
    for context in [stale, without_provenance_mut(64), null_mut()] {
        let run = ask(newest().XLA_FFI_RunId_Get, |args: &mut XLA_FFI_RunId_Get_Args| {
            args.ctx = context;
        });
        let text = run.unwrap_err();
        assert!(text.contains("execution context"), "{text}");
        let memory = ask(
            newest().XLA_FFI_DeviceMemory_Allocate,
            |args: &mut XLA_FFI_DeviceMemory_Allocate_Args| {
                (args.ctx, args.size, args.alignment) = (context, 8, 8);
            },
        );
        assert!(memory.is_err());
    }
}

handler!(returns_nonsense, |_frame| without_provenance_mut(64));
handler!(returns_no_error, |_frame| {
    error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_OK, "all is well")
});
handler!(returns_an_odd_code, |_frame| error(XLA_FFI_Error_Code(99), "odd"));

#[test]
fn what_a_handler_returns_is_looked_at_before_it_is_followed() {
    let refused = run_once("api.nonsense", returns_nonsense);
    assert_refused(refused, c::INVALID, &["an error at 0x40 that is not of this runtime"]);
    run_once("api.no_error", returns_no_error).unwrap();
    assert_refused(run_once("api.odd", returns_an_odd_code), c::UNKNOWN, &["odd"]);
}

handler!(panics, |_frame| error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "{}%s\u{e9}"));

#[test]
fn a_message_is_not_taken_for_a_format() {
    assert_refused(run_once("api.format", panics), ABORTED, &["{}%s\u{e9}"]);
}

#[test]
fn the_future_is_behind_the_struct_that_the_header_states() {
    let mut args = blank::<XLA_FFI_Future_Create_Args>();
    args.struct_size = offset_of!(XLA_FFI_Future_Create_Args, future);
    // SAFETY: a struct of the function's own type.
    let error = unsafe { newest().XLA_FFI_Future_Create.unwrap()(&raw mut args) };
    assert_eq!(said(error), None);
    assert!(!args.future.is_null());
}

#[test]
fn handlers_are_refused_at_registration() {
    let register = |name: &str, bundle| register_bundle(name, "TPU", bundle);
    let none = c::handlers::bundle(None, None, None, None);
    let text = register("api.none", none).unwrap_err();
    assert!(text.contains("\"api.none\" without an execute handler"), "{text}");
    for (version, handler) in [("1.2", other_major as c::handlers::Function), ("0.0", ancient)] {
        let text = register("api.version", only(handler)).unwrap_err();
        let wanted = format!(
            "the handler speaks version {version} of XLA FFI; this runtime speaks 0.1 to 0.5, \
             for which the newest jaxlib is 0.12.0.1"
        );
        assert!(text.contains(&wanted) && text.contains("\"api.version\""), "{text}");
    }
    let text = register("api.silent", only(silent)).unwrap_err();
    assert!(text.contains("does not say which version"), "{text}");
    let text = register("api.refuses", only(refuses)).unwrap_err();
    assert!(text.contains("types first"), "{text}");
    let mixed = c::handlers::bundle(Some(other_major), None, None, Some(leaks_its_context));
    let text = register("api.mixed", mixed).unwrap_err();
    assert!(text.contains("\"api.mixed\", instantiate handler: "), "{text}");
    register("api.twice", only(leaks_its_context)).unwrap();
    register("api.twice", only(leaks_its_context)).unwrap();
    let text = register("api.twice", only(scratch)).unwrap_err();
    assert!(text.contains("registered already for platform tpu"), "{text}");
    register_bundle("api.twice", "Host", only(scratch)).unwrap();
    assert!(register("", only(scratch)).is_err());
}

unsafe extern "C" fn other_major(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    c::handlers::answered_with(frame, 1, 2);
    null_mut()
}

handler!(ancient, 0, |_frame| null_mut());

unsafe extern "C" fn silent(_: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    null_mut()
}

unsafe extern "C" fn refuses(_: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_FAILED_PRECONDITION, "types first")
}

#[test]
fn a_handler_of_the_hosts_serves_where_the_tpu_has_none() {
    register_bundle("api.host", "Host", only(leaks_its_context)).unwrap();
    run(&Client::new(), "api.host").unwrap();
    let gone = call!(PJRT_Client_Create).unwrap().client;
    call!(PJRT_Client_Destroy, client: gone).unwrap();
}
