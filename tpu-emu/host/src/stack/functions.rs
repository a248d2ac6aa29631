//! The functions of one unit of debug information, and what was inlined into them.
use super::entry::Bytes;
use gimli::{
    Abbreviation, Attribute, AttributeValue, DW_TAG_inlined_subroutine, DW_TAG_subprogram,
    EntriesRaw, Range, RangeListsOffset, Result, UnitOffset, UnitRef,
};

type Unit<'a> = UnitRef<'a, Bytes>;

/// Where the functions of a unit are.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// By begin.
    places: Vec<FunctionPlace>,
}

#[derive(Debug, Clone, Copy)]
struct FunctionPlace {
    begin: u64,
    end: u64,
    entry: UnitOffset,
}

/// A call that was inlined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inlined {
    /// The entry of the function that was called.
    pub(super) entry: UnitOffset,
    /// The file with the call, by its number in the unit's table.
    pub(super) file: Option<u64>,
    /// The line of the call, 0 where unknown.
    pub(super) line: u32,
}

/// What an entry says of its addresses.
#[derive(Debug, Default)]
struct EntryExtent {
    low: Option<u64>,
    high: Option<u64>,
    size: Option<u64>,
    list: Option<RangeListsOffset>,
}

impl Functions {
    /// Finds the functions of `unit` that have code.
    pub(super) fn of(unit: Unit<'_>) -> Result<Self> {
        let mut places = Vec::new();
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let entry = entries.next_offset();
            let Some(kind) = entries.read_abbreviation()? else { continue };
            if kind.tag() != DW_TAG_subprogram {
                entries.skip_attributes(kind.attributes())?;
                continue;
            }
            let mut extent = EntryExtent::default();
            each_attribute(&mut entries, kind, |attribute| extent.learn(unit, attribute))?;
            extent.each_range(unit, |Range { begin, end }| {
                places.push(FunctionPlace { begin, end, entry });
            })?;
        }
        places.shrink_to_fit();
        places.sort_by_key(|place| place.begin);
        Ok(Self { places })
    }

    /// The entry of the function that holds `address`.
    pub(super) fn at(&self, address: u64) -> Option<UnitOffset> {
        let after = self.places.partition_point(|place| place.begin <= address);
        self.places[..after].last().filter(|place| address < place.end).map(|place| place.entry)
    }
}

/// The calls at `address` that were inlined into the function `entry`, outermost first.
pub(super) fn inlined(unit: Unit<'_>, entry: UnitOffset, address: u64) -> Result<Vec<Inlined>> {
    let mut entries = unit.entries_raw(Some(entry))?;
    let top = entries.next_depth();
    let Some(kind) = entries.read_abbreviation()? else { return Ok(Vec::new()) };
    entries.skip_attributes(kind.attributes())?;
    // What holds the address, by how many calls it is inlined through.
    let mut found: Vec<Option<Inlined>> = Vec::new();
    // The depths of the calls around this entry, and that of a function inside of this one.
    let (mut around, mut inside) = (Vec::new(), None);
    while entries.next_depth() > top {
        let (depth, entry) = (entries.next_depth(), entries.next_offset());
        let Some(kind) = entries.read_abbreviation()? else { continue };
        while around.last().is_some_and(|&last| last >= depth) {
            around.pop();
        }
        inside = inside.filter(|&inside| depth > inside);
        if inside.is_none() && kind.tag() == DW_TAG_subprogram {
            inside = Some(depth);
        }
        if inside.is_some() || kind.tag() != DW_TAG_inlined_subroutine {
            entries.skip_attributes(kind.attributes())?;
            continue;
        }
        let level = around.len();
        around.push(depth);
        let mut call = Inlined { entry, file: None, line: 0 };
        let mut extent = EntryExtent::default();
        each_attribute(&mut entries, kind, |attribute| {
            call.learn(unit, attribute);
            extent.learn(unit, attribute)
        })?;
        let mut holds = false;
        extent.each_range(unit, |range| holds |= (range.begin..range.end).contains(&address))?;
        if holds {
            found.resize(found.len().max(level + 1), None);
            found[level] = Some(call);
        }
    }
    Ok(found.into_iter().map_while(|call| call).collect())
}

impl Inlined {
    fn learn(&mut self, unit: Unit<'_>, attribute: &Attribute<Bytes>) {
        match (attribute.name(), attribute.value()) {
            // Before version 5, a file of number 0 is none.
            (gimli::DW_AT_call_file, AttributeValue::FileIndex(file)) => {
                self.file = Some(file).filter(|&file| file > 0 || unit.header.version() >= 5);
            }
            (gimli::DW_AT_call_line, _) => {
                let line = attribute.udata_value().and_then(|line| u32::try_from(line).ok());
                self.line = line.unwrap_or(0);
            }
            _ => {}
        }
    }
}

impl EntryExtent {
    fn learn(&mut self, unit: Unit<'_>, attribute: &Attribute<Bytes>) -> Result<()> {
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_low_pc, value) => self.low = unit.attr_address(value)?,
            (gimli::DW_AT_high_pc, AttributeValue::Udata(size)) => self.size = Some(size),
            (gimli::DW_AT_high_pc, value) => self.high = unit.attr_address(value)?,
            (gimli::DW_AT_ranges, value) => self.list = unit.attr_ranges_offset(value)?,
            _ => {}
        }
        Ok(())
    }

    fn each_range(&self, unit: Unit<'_>, mut each: impl FnMut(Range)) -> Result<()> {
        let mut add = |range: Range| {
            if range.begin < range.end {
                each(range);
            }
        };
        if let Some(list) = self.list {
            let mut ranges = unit.ranges(list)?;
            while let Some(range) = ranges.next()? {
                add(range);
            }
        } else if let Some(begin) = self.low {
            // Code that the linker left out begins with the highest address.
            let end = self.high.or_else(|| Some(begin.wrapping_add(self.size?)));
            end.into_iter().for_each(|end| add(Range { begin, end }));
        }
        Ok(())
    }
}

fn each_attribute(
    entries: &mut EntriesRaw<'_, Bytes>,
    kind: &Abbreviation,
    mut each: impl FnMut(&Attribute<Bytes>) -> Result<()>,
) -> Result<()> {
    for &attribute in kind.attributes() {
        each(&entries.read_attribute(attribute)?)?;
    }
    Ok(())
}
