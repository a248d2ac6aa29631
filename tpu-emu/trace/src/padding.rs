//! What tiles cost: the bytes of blocks that no element takes, and what would avoid them.
//!
//! Only the bytes of arrays count, by their type and their layout; a program's temporaries are one
//! block of many arrays, of which the trace does not tell the padding.
use crate::chips::{granule, tile_rules};
use crate::holders::{By, Keys};
use crate::tables::{ArraySpec, Trace};
use serde::Serialize;
use std::collections::BTreeMap;
use tpu_base::tensor::dtype::{DType, DeviceElement};
use tpu_layout::{Layout, TileRules, default_layout, padded_bytes};

/// Another shape for the same elements, which takes fewer bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instead {
    /// The type and the layout that it has.
    pub array: String,
    /// How it is made of the other: `reshape(-1)`.
    pub how: String,
    /// Bytes in memory of one.
    pub padded: u64,
}

/// The blocks of one array type from one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Padded {
    /// The array type.
    pub array: String,
    /// The line that took them.
    pub line: String,
    /// How many.
    pub blocks: u64,
    /// Bytes in memory.
    pub in_memory: u64,
    /// Bytes of their elements.
    pub logical: u64,
    /// What takes least, where anything takes less.
    pub instead: Option<Instead>,
    /// Bytes that it would save, of all of them.
    pub saves: u64,
    /// Place of the array type.
    #[serde(skip)]
    pub spec: u32,
}

impl Padded {
    /// Bytes that no element takes.
    pub fn padding(&self) -> u64 {
        self.in_memory.saturating_sub(self.logical)
    }
}

/// The padding of blocks by array type and line, those that lose most first; those that lose
/// nothing are left out.
pub fn padding(trace: &Trace, blocks: &[u32]) -> Vec<Padded> {
    let mut keys = Keys::new(trace, By::Line);
    let mut found: BTreeMap<(u32, String), (u64, u64)> = BTreeMap::new();
    for &place in blocks {
        let event = trace.events.at(place);
        if is_array(trace, place) {
            let line = keys.of(&event).to_owned();
            let row = found.entry((event.spec, line)).or_default();
            *row = (row.0 + 1, row.1.saturating_add(event.size));
        }
    }
    let mut made: BTreeMap<u32, Option<Instead>> = BTreeMap::new();
    let rows = found.into_iter().map(|((spec, line), (blocks, in_memory))| {
        let of = &trace.specs[spec as usize];
        let instead = made.entry(spec).or_insert_with(|| instead(trace, of)).clone();
        let saves = instead
            .as_ref()
            .map_or(0, |instead| in_memory.saturating_sub(instead.padded.saturating_mul(blocks)));
        let logical = of.logical.saturating_mul(blocks);
        Padded { array: of.text(), line, blocks, in_memory, logical, instead, saves, spec }
    });
    let mut rows: Vec<Padded> = rows.filter(|row| row.padding() > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.padding()));
    rows
}

/// Whether a block has one array in it, as its type says.
pub(crate) fn is_array(trace: &Trace, place: u32) -> bool {
    let event = trace.events.at(place);
    let label = &trace.labels[event.label as usize];
    !["temporaries of ", "constants of "].iter().any(|start| label.starts_with(start))
}

/// The shape that takes least of those that a reshape makes without moving elements, and of the
/// same shape in the layout that it has when nobody asks for one.
pub(crate) fn instead(trace: &Trace, spec: &ArraySpec) -> Option<Instead> {
    let rules = tile_rules(trace)?;
    let granule = granule(trace);
    let element = DType::ALL.iter().find(|dtype| dtype.name() == spec.dtype)?.element();
    let layout = Layout::parse(&spec.layout).ok()?;
    // Another memory space, or an element of another width than its type: these rules know it not.
    if layout.memory_space.is_some() || padded_bytes(element, &spec.shape, &layout).ok()?.0 == 0 {
        return None;
    }
    let tried = shapes(&spec.shape).into_iter().filter_map(|(how, shape)| {
        let (layout, padded) = laid_out(rules, element, &shape)?;
        let array = ArraySpec { shape, layout: layout.to_string(), ..spec.clone() }.text();
        Some(Instead { array, how, padded: padded.next_multiple_of(granule) })
    });
    // Of equals the one that changes least, which stands first.
    let best = tried.min_by_key(|instead| instead.padded)?;
    (best.padded < spec.padded.next_multiple_of(granule)).then_some(best)
}

fn laid_out(rules: TileRules, element: DeviceElement, shape: &[u64]) -> Option<(Layout, u64)> {
    let layout = default_layout(rules, element, shape).ok()?;
    let padded = padded_bytes(element, shape, &layout).ok()?.0;
    Some((layout, padded))
}

/// What a type takes on chips with other tiles, for an array in the layout that it has there when
/// nobody asks for one; `None` for other layouts.
pub(crate) fn elsewhere(here: TileRules, there: TileRules, spec: &ArraySpec) -> Option<u64> {
    let element = DType::ALL.iter().find(|dtype| dtype.name() == spec.dtype)?.element();
    let (layout, _) = laid_out(here, element, &spec.shape)?;
    if layout.to_string() != spec.layout {
        return None;
    }
    laid_out(there, element, &spec.shape).map(|(_, padded)| padded)
}

/// Shapes with the same elements in the same order, and how they are made.
fn shapes(shape: &[u64]) -> Vec<(String, Vec<u64>)> {
    let mut found = vec![("the default layout".to_owned(), shape.to_vec())];
    // Neighbours joined, one pair at a time: what a leading or trailing small axis loses.
    for at in 1..shape.len() {
        let mut joined = shape.to_vec();
        joined[at - 1] = joined[at - 1].saturating_mul(joined[at]);
        joined.remove(at);
        if joined.len() > 1 {
            found.push((reshape(&joined), joined));
        }
    }
    if shape.len() > 1 {
        let all = shape.iter().fold(1_u64, |all, &side| all.saturating_mul(side));
        found.push(("reshape(-1)".to_owned(), vec![all]));
    }
    found
}

fn reshape(shape: &[u64]) -> String {
    let sides: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("reshape({})", sides.join(", "))
}
