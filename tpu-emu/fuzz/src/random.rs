//! Numbers that follow from a seed.

/// A generator that is small, fast and good enough to choose damage.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.bits();
        }
        random
    }

    /// Sixty-four bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`, and 0 where that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.bits() >> 33).unwrap_or(0) % limit.max(1)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of what is there.
    ///
    /// # Panics
    /// Where nothing is.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Eight bits.
    pub fn byte(&mut self) -> u8 {
        let [byte, ..] = (self.bits() >> 24).to_le_bytes();
        byte
    }
}
