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

/// Whether a frame may belong to the capture itself, which stands inside the function recorded.
///
/// Only the frames before the first other one are of the capture: the standard library's calls
/// between them count here, and mean nothing further out. A function that the compiler inlined
/// has no path in its name, so the file counts as well.
pub(crate) fn is_record_keeping(text: &FrameText) -> bool {
    const OWN: [&str; 3] = ["tpu_emu::ledger::", "tpu_emu::origin::", "tpu_host::stack::"];
    const OWN_FILES: [&str; 3] = ["tpu-emu/src/ledger/", "tpu-emu/src/origin", "host/src/stack/"];
    const STANDARD: [&str; 3] = ["std::", "core::", "alloc::"];
    const STANDARD_FILES: [&str; 3] =
        ["library/std/src/", "library/core/src/", "library/alloc/src/"];
    let name = text.function.trim_start_matches('<');
    let is_closure = text.function.contains("{closure") || text.function.contains("{{closure}}");
    let of_machine =
        name.starts_with("tpu_emu::machine::") || text.file.ends_with("tpu-emu/src/machine.rs");
    let named = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let within = |folders: &[&str]| folders.iter().any(|folder| text.file.contains(folder));
    !text.python
        && (named(&OWN)
            || within(&OWN_FILES)
            || (is_closure && of_machine)
            || named(&STANDARD)
            || within(&STANDARD_FILES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(function: &str, file: &str) -> FrameText {
        FrameText { function: function.to_owned(), file: file.to_owned(), ..FrameText::default() }
    }

    #[test]
    fn a_stack_begins_at_the_heap_whether_or_not_the_capture_was_inlined() {
        let once = "/rustc/0123/library/std/src/sync/once.rs";
        let own = [
            text("{closure#0}", "/a/tpu-emu/src/ledger/mod.rs"),
            text(
                "try_with<core::cell::RefCell<()>>",
                "/rustc/0123/library/std/src/thread/local.rs",
            ),
            text("origin", "/a/tpu-emu/src/ledger/mod.rs"),
            text("{closure#0}", "/a/tpu-emu/src/machine.rs"),
            text("<std::sys::sync::once::futex::Once>::call", once),
            text("tpu_host::stack::native::walk", ""),
            text("tpu_emu::machine::Emulator::allocate_destination_buffer::{{closure}}", ""),
        ];
        own.iter().for_each(|frame| assert!(is_record_keeping(frame), "{frame:?}"));
        let recorded = [
            text("tpu_emu::hbm::heap::Heap<R>::allocate", "/a/tpu-emu/src/hbm/heap.rs"),
            text("allocate_destination_buffer", "/a/tpu-emu/src/machine.rs"),
            text("xla::PjRtCApiClient::BufferFromHostBuffer", ""),
            FrameText { python: true, ..text("core::main", "library/std/src/x.py") },
        ];
        recorded.iter().for_each(|frame| assert!(!is_record_keeping(frame), "{frame:?}"));
    }
}
