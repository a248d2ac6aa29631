//! Sorts by a known order of at most 96 bits.
use super::SortRows;
use crate::tuning::{MAX_SORT_ROW_GROUPS, SORT_BLOCK_ELEMENTS, SORT_SCRATCH_BYTES};
use crate::{Cost, Cx, Kernel};
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
}

impl Packed for u64 {
    #[inline(always)]
    fn push(self, bits: usize, low: u64) -> Self {
        self << bits | low
    }
    #[inline(always)]
    fn index(self) -> usize {
        usize::try_from(self & u64::from(u32::MAX)).unwrap_or(0)
    }
}

impl Packed for u128 {
    #[inline(always)]
    fn push(self, bits: usize, low: u64) -> Self {
        self << bits | Self::from(low)
    }
    #[inline(always)]
    fn index(self) -> usize {
        usize::try_from(self & Self::from(u32::MAX)).unwrap_or(0)
    }
}

/// A sort by a known order.
#[derive(Debug)]
pub(super) struct Keyed<P> {
    rows: SortRows,
    keys: Vec<(SortKey, Encode)>,
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
        Self { rows, keys, groups, packed: std::marker::PhantomData }
    }

    /// Packed codes twice, for each group.
    fn part(&self) -> usize {
        2 * self.groups * self.rows.length * size_of::<P>()
    }

    /// The packed codes of the row at `start`.
    fn encode(&self, operands: &[&[u8]], start: usize, packed: &mut [P]) {
        let step = self.rows.inner;
        let mut codes = [0; SORT_BLOCK_ELEMENTS];
        let mut index = 0;
        for (number, packed) in packed.chunks_mut(SORT_BLOCK_ELEMENTS).enumerate() {
            packed.fill(P::zeroed());
            let codes = &mut codes[..packed.len()];
            for (key, encode) in &self.keys {
                encode(
                    key,
                    operands[key.operand],
                    start + number * SORT_BLOCK_ELEMENTS * step,
                    step,
                    codes,
                );
                let bits = 8 * key.dtype.host_bytes();
                for (packed, &code) in packed.iter_mut().zip(&*codes) {
                    *packed = packed.push(bits, code);
                }
            }
            for packed in packed {
                *packed = packed.push(32, index);
                index += 1;
            }
        }
    }
}

impl<P: Packed> Kernel for Keyed<P> {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let SortRows { length, inner, outer, ref widths } = self.rows;
        if length * inner * outer == 0 {
            return Ok(());
        }
        let mut parts = carve(cx.scratch, [self.part()]);
        let workspace: &mut [P] = bytemuck::cast_slice_mut(parts.remove(0));
        let bytes: usize = self.keys.iter().map(|(key, _)| key.dtype.host_bytes()).sum();
        let group = outer.div_ceil(self.groups);
        let mut chunks: Vec<_> = results
            .iter_mut()
            .zip(widths)
            .map(|(result, width)| result.chunks_mut(group * length * inner * width))
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
                        let arrays = operands.iter().zip(&mut *results).zip(widths);
                        for ((operand, result), &width) in arrays {
                            permute(width, operand, packed, [start, to], inner, result);
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
