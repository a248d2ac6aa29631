//! Who asked: stacks of addresses, interned, and the cause of a change in memory.
use std::fmt;
use tpu_base::units::Nanos;

mod change;
mod labels;
mod stacks;

pub use change::{ChangeKind, Origin, Past, Record};
pub use labels::{LabelId, Labels};
pub use stacks::{StackId, Stacks};

/// One captured frame: an address, no name. The source that captured it can name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame(pub u64);

/// What a frame is, in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrameText {
    /// The function, demangled; for an unknown one the module and offset.
    pub function: String,
    /// Source file, empty where unknown.
    pub file: String,
    /// Line in `file`, 0 where unknown.
    pub line: u32,
    /// The library or program that holds the code; `python` for a Python frame.
    pub module: String,
    /// Whether it is a Python frame.
    pub python: bool,
}

/// Where stacks come from. The host walks Python and native frames; tests give fixed ones.
pub trait StackSource: Send + Sync + fmt::Debug {
    /// Appends the calling thread's frames, innermost first, without the capture's own.
    ///
    /// Called on the caller's thread, with no lock of the emulator held.
    fn capture(&self, frames: &mut Vec<Frame>);

    /// Whether a captured frame is native code; the first native one is the caller of `capture`.
    fn is_native(&self, _frame: Frame) -> bool {
        true
    }

    /// The operating system's number of the calling thread.
    fn thread(&self) -> u32 {
        0
    }

    /// Appends the text of a captured frame: one entry, or several, innermost first, where
    /// the compiler inlined functions into one address.
    fn describe(&self, frame: Frame, texts: &mut Vec<FrameText>);
}

/// A source of no stacks.
#[derive(Debug, Default)]
pub(crate) struct NoStacks;

impl StackSource for NoStacks {
    fn capture(&self, _: &mut Vec<Frame>) {}

    fn describe(&self, _: Frame, _: &mut Vec<FrameText>) {}
}

/// A monotonic clock, injected so that tests are deterministic.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Time since the machine was made.
    fn now(&self) -> Nanos;
}
