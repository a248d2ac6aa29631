//! Tables by numbers, with a hash that costs a multiplication.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by an address or a place. Only numbers that the trace gives are looked up, of which
/// those of a hostile one may fall on the same place: it is slow then, and right.
pub(crate) type ByNumber<T, N = u64> = HashMap<N, T, BuildHasherDefault<Multiplied>>;

/// Spreads a number by a product, and folds its upper half down.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Multiplied(u64);

impl Hasher for Multiplied {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        // 2⁶⁴ over the golden ratio, which no pattern of addresses follows.
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}
