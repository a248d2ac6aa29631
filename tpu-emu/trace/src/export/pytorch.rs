//! A memory snapshot as PyTorch's `memory_viz` and its like read it.
use super::pickle::Pickle;
use super::shown::ShownStacks;
use crate::event::{ChangeKind, Event};
use crate::face::Face;
use crate::history::{History, SpaceHistory};
use crate::holders::live;
use crate::tables::{Space, Trace};
use std::collections::HashMap;
use std::ops::Range;

/// Changes of each memory space as a pickled snapshot, protocol 4, and what lives behind the last
/// of them as its segments. `spans` has a range of changes for each space of the trace.
///
/// A device is the list of its number; a memory space of the host that was used is a list behind
/// those of the devices. Identical stacks share their list of frames.
pub fn pytorch(trace: &Trace, history: &History, spans: &[Range<usize>], face: Face) -> Vec<u8> {
    let mut out = Snapshot {
        trace,
        pickle: Pickle::new(),
        shown: ShownStacks::new(trace, face),
        frames: HashMap::new(),
        stacks: HashMap::new(),
    };
    let used = |place: usize| {
        history.spaces.get(place).is_some_and(|space| {
            !space.order.is_empty()
                || history.refusals.iter().any(|&at| trace.events.at(at).space as usize == place)
        })
    };
    let devices = devices(trace, used);
    out.pickle.dict();
    out.pickle.text("segments");
    out.pickle.list();
    for (number, place) in devices.iter().enumerate() {
        if let Some(place) = *place {
            let (space, end) = (&history.spaces[place], spans[place].end);
            out.segment(number as u64, &trace.spaces[place], space, end);
        }
    }
    out.pickle.end_list();
    out.pickle.text("device_traces");
    out.pickle.list();
    for place in devices.iter().copied() {
        out.pickle.list();
        if let Some(place) = place {
            out.changes(place, history, spans[place].clone());
        }
        out.pickle.end_list();
    }
    out.pickle.end_list();
    out.pickle.text("allocator_settings");
    out.pickle.dict();
    out.pickle.text_at("exporter", concat!("tpu-emu ", env!("CARGO_PKG_VERSION")));
    for (number, place) in devices.iter().enumerate() {
        if let Some(place) = *place {
            out.pickle.text_at(&format!("device {number}"), &trace.spaces[place].name());
        }
    }
    out.pickle.end_dict();
    out.pickle.text("external_annotations");
    out.pickle.list();
    out.pickle.end_list();
    out.pickle.end_dict();
    out.pickle.finish()
}

/// Places of the spaces, by the number that each has in the snapshot.
fn devices(trace: &Trace, used: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut devices: Vec<Option<usize>> = Vec::new();
    let mut others = Vec::new();
    for (place, space) in trace.spaces.iter().enumerate().filter(|&(place, _)| used(place)) {
        // A device has one memory that it computes in. A number that no machine has is damage.
        let number = space.device.and_then(|number| usize::try_from(number).ok());
        match number.filter(|&number| space.kind == "device" && number < 1 << 16) {
            Some(number) => {
                devices.resize(devices.len().max(number + 1), None);
                match devices[number] {
                    None => devices[number] = Some(place),
                    Some(_) => others.push(Some(place)),
                }
            }
            None => others.push(Some(place)),
        }
    }
    devices.extend(others);
    devices
}

/// A snapshot that is being written.
struct Snapshot<'a> {
    trace: &'a Trace,
    pickle: Pickle,
    shown: ShownStacks<'a>,
    /// Frames that were written, by file, line and name.
    frames: HashMap<(String, u64, String), u32>,
    /// Lists of frames that were written, by the place of the stack.
    stacks: HashMap<u32, u32>,
}

impl Snapshot<'_> {
    fn segment(&mut self, device: u64, space: &Space, history: &SpaceHistory, changes: usize) {
        let trace = self.trace;
        let blocks: Vec<Event> =
            live(trace, history, changes).into_iter().map(|place| trace.events.at(place)).collect();
        let in_use = blocks.iter().map(|block| block.size).sum();
        let requested = blocks.iter().map(|block| self.logical(block)).sum();
        let end = blocks.last().map_or(0, |block| block.address.saturating_add(block.size));
        let total = space.capacity.max(end);
        self.pickle.dict();
        for (key, number) in [
            ("device", device),
            ("address", 0),
            ("total_size", total),
            ("stream", 0),
            ("allocated_size", in_use),
            ("active_size", in_use),
            ("requested_size", requested),
        ] {
            self.pickle.number_at(key, number);
        }
        self.pickle.text_at("segment_type", "large");
        self.pickle.text("segment_pool_id");
        self.pickle.pair(0, 0);
        self.pickle.text("is_expandable");
        self.pickle.no();
        self.pickle.text("frames");
        self.no_frames();
        self.pickle.text("blocks");
        self.pickle.list();
        let (mut at, mut count) = (0, 0);
        for block in &blocks {
            self.hole(at, block.address, &mut count);
            self.next(&mut count);
            let requested = self.logical(block);
            self.block(block.address, block.size, requested, "active_allocated");
            self.stack(block);
            self.pickle.end_dict();
            at = block.address.saturating_add(block.size);
        }
        self.hole(at, total, &mut count);
        self.pickle.end_list();
        self.pickle.end_dict();
    }

    fn next(&mut self, count: &mut usize) {
        self.pickle.next(*count);
        *count += 1;
    }

    fn hole(&mut self, from: u64, to: u64, count: &mut usize) {
        if from < to {
            self.next(count);
            self.block(from, to - from, 0, "inactive");
            self.no_frames();
            self.pickle.end_dict();
        }
    }

    /// A block without the value of its last key, which is that of the frames.
    fn block(&mut self, address: u64, size: u64, requested: u64, state: &str) {
        self.pickle.dict();
        self.pickle.number_at("address", address);
        self.pickle.number_at("size", size);
        self.pickle.number_at("requested_size", requested);
        self.pickle.text_at("state", state);
        self.pickle.text("frames");
    }

    /// The changes of a range, with the refusals in between.
    fn changes(&mut self, place: usize, history: &History, span: Range<usize>) {
        let trace = self.trace;
        let capacity = trace.spaces[place].capacity;
        let space = &history.spaces[place];
        let refused = history.refusals.iter().zip(&space.refusals);
        let mut refused: Vec<(usize, Event)> = refused
            .map(|(&refusal, &at)| (at, trace.events.at(refusal)))
            .filter(|(at, event)| {
                event.space as usize == place && (span.start..=span.end).contains(at)
            })
            .collect();
        refused.sort_by_key(|&(at, _)| at);
        let mut refused = refused.into_iter().peekable();
        let mut count = 0;
        for at in span.start..=span.end {
            while let Some((_, event)) = refused.next_if(|&(before, _)| before == at) {
                let free = capacity.saturating_sub(space.in_use_after(at));
                self.next(&mut count);
                self.change("oom", &event, event.time);
                self.pickle.number_at("device_free", free);
                self.pickle.end_dict();
            }
            if at == span.end {
                break;
            }
            let event = self.trace.events.at(space.order[at]);
            let actions: &[&str] = match event.kind {
                ChangeKind::Allocate => &["alloc"],
                _ => &["free_requested", "free_completed"],
            };
            for action in actions {
                self.next(&mut count);
                self.change(action, &event, space.times[at]);
                self.pickle.number_at("addr", event.address);
                self.pickle.end_dict();
            }
        }
    }

    /// A change whose dictionary is still open.
    fn change(&mut self, action: &str, event: &Event, time: u64) {
        self.pickle.dict();
        self.pickle.text_at("action", action);
        self.pickle.number_at("size", event.size);
        self.pickle.number_at("stream", 0);
        let micros = self.trace.header.started.saturating_add(time) / 1000;
        self.pickle.number_at("time_us", micros);
        if event.label != 0 {
            self.pickle.text_at("user_metadata", &self.trace.labels[event.label as usize]);
        }
        self.pickle.text("frames");
        self.stack(event);
    }

    /// The list of an event's frames, innermost first.
    fn stack(&mut self, event: &Event) {
        let (place, _) = self.shown.place(event);
        if let Some(&kept) = self.stacks.get(&place) {
            return self.pickle.again(kept);
        }
        self.pickle.list();
        for call in self.shown.calls(place).iter().rev() {
            let key = (call.file.clone(), call.line, call.name.clone());
            if let Some(&kept) = self.frames.get(&key) {
                self.pickle.again(kept);
                continue;
            }
            self.pickle.dict();
            self.pickle.text_at("filename", &call.file);
            self.pickle.number_at("line", call.line);
            // Readers make lines of names.
            let name = call.name.replace(char::is_control, " ");
            self.pickle.text_at("name", &name);
            self.pickle.end_dict();
            self.frames.insert(key, self.pickle.keep());
        }
        self.pickle.end_list();
        self.stacks.insert(place, self.pickle.keep());
    }

    fn no_frames(&mut self) {
        self.pickle.list();
        self.pickle.end_list();
    }

    fn logical(&self, event: &Event) -> u64 {
        self.trace.specs[event.spec as usize].logical
    }
}
