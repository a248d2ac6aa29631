//! Folds of many elements: of runs that lie side by side, and of rows into columns.
use super::combiner::Fold;
use crate::movement::transpose::eight_columns;
use crate::reduce::tuning::{BLOCK_ELEMENTS, BLOCK_PARTIALS, MAX_HELD_COLUMNS};
use crate::simd;
use bytemuck::Zeroable;

/// Columns whose partial results are one array: a vector of 32-bit numbers.
const LANES: usize = 16;

/// Folds elements that lie side by side.
#[cfg(test)]
pub(crate) fn fold_run<F: Fold>(mut total: F::Total, run: &[F::Stored]) -> F::Total {
    extend_runs::<F>(std::slice::from_mut(&mut total), run, run.len(), 0);
    total
}

#[inline(always)]
fn short<F: Fold>(total: F::Total, run: &[F::Stored]) -> F::Total {
    let Some((first, rest)) = run.split_first() else { return total };
    let mut partial = F::read(*first);
    for &element in rest {
        partial = F::join(partial, F::read(element));
    }
    F::extend(total, partial)
}

#[inline(always)]
fn long<F: Fold>(mut total: F::Total, run: &[F::Stored]) -> F::Total {
    for block in run.chunks(BLOCK_ELEMENTS) {
        let mut lanes = [F::IDENTITY; BLOCK_PARTIALS];
        interleave::<F>(block, &mut lanes);
        total = F::extend(total, tree::<F>(lanes));
    }
    total
}

/// Folds each run of `count` elements into one result, in the order of [`extend_runs`].
pub(crate) fn fold_runs<F: Fold>(
    start: F::Total,
    operand: &[F::Stored],
    count: usize,
    result: &mut [F::Element],
) {
    // Some lengths are faster by vectors that the compiler finds.
    let alike = count <= 5 || count == 8 || size_of::<F::Stored>() != 4;
    match simd::shuffles() {
        Some(machine) if !alike && count <= BLOCK_PARTIALS => {
            simd::run_shuffled(machine, BesideRuns::<F> { machine, start, operand, count, result });
        }
        _ => simd::run(Runs::<F> { start, operand, count, result }),
    }
}

/// Short runs of elements of four bytes, each in order: a lane is a run.
struct BesideRuns<'a, F: Fold> {
    machine: simd::Shuffles,
    start: F::Total,
    operand: &'a [F::Stored],
    count: usize,
    result: &'a mut [F::Element],
}

impl<F: Fold> simd::Loop for BesideRuns<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { machine, start, operand, count, result } = self;
        // The columns that are read together may reach beyond a row's end, but not the last one's.
        let groups = (operand.len().saturating_sub(8) / (LANES * count)).min(result.len() / LANES);
        let (most, rest) = result.split_at_mut(groups * LANES);
        for (now, at) in
            most.as_chunks_mut::<LANES>().0.iter_mut().zip((0..).step_by(LANES * count))
        {
            let operand = &operand[at..];
            let mut partials = [F::IDENTITY; LANES];
            for first in (0..count).step_by(8) {
                let mut lines = [[F::Stored::zeroed(); LANES]; 8];
                eight_columns(machine, &operand[first..], count, &mut lines);
                let lines = &lines[..8.min(count - first)];
                let joined = if first > 0 { lines } else { &lines[1..] };
                if first == 0 {
                    for (partial, &element) in partials.iter_mut().zip(&lines[0]) {
                        *partial = F::read(element);
                    }
                }
                for line in joined {
                    beside::<F>(&mut partials, line);
                }
            }
            for (result, &partial) in now.iter_mut().zip(&partials) {
                *result = F::finish(F::extend(start, partial));
            }
        }
        let operand = &operand[groups * LANES * count..];
        for (result, run) in rest.iter_mut().zip(operand.chunks_exact(count)) {
            *result = F::finish(short::<F>(start, run));
        }
    }
}

struct Runs<'a, F: Fold> {
    start: F::Total,
    operand: &'a [F::Stored],
    count: usize,
    result: &'a mut [F::Element],
}

impl<F: Fold> simd::Loop for Runs<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { start, operand, count, result } = self;
        if count == 0 {
            return result.fill(F::finish(start));
        }
        if count > BLOCK_PARTIALS {
            for (result, run) in result.iter_mut().zip(operand.chunks_exact(count)) {
                *result = F::finish(long::<F>(start, run));
            }
            return;
        }
        // Lengths that the compiler knows: several runs become the lanes of a vector.
        match (count, size_of::<F::Stored>()) {
            (2, 4) => alike::<F, 2>(start, operand, result),
            (3, 4) => alike::<F, 3>(start, operand, result),
            (4, 4) => alike::<F, 4>(start, operand, result),
            (5, 4) => alike::<F, 5>(start, operand, result),
            (8, 4) => alike::<F, 8>(start, operand, result),
            (16, 4) => alike::<F, 16>(start, operand, result),
            (2, 1 | 2) => alike::<F, 2>(start, operand, result),
            (3, 1 | 2) => alike::<F, 3>(start, operand, result),
            (4, 1 | 2) => alike::<F, 4>(start, operand, result),
            (8, 1 | 2) => alike::<F, 8>(start, operand, result),
            (16, 1 | 2) => alike::<F, 16>(start, operand, result),
            _ => {
                for (result, run) in result.iter_mut().zip(operand.chunks_exact(count)) {
                    *result = F::finish(short::<F>(start, run));
                }
            }
        }
    }
}

/// Folds runs of `count` elements, the first elements of which are `step` apart, each into its total.
///
/// The order is fixed by the length: blocks of 4096 elements, 32 interleaved partial results in
/// each, joined in a tree; a run of at most 32 elements in order.
pub(crate) fn extend_runs<F: Fold>(
    totals: &mut [F::Total],
    operand: &[F::Stored],
    count: usize,
    step: usize,
) {
    simd::run(Extend::<F> { totals, operand, count, step });
}

struct Extend<'a, F: Fold> {
    totals: &'a mut [F::Total],
    operand: &'a [F::Stored],
    count: usize,
    step: usize,
}

impl<F: Fold> simd::Loop for Extend<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { totals, operand, count, step } = self;
        for (index, total) in totals.iter_mut().enumerate() {
            let run = &operand[index * step..][..count];
            *total = if count <= BLOCK_PARTIALS {
                short::<F>(*total, run)
            } else {
                long::<F>(*total, run)
            };
        }
    }
}

/// Runs of `N` elements, each in order.
#[inline(always)]
fn alike<F: Fold, const N: usize>(
    start: F::Total,
    operand: &[F::Stored],
    result: &mut [F::Element],
) {
    for (result, run) in result.iter_mut().zip(operand.as_chunks::<N>().0) {
        let mut partial = F::read(run[0]);
        for &element in &run[1..] {
            partial = F::join(partial, F::read(element));
        }
        *result = F::finish(F::extend(start, partial));
    }
}

/// Takes elements into interleaved partial results; the first one goes to `lane`.
pub(crate) fn lanes_of<F: Fold>(run: &[F::Stored], lane: usize, lanes: &mut [F::Partial]) {
    let Ok(lanes) = <&mut [F::Partial; BLOCK_PARTIALS]>::try_from(lanes) else { return };
    let (head, run) =
        run.split_at(if lane == 0 { 0 } else { run.len().min(BLOCK_PARTIALS - lane) });
    for (lane, &element) in lanes[lane..].iter_mut().zip(head) {
        *lane = F::join(*lane, F::read(element));
    }
    simd::run(InterleavedTree::<F> { run, lanes });
}

/// Elements that begin at the first one of the partial results.
struct InterleavedTree<'a, F: Fold> {
    run: &'a [F::Stored],
    lanes: &'a mut [F::Partial; BLOCK_PARTIALS],
}

impl<F: Fold> simd::Loop for InterleavedTree<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        interleave::<F>(self.run, self.lanes);
    }
}

#[inline(always)]
fn interleave<F: Fold>(run: &[F::Stored], partials: &mut [F::Partial; BLOCK_PARTIALS]) {
    let (rows, rest) = run.as_chunks::<BLOCK_PARTIALS>();
    // A loop whose end depends on the elements that are left: of integers, which may be added in any
    // order, the compiler would make vectors of several rows, and gather their elements.
    let rows = rows.as_flattened();
    let starts = (0..rows.len()).step_by(BLOCK_PARTIALS);
    let rows = starts.map_while(|at| rows.get(at..at + BLOCK_PARTIALS));
    // Two arrays of which nothing takes an address stay in registers.
    let [mut low, mut high] = [[F::IDENTITY; BLOCK_PARTIALS / 2]; 2];
    low.copy_from_slice(&partials[..BLOCK_PARTIALS / 2]);
    high.copy_from_slice(&partials[BLOCK_PARTIALS / 2..]);
    for row in rows {
        for (lane, &element) in low.iter_mut().zip(&row[..BLOCK_PARTIALS / 2]) {
            *lane = F::join(*lane, F::read(element));
        }
        for (lane, &element) in high.iter_mut().zip(&row[BLOCK_PARTIALS / 2..]) {
            *lane = F::join(*lane, F::read(element));
        }
    }
    partials[..BLOCK_PARTIALS / 2].copy_from_slice(&low);
    partials[BLOCK_PARTIALS / 2..].copy_from_slice(&high);
    for (partial, &element) in partials.iter_mut().zip(rest) {
        *partial = F::join(*partial, F::read(element));
    }
}

/// Takes rows of `partials` columns into the partial results of the columns. The rows' first
/// elements are `stride` apart.
pub(crate) fn join_rows<F: Fold>(partials: &mut [F::Partial], rows: &[F::Stored], stride: usize) {
    simd::run(Join::<F> { partials, rows, stride });
}

struct Join<'a, F: Fold> {
    partials: &'a mut [F::Partial],
    rows: &'a [F::Stored],
    stride: usize,
}

impl<F: Fold> simd::Loop for Join<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        const ROWS: usize = 8;
        let Self { partials, rows, stride } = self;
        let width = partials.len();
        if (LANES..=MAX_HELD_COLUMNS).contains(&width) && width.is_multiple_of(LANES) {
            return held::<F>(partials, rows, stride);
        }
        let mut left = rows;
        while left.len() >= (ROWS - 1) * stride + width {
            let rows: [&[F::Stored]; ROWS] =
                std::array::from_fn(|row| &left[row * stride..][..width]);
            for column in 0..width {
                let mut partial = partials[column];
                for row in &rows {
                    partial = F::join(partial, F::read(row[column]));
                }
                partials[column] = partial;
            }
            left = left.get(ROWS * stride..).unwrap_or_default();
        }
        while left.len() >= width && !left.is_empty() {
            for (partial, &element) in partials.iter_mut().zip(left) {
                *partial = F::join(*partial, F::read(element));
            }
            left = left.get(stride..).unwrap_or_default();
        }
    }
}

/// As [`join_rows`], for few columns: their partial results stay in registers for all rows.
#[inline(always)]
fn held<F: Fold>(partials: &mut [F::Partial], rows: &[F::Stored], stride: usize) {
    let width = partials.len();
    let starts =
        || (0..rows.len()).step_by(stride.max(1)).take_while(|at| at + width <= rows.len());
    let (blocks, rest) = partials.as_chunks_mut::<{ 4 * LANES }>();
    let mut column = 0;
    for block in blocks {
        let [mut a, mut b, mut c, mut d] = [[F::IDENTITY; LANES]; 4];
        a.copy_from_slice(&block[..LANES]);
        b.copy_from_slice(&block[LANES..2 * LANES]);
        c.copy_from_slice(&block[2 * LANES..3 * LANES]);
        d.copy_from_slice(&block[3 * LANES..]);
        for at in starts() {
            let Some(row) = rows[at + column..].first_chunk::<{ 4 * LANES }>() else { break };
            beside::<F>(&mut a, &row[..LANES]);
            beside::<F>(&mut b, &row[LANES..2 * LANES]);
            beside::<F>(&mut c, &row[2 * LANES..3 * LANES]);
            beside::<F>(&mut d, &row[3 * LANES..]);
        }
        for (to, from) in block.as_chunks_mut::<LANES>().0.iter_mut().zip([a, b, c, d]) {
            *to = from;
        }
        column += 4 * LANES;
    }
    let (blocks, rest) = rest.as_chunks_mut::<LANES>();
    for block in blocks {
        let mut held = *block;
        for at in starts() {
            beside::<F>(&mut held, &rows[at + column..][..LANES]);
        }
        *block = held;
        column += LANES;
    }
    for at in starts() {
        for (partial, &element) in rest.iter_mut().zip(&rows[at + column..]) {
            *partial = F::join(*partial, F::read(element));
        }
    }
}

/// Joins elements with partial results in registers.
#[inline(always)]
fn beside<F: Fold>(partials: &mut [F::Partial; LANES], row: &[F::Stored]) {
    for (partial, &element) in partials.iter_mut().zip(row) {
        *partial = F::join(*partial, F::read(element));
    }
}

/// Joins the partial results of a block.
#[inline(always)]
pub fn tree<F: Fold>(mut lanes: [F::Partial; BLOCK_PARTIALS]) -> F::Partial {
    let mut width = BLOCK_PARTIALS;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = F::join(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::super::combiner::{Combiner, Visitor, dispatch};
    use super::*;
    use tpu_base::tensor::DType;

    struct Many;

    impl Visitor for Many {
        type Output = ();

        fn visit<F: Fold>(self) {
            for count in [0, 1, 2, 3, 4, 5, 7, 8, 10, 16, 31, 32, 33, 50, 300, 1000] {
                let data: Vec<u64> =
                    (0..count * 37).map(|at| (at * 7919 % 1013 * 0x10_0000_1000) << 12).collect();
                let data: &[F::Stored] = bytemuck::cast_slice(&data);
                let start = F::start(F::store(F::IDENTITY));
                let mut result = vec![F::store(F::IDENTITY); 37];
                let count = usize::try_from(count).unwrap();
                fold_runs::<F>(start, data, count, &mut result);
                for (index, found) in result.iter().enumerate() {
                    let run = &data[index * count..][..count];
                    let one = F::finish(fold_run::<F>(start, run));
                    assert_eq!(bytemuck::bytes_of(found), bytemuck::bytes_of(&one), "{count}");
                }
            }
        }
    }

    #[test]
    fn many_runs_are_folded_like_one() {
        simd::at_every_level(|_| {
            for dtype in [DType::F32, DType::S32, DType::U8, DType::S16, DType::Bf16, DType::F64] {
                dispatch(Combiner::Add, dtype, Many).unwrap();
                dispatch(Combiner::Maximum, dtype, Many).unwrap();
            }
        });
    }
}
