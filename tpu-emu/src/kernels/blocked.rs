//! Matrix products through packed panels, a block of the result at a time.
use super::aligned::Aligned;
use super::panel::{Panel, Source};
use super::tile::{Block, COLUMNS, ROWS};
use bytemuck::cast_slice_mut;
use std::cell::Cell;
use std::ops::Range;

/// Steps of the sums that are added up before they are added to a result.
pub const DEPTH: usize = 256;
/// Columns of a block.
pub const WIDTH: usize = 512;

thread_local! {
    /// Room for panels. Whoever uses it takes it out.
    static ROOM: Cell<Aligned> = Cell::default();
}

/// Calls `work` with `bytes` bytes that the thread keeps for the next call.
fn with_room<R>(bytes: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
    let mut room = ROOM.take();
    if room.bytes().len() < bytes {
        room = Aligned::zeros(bytes);
    }
    let result = work(&mut room.bytes_mut()[..bytes]);
    ROOM.set(room);
    result
}

/// Some rows and columns of a product.
#[derive(Debug, Clone)]
pub struct Part {
    /// Rows.
    pub rows: Range<usize>,
    /// Columns.
    pub columns: Range<usize>,
    /// Length of the sums.
    pub depth: usize,
}

/// Computes a part of a product of split operands: the parts of the operands that are multiplied
/// are the `passes`. Sums of many terms are sums of sums of [`DEPTH`] terms.
pub fn product<T: Panel>(
    Part { rows, columns, depth }: Part,
    passes: &[(usize, usize)],
    lhs: &impl Source<T>,
    rhs: &impl Source<T>,
    (out, stride): (&mut [T], usize),
) {
    if rows.is_empty() || columns.is_empty() {
        return;
    }
    if depth == 0 {
        for row in out.chunks_mut(stride).take(rows.len()) {
            row[..columns.len()].fill(<T as super::work::Work>::ZERO);
        }
        return;
    }
    let longest = DEPTH.min(depth);
    let left = rows.len().div_ceil(ROWS) * longest * size_of::<[T; ROWS]>();
    let right = WIDTH.min(columns.len()).div_ceil(COLUMNS) * longest * size_of::<[T; COLUMNS]>();
    // Panels of 64 bytes a line or more begin at a line of the cache.
    let left = left.next_multiple_of(64);
    with_room(left + right, |room| {
        let (left, right) = room.split_at_mut(left);
        for (pass, &(one, other)) in passes.iter().enumerate() {
            if pass > 0 && pass + 1 == passes.len() {
                // The small parts of an infinity are NaN; the large product tells the truth.
                for row in out.chunks_mut(stride).take(rows.len()) {
                    row[..columns.len()].iter_mut().for_each(|sum| *sum = sum.without_nan());
                }
            }
            for step in (0..depth).step_by(DEPTH) {
                let steps = step..depth.min(step + DEPTH);
                let size = rows.len().div_ceil(ROWS) * steps.len();
                let left = &mut cast_slice_mut::<u8, [T; ROWS]>(
                    &mut left[..size * size_of::<[T; ROWS]>()],
                )[..];
                lhs.pack(one, rows.clone(), steps.clone(), left);
                for first in columns.clone().step_by(WIDTH) {
                    let some = first..columns.end.min(first + WIDTH);
                    let size = some.len().div_ceil(COLUMNS) * steps.len();
                    let right = &mut cast_slice_mut::<u8, [T; COLUMNS]>(
                        &mut right[..size * size_of::<[T; COLUMNS]>()],
                    )[..];
                    rhs.pack(other, some.clone(), steps.clone(), right);
                    let size = [rows.len(), some.len()];
                    let out = (&mut out[first - columns.start..], stride);
                    let add = pass > 0 || step > 0;
                    Block { left, right, depth: steps.len(), size, out, add }.run();
                }
            }
        }
    });
}
