//! Counter-based random bits: Threefry-2x32 with 20 rounds and Philox-4x32 with 10.
//!
//! Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; how counters
//! lie in arrays is as XLA's expansion of `RngBitGenerator` has it.

/// Counters that are worked on at once.
const LANES: usize = 64;

/// The lower and the upper half.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// The number with these halves.
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
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

/// Gives `put` the blocks of the counters `first`, `first + 1`, … by their number.
pub fn threefry_blocks(key: u64, first: u64, count: usize, mut put: impl FnMut(usize, [u32; 2])) {
    let key = halves(key);
    let mut counter = first;
    let mut at = 0;
    while at < count {
        let lanes = LANES.min(count - at);
        let mut blocks = [[0; 2]; LANES];
        for (lane, block) in (0_u64..).zip(&mut blocks) {
            *block = threefry(halves(counter.wrapping_add(lane)), key);
        }
        for (lane, &block) in blocks[..lanes].iter().enumerate() {
            put(at + lane, block);
        }
        counter = counter.wrapping_add(LANES as u64);
        at += lanes;
    }
}

/// The same for Philox and 128-bit counters.
pub fn philox_blocks(key: u64, first: u128, count: usize, mut put: impl FnMut(usize, [u32; 4])) {
    let key = halves(key);
    let mut counter = first;
    let mut at = 0;
    while at < count {
        let lanes = LANES.min(count - at);
        let mut blocks = [[0; 4]; LANES];
        for (lane, block) in (0_u128..).zip(&mut blocks) {
            let words = counter.wrapping_add(lane);
            *block = philox(words_of(words), key);
        }
        for (lane, &block) in blocks[..lanes].iter().enumerate() {
            put(at + lane, block);
        }
        counter = counter.wrapping_add(LANES as u128);
        at += lanes;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn words_of(value: u128) -> [u32; 4] {
    let ([a, b], [c, d]) = (halves(value as u64), halves((value >> 64) as u64));
    [a, b, c, d]
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

    /// Gives `put` every word by the index of its element.
    pub fn words(&self, key: u64, first: u64, mut put: impl FnMut(usize, u32)) {
        let Self { extent, inner, .. } = *self;
        let (mut line, mut row, mut column) = (0, 0, 0);
        threefry_blocks(key, first, self.blocks(), |_, [a, b]| {
            let at = (line + row) * inner + column;
            put(at, a);
            if row + 1 < extent {
                put(at + inner, b);
            }
            column += 1;
            if column == inner {
                (column, row) = (0, row + 2);
                if row >= extent {
                    (row, line) = (0, line + extent);
                }
            }
        });
    }
}

/// 64-bit numbers of Threefry's blocks.
pub fn threefry_wide(key: u64, first: u64, count: usize, mut put: impl FnMut(usize, u64)) {
    threefry_blocks(key, first, count, |at, [a, b]| put(at, joined(a, b)));
}

/// 32-bit words of Philox's blocks in order.
pub fn philox_words(key: u64, first: u128, count: usize, mut put: impl FnMut(usize, u32)) {
    philox_blocks(key, first, count.div_ceil(4), |at, block| {
        for (index, word) in (4 * at..count).zip(block) {
            put(index, word);
        }
    });
}

/// 64-bit numbers of Philox's blocks in order.
pub fn philox_wide(key: u64, first: u128, count: usize, mut put: impl FnMut(usize, u64)) {
    philox_blocks(key, first, count.div_ceil(2), |at, [a, b, c, d]| {
        for (index, wide) in (2 * at..count).zip([joined(a, b), joined(c, d)]) {
            put(index, wide);
        }
    });
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
    fn every_element_gets_one_word() {
        for dims in [&[5, 3][..], &[2, 3, 7], &[129], &[], &[3, 0]] {
            let elements: usize = dims.iter().product();
            let mut seen = vec![0; elements];
            Halving::of(dims).words(1, 2, |at, _| seen[at] += 1);
            assert!(seen.iter().all(|&count| count == 1), "{dims:?}");
        }
    }
}
