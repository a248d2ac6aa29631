//! The native stack of the calling thread.
// UNSAFETY: asks the system for the thread's number.
#![expect(unsafe_code, reason = "a call of the system")]
use super::Unwinder;
use super::compiled::{Registers, Rules};
use super::modules::{self, Modules};
use super::system::Tracer;
use std::hint::black_box;
use std::sync::Arc;

/// Frames a walk gives at most.
pub(super) const MAX_FRAMES: usize = 512;

/// A function on the native stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NativeFrame {
    /// An address in the instruction that called or was interrupted.
    pub(super) pc: u64,
    /// The stack pointer: its own part of the stack goes from here to the next frame's.
    pub(super) sp: u64,
}

/// Where a walk starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    registers: Registers,
    /// An address in the function's own part of the stack.
    mark: u64,
}

impl Start {
    /// The function this is inlined into, whose caller is the first frame.
    #[inline(always)]
    pub(super) fn here() -> Self {
        let own = 0_u8;
        let mark = black_box(&raw const own).addr() as u64;
        Self { registers: Registers::here(), mark }
    }
}

/// What a thread keeps between its walks.
pub(super) struct Walker {
    modules: Arc<Modules>,
    rules: Option<Rules>,
    tracer: Option<Tracer>,
    frames: Vec<NativeFrame>,
}

impl Walker {
    /// A walker for the calling thread.
    pub(super) fn new() -> Self {
        let (modules, frames) = (Arc::new(Modules::default()), Vec::with_capacity(MAX_FRAMES));
        Self { modules, rules: None, tracer: None, frames }
    }

    /// The modules that the last walk knew.
    pub(super) fn modules(&self) -> &Modules {
        &self.modules
    }

    /// What the last walk found.
    pub(super) fn frames(&self) -> &[NativeFrame] {
        &self.frames
    }

    /// The stack, innermost first, from the caller of the function in which `from` was taken.
    pub(super) fn walk(&mut self, unwinder: Unwinder, from: Start) -> &[NativeFrame] {
        self.refresh();
        self.frames.clear();
        let Self { modules, rules, tracer, frames } = self;
        match unwinder {
            Unwinder::Compiled => {
                rules.get_or_insert_with(Rules::new).walk(from.registers, modules, frames);
            }
            Unwinder::Backtrace => {
                tracer.get_or_insert_with(Tracer::new).walk(from.mark, modules, frames);
            }
        }
        &self.frames
    }

    /// Looks at the modules again if the loader has changed them.
    fn refresh(&mut self) {
        if modules::counts() != self.modules.counts {
            self.modules = Arc::new(Modules::load());
            self.rules.iter_mut().for_each(Rules::clear);
            self.tracer.iter_mut().for_each(Tracer::clear);
        }
    }
}

thread_local! {
    static NUMBER: u32 = number();
}

/// The operating system's number of the calling thread; 0 while the thread ends.
pub(crate) fn thread_number() -> u32 {
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

fn number() -> u32 {
    // SAFETY: no arguments, no memory, no failure.
    u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::ffi::{c_int, c_void};

    /// The stack of the caller by an unwinder, and all that the crate itself finds.
    #[inline(never)]
    fn both(unwinder: Unwinder, ours: &mut Vec<u64>, theirs: &mut Vec<u64>) {
        let mut walker = Walker::new();
        ours.extend(walker.walk(unwinder, Start::here()).iter().map(|frame| frame.pc + 1));
        backtrace::trace(|frame| {
            theirs.extend(Some(frame.ip().addr() as u64).filter(|&ip| ip != 0));
            true
        });
    }

    fn deep(depth: usize, unwinder: Unwinder, ours: &mut Vec<u64>, theirs: &mut Vec<u64>) {
        match depth {
            0 => both(unwinder, ours, theirs),
            _ => deep(depth - 1, unwinder, ours, theirs),
        }
        black_box(ours);
    }

    fn compare(depth: usize) {
        for &unwinder in Unwinder::all() {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            deep(depth, unwinder, &mut ours, &mut theirs);
            // Theirs begins inside `trace`; ours with the caller of `both`.
            let start = theirs.iter().position(|&ip| ip == ours[0]).expect("ours begin in theirs");
            let length = (theirs.len() - start).min(MAX_FRAMES);
            assert_eq!(ours, theirs[start..start + length], "{unwinder:?}");
            assert!(length > depth.min(MAX_FRAMES - 1), "{length} frames");
        }
    }

    #[test]
    fn a_walk_gives_the_frames_of_the_system_unwinder() {
        compare(50);
    }

    #[test]
    fn a_walk_stops_at_its_limit() {
        compare(1000);
    }

    #[test]
    fn a_small_stack_is_enough() {
        let thread = std::thread::Builder::new().stack_size(32 << 10).spawn(|| compare(3));
        thread.unwrap().join().unwrap();
    }

    /// What each unwinder finds from one place, its addresses and stack pointers.
    static FOUND: Mutex<Vec<Vec<NativeFrame>>> = Mutex::new(Vec::new());

    extern "C" fn by_each(_: c_int) {
        let (mut walker, start) = (Walker::new(), Start::here());
        *FOUND.lock() = Unwinder::all().iter().map(|&by| walker.walk(by, start).to_vec()).collect();
    }

    extern "C" fn interrupt(_: *const c_void, _: *const c_void) -> c_int {
        // SAFETY: the handler runs at once, in this thread.
        unsafe { libc::raise(libc::SIGUSR2) }
    }

    #[test]
    fn every_unwinder_finds_the_same_behind_functions_of_c_and_interrupted_ones() {
        let mut numbers = [2, 1];
        // SAFETY: the handler takes a lock that nobody holds; the function compares no memory.
        unsafe {
            libc::signal(libc::SIGUSR2, by_each as *const () as libc::sighandler_t);
            libc::qsort(numbers.as_mut_ptr().cast(), 2, size_of::<i32>(), Some(interrupt));
        }
        let found = FOUND.lock();
        let own = interrupt as *const () as u64;
        assert!(found[0].iter().any(|frame| (own..own + 256).contains(&frame.pc)), "{found:#x?}");
        assert!(found.iter().all(|frames| *frames == found[0]), "{found:#x?}");
    }
}
