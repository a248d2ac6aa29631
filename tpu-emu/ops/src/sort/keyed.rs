//! Sorts by a known order of at most 96 bits.
use super::{SortRows, ranges};
use crate::tuning::{
    MAX_SORT_ROW_GROUPS, MAX_WHOLE_ROW_ELEMENTS, SORT_BLOCK_ELEMENTS, SORT_SCRATCH_BYTES,
};
use crate::{Cost, Cx, Kernel, Sorts};
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_kernels::for_width;
use tpu_kernels::movement::loop_nest::{carve, carved};
use tpu_kernels::parallel;
use tpu_kernels::sort::comparator::{Encode, SortKey, encoder};
use tpu_kernels::sort::radix;
use tpu_kernels::sort::radix::Digits;

/// A number that holds the codes of an element's keys, and below them its index.
pub(super) trait Packed: Digits + std::fmt::Debug {
    /// This number with `bits` more bits.
    fn push(self, bits: usize, low: u64) -> Self;
    /// The lowest 32 bits.
    fn index(self) -> usize;
    /// The number without its lowest bits, or the largest one of 64 bits.
    fn without(self, bits: usize) -> u64;
    /// How far it lies above a smaller one, in units of so many bits.
    fn above(self, low: Self, bits: u32) -> usize;
    /// The number that lies so many units of so many bits above it.
    fn further(self, units: usize, bits: u32) -> Self;
    /// The last number of that unit of so many bits, which is not none.
    fn last_of(self, unit: usize, bits: u32) -> Self;
    /// The bits that the distance to a smaller number has.
    fn distance_bits(self, low: Self) -> u32;
}

macro_rules! packed {
    ($($t:ty)*) => {$(impl Packed for $t {
        #[inline(always)]
        fn push(self, bits: usize, low: u64) -> Self {
            self << bits | Self::from(low)
        }
        #[inline(always)]
        fn index(self) -> usize {
            usize::try_from(self & Self::from(u32::MAX)).unwrap_or(0)
        }
        fn without(self, bits: usize) -> u64 {
            u64::try_from(self >> bits).unwrap_or(u64::MAX)
        }
        #[inline(always)]
        fn above(self, low: Self, bits: u32) -> usize {
            usize::try_from((self - low) >> bits).unwrap_or(usize::MAX)
        }
        fn further(self, units: usize, bits: u32) -> Self {
            let units = Self::try_from(units).unwrap_or(Self::MAX);
            units.checked_shl(bits).map_or(Self::MAX, |far| self.saturating_add(far))
        }
        fn last_of(self, unit: usize, bits: u32) -> Self {
            self.further(unit + 1, bits).saturating_sub(1)
        }
        fn distance_bits(self, low: Self) -> u32 {
            Self::BITS - (self - low).leading_zeros()
        }
    })*};
}

packed! { u64 u128 }

/// Keys of 8 bits, of which 96 bits have no more.
const KEYS: usize = 12;

/// What a result has in the order of the keys.
#[derive(Debug, Clone, Copy)]
pub(super) enum SortedArray {
    /// The elements of an operand, of so many bytes.
    Operand(usize, usize),
    /// Where they were, in 32 bits.
    Places,
}

impl SortedArray {
    /// Bytes of an element.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Operand(_, width) => width,
            Self::Places => size_of::<u32>(),
        }
    }

    /// Writes what belongs to the codes of the row at `start` to the row at `to`.
    pub(super) fn write<P: Packed>(
        self,
        operands: &[&[u8]],
        packed: &[P],
        [start, to]: [usize; 2],
        step: usize,
        result: &mut [u8],
    ) {
        match self {
            Self::Operand(operand, width) => {
                permute(width, operands[operand], packed, [start, to], step, result);
            }
            Self::Places => {
                let (places, _) = result.as_chunks_mut::<{ size_of::<u32>() }>();
                for (place, packed) in places[to..].iter_mut().step_by(step).zip(packed) {
                    *place = u32::try_from(packed.index()).unwrap_or(0).to_le_bytes();
                }
            }
        }
    }
}

/// A sort by a known order.
#[derive(Debug)]
pub(super) struct Keyed<P> {
    pub(super) rows: SortRows,
    keys: Vec<(SortKey, Encode)>,
    /// What is made.
    pub(super) made: Vec<SortedArray>,
    /// Groups of rows that are sorted at the same time.
    groups: usize,
    packed: std::marker::PhantomData<P>,
}

impl<P: Packed> Keyed<P> {
    pub(super) fn new(rows: SortRows, keys: &[SortKey]) -> Self {
        let keys = keys.iter().filter_map(|&key| Some((key, encoder(key.dtype)?))).collect();
        let row = 2 * rows.length * size_of::<P>();
        let groups =
            (SORT_SCRATCH_BYTES / row.max(1)).clamp(1, MAX_SORT_ROW_GROUPS).min(rows.outer.max(1));
        let operand = |(at, &width)| SortedArray::Operand(at, width);
        let made = rows.widths.iter().enumerate().map(operand).collect();
        Self { rows, keys, made, groups, packed: std::marker::PhantomData }
    }

    /// Whether rows are long, and sorted range by range of their codes.
    fn is_long(&self) -> bool {
        self.rows.inner == 1 && self.rows.length > MAX_WHOLE_ROW_ELEMENTS
    }

    /// Packed codes twice, for each group.
    fn part(&self) -> usize {
        match self.is_long() {
            true => ranges::scratch(self),
            false => 2 * self.groups * self.rows.length * size_of::<P>(),
        }
    }

    /// Bytes of the keys.
    pub(super) fn key_bytes(&self) -> usize {
        self.keys.iter().map(|(key, _)| key.dtype.host_bytes()).sum()
    }

    /// Gives the codes of each key of elements of the row at `start`, block by block, with the place
    /// of its first one.
    pub(super) fn key_codes(
        &self,
        operands: &[&[u8]],
        start: usize,
        places: Range<usize>,
        mut take: impl FnMut(usize, &[&[u64]]),
    ) {
        let step = self.rows.inner;
        let mut codes = [[0; SORT_BLOCK_ELEMENTS]; KEYS];
        for first in places.clone().step_by(SORT_BLOCK_ELEMENTS) {
            let count = SORT_BLOCK_ELEMENTS.min(places.end - first);
            let mut of_keys: [&[u64]; KEYS] = [&[]; KEYS];
            let arrays = codes.iter_mut().zip(&mut of_keys);
            for ((key, encode), (codes, of_key)) in self.keys.iter().zip(arrays) {
                let codes = &mut codes[..count];
                encode(key, operands[key.operand], start + first * step, step, codes);
                *of_key = codes;
            }
            take(first, &of_keys[..self.keys.len()]);
        }
    }

    /// The code of all keys of an element of a block.
    #[inline(always)]
    pub(super) fn code(&self, of_keys: &[&[u64]], at: usize) -> P {
        let keys = self.keys.iter().zip(of_keys);
        keys.fold(P::zeroed(), |code, ((key, _), codes)| {
            code.push(8 * key.dtype.host_bytes(), codes[at])
        })
    }

    /// The bits of all keys but the first one.
    pub(super) fn lower_bits(&self) -> usize {
        self.keys.iter().skip(1).map(|(key, _)| 8 * key.dtype.host_bytes()).sum()
    }

    /// The codes of a block of elements, of which the first one is at `start`.
    fn fill(&self, operands: &[&[u8]], start: usize, packed: &mut [P]) {
        let mut codes = [0; SORT_BLOCK_ELEMENTS];
        let codes = &mut codes[..packed.len()];
        packed.fill(P::zeroed());
        for (key, encode) in &self.keys {
            encode(key, operands[key.operand], start, self.rows.inner, codes);
            let bits = 8 * key.dtype.host_bytes();
            for (packed, &code) in packed.iter_mut().zip(&*codes) {
                *packed = packed.push(bits, code);
            }
        }
    }

    /// Gives the codes of elements of the row at `start`, block by block.
    pub(super) fn codes(
        &self,
        operands: &[&[u8]],
        start: usize,
        places: Range<usize>,
        mut take: impl FnMut(&[P]),
    ) {
        let mut packed = [P::zeroed(); SORT_BLOCK_ELEMENTS];
        for first in places.clone().step_by(SORT_BLOCK_ELEMENTS) {
            let packed = &mut packed[..SORT_BLOCK_ELEMENTS.min(places.end - first)];
            self.fill(operands, start + first * self.rows.inner, packed);
            take(packed);
        }
    }

    /// The codes of the row at `start`, packed with their places.
    fn encode(&self, operands: &[&[u8]], start: usize, packed: &mut [P]) {
        let step = self.rows.inner * SORT_BLOCK_ELEMENTS;
        let mut places = 0_u64..;
        for (number, packed) in packed.chunks_mut(SORT_BLOCK_ELEMENTS).enumerate() {
            self.fill(operands, start + number * step, packed);
            for (packed, place) in packed.iter_mut().zip(&mut places) {
                *packed = packed.push(32, place);
            }
        }
    }

    /// What is left of it without some results, and without operands that count.
    pub(super) fn left(&self, made: &[usize], counted: &[usize]) -> Self {
        let left = |operand: usize| operand - counted.iter().filter(|&&of| of < operand).count();
        let array = |&of: &usize| match self.made[of] {
            SortedArray::Operand(operand, _) if counted.contains(&operand) => SortedArray::Places,
            SortedArray::Operand(operand, width) => SortedArray::Operand(left(operand), width),
            SortedArray::Places => SortedArray::Places,
        };
        let key = |&(key, encode): &(SortKey, Encode)| {
            (SortKey { operand: left(key.operand), ..key }, encode)
        };
        Self {
            rows: self.rows.clone(),
            keys: self.keys.iter().map(key).collect(),
            made: made.iter().map(array).collect(),
            groups: self.groups,
            packed: std::marker::PhantomData,
        }
    }
}

impl<P: Packed> Kernel for Keyed<P> {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let SortRows { length, inner, outer, .. } = self.rows;
        if length * inner * outer == 0 {
            return Ok(());
        }
        let mut parts = carve(cx.scratch, [self.part()]);
        let workspace: &mut [P] = bytemuck::cast_slice_mut(parts.remove(0));
        if self.is_long() {
            for row in 0..outer {
                let mut now: Vec<&mut [u8]> = Vec::with_capacity(results.len());
                for (result, array) in results.iter_mut().zip(&self.made) {
                    let bytes = length * array.width();
                    now.push(&mut result[row * bytes..][..bytes]);
                }
                ranges::sort(self, (operands, row * length), &mut now, workspace);
            }
            return Ok(());
        }
        let bytes = self.key_bytes();
        let group = outer.div_ceil(self.groups);
        let mut chunks: Vec<_> = results
            .iter_mut()
            .zip(&self.made)
            .map(|(result, array)| result.chunks_mut(group * length * inner * array.width()))
            .collect();
        let mut groups: Vec<(&mut [P], Vec<&mut [u8]>)> = workspace
            .chunks_mut(2 * length)
            .map(|workspace| (workspace, chunks.iter_mut().filter_map(Iterator::next).collect()))
            .collect();
        parallel::chunks_mut(&mut groups, 1, |number, groups| {
            for (workspace, results) in groups {
                let (packed, workspace) = workspace.split_at_mut(length);
                let first = number * group;
                for at in first..outer.min(first + group) {
                    for column in 0..inner {
                        let start = at * length * inner + column;
                        self.encode(operands, start, packed);
                        // The index makes all of them different, so this is stable.
                        radix::sort(packed, workspace, 4..4 + bytes);
                        let to = (at - first) * length * inner + column;
                        for (result, array) in results.iter_mut().zip(&self.made) {
                            array.write(operands, packed, [start, to], inner, result);
                        }
                    }
                }
            }
        });
        Ok(())
    }

    fn scratch(&self) -> usize {
        carved([self.part()])
    }

    fn cost(&self) -> Cost {
        self.rows.cost()
    }

    fn sorts(&self) -> Option<Sorts> {
        let keys = self.keys.iter().map(|(key, _)| key.operand).collect();
        Some(Sorts { axis: self.rows.axis, keys })
    }

    fn sorting(&self, made: &[usize], counted: &[usize]) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(self.left(made, counted)))
    }
}

/// Writes the elements of the row at `start` in their new order to the row at `to`.
fn permute<P: Packed>(
    width: usize,
    from: &[u8],
    packed: &[P],
    [start, to]: [usize; 2],
    step: usize,
    result: &mut [u8],
) {
    fn fixed<P: Packed, const W: usize>(
        from: &[u8],
        packed: &[P],
        [start, to]: [usize; 2],
        step: usize,
        result: &mut [u8],
    ) {
        let (from, _) = from.as_chunks::<W>();
        let (result, _) = result.as_chunks_mut::<W>();
        let (from, result) = (&from[start..], &mut result[to..]);
        if step == 1 {
            for (result, packed) in result.iter_mut().zip(packed) {
                *result = from[packed.index()];
            }
        } else {
            for (result, packed) in result.iter_mut().step_by(step).zip(packed) {
                *result = from[packed.index() * step];
            }
        }
    }
    for_width!(width, T => fixed::<P, { size_of::<T>() }>(from, packed, [start, to], step, result));
}
