//! Python text run in the interpreter that this process has.
// UNSAFETY: calls functions of the interpreter, found by their names.
#![expect(unsafe_code, reason = "the interpreter's C functions")]
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;
use tpu_emu::{Error, Result};

/// What running text takes. The signatures are those of every Python 3.
struct Interpreter {
    is_initialized: extern "C" fn() -> c_int,
    ensure: extern "C" fn() -> c_int,
    release: extern "C" fn(c_int),
    run: extern "C" fn(*const c_char) -> c_int,
}

impl Interpreter {
    fn find() -> Option<Self> {
        let is_initialized = symbol(c"Py_IsInitialized")?;
        let (ensure, release) = (symbol(c"PyGILState_Ensure")?, symbol(c"PyGILState_Release")?);
        let run = symbol(c"PyRun_SimpleString")?;
        // SAFETY: functions of these names have these types in every Python 3.
        unsafe {
            Some(Self {
                is_initialized: transmute::<*mut c_void, extern "C" fn() -> c_int>(is_initialized),
                ensure: transmute::<*mut c_void, extern "C" fn() -> c_int>(ensure),
                release: transmute::<*mut c_void, extern "C" fn(c_int)>(release),
                run: transmute::<*mut c_void, extern "C" fn(*const c_char) -> c_int>(run),
            })
        }
    }
}

fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up; both arguments are valid.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Runs a Python text with `globals` (C functions by their addresses) among its own; `false`
/// without an interpreter. `name` is the file and the module that tracebacks tell.
///
/// Nothing is left in `__main__`, nor taken from there. It takes the interpreter's lock, so the
/// caller may hold no lock that Python code could wait for. The interpreter prints the traceback
/// of an exception that the text lets out.
///
/// # Errors
/// `WrongState` where the text ended with an exception.
pub fn run_python(text: &str, name: &str, globals: &[(&str, usize)]) -> Result<bool> {
    let Some(interpreter) = Interpreter::find() else { return Ok(false) };
    if (interpreter.is_initialized)() == 0 {
        return Ok(false);
    }
    let wrapped = wrapped(text, name, globals)?;
    let state = (interpreter.ensure)();
    let ended = (interpreter.run)(wrapped.as_ptr());
    (interpreter.release)(state);
    match ended {
        0 => Ok(true),
        _ => Err(Error::WrongState("Python text ended with an exception".to_owned())),
    }
}

/// The text as one expression: its bytes in hexadecimal, compiled and run with its own globals.
fn wrapped(text: &str, name: &str, globals: &[(&str, usize)]) -> Result<CString> {
    let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let globals: String =
        globals.iter().map(|(name, value)| format!(", '{name}': {value}")).collect();
    let wrapped = format!(
        "(lambda b: b.exec(b.compile(b.bytes.fromhex('{bytes}').decode(), '{name}.py', 'exec'), \
         {{'__name__': 'tpu_emu_{name}'{globals}}}))(__import__('builtins'))"
    );
    CString::new(wrapped).map_err(|_| Error::bad("a text with a NUL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_one_statement_with_both_addresses() {
        let globals = [("REGISTER_TARGET", 1), ("REGISTER_TYPE", 2)];
        let script = wrapped("x = 1\n'\"'\n", "jax_hook", &globals).unwrap();
        let script = script.into_string().unwrap();
        assert!(!script.contains('\n'));
        let (_, globals) = script.split_once("'exec'), ").unwrap();
        assert!(globals.contains("'REGISTER_TARGET': 1") && globals.contains("'REGISTER_TYPE': 2"));
        assert!(globals.contains("'__name__': 'tpu_emu_jax_hook'"));
    }

    #[test]
    fn a_process_without_python_runs_nothing() {
        assert_eq!(run_python("raise RuntimeError", "error", &[("X", 1)]), Ok(false));
    }
}
