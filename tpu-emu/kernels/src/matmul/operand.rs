//! One operand of a contraction: its axes as those of a batch of matrices.
use super::accumulate::Work;
use super::pack::{Load, OuterSteps, Panel};
use super::precision::{Arithmetic, SumType, split_scratch};
use crate::movement::loop_nest::Axis;
use crate::movement::strided_view::{Access, AccessMap, signed};
use bytemuck::{cast_slice, cast_slice_mut};
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};

/// Extent of an axis and the elements from one index to the next.
pub(crate) type ExtentStride = (usize, usize);

/// An axis that batches and that an array does not have.
const REPEATED: ExtentStride = (1, 0);

/// Axes as one: `None` where a single stride does not reach all their elements in order.
pub(crate) fn merged(axes: &[ExtentStride]) -> Option<ExtentStride> {
    let long = axes.iter().filter(|axis| axis.0 != 1);
    let mut long = long.map(|&(count, stride)| Axis { count, steps: [stride] });
    let Some(first) = long.next() else { return Some((1, 1)) };
    let Axis { count, steps: [stride] } = long.try_fold(first, Axis::joined)?;
    Some((count, stride))
}

/// Axes as two: how far apart the indices of the last ones are, which are as one, and what is added
/// for those before them. `None` where that does not reach all elements in order.
fn two_of(axes: &[ExtentStride]) -> Option<(usize, OuterSteps)> {
    (1..axes.len()).find_map(|at| {
        let (outer, inner) = axes.split_at(at);
        let ((_, stride), (count, step)) = (merged(outer)?, merged(inner)?);
        Some((step, OuterSteps { inner: count, stride }))
    })
}

/// An array as a product reads it.
#[derive(Debug, Clone)]
pub(super) struct OperandArray {
    /// The type that is multiplied.
    dtype: DType,
    /// The type that the elements have where they lie.
    stored: DType,
    dims: Box<[usize]>,
    /// Elements from one index of each axis to the next.
    strides: Vec<usize>,
    /// The axes that batch; nothing for one that the other operand alone has, of which each index
    /// has the same elements.
    batch: Vec<Option<usize>>,
    /// The axes of the rows, and those of the columns.
    axes: [Vec<usize>; 2],
}

impl OperandArray {
    /// A dense array.
    pub(super) fn new(shape: &Shape, [batch, rows, columns]: [&[usize]; 3]) -> Self {
        let (dtype, dims, strides) = (shape.dtype, shape.dims.clone(), shape.strides());
        let batch = batch.iter().copied().map(Some).collect();
        let axes = [rows, columns].map(<[usize]>::to_vec);
        Self { dtype, stored: dtype, dims, strides, batch, axes }
    }

    /// The axes that batch, those of the rows, and those of the columns.
    pub(super) fn axes(&self) -> (&[Option<usize>], [&[usize]; 2]) {
        (&self.batch, self.axes.each_ref().map(Vec::as_slice))
    }

    /// The same array with axes in another order, or among those that batch.
    pub(super) fn with_axes(&self, batch: Vec<Option<usize>>, axes: [Vec<usize>; 2]) -> Self {
        Self { batch, axes, ..self.clone() }
    }

    /// The indices of an axis, and the elements from one to the next.
    pub(super) fn axis(&self, axis: usize) -> ExtentStride {
        (self.dims[axis], self.strides[axis])
    }

    /// One of so many equal parts of it along the axis of several indices that changes slowest where
    /// it lies, which is that axis of those that batch, or the first one of the rows.
    pub(super) fn part(&self, batch: Option<usize>, parts: usize) -> Option<Self> {
        let axis = batch.map_or(self.axes[0].first().copied(), |at| self.batch[at])?;
        let first = self.dims[axis];
        let elements: usize = self.dims.iter().product();
        let slowest = first == 1 || self.strides[axis].checked_mul(first) == Some(elements);
        if !slowest || !first.is_multiple_of(parts) {
            return None;
        }
        let mut part = self.clone();
        part.dims[axis] = first / parts;
        Some(part)
    }

    /// The same numbers where they are made from: elements of a dense array that lie so far
    /// apart. `None` where that is not known to be all of its elements, each once.
    pub(super) fn through(&self, strides: &[isize]) -> Option<Self> {
        let dense = Shape::new(self.dtype, self.dims.clone()).strides();
        if self.strides != dense || strides.len() != self.dims.len() {
            return None;
        }
        let strides = strides.iter().zip(&self.dims);
        let strides: Vec<usize> = strides
            .map(|(&stride, &dim)| if dim == 1 { Some(1) } else { usize::try_from(stride).ok() })
            .collect::<Option<_>>()?;
        let mut order: Vec<ExtentStride> =
            self.dims.iter().copied().zip(strides.iter().copied()).filter(|of| of.0 != 1).collect();
        order.sort_unstable_by_key(|&(_, stride)| std::cmp::Reverse(stride));
        (merged(&order)?.1 == 1).then(|| Self { strides, ..self.clone() })
    }

    /// Whether elements are stored as another type than the one that is multiplied.
    pub(super) fn is_converted(&self) -> bool {
        self.stored != self.dtype
    }

    /// The same array as the other operand: what is a row for the one is a column for the other.
    pub(super) fn turned(&self) -> Self {
        let [rows, columns] = self.axes.clone();
        Self { axes: [columns, rows], ..self.clone() }
    }

    /// The same numbers where they are converted from elements of another type.
    pub(super) fn converted(&self, stored: DType) -> Option<Self> {
        let types = (stored, self.dtype);
        let known = matches!(types, (DType::F32, DType::Bf16) | (DType::Bf16, DType::F32));
        (known && !self.is_converted()).then(|| Self { stored, ..self.clone() })
    }
}

/// One operand: what is done before its elements are multiplied.
#[derive(Debug, Clone)]
pub(super) struct ProductOperand {
    pub dtype: DType,
    pub elements: usize,
    /// Elements are read into scratch memory and rounded.
    pub read: bool,
    /// How they are read where that happens with their panels.
    pub load: Load,
    /// Elements are put into the order batch, rows, columns: the axes in that order.
    pub order: Option<Vec<ExtentStride>>,
    /// Batch axes after that.
    pub batch: Vec<ExtentStride>,
    pub row: usize,
    pub column: usize,
    /// What the steps of the sums add besides.
    pub outer: Option<OuterSteps>,
}

impl ProductOperand {
    /// The operand that an array is: the left one, or the right one. `deep` says that panels are made
    /// of it, which may go along two axes for the steps of the sums.
    pub(super) fn new(
        arithmetic: &Arithmetic,
        array: &OperandArray,
        (side, deep): (usize, bool),
    ) -> Self {
        let OperandArray { dtype, stored, ref dims, ref strides, .. } = *array;
        let axes = |list: &Vec<usize>| -> Vec<ExtentStride> {
            list.iter().map(|&axis| (dims[axis], strides[axis])).collect()
        };
        let [rows, columns] = array.axes.each_ref().map(axes);
        let batch = array.batch.iter();
        let batch = batch.map(|&axis| axis.map_or(REPEATED, |axis| (dims[axis], strides[axis])));
        let batch: Vec<ExtentStride> = batch.collect();
        let elements = dims.iter().product();
        let load = match arithmetic.kind {
            SumType::F32 => f32::load(arithmetic, dtype),
            SumType::U32 => u32::load(arithmetic, dtype),
            _ => None,
        };
        let load = match (load, stored) {
            (Some(Load::Bf16), DType::F32) => Some(Load::Converted),
            (Some(Load::Plain | Load::Nearest), DType::Bf16) => Some(Load::Bf16),
            (load, _) => load.filter(|_| stored == dtype),
        };
        let (read, dtype) = (stored != dtype || !arithmetic.takes(dtype), stored);
        let one = |axes: &[ExtentStride]| merged(axes).map(|of| (of.1, None));
        let steps = |axes: &[ExtentStride], at: usize| {
            let two = || two_of(axes).filter(|_| deep && side != at);
            one(axes).or_else(|| two().map(|(step, outer)| (step, Some(outer))))
        };
        if let (Some(row), Some(column)) = (steps(&rows, 0), steps(&columns, 1)) {
            let read = read && load.is_none();
            let load = load.unwrap_or(Load::Plain);
            let outer = row.1.or(column.1);
            let (row, column) = (row.0, column.0);
            return Self { dtype, elements, read, load, order: None, batch, row, column, outer };
        }
        let count = |axes: &[ExtentStride]| {
            axes.iter().fold(1_usize, |all, axis| all.saturating_mul(axis.0))
        };
        let width = count(&columns);
        let mut stride = width.saturating_mul(count(&rows));
        let mut dense = batch.clone();
        for axis in dense.iter_mut().rev().filter(|axis| **axis != REPEATED) {
            axis.1 = stride;
            stride = stride.saturating_mul(axis.0);
        }
        let order = Some([batch, rows, columns].concat());
        let load = Load::Plain;
        let (row, column) = (width, 1);
        Self { dtype, elements, read, load, order, batch: dense, row, column, outer: None }
    }

    /// Whether elements are integers of 8 bits, read where they lie.
    pub(super) fn is_of_bytes(&self) -> bool {
        let bytes = matches!(self.load, Load::S8 | Load::U8);
        bytes && !self.read && self.order.is_none()
    }

    /// Numbers of scratch memory.
    pub(super) fn numbers(&self, parts: usize) -> [usize; 2] {
        let all = self.elements.saturating_mul(parts);
        [if self.read { all } else { 0 }, if self.order.is_some() { all } else { 0 }]
    }

    /// The elements as they are multiplied, all parts.
    pub(super) fn prepare<'a, W: Work>(
        &self,
        arithmetic: &Arithmetic,
        bytes: &'a [u8],
        scratch: &mut &'a mut [u8],
    ) -> Result<&'a [W]> {
        let parts = arithmetic.parts();
        let [read, ordered] = self.numbers(parts);
        let mut numbers: &[W] = &[];
        if self.read {
            let out = split_scratch::<W>(scratch, read)?;
            arithmetic.split(self.dtype, bytes, out)?;
            numbers = out;
        } else if self.elements > 0 {
            numbers = cast_slice(bytes);
        }
        let Some(order) = &self.order else { return Ok(numbers) };
        let out = split_scratch::<W>(scratch, ordered)?;
        let dims: Vec<usize> = order.iter().map(|axis| axis.0).collect();
        let strides = order.iter().map(|axis| signed(axis.1)).collect();
        let map = AccessMap::new(&Access { offset: 0, strides }, &dims);
        let parts = numbers.chunks_exact(self.elements.max(1));
        for (from, to) in parts.zip(out.chunks_exact_mut(self.elements.max(1))) {
            map.fill_all(size_of::<W>(), cast_slice(from), cast_slice_mut(to));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::accumulate::Rounding;
    use super::super::precision::ONE_PASS;
    use super::*;
    use crate::parallel;

    #[test]
    fn elements_come_in_the_order_of_batch_rows_and_columns() {
        let arithmetic = Arithmetic {
            kind: SumType::F32,
            rounding: Rounding::Exact,
            passes: ONE_PASS,
            sum: None,
        };
        // Few elements, and as many as several threads copy in blocks.
        for dims in [[2, 3, 1, 5], [3, 40, 9, 16], [2, 70, 32, 64]] {
            let [a, b, c, d] = dims;
            let shape = Shape::new(DType::F32, dims);
            let array = OperandArray::new(&shape, [&[], &[0, 1, 3], &[2]]);
            let side = ProductOperand::new(&arithmetic, &array, (0, false));
            assert!(side.order.is_some() == (c > 1), "{dims:?}");
            let numbers: Vec<f32> = (0..a * b * c * d).map(|i| i as f32).collect();
            let mut bytes = vec![[0_u64; 8]; numbers.len() / 16 + 2];
            let mut scratch: &mut [u8] = cast_slice_mut(&mut bytes);
            let laid = parallel::with_threads(2, || {
                side.prepare::<f32>(&arithmetic, cast_slice(&numbers), &mut scratch)
            });
            for (at, &value) in laid.unwrap().iter().enumerate() {
                let (row, column) = (at / c, at % c);
                let from = (row / d * c + column) * d + row % d;
                assert_eq!(value, numbers[from], "{dims:?} {at}");
            }
        }
    }

    #[test]
    fn axes_merge_where_one_stride_reaches_them() {
        assert_eq!(merged(&[(2, 12), (3, 4)]), Some((6, 4)));
        assert_eq!(merged(&[(2, 12), (1, 99), (3, 4)]), Some((6, 4)));
        assert_eq!(merged(&[(2, 12), (3, 5)]), None);
        assert_eq!(merged(&[]), Some((1, 1)));
    }
}
