// UNSAFETY: handles a signal.
//! Interrupts (`SIGINT`) that the user sends while a kernel runs.
//!
//! Only while somebody listens there is a handler, which counts and calls the one that was there
//! before: Python's goes on to raise `KeyboardInterrupt`. A process that has none ends by the
//! signal, and one that ignores it goes on.
#![expect(unsafe_code, reason = "sigaction, and a call of the handler before")]
use libc::{c_int, c_void, sigaction, siginfo_t};
use parking_lot::Mutex;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tpu_emu::pallas::Heard;

/// Interrupts so far while somebody listened.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The handler before, and whether it takes three arguments.
static BEFORE: AtomicUsize = AtomicUsize::new(0);
static TAKES_THREE: AtomicBool = AtomicBool::new(false);

/// Who listens.
static LISTENERS: Mutex<usize> = Mutex::new(0);

/// Listens until it is dropped.
struct Listener;

impl Drop for Listener {
    fn drop(&mut self) {
        let mut listeners = LISTENERS.lock();
        *listeners -= 1;
        if *listeners == 0 {
            uninstall();
        }
    }
}

/// Begins to listen.
pub(crate) fn listen() -> Heard {
    let mut listeners = LISTENERS.lock();
    *listeners += 1;
    install();
    let listener = Listener;
    let before = COUNT.load(Ordering::Acquire);
    Box::new(move || {
        let _listens = &listener;
        COUNT.load(Ordering::Acquire) != before
    })
}

fn handler() -> usize {
    on_interrupt as *const () as usize
}

/// Puts the handler before the one that is there. The caller holds the lock.
fn install() {
    let Some(current) = current() else { return };
    let is_none = current.sa_sigaction == libc::SIG_DFL || current.sa_sigaction == libc::SIG_IGN;
    if is_none || current.sa_sigaction == handler() {
        return;
    }
    TAKES_THREE.store(current.sa_flags & libc::SA_SIGINFO != 0, Ordering::Release);
    BEFORE.store(current.sa_sigaction, Ordering::Release);
    let mut ours = current;
    ours.sa_sigaction = handler();
    ours.sa_flags |= libc::SA_SIGINFO;
    // SAFETY: the handler is one of three arguments, as the flags say.
    unsafe { sigaction(libc::SIGINT, &raw const ours, ptr::null_mut()) };
}

/// Gives the signal back to who had it, where nobody has taken it since. The caller holds the
/// lock.
fn uninstall() {
    let Some(mut current) = current() else { return };
    if current.sa_sigaction != handler() {
        return;
    }
    current.sa_sigaction = BEFORE.load(Ordering::Acquire);
    if !TAKES_THREE.load(Ordering::Acquire) {
        current.sa_flags &= !libc::SA_SIGINFO;
    }
    // SAFETY: what it was.
    unsafe { sigaction(libc::SIGINT, &raw const current, ptr::null_mut()) };
}

fn current() -> Option<sigaction> {
    let mut current = MaybeUninit::uninit();
    // SAFETY: the place is this function's, and filled where there is no error.
    unsafe {
        let failed = sigaction(libc::SIGINT, ptr::null(), current.as_mut_ptr());
        (failed == 0).then(|| current.assume_init())
    }
}

/// Nothing here but what a signal handler may do.
extern "C" fn on_interrupt(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    COUNT.fetch_add(1, Ordering::AcqRel);
    let before = BEFORE.load(Ordering::Acquire);
    if before == libc::SIG_DFL || before == libc::SIG_IGN {
        return;
    }
    if TAKES_THREE.load(Ordering::Acquire) {
        // SAFETY: the address of a handler of three arguments, as its flags said.
        let before: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
            unsafe { mem::transmute(before) };
        before(signal, info, context);
    } else {
        // SAFETY: the address of a handler of one argument, as its flags said.
        let before: extern "C" fn(c_int) = unsafe { mem::transmute(before) };
        before(signal);
    }
}
