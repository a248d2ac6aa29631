//! Why an allocation found no room, and what would make it fit. Every advice is tried on the
//! blocks as they lay, with the machine's own rule, before it is given.
use crate::chips::{granule, larger};
use crate::event::Event;
use crate::gaps::{Hole, Holes};
use crate::history::History;
use crate::holders::{By, Holders, Keys, Row, live, origin};
use crate::padding::{instead, is_array};
use crate::recorded::LaunchArgument;
use crate::replay::{Memory, Replay};
use crate::tables::Trace;
use crate::tally::ByNumber;
use crate::words::{bytes, counted, one_line};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Its place among the program's parameters.
    pub argument: u64,
    /// Its array type.
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

/// How many lines are looked at, one with another, for those to free.
const LINES: usize = 40;

/// What one refusal met.
struct Case<'a> {
    trace: &'a Trace,
    history: &'a History,
    /// Places of the live blocks, by address.
    blocks: Vec<u32>,
    memory: Memory,
    capacity: u64,
    granule: u64,
    /// What the launch asks for: that which was refused, then the rest.
    wanted: Vec<u64>,
    taken: Vec<u64>,
    arguments: Vec<LaunchArgument>,
    event: Event,
    changes: usize,
    /// Whether the trace has every change of the space up to here.
    is_whole: bool,
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
    let case = Case {
        trace,
        history,
        capacity: space.capacity,
        granule,
        wanted: std::iter::once(event.size).chain(rest.iter().copied()).collect(),
        taken: noted.map_or_else(Vec::new, |noted| noted.taken.clone()),
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
    if case.memory.has_room(&case.wanted[..1]) {
        careful.push("by the changes of the trace there was room".to_owned());
    }
    let holes = Holes::between(trace, &case.blocks, space.capacity, 1);
    Some(Autopsy {
        space: space.name(),
        time: event.time,
        asked: event.size,
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

impl Case<'_> {
    fn advice(&self) -> Vec<Advice> {
        let lines = self.lines();
        let mut found: Vec<Advice> = Vec::new();
        found.extend(self.defragmented());
        found.extend(self.donated());
        found.extend(self.freed(&lines));
        found.extend(self.reshaped());
        found.extend(self.enlarged());
        found.sort_by_key(|advice| !advice.helps);
        found
    }

    /// Whether everything that the launch asks for finds room.
    fn fits(&self, memory: &Memory) -> bool {
        memory.has_room(&self.wanted)
    }

    /// All blocks side by side, those that cannot be moved as well: a lower bound for what any
    /// order could do.
    fn defragmented(&self) -> Option<Advice> {
        let mut packed = Memory::new(self.capacity, self.granule);
        for &place in &self.blocks {
            packed.take(self.trace.events.at(place).size, place)?;
        }
        let helps = self.fits(&packed);
        let free = bytes(packed.free());
        let words = match helps {
            true => format!(
                "defragmented: the {free} that are free would be one hole (arrays that are copied \
                 to the host, deleted and put back lie side by side)"
            ),
            false => format!("defragmented: the {free} that are free would be too few"),
        };
        Some(Advice { remedy: Remedy::Defragment, helps, words })
    }

    /// The arguments that would save an allocation: the one that is enough, else all of them.
    fn donated(&self) -> Option<Advice> {
        let mut can: Vec<LaunchArgument> = self.arguments.clone();
        can.retain(|argument| argument.saves != 0);
        let size = |argument: &LaunchArgument| {
            self.block_at(argument.address).map_or(0, |place| self.trace.events.at(place).size)
        };
        can.sort_by_key(|argument| (size(argument), argument.number));
        let single = can.iter().find(|argument| self.fits_with_donated(&[**argument]));
        let (given, helps) = match single {
            Some(&argument) => (vec![argument], true),
            None => {
                // Several, the largest first, until it is enough.
                can.reverse();
                let enough = (2..=can.len()).find(|&count| self.fits_with_donated(&can[..count]));
                can.truncate(enough.unwrap_or(can.len()));
                (can, enough.is_some())
            }
        };
        let arguments: Vec<Donation> = given
            .iter()
            .filter_map(|argument| {
                let place = self.block_at(argument.address)?;
                let event = self.trace.events.at(place);
                Some(Donation {
                    argument: argument.number,
                    array: self.trace.specs[event.spec as usize].short_text(),
                    line: origin(self.trace, place, By::Line),
                    size: event.size,
                })
            })
            .collect();
        let [first, others @ ..] = &arguments[..] else { return None };
        let named = format!(
            "argument {} ({}, {}, taken at {})",
            first.argument,
            first.array,
            bytes(first.size),
            one_line(&first.line)
        );
        let also = match others.len() {
            0 => String::new(),
            count => format!(" and {}", counted(count as u64, "other")),
        };
        let words = match helps {
            true => format!(
                "donated (donate_argnums): {named}{also}, whose place a result would take over"
            ),
            false => format!("donated: {named}{also} would not be enough"),
        };
        Some(Advice { remedy: Remedy::Donate { arguments }, helps, words })
    }

    fn fits_with_donated(&self, given: &[LaunchArgument]) -> bool {
        let mut memory = self.memory.clone();
        let mut wanted = self.wanted.clone();
        for argument in given {
            let Some(at) = usize::try_from(argument.saves).ok().and_then(|at| at.checked_sub(1))
            else {
                continue;
            };
            match wanted.get_mut(at) {
                Some(size) => *size = 0,
                None => match self.taken.get(at - wanted.len()) {
                    Some(&address) => memory.give(address),
                    None => return false,
                },
            }
        }
        memory.has_room(&wanted)
    }

    fn block_at(&self, address: u64) -> Option<u32> {
        let at = |&place: &u32| self.trace.events.at(place).address;
        self.blocks.binary_search_by_key(&address, at).ok().map(|at| self.blocks[at])
    }

    /// The lines of blocks that a program could have given up before: no argument of this launch,
    /// nothing that it has taken, no temporaries and no constants. Beside each its blocks.
    fn lines(&self) -> Vec<(Row, Vec<u32>)> {
        let in_launch: BTreeSet<u64> = self
            .arguments
            .iter()
            .map(|argument| argument.address)
            .chain(self.taken.iter().copied())
            .collect();
        let mut keys = Keys::new(self.trace, By::Line);
        let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for &place in &self.blocks {
            let event = self.trace.events.at(place);
            if is_array(self.trace, place) && !in_launch.contains(&event.address) {
                let key = keys.of(&event);
                match found.get_mut(key) {
                    Some(blocks) => blocks.push(place),
                    None => {
                        found.insert(key.to_owned(), vec![place]);
                    }
                }
            }
        }
        let rows = found.into_values().filter_map(|blocks| {
            let rows = Holders::of(self.trace, blocks.clone(), By::Line).rows;
            rows.into_iter().next().map(|row| (row, blocks))
        });
        let mut rows: Vec<(Row, Vec<u32>)> = rows.collect();
        rows.sort_by_key(|(row, _)| std::cmp::Reverse(row.size.in_memory));
        rows
    }

    fn fits_without(&self, lines: &[(Row, Vec<u32>)], freed: &[usize]) -> bool {
        let mut memory = self.memory.clone();
        for &line in freed {
            for &place in &lines[line].1 {
                memory.give(self.trace.events.at(place).address);
            }
        }
        self.fits(&memory)
    }

    /// The fewest lines whose blocks, freed, open a hole that is large enough; of those the ones
    /// that hold least. And the largest holder, where that would not do.
    fn freed(&self, lines: &[(Row, Vec<u32>)]) -> Vec<Advice> {
        let advice = |freed: &[usize], helps: bool| {
            let rows: Vec<Row> = freed.iter().map(|&line| lines[line].0.clone()).collect();
            let named: Vec<String> = rows
                .iter()
                .map(|row| {
                    let (size, blocks) = (bytes(row.size.in_memory), counted(row.blocks, "block"));
                    format!("{size} in {blocks} of {}", one_line(&row.key))
                })
                .collect();
            let words = match helps {
                true => format!("freed before: {}", named.join(", and ")),
                false => format!("freed before: {} would not open a hole", named.join(", and ")),
            };
            Advice { remedy: Remedy::Free { lines: rows }, helps, words }
        };
        let mut found = Vec::new();
        // Those that hold least come first.
        let single = (0..lines.len()).rev().find(|&line| self.can_help(lines, &[line]));
        let freed = match single {
            Some(line) => Some(vec![line]),
            None => self.fewest(lines),
        };
        if let Some(freed) = &freed {
            found.push(advice(freed, true));
        }
        if !lines.is_empty() && freed.as_ref().is_none_or(|freed| !freed.contains(&0)) {
            let helps = self.fits_without(lines, &[0]);
            if !helps {
                found.push(advice(&[0], false));
            }
        }
        found
    }

    /// Whether lines, freed, are enough. The sum is looked at first, which costs nothing.
    fn can_help(&self, lines: &[(Row, Vec<u32>)], freed: &[usize]) -> bool {
        let sum: u64 = freed.iter().map(|&line| lines[line].0.size.in_memory).sum();
        let wanted: u64 = self.wanted.iter().sum();
        sum.saturating_add(self.memory.free()) >= wanted && self.fits_without(lines, freed)
    }

    /// Pairs of lines, then the lines of the stretch of addresses that has the fewest of them.
    fn fewest(&self, lines: &[(Row, Vec<u32>)]) -> Option<Vec<usize>> {
        let few = lines.len().min(LINES);
        let mut pairs: Vec<(u64, [usize; 2])> = (0..few)
            .flat_map(|one| (0..one).map(move |other| [other, one]))
            .map(|pair| (pair.iter().map(|&line| lines[line].0.size.in_memory).sum(), pair))
            .collect();
        pairs.sort_unstable();
        // A hundred thousand blocks are walked for each.
        pairs.truncate(if self.blocks.len() > 10_000 { 0 } else { LINES * LINES });
        if let Some((_, pair)) = pairs.iter().find(|(_, pair)| self.can_help(lines, pair)) {
            return Some(pair.to_vec());
        }
        self.stretches(lines).into_iter().find(|freed| self.can_help(lines, freed)).or_else(|| {
            let all: Vec<usize> = (0..lines.len()).collect();
            // The largest holders, as few as are enough.
            let enough = |count: usize| self.can_help(lines, &all[..count]);
            enough(all.len()).then(|| {
                let (mut low, mut high) = (0, all.len());
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if enough(middle) { high = middle } else { low = middle }
                }
                all[..high].to_vec()
            })
        })
    }

    /// The sets of lines whose blocks lie in a stretch of addresses that is as long as what is
    /// asked for, the smallest sets first; a few of them.
    fn stretches(&self, lines: &[(Row, Vec<u32>)]) -> Vec<Vec<usize>> {
        let mut line_of: ByNumber<usize, u32> = ByNumber::default();
        for (line, (_, blocks)) in lines.iter().enumerate() {
            blocks.iter().for_each(|&place| {
                line_of.insert(place, line);
            });
        }
        let asked: u64 = self.wanted[0];
        let mut best: Vec<Vec<usize>> = Vec::new();
        let mut inside: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut last, mut fixed) = (0, 0_usize);
        // Where the addresses behind a block may begin to be free: at the end of the one below.
        let end_of = |at: usize| match at.checked_sub(1) {
            Some(below) => {
                let event = self.trace.events.at(self.blocks[below]);
                event.address + event.size
            }
            None => 0,
        };
        let start_of = |at: usize| match self.blocks.get(at) {
            Some(&place) => self.trace.events.at(place).address,
            None => self.capacity,
        };
        for first in 0..self.blocks.len() {
            while start_of(last).saturating_sub(end_of(first)) < asked && last < self.blocks.len() {
                match line_of.get(&self.blocks[last]) {
                    Some(&line) => *inside.entry(line).or_default() += 1,
                    None => fixed += 1,
                }
                last += 1;
            }
            if start_of(last).saturating_sub(end_of(first)) < asked {
                break;
            }
            if fixed == 0 {
                let set: Vec<usize> = inside.keys().copied().collect();
                let shortest = best.first().map_or(usize::MAX, Vec::len);
                if set.len() < shortest {
                    best.insert(0, set);
                    best.truncate(LINES);
                } else if set.len() == shortest && best.len() < LINES && !best.contains(&set) {
                    best.push(set);
                }
            }
            match line_of.get(&self.blocks[first]) {
                Some(line) => {
                    if let Some(count) = inside.get_mut(line) {
                        *count -= 1;
                        if *count == 0 {
                            inside.remove(line);
                        }
                    }
                }
                None => fixed = fixed.saturating_sub(1),
            }
        }
        best.sort_by_key(|set| {
            let held: u64 = set.iter().map(|&line| lines[line].0.size.in_memory).sum();
            (set.len(), held)
        });
        best
    }

    /// The array type whose padding, avoided, is enough: in a replay of the whole trace where there
    /// is one, else with the blocks where they lie. That which is asked for counts as well.
    fn reshaped(&self) -> Vec<Advice> {
        let mut found = Vec::new();
        for row in crate::padding::padding(self.trace, &self.blocks).into_iter().take(LINES) {
            let Some(other) = row.instead.clone().filter(|_| row.saves > 0) else { continue };
            if self.fits_reshaped(row.spec, other.padded) {
                let words = format!(
                    "padding avoided: {} of {} save {} as {} ({})",
                    counted(row.blocks, "block"),
                    one_line(&row.line),
                    bytes(row.saves),
                    other.array,
                    other.how
                );
                let (array, line, saves) = (row.array, row.line, row.saves);
                let (instead, how) = (other.array, other.how);
                let remedy = Remedy::Reshape { array, line, instead, how, saves };
                found.push(Advice { remedy, helps: true, words });
                break;
            }
        }
        let asked = &self.trace.specs[self.event.spec as usize];
        if found.is_empty()
            && self.trace.labels[self.event.label as usize].is_empty()
            && let Some(other) = instead(self.trace, asked)
        {
            let saves = self.event.size.saturating_sub(other.padded);
            let mut wanted = self.wanted.clone();
            wanted[0] = other.padded;
            if self.memory.has_room(&wanted) {
                let words = format!(
                    "padding avoided: what is asked for takes {} less as {} ({})",
                    bytes(saves),
                    other.array,
                    other.how
                );
                let line = "what is asked for".to_owned();
                let (array, instead, how) = (asked.text(), other.array, other.how);
                let remedy = Remedy::Reshape { array, line, instead, how, saves };
                found.push(Advice { remedy, helps: true, words });
            }
        }
        found
    }

    fn fits_reshaped(&self, spec: u32, padded: u64) -> bool {
        if self.is_whole {
            let mut sizes = vec![None; self.trace.specs.len()];
            sizes[spec as usize] = Some(padded);
            let replay = Replay::new(self.trace, self.history, self.event.space, self.granule)
                .with_sizes(sizes);
            let memory = replay.run(self.capacity, self.changes);
            return memory.is_ok_and(|memory| self.fits(&memory));
        }
        // Where they lie, each gives back its end.
        let mut memory = Memory::new(self.capacity, self.granule);
        let mut fillers = Vec::new();
        let mut end = 0;
        for &place in &self.blocks {
            let event = self.trace.events.at(place);
            let size = match event.spec == spec && is_array(self.trace, place) {
                true => event.size.min(padded),
                false => event.size,
            };
            if event.address > end {
                fillers.extend(memory.take(event.address - end, place));
            }
            if memory.take(size, place) != Some(event.address) {
                return false;
            }
            end = event.address + size;
        }
        fillers.into_iter().for_each(|at| memory.give(at));
        self.fits(&memory)
    }

    /// The next larger chip, and the least memory that is enough.
    fn enlarged(&self) -> Vec<Advice> {
        let fits = |capacity: u64| match self.is_whole {
            true => {
                let replay = Replay::new(self.trace, self.history, self.event.space, self.granule);
                let memory = replay.run(capacity, self.changes);
                memory.is_ok_and(|memory| self.fits(&memory))
            }
            false => Memory::with(self.trace, &self.blocks, capacity, self.granule)
                .is_some_and(|memory| self.fits(&memory)),
        };
        let mut found = Vec::new();
        let chips = larger(self.trace, self.capacity);
        if let Some(chip) = chips.iter().find(|chip| fits(chip.capacity)) {
            let remedy =
                Remedy::Enlarge { chip: Some(chip.family.to_owned()), capacity: chip.capacity };
            let words = format!(
                "a larger chip: {}, which leaves {} to programs",
                chip.family,
                bytes(chip.capacity)
            );
            found.push(Advice { remedy, helps: true, words });
        } else if let Some(chip) = chips.last() {
            let remedy =
                Remedy::Enlarge { chip: Some(chip.family.to_owned()), capacity: chip.capacity };
            let words = format!("a larger chip: not even {} would do", chip.family);
            found.push(Advice { remedy, helps: false, words });
        }
        found
    }
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
