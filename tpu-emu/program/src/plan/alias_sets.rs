//! Values that share their memory.
use super::super::graph::ValueId;
use super::live_range::{FOREVER, LiveRange};
use std::collections::HashMap;

/// Values that follow one another in one piece of memory.
#[derive(Debug, Clone)]
pub(super) struct AliasSet {
    pub(super) members: Vec<ValueId>,
    pub(super) life: LiveRange,
    pub(super) bytes: usize,
    /// Memory that is not the arena's, if it must lie there.
    pub(super) pin: Option<u32>,
}

/// All classes; a value is in one.
#[derive(Debug, Default)]
pub(super) struct Classes {
    of: HashMap<ValueId, usize>,
    classes: Vec<Option<AliasSet>>,
}

impl Classes {
    /// A class of its own for a value.
    pub(super) fn add(&mut self, value: ValueId, life: LiveRange, bytes: usize, pin: Option<u32>) {
        self.of.insert(value, self.classes.len());
        self.classes.push(Some(AliasSet { members: vec![value], life, bytes, pin }));
    }

    /// Number of a value's class.
    pub(super) fn number(&self, value: ValueId) -> Option<usize> {
        self.of.get(&value).copied()
    }

    /// A value's class.
    pub(super) fn get(&self, value: ValueId) -> Option<&AliasSet> {
        self.classes[self.number(value)?].as_ref()
    }

    /// Says where a class lies.
    pub(super) fn pin(&mut self, value: ValueId, memory: u32) {
        if let Some(class) = self.number(value).and_then(|number| self.classes[number].as_mut()) {
            class.pin = Some(memory);
        }
    }

    /// Whether two values are in one class.
    pub(super) fn same(&self, a: ValueId, b: ValueId) -> bool {
        self.number(a).is_some() && self.number(a) == self.number(b)
    }

    /// Joins two classes. Whether their lives allow it is the caller's to know.
    ///
    /// Returns whether it was done: sizes must be equal, and at most one may be pinned.
    pub(super) fn join(&mut self, a: ValueId, b: ValueId) -> bool {
        let (Some(to), Some(from)) = (self.number(a), self.number(b)) else { return false };
        if to == from {
            return true;
        }
        let fits = match (&self.classes[to], &self.classes[from]) {
            (Some(a), Some(b)) => a.bytes == b.bytes && (a.pin.is_none() || b.pin.is_none()),
            _ => false,
        };
        if !fits {
            return false;
        }
        let Some(moved) = self.classes[from].take() else { return false };
        for &member in &moved.members {
            self.of.insert(member, to);
        }
        if let Some(class) = &mut self.classes[to] {
            class.members.extend(moved.members);
            class.life.defined = class.life.defined.min(moved.life.defined);
            class.life.last = class.life.last.max(moved.life.last);
            class.pin = class.pin.or(moved.pin);
        }
        true
    }

    /// The last time before `end` at which a member that is defined in `start..end` is read.
    pub(super) fn last_inside(
        &self,
        value: ValueId,
        lives: &HashMap<ValueId, LiveRange>,
        start: usize,
        end: usize,
    ) -> usize {
        let members = self.get(value).map_or(&[][..], |class| &class.members);
        let inside = members.iter().filter_map(|member| lives.get(member));
        inside
            .filter(|life| life.defined >= start && life.defined < end)
            .map(|life| life.last)
            .max()
            .unwrap_or(FOREVER)
    }

    /// The classes in the order of their first members.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &AliasSet)> {
        self.classes.iter().enumerate().filter_map(|(at, class)| Some((at, class.as_ref()?)))
    }
}
