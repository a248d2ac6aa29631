// UNSAFETY: handles a signal.
//! A mapped file that another program cuts off: to write behind its end raises `SIGBUS`.
//!
//! The handler puts memory where the file was, notes that, and has the thread go on; the trace ends
//! then. Every other bus error goes to the handler that was there before, in its turn.
#![expect(unsafe_code, reason = "sigaction, and mmap in the handler")]
use libc::{c_int, c_void, sigaction, siginfo_t};
use parking_lot::Mutex;
use std::cell::UnsafeCell;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// Mapped files that a process can have at once.
const WINDOWS: usize = 8;

/// Handlers of others that are remembered.
const OTHERS: usize = 4;

/// Memory in which a bus error is that of a file that was cut off.
struct Watched {
    /// The first address; 0 for none.
    start: AtomicUsize,
    end: AtomicUsize,
    /// Whether it happened.
    hit: AtomicBool,
    /// The thread that writes there.
    writer: AtomicI32,
    taken: AtomicBool,
}

static WATCHED: [Watched; WINDOWS] = [const {
    Watched {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        hit: AtomicBool::new(false),
        writer: AtomicI32::new(0),
        taken: AtomicBool::new(false),
    }
}; WINDOWS];

/// What was installed before, the latest last.
struct Others {
    actions: [UnsafeCell<MaybeUninit<sigaction>>; OTHERS],
    /// How many there are.
    count: AtomicUsize,
    /// How many of them have not had their turn in the signal that is handled now.
    left: AtomicUsize,
}

// SAFETY: written by who holds `INSTALL`, each entry before the count that makes it known.
unsafe impl Sync for Others {}

static BEFORE: Others = Others {
    actions: [const { UnsafeCell::new(MaybeUninit::uninit()) }; OTHERS],
    count: AtomicUsize::new(0),
    left: AtomicUsize::new(0),
};

/// Held by who changes the handler.
static INSTALL: Mutex<()> = Mutex::new(());

/// Memory that is watched; no longer once it is forgotten.
#[derive(Debug)]
pub(crate) struct WatchedMemory(usize);

impl WatchedMemory {
    /// Watches memory; `None` where the process has too many mapped files, or takes no handler.
    pub(crate) fn watch(start: usize, length: usize) -> Option<Self> {
        if !install() {
            return None;
        }
        let free = |watched: &Watched| !watched.taken.swap(true, Ordering::AcqRel);
        let at = WATCHED.iter().position(free)?;
        let watched = &WATCHED[at];
        watched.hit.store(false, Ordering::Relaxed);
        watched.writer.store(0, Ordering::Relaxed);
        watched.end.store(start + length, Ordering::Relaxed);
        watched.start.store(start, Ordering::Release);
        Some(Self(at))
    }

    /// Whether a file was cut off here.
    pub(crate) fn is_hit(&self) -> bool {
        WATCHED[self.0].hit.load(Ordering::Acquire)
    }

    /// Says that this thread writes there, up to the end of what is returned.
    pub(crate) fn writing(&self) -> Writing {
        let thread = crate::stack::thread_number().cast_signed();
        WATCHED[self.0].writer.store(thread, Ordering::Relaxed);
        Writing(self.0)
    }

    /// Makes the handler the first again where another took its place.
    pub(crate) fn look_after_handler(&self) {
        install();
    }

    /// Watches it no more.
    pub(crate) fn forget(&mut self) {
        let watched = &WATCHED[self.0];
        watched.start.store(0, Ordering::Release);
        watched.taken.store(false, Ordering::Release);
        if WATCHED.iter().all(|watched| !watched.taken.load(Ordering::Acquire)) {
            uninstall();
        }
    }
}

/// A write that is under way.
#[derive(Debug)]
pub(crate) struct Writing(usize);

impl Drop for Writing {
    fn drop(&mut self) {
        WATCHED[self.0].writer.store(0, Ordering::Relaxed);
    }
}

/// Forgets all windows: the child of a fork has none of them.
pub(crate) fn forget_all() {
    WATCHED.iter().for_each(|watched| watched.start.store(0, Ordering::Release));
}

fn handler() -> usize {
    on_bus_error as *const () as usize
}

/// Makes the handler the first to hear of bus errors; whether it is.
fn install() -> bool {
    let _held = INSTALL.lock();
    let Some(current) = current() else { return false };
    if current.sa_sigaction == handler() {
        return true;
    }
    let known = BEFORE.count.load(Ordering::Acquire);
    let is_same =
        |at: &usize| other(*at).is_some_and(|action| action.sa_sigaction == current.sa_sigaction);
    // One that is remembered has ended those that came after it.
    let at = (0..known).find(is_same).unwrap_or(known);
    if at >= OTHERS {
        return false;
    }
    // SAFETY: the lock is held; a handler that runs now reads no entry at or above `count`.
    unsafe {
        BEFORE.count.store(at, Ordering::Release);
        (*BEFORE.actions[at].get()).write(current);
    }
    BEFORE.count.store(at + 1, Ordering::Release);
    BEFORE.left.store(at + 1, Ordering::Release);
    // SAFETY: zeros are a valid value of the struct.
    let mut ours: sigaction = unsafe { mem::zeroed() };
    ours.sa_sigaction = handler();
    // A handler of others may raise the signal again, which is to come at once.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: the handler is one of three arguments, as the flags say.
    unsafe { sigaction(libc::SIGBUS, &raw const ours, ptr::null_mut()) == 0 }
}

/// Gives the signal back to who had it, where nobody has taken it since.
fn uninstall() {
    let _held = INSTALL.lock();
    let known = BEFORE.count.load(Ordering::Acquire);
    let (Some(current), Some(latest)) = (current(), known.checked_sub(1).and_then(other)) else {
        return;
    };
    if current.sa_sigaction == handler() {
        // SAFETY: what it was.
        unsafe { sigaction(libc::SIGBUS, &raw const latest, ptr::null_mut()) };
    }
}

fn current() -> Option<sigaction> {
    let mut current = MaybeUninit::uninit();
    // SAFETY: the place is this function's, and filled where there is no error.
    unsafe {
        let failed = sigaction(libc::SIGBUS, ptr::null(), current.as_mut_ptr());
        (failed == 0).then(|| current.assume_init())
    }
}

/// A handler of others, by its place.
fn other(at: usize) -> Option<sigaction> {
    let known = at < BEFORE.count.load(Ordering::Acquire);
    // SAFETY: written before the count that makes it known.
    known.then(|| unsafe { (*BEFORE.actions[at].get()).assume_init() })
}

/// Nothing here but calls that a signal handler may make.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives a handler of three arguments what happened.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let is_fault = code > 0;
    // SAFETY: no arguments, no memory.
    let thread = unsafe { libc::gettid() };
    for watched in &WATCHED {
        let start = watched.start.load(Ordering::Acquire);
        let end = watched.end.load(Ordering::Relaxed);
        if start == 0 {
            continue;
        }
        if is_fault && (start..end).contains(&address) {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let place = ptr::with_exposed_provenance_mut(start);
            // SAFETY: the memory is that of the mapped file, whose owner waits for this handler.
            let put = unsafe { libc::mmap(place, end - start, access, kind, -1, 0) };
            if put != libc::MAP_FAILED {
                watched.hit.store(true, Ordering::Release);
                return;
            }
        }
        // A handler of others was first, and has raised the signal again: the instruction that it
        // stopped comes again, with its address.
        if !is_fault && watched.writer.load(Ordering::Relaxed) == thread {
            return;
        }
    }
    pass_on(signal, info, context, is_fault);
}

/// Leaves a bus error to who would have heard of it without this handler.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void, is_fault: bool) {
    let turn = |left: usize| left.checked_sub(1);
    let at = BEFORE.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, turn);
    let action = at.ok().and_then(|left| other(left - 1));
    let action = action.filter(|action| {
        action.sa_sigaction != libc::SIG_DFL && (action.sa_sigaction != libc::SIG_IGN || !is_fault)
    });
    match action {
        // The end of the process: the instruction comes again, or the signal does.
        None => {
            // SAFETY: zeros are a valid value, and mean the default.
            let default: sigaction = unsafe { mem::zeroed() };
            // SAFETY: as above.
            unsafe { sigaction(signal, &raw const default, ptr::null_mut()) };
            if !is_fault {
                // SAFETY: a number alone.
                unsafe { libc::raise(signal) };
            }
        }
        Some(action) if action.sa_sigaction == libc::SIG_IGN => {}
        Some(action) => {
            let address = action.sa_sigaction as *const ();
            // SAFETY: a handler that others installed, with the arguments that its flags ask for.
            unsafe {
                if action.sa_flags & libc::SA_SIGINFO == 0 {
                    mem::transmute::<*const (), extern "C" fn(c_int)>(address)(signal);
                } else {
                    type Full = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                    mem::transmute::<*const (), Full>(address)(signal, info, context);
                }
            }
        }
    }
    if at.is_ok() {
        BEFORE.left.fetch_add(1, Ordering::AcqRel);
    }
}
