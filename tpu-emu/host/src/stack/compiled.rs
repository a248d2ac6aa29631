//! Walks a stack by rules that are compiled once for each address.
// UNSAFETY: reads the thread's own stack, and the registers it starts from.
#![expect(unsafe_code, reason = "a walk reads registers and stack memory")]
use super::cfi::{self, Base, BaseOffset, CfiContext, Rule};
use super::modules::Modules;
use super::native::{MAX_FRAMES, NativeFrame};
use super::ways::Ways;
use std::ops::Range;

/// Rules a thread remembers, a power of two.
const CACHED_RULES: usize = 1024;

/// Bytes of a stack that is not the thread's own which are looked at.
const FOREIGN_BYTES: usize = 64 << 10;

/// Whether there are rules for this architecture.
pub(super) const EXISTS: bool = true;

/// The registers a walk needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers {
    ip: u64,
    sp: u64,
    bp: u64,
}

impl Registers {
    /// Those of the function this is inlined into.
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
}

/// What a thread keeps between its walks by rules.
pub(super) struct Rules {
    rules: Ways<Rule>,
    context: CfiContext,
    stack: Range<u64>,
    foreign: Vec<u64>,
}

impl Rules {
    /// Rules for the calling thread.
    pub(super) fn new() -> Self {
        Self {
            rules: Ways::new(CACHED_RULES, Rule::Unknown),
            context: CfiContext::new_in(),
            stack: own_stack(),
            foreign: Vec::new(),
        }
    }

    /// Forgets what was learnt of modules that may be gone.
    pub(super) fn clear(&mut self) {
        self.rules.clear();
    }

    /// Appends the stack above `from`, innermost first, without the function `from` was taken in.
    pub(super) fn walk(
        &mut self,
        from: Registers,
        modules: &Modules,
        frames: &mut Vec<NativeFrame>,
    ) {
        let own = self.stack.contains(&from.sp);
        if !own {
            copy_stack(from.sp, &mut self.foreign);
        }
        let memory =
            StackBytes { own: own.then_some(from.sp..self.stack.end), copy: &self.foreign };
        let mut at = from;
        let mut pc = from.ip;
        while frames.len() < MAX_FRAMES {
            let entry = self.rules.entry(pc);
            if entry.0 != pc {
                let module = modules.at(pc);
                let rule = module.map(|module| cfi::rule(module, pc, &mut self.context));
                *entry = (pc, rule.unwrap_or(Rule::Unknown));
            }
            let Some((caller, interrupted)) = step(entry.1, at, from.sp, &memory) else { break };
            pc = caller.ip - u64::from(!interrupted);
            frames.push(NativeFrame { pc, sp: caller.sp });
            at = caller;
        }
    }
}

/// The stack as far as it may be read.
struct StackBytes<'a> {
    /// The used part of the thread's own stack, read in place.
    own: Option<Range<u64>>,
    /// Else a copy, which begins at the stack pointer.
    copy: &'a [u64],
}

impl StackBytes<'_> {
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
fn step(rule: Rule, at: Registers, low: u64, memory: &StackBytes<'_>) -> Option<(Registers, bool)> {
    let Rule::Caller { cfa, cfa_in_memory, return_at, bp_at, interrupted } = rule else {
        return None;
    };
    let resolve = |place: BaseOffset, cfa: u64| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_stack_gives_the_same_frames() {
        let (modules, mut rules) = (Modules::load(), Rules::new());
        let here = Registers::here();
        let (mut own, mut copied) = (Vec::new(), Vec::new());
        rules.walk(here, &modules, &mut own);
        rules.stack = 0..0;
        rules.walk(here, &modules, &mut copied);
        assert_eq!(copied[..3], own[..3]);
    }

    #[test]
    fn unmapped_memory_is_not_read() {
        let mut copy = Vec::new();
        copy_stack(4096, &mut copy);
        assert!(copy.is_empty(), "{copy:?}");
    }
}
