//! The record of every change in memory: what it is, how it is encoded, how it reads as text.
//!
//! This module knows no writer: files and streams belong to the host.
use crate::ledger::Past;
use crate::origin::{FrameText, StackId, StackSource, Stacks};
use crate::tensor::ArraySpec;
use std::fmt;

mod encode;
mod text;

pub use encode::{Encoder, FORMAT_MAJOR, FORMAT_MINOR, Header, MAGIC, SpaceInfo, Usage};
pub use text::{change_text, stack_text};

/// What happened to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was taken.
    Allocate,
    /// It was given back.
    Free,
    /// There was no room for it; the address means nothing.
    Refused,
}

/// A change, with the description of the array.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The change itself.
    pub past: Past,
    /// What lies in the block.
    pub spec: &'a ArraySpec,
}

/// Where a machine's changes go, one call each, on the thread that made the change.
pub trait Sink: Send + Sync + fmt::Debug {
    /// Hears of the machine, once, before its first change.
    fn start(&self, topology: &str, spaces: &[SpaceInfo]);

    /// Takes one change. Called with no lock of the machine held.
    fn change(&self, change: &Change<'_>, names: &Names<'_>);
}

/// Turns stack numbers into frames and words.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The interned stacks.
    pub stacks: &'a Stacks,
    /// Who captured their frames.
    pub source: &'a dyn StackSource,
}

impl Names<'_> {
    /// The frames of a stack in words, innermost first, without those of the record keeping.
    pub fn stack(&self, id: StackId) -> Vec<FrameText> {
        let mut texts = Vec::new();
        for frame in self.stacks.frames(id) {
            self.source.describe(frame, &mut texts);
        }
        let first = texts.iter().position(|text| !is_record_keeping(text)).unwrap_or(0);
        texts.split_off(first)
    }
}

/// Whether a frame belongs to the capture itself, which stands inside the function recorded.
pub(crate) fn is_record_keeping(text: &FrameText) -> bool {
    const OWN: [&str; 3] = ["tpu_emu::ledger::", "tpu_emu::origin::", "tpu_host::stack::"];
    let of_capture =
        text.function.contains("::{{closure}}") || text.function.contains("::{closure");
    !text.python
        && (OWN.iter().any(|own| text.function.trim_start_matches('<').starts_with(own))
            || (of_capture && text.function.starts_with("tpu_emu::machine::")))
}
