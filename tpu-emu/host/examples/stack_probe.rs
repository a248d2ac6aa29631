//! A library for tests: captures the stack of whoever calls it and gives it as text.
// UNSAFETY: exports C functions, and returns text that the caller reads as a C string.
#![expect(unsafe_code, reason = "exports a C interface")]
#![expect(clippy::disallowed_methods, reason = "measures time")]
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Instant;
use tpu_emu::origin::{Frame, FrameText, StackSource};
use tpu_host::stack::{ProcessStacks, StackMode, Unwinder};

const MODES: [StackMode; 4] =
    [StackMode::Full, StackMode::Native, StackMode::Python, StackMode::Off];

static SOURCES: LazyLock<[ProcessStacks; 4]> = LazyLock::new(|| MODES.map(ProcessStacks::new));

/// Full stacks by each unwinder of the architecture.
static BY_UNWINDER: LazyLock<Vec<ProcessStacks>> = LazyLock::new(|| {
    Unwinder::all().iter().map(|&by| ProcessStacks::by(by, StackMode::Full)).collect()
});

thread_local!(static TEXT: RefCell<CString> = RefCell::default());

/// Captures in the given mode: 0 full, 1 native, 2 Python, 3 off.
///
/// Gives one line a function: `py` or `c`, the function, the file and the line, with tabs between.
/// The text is valid until the thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn probe_capture(mode: u32) -> *const c_char {
    let source = &SOURCES[mode as usize % MODES.len()];
    let mut frames = Vec::new();
    source.capture(&mut frames);
    text_of(source, &frames)
}

/// Nanoseconds of one capture, the mean of `rounds`.
#[unsafe(no_mangle)]
pub extern "C" fn probe_nanoseconds(mode: u32, rounds: u32) -> f64 {
    let source = &SOURCES[mode as usize % MODES.len()];
    let mut frames = Vec::new();
    let start = Instant::now();
    for _ in 0..rounds {
        frames.clear();
        source.capture(&mut frames);
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds)
}

/// Full stacks at one place by every unwinder: their texts with form feeds between. Native frames
/// have their addresses too.
#[unsafe(no_mangle)]
pub extern "C" fn probe_unwinders() -> *const c_char {
    let mut stacks: Vec<Vec<Frame>> = vec![Vec::new(); BY_UNWINDER.len()];
    for (source, frames) in BY_UNWINDER.iter().zip(&mut stacks) {
        source.capture(frames);
    }
    let texts = BY_UNWINDER.iter().zip(&stacks).map(|(source, frames)| {
        let native = frames.iter().filter(|&&frame| source.is_native(frame));
        let addresses: String = native.map(|frame| format!("{:#x}\n", frame.0)).collect();
        lines(source, frames) + &addresses
    });
    keep(texts.collect::<Vec<_>>().join("\u{c}"))
}

/// Captures `rounds` times; gives the number of frames.
#[unsafe(no_mangle)]
pub extern "C" fn probe_count(mode: u32) -> usize {
    let mut frames = Vec::new();
    SOURCES[mode as usize % MODES.len()].capture(&mut frames);
    frames.len()
}

fn text_of(source: &ProcessStacks, frames: &[Frame]) -> *const c_char {
    keep(lines(source, frames))
}

fn lines(source: &ProcessStacks, frames: &[Frame]) -> String {
    let mut text = String::new();
    for &frame in frames {
        let mut texts = Vec::new();
        source.describe(frame, &mut texts);
        for FrameText { function, file, line, python, .. } in &texts {
            let kind = if *python { "py" } else { "c" };
            let _ = writeln!(text, "{kind}\t{function}\t{file}\t{line}");
        }
    }
    text
}

fn keep(text: String) -> *const c_char {
    TEXT.with(|kept| {
        *kept.borrow_mut() = CString::new(text.replace('\0', "")).unwrap_or_default();
        kept.borrow().as_ptr()
    })
}
