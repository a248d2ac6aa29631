//! The record of every change in memory: what it is, how it is encoded, how it reads as text.
//!
//! This module knows no writer: files and streams belong to the host.
use crate::hbm::spec::ArraySpec;
use crate::origin::{Frame, FrameText, Labels, Origin, Past, StackId, StackSource, Stacks};
use std::fmt;

mod definitions;
mod dispatched;
mod encode;
mod encode_notes;
mod notes;
mod record;
mod session;
mod text;

pub use dispatched::{Dispatched, Operand};
pub use encode::{Encoder, Header, Loss, MAGIC, SpaceInfo, Usage};
pub use encode_notes::COUNTS_BYTES;
pub use notes::{
    ApiCall, ApiCalls, CallCounts, ClientEnd, FreeList, HOLES_LISTED, LaunchArgument, LaunchNeeds,
    LaunchRun, Mark, Note, OtherPlanned, Places, PlannedValue, ProgramPlan, RefusedProgram,
};
pub use session::{Operation, Session};
pub use text::{change_text, dispatched_text, fault_text, note_text};
pub use tpu_base::record_sum::RecordSum;

/// A change, with the description of the array.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The change itself.
    pub past: Past,
    /// What lies in the block.
    pub spec: &'a ArraySpec,
    /// Of a refusal, what was free.
    pub free: Option<&'a FreeList>,
}

/// A call that was refused because of what its client gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault<'a> {
    /// What was wrong.
    pub message: &'a str,
    /// Who called.
    pub origin: Origin,
}

/// Where a machine's changes go, one call each, on the thread that made the change.
pub trait Sink: Send + Sync + fmt::Debug {
    /// Hears of the machine, once, before its first change.
    fn start(&self, topology: &str, spaces: &[SpaceInfo]);

    /// Takes one change. Called with no lock of the machine held.
    fn change(&self, change: &Change<'_>, names: &Names<'_>);

    /// Takes one stage of a custom call that has ended. Called with no lock of the machine held.
    fn dispatched(&self, dispatched: &Dispatched, names: &Names<'_>);

    /// Takes one call that was refused. Called with no lock of the machine held.
    fn fault(&self, fault: &Fault<'_>, names: &Names<'_>);

    /// Takes what else is told. Called with no lock of the machine held.
    fn note(&self, note: &Note<'_>, names: &Names<'_>);
}

/// Turns stack numbers into frames and words.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The interned stacks.
    pub stacks: &'a Stacks,
    /// What blocks are for.
    pub labels: &'a Labels,
    /// Who captured their frames.
    pub source: &'a dyn StackSource,
}

impl Names<'_> {
    /// The frames of a stack in words, innermost first.
    pub fn stack(&self, id: StackId) -> Vec<FrameText> {
        let mut texts = Vec::new();
        for (depth, frame) in self.stacks.frames(id).into_iter().enumerate() {
            self.frame(frame, depth == 0, &mut texts);
        }
        texts
    }

    /// Appends a frame in words. What was inlined into the innermost function of a stack is the
    /// record keeping itself, and is left out.
    fn frame(&self, frame: Frame, innermost: bool, texts: &mut Vec<FrameText>) {
        let first = texts.len();
        self.source.describe(frame, texts);
        if innermost && texts.len() > first + 1 {
            texts.drain(first..texts.len() - 1);
        }
    }
}
