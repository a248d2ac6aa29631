//! The fewest lines whose blocks, freed before, open a hole that is large enough.
use super::remedies::Case;
use super::{Advice, Remedy};
use crate::holders::{By, Holders, Keys, Row};
use crate::padding::is_array;
use crate::tally::ByNumber;
use crate::words::{bytes, counted, one_line};
use std::collections::{BTreeMap, BTreeSet};

/// How many lines are looked at, one with another, for those to free.
const LINES: usize = 40;

impl Case<'_> {
    /// The lines of blocks that a program could have given up before: no argument of this launch,
    /// no temporaries and no constants. Beside each its blocks.
    pub(super) fn lines(&self) -> Vec<(Row, Vec<u32>)> {
        let in_launch: BTreeSet<u64> =
            self.arguments.iter().map(|argument| argument.address).collect();
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
    pub(super) fn freed(&self, lines: &[(Row, Vec<u32>)]) -> Vec<Advice> {
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
        let asked: u64 = self.wanted[self.refused];
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
}
