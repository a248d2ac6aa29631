//! Handlers of versions of XLA FFI to come, and what 0.4 and 0.5 added.
#![expect(unsafe_code, reason = "handlers in C's manner")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::handlers::{
    Function, answered, api_of, ask, bundle, context_of, error, handler, newest, only,
    register_bundle, said,
};
use c::programs::{run_target as run, run_target_once as run_once};
use c::{Client, Failure, UNIMPLEMENTED, assert_refused, blank};
use pjrt_sys::{
    XLA_FFI_API_MINOR, XLA_FFI_Api, XLA_FFI_ByteSpan, XLA_FFI_CallFrame,
    XLA_FFI_CustomOptions_Get_Args, XLA_FFI_DeviceOrdinal_Get_Args, XLA_FFI_Error,
    XLA_FFI_Error_Code, XLA_FFI_Error_GetDetails_Args, XLA_FFI_ExecutionStage,
    XLA_FFI_Handler_Register_Args, XLA_FFI_Handler_Register_Args_0_3,
    XLA_FFI_InvokeContext_FindExtension_Args, XLA_FFI_State_Set_Args, XLA_FFI_TypeId,
};
use std::ffi::{CStr, c_void};
use std::fs::read_to_string;
use std::mem::{offset_of, transmute};
use std::path::Path;
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

const NEWER: &str = "this runtime speaks 0.1 to 0.5, for which the newest jaxlib is 0.12.0.1";

handler!(modest, 9, |frame| {
    let api = api_of(frame);
    assert_eq!((api.api_version.minor_version, api.struct_size), (5, size_of::<XLA_FFI_Api>()));
    let context = context_of(frame);
    ask(api.XLA_FFI_DeviceOrdinal_Get, |args: &mut XLA_FFI_DeviceOrdinal_Get_Args| {
        args.ctx = context
    })
    .unwrap();
    null_mut()
});

#[test]
fn a_handler_of_a_version_to_come_is_served_with_what_there_is() {
    run_once("versions.modest", modest).unwrap();
}

handler!(wants_more, 9, |frame| {
    let end = std::ptr::from_ref(api_of(frame)).wrapping_add(1).cast::<Function>();
    // SAFETY: functions that refuse whatever they are given stand behind a table.
    unsafe { (*end.wrapping_add(6))(null_mut()) }
});

#[test]
fn a_function_of_a_version_to_come_is_refused_by_its_number() {
    let refused: Result<(), Failure> = run_once("versions.more", wants_more);
    let words = ["function 27 of the table of XLA FFI", NEWER, "versions.more"];
    assert_refused(refused, UNIMPLEMENTED, &words);
}

/// Arguments that a version to come made longer.
#[repr(C)]
struct Longer {
    known: XLA_FFI_DeviceOrdinal_Get_Args,
    flags: usize,
}

fn ordinal(frame: *mut XLA_FFI_CallFrame, flags: usize) -> *mut XLA_FFI_Error {
    let mut longer = Longer { known: blank(), flags };
    longer.known.device_ordinal = 77;
    (longer.known.struct_size, longer.known.ctx) = (size_of::<Longer>(), context_of(frame));
    // SAFETY: a struct of the function's own type, and more.
    let error =
        unsafe { api_of(frame).XLA_FFI_DeviceOrdinal_Get.unwrap()((&raw mut longer).cast()) };
    assert!(!error.is_null() || longer.known.device_ordinal == 0);
    error
}

handler!(headers_own_size, |frame| {
    let mut longer = [0_usize, 0, context_of(frame).addr(), 0, usize::MAX];
    longer[0] = size_of_val(&longer);
    // SAFETY: more than a struct of the function's own type.
    unsafe { api_of(frame).XLA_FFI_RunId_Get.unwrap()(longer.as_mut_ptr().cast()) }
});

#[test]
fn the_size_that_all_headers_state_wrongly_is_served() {
    run_once("versions.run_id", headers_own_size).unwrap();
}

handler!(longer_and_silent, 9, |frame| ordinal(frame, 0));
handler!(longer_and_asking, 9, |frame| ordinal(frame, 1 << 40));

#[test]
fn a_longer_struct_is_served_while_it_says_nothing_more() {
    run_once("versions.silent", longer_and_silent).unwrap();
    let refused = run_once("versions.asking", longer_and_asking);
    let words =
        ["XLA_FFI_DeviceOrdinal_Get_Args of 40 bytes says something behind the 32 bytes", NEWER];
    assert_refused(refused, UNIMPLEMENTED, &words);
    let mut args = blank::<XLA_FFI_DeviceOrdinal_Get_Args>();
    args.struct_size = 1 << 40;
    // SAFETY: what the size says is not followed so far.
    let text = said(unsafe { newest().XLA_FFI_DeviceOrdinal_Get.unwrap()(&raw mut args) }).unwrap();
    assert!(text.contains("of 1099511627776 bytes; this runtime knows 32"), "{text}");
}

unsafe extern "C" fn misses_a_field(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: a frame of the runtime's.
    let size = unsafe { (*frame).struct_size };
    let text = format!("Unexpected XLA_FFI_CallFrame size: expected 512 got {size}.");
    error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_INVALID_ARGUMENT, &text)
}

handler!(fails_with_words, 9, |_frame| {
    error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_UNIMPLEMENTED, "negative input")
});

#[test]
fn an_error_of_a_newer_handler_about_the_interface_names_the_versions() {
    let text = register_bundle("versions.field", "TPU", only(misses_a_field)).unwrap_err();
    assert!(text.contains("expected 512 got") && text.contains(NEWER), "{text}");
    let refused = run_once("versions.words", fails_with_words).unwrap_err();
    let text = refused.message;
    assert!(text.contains("negative input") && !text.contains(NEWER), "{text}");
}

static RECORDED: AtomicUsize = AtomicUsize::new(0);
static ASKED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn records(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    let count = if answered(frame, 5) { &ASKED } else { &RECORDED };
    count.fetch_add(1, Ordering::SeqCst);
    null_mut()
}

handler!(keeps_for_record, |frame| {
    let mut type_id = XLA_FFI_TypeId { type_id: 0 };
    type_id.type_id = c::handlers::registered_type("versions::Type", None);
    let kept = ask(api_of(frame).XLA_FFI_State_Set, |args: &mut XLA_FFI_State_Set_Args| {
        (args.ctx, args.type_id) = (context_of(frame), &raw mut type_id);
        args.stage = XLA_FFI_ExecutionStage::XLA_FFI_ExecutionStage_RECORD;
        args.state = without_provenance_mut(64);
    });
    assert!(kept.unwrap_err().contains("has no record stage"));
    null_mut()
});

#[test]
fn a_record_handler_is_known_and_never_called() {
    let mut all = bundle(None, None, None, Some(keeps_for_record));
    all.record = Some(records);
    register_bundle("versions.record", "TPU", all).unwrap();
    run(&Client::new(), "versions.record").unwrap();
    assert_eq!((ASKED.load(Ordering::SeqCst), RECORDED.load(Ordering::SeqCst)), (1, 0));
    let text = register_bundle("versions.record", "TPU", only(keeps_for_record)).unwrap_err();
    assert!(text.contains("registered already"), "{text}");
}

fn span(text: &str) -> XLA_FFI_ByteSpan {
    XLA_FFI_ByteSpan { ptr: text.as_ptr().cast(), len: text.len() }
}

#[test]
fn a_bundle_has_the_stages_that_the_size_of_its_struct_says() {
    type Register = unsafe extern "C" fn(*mut c_void) -> *mut XLA_FFI_Error;
    // SAFETY: a function of one pointer.
    let register: Register = unsafe { transmute(newest().XLA_FFI_Handler_Register.unwrap()) };
    let mut old = blank::<XLA_FFI_Handler_Register_Args_0_3>();
    (old.name, old.platform) = (span("versions.old"), span("TPU"));
    old.bundle.execute = Some(modest);
    old.traits = 1;
    for size in [offset_of!(XLA_FFI_Handler_Register_Args_0_3, traits) + 4, size_of_val(&old)] {
        old.struct_size = size;
        // SAFETY: a struct of the older version.
        assert_eq!(said(unsafe { register((&raw mut old).cast()) }), None);
    }
    run(&Client::new(), "versions.old").unwrap();

    #[repr(C)]
    struct Longer {
        known: XLA_FFI_Handler_Register_Args,
        traits: usize,
    }
    let mut longer = Longer { known: blank(), traits: 0 };
    longer.known.struct_size = size_of::<Longer>();
    (longer.known.name, longer.known.platform) = (span("versions.longer"), span("TPU"));
    longer.known.bundle.execute = Some(modest);
    // SAFETY: a struct of a version to come, without a handler for another stage.
    assert_eq!(said(unsafe { register((&raw mut longer).cast()) }), None);
    // Where the traits are, a longer bundle has a sixth handler.
    longer.known.traits = 64;
    // SAFETY: as above.
    let text = said(unsafe { register((&raw mut longer).cast()) }).unwrap();
    assert!(text.contains("of 104 bytes says something behind the 88 bytes"), "{text}");
    assert!(text.contains(NEWER), "{text}");
}

handler!(looks_for_extensions, |frame| {
    let (api, context) = (api_of(frame), context_of(frame));
    for extension_type in [0, 128, 129, i64::MAX] {
        let find = api.XLA_FFI_InvokeContext_FindExtension;
        let found = ask(find, |args: &mut XLA_FFI_InvokeContext_FindExtension_Args| {
            (args.ctx, args.extension_type) = (context, extension_type);
            args.extension = without_provenance_mut::<u64>(64).cast();
        });
        assert_eq!(found.unwrap().extension, null());
    }
    let options =
        ask(api.XLA_FFI_CustomOptions_Get, |args: &mut XLA_FFI_CustomOptions_Get_Args| {
            args.ctx = context
        });
    // SAFETY: a dictionary that lives as long as the library.
    let options = unsafe { *options.unwrap().attrs };
    assert_eq!((options.size, options.struct_size), (0, 48));
    null_mut()
});

#[test]
fn a_context_has_no_extension_and_no_options() {
    run_once("versions.looks", looks_for_extensions).unwrap();
    for context in [null_mut(), without_provenance_mut(64)] {
        let find = newest().XLA_FFI_InvokeContext_FindExtension;
        let found = ask(find, |args: &mut XLA_FFI_InvokeContext_FindExtension_Args| {
            args.ctx = context;
        });
        assert!(found.unwrap_err().contains("execution context"));
        let options = newest().XLA_FFI_CustomOptions_Get;
        let options = ask(options, |args: &mut XLA_FFI_CustomOptions_Get_Args| args.ctx = context);
        assert!(options.unwrap_err().contains("execution context"));
    }
}

#[test]
fn an_error_says_its_code_to_those_who_have_a_place_for_it() {
    let made = error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "words");
    for (size, code) in [(size_of::<XLA_FFI_Error_GetDetails_Args>(), 10), (36, 10), (32, 77)] {
        let mut args = blank::<XLA_FFI_Error_GetDetails_Args>();
        (args.struct_size, args.error, args.errc) = (size, made, XLA_FFI_Error_Code(77));
        // SAFETY: a struct of the function's own type; a text that lives as long as the error.
        let text = unsafe {
            newest().XLA_FFI_Error_GetDetails.unwrap()(&raw mut args);
            CStr::from_ptr(args.message).to_str().unwrap()
        };
        assert_eq!((text, args.errc.0), ("words", code), "{size}");
    }
    assert_eq!(said(made), Some("words".to_owned()));
}

/// What a handler that is refused is told of versions.
#[test]
fn the_words_of_a_refusal_name_our_version_and_the_newest_jaxlib_that_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let makefile = read_to_string(root.join("../Makefile")).unwrap();
    let tested = makefile.lines().find_map(|line| line.strip_prefix("MODERN := ")).unwrap();
    let newest = tested.split_whitespace().last().unwrap();
    let words = format!(
        "this runtime speaks 0.1 to 0.{XLA_FFI_API_MINOR}, for which the newest jaxlib is {newest}"
    );
    assert_eq!(NEWER, words);
}
