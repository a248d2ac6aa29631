//! Why an allocation found no room, and what would make it fit. Every advice is tried on the
//! blocks as they lay, with the machine's own rule, before it is given.
mod freed;
mod programs;
mod remedies;

pub use programs::{ProgramAutopsy, Temporary, refused_programs};

use crate::chips::granule;
use crate::gaps::{Hole, Holes};
use crate::history::History;
use crate::holders::{By, Holders, Row, live, origin};
use crate::replay::Memory;
use crate::tables::Trace;
use crate::words::{bytes, counted, one_line};
use remedies::Case;
use serde::Serialize;

/// What could make an allocation fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Remedy {
    /// All blocks side by side.
    Defragment,
    /// Arguments of the launch given up for its results.
    Donate {
        /// Each of them.
        arguments: Vec<Donation>,
    },
    /// All blocks of some lines freed before.
    Free {
        /// The lines, with what they held.
        lines: Vec<Row>,
    },
    /// Arrays in shapes that take fewer bytes.
    Reshape {
        /// The array type.
        array: String,
        /// The line that took them.
        line: String,
        /// The shape that takes less.
        instead: String,
        /// How it is made of the other.
        how: String,
        /// Bytes that all of them save.
        saves: u64,
    },
    /// More memory on each device.
    Enlarge {
        /// The generation that has it; `None` for the least number of bytes.
        chip: Option<String>,
        /// Bytes that programs can use on each device.
        capacity: u64,
    },
}

/// An argument that a launch could give up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Donation {
    /// The argument's place among the program's parameters.
    pub argument: u64,
    /// The array type of the argument.
    pub array: String,
    /// The line that took it.
    pub line: String,
    /// Bytes of its block.
    pub size: u64,
}

/// A remedy, and whether it helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What is done.
    #[serde(flatten)]
    pub remedy: Remedy,
    /// Whether the allocation, and what its launch asks for behind it, then finds room.
    pub helps: bool,
    /// In words.
    pub words: String,
}

/// Why an allocation found no room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Autopsy {
    /// The memory space.
    pub space: String,
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// Bytes that were asked for.
    pub asked: u64,
    /// Bytes that the launch had asked for before, and has given back.
    pub asked_before: u64,
    /// Bytes that the launch would have asked for behind it.
    pub asked_next: u64,
    /// The line that asked.
    pub line: String,
    /// What for: a label, or an array type.
    pub what: String,
    /// Bytes of the space.
    pub capacity: u64,
    /// Bytes of the live blocks.
    pub in_use: u64,
    /// Bytes of all holes.
    pub free: u64,
    /// How many holes there were.
    pub holes: u64,
    /// The largest hole, and what stands on both sides of it.
    pub largest_hole: Option<Hole>,
    /// Who held the blocks, by line, largest first.
    pub holders: Vec<Row>,
    /// What was tried, that which helps first.
    pub advice: Vec<Advice>,
    /// Why it may say less than there was to say; empty where it says all.
    pub careful: Vec<String>,
}

/// The autopsy of a refusal: its place among those of the history. `None` where there is none of
/// that number, or its blocks lie on one another, as in a damaged trace.
pub fn autopsy(trace: &Trace, history: &History, refusal: usize) -> Option<Autopsy> {
    let place = *history.refusals.get(refusal)?;
    let event = trace.events.at(place);
    let space = &trace.spaces[event.space as usize];
    let of = &history.spaces[event.space as usize];
    let changes = of.refusals[refusal];
    let blocks = live(trace, of, changes);
    let granule = granule(trace);
    let memory = Memory::with(trace, &blocks, space.capacity, granule)?;
    let noted = trace.holes_of(place);
    let rest = noted.map_or(&[][..], |noted| &noted.rest);
    let before = noted.map_or(&[][..], |noted| &noted.before);
    let case = Case {
        trace,
        history,
        capacity: space.capacity,
        granule,
        wanted: [before, &[event.size], rest].concat(),
        refused: before.len(),
        arguments: noted.map_or_else(Vec::new, |noted| noted.arguments.clone()),
        is_whole: trace.usages.is_empty() && of.missing == 0,
        blocks,
        memory,
        event,
        changes,
    };
    let mut careful = Vec::new();
    if let Some(noted) = noted
        && (noted.free, noted.in_use) != (case.memory.free(), case.memory.in_use())
    {
        careful.push(format!(
            "the machine had {} in use, and the trace has {}",
            bytes(noted.in_use),
            bytes(case.memory.in_use())
        ));
    }
    if case.memory.has_room(&case.wanted[..=case.refused]) {
        careful.push("by the changes of the trace there was room".to_owned());
    }
    let holes = Holes::between(trace, &case.blocks, space.capacity, 1);
    Some(Autopsy {
        space: space.name(),
        time: event.time,
        asked: event.size,
        asked_before: before.iter().sum(),
        asked_next: rest.iter().sum(),
        line: origin(trace, place, By::Line),
        what: match &*trace.labels[event.label as usize] {
            "" => trace.specs[event.spec as usize].text(),
            label => label.to_owned(),
        },
        capacity: space.capacity,
        in_use: case.memory.in_use(),
        free: holes.free,
        holes: holes.count,
        largest_hole: holes.list.into_iter().next(),
        holders: Holders::of(trace, case.blocks.clone(), By::Line).rows,
        advice: case.advice(),
        careful,
    })
}

/// How many lines of holders a text has.
const SHOWN: usize = 5;

impl Autopsy {
    /// The text for people, a line each.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{}: {} of {} in use, {} free in {}; {} asked for by {} ({})",
            self.space,
            bytes(self.in_use),
            bytes(self.capacity),
            bytes(self.free),
            counted(self.holes, "hole"),
            bytes(self.asked),
            one_line(&self.line),
            one_line(&self.what),
        )];
        if self.asked_before > 0 {
            let before = bytes(self.asked_before);
            lines.push(format!("the launch had taken {before} before, which are given back"));
        }
        if self.asked_next > 0 {
            lines.push(format!("the launch needs {} more behind it", bytes(self.asked_next)));
        }
        lines.extend(self.careful.iter().map(|why| format!("Careful: {why}.")));
        lines.push("who holds it, by line:".to_owned());
        for row in self.holders.iter().take(SHOWN) {
            let blocks = counted(row.blocks, "block");
            let size = bytes(row.size.in_memory);
            lines.push(format!("  {size:>9}  {blocks:>12}  {}", one_line(&row.key)));
        }
        if let Some(others) = self.holders.get(SHOWN..).filter(|others| !others.is_empty()) {
            let size = bytes(others.iter().map(|row| row.size.in_memory).sum());
            let blocks = counted(others.iter().map(|row| row.blocks).sum(), "block");
            let count = counted(others.len() as u64, "other line");
            lines.push(format!("  {size:>9}  {blocks:>12}  {count}"));
        }
        if let Some(hole) = &self.largest_hole {
            let size = bytes(hole.size);
            lines.push(format!("largest hole: {size} at 0x{:x}, between", hole.address));
            for (side, edge) in [(&hole.below, "the start"), (&hole.above, "the end")] {
                lines.push(match side {
                    Some(block) => format!(
                        "  {:>9}  {} ({})",
                        bytes(block.size),
                        one_line(&block.line),
                        one_line(&block.what)
                    ),
                    None => format!("  {edge} of {}", self.space),
                });
            }
        }
        for (helps, head) in
            [(true, "what would make it fit, each checked by replay:"), (false, "what would not:")]
        {
            let mut of = self.advice.iter().filter(|advice| advice.helps == helps).peekable();
            if of.peek().is_some() {
                lines.push(head.to_owned());
                lines.extend(of.map(|advice| format!("  {}", one_line(&advice.words))));
            }
        }
        lines.join("\n") + "\n"
    }
}
