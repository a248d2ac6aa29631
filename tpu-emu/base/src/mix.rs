//! Maps whose keys are numbers of ours: hashed by one multiplication, for nobody chooses them.
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map from numbers that no program chooses, as those of its values.
pub type MixMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// A set of such numbers.
pub type MixSet<K> = HashSet<K, BuildHasherDefault<Mix>>;

/// A multiply-and-rotate hash: keys that collide are told apart by comparing them.
#[derive(Debug, Default, Clone, Copy)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|&word| self.write_u64(u64::from_le_bytes(word)));
        rest.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_usize(&mut self, n: usize) {
        self.write(&n.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    fn hash(key: impl Hash) -> u64 {
        let mut mix = Mix::default();
        key.hash(&mut mix);
        mix.finish()
    }

    #[test]
    fn neighbours_differ_in_the_bits_that_choose_a_place_and_in_those_that_are_compared_first() {
        let count = |bits: fn(u64) -> u64| {
            let found: HashSet<u64> = (0..1024_u32).map(|n| bits(hash(n))).collect();
            found.len()
        };
        assert!(count(|hash| hash & 0x3FF) > 512);
        assert_eq!(count(|hash| hash >> 57), 128);
    }

    #[test]
    fn every_part_of_a_key_counts() {
        assert_ne!(hash((1_u32, 2_u32)), hash((2_u32, 1_u32)));
        assert_ne!(hash((1_usize, 2_usize)), hash((1_usize, 3_usize)));
        assert_ne!(hash(&b"nine byte"[..]), hash(&b"nine bytf"[..]));
        assert_eq!(hash(7_usize), hash(7_u64));
    }
}
