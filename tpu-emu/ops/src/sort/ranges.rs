//! Sorts of long rows in little memory.
//!
//! The codes of a row are cut into ranges that few elements each are in. Those of a range are
//! collected from the operands, sorted, and written where they belong; then come those of the next
//! one. So a row is read once for each range, and only the elements of a few ranges are held.
use super::keyed::{Keyed, Packed};
use crate::tuning::{
    MAX_SORT_ROW_ELEMENTS, SORT_BLOCK_ELEMENTS, SORT_PART_ELEMENTS, SORT_RANGE_BITS, SORT_ROW_PARTS,
};
use tpu_kernels::parallel;
use tpu_kernels::sort::radix;

/// Ranges that are sorted at the same time.
const SLOTS: usize = 2;

/// Elements that one range has at most, but where all have one code.
fn most<P: Packed>(keyed: &Keyed<P>) -> usize {
    keyed.rows.length.div_ceil(parts(keyed))
}

/// Ranges that a row is cut into at least. Of a row that is not very long those that are held take
/// what places and at most 32 bits of the keys take, as on the chip.
fn parts<P: Packed>(keyed: &Keyed<P>) -> usize {
    if keyed.rows.length > MAX_SORT_ROW_ELEMENTS {
        return SORT_ROW_PARTS;
    }
    (SLOTS * 2 * size_of::<P>())
        .div_ceil(keyed.key_bytes().min(size_of::<u32>()) + size_of::<u32>())
}

/// Bytes that a row needs.
pub(super) fn scratch<P: Packed>(keyed: &Keyed<P>) -> usize {
    SLOTS * 2 * most(keyed) * size_of::<P>()
}

/// Codes from `low` to `high`, which so many elements have.
#[derive(Debug, Clone, Copy)]
struct CodeRange<P> {
    low: P,
    high: P,
    count: usize,
}

impl<P: Packed> CodeRange<P> {
    fn has(&self, code: P) -> bool {
        (self.low <= code) & (code <= self.high)
    }
}

/// A range, and where its elements go.
type Share<'a, P> = (CodeRange<P>, Vec<&'a mut [u8]>);

/// Sorts the row whose first element is at `start`.
pub(super) fn sort<P: Packed>(
    keyed: &Keyed<P>,
    row: (&[&[u8]], usize),
    results: &mut [&mut [u8]],
    workspace: &mut [P],
) {
    let length = keyed.rows.length;
    let (whole, is_sorted) = whole(keyed, row);
    if is_sorted {
        return write(keyed, row, whole, results);
    }
    let mut ranges = Vec::new();
    cut(keyed, row, whole, &mut ranges);
    let mut slots: Vec<(&mut [P], Vec<Share<'_, P>>)> =
        workspace.chunks_mut(2 * most(keyed)).map(|room| (room, Vec::new())).collect();
    let mut rest: Vec<&mut [u8]> = results.iter_mut().map(|result| &mut **result).collect();
    let mut before = 0;
    for range in ranges {
        let mut own = Vec::with_capacity(rest.len());
        for (rest, array) in rest.iter_mut().zip(&keyed.made) {
            let (first, later) = std::mem::take(rest).split_at_mut(range.count * array.width());
            own.push(first);
            *rest = later;
        }
        slots[before * SLOTS / length].1.push((range, own));
        before += range.count;
    }
    parallel::chunks_mut(&mut slots, 1, |_, slots| {
        for (room, shares) in slots {
            for (range, results) in shares {
                if range.low == range.high {
                    write(keyed, row, *range, results);
                } else {
                    collect(keyed, row, *range, results, room);
                }
            }
        }
    });
}

/// The codes that a row has, and whether they ascend.
fn whole<P: Packed>(
    keyed: &Keyed<P>,
    (operands, start): (&[&[u8]], usize),
) -> (CodeRange<P>, bool) {
    let length = keyed.rows.length;
    let parts = parallel::map(length.div_ceil(SORT_PART_ELEMENTS), |part| {
        let first = part * SORT_PART_ELEMENTS;
        let mut ends: Option<(P, P)> = None;
        let mut last: Option<(P, P)> = None;
        let mut ascends = true;
        keyed.codes(operands, start, first..length.min(first + SORT_PART_ELEMENTS), |codes| {
            for &code in codes {
                let (low, high) = ends.unwrap_or((code, code));
                ends = Some((low.min(code), high.max(code)));
                let (begin, before) = last.unwrap_or((code, code));
                ascends &= before <= code;
                last = Some((begin, code));
            }
        });
        (ends, last, ascends)
    });
    let ends = parts.iter().filter_map(|(ends, ..)| *ends);
    let (low, high) = ends
        .reduce(|(low, high), (other, further)| (low.min(other), high.max(further)))
        .unwrap_or((P::zeroed(), P::zeroed()));
    let between: Vec<(P, P)> = parts.iter().filter_map(|(_, last, _)| *last).collect();
    let ascends = parts.iter().all(|(.., ascends)| *ascends)
        && between.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    (CodeRange { low, high, count: length }, ascends)
}

/// Cuts a range into those of at most so many elements as are held, in their order.
fn cut<P: Packed>(
    keyed: &Keyed<P>,
    row: (&[&[u8]], usize),
    of: CodeRange<P>,
    into: &mut Vec<CodeRange<P>>,
) {
    let most = most(keyed);
    if of.count <= most || of.low == of.high {
        return into.push(of);
    }
    let bits = of.high.distance_bits(of.low).saturating_sub(SORT_RANGE_BITS);
    let mut open: Option<CodeRange<P>> = None;
    for (bin, count) in counts(keyed, row, of, bits).into_iter().enumerate() {
        if count == 0 {
            continue;
        }
        let low = of.low.further(bin, bits);
        let high = if bits == 0 { low } else { of.low.last_of(bin, bits).min(of.high) };
        match &mut open {
            Some(open) if open.count + count <= most => {
                (open.high, open.count) = (high, open.count + count);
            }
            _ => {
                into.extend(open.take());
                let range = CodeRange { low, high, count };
                if count > most {
                    cut(keyed, row, range, into);
                } else {
                    open = Some(range);
                }
            }
        }
    }
    into.extend(open);
}

/// How many elements of a row each unit of so many bits of a range has.
fn counts<P: Packed>(
    keyed: &Keyed<P>,
    (operands, start): (&[&[u8]], usize),
    of: CodeRange<P>,
    bits: u32,
) -> Vec<usize> {
    let length = keyed.rows.length;
    let bins = of.high.above(of.low, bits) + 1;
    let parts = parallel::map(length.div_ceil(SORT_PART_ELEMENTS), |part| {
        let mut counts = vec![0_usize; bins];
        let first = part * SORT_PART_ELEMENTS;
        keyed.codes(operands, start, first..length.min(first + SORT_PART_ELEMENTS), |codes| {
            for &code in codes.iter().filter(|&&code| of.has(code)) {
                counts[code.above(of.low, bits)] += 1;
            }
        });
        counts
    });
    let mut all = vec![0; bins];
    for counts in parts {
        all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
    }
    all
}

/// Writes the elements of a range whose order is that of the row.
fn write<P: Packed>(
    keyed: &Keyed<P>,
    (operands, start): (&[&[u8]], usize),
    range: CodeRange<P>,
    results: &mut [&mut [u8]],
) {
    let mut to = 0;
    find(keyed, (operands, start), range, |found| {
        for (result, array) in results.iter_mut().zip(&keyed.made) {
            array.write(operands, found, [start, to], 1, result);
        }
        to += found.len();
    });
}

/// Sorts and writes the elements of a range.
fn collect<P: Packed>(
    keyed: &Keyed<P>,
    (operands, start): (&[&[u8]], usize),
    range: CodeRange<P>,
    results: &mut [&mut [u8]],
    room: &mut [P],
) {
    let (held, room) = room.split_at_mut(range.count);
    let mut to = 0;
    find(keyed, (operands, start), range, |found| {
        held[to..][..found.len()].copy_from_slice(found);
        to += found.len();
    });
    // The place makes all of them different, so this is stable.
    radix::sort(held, &mut room[..range.count], 4..4 + keyed.key_bytes());
    for (result, array) in results.iter_mut().zip(&keyed.made) {
        array.write(operands, held, [start, 0], 1, result);
    }
}

/// Finds the elements of a row that are in a range: gives their codes with their places, block by
/// block.
fn find<P: Packed>(
    keyed: &Keyed<P>,
    (operands, start): (&[&[u8]], usize),
    range: CodeRange<P>,
    mut take: impl FnMut(&[P]),
) {
    let lower = keyed.lower_bits();
    let (low, high) = (range.low.without(lower), range.high.without(lower));
    let mut found = [P::zeroed(); SORT_BLOCK_ELEMENTS];
    let mut near = [0_u16; SORT_BLOCK_ELEMENTS];
    keyed.key_codes(operands, start, 0..keyed.rows.length, |first, of_keys| {
        let mut count = 0;
        for (&code, at) in of_keys[0].iter().zip(0_u16..) {
            near[count & (SORT_BLOCK_ELEMENTS - 1)] = at;
            count += usize::from((low <= code) & (code <= high));
        }
        let mut kept = 0;
        for &at in &near[..count] {
            let code = keyed.code(of_keys, at.into());
            let place = u64::try_from(first).unwrap_or(0) + u64::from(at);
            found[kept & (SORT_BLOCK_ELEMENTS - 1)] = code.push(32, place);
            kept += usize::from(range.has(code));
        }
        take(&found[..kept]);
    });
}

#[cfg(test)]
mod tests {
    use super::super::SortRows;
    use super::{Keyed, Packed, scratch, sort};
    use tpu_base::tensor::DType;
    use tpu_kernels::parallel;
    use tpu_kernels::sort::comparator::SortKey;

    const LENGTH: usize = 300_000;

    fn key(operand: usize, descending: bool) -> SortKey {
        let (total, nan_is_largest) = (false, true);
        SortKey { operand, dtype: DType::S32, descending, total, nan_is_largest }
    }

    fn rows() -> SortRows {
        SortRows { axis: 0, length: LENGTH, inner: 1, outer: 1, widths: vec![4; 2] }
    }

    /// The results of a sort of one row range by range.
    fn sorted<P: Packed>(keyed: &Keyed<P>, operands: &[&[i32]]) -> Vec<Vec<i32>> {
        let operands: Vec<&[u8]> = operands.iter().map(|of| bytemuck::cast_slice(of)).collect();
        let mut results = vec![vec![0; LENGTH]; keyed.made.len()];
        let mut now: Vec<&mut [u8]> =
            results.iter_mut().map(|of| bytemuck::cast_slice_mut(of)).collect();
        let mut workspace = vec![P::zeroed(); scratch(keyed) / size_of::<P>()];
        sort(keyed, (&operands, 0), &mut now, &mut workspace);
        results
    }

    /// Rows of which many elements, few, or none are the same.
    fn keys() -> [Vec<i32>; 7] {
        let at = |at: usize| i32::try_from(at).unwrap();
        let noise = |of: usize| at(of.wrapping_mul(0x9E37_79B9) % 0x7FFF_FFFF);
        [
            (0..LENGTH).map(noise).collect(),
            (0..LENGTH).map(|of| noise(of) % 3 - 1).collect(),
            (0..LENGTH).map(|of| if of % 2 == 0 { 0 } else { noise(of) >> (of % 31) }).collect(),
            (0..LENGTH).map(at).collect(),
            (0..LENGTH).map(|of| -at(of)).collect(),
            vec![7; LENGTH],
            (0..LENGTH).map(|of| if of == 77 { i32::MIN } else { i32::MAX }).collect(),
        ]
    }

    #[test]
    fn long_rows_are_sorted_stably_whatever_they_have() {
        let places: Vec<i32> = (0..).take(LENGTH).collect();
        for keys in keys() {
            for descending in [false, true] {
                let keyed = Keyed::<u64>::new(rows(), &[key(0, descending)]);
                let mut expected = places.clone();
                let code = |place: i32| keys[usize::try_from(place).unwrap()];
                expected.sort_by_key(|&place| if descending { !code(place) } else { code(place) });
                for threads in [1, 3] {
                    let run = || sorted(&keyed, &[&keys, &places]);
                    let found = parallel::with_threads(threads, run);
                    assert!(found[1] == expected);
                    assert!(found[0].iter().zip(&expected).all(|(&key, &of)| code(of) == key));
                }
                // The places alone, which it counts by itself.
                assert!(sorted(&keyed.left(&[1], &[1]), &[&keys]) == [expected]);
            }
        }
    }

    #[test]
    fn long_rows_are_sorted_by_two_keys() {
        let noise = |of: usize, by: usize| i32::try_from(of * by % 1009).unwrap();
        let first: Vec<i32> = (0..LENGTH).map(|of| noise(of, 7919)).collect();
        let second: Vec<i32> = (0..LENGTH).map(|of| noise(of, 104_729) - 500).collect();
        let keyed = Keyed::<u128>::new(rows(), &[key(0, false), key(1, true)]);
        let found = sorted(&keyed, &[&first, &second]);
        let mut expected: Vec<(i32, i32)> = first.into_iter().zip(second).collect();
        expected.sort_by_key(|&(first, second)| (first, !second));
        let (first, second): (Vec<i32>, Vec<i32>) = expected.into_iter().unzip();
        assert!(found[0] == first && found[1] == second);
    }
}
