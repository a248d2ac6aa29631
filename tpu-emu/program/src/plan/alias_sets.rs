//! Values that share their memory.
use super::super::graph::ValueId;
use super::live_range::{FOREVER, LiveRange};
use rustc_hash::FxHashMap;

/// Values that follow one another in one piece of memory.
#[derive(Debug, Clone)]
pub(super) struct AliasSet {
    pub(super) members: Vec<ValueId>,
    pub(super) range: LiveRange,
    pub(super) bytes: usize,
    /// Memory that is not the arena's, if it must lie there.
    pub(super) pin: Option<u32>,
    /// The number of the set in whose memory it lies, and how many bytes behind its beginning.
    pub(super) inside: Option<(usize, usize)>,
}

impl AliasSet {
    /// Whether it has memory of its own in the arena.
    pub(super) fn is_free(&self) -> bool {
        self.pin.is_none() && self.inside.is_none()
    }
}

/// All alias sets; a value is in one.
#[derive(Debug, Default)]
pub(super) struct AliasSets {
    of: FxHashMap<ValueId, usize>,
    sets: Vec<Option<AliasSet>>,
}

impl AliasSets {
    /// An alias set of its own for a value.
    pub(super) fn add(&mut self, value: ValueId, range: LiveRange, bytes: usize, pin: Option<u32>) {
        self.of.insert(value, self.sets.len());
        let members = vec![value];
        self.sets.push(Some(AliasSet { members, range, bytes, pin, inside: None }));
    }

    /// Number of a value's alias set.
    pub(super) fn number(&self, value: ValueId) -> Option<usize> {
        self.of.get(&value).copied()
    }

    /// The alias set of a value.
    pub(super) fn get(&self, value: ValueId) -> Option<&AliasSet> {
        self.sets[self.number(value)?].as_ref()
    }

    /// Says where an alias set lies.
    pub(super) fn pin(&mut self, value: ValueId, memory: u32) {
        if let Some(set) = self.number(value).and_then(|number| self.sets[number].as_mut()) {
            set.pin = Some(memory);
        }
    }

    /// Lets an alias set lie anywhere in the arena.
    pub(super) fn unpin(&mut self, value: ValueId) {
        if let Some(set) = self.number(value).and_then(|number| self.sets[number].as_mut()) {
            set.pin = None;
        }
    }

    /// Lets an alias set lie in another one's memory, which is there for both from then on: from so
    /// many bytes behind its beginning.
    pub(super) fn lay_inside(&mut self, part: ValueId, whole: ValueId, bytes: usize) {
        let (Some(part), Some(at)) = (self.number(part), self.number(whole)) else { return };
        let Some(set) = &mut self.sets[part] else { return };
        set.inside = Some((at, bytes));
        let defined = set.range.defined;
        if let Some(whole) = &mut self.sets[at] {
            whole.range.defined = whole.range.defined.min(defined);
        }
    }

    /// The number of the alias set whose memory it is in which one lies, and where it lies there.
    pub(super) fn place(&self, mut number: usize) -> (usize, usize) {
        let mut offset = 0;
        while let Some((whole, bytes)) = self.sets[number].as_ref().and_then(|set| set.inside) {
            (number, offset) = (whole, offset + bytes);
        }
        (number, offset)
    }

    /// Whether two values are in one alias set.
    pub(super) fn same(&self, a: ValueId, b: ValueId) -> bool {
        self.number(a).is_some() && self.number(a) == self.number(b)
    }

    /// Joins two alias sets. Whether their live ranges allow it is the caller's to know.
    ///
    /// Returns whether it was done: sizes must be equal, and at most one may be pinned.
    pub(super) fn join(&mut self, a: ValueId, b: ValueId) -> bool {
        let (Some(to), Some(from)) = (self.number(a), self.number(b)) else { return false };
        if to == from {
            return true;
        }
        let fits = match (&self.sets[to], &self.sets[from]) {
            (Some(a), Some(b)) => a.bytes == b.bytes && (a.pin.is_none() || b.pin.is_none()),
            _ => false,
        };
        if !fits {
            return false;
        }
        let Some(moved) = self.sets[from].take() else { return false };
        for &member in &moved.members {
            self.of.insert(member, to);
        }
        if let Some(set) = &mut self.sets[to] {
            set.members.extend(moved.members);
            set.range.defined = set.range.defined.min(moved.range.defined);
            set.range.last = set.range.last.max(moved.range.last);
            set.pin = set.pin.or(moved.pin);
        }
        true
    }

    /// The last time before `end` at which a member that is defined in `start..end` is read.
    pub(super) fn last_inside(
        &self,
        value: ValueId,
        ranges: &FxHashMap<ValueId, LiveRange>,
        start: usize,
        end: usize,
    ) -> usize {
        let members = self.get(value).map_or(&[][..], |set| &set.members);
        let inside = members.iter().filter_map(|member| ranges.get(member));
        inside
            .filter(|range| range.defined >= start && range.defined < end)
            .map(|range| range.last)
            .max()
            .unwrap_or(FOREVER)
    }

    /// The alias sets in the order of their first members.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &AliasSet)> {
        self.sets.iter().enumerate().filter_map(|(at, set)| Some((at, set.as_ref()?)))
    }
}
