//! Stacks of the calling thread: native and Python frames in one list.
//!
//! A capture takes addresses and reads no file; names are looked up when somebody reads a report.
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod cfi;
mod code;
#[cfg(all(target_arch = "x86_64", not(tpu_emu_portable)))]
mod compiled;
#[cfg(not(all(target_arch = "x86_64", not(tpu_emu_portable))))]
#[path = "uncompiled.rs"]
mod compiled;
mod elf;
mod entry;
mod functions;
mod join;
mod layout;
mod lines;
mod linetable;
mod mapped_file;
mod modules;
mod native;
mod python;
mod rows;
mod symbols;
mod system;
mod units;
mod ways;

use self::code::{CodeCache, Codes};
pub(crate) use self::native::thread_number;
use self::native::{Start, Walker};
use self::python::PythonStack;
use self::symbols::Symbols;
use std::cell::RefCell;
use std::fmt;
use std::path::PathBuf;
use tpu_emu::origin::{Frame, FrameText, StackSource};

/// Which frames a capture takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StackMode {
    /// Native and Python frames.
    #[default]
    Full,
    /// Native frames only.
    Native,
    /// Python frames only.
    Python,
    /// No frames.
    Off,
}

/// Who walks native stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwinder {
    /// Rules that are compiled once for each address, on architectures that have them.
    Compiled,
    /// The `backtrace` crate, over the system's unwinder.
    Backtrace,
}

impl Unwinder {
    /// Those of this architecture, the one to be preferred first.
    pub fn all() -> &'static [Self] {
        match compiled::EXISTS {
            true => &[Self::Compiled, Self::Backtrace],
            false => &[Self::Backtrace],
        }
    }
}

impl Default for Unwinder {
    fn default() -> Self {
        Self::all()[0]
    }
}

/// The file that the code of a captured native frame comes from.
pub(crate) fn library_of(frame: Frame) -> Option<PathBuf> {
    if code::is_python(frame) {
        return None;
    }
    modules::module_of(frame.0).0.map(|module| module.path.clone())
}

/// The stacks of this process.
///
/// A native frame is a code address, in bits 48 to 62 the number of modules that had been at it
/// before; a Python frame has bit 63 set, then 32 bits of code number and 31 of instruction.
/// Frames are only to be described by the value that captured them.
#[derive(Default)]
pub struct ProcessStacks {
    mode: StackMode,
    unwinder: Unwinder,
    codes: Codes,
    symbols: Symbols,
}

thread_local! {
    /// What the calling thread keeps between its captures.
    static THREAD: RefCell<Option<Box<Thread>>> = const { RefCell::new(None) };
}

struct Thread {
    walker: Walker,
    python: PythonStack,
    /// The source whose codes `cache` knows.
    source: usize,
    cache: CodeCache,
}

impl ProcessStacks {
    /// Stacks with the frames that `mode` asks for.
    pub fn new(mode: StackMode) -> Self {
        Self::by(Unwinder::default(), mode)
    }

    /// Stacks with the frames that `mode` asks for, walked by `unwinder`, one of [`Unwinder::all`].
    pub fn by(unwinder: Unwinder, mode: StackMode) -> Self {
        Self { mode, unwinder, ..Self::default() }
    }

    fn capture_from(&self, start: Start, thread: &mut Thread, frames: &mut Vec<Frame>) {
        let Thread { walker, python, source, cache } = thread;
        let own = std::ptr::from_ref(self).addr();
        if *source != own {
            (*source, *cache) = (own, CodeCache::new());
        }
        python.clear();
        if self.mode != StackMode::Native {
            python::walk(python, &self.codes, cache, || modules::counts().adds);
        }
        if self.mode == StackMode::Python {
            return frames.extend_from_slice(&python.frames);
        }
        walker.walk(self.unwinder, start);
        let name = |address| Frame(walker.modules().frame(address));
        join::join(walker.frames(), python, name, frames);
    }
}

impl StackSource for ProcessStacks {
    #[inline(never)]
    fn capture(&self, frames: &mut Vec<Frame>) {
        if self.mode == StackMode::Off {
            return;
        }
        let start = Start::here();
        // A thread that ends has no frames any more, and a capture inside a capture has none.
        let _ = THREAD.try_with(|thread| {
            let Ok(mut thread) = thread.try_borrow_mut() else { return };
            let thread = thread.get_or_insert_with(Thread::new);
            self.capture_from(start, thread, frames);
        });
    }

    fn is_native(&self, frame: Frame) -> bool {
        !code::is_python(frame)
    }

    fn thread(&self) -> u32 {
        thread_number()
    }

    fn describe(&self, frame: Frame, texts: &mut Vec<FrameText>) {
        if code::is_python(frame) {
            texts.push(self.codes.describe(frame));
        } else {
            self.symbols.describe(frame, texts);
        }
    }
}

impl Thread {
    fn new() -> Box<Self> {
        let (walker, python) = (Walker::new(), PythonStack::default());
        Box::new(Self { walker, python, source: 0, cache: CodeCache::new() })
    }
}

impl fmt::Debug for ProcessStacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessStacks").field("mode", &self.mode).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(stacks: &ProcessStacks, frames: &[Frame]) -> Vec<FrameText> {
        let mut texts = Vec::new();
        frames.iter().for_each(|&frame| stacks.describe(frame, &mut texts));
        texts
    }

    #[inline(never)]
    fn caller(stacks: &dyn StackSource, frames: &mut Vec<Frame>) -> u32 {
        stacks.capture(frames);
        std::hint::black_box(frames);
        line!() - 2
    }

    #[test]
    fn the_first_frame_is_the_caller_of_capture() {
        for &unwinder in Unwinder::all() {
            let stacks = ProcessStacks::by(unwinder, StackMode::Full);
            let mut frames = Vec::new();
            let line = caller(&stacks, &mut frames);
            let texts = names(&stacks, &frames);
            assert!(texts[0].function.ends_with("tests::caller"), "{texts:#?}");
            assert!(texts[0].file.ends_with("stack/mod.rs"));
            assert_eq!(texts[0].line, line);
            let test = "the_first_frame_is_the_caller_of_capture";
            assert!(texts[1].function.ends_with(test), "{texts:#?}");
        }
    }

    #[test]
    fn off_takes_nothing_and_a_program_without_python_has_no_python_frames() {
        for mode in [StackMode::Off, StackMode::Python] {
            let mut frames = Vec::new();
            ProcessStacks::new(mode).capture(&mut frames);
            assert!(frames.is_empty(), "{frames:?}");
        }
    }

    #[test]
    fn frames_are_appended() {
        let mut frames = vec![Frame(1)];
        ProcessStacks::new(StackMode::Native).capture(&mut frames);
        assert_eq!(frames[0], Frame(1));
        assert!(frames.len() > 2);
    }

    #[test]
    fn a_thread_local_destructor_may_capture() {
        struct OnExit;
        impl Drop for OnExit {
            fn drop(&mut self) {
                ProcessStacks::new(StackMode::Full).capture(&mut Vec::new());
            }
        }
        thread_local!(static LAST: OnExit = const { OnExit });
        let thread = std::thread::spawn(|| {
            LAST.with(|_| ProcessStacks::new(StackMode::Full).capture(&mut Vec::new()));
        });
        thread.join().unwrap();
    }
}
