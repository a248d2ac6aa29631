//! Functions of a trace with their calls and the stacks that they were called from.
use crate::text::{counted as counted_words, duration};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use tpu_trace::{Calls, ChangeKind, Face, FramePart, Links, Trace, within_project};

/// Calls of a function by a thread all of which are timed; `TIMED` of the recorder.
const TIMED: u64 = 1024;

/// One function of an interface.
#[derive(Debug, Serialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Where it is looked for in public sources.
    pub(crate) url: Option<String>,
    /// Nanoseconds since the start of the machine at the first call.
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// `None` where calls were not counted.
    pub(crate) nanos: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    /// Whether the time is an estimate: of calls of a thread behind these, one in eight is timed.
    pub(crate) is_estimated: bool,
    /// Calls of which no stack was taken: of what is called often, some are enough.
    pub(crate) unseen: u64,
    /// How many distinct stacks it was called from, as far as stacks were taken.
    pub(crate) distinct: usize,
    /// Those with most calls.
    pub(crate) stacks: Vec<From>,
}

/// Where a function was called from.
#[derive(Debug, Serialize)]
pub(crate) struct From {
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// `None` where calls were not counted.
    pub(crate) nanos: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    /// Outermost first.
    pub(crate) frames: Vec<Frame>,
}

/// One function of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Frame {
    pub(crate) function: String,
    /// `file:line`, or the library; empty where neither is known.
    pub(crate) place: String,
    pub(crate) is_python: bool,
    pub(crate) url: Option<String>,
}

/// The functions that a process called, in the order of first call, each with so many stacks.
pub(crate) fn functions(trace: &Trace, face: Face, stacks: usize, links: &Links) -> Vec<Function> {
    let has_times = !trace.calls.is_empty();
    let mut functions: BTreeMap<u32, Vec<Calls>> = BTreeMap::new();
    for calls in counted(trace) {
        functions.entry(calls.function).or_default().push(calls);
    }
    let mut functions: Vec<Function> = functions
        .into_iter()
        .map(|(function, mut calls)| {
            calls.sort_by_key(|of| (std::cmp::Reverse(of.count), of.first));
            let sum = |field: fn(&Calls) -> u64| calls.iter().map(field).sum();
            let name = &trace.entries[function as usize];
            let whole = Function {
                name: name.clone(),
                url: links.of_function(name),
                first: calls.iter().map(|of| of.first).min().unwrap_or(0),
                count: sum(|of| of.count),
                nanos: has_times.then(|| sum(|of| of.nanos)),
                bytes: sum(|of| of.bytes),
                errors: sum(|of| of.errors),
                is_estimated: has_times && sum(|of| of.count) > TIMED,
                unseen: calls.iter().filter(|of| of.stack == 0).map(|of| of.count).sum(),
                distinct: 0,
                stacks: Vec::new(),
            };
            calls.retain(|of| of.stack != 0);
            let seen: HashSet<u32> = calls.iter().map(|of| of.stack).collect();
            let from = |of: &Calls| From {
                first: of.first,
                count: of.count,
                nanos: has_times.then_some(of.nanos),
                bytes: of.bytes,
                errors: of.errors,
                frames: frames(trace, of.stack, name, face, links),
            };
            let stacks = calls.iter().take(stacks).map(from).collect();
            Function { distinct: seen.len(), stacks, ..whole }
        })
        .collect();
    functions.sort_by(|a, b| a.first.cmp(&b.first).then_with(|| a.name.cmp(&b.name)));
    functions
}

/// The calls of a trace; of one without them the changes in memory, by function and stack.
fn counted(trace: &Trace) -> Vec<Calls> {
    if !trace.calls.is_empty() {
        return trace.calls.clone();
    }
    let mut counted: BTreeMap<(u32, u32), Calls> = BTreeMap::new();
    for (_, event) in trace.events.iter() {
        if trace.entries[event.entry as usize].is_empty() {
            continue;
        }
        let bytes = if event.kind == ChangeKind::Allocate { event.size } else { 0 };
        let calls = counted.entry((event.entry, event.stack)).or_insert(Calls {
            function: event.entry,
            stack: event.stack,
            thread: event.thread.into(),
            first: event.time,
            count: 0,
            nanos: 0,
            bytes: 0,
            errors: 0,
        });
        calls.first = calls.first.min(event.time);
        calls.count += 1;
        calls.bytes += bytes;
        calls.errors += u64::from(event.kind == ChangeKind::Refused);
    }
    counted.into_values().collect()
}

impl Function {
    /// The time of all calls in words.
    pub(super) fn took(&self) -> String {
        self.about(self.nanos)
    }

    /// The time of one call in words.
    pub(super) fn took_each(&self) -> String {
        self.about(self.nanos.map(|nanos| nanos / self.count.max(1)))
    }

    fn about(&self, nanos: Option<u64>) -> String {
        let about = if self.is_estimated { "about " } else { "" };
        format!("{about}{}", took(nanos))
    }

    /// From how many stacks it was called, as far as that is known.
    pub(super) fn places(&self) -> String {
        let more = if self.unseen > 0 { "+" } else { "" };
        format!("{}{more}", self.distinct)
    }

    /// What is not known of its calls, in words.
    pub(super) fn unseen(&self) -> Option<String> {
        (self.unseen > 0).then(|| {
            let calls = counted_words(self.unseen, "call");
            format!(
                "Of {calls} no stack was taken: of what is called often some are enough, and \
                 where a process ends there may be none."
            )
        })
    }
}

/// A time in words.
pub(super) fn took(nanos: Option<u64>) -> String {
    nanos.map_or_else(|| "time unknown".to_owned(), duration)
}

/// The frames of a stack down to the function of the interface, outermost first.
pub(crate) fn frames(
    trace: &Trace,
    stack: u32,
    entry: &str,
    face: Face,
    links: &Links,
) -> Vec<Frame> {
    let parts: Vec<&FramePart> = trace.stacks.frames(stack).collect();
    // What is deeper than the function is ours alone.
    let inner = parts.iter().position(|part| is_entry(part, entry)).unwrap_or(0);
    let shown = parts[inner..].iter().rev().filter(|part| face.shows(part));
    shown.map(|part| frame(part, links)).collect()
}

/// Whether a frame is that of a function of the interface.
fn is_entry(part: &FramePart, entry: &str) -> bool {
    let before = part.function.strip_suffix(entry);
    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

fn frame(part: &FramePart, links: &Links) -> Frame {
    let place = match (&*part.file, part.line) {
        ("", _) => part.module.rsplit('/').next().unwrap_or_default().to_owned(),
        (file, line) => {
            // Of ours the path in the project says more than that of who built it.
            let file = match part.is_python {
                true => file,
                false => within_project(file).unwrap_or(file),
            };
            if line == 0 { file.to_owned() } else { format!("{file}:{line}") }
        }
    };
    Frame { function: part.function.clone(), place, is_python: part.is_python, url: links.of(part) }
}
