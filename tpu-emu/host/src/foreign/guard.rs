//! The frame that takes every exception, and its handler.
// UNSAFETY: a function in assembly, and the functions of the unwinder.
#![expect(unsafe_code, reason = "the unwinder's C functions")]
use super::runtime::{Exception, finish};
use super::{Arguments, Thrown};
use std::arch::global_asm;
use std::ffi::{c_int, c_void};
use std::ptr;

// The frame keeps the place for the exception in rbx, which the unwinder restores on the way.
// The handler is found by a pointer relative to its place (0x1b).
global_asm!(
    ".pushsection .text.tpu_emu_guard,\"ax\",@progbits",
    ".hidden tpu_emu_guard_call",
    ".globl tpu_emu_guard_call",
    ".type tpu_emu_guard_call,@function",
    "tpu_emu_guard_call:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}",
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "mov rbx, rdx",
    "mov rax, rdi",
    "mov r10, rsi",
    "mov rdi, [r10]",
    "mov rsi, [r10 + 8]",
    "mov rdx, [r10 + 16]",
    "mov rcx, [r10 + 24]",
    "mov r8, [r10 + 32]",
    "call rax",
    ".cfi_remember_state",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_restore_state",
    ".hidden tpu_emu_guard_caught",
    ".globl tpu_emu_guard_caught",
    "tpu_emu_guard_caught:",
    "mov [rbx], rax",
    "xor eax, eax",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    ".size tpu_emu_guard_call, . - tpu_emu_guard_call",
    ".popsection",
    personality = sym personality,
);

unsafe extern "C" {
    fn tpu_emu_guard_call(
        function: *const (),
        arguments: *const Arguments,
        caught: *mut *mut Exception,
    ) -> usize;
    /// A place in the function above, not a function.
    fn tpu_emu_guard_caught();
}

#[link(name = "gcc_s")]
unsafe extern "C" {
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut c_void, value: usize);
}

// Numbers of the unwinder. Source: the Itanium C++ ABI, exception handling, level 1.
const SEARCH_PHASE: c_int = 1;
const HANDLER_FRAME: c_int = 4;
const FORCE_UNWIND: c_int = 8;
const HANDLER_FOUND: c_int = 6;
const INSTALL_CONTEXT: c_int = 7;
const CONTINUE_UNWIND: c_int = 8;
/// The register rax in the unwinder's numbers.
const RAX: c_int = 0;

/// Takes everything that comes through the one call of the frame: exceptions, and the unwinding of
/// a thread that ends itself.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    exception: *mut Exception,
    context: *mut c_void,
) -> c_int {
    if actions & SEARCH_PHASE != 0 {
        return HANDLER_FOUND;
    }
    if actions & (HANDLER_FRAME | FORCE_UNWIND) == 0 {
        return CONTINUE_UNWIND;
    }
    // SAFETY: the unwinder's context, in the phase in which it may be changed.
    unsafe {
        _Unwind_SetGR(context, RAX, exception.expose_provenance());
        _Unwind_SetIP(context, (tpu_emu_guard_caught as *const ()).expose_provenance());
    }
    INSTALL_CONTEXT
}

/// Calls a function; what it threw is read and ended.
///
/// # Safety
/// As for [`super::call`].
pub(super) unsafe fn call(function: *const (), arguments: &Arguments) -> Result<usize, Thrown> {
    let mut caught: *mut Exception = ptr::null_mut();
    // SAFETY: the promise of this function's caller.
    let returned = unsafe { tpu_emu_guard_call(function, arguments, &raw mut caught) };
    if caught.is_null() {
        return Ok(returned);
    }
    // SAFETY: an exception that was taken, once.
    Err(unsafe { finish(caught) })
}

#[cfg(test)]
mod tests {
    use super::super::call;
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    unsafe extern "C" fn sum(a: usize, b: usize, c: usize, d: usize, e: usize) -> usize {
        a + 10 * b + 100 * c + 1000 * d + 10_000 * e
    }

    unsafe extern "C" {
        fn _Unwind_RaiseException(exception: *mut Exception) -> c_int;
        fn pthread_exit(value: *mut c_void) -> !;
    }

    static ENDED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn cleanup(_: c_int, exception: *mut Exception) {
        ENDED.fetch_add(1, Ordering::SeqCst);
        // SAFETY: from `raise`, once.
        drop(unsafe { Box::from_raw(exception) });
    }

    fn raise() {
        let exception = Box::into_raw(Box::new(Exception::new(0x4142_4344_4546_4748, cleanup)));
        let raise: *const () = (_Unwind_RaiseException as *const ()).cast();
        // SAFETY: the function takes an exception.
        let thrown = unsafe { call(raise, [exception.expose_provenance(), 0, 0, 0, 0]) };
        let text = thrown.unwrap_err().to_string();
        assert_eq!(text, "threw an exception of class \"ABCDEFGH\"");
    }

    #[test]
    fn a_call_has_its_arguments_and_its_result() {
        // SAFETY: a function of this test.
        let sum = unsafe { call(sum as *const (), [1, 2, 3, 4, 5]) };
        assert_eq!(sum.ok(), Some(54_321));
    }

    #[test]
    fn an_exception_ends_at_the_call_and_is_deleted() {
        let before = ENDED.load(Ordering::SeqCst);
        (0..3).for_each(|_| raise());
        assert_eq!(ENDED.load(Ordering::SeqCst) - before, 3);
    }

    #[test]
    fn a_thread_that_ends_itself_inside_of_a_call_goes_on_behind_it() {
        let thread = std::thread::spawn(|| {
            // SAFETY: it takes a pointer, and never returns.
            let ended = unsafe { call(pthread_exit as *const (), [0; 5]) };
            ended.unwrap_err().to_string()
        });
        assert_eq!(thread.join().unwrap(), "wanted to end its thread");
    }
}
