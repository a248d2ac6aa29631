//! Copies that happen at once.
use super::Slot;

/// The copies in an order in which no source is overwritten before it is read; `stage` gives memory
/// for one that would be.
pub(super) fn at_once(
    copies: &[(Slot, Slot)],
    mut stage: impl FnMut(usize) -> Slot,
) -> Vec<(Slot, Slot)> {
    let copies: Vec<_> =
        copies.iter().copied().filter(|(from, to)| from != to && to.bytes > 0).collect();
    let targets = Targets::new(&copies);
    let mut first = Vec::new();
    let mut second = Vec::new();
    for (index, &(from, to)) in copies.iter().enumerate() {
        if targets.another_overlaps(index, &from) {
            let staged = stage(from.bytes);
            first.push((from, staged));
            second.push((staged, to));
        } else {
            second.push((from, to));
        }
    }
    first.extend(second);
    first
}

/// Where copies write, in the order of memory.
struct Targets {
    /// Each with the number of its copy.
    slots: Vec<(Slot, usize)>,
    /// The furthest end of this slot and those before it in the same memory.
    ends: Vec<usize>,
}

impl Targets {
    fn new(copies: &[(Slot, Slot)]) -> Self {
        let mut slots: Vec<(Slot, usize)> =
            copies.iter().enumerate().map(|(index, &(_, to))| (to, index)).collect();
        slots.sort_by_key(|(slot, _)| (slot.base, slot.offset));
        let mut ends: Vec<usize> = Vec::with_capacity(slots.len());
        for (at, (slot, _)) in slots.iter().enumerate() {
            let end = slot.offset + slot.bytes;
            let before = at.checked_sub(1).filter(|&before| slots[before].0.base == slot.base);
            ends.push(before.map_or(end, |before| end.max(ends[before])));
        }
        Self { slots, ends }
    }

    /// Whether a copy other than that of the index writes to a piece of memory.
    fn another_overlaps(&self, index: usize, piece: &Slot) -> bool {
        let end = (piece.base, piece.offset + piece.bytes);
        let below = self.slots.partition_point(|(slot, _)| (slot.base, slot.offset) < end);
        (0..below)
            .rev()
            .take_while(|&at| self.slots[at].0.base == piece.base && self.ends[at] > piece.offset)
            .any(|at| {
                let (slot, copy) = &self.slots[at];
                *copy != index && slot.offset + slot.bytes > piece.offset
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(offset: usize, bytes: usize) -> Slot {
        Slot { base: 0, offset, bytes }
    }

    fn staged(copies: &[(Slot, Slot)]) -> Vec<(Slot, Slot)> {
        at_once(copies, |bytes| Slot { base: 1, offset: 0, bytes })
    }

    #[test]
    fn copies_that_do_not_meet_stay_as_they_are() {
        let copies = [(slot(0, 8), slot(8, 8)), (slot(16, 8), slot(24, 8))];
        assert_eq!(staged(&copies), copies);
    }

    #[test]
    fn a_source_that_another_copy_overwrites_is_staged_first() {
        let copies = [(slot(0, 8), slot(8, 8)), (slot(8, 8), slot(0, 8))];
        let away = Slot { base: 1, offset: 0, bytes: 8 };
        let expected =
            [(slot(0, 8), away), (slot(8, 8), away), (away, slot(8, 8)), (away, slot(0, 8))];
        assert_eq!(staged(&copies), expected);
    }

    #[test]
    fn a_long_target_that_begins_far_below_is_seen() {
        let targets = Targets::new(&[
            (slot(500, 1), slot(0, 100)),
            (slot(600, 1), slot(10, 1)),
            (slot(700, 1), slot(20, 1)),
        ]);
        assert!(targets.another_overlaps(2, &slot(90, 4)));
        assert!(!targets.another_overlaps(0, &slot(90, 4)));
        assert!(!targets.another_overlaps(2, &slot(100, 4)));
        assert!(!targets.another_overlaps(2, &Slot { base: 1, ..slot(90, 4) }));
    }

    #[test]
    fn a_copy_to_its_own_place_is_none() {
        assert!(staged(&[(slot(0, 8), slot(0, 8)), (slot(0, 0), slot(8, 0))]).is_empty());
    }
}
