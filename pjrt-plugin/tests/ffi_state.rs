//! Stages of typed calls, and what handlers keep between them, in the manner of each version.
#![expect(unsafe_code, reason = "handlers in C's manner")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::handlers::{api_of, ask, bundle, error, handler, newest, register_bundle, registered_type};
use c::programs::{Run, compile, compile_with, end, on_device};
use c::{ABORTED, Client, assert_refused, blank};
use pjrt_sys::{
    XLA_FFI_Api, XLA_FFI_CallFrame, XLA_FFI_Error, XLA_FFI_Error_Code, XLA_FFI_ExecutionStage,
    XLA_FFI_Handler_Bundle, XLA_FFI_State_Get_Args, XLA_FFI_State_Get_Args_0_2,
    XLA_FFI_State_Set_Args, XLA_FFI_State_Set_Args_0_1, XLA_FFI_State_Set_Args_0_2,
    XLA_FFI_Type_Register_Args, XLA_FFI_TypeId,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

const INSTANTIATE: XLA_FFI_ExecutionStage =
    XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INSTANTIATE;
const PREPARE: XLA_FFI_ExecutionStage = XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_PREPARE;
const INITIALIZE: XLA_FFI_ExecutionStage =
    XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_INITIALIZE;
const EXECUTE: XLA_FFI_ExecutionStage = XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_EXECUTE;

/// A program of `count` calls without operands.
fn calls(target: &str, count: usize) -> String {
    let call = |at| {
        format!(
            "    %{at} = stablehlo.custom_call @{target}() {{has_side_effect = true, \
             mhlo.backend_config = {{}}}} : () -> tensor<f32>\n"
        )
    };
    let calls: String = (0..count).map(call).collect();
    format!(
        "module @jit_calls {{\n  func.func public @main() -> tensor<f32> {{\n{calls}    \
         return %0 : tensor<f32>\n  }}\n}}\n"
    )
}

fn run(it: *mut pjrt_sys::PJRT_LoadedExecutable) -> Result<(), c::Failure> {
    let results = Run::new(it, &[], 1).start()?;
    results.into_iter().for_each(c::buffers::destroy);
    Ok(())
}

fn context_of(frame: *mut XLA_FFI_CallFrame) -> *mut pjrt_sys::XLA_FFI_InvokeContext {
    // SAFETY: a frame of the runtime's.
    unsafe { (*frame).ctx }
}

fn stage_of(frame: *mut XLA_FFI_CallFrame) -> XLA_FFI_ExecutionStage {
    // SAFETY: a frame of the runtime's.
    unsafe { (*frame).stage }
}

/// A value that handlers keep: the number of its stage.
fn value(number: usize) -> *mut c_void {
    Box::into_raw(Box::new(number)).cast()
}

fn read(state: *mut c_void) -> usize {
    // SAFETY: a live value of these tests.
    unsafe { *state.cast::<usize>() }
}

/// Deleted values of [`SINCE_0_2`], by their number.
static DELETED: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

unsafe extern "C" fn delete(state: *mut c_void) {
    // SAFETY: a value of these tests, once.
    let number = *unsafe { Box::from_raw(state.cast::<usize>()) };
    DELETED[number].fetch_add(1, Ordering::SeqCst);
}

static TYPE: LazyLock<i64> = LazyLock::new(|| registered_type("tests::State", Some(delete)));
static OTHER: LazyLock<i64> = LazyLock::new(|| registered_type("tests::Other", Some(delete)));

fn set(
    frame: *mut XLA_FFI_CallFrame,
    stage: XLA_FFI_ExecutionStage,
    of: i64,
    state: *mut c_void,
) -> Result<(), String> {
    let mut type_id = XLA_FFI_TypeId { type_id: of };
    let args = ask(api_of(frame).XLA_FFI_State_Set, |args: &mut XLA_FFI_State_Set_Args| {
        (args.ctx, args.stage) = (context_of(frame), stage);
        (args.type_id, args.state) = (&raw mut type_id, state);
    });
    args.map(drop)
}

fn get(
    frame: *mut XLA_FFI_CallFrame,
    stage: XLA_FFI_ExecutionStage,
    of: i64,
) -> Result<usize, String> {
    let mut type_id = XLA_FFI_TypeId { type_id: of };
    let args = ask(api_of(frame).XLA_FFI_State_Get, |args: &mut XLA_FFI_State_Get_Args| {
        (args.ctx, args.stage, args.type_id) = (context_of(frame), stage, &raw mut type_id);
    });
    args.map(|args| read(args.state))
}

/// The order of stages that handlers saw.
static ORDER: Mutex<Vec<u32>> = Mutex::new(Vec::new());

handler!(keeps, |frame| {
    let stage = stage_of(frame);
    ORDER.lock().unwrap().push(stage.0);
    let number = usize::try_from(stage.0).unwrap();
    // A stage sees what those before it kept, and nothing of its own yet.
    for (at, before) in [INSTANTIATE, PREPARE, INITIALIZE].into_iter().enumerate() {
        if at < number {
            assert_eq!(get(frame, before, *TYPE), Ok(at));
            let text = get(frame, before, *OTHER).unwrap_err();
            assert!(text.contains("\"tests::State\"") && text.contains("\"tests::Other\""));
        } else {
            assert!(get(frame, before, *TYPE).is_err());
        }
    }
    assert!(get(frame, EXECUTE, *TYPE).unwrap_err().contains("keeps no state"));
    assert!(set(frame, EXECUTE, *TYPE, pointer()).unwrap_err().contains("keeps no state"));
    let text = set(frame, XLA_FFI_ExecutionStage(9), *TYPE, pointer()).unwrap_err();
    assert!(text.contains("9 is no XLA_FFI_ExecutionStage"), "{text}");
    assert!(set(frame, stage, *TYPE, null_mut()).is_err());
    if stage != EXECUTE {
        let text = set(frame, stage, 987_654, pointer()).unwrap_err();
        assert!(text.contains("no type with the number 987654"), "{text}");
        set(frame, stage, *TYPE, value(number)).unwrap();
        let text = set(frame, stage, *OTHER, pointer()).unwrap_err();
        assert!(text.contains("set already"), "{text}");
        assert_eq!(get(frame, stage, *TYPE), Ok(number));
    }
    null_mut()
});

/// A pointer that nobody keeps.
fn pointer() -> *mut c_void {
    std::ptr::without_provenance_mut(64)
}

#[test]
fn each_stage_keeps_a_value_that_later_ones_see() {
    let all = bundle(Some(keeps), Some(keeps), Some(keeps), Some(keeps));
    register_bundle("state.keeps", "TPU", all).unwrap();
    let deleted = || DELETED.each_ref().map(|count| count.load(Ordering::SeqCst));
    let client = Client::new();
    let it = compile(&client, &calls("state.keeps", 2));
    assert_eq!(std::mem::take(&mut *ORDER.lock().unwrap()), [0, 0]);
    for launch in 1..=2 {
        run(it).unwrap();
        // Every call is prepared before one is initialized.
        assert_eq!(std::mem::take(&mut *ORDER.lock().unwrap()), [1, 1, 2, 2, 3, 3]);
        assert_eq!(deleted(), [0, 2 * launch, 2 * launch, 0]);
    }
    end(it);
    assert_eq!(deleted(), [2, 4, 4, 0]);
}

/// Functions of an older table, with the arguments that it has.
fn as_older<A, B>(
    function: Option<unsafe extern "C" fn(*mut A) -> *mut XLA_FFI_Error>,
) -> Option<unsafe extern "C" fn(*mut B) -> *mut XLA_FFI_Error> {
    // SAFETY: the table of an older version reads older arguments.
    unsafe { std::mem::transmute(function) }
}

fn get_old(frame: *mut XLA_FFI_CallFrame, of: i64) -> Result<usize, String> {
    let mut type_id = XLA_FFI_TypeId { type_id: of };
    let function = as_older(api_of(frame).XLA_FFI_State_Get);
    let args = ask(function, |args: &mut XLA_FFI_State_Get_Args_0_2| {
        (args.ctx, args.type_id) = (context_of(frame), &raw mut type_id);
    });
    args.map(|args| read(args.state))
}

static DELETED_0_2: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn delete_0_2(state: *mut c_void) {
    // SAFETY: a value of these tests, once.
    drop(unsafe { Box::from_raw(state.cast::<usize>()) });
    DELETED_0_2.fetch_add(1, Ordering::SeqCst);
}

static TYPE_0_2: LazyLock<i64> = LazyLock::new(|| registered_type("tests::Old", Some(delete_0_2)));

handler!(keeps_0_2, 2, |frame| {
    assert_eq!(api_of(frame).api_version.minor_version, 2);
    if stage_of(frame) == INSTANTIATE {
        let mut type_id = XLA_FFI_TypeId { type_id: *TYPE_0_2 };
        let function = as_older(api_of(frame).XLA_FFI_State_Set);
        ask(function, |args: &mut XLA_FFI_State_Set_Args_0_2| {
            (args.ctx, args.type_id) = (context_of(frame), &raw mut type_id);
            args.state = value(7);
        })
        .unwrap();
    }
    assert_eq!(get_old(frame, *TYPE_0_2), Ok(7));
    null_mut()
});

#[test]
fn version_0_2_keeps_a_state_that_its_types_deleter_ends() {
    let all = bundle(Some(keeps_0_2), None, None, Some(keeps_0_2));
    register_bundle("state.keeps_0_2", "TPU", all).unwrap();
    let client = Client::new();
    let it = compile(&client, &calls("state.keeps_0_2", 1));
    (0..2).for_each(|_| run(it).unwrap());
    assert_eq!(DELETED_0_2.load(Ordering::SeqCst), 0);
    end(it);
    assert_eq!(DELETED_0_2.load(Ordering::SeqCst), 1);
}

static DELETED_0_1: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn delete_0_1(state: *mut c_void) {
    // SAFETY: a value of these tests, once.
    drop(unsafe { Box::from_raw(state.cast::<usize>()) });
    DELETED_0_1.fetch_add(1, Ordering::SeqCst);
}

handler!(keeps_0_1, 1, |frame| {
    assert_eq!(api_of(frame).api_version.minor_version, 1);
    // A type that nobody registered: its states bring their deleter.
    let mut type_id = XLA_FFI_TypeId { type_id: 3 };
    if stage_of(frame) == INSTANTIATE {
        let function = as_older(api_of(frame).XLA_FFI_State_Set);
        ask(function, |args: &mut XLA_FFI_State_Set_Args_0_1| {
            (args.ctx, args.type_id) = (context_of(frame), &raw mut type_id);
            args.state = value(5);
            args.deleter = Some(delete_0_1);
        })
        .unwrap();
    }
    assert_eq!(get_old(frame, 3), Ok(5));
    null_mut()
});

#[test]
fn version_0_1_keeps_a_state_with_a_deleter_of_its_own() {
    let all = bundle(Some(keeps_0_1), None, None, Some(keeps_0_1));
    register_bundle("state.keeps_0_1", "TPU", all).unwrap();
    let client = Client::new();
    let it = compile(&client, &calls("state.keeps_0_1", 1));
    run(it).unwrap();
    end(it);
    assert_eq!(DELETED_0_1.load(Ordering::SeqCst), 1);
}

static FAILING: Mutex<Option<XLA_FFI_ExecutionStage>> = Mutex::new(None);
static REACHED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

handler!(fails, |frame| {
    let stage = stage_of(frame);
    REACHED.lock().unwrap().push(stage.0);
    if *FAILING.lock().unwrap() == Some(stage) {
        return error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "no further");
    }
    null_mut()
});

#[test]
fn a_stage_that_fails_is_the_last_one() {
    let all = bundle(Some(fails), Some(fails), Some(fails), Some(fails));
    register_bundle("state.fails", "TPU", all).unwrap();
    let client = Client::new();
    let compiled = || compile_with(&client, &calls("state.fails", 1), &on_device(0));
    let reached = || std::mem::take(&mut *REACHED.lock().unwrap());
    *FAILING.lock().unwrap() = Some(INSTANTIATE);
    assert_refused(compiled(), ABORTED, &["no further", "state.fails"]);
    *FAILING.lock().unwrap() = None;
    let it = compiled().unwrap();
    reached();
    for (stage, before) in [(PREPARE, &[1][..]), (INITIALIZE, &[1, 2]), (EXECUTE, &[1, 2, 3])] {
        *FAILING.lock().unwrap() = Some(stage);
        assert_refused(run(it), ABORTED, &["no further", "state.fails"]);
        assert_eq!(reached(), before);
    }
    *FAILING.lock().unwrap() = None;
    run(it).unwrap();
    end(it);
}

handler!(bare, |frame| {
    let stage = stage_of(frame);
    if stage == INSTANTIATE {
        // SAFETY: a frame of the runtime's.
        let (args, rets) = unsafe { ((*frame).args.size, (*frame).rets.size) };
        assert_eq!((args, rets), (0, 0));
        let text = get(frame, PREPARE, *TYPE).unwrap_err();
        assert!(text.contains("in the instantiate stage there is no state of a prepare"), "{text}");
    }
    null_mut()
});

#[test]
fn the_first_stage_has_attributes_and_no_buffers() {
    let all: XLA_FFI_Handler_Bundle = bundle(Some(bare), None, None, Some(bare));
    register_bundle("state.bare", "TPU", all).unwrap();
    let client = Client::new();
    let it = compile(&client, &calls("state.bare", 1));
    run(it).unwrap();
    end(it);
}

#[test]
fn a_type_is_registered_with_the_arguments_of_each_version() {
    let api: &XLA_FFI_Api = newest();
    // As 0.1 does: the struct ends with `type_id`, and what follows is not of it.
    let name = "tests::FromOld";
    let mut words = [0_usize; 6];
    let mut type_id = XLA_FFI_TypeId { type_id: 0 };
    words[0] = 40;
    (words[2], words[3]) = (name.as_ptr().expose_provenance(), name.len());
    words[4] = (&raw mut type_id).expose_provenance();
    for garbage in [0, 1, 12_345, usize::MAX, 1 << 62] {
        words[5] = garbage;
        let args: *mut XLA_FFI_Type_Register_Args = words.as_mut_ptr().cast();
        // SAFETY: arguments as version 0.1 has them, and something behind.
        let error = unsafe { api.XLA_FFI_Type_Register.unwrap()(args) };
        assert_eq!(c::handlers::said(error), None);
        assert!(type_id.type_id >= 1 << 32);
    }
    // The same name keeps its number.
    assert_eq!(registered_type(name, None), type_id.type_id);
    let mut args = blank::<XLA_FFI_Type_Register_Args>();
    args.struct_size = 39;
    // SAFETY: a struct of the function's own type.
    let error = unsafe { api.XLA_FFI_Type_Register.unwrap()(&raw mut args) };
    assert!(c::handlers::said(error).unwrap().contains("struct_size 39"));
}
