//! After how many steps of all spaces something was.
use crate::order::Order;
use std::collections::HashMap;
use tpu_trace::{History, Moment, SpaceHistory};

/// After how many steps of all spaces something was, by how many changes of one space.
pub(crate) struct Places(HashMap<(u32, usize), u32>);

impl Places {
    pub(crate) fn new(history: &History, order: &Order, start: Option<Moment>) -> Self {
        let of_spaces = (0..).zip(&history.spaces).flat_map(|(number, space)| {
            let asked = [space.peak_at, space.end_at, space.end_at + 1].into_iter();
            let asked = asked.chain(start.map(|at| at.changes(space)));
            let asked = asked.chain(space.marks.iter().copied());
            asked.chain(space.refusals.iter().copied()).map(move |changes| (number, changes))
        });
        let replaced = order.replaced.iter().map(|&(_, by)| (by.space, by.at as usize + 1));
        Self(order.after(of_spaces.chain(replaced)))
    }

    pub(crate) fn after(&self, space: u32, changes: usize) -> u32 {
        self.0.get(&(space, changes)).copied().unwrap_or(0)
    }

    /// Of each space, by its changes.
    pub(crate) fn of_all(
        &self,
        history: &History,
        changes: impl Fn(&SpaceHistory) -> usize,
    ) -> Vec<u32> {
        let spaces = (0..).zip(&history.spaces);
        spaces.map(|(number, space)| self.after(number, changes(space))).collect()
    }
}
