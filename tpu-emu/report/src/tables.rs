//! What columns name, as JSON.
use crate::order::Order;
use crate::out_of_memory::{RefusalTable, RefusedProgramTable, not_compiled, refusals};
use crate::page::Options;
use crate::places::Places;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use tpu_trace::{
    ChangeKind, EDITORS, Face, FramePart, History, Links, Slot, Trace, padding, within_project,
};

/// All tables of a page.
#[derive(Debug, Serialize)]
pub(crate) struct Tables {
    pub(crate) file: String,
    /// Version of the library that wrote the trace.
    pub(crate) version: String,
    /// Version of the command that makes the page.
    pub(crate) maker: &'static str,
    pub(crate) format: (u16, u16),
    pub(crate) process: u64,
    pub(crate) started: u64,
    pub(crate) topology: String,
    /// Why the trace may say less than its process did.
    pub(crate) cut: Vec<String>,
    /// Names of editors and how each opens a file.
    pub(crate) editors: Vec<(String, String)>,
    /// The one of them that is chosen first.
    pub(crate) editor: String,
    pub(crate) is_snapshot: bool,
    /// How many steps were made at the moment that is shown first, of each space and of all.
    pub(crate) start: Option<Vec<u32>>,
    pub(crate) spaces: Vec<SpaceTable>,
    pub(crate) marks: Vec<MarkTable>,
    pub(crate) refusals: Vec<RefusalTable>,
    pub(crate) specs: Vec<SpecTable>,
    pub(crate) labels: Vec<String>,
    pub(crate) entries: Vec<String>,
    pub(crate) threads: Vec<u32>,
    /// By what blocks are summed up: `line`, `function`, `executable`.
    pub(crate) keys: BTreeMap<&'static str, Vec<String>>,
    /// Names, files and modules of frames.
    pub(crate) texts: Vec<String>,
    /// Of each frame its functions, innermost first, six numbers each: name, file, line, module,
    /// what it is (1 for Python, 2 where the view of Python has it, 4 where the mixed one has, 8
    /// for the emulator), and the text of a link, 0 where the file is a local one.
    pub(crate) frames: Vec<Vec<u64>>,
    pub(crate) programs: Vec<ProgramTable>,
    pub(crate) calls: Vec<CallsTable>,
    pub(crate) dispatches: Vec<DispatchTable>,
    /// How many stages of custom calls were recorded; `dispatches` sums them up.
    pub(crate) dispatched: usize,
    pub(crate) faults: Vec<FaultTable>,
    pub(crate) client_end: Option<String>,
    /// Programs that were refused when they were compiled.
    pub(crate) refused_programs: Vec<RefusedProgramTable>,
    /// Names of Python that keep blocks, by the number of the allocation.
    pub(crate) names: Vec<(u32, Vec<String>)>,
    /// Allocations that end because another took their address: number, and the step of that one.
    pub(crate) replaced: Vec<(u32, u32)>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SpaceTable {
    name: String,
    device: Option<u64>,
    kind: String,
    capacity: u64,
    changes: usize,
    peak: u64,
    /// After how many steps of all spaces.
    peak_at: u32,
    end_at: u32,
    /// The step that began the client's clean-up.
    cleaned_at: Option<u32>,
    missing: u64,
    /// Of a snapshot: bytes in use, peak, allocations, largest hole.
    usage: Option<[u64; 4]>,
}

#[derive(Debug, Serialize)]
pub(crate) struct MarkTable {
    name: String,
    time: u64,
    stack: u32,
    /// After how many steps of all, for each space.
    at: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SpecTable {
    text: String,
    short: String,
    logical: u64,
    padded: u64,
    /// What would take fewer bytes; empty where nothing is known to.
    advice: String,
}

/// Offset, size, logical size, first and last position; array, operation and line as texts.
type SlotRow = (u64, u64, u64, u64, u64, String, String, String);

#[derive(Debug, Serialize)]
pub(crate) struct ProgramTable {
    number: u64,
    name: String,
    temporaries: u64,
    constants: u64,
    arguments: u64,
    results: u64,
    positions: u64,
    /// Who has planned the sizes, as `libtpu 0.0.51`; empty for tpu-emu.
    planner: String,
    slots: Vec<SlotRow>,
    /// The temporaries as that planner has them, without offsets.
    others: Vec<SlotRow>,
    other_positions: u64,
    runs: u64,
    /// Nanoseconds of all runs.
    ran: u64,
    failed: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct CallsTable {
    function: u32,
    stack: u32,
    first: u64,
    count: u64,
    nanos: u64,
    bytes: u64,
    errors: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct DispatchTable {
    target: String,
    program: String,
    line: String,
    stage: u64,
    count: u64,
    nanos: u64,
    scratch: u64,
    errors: u64,
    error: String,
    stack: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct FaultTable {
    message: String,
    stack: u32,
    time: u64,
    entry: String,
}

impl Tables {
    /// Those of a trace, without threads and keys, which are found with the columns.
    pub(crate) fn new(trace: &Trace, history: &History, order: &Order, options: &Options) -> Self {
        let places = Places::new(history, order, options.at);
        let (texts, frames) = frames(trace, &trace.header.version);
        let (dispatches, faults) = (dispatches(trace), faults(trace));
        let is_snapshot = !trace.usages.is_empty();
        Self {
            file: options.name.clone(),
            version: trace.header.version.clone(),
            maker: env!("CARGO_PKG_VERSION"),
            format: trace.header.format,
            process: trace.header.process,
            started: trace.header.started,
            topology: trace.header.topology.clone(),
            cut: options.cut.clone(),
            editors: editors(options),
            editor: options.editor.clone().unwrap_or_else(|| "file".to_owned()),
            is_snapshot,
            start: options.at.map(|at| places.of_all(history, |space| at.changes(space))),
            spaces: spaces(trace, history, &places),
            marks: (0..)
                .zip(&trace.marks)
                .map(|(number, mark): (usize, _)| MarkTable {
                    name: mark.name.clone(),
                    time: mark.time,
                    stack: mark.stack,
                    at: places.of_all(history, |space| space.marks[number]),
                })
                .collect(),
            refusals: refusals(trace, history, &places),
            specs: specs(trace),
            labels: trace.labels.clone(),
            entries: trace.entries.clone(),
            threads: Vec::new(),
            keys: BTreeMap::new(),
            texts,
            frames,
            programs: programs(trace),
            calls: calls(trace),
            dispatches,
            dispatched: trace.dispatches.len(),
            faults,
            client_end: trace.client_end.as_ref().map(|end| end.why.clone()),
            refused_programs: not_compiled(trace),
            names: names(trace, history, order),
            replaced: order
                .replaced
                .iter()
                .map(|&(number, by)| (number, places.after(by.space, by.at as usize + 1) - 1))
                .collect(),
        }
    }
}

/// The names that keep blocks, by the numbers of their allocations.
fn names(trace: &Trace, history: &History, order: &Order) -> Vec<(u32, Vec<String>)> {
    if trace.names.is_empty() {
        return Vec::new();
    }
    let spaces = history.spaces.iter().enumerate();
    let named = spaces.flat_map(|(space, of)| {
        of.order.iter().enumerate().filter_map(move |(at, place)| {
            let names = trace.names.get(place)?.clone();
            Some((order.number(space, at), names))
        })
    });
    named.collect()
}

fn spaces(trace: &Trace, history: &History, places: &Places) -> Vec<SpaceTable> {
    let both = (0..).zip(trace.spaces.iter().zip(&history.spaces));
    let table = both.map(|(number, (space, changes))| SpaceTable {
        name: space.name(),
        device: space.device,
        kind: space.kind.clone(),
        capacity: space.capacity,
        changes: changes.order.len(),
        peak: changes.peak(),
        peak_at: places.after(number, changes.peak_at),
        end_at: places.after(number, changes.end_at),
        cleaned_at: (changes.end_at < changes.order.len())
            .then(|| places.after(number, changes.end_at + 1) - 1),
        missing: changes.missing,
        usage: trace
            .usages
            .iter()
            .find(|usage| usage.space == number)
            .map(|usage| [usage.in_use, usage.peak, usage.allocations, usage.largest_hole]),
    });
    table.collect()
}

fn specs(trace: &Trace) -> Vec<SpecTable> {
    // The first array of each type stands for all of them.
    let mut seen = vec![false; trace.specs.len()];
    let mut firsts = Vec::new();
    for (place, event) in trace.events.iter() {
        let is_array = trace.labels[event.label as usize].is_empty()
            || trace.labels[event.label as usize].starts_with("result ");
        if is_array && event.kind == ChangeKind::Allocate && !seen[event.spec as usize] {
            seen[event.spec as usize] = true;
            firsts.push(place);
        }
    }
    let mut advice = vec![String::new(); trace.specs.len()];
    for row in padding(trace, &firsts) {
        if let Some(instead) = row.instead {
            advice[row.spec as usize] =
                format!("{} as {}: {} bytes each", instead.how, instead.array, instead.padded);
        }
    }
    let table = trace.specs.iter().zip(advice).map(|(spec, advice)| SpecTable {
        text: spec.text(),
        short: spec.short_text(),
        logical: spec.logical,
        padded: spec.padded,
        advice,
    });
    table.collect()
}

/// Texts, each once.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.list.len() as u64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

fn editors(options: &Options) -> Vec<(String, String)> {
    let known = EDITORS.iter().map(|&(name, form)| (name.to_owned(), form.to_owned()));
    let mut editors: Vec<(String, String)> = known.collect();
    if let Some(editor) = &options.editor
        && !editors.iter().any(|(name, _)| name == editor)
    {
        editors.push((editor.clone(), editor.clone()));
    }
    editors
}

fn frames(trace: &Trace, version: &str) -> (Vec<String>, Vec<Vec<u64>>) {
    let mut texts = Texts::default();
    // The text of a frame without a link of its own.
    texts.number("");
    // Local files are opened as the page is told; the links of others are the same for all.
    let links = Links::new(Some("{path}"), version).ok();
    let mut row = |parts: &[FramePart]| {
        let numbers = parts.iter().flat_map(|part| {
            let ours = (!part.is_python && part.module.contains("pjrt_tpu_emu"))
                .then(|| within_project(&part.file))
                .flatten();
            let kind = u64::from(part.is_python)
                | u64::from(Face::Python.shows(part)) << 1
                | u64::from(Face::Mixed.shows(part)) << 2
                | u64::from(ours.is_some()) << 3;
            let link = links.as_ref().and_then(|links| links.of(part));
            let link = link.filter(|link| link.starts_with("https:")).unwrap_or_default();
            let file = ours.unwrap_or(&part.file);
            let [name, file, module, link] =
                [&part.function, file, &part.module, &link].map(|text| texts.number(text));
            [name, file, part.line, module, kind, link]
        });
        numbers.collect::<Vec<u64>>()
    };
    let rows = trace.stacks.all_frames().iter().map(|parts| row(parts)).collect();
    (texts.list, rows)
}

fn programs(trace: &Trace) -> Vec<ProgramTable> {
    let mut ran: HashMap<u64, [u64; 3]> = HashMap::new();
    for launch in &trace.launches {
        let [runs, nanos, failed] = ran.entry(launch.program).or_default();
        *runs += 1;
        *nanos = nanos.saturating_add(launch.ended.saturating_sub(launch.started));
        *failed += u64::from(launch.status != 0);
    }
    let table = trace.programs.iter().map(|program| {
        let [runs, nanos, failed] = ran.get(&program.number).copied().unwrap_or_default();
        ProgramTable {
            number: program.number,
            name: program.name.clone(),
            temporaries: program.temporaries,
            constants: program.constants,
            arguments: program.arguments,
            results: program.results,
            positions: program.positions,
            planner: program.planner.clone(),
            slots: program.slots.iter().map(slot_row).collect(),
            others: program.others.iter().map(slot_row).collect(),
            other_positions: program.other_positions,
            runs,
            ran: nanos,
            failed,
        }
    });
    table.collect()
}

fn slot_row(slot: &Slot) -> SlotRow {
    let shape: Vec<String> = slot.shape.iter().map(u64::to_string).collect();
    let array = format!("{}[{}]{}", slot.dtype, shape.join(","), slot.layout);
    let (operation, line) = (slot.operation.clone(), slot.line.clone());
    (slot.offset, slot.size, slot.logical, slot.first, slot.last, array, operation, line)
}

fn calls(trace: &Trace) -> Vec<CallsTable> {
    let table = trace.calls.iter().map(|calls| CallsTable {
        function: calls.function,
        stack: calls.stack,
        first: calls.first,
        count: calls.count,
        nanos: calls.nanos,
        bytes: calls.bytes,
        errors: calls.errors,
    });
    table.collect()
}

/// Stages of custom calls, those of the same target, program, line and stage as one.
fn dispatches(trace: &Trace) -> Vec<DispatchTable> {
    let mut places: HashMap<(&str, &str, &str, u64), usize> = HashMap::new();
    let mut table: Vec<DispatchTable> = Vec::new();
    for of in &trace.dispatches {
        let at =
            *places.entry((&of.target, &of.program, &of.line, of.stage)).or_insert_with(|| {
                table.push(DispatchTable {
                    target: of.target.clone(),
                    program: of.program.clone(),
                    line: of.line.clone(),
                    stage: of.stage,
                    count: 0,
                    nanos: 0,
                    scratch: 0,
                    errors: 0,
                    error: String::new(),
                    stack: of.stack,
                });
                table.len() - 1
            });
        let row = &mut table[at];
        row.count += 1;
        row.nanos = row.nanos.saturating_add(of.duration);
        row.scratch =
            of.scratch.iter().fold(row.scratch, |sum, &(_, size)| sum.saturating_add(size));
        if !of.error.is_empty() {
            row.errors += 1;
            row.error.clone_from(&of.error);
        }
    }
    table
}

fn faults(trace: &Trace) -> Vec<FaultTable> {
    let table = trace.faults.iter().map(|fault| FaultTable {
        message: fault.message.clone(),
        stack: fault.stack,
        time: fault.time,
        entry: fault.entry.clone(),
    });
    table.collect()
}
