//! Offsets in the arena: buffers whose live ranges overlap do not.
use super::ALIGN;
use super::live_range::LiveRange;
use crate::lifetimes::fullest;
use crate::tuning::{MAX_ARENA_ARRAYS, MIN_SORTED_ARENA_BYTES};
use std::collections::{BTreeMap, BTreeSet};

/// The arena while it is laid out, in the order of time.
#[derive(Debug, Default)]
struct Holes {
    /// Free ranges below the end: offset to length.
    free: BTreeMap<usize, usize>,
    /// Free ranges below the end: length before offset.
    by_length: BTreeSet<(usize, usize)>,
    end: usize,
}

impl Holes {
    fn add(&mut self, offset: usize, length: usize) {
        self.free.insert(offset, length);
        self.by_length.insert((length, offset));
    }

    fn remove(&mut self, offset: usize, length: usize) {
        self.free.remove(&offset);
        self.by_length.remove(&(length, offset));
    }

    /// The smallest range that fits, or a new one at the end.
    fn take(&mut self, bytes: usize) -> usize {
        if let Some(&(length, offset)) = self.by_length.range((bytes, 0)..).next() {
            self.remove(offset, length);
            if length > bytes {
                self.add(offset + bytes, length - bytes);
            }
            return offset;
        }
        // The last hole may reach the end: then only the rest is new.
        if let Some((&offset, &length)) = self.free.last_key_value()
            && offset + length == self.end
        {
            self.remove(offset, length);
            self.end = offset.saturating_add(bytes);
            return offset;
        }
        let offset = self.end;
        self.end = self.end.saturating_add(bytes);
        offset
    }

    fn give(&mut self, offset: usize, bytes: usize) {
        let (mut offset, mut bytes) = (offset, bytes);
        if let Some((&before, &length)) = self.free.range(..offset).next_back()
            && before + length == offset
        {
            self.remove(before, length);
            offset = before;
            bytes += length;
        }
        if let Some(&length) = self.free.get(&(offset + bytes)) {
            self.remove(offset + bytes, length);
            bytes += length;
        }
        self.add(offset, bytes);
    }
}

/// Offsets for buffers by their live ranges, and the size of the whole: in the order of time, or,
/// where that leaves holes of a size that matters, the largest first or those that live longest.
pub(super) fn lay_out(buffers: &[(LiveRange, usize)]) -> (Vec<usize>, usize) {
    let mut best = in_order(buffers);
    let several = buffers.len() <= MAX_ARENA_ARRAYS;
    if best.1 < MIN_SORTED_ARENA_BYTES || !several {
        return best;
    }
    let least = needed(buffers);
    let orders: [&dyn Fn(usize) -> usize; 2] = [&|at| buffers[at].1, &|at| duration(&buffers[at])];
    for order in orders {
        if best.1 <= least {
            break;
        }
        let other = lowest(buffers, order);
        if other.1 < best.1 {
            best = other;
        }
    }
    best
}

/// How long a buffer lives.
fn duration((range, _): &(LiveRange, usize)) -> usize {
    range.last.saturating_sub(range.defined)
}

/// What lies in the arena when it is fullest, if there were no holes.
fn needed(buffers: &[(LiveRange, usize)]) -> usize {
    let life = |(range, bytes): &(LiveRange, usize)| {
        (range.defined, range.last, bytes.next_multiple_of(ALIGN))
    };
    fullest(buffers.iter().map(life))
}

/// Offsets that give each buffer, that with the most of something first, the lowest place that is
/// free all the time.
fn lowest(buffers: &[(LiveRange, usize)], most: impl Fn(usize) -> usize) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; buffers.len()];
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&at| buffers[at].1 > 0).collect();
    order.sort_by_key(|&at| {
        let (range, bytes) = buffers[at];
        (usize::MAX - most(at), usize::MAX - bytes, range.defined, at)
    });
    // What is placed, by offset.
    let mut placed: Vec<(usize, usize, LiveRange)> = Vec::new();
    let mut size = 0;
    for at in order {
        let (range, bytes) = (buffers[at].0, buffers[at].1.next_multiple_of(ALIGN));
        let mut offset = 0;
        for &(start, end, other) in &placed {
            if other.last < range.defined || range.last < other.defined {
                continue;
            }
            if start >= offset + bytes {
                break;
            }
            offset = offset.max(end);
        }
        offsets[at] = offset;
        size = size.max(offset + bytes);
        let next = placed.partition_point(|&(start, ..)| start < offset);
        placed.insert(next, (offset, offset + bytes, range));
    }
    (offsets, size)
}

/// Offsets in the order of time: the smallest hole that fits.
fn in_order(buffers: &[(LiveRange, usize)]) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; buffers.len()];
    let mut by_start: Vec<usize> = (0..buffers.len()).filter(|&at| buffers[at].1 > 0).collect();
    let mut by_end = by_start.clone();
    // Large ones first where several begin at once.
    by_start.sort_by_key(|&at| (buffers[at].0.defined, usize::MAX - buffers[at].1, at));
    by_end.sort_by_key(|&at| (buffers[at].0.last, at));
    let mut ending = by_end.into_iter().peekable();
    let mut holes = Holes::default();
    for at in by_start {
        let (range, bytes) = buffers[at];
        while let Some(over) = ending.next_if(|&other| buffers[other].0.last < range.defined) {
            holes.give(offsets[over], buffers[over].1.next_multiple_of(ALIGN));
        }
        offsets[at] = holes.take(bytes.next_multiple_of(ALIGN));
    }
    (offsets, holes.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(defined: usize, last: usize, bytes: usize) -> (LiveRange, usize) {
        (LiveRange { defined, last }, bytes)
    }

    #[test]
    fn buffers_that_live_at_once_are_apart_and_others_share() {
        let buffers = [range(1, 2, 100), range(2, 3, 64), range(3, 4, 128), range(4, 5, 1)];
        let (offsets, size) = lay_out(&buffers);
        assert_eq!(offsets, [0, 128, 0, 128]);
        assert_eq!(size, 192);
    }

    #[test]
    fn what_is_large_goes_first_where_that_leaves_no_hole() {
        let mib = 4 << 20;
        // In the order of time, the third lies in no hole of the first.
        let buffers = [range(1, 3, 4 * mib), range(2, 9, 2 * mib), range(4, 9, 5 * mib)];
        let (_, size) = lay_out(&buffers);
        assert_eq!(in_order(&buffers).1, 11 * mib);
        assert_eq!(size, needed(&buffers));
    }

    #[test]
    fn what_lives_longest_goes_first_where_that_leaves_no_hole() {
        let mib = 4 << 20;
        // The largest and the last one would leave a hole below what lives all the time.
        let buffers = [
            range(1, 2, 2 * mib),
            range(1, 9, 2 * mib),
            range(3, 4, 3 * mib),
            range(5, 6, 2 * mib),
            range(6, 9, mib),
        ];
        let (_, size) = lay_out(&buffers);
        assert_eq!(size, needed(&buffers));
        assert!(in_order(&buffers).1 > size, "{}", in_order(&buffers).1);
    }

    #[test]
    fn random_live_ranges_never_overlap_in_memory() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from((state >> 33) % below).unwrap()
        };
        let buffers: Vec<_> = (0..300)
            .map(|_| {
                let start = random(500);
                range(start, start + random(60), random(1000))
            })
            .collect();
        let largest = lowest(&buffers, |at| buffers[at].1);
        let longest = lowest(&buffers, |at| duration(&buffers[at]));
        for (offsets, size) in [in_order(&buffers), largest, longest] {
            assert!(size >= needed(&buffers));
            for (a, (range, bytes)) in buffers.iter().enumerate() {
                assert!(offsets[a] + bytes <= size);
                for (b, (other, length)) in buffers.iter().enumerate().skip(a + 1) {
                    let together = range.defined <= other.last && other.defined <= range.last;
                    let apart =
                        offsets[a] + bytes <= offsets[b] || offsets[b] + length <= offsets[a];
                    assert!(!together || apart, "{a} and {b}");
                }
            }
        }
    }
}
