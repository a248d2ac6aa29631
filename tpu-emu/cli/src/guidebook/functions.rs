//! Functions of a trace with their calls and the stacks that they were called from.
use crate::text::duration;
use serde::Serialize;
use std::collections::BTreeMap;
use tpu_trace::{Calls, ChangeKind, Face, FramePart, Links, Trace, within_project};

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
    /// How many distinct stacks it was called from.
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
            Function {
                name: name.clone(),
                url: links.of_function(name),
                first: calls.iter().map(|of| of.first).min().unwrap_or(0),
                count: sum(|of| of.count),
                nanos: has_times.then(|| sum(|of| of.nanos)),
                bytes: sum(|of| of.bytes),
                errors: sum(|of| of.errors),
                distinct: calls.len(),
                stacks: calls
                    .iter()
                    .take(stacks)
                    .map(|of| From {
                        first: of.first,
                        count: of.count,
                        nanos: has_times.then_some(of.nanos),
                        bytes: of.bytes,
                        errors: of.errors,
                        frames: frames(trace, of.stack, name, face, links),
                    })
                    .collect(),
            }
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
