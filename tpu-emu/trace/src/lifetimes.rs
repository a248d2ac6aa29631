//! How long blocks lived, from their allocation to their free.
use crate::event::ChangeKind;
use crate::history::{History, NO_CHANGE};
use crate::holders::{By, Keys};
use crate::tables::Trace;
use serde::Serialize;
use std::collections::BTreeMap;

/// The blocks of one origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lifetimes {
    /// What they have in common, in words.
    pub key: String,
    /// How many were taken.
    pub blocks: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// How many were never given back.
    pub kept: u64,
    /// Nanoseconds that the one in the middle lived, of those that were given back.
    pub median: Option<u64>,
    /// Nanoseconds that the longest lived, of those that were given back.
    pub longest: Option<u64>,
}

/// The blocks of all spaces of devices, those that took most first.
pub fn lifetimes(trace: &Trace, history: &History, by: By) -> Vec<Lifetimes> {
    let mut keys = Keys::new(trace, by);
    // Blocks, bytes, and the times of those that were given back.
    let mut found: BTreeMap<String, (u64, u64, Vec<u64>)> = BTreeMap::new();
    let spaces = history.spaces.iter().zip(&trace.spaces);
    for (space, _) in spaces.filter(|(_, space)| space.device.is_some()) {
        for (at, &place) in space.order.iter().enumerate() {
            if trace.events.kind(place) != ChangeKind::Allocate {
                continue;
            }
            let event = trace.events.at(place);
            let key = keys.of(&event);
            let row = match found.get_mut(key) {
                Some(row) => row,
                None => found.entry(key.to_owned()).or_default(),
            };
            row.0 += 1;
            row.1 = row.1.saturating_add(event.size);
            if space.partner[at] != NO_CHANGE {
                row.2.push(space.times[space.partner[at] as usize] - space.times[at]);
            }
        }
    }
    let rows = found.into_iter().map(|(key, (blocks, bytes, mut times))| {
        times.sort_unstable();
        Lifetimes {
            key,
            blocks,
            bytes,
            kept: blocks - times.len() as u64,
            median: times.get(times.len() / 2).copied(),
            longest: times.last().copied(),
        }
    });
    let mut rows: Vec<Lifetimes> = rows.collect();
    // By their words among equals, as they stand.
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    rows
}
