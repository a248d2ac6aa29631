//! Python text run in the interpreter that this process has.
// UNSAFETY: calls functions of the interpreter, found by their names.
#![expect(unsafe_code, reason = "the interpreter's C functions")]
use std::ffi::{CStr, c_char, c_int, c_void};
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

/// Runs Python statements as a part of `__main__`; `false` without an interpreter.
///
/// It takes the interpreter's lock, so the caller may hold no lock that Python code could wait
/// for. The interpreter prints the traceback of an exception that the text lets out.
///
/// # Errors
/// `WrongState` where the text ended with an exception.
pub fn run_python(text: &CStr) -> Result<bool> {
    let Some(interpreter) = Interpreter::find() else { return Ok(false) };
    if (interpreter.is_initialized)() == 0 {
        return Ok(false);
    }
    let state = (interpreter.ensure)();
    let ended = (interpreter.run)(text.as_ptr());
    (interpreter.release)(state);
    match ended {
        0 => Ok(true),
        _ => Err(Error::WrongState("Python text ended with an exception".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_python_runs_nothing() {
        assert_eq!(run_python(c"raise RuntimeError"), Ok(false));
    }
}
