//! What could make an allocation fit, each tried on the blocks as they lay.
use super::{Advice, Donation, Remedy};
use crate::chips::larger;
use crate::event::Event;
use crate::history::History;
use crate::holders::{By, origin};
use crate::padding::{instead, is_array, padding};
use crate::recorded::LaunchArgument;
use crate::replay::{Memory, Replay};
use crate::tables::Trace;
use crate::words::{bytes, counted, one_line};

/// How many rows of padding are tried.
const ROWS: usize = 40;

/// What one refusal met.
pub(super) struct Case<'a> {
    pub(super) trace: &'a Trace,
    pub(super) history: &'a History,
    /// Places of the live blocks, by address.
    pub(super) blocks: Vec<u32>,
    pub(super) memory: Memory,
    pub(super) capacity: u64,
    pub(super) granule: u64,
    /// What the launch asks for, in its order.
    pub(super) wanted: Vec<u64>,
    /// Which of that was refused.
    pub(super) refused: usize,
    pub(super) arguments: Vec<LaunchArgument>,
    pub(super) event: Event,
    pub(super) changes: usize,
    /// Whether the trace has every change of the space up to here.
    pub(super) is_whole: bool,
}

impl Case<'_> {
    pub(super) fn advice(&self) -> Vec<Advice> {
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
    pub(super) fn fits(&self, memory: &Memory) -> bool {
        memory.has_room(&self.wanted)
    }

    /// All arrays taken out and put back, where the rule puts them between the blocks that cannot
    /// be moved. It helps if it does in every order that somebody would put them back in: by
    /// address, by age, the largest first.
    fn defragmented(&self) -> Option<Advice> {
        let (mut arrays, fixed): (Vec<u32>, Vec<u32>) =
            self.blocks.iter().partition(|&&place| is_array(self.trace, place));
        let without = Memory::with(self.trace, &fixed, self.capacity, self.granule)?;
        let packed = |arrays: &[u32]| {
            let mut memory = without.clone();
            let size = |place| self.trace.events.at(place).size;
            let all = arrays.iter().all(|&place| memory.take(size(place), place).is_some());
            all.then_some(memory)
        };
        let by_address = packed(&arrays);
        arrays.sort_unstable();
        let by_age = packed(&arrays);
        arrays.sort_by_key(|&place| std::cmp::Reverse(self.trace.events.at(place).size));
        let orders = [by_address, by_age, packed(&arrays)];
        let helps = orders.iter().all(|memory| memory.as_ref().is_some_and(|m| self.fits(m)));
        let free = self.memory.free();
        let hole = orders.iter().flatten().map(Memory::largest_hole).min().unwrap_or(0);
        let how = "arrays that are copied to the host, deleted and put back lie side by side";
        let words = match helps {
            true if hole == free => {
                format!("defragmented: the {} that are free would be one hole ({how})", bytes(free))
            }
            true => format!(
                "defragmented: of the {} that are free {} would be one hole ({how})",
                bytes(free),
                bytes(hole)
            ),
            false if hole == free => {
                format!("defragmented: the {} that are free would be too few", bytes(free))
            }
            false => format!(
                "defragmented: of the {} that are free {} might be one hole, between blocks that \
                 no program can move, which is too few",
                bytes(free),
                bytes(hole)
            ),
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
                "donated (donate_argnums): {named}{also}, whose place a result would take over, if \
                 nothing reads it afterwards"
            ),
            false => format!("donated: {named}{also} would not be enough"),
        };
        Some(Advice { remedy: Remedy::Donate { arguments }, helps, words })
    }

    fn fits_with_donated(&self, given: &[LaunchArgument]) -> bool {
        let mut wanted = self.wanted.clone();
        for argument in given {
            let Some(at) = usize::try_from(argument.saves).ok().and_then(|at| at.checked_sub(1))
            else {
                continue;
            };
            if let Some(size) = wanted.get_mut(at) {
                *size = 0;
            }
        }
        self.memory.has_room(&wanted)
    }

    fn block_at(&self, address: u64) -> Option<u32> {
        let at = |&place: &u32| self.trace.events.at(place).address;
        self.blocks.binary_search_by_key(&address, at).ok().map(|at| self.blocks[at])
    }

    /// The array type whose padding, avoided, is enough: in a replay of the whole trace where there
    /// is one, else with the blocks where they lie. That which is asked for counts as well.
    fn reshaped(&self) -> Vec<Advice> {
        let mut found = Vec::new();
        for row in padding(self.trace, &self.blocks).into_iter().take(ROWS) {
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
            wanted[self.refused] = other.padded;
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
