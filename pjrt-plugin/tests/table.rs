//! The function table as a whole: every row, whatever its object.
#![expect(unsafe_code, reason = "calls every function by its place in the table")]

mod c;

use c::{Client, Failure, INVALID, UNIMPLEMENTED, api, assert_refused, call, outcome};
use pjrt_sys::{PJRT_API_MAJOR, PJRT_API_MINOR, PJRT_Api, PJRT_Error};
use pjrt_tpu_emu::api::{ROWS, RowState};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

type AnyFunction = unsafe extern "C" fn(*mut c_void) -> *mut PJRT_Error;

/// Rows whose functions answer nothing: the header gives them no result.
const SILENT: [&str; 2] = ["PJRT_Error_Destroy", "PJRT_Error_Message"];

/// Rows that need no object: they succeed on a struct of zeros.
const WITHOUT_OBJECT: [&str; 6] = [
    "PJRT_Plugin_Initialize",
    "PJRT_Plugin_Attributes",
    "PJRT_Client_Create",
    "PJRT_Event_Create",
    "PJRT_ExecuteContext_Create",
    "PJRT_TopologyDescription_Create",
];

/// Rows that have nothing to do for a null object: the header allows it.
const NULL_IS_FINE: [&str; 2] = ["PJRT_Executable_Destroy", "PJRT_LoadedExecutable_Destroy"];

/// A struct longer than any of the interface, of zeros behind its size.
#[repr(C, align(16))]
struct Zeros {
    words: [usize; 64],
}

impl Zeros {
    /// `third` is the first field behind size and extensions: the object, in almost all structs.
    fn new(third: usize) -> Self {
        let mut words = [0; 64];
        words[0] = size_of::<Self>();
        words[2] = third;
        Self { words }
    }
}

/// The functions by name, in the table's order.
fn functions() -> Vec<(&'static str, RowState, AnyFunction)> {
    let first = offset_of!(PJRT_Api, PJRT_Error_Destroy);
    let base = ptr::from_ref(api()).cast::<u8>();
    let function = |(place, row): (usize, &pjrt_tpu_emu::api::Row)| {
        // SAFETY: inside the table, which holds nothing but function pointers from `first` on;
        // all take a pointer to their arguments, and all but the silent ones return an error.
        let function = unsafe {
            let slot = base.add(first + place * size_of::<usize>()).cast::<Option<AnyFunction>>();
            slot.read()
        };
        (row.name, row.state, function.unwrap_or_else(|| panic!("{} is null", row.name)))
    };
    ROWS.iter().enumerate().map(function).collect()
}

fn call_any(name: &str, function: AnyFunction, args: *mut c_void) -> Result<(), Failure> {
    // SAFETY: null, or a struct longer than the function's own.
    let error = unsafe { function(args) };
    if SILENT.contains(&name) { Ok(()) } else { outcome(error) }
}

#[test]
fn the_table_is_of_the_reported_version_and_as_long_as_its_rows() {
    assert_eq!(api().struct_size, size_of::<PJRT_Api>());
    assert_eq!(size_of::<PJRT_Api>(), 40 + 8 * ROWS.len());
    assert_eq!(ROWS.len(), 138);
    assert_eq!(api().pjrt_api_version.major_version, PJRT_API_MAJOR);
    assert_eq!(api().pjrt_api_version.minor_version, PJRT_API_MINOR);
    assert_eq!(PJRT_API_MAJOR, 0);
    assert!(api().pjrt_api_version.minor_version >= 29, "jaxlib refuses less");
    assert_eq!(functions().len(), ROWS.len());
}

#[test]
fn null_arguments_are_an_error_of_every_function() {
    for (name, _, function) in functions() {
        let answer = call_any(name, function, ptr::null_mut());
        if !SILENT.contains(&name) {
            assert_refused(answer, INVALID, &["null", name]);
        }
    }
}

#[test]
fn a_struct_of_no_size_is_an_error_of_every_function() {
    for (name, _, function) in functions() {
        let mut zeros = Zeros::new(0);
        zeros.words[0] = 0;
        let answer = call_any(name, function, (&raw mut zeros).cast());
        assert!(zeros.words.iter().all(|&word| word == 0), "{name} wrote");
        if !SILENT.contains(&name) {
            assert_refused(answer, INVALID, &["struct_size 0 ", name]);
        }
    }
}

#[test]
fn a_misaligned_struct_is_an_error_of_every_function() {
    for (name, _, function) in functions() {
        let mut zeros = Zeros::new(0);
        let inside = (&raw mut zeros).cast::<u8>().wrapping_add(4);
        let answer = call_any(name, function, inside.cast());
        if !SILENT.contains(&name) {
            assert_refused(answer, INVALID, &["not aligned", name]);
        }
    }
}

#[test]
fn a_function_that_is_not_done_says_so_by_name() {
    let missing: Vec<_> =
        functions().into_iter().filter(|(_, state, _)| *state == RowState::Missing).collect();
    for (name, _, function) in missing {
        let mut zeros = Zeros::new(0);
        let answer = call_any(name, function, (&raw mut zeros).cast());
        assert_refused(answer, UNIMPLEMENTED, &[name]);
    }
}

#[test]
fn a_null_object_is_an_error_of_every_function_that_needs_one() {
    for (name, state, function) in functions() {
        if state == RowState::Missing || SILENT.contains(&name) {
            continue;
        }
        let mut zeros = Zeros::new(0);
        let answer = call_any(name, function, (&raw mut zeros).cast());
        match WITHOUT_OBJECT.contains(&name) || NULL_IS_FINE.contains(&name) {
            true => assert_eq!(answer, Ok(()), "{name}"),
            false => assert_refused(answer, INVALID, &[name]),
        }
    }
}

/// The first field of its arguments is text.
const FIRST_IS_NO_OBJECT: [&str; 1] = ["PJRT_TopologyDescription_Deserialize"];

#[test]
fn an_object_of_another_kind_is_stale_to_every_function() {
    let event = call!(PJRT_Event_Create).unwrap().event;
    let context = call!(PJRT_ExecuteContext_Create).unwrap().context;
    for (name, state, function) in functions() {
        let skipped = [&SILENT[..], &WITHOUT_OBJECT, &FIRST_IS_NO_OBJECT].concat();
        if state == RowState::Missing || skipped.contains(&name) {
            continue;
        }
        let of_events = name.starts_with("PJRT_Event_");
        let mut args = Zeros::new(if of_events { context.addr() } else { event.addr() });
        let answer = call_any(name, function, (&raw mut args).cast());
        assert_refused(answer, INVALID, &["stale", name]);
    }
    call!(PJRT_Event_Destroy, event: event).unwrap();
    call!(PJRT_ExecuteContext_Destroy, context: context).unwrap();
}

#[test]
fn nothing_of_a_client_answers_once_the_client_is_destroyed() {
    let client = Client::new();
    let stale = [
        ("PJRT_Client_", client.raw.addr()),
        ("PJRT_Device_", client.device(0).addr()),
        ("PJRT_DeviceDescription_", client.description(0).addr()),
        ("PJRT_Memory_", client.hbm(0).addr()),
        (
            "PJRT_TopologyDescription_",
            call!(PJRT_Client_TopologyDescription, client: client.raw).unwrap().topology.addr(),
        ),
    ];
    drop(client);
    let mut asked = 0;
    for (name, state, function) in functions() {
        let skipped = [&WITHOUT_OBJECT[..], &FIRST_IS_NO_OBJECT].concat();
        let Some((_, object)) = stale.iter().find(|(prefix, _)| name.starts_with(prefix)) else {
            continue;
        };
        if state == RowState::Missing || skipped.contains(&name) {
            continue;
        }
        let mut args = Zeros::new(*object);
        let answer = call_any(name, function, (&raw mut args).cast());
        assert_refused(answer, INVALID, &["stale", name]);
        asked += 1;
    }
    assert!(asked > 40, "{asked}");
}
