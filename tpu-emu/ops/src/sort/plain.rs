//! Sorts of one array by its elements.
use super::SortRows;
use crate::tuning::{MAX_SORT_ROW_GROUPS, SORT_SCRATCH_BYTES};
use crate::{Cost, Cx, Kernel};
use tpu_base::error::Result;
use tpu_kernels::movement::loop_nest::{carve, carved};
use tpu_kernels::parallel;
use tpu_kernels::sort::comparator::SortKey;
use tpu_kernels::sort::keys::SortRow;
use tpu_kernels::sort::tuning::MIN_RADIX_ELEMENTS;

/// Rows of elements side by side.
#[derive(Debug)]
pub(super) struct Sorted {
    pub(super) rows: SortRows,
    pub(super) key: SortKey,
    pub(super) sort: SortRow,
}

impl Sorted {
    /// Makes the kernel; `None` for rows whose elements are not side by side.
    pub(super) fn new(rows: &SortRows, key: SortKey, sort: SortRow) -> Option<Self> {
        let dense = rows.inner == 1 && rows.widths.len() == 1;
        dense.then(|| Self { rows: rows.clone(), key, sort })
    }

    /// Bytes of a row.
    fn row(&self) -> usize {
        self.rows.length * self.rows.widths[0]
    }

    /// Rows that one thread sorts, each with a room for one beside it.
    fn chunk(&self) -> usize {
        let groups = (SORT_SCRATCH_BYTES / self.row().max(1)).clamp(1, MAX_SORT_ROW_GROUPS);
        parallel::items_per_chunk(self.row()).max(self.rows.outer.div_ceil(groups))
    }

    /// Bytes beside the rows that are sorted.
    fn workspace(&self) -> usize {
        match self.rows.length < MIN_RADIX_ELEMENTS {
            true => 0,
            false => self.rows.outer.div_ceil(self.chunk()) * self.row(),
        }
    }
}

impl Kernel for Sorted {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if results[0].is_empty() {
            return Ok(());
        }
        let row = self.row();
        let chunk = self.chunk() * row;
        let mut parts = carve(cx.scratch, [self.workspace()]);
        let mut rooms = parts.remove(0).chunks_mut(row);
        let mut chunks: Vec<(&mut [u8], &mut [u8])> = results[0]
            .chunks_mut(chunk)
            .map(|result| (result, rooms.next().unwrap_or_default()))
            .collect();
        parallel::chunks_mut(&mut chunks, 1, |number, chunks| {
            for (result, workspace) in chunks {
                let from = operands[0][number * chunk..].chunks(row);
                for (result, from) in result.chunks_mut(row).zip(from) {
                    (self.sort)(&self.key, from, result, workspace);
                }
            }
        });
        Ok(())
    }

    fn scratch(&self) -> usize {
        carved([self.workspace()])
    }

    fn cost(&self) -> Cost {
        self.rows.cost()
    }
}
