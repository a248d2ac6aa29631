//! Counter-based random bits: Threefry-2x32 with 20 rounds and Philox-4x32 with 10.
//!
//! Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; how counters
//! lie in arrays is as XLA's expansion of `RngBitGenerator` has it.

use super::parallel;
use super::simd::{self, Loop};
use crate::tuning::{RANDOM_BATCH_COUNTERS, RANDOM_CHUNK_BLOCKS};
use bytemuck::{Pod, cast_slice_mut};

/// The lower and the upper half.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// One block of Threefry-2x32.
#[inline(always)]
fn threefry(counter: [u32; 2], key: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1bd1_1bda;
    let keys = [key[0], key[1], key[0] ^ key[1] ^ PARITY];
    let [mut a, mut b] = counter;
    a = a.wrapping_add(keys[0]);
    b = b.wrapping_add(keys[1]);
    for (group, number) in (0..5_usize).zip(1_u32..) {
        for rotation in ROTATIONS[group % 2] {
            a = a.wrapping_add(b);
            b = a ^ b.rotate_left(rotation);
        }
        a = a.wrapping_add(keys[(group + 1) % 3]);
        b = b.wrapping_add(keys[(group + 2) % 3]).wrapping_add(number);
    }
    [a, b]
}

/// One block of Philox-4x32.
#[inline(always)]
fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for _ in 0..10 {
        let [low_a, high_a] = halves(u64::from(a) * u64::from(MULTIPLIERS[0]));
        let [low_c, high_c] = halves(u64::from(c) * u64::from(MULTIPLIERS[1]));
        (a, b, c, d) = (high_c ^ b ^ k, low_c, high_a ^ d ^ l, low_a);
        k = k.wrapping_add(WEYL[0]);
        l = l.wrapping_add(WEYL[1]);
    }
    [a, b, c, d]
}

/// Blocks of Threefry of counters that follow each other, first words and second words apart.
struct Threefry<'a> {
    key: [u32; 2],
    first: u64,
    words: &'a mut [[u32; RANDOM_BATCH_COUNTERS]; 2],
}

impl Loop for Threefry<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [a, b] = self.words;
        for ((a, b), lane) in a.iter_mut().zip(b).zip(0_u64..) {
            [*a, *b] = threefry(halves(self.first.wrapping_add(lane)), self.key);
        }
    }
}

/// Blocks of Philox, likewise.
struct Philox<'a> {
    key: [u32; 2],
    first: [u64; 2],
    words: &'a mut [[u32; RANDOM_BATCH_COUNTERS]; 4],
}

impl Loop for Philox<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [a, b, c, d] = self.words;
        let [low, high] = self.first;
        let words = a.iter_mut().zip(b).zip(c.iter_mut().zip(d));
        for (((a, b), (c, d)), lane) in words.zip(0_u64..) {
            let counter = low.wrapping_add(lane);
            let carry = u64::from(counter < low);
            let ([w, x], [y, z]) = (halves(counter), halves(high.wrapping_add(carry)));
            [*a, *b, *c, *d] = philox([w, x, y, z], self.key);
        }
    }
}

/// An element that is the lower part of a word.
pub trait Word: Pod + Send {
    /// The lower part.
    fn of(word: u32) -> Self;
}

macro_rules! words {
    ($($name:ident)*) => {$(
        impl Word for $name {
            #[allow(clippy::cast_possible_truncation, reason = "the lower part is asked for")]
            #[allow(clippy::unnecessary_cast, reason = "not for all types")]
            #[inline(always)]
            fn of(word: u32) -> Self {
                word as Self
            }
        }
    )*};
}

words!(u8 u16 u32);

/// Puts the words of blocks beside each other.
struct Weave<'a, T, const N: usize>(&'a [[u32; RANDOM_BATCH_COUNTERS]; N], &'a mut [T]);

impl<T: Word, const N: usize> Loop for Weave<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(words, output) = self;
        let (blocks, rest) = output.as_chunks_mut::<N>();
        for (lane, block) in blocks.iter_mut().enumerate().take(RANDOM_BATCH_COUNTERS) {
            for (element, words) in block.iter_mut().zip(words) {
                *element = T::of(words[lane]);
            }
        }
        for (element, words) in rest.iter_mut().zip(words) {
            *element = T::of(words[blocks.len() % RANDOM_BATCH_COUNTERS]);
        }
    }
}

/// Words of Philox's blocks in order.
pub fn philox_words<T: Word>(key: u64, first: u128, output: &mut [T]) {
    parallel::chunks_mut(output, 4 * RANDOM_CHUNK_BLOCKS, |index, chunk| {
        let mut counter = first.wrapping_add((index * RANDOM_CHUNK_BLOCKS) as u128);
        let mut words = [[0; RANDOM_BATCH_COUNTERS]; 4];
        for part in chunk.chunks_mut(4 * RANDOM_BATCH_COUNTERS) {
            let first = bytemuck::cast::<[u128; 1], [u64; 2]>([counter]);
            simd::run(Philox { key: halves(key), first, words: &mut words });
            simd::run(Weave(&words, part));
            counter = counter.wrapping_add(RANDOM_BATCH_COUNTERS as u128);
        }
    });
}

/// Gives `put` 64-bit numbers of Philox's blocks in order.
pub fn philox_wide(key: u64, first: u128, count: usize, mut put: impl FnMut(usize, u64)) {
    let mut numbers = [0_u64; RANDOM_BATCH_COUNTERS];
    let mut counter = first;
    for at in (0..count).step_by(RANDOM_BATCH_COUNTERS) {
        let numbers = &mut numbers[..RANDOM_BATCH_COUNTERS.min(count - at)];
        philox_words::<u32>(key, counter, cast_slice_mut(numbers));
        (at..).zip(&*numbers).for_each(|(at, &number)| put(at, number));
        counter = counter.wrapping_add(RANDOM_BATCH_COUNTERS as u128 / 2);
    }
}

/// The words of Threefry's blocks in order.
pub fn threefry_words<T: Word>(key: u64, first: u64, output: &mut [T]) {
    parallel::chunks_mut(output, 2 * RANDOM_CHUNK_BLOCKS, |index, chunk| {
        let mut counter = first.wrapping_add((index * RANDOM_CHUNK_BLOCKS) as u64);
        let mut words = [[0; RANDOM_BATCH_COUNTERS]; 2];
        for part in chunk.chunks_mut(2 * RANDOM_BATCH_COUNTERS) {
            simd::run(Threefry { key: halves(key), first: counter, words: &mut words });
            simd::run(Weave(&words, part));
            counter = counter.wrapping_add(RANDOM_BATCH_COUNTERS as u64);
        }
    });
}

/// How 32-bit words of Threefry's blocks lie in an array: the axis in the middle has the two
/// words of a block beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halving {
    /// Elements of the axes before it.
    pub outer: usize,
    /// Extent of the axis.
    pub extent: usize,
    /// Elements of the axes after it.
    pub inner: usize,
}

impl Halving {
    /// The first axis with an even extent, or the first longest one.
    pub fn of(dims: &[usize]) -> Self {
        let longest = || {
            let length = dims.iter().max()?;
            dims.iter().position(|dim| dim == length)
        };
        match dims.iter().position(|dim| dim % 2 == 0).or_else(longest) {
            None => Self { outer: 1, extent: 1, inner: 1 },
            Some(axis) => Self {
                outer: dims[..axis].iter().product(),
                extent: dims[axis],
                inner: dims[axis + 1..].iter().product(),
            },
        }
    }

    /// Blocks that are drawn.
    pub fn blocks(&self) -> usize {
        self.outer * self.extent.div_ceil(2) * self.inner
    }

    /// Draws the words of all elements.
    pub fn words<T: Word>(&self, key: u64, first: u64, output: &mut [T]) {
        let Self { outer, extent, inner } = *self;
        if inner == 1 && (extent.is_multiple_of(2) || outer == 1) {
            return threefry_words(key, first, output);
        }
        if inner == 0 || extent == 0 {
            return;
        }
        // Two rows have the words of as many blocks as a row has elements.
        let pairs = extent.div_ceil(2);
        let lines = (RANDOM_CHUNK_BLOCKS / (pairs * inner)).max(1);
        parallel::chunks_mut(output, lines * extent * inner, |index, chunk| {
            for (line, rows) in chunk.chunks_mut(extent * inner).enumerate() {
                for (pair, rows) in rows.chunks_mut(2 * inner).enumerate() {
                    let before = ((index * lines + line) * pairs + pair) * inner;
                    two_rows(key, first.wrapping_add(before as u64), inner, rows);
                }
            }
        });
    }
}

/// Draws first words into a row of `inner` elements and second words into the one after it,
/// which may be missing.
fn two_rows<T: Word>(key: u64, first: u64, inner: usize, rows: &mut [T]) {
    let (upper, lower) = rows.split_at_mut(inner);
    let mut words = [[0; RANDOM_BATCH_COUNTERS]; 2];
    let mut counter = first;
    for at in (0..inner).step_by(RANDOM_BATCH_COUNTERS) {
        simd::run(Threefry { key: halves(key), first: counter, words: &mut words });
        for (row, words) in [&mut *upper, &mut *lower].into_iter().zip(&words) {
            let part = row.iter_mut().skip(at);
            part.zip(words).for_each(|(element, &word)| *element = T::of(word));
        }
        counter = counter.wrapping_add(RANDOM_BATCH_COUNTERS as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_paper() {
        // The known answers that come with the authors' library.
        assert_eq!(threefry([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        let zeros = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
        assert_eq!(philox([0; 4], [0; 2]), zeros);
    }

    #[test]
    fn the_axis_of_two_words_is_even_or_the_longest() {
        assert_eq!(Halving::of(&[3, 4, 2]), Halving { outer: 3, extent: 4, inner: 2 });
        assert_eq!(Halving::of(&[3, 5, 5]), Halving { outer: 3, extent: 5, inner: 5 });
        assert_eq!(Halving::of(&[]).blocks(), 1);
    }

    #[test]
    fn words_lie_as_the_blocks_are_counted() {
        let shapes = [&[5, 3][..], &[2, 3, 7], &[129], &[], &[3, 0], &[600, 3], &[3, 1023]];
        for dims in shapes {
            let halving = Halving::of(dims);
            let Halving { outer, extent, inner } = halving;
            let mut expected = vec![0; dims.iter().product()];
            let mut counter = 7;
            for line in 0..outer {
                for row in (0..extent).step_by(2) {
                    for column in 0..inner {
                        let block = threefry(halves(counter), halves(3));
                        for (row, word) in (row..extent).zip(block) {
                            expected[(line * extent + row) * inner + column] = word;
                        }
                        counter += 1;
                    }
                }
            }
            let mut words = vec![0_u32; expected.len()];
            halving.words(3, 7, &mut words);
            assert_eq!(words, expected, "{dims:?}");
        }
    }

    #[test]
    fn pieces_and_widths_continue_the_count() {
        let first = u128::from(u64::MAX) - 2;
        let [low, high] = [u64::MAX - 2, 0].map(halves);
        let mut words = vec![0_u32; 4 * RANDOM_CHUNK_BLOCKS + 7];
        philox_words(9, first, &mut words);
        assert_eq!(words[..4], philox([low[0], low[1], high[0], high[1]], halves(9)));
        // The lower half of the counter has overflowed.
        assert_eq!(words[12..16], philox([0, 0, 1, 0], halves(9)));
        let after = halves(RANDOM_CHUNK_BLOCKS as u64 - 3);
        let block = philox([after[0], after[1], 1, 0], halves(9));
        assert_eq!(words[4 * RANDOM_CHUNK_BLOCKS..4 * RANDOM_CHUNK_BLOCKS + 4], block);
        let mut bytes = vec![0_u8; 4 * RANDOM_CHUNK_BLOCKS + 7];
        philox_words(9, first, &mut bytes);
        assert!(bytes.iter().zip(&words).all(|(&byte, word)| byte == word.to_le_bytes()[0]));
        simd::at_every_level(|level| {
            let mut again = vec![0_u32; words.len()];
            philox_words(9, first, &mut again);
            assert_eq!(again, words, "{level:?}");
        });
    }
}
