//! `TpuProgram_*`: programs that TensorFlow's compile op makes. The emulator makes none, so that
//! every one is empty; arrays of them are the client's.
// UNSAFETY: exports functions, writes the client's results and frees what was given to it.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::{answer, handle_of, id_of, report};
use crate::memory;
use crate::params::TpuProgramFingerprint;
use crate::refused::refusal;
use crate::sys::{TF_Status, TpuSerializedProto, XLA_TpuProgram};
use std::ffi::c_int;
use std::ptr;
use tpu_emu::entry::FunctionName;
use tpu_emu::{Error, Id, Result, Table};

/// A program without a program.
#[derive(Debug)]
struct Program;

static PROGRAMS: Table<Program> = Table::new("XLA_TpuProgram", 140);

const EMPTY: &str = "the program is empty, because the emulator compiles none for TensorFlow";

fn id(program: *const XLA_TpuProgram) -> Result<Id<Program>> {
    id_of(program, "XLA_TpuProgram")
}

/// Whether the handle names a program.
fn check(program: *const XLA_TpuProgram) -> Result<()> {
    PROGRAMS.with(id(program)?, |_| ())
}

/// A new, empty program.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_New() -> *mut XLA_TpuProgram {
    answer(&"TpuProgram_New", ptr::null_mut(), || Ok(handle_of(PROGRAMS.insert(Program))))
}

/// Frees a program; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_Free(tpu_program: *mut XLA_TpuProgram) {
    if tpu_program.is_null() {
        return;
    }
    answer(&"TpuProgram_Free", (), || PROGRAMS.remove(id(tpu_program)?).map(drop));
}

/// An array of null programs.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_NewArray(count: usize) -> *mut *mut XLA_TpuProgram {
    answer(&"TpuProgram_NewArray", ptr::null_mut(), || {
        let count = memory::count_of(i64::try_from(count).unwrap_or(i64::MAX), "programs")?;
        Ok(memory::given(count, size_of::<*mut XLA_TpuProgram>()).address().cast())
    })
}

/// Frees an array; its programs stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuProgram_FreeArray(tpu_program: *mut *mut XLA_TpuProgram) {
    answer(&"TpuProgram_FreeArray", (), || {
        // SAFETY: null or from `TpuProgram_NewArray`, by the contract of the interface.
        unsafe { memory::take_back(tpu_program) };
        Ok(())
    });
}

/// Frees a program that no device holds.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_UnloadAndDestroy(
    tpu_program: *mut XLA_TpuProgram,
    status: *mut TF_Status,
) {
    report(&"TpuProgram_UnloadAndDestroy", status, || PROGRAMS.remove(id(tpu_program)?).map(drop));
}

/// Bytes of its code: 0.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_GetProgramSize(tpu_program: *const XLA_TpuProgram) -> i64 {
    answer(&"TpuProgram_GetProgramSize", 0, || check(tpu_program).map(|()| 0))
}

/// Whether a summary of its memory was logged: no, it has none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_LogProgramMemorySummary(tpu_program: *const XLA_TpuProgram) -> bool {
    answer(&"TpuProgram_LogProgramMemorySummary", false, || check(tpu_program).map(|()| false))
}

/// Whether it may write to variables: there is nothing that could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuProgram_GetMayModifyVariables(
    tpu_program: *const XLA_TpuProgram,
    may_modify_variables: *mut bool,
) {
    answer(&"TpuProgram_GetMayModifyVariables", (), || {
        // SAFETY: the contract of the interface.
        unsafe { memory::put(may_modify_variables, false, "may_modify_variables") }?;
        check(tpu_program)
    });
}

/// Whether it consists of a main part and parts that shard: no.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_HasSharding(tpu_program: *const XLA_TpuProgram) -> bool {
    answer(&"TpuProgram_HasSharding", false, || check(tpu_program).map(|()| false))
}

/// Refused: a part of a program; null.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_GetTpuProgram(
    tpu_program: *mut XLA_TpuProgram,
    _type: c_int,
) -> *mut XLA_TpuProgram {
    answer(&"TpuProgram_GetTpuProgram", ptr::null_mut(), || {
        check(tpu_program)?;
        Err(Error::Unimplemented(EMPTY.to_owned()))
    })
}

/// The fingerprint of its code: none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_GetFingerprint(
    tpu_program: *const XLA_TpuProgram,
) -> TpuProgramFingerprint {
    let none = TpuProgramFingerprint { bytes: ptr::null(), size: 0 };
    answer(&"TpuProgram_GetFingerprint", none, || check(tpu_program).map(|()| none))
}

/// Frees a fingerprint, of which none was given out.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_DestroyFingerprint(fingerprint: TpuProgramFingerprint) {
    answer(&"TpuProgram_DestroyFingerprint", (), || {
        if fingerprint.bytes.is_null() {
            return Ok(());
        }
        Err(Error::bad("a fingerprint that no program gave"))
    });
}

/// Answers for what only a program with contents has: no bytes, and an error.
fn nothing(
    function: FunctionName,
    program: *const XLA_TpuProgram,
    result: *mut TpuSerializedProto,
    status: *mut TF_Status,
) {
    report(function, status, || {
        let none = TpuSerializedProto { bytes: ptr::null(), size: 0 };
        // SAFETY: the contract of the interface.
        unsafe { memory::put(result, none, "serialized") }?;
        check(program)?;
        Err(refusal(function, EMPTY))
    });
}

macro_rules! messages {
    ($($(#[$meta:meta])* $name:ident;)*) => {
        $(
            $(#[$meta])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                tpu_program: *const XLA_TpuProgram,
                result: *mut TpuSerializedProto,
                status: *mut TF_Status,
            ) {
                nothing(&stringify!($name), tpu_program, result, status);
            }
        )*
    };
}

messages! {
    /// Refused: what its inputs and outputs are.
    TpuProgram_GetExecutableInfo;
    /// Refused: its host transfers.
    TpuProgram_GetHostTransferInfo;
    /// Refused: its HLO.
    TpuProgram_GetHloMetadata;
    /// Refused: its code.
    TpuProgram_SerializeTpuExecutable;
    /// Refused: what the compiler knew of it.
    TpuProgram_SerializeCompilerMetadata;
}

/// Refused: fills a program with what another process compiled.
#[unsafe(no_mangle)]
pub extern "C" fn TpuProgram_DeserializeFromGetTpuProgramResponseProto(
    _get_tpu_program_response: TpuSerializedProto,
    tpu_program: *mut XLA_TpuProgram,
    status: *mut TF_Status,
) {
    let name = &"TpuProgram_DeserializeFromGetTpuProgramResponseProto";
    report(name, status, || {
        check(tpu_program)?;
        Err(refusal(name, "the emulator reads no compiled programs of TensorFlow"))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::said;

    #[test]
    fn a_program_is_empty_and_says_so() {
        let program = TpuProgram_New();
        assert_eq!(TpuProgram_GetProgramSize(program), 0);
        assert!(!TpuProgram_HasSharding(program));
        assert!(!TpuProgram_LogProgramMemorySummary(program));
        assert!(TpuProgram_GetTpuProgram(program, 1).is_null());
        let fingerprint = TpuProgram_GetFingerprint(program);
        assert!(fingerprint.bytes.is_null());
        TpuProgram_DestroyFingerprint(fingerprint);
        let mut modifies = true;
        // SAFETY: a place for a bool.
        unsafe { TpuProgram_GetMayModifyVariables(program, &raw mut modifies) };
        assert!(!modifies);
        let mut bytes = TpuSerializedProto { bytes: c"old".as_ptr(), size: 3 };
        // SAFETY: a place for bytes.
        let error = said(|status| unsafe {
            TpuProgram_GetHloMetadata(program, &raw mut bytes, status);
        });
        let error = error.unwrap_err();
        assert!(error.starts_with("TpuProgram_GetHloMetadata: the program is empty"), "{error}");
        assert!(bytes.bytes.is_null());
        assert_eq!(bytes.size, 0);
        let error = said(|status| {
            TpuProgram_DeserializeFromGetTpuProgramResponseProto(bytes, program, status);
        });
        assert!(error.unwrap_err().contains("reads no compiled programs"));
        assert_eq!(said(|status| TpuProgram_UnloadAndDestroy(program, status)), Ok(()));
        let error = said(|status| TpuProgram_UnloadAndDestroy(program, status)).unwrap_err();
        assert!(error.contains("XLA_TpuProgram handle"), "{error}");
        TpuProgram_Free(TpuProgram_New());
        TpuProgram_Free(ptr::null_mut());
    }

    #[test]
    fn an_array_is_of_null_programs() {
        let array = TpuProgram_NewArray(3);
        // SAFETY: an array of three.
        let programs = unsafe { memory::slice(array.cast_const(), 3, "programs") }.unwrap();
        assert!(programs.iter().all(|program| program.is_null()));
        // SAFETY: from `TpuProgram_NewArray`.
        unsafe { TpuProgram_FreeArray(array) };
        assert!(TpuProgram_NewArray(usize::MAX).is_null());
    }
}
