//! A trace for Perfetto: how full each memory is over time, and what happened when.
mod messages;
mod packets;

use super::gaps::Gaps;
use super::shown::ShownStacks;
use crate::event::{ChangeKind, Event};
use crate::face::Face;
use crate::history::{History, SpaceHistory};
use crate::holders::{By, Holders, live, user_frame};
use crate::tables::{Space, Trace};
use packets::{Detail, Packets};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The first of the process numbers that stand for memories; no system has so high ones.
const FIRST_MEMORY: i32 = 1_000_000_000;
/// How many holders stand beside a refusal.
const HOLDERS: usize = 20;

/// Changes of each memory space as a trace: a process a space, with counters of what is in use and
/// of its holes and an instant a change; and a track for each of the client's threads.
/// `spans` has a range of changes for each space of the trace.
pub fn perfetto(trace: &Trace, history: &History, spans: &[Range<usize>], face: Face) -> Vec<u8> {
    let mut out = Writer {
        trace,
        packets: Packets::new(trace.header.started),
        shown: ShownStacks::new(trace, face),
        stacks: HashMap::new(),
        lines: HashMap::new(),
    };
    let times = super::times(history, spans);
    let spaces = trace.spaces.iter().zip(&history.spaces).zip(spans).zip(FIRST_MEMORY..);
    for (place, (((space, changes), span), pid)) in spaces.enumerate() {
        let refused = || history.refusals.iter().map(|&at| trace.events.at(at));
        let refused: Vec<Event> = refused().filter(|event| event.space as usize == place).collect();
        if !changes.order.is_empty() || !refused.is_empty() {
            let process = out.packets.process(pid, &space.name());
            out.memory(process, space, changes, span.clone());
            if let Some(device) = space.device.filter(|_| space.kind == "device") {
                out.launches(process, device, &times);
            }
            out.refusals(process, changes, &refused, span);
        }
    }
    out.client(&times);
    out.packets.finish()
}

/// A trace that is being written.
struct Writer<'a> {
    trace: &'a Trace,
    packets: Packets,
    shown: ShownStacks<'a>,
    /// Stacks as texts, by their places among the shown ones.
    stacks: HashMap<u32, String>,
    /// Lines of the user's as texts, by stack.
    lines: HashMap<u32, String>,
}

impl Writer<'_> {
    fn memory(&mut self, process: u64, space: &Space, history: &SpaceHistory, span: Range<usize>) {
        let in_use = self.packets.counter(process, "in use", None);
        let largest = self.packets.counter(process, "largest hole", None);
        let fragmentation = self.packets.counter(process, "fragmentation", Some("%"));
        let changes = self.packets.named(process, "changes");
        let mut gaps = Gaps::new(space.capacity);
        let mut before = None;
        for (at, &place) in history.order[..span.end].iter().enumerate() {
            let event = self.trace.events.at(place);
            gaps.change(&event);
            if !span.contains(&at) {
                continue;
            }
            let time = history.times[at];
            self.packets.count(time, in_use, history.in_use[at]);
            let holes = (gaps.largest(), gaps.fragmentation());
            if before.replace(holes) != Some(holes) {
                self.packets.count(time, largest, holes.0);
                self.packets.fraction(time, fragmentation, 100.0 * holes.1);
            }
            self.change(time, changes, &event);
        }
    }

    fn change(&mut self, time: u64, track: u64, event: &Event) {
        let trace = self.trace;
        let spec = &trace.specs[event.spec as usize];
        let array = spec.text();
        self.know_stack(event);
        let (place, _) = self.shown.place(event);
        let (line, stack) = (&*self.lines[&event.stack], &*self.stacks[&place]);
        let action = match event.kind {
            ChangeKind::Allocate => "allocate",
            ChangeKind::Free => "free",
            ChangeKind::Refused => "refused",
        };
        let mut details = vec![
            ("change", Detail::Text(action)),
            ("bytes in memory", Detail::Number(event.size)),
            ("logical bytes", Detail::Number(spec.logical)),
            ("address", Detail::Address(event.address)),
            ("array", Detail::Text(&array)),
            ("thread", Detail::Number(event.thread.into())),
            ("stack", Detail::Text(stack)),
        ];
        if event.label != 0 {
            details.push(("for", Detail::Text(&trace.labels[event.label as usize])));
        }
        self.packets.instant(time, track, line, &details);
    }

    /// The texts of an event's stack are made once.
    fn know_stack(&mut self, event: &Event) {
        let trace = self.trace;
        let (place, is_new) = self.shown.place(event);
        if is_new {
            let calls = self.shown.calls(place);
            // The last is what the block was taken for, which stands by itself.
            let lines = calls.iter().rev().skip(1).map(|call| call.text());
            self.stacks.insert(place, lines.collect::<Vec<_>>().join("\n"));
        }
        self.lines.entry(event.stack).or_insert_with(|| {
            let frame = user_frame(&trace.stacks, event.stack);
            frame.map_or("no Python frame".to_owned(), |part| {
                format!("{}:{} {}", part.file, part.line, part.function)
            })
        });
    }

    /// What found no room, with those that held it.
    fn refusals(
        &mut self,
        process: u64,
        history: &SpaceHistory,
        refused: &[Event],
        span: &Range<usize>,
    ) {
        let trace = self.trace;
        let track = self.packets.named(process, "out of memory");
        for event in refused {
            let after = history.changes_until(event.time);
            if !(span.start..=span.end).contains(&after) {
                continue;
            }
            let held = Holders::of(trace, live(trace, history, after), By::Line);
            let rows = held.rows.iter().take(HOLDERS).map(|row| {
                format!("{} bytes in {} blocks: {}", row.size.in_memory, row.blocks, row.key)
            });
            let rows = rows.collect::<Vec<_>>().join("\n");
            self.know_stack(event);
            let (place, _) = self.shown.place(event);
            let (line, stack) = (&self.lines[&event.stack], &self.stacks[&place]);
            let details = [
                ("asked for, bytes", Detail::Number(event.size)),
                ("in use, bytes", Detail::Number(held.total.in_memory)),
                ("holders", Detail::Text(&rows)),
                ("for", Detail::Text(&trace.labels[event.label as usize])),
                ("stack", Detail::Text(stack)),
            ];
            self.packets.instant(event.time, track, &format!("out of memory at {line}"), &details);
        }
    }

    /// The programs that ran on a device.
    fn launches(&mut self, process: u64, device: u64, times: &Range<u64>) {
        let trace = self.trace;
        let launches = trace.launches.iter().filter(|launch| launch.device == device);
        let slices: Vec<Slice<'_>> = launches
            .filter(|launch| times.contains(&launch.started))
            .map(|launch| Slice {
                from: launch.started,
                to: launch.ended,
                name: match trace.program(launch.program) {
                    Some(program) => program.name.clone(),
                    None => format!("program {}", launch.program),
                },
                details: vec![
                    ("run", Detail::Number(launch.run)),
                    ("thread", Detail::Number(launch.thread)),
                    ("waited, ns", Detail::Number(launch.started.saturating_sub(launch.enqueued))),
                    ("status", Detail::Number(launch.status)),
                ],
            })
            .collect();
        if !slices.is_empty() {
            let track = self.packets.named(process, "programs");
            self.slices(track, slices);
        }
    }

    /// What the client's threads did.
    fn client(&mut self, times: &Range<u64>) {
        let trace = self.trace;
        let pid = i32::try_from(trace.header.process).unwrap_or(i32::MAX);
        let process = self.packets.process(pid, &format!("tpu-emu {}", trace.header.topology));
        let marks = self.packets.named(process, "marks");
        for mark in trace.marks.iter().filter(|mark| times.contains(&mark.time)) {
            let details = [("thread", Detail::Number(mark.thread))];
            self.packets.instant(mark.time, marks, &mark.name, &details);
        }
        let faults = self.packets.named(process, "faults");
        for fault in trace.faults.iter().filter(|fault| times.contains(&fault.time)) {
            let details = [("entry", Detail::Text(&fault.entry))];
            self.packets.instant(fault.time, faults, &fault.message, &details);
        }
        let mut threads: BTreeMap<u64, Vec<Slice<'_>>> = BTreeMap::new();
        for call in trace.single_calls.iter().filter(|call| times.contains(&call.time)) {
            threads.entry(call.thread).or_default().push(Slice {
                from: call.time,
                to: call.time.saturating_add(call.duration),
                name: trace.entries[call.function as usize].clone(),
                details: vec![
                    ("bytes", Detail::Number(call.bytes)),
                    ("status", Detail::Number(call.status)),
                ],
            });
        }
        let stages = ["instantiate", "prepare", "initialize", "execute"];
        for call in trace.dispatches.iter().filter(|call| times.contains(&call.time)) {
            let stage = usize::try_from(call.stage).ok().and_then(|stage| stages.get(stage));
            threads.entry(call.thread).or_default().push(Slice {
                from: call.time,
                to: call.time.saturating_add(call.duration),
                name: format!("{} {}", call.target, stage.copied().unwrap_or("stage")),
                details: vec![
                    ("program", Detail::Text(&call.program)),
                    ("line", Detail::Text(&call.line)),
                    ("device", Detail::Number(call.device)),
                    ("run", Detail::Number(call.run)),
                    ("error", Detail::Text(&call.error)),
                ],
            });
        }
        for (thread, slices) in threads {
            let tid = i64::try_from(thread).unwrap_or(i64::MAX);
            let track = self.packets.thread(pid, tid, format!("thread {thread}"));
            self.slices(track, slices);
        }
    }

    /// Slices of a track, each cut to what it began in.
    fn slices(&mut self, track: u64, mut slices: Vec<Slice<'_>>) {
        slices.sort_by_key(|slice| (slice.from, std::cmp::Reverse(slice.to)));
        let mut open: Vec<u64> = Vec::new();
        for slice in slices {
            while let Some(end) = open.pop_if(|end| *end <= slice.from) {
                self.packets.end(end, track);
            }
            self.packets.begin(slice.from, track, &slice.name, &slice.details);
            open.push(open.last().map_or(slice.to, |&around| slice.to.min(around)));
        }
        while let Some(end) = open.pop() {
            self.packets.end(end, track);
        }
    }
}

/// Something that lasted.
struct Slice<'a> {
    from: u64,
    to: u64,
    name: String,
    details: Vec<(&'static str, Detail<'a>)>,
}
