//! Stacks as a view has them, each made once: many blocks have the same.
use crate::event::Event;
use crate::face::{Call, Face, calls};
use crate::tables::Trace;
use std::collections::HashMap;

/// The shown stacks of a trace, by place.
pub(super) struct ShownStacks<'a> {
    trace: &'a Trace,
    face: Face,
    /// By the stack, the label, and the array type where there is no label.
    known: HashMap<(u32, u32, u32), u32>,
    stacks: Vec<Vec<Call>>,
}

impl<'a> ShownStacks<'a> {
    /// None yet.
    pub(super) fn new(trace: &'a Trace, face: Face) -> Self {
        Self { trace, face, known: HashMap::new(), stacks: Vec::new() }
    }

    /// The place of what is shown of an event's stack, and whether it is a new one.
    pub(super) fn place(&mut self, event: &Event) -> (u32, bool) {
        let spec = if event.label == 0 { event.spec } else { 0 };
        let next = u32::try_from(self.stacks.len()).unwrap_or(u32::MAX);
        let place = *self.known.entry((event.stack, event.label, spec)).or_insert(next);
        if place == next {
            self.stacks.push(calls(self.trace, event, self.face));
        }
        (place, place == next)
    }

    /// The calls of a place, outermost first, and what the block was taken for as the last.
    pub(super) fn calls(&self, place: u32) -> &[Call] {
        &self.stacks[place as usize]
    }
}
