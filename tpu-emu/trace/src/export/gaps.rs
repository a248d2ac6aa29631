//! The holes between the live blocks of a memory space, change by change.
use crate::event::{ChangeKind, Event};
use std::collections::BTreeMap;

/// The live blocks of a space and the holes between them.
#[derive(Debug)]
pub(super) struct Gaps {
    capacity: u64,
    /// Where live blocks end, by where they begin.
    blocks: BTreeMap<u64, u64>,
    /// How many holes there are, by size.
    sizes: BTreeMap<u64, u64>,
    free: u64,
}

impl Gaps {
    /// An empty space of so many bytes.
    pub(super) fn new(capacity: u64) -> Self {
        let sizes = BTreeMap::from([(capacity, 1)]);
        Self { capacity, blocks: BTreeMap::new(), sizes, free: capacity }
    }

    /// Bytes of the largest hole.
    pub(super) fn largest(&self) -> u64 {
        self.sizes.last_key_value().map_or(0, |(&size, _)| size)
    }

    /// The share of the free bytes that are not in the largest hole.
    #[expect(clippy::cast_precision_loss, reason = "a share of bytes")]
    pub(super) fn fragmentation(&self) -> f64 {
        match self.free {
            0 => 0.0,
            free => 1.0 - self.largest() as f64 / free as f64,
        }
    }

    /// Takes over a change.
    pub(super) fn change(&mut self, event: &Event) {
        let (from, to) = (event.address, event.address.saturating_add(event.size));
        if let Some(&end) = self.blocks.get(&from) {
            self.blocks.remove(&from);
            self.join(from, end);
        }
        if event.kind == ChangeKind::Allocate && from < to {
            self.split(from, to);
            self.blocks.insert(from, to);
        }
    }

    /// The hole around a range without a block that begins in it.
    fn around(&self, from: u64) -> (u64, u64) {
        let before = self.blocks.range(..from).next_back().map_or(0, |(_, &end)| end);
        let after = self.blocks.range(from..).next().map_or(self.capacity, |(&start, _)| start);
        (before, after)
    }

    fn join(&mut self, from: u64, to: u64) {
        let (before, after) = self.around(from);
        self.take(before, from);
        self.take(to, after);
        self.give(before, after);
    }

    fn split(&mut self, from: u64, to: u64) {
        let (before, after) = self.around(from);
        self.take(before, after);
        self.give(before, from);
        self.give(to, after);
    }

    fn take(&mut self, from: u64, to: u64) {
        let size = to.saturating_sub(from);
        if let Some(count) = self.sizes.get_mut(&size) {
            *count -= 1;
            if *count == 0 {
                self.sizes.remove(&size);
            }
            self.free = self.free.saturating_sub(size);
        }
    }

    fn give(&mut self, from: u64, to: u64) {
        if from < to {
            *self.sizes.entry(to - from).or_default() += 1;
            // Blocks of a damaged trace may lie on one another.
            self.free = self.free.saturating_add(to - from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_join_where_a_block_between_them_goes() {
        let mut gaps = Gaps::new(1000);
        let event = |kind, address, size| Event {
            kind,
            space: 0,
            sequence: 0,
            address,
            size,
            spec: 0,
            stack: 0,
            thread: 0,
            time: 0,
            entry: 0,
            label: 0,
        };
        let mut after = |kind, address, size| {
            gaps.change(&event(kind, address, size));
            (gaps.largest(), gaps.free)
        };
        assert_eq!(after(ChangeKind::Allocate, 0, 100), (900, 900));
        assert_eq!(after(ChangeKind::Allocate, 300, 100), (600, 800));
        assert_eq!(after(ChangeKind::Free, 0, 100), (600, 900));
        assert_eq!(after(ChangeKind::Allocate, 900, 100), (500, 800));
        assert_eq!(after(ChangeKind::Free, 300, 100), (900, 900));
        assert_eq!(after(ChangeKind::Free, 300, 100), (900, 900));
        assert_eq!(after(ChangeKind::Allocate, 0, 900), (0, 0));
        assert!(gaps.fragmentation() == 0.0);
    }
}
