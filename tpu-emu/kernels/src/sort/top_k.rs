//! The first few of each row in a known order.
use super::comparator::{Encode, SortKey, encoder};
use crate::movement::loop_nest::{carve, carved};
use crate::sort::tuning::{TOP_K_BLOCK_ELEMENTS, TOP_K_CHUNK_ELEMENTS, TOP_K_HELD_ELEMENTS};
use crate::{parallel, simd};
use tpu_base::tensor::Shape;

/// Rows along one axis, of which the first elements in order are wanted.
#[derive(Debug)]
pub struct Top {
    outer: usize,
    length: usize,
    inner: usize,
    wanted: usize,
    key: SortKey,
    encode: Encode,
}

/// One row: where it starts in the array and among the results, and what was found.
#[derive(Debug)]
pub struct TopKRow<'a> {
    /// First element of the row.
    pub from: usize,
    /// First result of the row.
    pub to: usize,
    /// Elements, and results, from one of a row to the next.
    pub step: usize,
    /// Indices along the row, first in order first.
    pub indices: &'a [u128],
}

impl TopKRow<'_> {
    /// The indices along the row.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        let low = |&packed: &u128| usize::try_from(packed & u128::from(u32::MAX)).unwrap_or(0);
        self.indices.iter().map(low)
    }
}

impl Top {
    /// The first `wanted` along `axis`. `None` for types without an order, and for rows of more
    /// than 2³² elements.
    pub fn new(shape: &Shape, axis: usize, wanted: usize, key: SortKey) -> Option<Self> {
        let length = shape.dims[axis];
        u32::try_from(length).ok()?;
        Some(Self {
            outer: shape.dims[..axis].iter().product(),
            length,
            inner: shape.dims[axis + 1..].iter().product(),
            wanted,
            key,
            encode: encoder(key.dtype)?,
        })
    }

    /// Elements of all rows.
    pub fn elements(&self) -> usize {
        self.outer * self.length * self.inner
    }

    fn found(&self) -> usize {
        self.wanted.min(self.length)
    }

    /// Rows that are searched before their results are written.
    fn together(&self) -> usize {
        (TOP_K_HELD_ELEMENTS / self.found().max(1)).clamp(1, (self.outer * self.inner).max(1))
    }

    /// Scratch bytes of [`Top::run`].
    pub fn scratch(&self) -> usize {
        carved([self.together() * self.found() * size_of::<u128>()])
    }

    /// Finds the first elements of each row of `operand`; equal ones in the order of the row.
    pub fn run(&self, operand: &[u8], scratch: &mut [u8], row: &mut dyn FnMut(&TopKRow<'_>)) {
        let (rows, found) = (self.outer * self.inner, self.found());
        let mut parts = carve(scratch, [self.together() * found * size_of::<u128>()]);
        let workspace: &mut [u128] = bytemuck::cast_slice_mut(parts.remove(0));
        let start =
            |row: usize, along: usize| row / self.inner * along * self.inner + row % self.inner;
        for first in (0..rows).step_by(self.together()) {
            let count = self.together().min(rows - first);
            let workspace = &mut workspace[..count * found];
            if found > 0 {
                let chunk = (TOP_K_CHUNK_ELEMENTS / self.length).max(1);
                parallel::chunks_mut(workspace, chunk * found, |number, workspace| {
                    let mut search = Search::new(found);
                    for (index, workspace) in workspace.chunks_exact_mut(found).enumerate() {
                        let from = start(first + number * chunk + index, self.length);
                        self.search(operand, from, &mut search);
                        workspace.copy_from_slice(&search.held);
                    }
                });
            }
            for index in 0..count {
                let (from, to) =
                    (start(first + index, self.length), start(first + index, self.wanted));
                let indices = &workspace[index * found..(index + 1) * found];
                row(&TopKRow { from, to, step: self.inner, indices });
            }
        }
    }

    /// Finds the first elements of one row.
    fn search(&self, operand: &[u8], from: usize, search: &mut Search) {
        search.held.clear();
        search.limit = u64::MAX;
        let mut codes = [0; TOP_K_BLOCK_ELEMENTS];
        for first in (0..self.length).step_by(TOP_K_BLOCK_ELEMENTS) {
            let codes = &mut codes[..TOP_K_BLOCK_ELEMENTS.min(self.length - first)];
            (self.encode)(&self.key, operand, from + first * self.inner, self.inner, codes);
            search.offer(first, codes);
        }
        search.finish();
    }
}

/// The first elements that have been seen of a row, and some that may not be among them.
struct Search {
    wanted: usize,
    /// Codes with indices below them.
    held: Vec<u128>,
    /// No element with a larger code is among the first; nor is one with this code that comes
    /// later, once there are enough.
    limit: u64,
}

impl Search {
    fn new(wanted: usize) -> Self {
        Self { wanted, held: Vec::new(), limit: u64::MAX }
    }

    /// The next elements, with the first one's index.
    fn offer(&mut self, first: usize, codes: &[u64]) {
        let full = self.held.len() >= self.wanted;
        if full && !simd::run(Below { codes, limit: self.limit }) {
            return;
        }
        let limit = self.limit;
        let packed = codes.iter().zip(first..).filter(|&(&code, _)| code < limit || !full);
        self.held.extend(packed.map(|(&code, index)| {
            u128::from(code) << 32 | u128::from(u32::try_from(index).unwrap_or(u32::MAX))
        }));
        if self.held.len() >= 2 * self.wanted + TOP_K_BLOCK_ELEMENTS / 4 {
            self.cut();
        }
    }

    /// Keeps the first ones.
    fn cut(&mut self) {
        if self.held.len() > self.wanted {
            self.held.select_nth_unstable(self.wanted - 1);
            self.held.truncate(self.wanted);
        }
        if self.held.len() == self.wanted
            && let Some(last) = self.held.iter().max()
        {
            self.limit = u64::try_from(last >> 32).unwrap_or(u64::MAX);
        }
    }

    fn finish(&mut self) {
        self.cut();
        self.held.sort_unstable();
    }
}

/// Whether a code is below a limit.
struct Below<'a> {
    codes: &'a [u64],
    limit: u64,
}

impl simd::Loop for Below<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.codes.iter().fold(false, |any, &code| any | (code < self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::tensor::DType;

    #[test]
    fn the_largest_come_first_and_equal_ones_in_order() {
        let key = SortKey {
            operand: 0,
            dtype: DType::F32,
            descending: true,
            total: true,
            nan_is_largest: true,
        };
        let shape = Shape::new(DType::F32, [4, 2]);
        let x = [1.0_f32, -0.0, 3.0, 0.0, 3.0, f32::NAN, 2.0, -1.0];
        let top = Top::new(&shape, 0, 2, key).unwrap();
        let mut scratch = vec![0_u128; top.scratch() / 16];
        let mut found = Vec::new();
        top.run(bytemuck::cast_slice(&x), bytemuck::cast_slice_mut(&mut scratch), &mut |row| {
            found.push((row.from, row.to, row.indices().collect::<Vec<_>>()));
        });
        assert_eq!(found, [(0, 0, vec![1, 2]), (1, 1, vec![2, 1])]);
    }

    #[test]
    fn long_rows_are_searched_as_a_sort_finds_them() {
        let (rows, length) = (3, 50_000);
        let x: Vec<i32> = (0..rows * length)
            .map(|at: usize| i32::try_from(at * 7919 % 100_003 / 7).unwrap())
            .collect();
        let shape = Shape::new(DType::S32, [rows, length]);
        for (wanted, descending) in [(1, true), (5, false), (700, true), (length, false)] {
            let nan_is_largest = true;
            let key =
                SortKey { operand: 0, dtype: DType::S32, descending, total: true, nan_is_largest };
            let top = Top::new(&shape, 1, wanted, key).unwrap();
            let search = || {
                let mut scratch = vec![7_u128; top.scratch() / 16];
                let mut found = Vec::new();
                let scratch = bytemuck::cast_slice_mut(&mut scratch);
                top.run(bytemuck::cast_slice(&x), scratch, &mut |row| {
                    found.push(row.indices().collect::<Vec<_>>());
                });
                found
            };
            let expected: Vec<Vec<usize>> = x
                .chunks(length)
                .map(|row| {
                    let mut order: Vec<usize> = (0..length).collect();
                    order.sort_by_key(|&at| if descending { -row[at] } else { row[at] });
                    order.truncate(wanted);
                    order
                })
                .collect();
            simd::at_every_level(|level| assert_eq!(search(), expected, "{wanted} {level:?}"));
            for threads in [2, 3] {
                assert_eq!(parallel::with_threads(threads, search), expected, "{wanted}");
            }
        }
    }
}
