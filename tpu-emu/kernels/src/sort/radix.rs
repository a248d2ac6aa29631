//! Sorts of unsigned numbers.
use crate::parallel;
use crate::sort::tuning::{CHUNK_ELEMENTS, MIN_RADIX_ELEMENTS};
use bytemuck::Pod;
use std::ops::Range;

/// An unsigned number, byte by byte.
pub trait Digits: Pod + Ord + Send + Sync {
    /// Byte `number`, counted from the lowest one.
    fn digit(self, number: usize) -> usize;
}

macro_rules! digits {
    ($($t:ty)*) => {$(impl Digits for $t {
        #[inline(always)]
        fn digit(self, number: usize) -> usize {
            self.to_le_bytes()[number].into()
        }
    })*};
}

digits! { u8 u16 u32 u64 u128 }

/// Numbers that differ in one byte.
const VALUES: usize = 256;

/// Sorts numbers that are in order already where they have the same digits in a range.
/// `workspace` is as long as `data`; shorter than [`MIN_RADIX_ELEMENTS`] numbers need none.
pub fn sort<T: Digits>(data: &mut [T], workspace: &mut [T], digits: Range<usize>) {
    if data.len() < MIN_RADIX_ELEMENTS || data.is_sorted() {
        if data.len() < MIN_RADIX_ELEMENTS {
            data.sort_unstable();
        }
        return;
    }
    let threads = parallel::threads();
    if threads < 2 || data.len() < 2 * CHUNK_ELEMENTS {
        return count(data, workspace, digits);
    }
    parts(data, workspace, digits, threads.next_power_of_two().ilog2(), false);
}

/// Sorts two halves and merges them, into `workspace` if it is asked for.
fn parts<T: Digits>(
    data: &mut [T],
    workspace: &mut [T],
    digits: Range<usize>,
    levels: u32,
    into_room: bool,
) {
    if levels == 0 || data.len() < 2 * CHUNK_ELEMENTS {
        count(data, workspace, digits);
        if into_room {
            workspace.copy_from_slice(data);
        }
        return;
    }
    let middle = data.len() / 2;
    let (low, high) = data.split_at_mut(middle);
    let (low_room, high_room) = workspace.split_at_mut(middle);
    let other = digits.clone();
    parallel::both(
        || parts(low, low_room, digits, levels - 1, !into_room),
        || parts(high, high_room, other, levels - 1, !into_room),
    );
    if into_room {
        merge(low, high, workspace, levels);
    } else {
        merge(low_room, high_room, data, levels);
    }
}

/// Merges sorted numbers. It does not matter which of equal ones comes first.
fn merge<T: Digits>(a: &[T], b: &[T], to: &mut [T], levels: u32) {
    if levels > 0 && to.len() >= 2 * CHUNK_ELEMENTS {
        let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
        let middle = long.len() / 2;
        let split = short.partition_point(|&number| number < long[middle]);
        let (low, high) = to.split_at_mut(middle + split);
        parallel::both(
            || merge(&long[..middle], &short[..split], low, levels - 1),
            || merge(&long[middle..], &short[split..], high, levels - 1),
        );
        return;
    }
    let (mut left, mut right) = (0, 0);
    for to in &mut *to {
        let (Some(&a), Some(&b)) = (a.get(left), b.get(right)) else { break };
        let first = a <= b;
        *to = if first { a } else { b };
        left += usize::from(first);
        right += usize::from(!first);
    }
    let rest = &mut to[left + right..];
    let (before, behind) = rest.split_at_mut(a.len() - left);
    before.copy_from_slice(&a[left..]);
    behind.copy_from_slice(&b[right..]);
}

/// Sorts digit by digit, the lowest first.
fn count<T: Digits>(data: &mut [T], workspace: &mut [T], digits: Range<usize>) {
    let mut counts = vec![[0_usize; VALUES]; digits.len()];
    for &number in &*data {
        for (counts, digit) in counts.iter_mut().zip(digits.clone()) {
            counts[number.digit(digit)] += 1;
        }
    }
    let (mut from, mut to) = (data, workspace);
    let mut swapped = false;
    for (counts, digit) in counts.iter_mut().zip(digits) {
        // Nothing moves where all have the same digit.
        if counts.contains(&from.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &number in &*from {
            let place = &mut counts[number.digit(digit)];
            to[*place] = number;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that repeat, with their index in the lower half.
    fn numbers(count: u64, values: u64) -> Vec<u64> {
        (0..count).map(|at| (at * 0x9E37_79B9 % 1_000_003 % values) << 32 | at).collect()
    }

    #[test]
    fn short_and_long_and_threaded_sorts_agree_with_the_library() {
        for count in [0, 1, 100, 5000, 300_001] {
            for values in [1, 200, 100_000] {
                let data = numbers(count, values);
                let mut expected = data.clone();
                expected.sort_unstable();
                for threads in [1, 2, 5] {
                    let mut found = data.clone();
                    let mut workspace = vec![0; data.len()];
                    parallel::with_threads(threads, || sort(&mut found, &mut workspace, 4..8));
                    assert!(found == expected, "{count} of {values} on {threads} threads");
                }
            }
        }
    }

    #[test]
    fn whole_numbers_of_every_width_are_sorted() {
        fn check<T: Digits + std::fmt::Debug>(of: impl Fn(u64) -> T) {
            let mut data: Vec<T> = numbers(3000, 1000).into_iter().map(of).collect();
            let mut expected = data.clone();
            expected.sort_unstable();
            let mut workspace = data.clone();
            sort(&mut data, &mut workspace, 0..size_of::<T>());
            assert_eq!(data, expected);
        }
        check(|number| number.to_le_bytes()[4]);
        check(|number| u16::try_from(number >> 32).unwrap());
        check(|number| u32::try_from(number >> 32).unwrap() << 20);
        check(|number| number);
        check(|number| u128::from(number) << 60);
    }
}
