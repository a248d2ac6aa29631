//! A small cache of a thread: a key finds its value among a few places.

/// Places a key can have.
const WAYS: usize = 4;

/// Keys are addresses; 0 is no key.
#[derive(Debug)]
pub(super) struct Ways<V> {
    /// Sets of [`WAYS`] entries, the last entered first.
    entries: Box<[(u64, V)]>,
}

impl<V: Clone> Ways<V> {
    /// A cache of `capacity` entries, a power of two, all without a key.
    pub(super) fn new(capacity: usize, empty: V) -> Self {
        Self {
            entries: vec![(0, empty); capacity.max(WAYS).next_power_of_two()].into_boxed_slice(),
        }
    }

    /// Forgets all keys.
    pub(super) fn clear(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.0 = 0);
    }

    /// The entry of `key`, or the one it should take, which then has another key.
    pub(super) fn entry(&mut self, key: u64) -> &mut (u64, V) {
        let sets = self.entries.len() / WAYS;
        let mixed = usize::try_from(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).unwrap_or(0);
        // Both are powers of two.
        let first = (mixed & (sets - 1)) * WAYS;
        let set = &mut self.entries[first..first + WAYS];
        if let Some(at) = set.iter().position(|entry| entry.0 == key) {
            return &mut set[at];
        }
        set.rotate_right(1);
        &mut set[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_keys_as_a_set_has_places_are_kept() {
        let mut cache = Ways::new(WAYS, "");
        for key in 1..=WAYS as u64 {
            *cache.entry(key) = (key, "kept");
        }
        assert!((1..=WAYS as u64).all(|key| *cache.entry(key) == (key, "kept")));
        *cache.entry(9) = (9, "new");
        assert_ne!(cache.entry(1).0, 1);
        assert_eq!(*cache.entry(9), (9, "new"));
    }

    #[test]
    fn a_cleared_cache_has_no_keys() {
        let mut cache = Ways::new(16, 0);
        *cache.entry(5) = (5, 1);
        cache.clear();
        assert_ne!(cache.entry(5).0, 5);
    }
}
