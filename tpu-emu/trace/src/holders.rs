//! What lived at a moment, by who took it.
use crate::event::Event;
use crate::face::is_of_jax;
use crate::history::{History, SpaceHistory};
use crate::moment::Moment;
use crate::tables::{FramePart, Stacks, Trace};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::str::FromStr;

/// By what blocks are summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// The line of the user's Python that took them.
    Line,
    /// The Python function of that line.
    Function,
    /// The program that took them for its results, temporaries or constants.
    Executable,
    /// What a program took them for.
    Label,
    /// The type and the layout of what lies in them.
    Array,
    /// The whole stack.
    Stack,
    /// The API function.
    Entry,
    /// The memory space.
    Space,
}

impl By {
    /// All of them, with the names that people give.
    pub const ALL: [(&'static str, Self); 8] = [
        ("line", Self::Line),
        ("function", Self::Function),
        ("executable", Self::Executable),
        ("label", Self::Label),
        ("array", Self::Array),
        ("stack", Self::Stack),
        ("entry", Self::Entry),
        ("space", Self::Space),
    ];
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|&(_, by)| by).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("{text:?} is none of {}", names.join(", "))
        })
    }
}

/// Bytes, counted in two ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// What blocks take in the memory space: tiles and the heap's rounding included.
    pub in_memory: u64,
    /// What the elements take.
    pub logical: u64,
}

impl Size {
    fn add(&mut self, event: &Event, trace: &Trace) {
        self.in_memory = self.in_memory.saturating_add(event.size);
        let logical = trace.specs[event.spec as usize].logical;
        self.logical = self.logical.saturating_add(logical);
    }

    /// What is neither.
    pub fn padding(&self) -> u64 {
        self.in_memory.saturating_sub(self.logical)
    }
}

/// Blocks that have the same origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What they have in common, in words.
    pub key: String,
    /// What they take.
    pub size: Size,
    /// How many there are.
    pub blocks: u64,
    /// Names of Python that keep them, where the trace has names. At most [`NAMES`].
    pub names: Vec<String>,
    /// Place of the first of them among the events.
    #[serde(skip)]
    pub first: u32,
}

/// How many names an origin has at most.
pub const NAMES: usize = 100;

/// What lived at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holders {
    /// All of it.
    pub total: Size,
    /// How many blocks there were.
    pub blocks: u64,
    /// By origin, those that take most first.
    pub rows: Vec<Row>,
}

impl Holders {
    /// What lived in all device spaces at a moment.
    pub fn at(trace: &Trace, history: &History, moment: Moment, by: By) -> Self {
        let spaces = history.spaces.iter().zip(&trace.spaces);
        let devices = spaces.filter(|(_, space)| space.device.is_some());
        let blocks =
            devices.flat_map(|(space, _)| live(trace, space, moment.changes(space))).collect();
        Self::of(trace, blocks, by)
    }

    /// What lived in one space at a moment.
    pub fn in_space(trace: &Trace, space: &SpaceHistory, moment: Moment, by: By) -> Self {
        Self::of(trace, live(trace, space, moment.changes(space)), by)
    }

    /// Sums blocks up by their origin.
    pub fn of(trace: &Trace, blocks: Vec<u32>, by: By) -> Self {
        let mut keys = Keys::new(trace, by);
        let mut rows: Vec<Row> = Vec::new();
        let mut at: HashMap<String, usize> = HashMap::new();
        let (mut total, mut count) = (Size::default(), 0);
        for first in blocks {
            let event = trace.events.at(first);
            let key = keys.of(&event);
            let row = match at.get(key) {
                Some(&row) => row,
                None => {
                    at.insert(key.to_owned(), rows.len());
                    let (key, size, names) = (key.to_owned(), Size::default(), Vec::new());
                    rows.push(Row { key, size, blocks: 0, names, first });
                    rows.len() - 1
                }
            };
            rows[row].size.add(&event, trace);
            rows[row].blocks += 1;
            let left = NAMES - rows[row].names.len();
            let names = trace.names.get(&first).into_iter().flatten().take(left).cloned();
            rows[row].names.extend(names);
            total.add(&event, trace);
            count += 1;
        }
        rows.sort_by(|a, b| {
            b.size.in_memory.cmp(&a.size.in_memory).then_with(|| a.key.cmp(&b.key))
        });
        Self { total, blocks: count, rows }
    }
}

/// Places of the allocations that live after so many changes, in the order of their addresses.
pub fn live(trace: &Trace, space: &SpaceHistory, changes: usize) -> Vec<u32> {
    let changes = changes.min(space.order.len());
    let lives = (0..changes).filter(|&at| space.lives(trace, at, changes));
    let mut blocks: Vec<u32> = lives.map(|at| space.order[at]).collect();
    blocks.sort_unstable_by_key(|&place| trace.events.at(place).address);
    blocks
}

/// What stands for the block of an event where blocks are summed up.
pub fn origin(trace: &Trace, place: u32, by: By) -> String {
    Keys::new(trace, by).of(&trace.events.at(place)).to_owned()
}

/// Words for origins, each made once.
pub(crate) struct Keys<'a> {
    trace: &'a Trace,
    by: By,
    made: HashMap<u32, String>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(trace: &'a Trace, by: By) -> Self {
        Self { trace, by, made: HashMap::new() }
    }

    pub(crate) fn of(&mut self, event: &Event) -> &str {
        let (trace, by) = (self.trace, self.by);
        let place = match by {
            By::Line | By::Function | By::Stack => event.stack,
            By::Executable | By::Label => event.label,
            By::Array => event.spec,
            By::Entry => event.entry,
            By::Space => event.space,
        };
        self.made.entry(place).or_insert_with(|| key_text(trace, by, place))
    }
}

/// The words by which blocks of one origin are known, by its place: of a stack for lines,
/// functions and stacks, of a label for executables and labels, of an array type, of an API
/// function, of a space.
///
/// # Panics
/// Where there is no such place.
pub fn key_text(trace: &Trace, by: By, place: u32) -> String {
    match by {
        By::Line => match user_frame(&trace.stacks, place) {
            Some(part) => format!("{}:{} {}", part.file, part.line, part.function),
            None => outside(&trace.stacks, place),
        },
        By::Function => match user_frame(&trace.stacks, place) {
            Some(part) => format!("{} in {}", part.function, part.file),
            None => outside(&trace.stacks, place),
        },
        By::Stack => stack_text(&trace.stacks, place),
        By::Executable => executable(&trace.labels[place as usize]).to_owned(),
        By::Label => match &*trace.labels[place as usize] {
            "" => "an array of the client".to_owned(),
            label => label.to_owned(),
        },
        By::Array => trace.specs[place as usize].text(),
        By::Entry => match &*trace.entries[place as usize] {
            "" => "outside of the API".to_owned(),
            entry => entry.to_owned(),
        },
        By::Space => trace.spaces[place as usize].name(),
    }
}

/// The program that a label names: `jit_f` of `temporaries of jit_f: largest …`.
fn executable(label: &str) -> &str {
    let after = label.split_once(" of ").map_or("", |(_, after)| after);
    match after.split_once(": ").map_or(after, |(program, _)| program) {
        "" => "no program",
        program => program,
    }
}

/// The innermost frame of a stack that is the user's: Python, and neither the standard library nor
/// an installed package; else the innermost of an installed package that is not JAX, else of JAX.
pub fn user_frame(stacks: &Stacks, stack: u32) -> Option<&FramePart> {
    let python = stacks.frames(stack).filter(|part| part.is_python);
    python.min_by_key(|part| distance(&part.file))
}

/// How far a file is from what a user writes.
fn distance(file: &str) -> u8 {
    let has = |part: &str| file.contains(part);
    match () {
        () if is_of_jax(file) => 3,
        () if file.starts_with('<') || has("/lib/python3") && !has("-packages/") => 2,
        () if has("-packages/") => 1,
        () => 0,
    }
}

/// What stands for the line of a stack without a Python frame.
fn outside(stacks: &Stacks, stack: u32) -> String {
    match stacks.frames(stack).last() {
        Some(part) => format!("no Python frame, {} in {}", part.function, part.module),
        None => "no stack".to_owned(),
    }
}

fn stack_text(stacks: &Stacks, stack: u32) -> String {
    let mut text = String::new();
    for part in stacks.frames(stack) {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{} at {}:{}", part.function, part.file, part.line);
    }
    text
}
