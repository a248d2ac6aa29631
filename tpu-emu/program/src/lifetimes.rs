//! How much is there at once of what lives from one position to another.
use std::collections::BTreeMap;

/// How much lives at once from each position on at which that changes, of what lives from a first
/// position to a last one, with its bytes.
pub fn levels(
    lives: impl Iterator<Item = (usize, usize, usize)>,
) -> impl Iterator<Item = (usize, usize)> {
    let mut changes: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (first, last, bytes) in lives {
        changes.entry(first).or_default().0 += bytes;
        changes.entry(last.saturating_add(1)).or_default().1 += bytes;
    }
    let mut live = 0;
    changes.into_iter().map(move |(at, (more, less))| {
        live = live + more - less;
        (at, live)
    })
}

/// The most bytes that live at once, of what lives from a first position to a last one.
pub(crate) fn fullest(lives: impl Iterator<Item = (usize, usize, usize)>) -> usize {
    levels(lives).map(|(_, live)| live).max().unwrap_or(0)
}
