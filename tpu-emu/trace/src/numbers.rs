//! Where in a table a thing is that a trace names by a number, or by its text.
use std::collections::HashMap;

/// Stands for no place.
const NONE: u32 = u32::MAX;

/// Places in a table by the numbers of a trace. Writers count up from 0, so most stand in a list.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    dense: Vec<u32>,
    others: HashMap<u64, u32>,
}

impl Numbers {
    /// With one number.
    pub(crate) fn with(number: u64, place: u32) -> Self {
        let mut numbers = Self::default();
        numbers.define(number, place);
        numbers
    }

    /// Notes a place; `false` where the number has one.
    pub(crate) fn define(&mut self, number: u64, place: u32) -> bool {
        if self.get(number).is_some() {
            return false;
        }
        match usize::try_from(number) {
            // As far as the list stays about as long as there are numbers.
            Ok(at) if at < 2 * self.dense.len() + 1024 => {
                if at >= self.dense.len() {
                    self.dense.resize(at + 1, NONE);
                }
                self.dense[at] = place;
            }
            _ => {
                self.others.insert(number, place);
            }
        }
        true
    }

    /// The place of a number.
    pub(crate) fn get(&self, number: u64) -> Option<u32> {
        let near = usize::try_from(number).ok().and_then(|at| self.dense.get(at));
        match near {
            Some(&place) if place != NONE => Some(place),
            // A number may have come before the list was as long.
            _ => self.others.get(&number).copied(),
        }
    }
}

/// How many names are found without a hash.
const RECENT: usize = 64;

/// Names that each record repeats; the first of their table is the empty one.
#[derive(Debug)]
pub(crate) struct Names {
    /// Places of names that were used, by bytes of the name. Each is compared before it counts.
    recent: [Option<u32>; RECENT],
    places: HashMap<String, u32>,
}

impl Default for Names {
    fn default() -> Self {
        Self { recent: [None; RECENT], places: HashMap::new() }
    }
}

impl Names {
    /// The place of a name that was among the last, in its table.
    pub(crate) fn recent(&self, name: &[u8], table: &[String]) -> Option<u32> {
        if name.is_empty() {
            return Some(0);
        }
        let place = self.recent[slot(name)]?;
        (table[place as usize].as_bytes() == name).then_some(place)
    }

    /// The place of a name, which is added to its table where it is new.
    pub(crate) fn intern(&mut self, name: &str, table: &mut Vec<String>) -> u32 {
        let place = *self.places.entry(name.to_owned()).or_insert_with(|| {
            table.push(name.to_owned());
            crate::tables::place(table.len())
        });
        self.recent[slot(name.as_bytes())] = Some(place);
        place
    }
}

/// Where among the recent ones a name stands, by its length, middle and end.
fn slot(name: &[u8]) -> usize {
    let of = |at: usize| name.get(at).copied().map_or(0, usize::from);
    let length = name.len();
    (length + 3 * of(length / 2) + 7 * of(length.wrapping_sub(1)) + 5 * of(length / 3)) % RECENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_far_and_near_are_found_and_defined_once() {
        let mut numbers = Numbers::with(0, 0);
        let of = [1, 1500, 700, u64::MAX, 1499, 2999];
        for (place, &number) in of.iter().enumerate() {
            let place = u32::try_from(place).unwrap() + 1;
            assert!(numbers.define(number, place), "{number}");
            assert!(!numbers.define(number, 9), "{number}");
        }
        let found: Vec<_> = of.iter().map(|&number| numbers.get(number)).collect();
        assert_eq!(found, [1, 2, 3, 4, 5, 6].map(Some));
        assert_eq!((numbers.get(0), numbers.get(2), numbers.get(5000)), (Some(0), None, None));
    }

    #[test]
    fn names_have_one_place_each() {
        let (mut names, mut table) = (Names::default(), vec![String::new()]);
        let of: Vec<String> = (0..1000).map(|number| format!("function {number}")).collect();
        for _ in 0..2 {
            for (place, name) in (1..).zip(&of) {
                assert_eq!(names.intern(name, &mut table), place);
                assert_eq!(names.recent(name.as_bytes(), &table), Some(place));
            }
        }
        assert_eq!((table.len(), names.recent(b"", &table)), (1001, Some(0)));
    }
}
