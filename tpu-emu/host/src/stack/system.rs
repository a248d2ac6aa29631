//! Walks a stack by the `backtrace` crate, that is by the system's unwinder.
// UNSAFETY: asks for a walk without the crate's lock.
#![expect(unsafe_code, reason = "the crate's lock could be held by nobody after a fork")]
use super::entry;
use super::modules::Modules;
use super::native::{MAX_FRAMES, NativeFrame};
use super::ways::Ways;

/// Addresses of which a thread remembers whether they are in a signal trampoline, a power of two.
const CACHED: usize = 256;

/// What a thread keeps between its walks.
pub(super) struct Tracer {
    trampolines: Ways<bool>,
}

impl Tracer {
    /// A tracer for any thread.
    pub(super) fn new() -> Self {
        Self { trampolines: Ways::new(CACHED, false) }
    }

    /// Forgets what was learnt of modules that may be gone.
    pub(super) fn clear(&mut self) {
        self.trampolines.clear();
    }

    /// Appends the calling thread's stack, innermost first, from the caller of the function that
    /// has `mark` in its own part of the stack.
    pub(super) fn walk(&mut self, mark: u64, modules: &Modules, frames: &mut Vec<NativeFrame>) {
        let mut inside = true;
        let mut interrupted = false;
        let take = |frame: &backtrace::Frame| {
            let (ip, sp) = (frame.ip().addr() as u64, frame.sp().addr() as u64);
            inside &= sp <= mark;
            if inside {
                return true;
            }
            if ip <= 1 || frames.len() == MAX_FRAMES {
                return false;
            }
            let pc = ip - u64::from(!interrupted);
            frames.push(NativeFrame { pc, sp });
            interrupted = self.is_trampoline(pc, modules);
            true
        };
        // SAFETY: the lock guards the crate's work with debugging information, which a walk over
        // `_Unwind_Backtrace` does not touch.
        unsafe { backtrace::trace_unsynchronized(take) };
    }

    /// Whether the caller of the function at `pc` was interrupted, so that its address is exact.
    fn is_trampoline(&mut self, pc: u64, modules: &Modules) -> bool {
        let known = self.trampolines.entry(pc);
        if known.0 != pc {
            *known = (pc, modules.at(pc).is_some_and(|module| entry::is_trampoline(module, pc)));
        }
        known.1
    }
}
