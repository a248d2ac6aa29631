//! What `jax.ffi` registers for platform tpu: a Python text inside of JAX and the C functions that
//! it calls.
// UNSAFETY: C functions whose arguments are structs that the text next to this file makes.
#![expect(unsafe_code, reason = "functions that Python calls")]
use super::{Bundle, Deleter, register_type, register_typed, register_untyped};
use crate::boundary::{CArgs, Caller, end_of, with_args};
use std::ffi::{c_char, c_int, c_void};
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::{Error, Result};

/// Runs the text in the interpreter, where there is one. What goes wrong is logged: a client
/// without handlers is better than none.
pub(crate) fn install() {
    let target: *const () = (register_target as HookEntry<TargetArgs>) as *const ();
    let type_: *const () = (register_type_id as HookEntry<TypeArgs>) as *const ();
    let globals = [
        ("REGISTER_TARGET", target.expose_provenance()),
        ("REGISTER_TYPE", type_.expose_provenance()),
        ("PJRT_API", crate::GetPjrtApi().expose_provenance()),
    ];
    match tpu_host::run_python(include_str!("jax_hook.py"), "jax_hook", &globals) {
        Ok(true) => tracing::debug!("jax.ffi registers targets of platform tpu here"),
        Ok(false) => tracing::debug!("no Python in this process"),
        Err(error) => tracing::warn!(%error, "jax.ffi does not reach the emulated TPU"),
    }
}

type HookEntry<A> = unsafe extern "C" fn(*mut A) -> c_int;

/// Room for the text of an error, which ends with a NUL.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct ErrorText {
    text: *mut c_char,
    size: usize,
}

impl ErrorText {
    fn write(self, caller: &Caller, text: &str) -> Result<()> {
        let Some(most) = self.size.checked_sub(1) else { return Ok(()) };
        let mut bytes = text.as_bytes()[..text.floor_char_boundary(most)].to_vec();
        bytes.push(0);
        caller.write_all(self.text.cast(), &bytes, "room for an error")
    }
}

/// `Target` of the text.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct TargetArgs {
    struct_size: usize,
    name: *const c_char,
    name_size: usize,
    platform: *const c_char,
    platform_size: usize,
    origin: *const c_char,
    origin_size: usize,
    /// 0 for the untyped interface, 1 for the typed one.
    api_version: i64,
    instantiate: usize,
    prepare: usize,
    initialize: usize,
    execute: usize,
    record: usize,
    traits: u64,
    room: ErrorText,
}

// SAFETY: a C struct of numbers and pointers, which begins with its size.
unsafe impl CArgs for TargetArgs {
    const NAME: &'static str = "jax.ffi target";
}

/// `Type` of the text.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct TypeArgs {
    struct_size: usize,
    name: *const c_char,
    name_size: usize,
    /// An `XLA_FFI_TypeId`, in and out.
    number: *mut i64,
    /// An `XLA_FFI_TypeInfo`, or null.
    info: *const TypeInfo,
    room: ErrorText,
}

// SAFETY: as above.
unsafe impl CArgs for TypeArgs {
    const NAME: &'static str = "jax.ffi type";
}

/// The fields of `XLA_FFI_TypeInfo` that all its versions have.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct TypeInfo {
    struct_size: usize,
    extension_start: *const c_void,
    deleter: Option<Deleter>,
}

// SAFETY: as above.
unsafe impl CArgs for TypeInfo {
    const NAME: &'static str = "XLA_FFI_TypeInfo";
}

/// Answers with the code of an error and its text in `room`, or with 0.
///
/// # Safety
/// As for [`with_args`].
unsafe fn answer<A: CArgs>(
    function: FunctionName,
    args: *mut A,
    room: fn(&A) -> ErrorText,
    body: fn(&Caller, &A) -> Result<()>,
) -> c_int {
    let served = entry::enter(function, || {
        let body = |caller: &Caller, args: &mut A| {
            let done = body(caller, args);
            if let Err(error) = &done {
                room(args).write(caller, &error.to_string())?;
            }
            done
        };
        // SAFETY: the promise of this function's caller.
        unsafe { with_args(args, size_of::<A>(), body) }
    });
    served.map_or_else(|error| error.code() as c_int, |()| 0)
}

unsafe extern "C" fn register_target(args: *mut TargetArgs) -> c_int {
    // SAFETY: the text passes a whole struct with valid pointers.
    unsafe { answer(&"jax.ffi.register_ffi_target", args, |args| args.room, target) }
}

unsafe extern "C" fn register_type_id(args: *mut TypeArgs) -> c_int {
    // SAFETY: as above.
    unsafe { answer(&"jax.ffi.register_ffi_type", args, |args| args.room, type_id) }
}

fn target(caller: &Caller, args: &TargetArgs) -> Result<()> {
    let name = caller.text(args.name, args.name_size, "name")?;
    let platform = caller.text(args.platform, args.platform_size, "platform")?;
    let origin = caller.text(args.origin, args.origin_size, "origin")?;
    let TargetArgs { instantiate, prepare, initialize, execute, record, .. } = *args;
    match args.api_version {
        0 => register_untyped(&name, &platform, execute, origin),
        1 => {
            let bundle = Bundle { instantiate, prepare, initialize, execute, record };
            let traits = u32::try_from(args.traits).map_err(|_| {
                Error::bad(format!("target {name:?} has traits {:#x}", args.traits))
            })?;
            register_typed(&name, &platform, bundle, traits, origin)
        }
        other => Err(Error::Unimplemented(format!(
            "target {name:?} of api_version {other}; there are 0, untyped, and 1, typed"
        ))),
    }
}

fn type_id(caller: &Caller, args: &TypeArgs) -> Result<()> {
    let name = caller.text(args.name, args.name_size, "name")?;
    let number = caller.slice(args.number.cast_const(), 1, "type_id")?[0];
    let deleter = if args.info.is_null() {
        None
    } else {
        caller.read_sized(args.info, end_of!(TypeInfo, deleter))?.deleter
    };
    let number = register_type(&name, number, deleter)?;
    caller.write(args.number, number, "type_id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_cut_at_a_letter_and_ends_with_a_nul() {
        let mut room = [1u8; 4];
        let place = ErrorText { text: room.as_mut_ptr().cast(), size: room.len() };
        // SAFETY: the room is valid.
        let caller = unsafe { Caller::new() };
        place.write(&caller, "aé€").unwrap();
        assert_eq!(&room, &[b'a', 0xc3, 0xa9, 0]);
    }
}
