//! Walks the native stack of the calling thread.
// UNSAFETY: reads the thread's own stack, and the registers it starts from.
#![expect(unsafe_code, reason = "a walk reads registers and stack memory")]
use super::cfi::{self, Base, Context, Place, Rule};
use super::modules::{self, Modules};
use super::ways::Ways;
use std::ops::Range;
use std::sync::Arc;

/// Frames a walk gives at most.
pub(super) const MAX_FRAMES: usize = 512;

/// Rules a thread remembers, a power of two.
const CACHED_RULES: usize = 1024;

/// Bytes of a stack that is not the thread's own which are looked at.
const FOREIGN_BYTES: usize = 64 << 10;

/// The registers a walk needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers {
    ip: u64,
    sp: u64,
    bp: u64,
}

impl Registers {
    /// Those of the function this is inlined into.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn here() -> Self {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: copies registers, touches neither memory nor flags.
        unsafe {
            std::arch::asm!(
                "lea {ip}, [rip]", "mov {sp}, rsp", "mov {bp}, rbp",
                ip = out(reg) ip, sp = out(reg) sp, bp = out(reg) bp,
                options(nomem, nostack, preserves_flags),
            );
        }
        Self { ip, sp, bp }
    }

    /// None that a walk could start from.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn here() -> Self {
        Self { ip: 0, sp: 0, bp: 0 }
    }
}

/// A function on the native stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NativeFrame {
    /// An address in the instruction that called or was interrupted.
    pub(super) pc: u64,
    /// Its stack pointer: its own part of the stack goes from here to the next frame's.
    pub(super) sp: u64,
}

/// What a thread keeps between its walks.
pub(super) struct Walker {
    modules: Arc<Modules>,
    rules: Ways<Rule>,
    context: Context,
    stack: Range<u64>,
    foreign: Vec<u64>,
    frames: Vec<NativeFrame>,
}

impl Walker {
    /// A walker for the calling thread.
    pub(super) fn new() -> Self {
        Self {
            modules: Arc::new(Modules::default()),
            rules: Ways::new(CACHED_RULES, Rule::Unknown),
            context: Context::new_in(),
            stack: own_stack(),
            foreign: Vec::new(),
            frames: Vec::with_capacity(MAX_FRAMES),
        }
    }

    /// The modules that the last walk knew.
    pub(super) fn modules(&self) -> &Modules {
        &self.modules
    }

    /// What the last walk found.
    pub(super) fn frames(&self) -> &[NativeFrame] {
        &self.frames
    }

    /// The stack above `from`, innermost first, without the function `from` was taken in.
    pub(super) fn walk(&mut self, from: Registers) -> &[NativeFrame] {
        self.refresh();
        self.frames.clear();
        let own = self.stack.contains(&from.sp);
        if !own {
            copy_stack(from.sp, &mut self.foreign);
        }
        let memory = Memory { own: own.then_some(from.sp..self.stack.end), copy: &self.foreign };
        let mut at = from;
        let mut pc = from.ip;
        while self.frames.len() < MAX_FRAMES {
            let entry = self.rules.entry(pc);
            if entry.0 != pc {
                let module = self.modules.at(pc);
                let rule = module.map(|module| cfi::rule(module, pc, &mut self.context));
                *entry = (pc, rule.unwrap_or(Rule::Unknown));
            }
            let Some((caller, interrupted)) = step(entry.1, at, from.sp, &memory) else { break };
            pc = caller.ip - u64::from(!interrupted);
            self.frames.push(NativeFrame { pc, sp: caller.sp });
            at = caller;
        }
        &self.frames
    }

    /// Looks at the modules again if the loader has changed them.
    fn refresh(&mut self) {
        if modules::counts() != self.modules.counts {
            self.modules = Arc::new(Modules::load());
            self.rules.clear();
        }
    }
}

/// The stack as far as it may be read.
struct Memory<'a> {
    /// The used part of the thread's own stack, read in place.
    own: Option<Range<u64>>,
    /// Else a copy, which begins at the stack pointer.
    copy: &'a [u64],
}

impl Memory<'_> {
    fn read(&self, address: u64, low: u64) -> Option<u64> {
        if !address.is_multiple_of(8) {
            return None;
        }
        let Some(own) = &self.own else {
            let index = address.checked_sub(low)? / 8;
            return self.copy.get(usize::try_from(index).ok()?).copied();
        };
        if address < own.start || address.checked_add(8)? > own.end {
            return None;
        }
        let place = std::ptr::with_exposed_provenance::<u64>(usize::try_from(address).ok()?);
        // SAFETY: aligned, and inside the used part of the calling thread's stack.
        Some(unsafe { place.read_volatile() })
    }
}

/// The caller's registers, and whether it was interrupted rather than calling.
fn step(rule: Rule, at: Registers, low: u64, memory: &Memory<'_>) -> Option<(Registers, bool)> {
    let Rule::Caller { cfa, cfa_in_memory, return_at, bp_at, interrupted } = rule else {
        return None;
    };
    let resolve = |place: Place, cfa: u64| {
        let base = match place.base {
            Base::Cfa => cfa,
            Base::Sp => at.sp,
            Base::Bp => at.bp,
        };
        base.wrapping_add_signed(i64::from(place.offset))
    };
    let mut sp = resolve(cfa, 0);
    if cfa_in_memory {
        sp = memory.read(sp, low)?;
    }
    if sp <= at.sp && !interrupted {
        return None;
    }
    let ip = memory.read(resolve(return_at, sp), low)?;
    let bp = match bp_at {
        Some(place) => memory.read(resolve(place, sp), low)?,
        None => at.bp,
    };
    (ip > 1).then_some((Registers { ip, sp, bp }, interrupted))
}

/// The bounds of the calling thread's stack, empty where unknown.
fn own_stack() -> Range<u64> {
    let mut base = std::ptr::null_mut();
    let mut size = 0;
    // SAFETY: the attributes are filled before they are read and destroyed after.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0..0;
        }
        libc::pthread_attr_getstack(&raw const attributes, &raw mut base, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
    }
    let base = base.addr() as u64;
    base..base + size as u64
}

/// Copies the stack from `sp` up, as far as it is mapped: the kernel finds the end.
fn copy_stack(sp: u64, copy: &mut Vec<u64>) {
    copy.clear();
    copy.resize(FOREIGN_BYTES / 8, 0);
    let Ok(start) = usize::try_from(sp) else { return copy.clear() };
    let local = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: FOREIGN_BYTES };
    let from = std::ptr::with_exposed_provenance_mut(start);
    let remote = libc::iovec { iov_base: from, iov_len: FOREIGN_BYTES };
    // SAFETY: writes into `copy`, which has the room; the kernel checks the other side.
    let read = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    copy.truncate(usize::try_from(read).unwrap_or(0) / 8);
}

thread_local! {
    static NUMBER: u32 = number();
}

/// The operating system's number of the calling thread; 0 while the thread ends.
pub(super) fn thread_number() -> u32 {
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

fn number() -> u32 {
    // SAFETY: no arguments, no memory, no failure.
    u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[inline(never)]
    fn both(ours: &mut Vec<u64>, theirs: &mut Vec<u64>) {
        let mut walker = Walker::new();
        ours.extend(walker.walk(Registers::here()).iter().map(|frame| frame.pc + 1));
        backtrace::trace(|frame| {
            theirs.extend(Some(frame.ip().addr() as u64).filter(|&ip| ip != 0));
            true
        });
    }

    fn deep(depth: usize, ours: &mut Vec<u64>, theirs: &mut Vec<u64>) {
        match depth {
            0 => both(ours, theirs),
            _ => deep(depth - 1, ours, theirs),
        }
        std::hint::black_box(ours);
    }

    fn compare(depth: usize) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        deep(depth, &mut ours, &mut theirs);
        // Theirs begins inside `trace`; ours with the caller of `both`.
        let start = theirs.iter().position(|&ip| ip == ours[0]).expect("ours begin in theirs");
        let length = (theirs.len() - start).min(MAX_FRAMES);
        assert_eq!(ours, theirs[start..start + length]);
        assert!(length > depth.min(MAX_FRAMES - 1), "{length} frames");
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

    #[test]
    fn a_copied_stack_gives_the_same_frames() {
        let mut walker = Walker::new();
        let here = Registers::here();
        let own = walker.walk(here).to_vec();
        walker.stack = 0..0;
        assert_eq!(walker.walk(here)[..3], own[..3]);
    }

    #[test]
    fn unmapped_memory_is_not_read() {
        let mut copy = Vec::new();
        copy_stack(4096, &mut copy);
        assert_eq!(copy, []);
    }
}
