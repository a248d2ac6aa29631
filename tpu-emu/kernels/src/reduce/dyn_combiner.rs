//! Reductions of bytes by a known combiner: all at once, or strip by strip with a state.
use super::combiner::{Combiner, Fold, Visitor, dispatch};
use super::tree::{fold_runs, join_rows, lanes_of, tree};
use crate::reduce::tuning::{BLOCK_ELEMENTS, BLOCK_PARTIALS, BLOCK_ROWS, STACK_COLUMNS};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;
use tpu_base::tensor::DType;

/// Rows whose partial results a reduction of all rows keeps together, and the bytes of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialRows {
    /// Rows; the last block may have fewer.
    pub rows: usize,
    /// Bytes of its state.
    pub bytes: usize,
}

/// A fold whose types are hidden. Slices are aligned for their element types.
///
/// What it gives for given elements is the same in one call and strip by strip.
pub trait Folder: Debug + Send + Sync {
    /// The combiner, and the type of what is reduced, where the result has it too.
    fn of(&self) -> Option<(Combiner, DType)>;

    /// Reduces each run of `count` elements to one, starting from `init`.
    fn rows(&self, operand: &[u8], count: usize, init: &[u8], result: &mut [u8]);

    /// Reduces each `count` rows of `columns` elements to one row, starting from `init`.
    fn columns(&self, operand: &[u8], count: usize, columns: usize, init: &[u8], result: &mut [u8]);

    /// How a reduction of all rows is cut.
    fn block(&self, columns: usize) -> PartialRows;

    /// Takes more rows of `columns` elements in. `row` is the number of the first one, counted
    /// from the first row of the first block of `state`; rows come in order.
    fn collect(&self, operand: &[u8], columns: usize, row: usize, state: &mut [u8]);

    /// Reduces the blocks, starting from `init`.
    fn finish(&self, state: &[u8], columns: usize, init: &[u8], result: &mut [u8]);
}

/// The fold of a combiner on a type; `None` for a pair that has none.
pub fn folder(combiner: Combiner, dtype: DType) -> Option<Arc<dyn Folder>> {
    struct Make(Combiner, DType);
    impl Visitor for Make {
        type Output = Arc<dyn Folder>;
        fn visit<F: Fold>(self) -> Arc<dyn Folder> {
            folder_of::<F>(Some((self.0, self.1)))
        }
    }
    dispatch(combiner, dtype, Make(combiner, dtype))
}

/// A fold with its types hidden; `of` says what [`Folder::of`] gives.
pub fn folder_of<F: Fold>(of: Option<(Combiner, DType)>) -> Arc<dyn Folder> {
    Arc::new(Of::<F> { of, fold: PhantomData })
}

#[derive(Debug, Clone, Copy)]
struct Of<F> {
    of: Option<(Combiner, DType)>,
    fold: PhantomData<F>,
}

impl<F: Fold> Folder for Of<F> {
    fn of(&self) -> Option<(Combiner, DType)> {
        self.of
    }

    fn rows(&self, operand: &[u8], count: usize, init: &[u8], result: &mut [u8]) {
        let operand: &[F::Stored] = bytemuck::cast_slice(operand);
        let start = F::start(bytemuck::pod_read_unaligned(init));
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(result);
        fold_runs::<F>(start, operand, count, result);
    }

    fn columns(
        &self,
        operand: &[u8],
        count: usize,
        columns: usize,
        init: &[u8],
        result: &mut [u8],
    ) {
        let operand: &[F::Stored] = bytemuck::cast_slice(operand);
        let start = F::start(bytemuck::pod_read_unaligned(init));
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(result);
        let parts = operand.chunks_exact((count * columns).max(1));
        for (operand, result) in parts.zip(result.chunks_exact_mut(columns.max(1))) {
            for (index, result) in result.chunks_mut(STACK_COLUMNS).enumerate() {
                let mut totals = [start; STACK_COLUMNS];
                let (totals, width) = (&mut totals[..result.len()], result.len());
                for rows in operand.chunks(BLOCK_ROWS * columns) {
                    let mut partials = [F::IDENTITY; STACK_COLUMNS];
                    join_rows::<F>(&mut partials[..width], &rows[index * STACK_COLUMNS..], columns);
                    for (total, &partial) in totals.iter_mut().zip(&partials) {
                        *total = F::extend(*total, partial);
                    }
                }
                for (result, &total) in result.iter_mut().zip(&*totals) {
                    *result = F::finish(total);
                }
            }
        }
    }

    fn block(&self, columns: usize) -> PartialRows {
        let (rows, partials) =
            if columns == 1 { (BLOCK_ELEMENTS, BLOCK_PARTIALS) } else { (BLOCK_ROWS, columns) };
        PartialRows { rows, bytes: partials * size_of::<F::Partial>() }
    }

    fn collect(&self, operand: &[u8], columns: usize, mut row: usize, state: &mut [u8]) {
        let mut operand: &[F::Stored] = bytemuck::cast_slice(operand);
        let state: &mut [F::Partial] = bytemuck::cast_slice_mut(state);
        let (block, width) =
            if columns == 1 { (BLOCK_ELEMENTS, BLOCK_PARTIALS) } else { (BLOCK_ROWS, columns) };
        while !operand.is_empty() {
            let inside = row % block;
            let count = (block - inside).min(operand.len() / columns.max(1));
            if count == 0 {
                return;
            }
            let (now, rest) = operand.split_at(count * columns);
            let partials = &mut state[row / block * width..][..width];
            if inside == 0 {
                partials.fill(F::IDENTITY);
            }
            if columns == 1 {
                lanes_of::<F>(now, inside % BLOCK_PARTIALS, partials);
            } else {
                join_rows::<F>(partials, now, columns);
            }
            operand = rest;
            row += count;
        }
    }

    fn finish(&self, state: &[u8], columns: usize, init: &[u8], result: &mut [u8]) {
        let state: &[F::Partial] = bytemuck::cast_slice(state);
        let start = F::start(bytemuck::pod_read_unaligned(init));
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(result);
        if let ([result], 1) = (&mut *result, columns) {
            let (blocks, _) = state.as_chunks::<BLOCK_PARTIALS>();
            let total =
                blocks.iter().fold(start, |total, lanes| F::extend(total, tree::<F>(*lanes)));
            *result = F::finish(total);
            return;
        }
        for (index, result) in result.chunks_mut(STACK_COLUMNS).enumerate() {
            let mut totals = [start; STACK_COLUMNS];
            for partials in state.chunks_exact(columns.max(1)) {
                let partials = &partials[index * STACK_COLUMNS..][..result.len()];
                for (total, &partial) in totals.iter_mut().zip(partials) {
                    *total = F::extend(*total, partial);
                }
            }
            for (result, &total) in result.iter_mut().zip(&totals) {
                *result = F::finish(total);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::converted::dispatch_converted;
    use super::*;
    use crate::reduce::axis::Reduction;
    use half::bf16;
    use tpu_base::tensor::Shape;

    struct Plain<'a>(&'a Shape, &'a [usize], &'a [u8], usize);

    impl Visitor for Plain<'_> {
        type Output = Vec<u8>;
        fn visit<F: Fold>(self) -> Vec<u8> {
            let mut result: Vec<F::Element> =
                vec![bytemuck::pod_read_unaligned(&self.2[..size_of::<F::Element>()]); self.3];
            let mut scratch = vec![0_u128; Reduction::scratch::<F>() / 16 + 1];
            let init = bytemuck::pod_read_unaligned(&self.2[..size_of::<F::Element>()]);
            Reduction::new(self.0, self.1).run::<F>(
                bytemuck::cast_slice(self.2),
                init,
                &mut result,
                bytemuck::cast_slice_mut(&mut scratch),
            );
            bytemuck::cast_slice(&result).to_vec()
        }
    }

    fn plain(dtype: DType, dims: &[usize], axis: usize, data: &[u8]) -> Vec<u8> {
        let shape = Shape::new(dtype, dims);
        let results = shape.elements() / dims[axis].max(1);
        dispatch(Combiner::Add, dtype, Plain(&shape, &[axis], data, results)).unwrap()
    }

    fn floats(count: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 7919 % 1013) as f32 - 500.0) / 37.0).collect()
    }

    #[test]
    fn strips_give_the_bits_of_one_reduction() {
        for dtype in [DType::F32, DType::Bf16, DType::S32] {
            let fold = folder(Combiner::Add, dtype).unwrap();
            let width = dtype.host_bytes();
            for (rows, columns) in [
                (10_000, 1),
                (33, 1),
                (200, 300),
                (64, 7),
                (130, 2),
                (130, 64),
                (65, 17),
                (200, 100),
            ] {
                let data = floats(rows * columns);
                let data = &bytemuck::cast_slice::<f32, u8>(&data)[..rows * columns * width];
                let init = &data[..width];
                let wanted = plain(dtype, &[rows, columns], 0, data);
                let block = fold.block(columns);
                for strip in [1, 3, 64, 5000] {
                    let mut state = vec![0_u128; rows.div_ceil(block.rows) * block.bytes / 16 + 1];
                    let state: &mut [u8] = bytemuck::cast_slice_mut(&mut state);
                    let state = &mut state[..rows.div_ceil(block.rows) * block.bytes];
                    for (index, strip_of) in data.chunks(strip * columns * width).enumerate() {
                        fold.collect(strip_of, columns, index * strip, state);
                    }
                    let mut result = vec![0_u32; columns];
                    let result = &mut bytemuck::cast_slice_mut(&mut result)[..columns * width];
                    fold.finish(state, columns, init, result);
                    assert_eq!(result, wanted, "{dtype:?} {rows} x {columns} by {strip}");
                }
            }
        }
    }

    #[test]
    fn rows_and_middle_axes_give_the_bits_of_one_reduction() {
        let fold = folder(Combiner::Add, DType::F32).unwrap();
        for dims in [[3, 5000, 1], [7, 20, 1], [2, 130, 300], [5, 3, 4], [2, 130, 100], [3, 70, 16]]
        {
            let data = floats(dims.iter().product());
            let data: &[u8] = bytemuck::cast_slice(&data);
            let wanted = plain(DType::F32, &dims, 1, data);
            let mut result = vec![0_f32; dims[0] * dims[2]];
            let result: &mut [u8] = bytemuck::cast_slice_mut(&mut result);
            if dims[2] == 1 {
                fold.rows(data, dims[1], &data[..4], result);
            } else {
                fold.columns(data, dims[1], dims[2], &data[..4], result);
            }
            assert_eq!(result, wanted, "{dims:?}");
        }
    }

    /// A sum of what is stored as another type, by rows or by columns.
    struct Stored<'a>([usize; 3], &'a [u8]);

    impl Visitor for Stored<'_> {
        type Output = Vec<u8>;
        fn visit<F: Fold>(self) -> Vec<u8> {
            let Self([outer, count, inner], data) = self;
            let mut result = vec![F::store(F::IDENTITY); outer * inner];
            let init = F::store(F::IDENTITY);
            let (init, to) = (bytemuck::bytes_of(&init), bytemuck::cast_slice_mut(&mut result));
            let fold = folder_of::<F>(None);
            if inner == 1 {
                fold.rows(data, count, init, to);
            } else {
                fold.columns(data, count, inner, init, to);
            }
            bytemuck::cast_slice(&result).to_vec()
        }
    }

    #[test]
    fn what_is_converted_is_summed_with_the_bits_of_what_it_becomes() {
        for dims in [[3, 5000, 1], [70, 9, 1], [3, 1, 1], [2, 130, 300], [2, 70, 16], [4, 32, 1]] {
            let count = dims.iter().product();
            let halves: Vec<bf16> = floats(count).into_iter().map(bf16::from_f32).collect();
            let singles: Vec<f32> = halves.iter().map(|half| half.to_f32()).collect();
            let bytes: Vec<i8> =
                halves.iter().map(|half| half.to_bits().to_le_bytes()[0].cast_signed()).collect();
            let words: Vec<i32> = bytes.iter().map(|&byte| byte.into()).collect();
            let sums = |from, to, data: &[u8]| {
                let stored = Stored(dims, data);
                if from == to {
                    dispatch(Combiner::Add, to, stored)
                } else {
                    dispatch_converted(Combiner::Add, [from, to], stored)
                }
                .unwrap()
            };
            crate::simd::at_every_level(|_| {
                let found = sums(DType::Bf16, DType::F32, bytemuck::cast_slice(&halves));
                let wanted = sums(DType::F32, DType::F32, bytemuck::cast_slice(&singles));
                assert_eq!(found, wanted, "{dims:?}");
                let found = sums(DType::S8, DType::S32, bytemuck::cast_slice(&bytes));
                let wanted = sums(DType::S32, DType::S32, bytemuck::cast_slice(&words));
                assert_eq!(found, wanted, "{dims:?}");
            });
        }
    }
}
