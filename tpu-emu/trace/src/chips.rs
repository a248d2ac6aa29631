//! What the chips of a trace, and others, have of memory.
use crate::tables::Trace;
use std::collections::BTreeMap;
use tpu_layout::TileRules;
use tpu_topology::{GENERATIONS, Topology};

/// The smallest block of v4 and all later generations, for a trace whose topology is not known.
const GRANULE: u64 = 512;

/// The chips that a trace names, if this version knows them.
pub(crate) fn topology(trace: &Trace) -> Option<Topology> {
    Topology::parse(&trace.header.topology).ok()
}

/// What every block of a trace's memories is a multiple of.
pub fn granule(trace: &Trace) -> u64 {
    topology(trace).map_or(GRANULE, |chips| chips.generation().tiles.granule().0)
}

/// How the memory of a trace's chips is cut into tiles, if the chips are known.
pub(crate) fn tile_rules(trace: &Trace) -> Option<TileRules> {
    topology(trace).map(|chips| chips.generation().tiles)
}

/// Another generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chip {
    /// As topologies name it.
    pub(crate) family: &'static str,
    /// Bytes that programs can use on each device.
    pub(crate) capacity: u64,
}

/// The generations that lay arrays out as those of a trace do and whose devices have more than so
/// many bytes for programs, least first; of those with as many the newest.
pub(crate) fn larger(trace: &Trace, capacity: u64) -> Vec<Chip> {
    let Some(rules) = tile_rules(trace) else { return Vec::new() };
    let mut families: Vec<&str> = Vec::new();
    let mut found: BTreeMap<u64, &'static str> = BTreeMap::new();
    for row in &GENERATIONS {
        // The first row of a family is the one that its name means.
        if families.contains(&row.family) {
            continue;
        }
        families.push(row.family);
        let limit = row.hbm.saturating_sub(row.reserved).0;
        if row.tiles == rules && limit > capacity {
            found.insert(limit, row.family);
        }
    }
    found.into_iter().map(|(capacity, family)| Chip { family, capacity }).collect()
}
