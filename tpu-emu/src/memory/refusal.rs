//! What a refused allocation met, as a trace of its own, for who explains it to the client.
use super::{Memories, Memory, MemoryKind};
use crate::hbm::spec::ArraySpec;
use crate::origin::{ChangeKind, Frame, FrameText, LabelId, Origin, Past, Record, StackSource};
use crate::trace::{Change, Encoder, FreeList, HOLES_LISTED, Header, LaunchNeeds, Names};
use std::fmt;
use std::sync::Arc;
use tpu_base::error::{Code, Error};
use tpu_base::units::{Bytes, DevAddr};

/// Says in words for people why an allocation found no room.
pub trait Explain: Send + Sync + fmt::Debug {
    /// `moment` makes a trace of what lives in the memory, with the refusal at its end. `None`
    /// where there is nothing to say.
    fn explain(&self, moment: &dyn Fn(&Header<'_>) -> Vec<u8>) -> Option<String>;
}

/// Why a block was not taken.
#[derive(Debug)]
pub(crate) struct NotTaken {
    pub(crate) error: Error,
    /// Who asked for it, where a heap was asked. The ledger has not heard of it yet.
    pub(crate) record: Option<Record>,
}

impl From<Error> for NotTaken {
    fn from(error: Error) -> Self {
        Self { error, record: None }
    }
}

/// An allocation that found no room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused<'a> {
    pub(crate) spec: &'a ArraySpec,
    pub(crate) memory: Memory,
    pub(crate) label: LabelId,
    pub(crate) origin: Origin,
}

/// Frames of Python alone: the names of native code take long to find, and explain nothing.
#[derive(Debug)]
struct PythonAlone<'a>(&'a dyn StackSource);

impl StackSource for PythonAlone<'_> {
    fn capture(&self, frames: &mut Vec<Frame>) {
        self.0.capture(frames);
    }

    fn is_native(&self, frame: Frame) -> bool {
        self.0.is_native(frame)
    }

    fn describe(&self, frame: Frame, texts: &mut Vec<FrameText>) {
        if !self.0.is_native(frame) {
            self.0.describe(frame, texts);
        }
    }
}

impl Memories {
    /// Who says to clients from now on why there is no room; the first who is named stays.
    pub fn explain_refusals(&self, explainer: Arc<dyn Explain>) {
        let _ = self.explainer.set(explainer);
    }

    /// Tells the ledger of an allocation that found no room, with what its launch needs, if it is
    /// one of a launch.
    pub(crate) fn note_refusal(&self, refused: Refused<'_>, launch: Option<&LaunchNeeds>) {
        let Refused { spec, memory, .. } = refused;
        let free = self.ledger.is_heard().then(|| {
            let launch = launch.cloned();
            FreeList { launch, ..self.free_list(memory, spec.padded) }
        });
        self.ledger.note(self.past(refused, spec.padded), spec, free.as_ref());
    }

    /// A refusal as the ledger has it.
    fn past(&self, refused: Refused<'_>, size: Bytes) -> Past {
        let Refused { spec, memory, label, origin } = refused;
        Past {
            kind: ChangeKind::Refused,
            space: self.space(memory),
            sequence: 0,
            address: DevAddr(0),
            size,
            record: Record { origin, spec: spec.number, label },
        }
    }

    /// What is free of a memory in which `asked` bytes found no room.
    fn free_list(&self, memory: Memory, asked: Bytes) -> FreeList {
        let heap = self.heap(memory);
        let holes = heap.holes(HOLES_LISTED);
        FreeList {
            space: self.space(memory),
            sequence: holes.sequence,
            asked: asked.round_up(heap.space().granule).unwrap_or(asked),
            in_use: holes.in_use,
            free: holes.free,
            count: holes.count,
            holes: holes.largest,
            launch: None,
        }
    }

    /// The error for the client: the words of the real TPU, and beneath them who holds the memory
    /// and what would make it fit, if somebody says so.
    pub(crate) fn explained(
        &self,
        error: Error,
        refused: Refused<'_>,
        launch: Option<&LaunchNeeds>,
    ) -> Error {
        let is_full = matches!(error, Error::OutOfMemory { .. });
        let explainer = self.explainer.get().filter(|_| is_full && !self.is_forked());
        let Some(explainer) = explainer.filter(|_| refused.memory.kind == MemoryKind::Device)
        else {
            return error;
        };
        match explainer.explain(&|header| self.moment_of(header, refused, launch)) {
            Some(words) => {
                let message = format!("{error}\n\n{}", words.trim_end());
                Error::Verbatim { code: Code::ResourceExhausted, message: message.into() }
            }
            None => error,
        }
    }

    /// What lives in the memory of a refusal, and the refusal, as a trace.
    fn moment_of(
        &self,
        header: &Header<'_>,
        refused: Refused<'_>,
        launch: Option<&LaunchNeeds>,
    ) -> Vec<u8> {
        let Refused { spec, memory, .. } = refused;
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        encoder.start(header, &self.space_infos(), &mut out);
        let names = self.ledger.names();
        let python = PythonAlone(names.source);
        let names = Names { source: &python, ..names };
        self.each_live_in(self.space(memory), |change| encoder.change(change, &names, &mut out));
        let mut free = self.free_list(memory, spec.padded);
        free.launch = launch.cloned();
        let past = self.past(refused, free.asked);
        encoder.change(&Change { past, spec, free: Some(&free) }, &names, &mut out);
        out
    }

    /// Bytes that an array takes in a memory, with the heap's rounding.
    pub(crate) fn rounded(&self, memory: Memory, size: Bytes) -> Bytes {
        size.round_up(self.heap(memory).space().granule).unwrap_or(size)
    }
}
