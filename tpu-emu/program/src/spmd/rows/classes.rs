//! Which participants have the same value.
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// A way to tell participants apart, as an index into [`ClassMaps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClassId(usize);

impl ClassId {
    /// All participants have the same.
    pub(super) const ALIKE: Self = Self(0);
}

/// Participants in classes, numbered in the order of their first members.
#[derive(Debug, Clone)]
pub(super) struct ClassMap {
    /// The class of each participant.
    pub(super) of: Arc<[usize]>,
    /// The first participant of each class.
    pub(super) firsts: Arc<[usize]>,
}

/// All ways in which values of a program part its participants.
#[derive(Debug)]
pub(super) struct ClassMaps {
    maps: Vec<ClassMap>,
    ids: HashMap<Arc<[usize]>, ClassId>,
    joined: HashMap<(ClassId, ClassId), ClassId>,
}

impl ClassMaps {
    pub(super) fn new(participants: usize) -> Self {
        let mut maps = Self { maps: Vec::new(), ids: HashMap::new(), joined: HashMap::new() };
        maps.by((0..participants).map(|_| ()));
        maps
    }

    pub(super) fn get(&self, id: ClassId) -> &ClassMap {
        &self.maps[id.0]
    }

    /// The classes of participants that have the same key.
    pub(super) fn by<K: Hash + Eq>(&mut self, keys: impl Iterator<Item = K>) -> ClassId {
        let mut known: HashMap<K, usize> = HashMap::new();
        let (mut of, mut firsts) = (Vec::new(), Vec::new());
        for (participant, key) in keys.enumerate() {
            let next = known.len();
            let class = *known.entry(key).or_insert(next);
            if class == next {
                firsts.push(participant);
            }
            of.push(class);
        }
        let of: Arc<[usize]> = of.into();
        if let Some(&id) = self.ids.get(&of) {
            return id;
        }
        let id = ClassId(self.maps.len());
        self.maps.push(ClassMap { of: Arc::clone(&of), firsts: firsts.into() });
        self.ids.insert(of, id);
        id
    }

    /// The classes of participants that have the same in both ways.
    pub(super) fn joined(&mut self, a: ClassId, b: ClassId) -> ClassId {
        if a == b || b == ClassId::ALIKE {
            return a;
        }
        if a == ClassId::ALIKE {
            return b;
        }
        if let Some(&id) = self.joined.get(&(a, b)) {
            return id;
        }
        let [of_a, of_b] = [a, b].map(|id| Arc::clone(&self.maps[id.0].of));
        let id = self.by(of_a.iter().zip(of_b.iter()));
        self.joined.insert((a, b), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_that_differ_in_either_way_differ_in_both() {
        let mut maps = ClassMaps::new(4);
        let rows = maps.by([0, 0, 7, 7].into_iter());
        let columns = maps.by([3, 5, 3, 5].into_iter());
        assert_eq!(&*maps.get(columns).firsts, [0, 1]);
        let both = maps.joined(rows, columns);
        assert_eq!(&*maps.get(both).of, [0, 1, 2, 3]);
        assert_eq!(maps.joined(both, rows), both);
        assert_eq!(maps.joined(ClassId::ALIKE, rows), rows);
        assert_eq!(maps.by([1, 1, 1, 1].into_iter()), ClassId::ALIKE);
    }
}
