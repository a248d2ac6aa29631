//! Metadata of instructions as locations.
use std::collections::HashMap;
use std::sync::Arc;
use tpu_proto::xla::{OpMetadata, StackFrameIndexProto};
use tpu_stablehlo::ir::{Location, LocationId, Locations};

/// Locations of a module while it is read.
#[derive(Debug)]
pub(crate) struct Metadata<'a> {
    pub(crate) locations: Locations,
    stacks: StackFrames<'a>,
    frames: Vec<Option<LocationId>>,
    known: HashMap<LocationKey<'a>, LocationId>,
}

type StackFrames<'a> = Option<&'a StackFrameIndexProto>;
type LocationKey<'a> = (&'a str, i32, &'a str, i32, i32);

impl<'a> Metadata<'a> {
    pub(crate) fn new(stacks: Option<&'a StackFrameIndexProto>) -> Self {
        let frames = stacks.map_or(0, |stacks| stacks.stack_frames.len());
        let frames = vec![None; frames];
        Self { locations: Locations::default(), stacks, frames, known: HashMap::new() }
    }

    /// Where an instruction comes from.
    pub(crate) fn of(&mut self, metadata: Option<&'a OpMetadata>) -> LocationId {
        let Some(of) = metadata else { return LocationId::UNKNOWN };
        let (frame, line, column) = (of.stack_frame_id, of.source_line, of.source_column);
        let key = (&*of.op_name, frame, &*of.source_file, line, column);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let mut place = self.frame(frame);
        if place == LocationId::UNKNOWN && !of.source_file.is_empty() {
            place = self.file(&of.source_file, line, column);
        }
        if !of.op_name.is_empty() {
            place = self.locations.add(Location::Name(Arc::from(&*of.op_name), place));
        }
        self.known.insert(key, place);
        place
    }

    fn file(&mut self, file: &str, line: i32, column: i32) -> LocationId {
        let whole = |number: i32| u32::try_from(number).unwrap_or(0);
        self.locations.add(Location::File {
            file: file.into(),
            line: whole(line),
            column: whole(column),
        })
    }

    /// The stack with this number, counted from 1. Callers have smaller numbers; a stack that
    /// breaks this ends there.
    fn frame(&mut self, id: i32) -> LocationId {
        let Some(stacks) = self.stacks else { return LocationId::UNKNOWN };
        let index = |id: i32| usize::try_from(id).ok()?.checked_sub(1);
        let mut chain = Vec::new();
        let mut caller = LocationId::UNKNOWN;
        let mut next = index(id).filter(|&frame| frame < self.frames.len());
        while let Some(frame) = next {
            if let Some(known) = self.frames[frame] {
                caller = known;
                break;
            }
            chain.push(frame);
            next = index(stacks.stack_frames[frame].parent_frame_id).filter(|up| *up < frame);
        }
        for frame in chain.into_iter().rev() {
            let at = index(stacks.stack_frames[frame].file_location_id);
            let Some(at) = at.and_then(|at| stacks.file_locations.get(at)) else { continue };
            let text = |list: &'a [String], id| {
                index(id).and_then(|at| list.get(at)).map_or("", String::as_str)
            };
            let file = text(&stacks.file_names, at.file_name_id);
            let function = text(&stacks.function_names, at.function_name_id);
            let mut place = self.file(file, at.line, at.column);
            if !function.is_empty() {
                place = self.locations.add(Location::Name(function.into(), place));
            }
            if caller != LocationId::UNKNOWN {
                place = self.locations.add(Location::CallSite(place, caller));
            }
            self.frames[frame] = Some(place);
            caller = place;
        }
        caller
    }
}

#[cfg(test)]
mod tests {
    use super::Metadata;
    use tpu_proto::xla::stack_frame_index_proto::{FileLocation, StackFrame};
    use tpu_proto::xla::{OpMetadata, StackFrameIndexProto};

    fn frame(file_location_id: i32, parent_frame_id: i32) -> StackFrame {
        StackFrame { file_location_id, parent_frame_id }
    }

    #[test]
    fn frames_are_stacks_and_cycles_end() {
        let at = |function_name_id, line| FileLocation {
            file_name_id: 1,
            function_name_id,
            line,
            column: 2,
        };
        let stacks = StackFrameIndexProto {
            file_names: vec!["a.py".into()],
            function_names: vec!["f".into(), "g".into()],
            file_locations: vec![at(1, 3), at(2, 9)],
            stack_frames: vec![frame(1, 2), frame(2, 1)],
        };
        let metadata =
            OpMetadata { op_name: "jit(f)/mul".into(), stack_frame_id: 2, ..<_>::default() };
        let mut reader = Metadata::new(Some(&stacks));
        let id = reader.of(Some(&metadata));
        assert_eq!(reader.of(Some(&metadata)), id);
        assert_eq!(reader.locations.operation_name(id), Some("jit(f)/mul"));
        let stack = reader.locations.stack(id);
        let lines: Vec<_> =
            stack.iter().map(|line| (line.function.as_deref(), line.line)).collect();
        assert_eq!(lines, [(Some("g"), 9), (Some("f"), 3)]);
    }
}
