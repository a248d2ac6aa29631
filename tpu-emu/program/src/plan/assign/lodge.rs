//! Values that lie in the memory of results before these are made.
use super::{Assignment, number};
use crate::passes::fuse::StepBlock;
use crate::plan::live_range::{FOREVER, LiveRange};
use crate::tuning::MAX_TRIED_ARRAYS;
use std::collections::BTreeMap;

/// The memory of a result: what lies there, and when.
struct Room {
    memory: u32,
    bytes: usize,
    /// The last use of each that lies there, by its beginning.
    taken: BTreeMap<usize, usize>,
}

impl Room {
    fn take(&mut self, range: LiveRange) {
        let last = self.taken.entry(range.defined).or_insert(range.last);
        *last = range.last.max(*last);
    }

    fn is_free(&self, range: LiveRange) -> bool {
        let before = self.taken.range(..=range.last).next_back();
        before.is_none_or(|(_, &last)| last < range.defined)
    }
}

impl Assignment<'_> {
    /// Puts values where results will lie whose memory has nothing yet, or no more what was given
    /// up for them: the largest first, in the smallest that does. The results in `elsewhere` have
    /// memory of another kind.
    pub(super) fn lodge(&mut self, code: &StepBlock, elsewhere: &[usize], end: usize) {
        let mut rooms: Vec<Room> = Vec::new();
        let donors = code.parameters.iter().zip(self.donated);
        let unpacked = donors.filter(|(parameter, _)| self.packed(**parameter));
        let unpacked: Vec<usize> = unpacked.filter_map(|(_, result)| *result).collect();
        for (index, &value) in code.results.iter().enumerate() {
            let own = !elsewhere.contains(&index) && !unpacked.contains(&index);
            let bytes = if own && !self.packed(value) { self.graph.bytes(value) } else { 0 };
            let taken = BTreeMap::from([(end, FOREVER)]);
            rooms.push(Room { memory: self.results + number(index), bytes, taken });
        }
        let mut lodgers = Vec::new();
        for (at, set) in self.sets.all() {
            if let Some(pin) = set.pin {
                let index = pin.checked_sub(self.results).and_then(|index| index.try_into().ok());
                let room = index.and_then(|index: usize| rooms.get_mut(index));
                room.into_iter().for_each(|room| room.take(set.range));
                continue;
            }
            let guarded = self.is_guarded(set) || self.is_on_host(set);
            let apart = guarded || set.bytes == 0 || set.inside.is_some();
            if let (false, Some(&value)) = (apart, set.members.first()) {
                lodgers.push((set.bytes, at, set.range, value));
            }
        }
        rooms.sort_by_key(|room| (room.bytes, room.memory));
        lodgers.sort_by_key(|&(bytes, at, ..)| (std::cmp::Reverse(bytes), at));
        for (bytes, _, range, value) in lodgers {
            let first = rooms.partition_point(|room| room.bytes < bytes);
            let mut tried = rooms[first..].iter_mut().take(MAX_TRIED_ARRAYS);
            if let Some(room) = tried.find(|room| room.is_free(range)) {
                room.take(range);
                self.sets.pin(value, room.memory);
            }
        }
    }
}
