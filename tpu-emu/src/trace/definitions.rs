//! What a trace has defined: each spec, frame, stack and label before its first use, once.
use super::Names;
use super::record::{RecordKind, number, record, text};
use crate::hbm::spec::ArraySpec;
use crate::origin::{Frame, FrameText, LabelId, StackId};
use std::collections::HashSet;
use tpu_base::units::to_u64;

/// A set of small numbers, a bit each.
#[derive(Debug, Default)]
struct NumberSet(Vec<u64>);

impl NumberSet {
    /// Adds a number; whether it is new.
    fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }
}

/// What was defined so far.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    specs: NumberSet,
    stacks: NumberSet,
    labels: NumberSet,
    frames: HashSet<Frame>,
    /// Frames of the function by which JAX frees all that it holds.
    clean_up_frames: HashSet<Frame>,
    /// Stacks that have such a frame.
    clean_ups: HashSet<StackId>,
}

impl Definitions {
    /// Whether a stack that was defined is that of JAX's clean-up.
    pub(super) fn is_clean_up(&self, stack: StackId) -> bool {
        !self.clean_ups.is_empty() && self.clean_ups.contains(&stack)
    }

    pub(super) fn spec(&mut self, spec: &ArraySpec, out: &mut Vec<u8>) {
        if !self.specs.insert(spec.number) {
            return;
        }
        record(out, RecordKind::Spec, |payload| {
            number(payload, spec.number.into());
            text(payload, spec.dtype.name());
            number(payload, to_u64(spec.dims.len()));
            spec.dims.iter().for_each(|&dim| number(payload, dim));
            text(payload, &spec.layout.to_string());
            number(payload, spec.logical.0);
            number(payload, spec.padded.0);
        });
    }

    pub(super) fn label(&mut self, label: LabelId, names: &Names<'_>, out: &mut Vec<u8>) {
        if label == LabelId::NONE || !self.labels.insert(label.0) {
            return;
        }
        record(out, RecordKind::Label, |payload| {
            number(payload, label.0.into());
            text(payload, &names.labels.text(label).unwrap_or_default());
        });
    }

    /// Defines the nodes of a stack that are new, outermost first.
    pub(super) fn stack(&mut self, stack: StackId, names: &Names<'_>, out: &mut Vec<u8>) {
        let mut new = Vec::new();
        let mut node = stack;
        while node != StackId::EMPTY && self.stacks.insert(node.0) {
            let Some((frame, caller)) = names.stacks.node(node) else { break };
            new.push((node, frame, caller));
            node = caller;
        }
        for (node, frame, caller) in new.into_iter().rev() {
            self.frame(frame, node == stack, names, out);
            if self.clean_up_frames.contains(&frame) || self.clean_ups.contains(&caller) {
                self.clean_ups.insert(node);
            }
            record(out, RecordKind::Stack, |payload| {
                number(payload, node.0.into());
                number(payload, caller.0.into());
                number(payload, frame.0);
            });
        }
    }

    fn frame(&mut self, frame: Frame, innermost: bool, names: &Names<'_>, out: &mut Vec<u8>) {
        if !self.frames.insert(frame) {
            return;
        }
        let mut texts: Vec<FrameText> = Vec::new();
        names.frame(frame, innermost, &mut texts);
        if texts.iter().any(is_clean_up) {
            self.clean_up_frames.insert(frame);
        }
        record(out, RecordKind::Frame, |payload| {
            number(payload, frame.0);
            number(payload, to_u64(texts.len()));
            for part in &texts {
                number(payload, u64::from(part.python));
                text(payload, &part.function);
                text(payload, &part.file);
                number(payload, part.line.into());
                text(payload, &part.module);
            }
        });
    }
}

/// Whether this is the function that JAX runs at the end of the interpreter.
fn is_clean_up(part: &FrameText) -> bool {
    part.python && part.function == "clean_up" && part.file.ends_with("jax/_src/api.py")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once() {
        let mut numbers = NumberSet::default();
        assert_eq!(
            [3, 64, 3, 0, 1000, 64].map(|at| numbers.insert(at)),
            [true, true, false, true, true, false]
        );
    }
}
