//! Operations on the elements of one array.
use super::body::{CallOperation, CallValue, WrittenOut};
use std::collections::BTreeMap;

/// Operations that are followed.
const DEPTH: usize = 64;

impl<'m> WrittenOut<'m> {
    /// The one array of the same extents that operations on elements, and numbers, make a result of,
    /// `of` the last of them, and these operations; none of what they make on the way is read by others.
    /// Nothing where a parameter is worked on with what is made of others, unless that `may_be_given`.
    pub(super) fn made_of_elements(
        &self,
        of: &CallOperation<'m>,
        may_be_given: bool,
    ) -> Option<(CallValue, Vec<CallOperation<'m>>)> {
        let dims = of.result()?.dims;
        let mut operations = vec![*of];
        let mut read: BTreeMap<CallValue, u32> = BTreeMap::new();
        let mut next = *of;
        while next.is_by_element() && operations.len() < DEPTH {
            if self.result(&next).is_some_and(|of| self.is_spread(of)) {
                return None;
            }
            for value in self.operands_of(&next, &dims).filter(|&of| !self.is_number(of)) {
                *read.entry(value).or_default() += 1;
            }
            // What elements are worked on of several arrays is no move of one.
            let ends = |&&of: &&CallValue| {
                !self.maker(of).is_some_and(|maker| maker.is_by_element() && !self.is_spread(of))
            };
            let is_given = |&of: &CallValue| self.maker(of).is_none();
            let meets = !may_be_given && read.len() > 1 && read.keys().any(is_given);
            if meets || read.keys().filter(ends).nth(1).is_some() {
                return None;
            }
            let last =
                read.keys().copied().max_by_key(|&of| self.maker(of).map(|maker| maker.at))?;
            let times = read.remove(&last)?;
            let alone = self.is_read(last, times);
            if read.is_empty() && (alone || self.maker(last).is_none()) {
                return Some((last, operations));
            }
            next = self.maker(last).filter(|_| alone)?;
            operations.push(next);
        }
        None
    }

    /// Whether a value has one number everywhere.
    fn is_number(&self, value: CallValue) -> bool {
        let spread = self.maker(value).filter(|_| self.is_spread(value));
        spread.is_some_and(|of| of.operand(0).is_none_or(|of| of.dims.is_empty()))
    }
}
