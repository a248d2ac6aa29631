//! Which units of debug information speak of an address.
//!
//! `.debug_aranges` says so for most units in a few bytes each; of a unit that it leaves out the
//! first entry is read, and nothing else.
use super::entry::Bytes;
use super::rows::LineRows;
use gimli::{DebugInfoOffset, Dwarf, Range, Result, UnitHeader, UnitType};
use std::collections::HashSet;

/// The units of one file by address.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// By end, then by unit.
    ranges: Vec<UnitRange>,
    /// Where the units begin that have entries of code, ascending.
    offsets: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UnitRange {
    begin: u64,
    end: u64,
    /// The least begin from here on.
    least: u64,
    /// Where the unit begins.
    unit: u32,
}

impl Units {
    /// Reads where the units are.
    pub(super) fn of(dwarf: &Dwarf<Bytes>) -> Result<Self> {
        let mut units = Self::default();
        let mut headers = dwarf.units();
        let mut whole = Vec::new();
        while let Some(header) = headers.next()? {
            let Some(offset) = offset_of(&header) else { continue };
            // Units of types have no code; parts of units have names that others refer to.
            match header.type_() {
                UnitType::Type { .. } | UnitType::SplitType { .. } => continue,
                UnitType::Partial => {}
                _ => whole.push(offset),
            }
            units.offsets.push(offset);
        }
        let told = units.add_told(dwarf)?;
        for offset in whole.into_iter().filter(|offset| !told.contains(offset)) {
            // What is damaged speaks of nothing.
            let ranges = own_ranges(dwarf, offset).unwrap_or_default();
            ranges.into_iter().for_each(|range| units.add(offset, range));
        }
        units.arrange();
        Ok(units)
    }

    /// Adds what `.debug_aranges` says; gives the units that it knows.
    fn add_told(&mut self, dwarf: &Dwarf<Bytes>) -> Result<HashSet<u32>> {
        let mut told = HashSet::new();
        let mut headers = dwarf.debug_aranges.headers();
        while let Some(header) = headers.next()? {
            let Ok(unit) = u32::try_from(header.debug_info_offset().0) else { continue };
            if self.offsets.binary_search(&unit).is_err() {
                continue;
            }
            let mut entries = header.entries();
            while let Some(entry) = entries.next().transpose() {
                // An end beyond all addresses is an error of this entry alone.
                let Ok(entry) = entry else { continue };
                if entry.length() != 0 {
                    self.add(unit, entry.range());
                    told.insert(unit);
                }
            }
        }
        Ok(told)
    }

    fn add(&mut self, unit: u32, Range { begin, end }: Range) {
        self.ranges.push(UnitRange { begin, end, least: begin, unit });
    }

    /// Sorts the ranges, and notes how far back each must be looked for.
    fn arrange(&mut self) {
        self.ranges.shrink_to_fit();
        self.ranges.sort_unstable_by_key(|range| (range.end, range.unit));
        let mut least = u64::MAX;
        for range in self.ranges.iter_mut().rev() {
            least = least.min(range.begin);
            range.least = least;
        }
    }

    /// The units that may speak of `address`. Several may: those of code that the linker left out
    /// have what it would have been.
    pub(super) fn at(&self, address: u64) -> impl Iterator<Item = u32> {
        let first = self.ranges.partition_point(|range| range.end <= address);
        let near = self.ranges[first..].iter().take_while(move |range| range.least <= address);
        near.filter(move |range| range.begin <= address).map(|range| range.unit)
    }

    /// The unit that holds an entry.
    pub(super) fn holder(&self, entry: DebugInfoOffset) -> Option<u32> {
        let after = self.offsets.partition_point(|&unit| (unit as usize) < entry.0);
        self.offsets[..after].last().copied()
    }
}

fn offset_of(header: &UnitHeader<Bytes>) -> Option<u32> {
    u32::try_from(header.debug_info_offset()?.0).ok()
}

/// What a unit says of itself, or else its lines.
fn own_ranges(dwarf: &Dwarf<Bytes>, offset: u32) -> Result<Vec<Range>> {
    let unit = dwarf.unit(dwarf.unit_header(DebugInfoOffset(offset as usize))?)?;
    let (mut ranges, mut found) = (dwarf.unit_ranges(&unit)?, Vec::new());
    while let Some(range) = ranges.next()? {
        found.extend(Some(range).filter(|range| range.begin < range.end));
    }
    if found.is_empty()
        && let Some(program) = &unit.line_program
    {
        found.extend(LineRows::of(program.header())?.ranges());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(ranges: &[(u32, u64, u64)]) -> Units {
        let mut units = Units::default();
        ranges.iter().for_each(|&(unit, begin, end)| units.add(unit, Range { begin, end }));
        units.arrange();
        units
    }

    #[test]
    fn an_address_has_every_unit_whose_range_holds_it() {
        let units = units(&[(1, 10, 20), (2, 20, 30), (3, 5, 40), (4, 22, 25)]);
        let at = |address| units.at(address).collect::<Vec<_>>();
        assert_eq!(
            [4, 5, 10, 19, 20, 22, 25, 39, 40].map(at),
            [
                vec![],
                vec![3],
                vec![1, 3],
                vec![1, 3],
                vec![2, 3],
                vec![4, 2, 3],
                vec![2, 3],
                vec![3],
                vec![]
            ]
        );
    }

    #[test]
    fn an_entry_is_held_by_the_last_unit_before_it() {
        let units = Units { offsets: vec![0, 100], ..Units::default() };
        let holders = [0, 1, 100, 101].map(|at| units.holder(DebugInfoOffset(at)));
        assert_eq!(holders, [None, Some(0), Some(0), Some(100)]);
    }
}
