//! The generator of random numbers: blocks of Philox, by the seeds and how often it was asked.
use super::instance::Instance;
use crate::form::{Int, SlotId};
use tpu_kernels::random::philox_words;

impl Instance {
    /// Begins a sequence.
    pub(super) fn seed(&mut self, seeds: &[Int]) {
        let mut words = [0_u32; 2];
        for (number, seed) in self.ints(seeds).into_iter().enumerate() {
            let low = u32::try_from(super::scalar::low(32, seed)).unwrap_or(0);
            let word = &mut words[number % 2];
            *word = word.rotate_left(13) ^ low;
        }
        self.random = (words, 0);
    }

    /// The next bits.
    pub(super) fn draw(&mut self, elements: usize, to: SlotId) {
        let ([low, high], drawn) = self.random;
        let key = u64::from(low) | u64::from(high) << 32;
        let mut words = vec![0_u32; elements];
        philox_words(key, u128::from(drawn) << 64, &mut words);
        self.random.1 = drawn + 1;
        let to = self.slot(to).bytes_mut();
        for (bytes, word) in to.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}
