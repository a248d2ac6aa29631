//! The same sums of products of operands that lie elsewhere, or with results of another form.
use super::super::gemm_crate::Extent;
use super::super::operand::{ExtentStride, OperandArray, ProductOperand, merged};
use super::super::pack::Load;
use super::super::precision::SumType;
use super::super::tuning::MIN_TURNED_ROWS;
use super::Contraction;
use crate::movement::strided_view::{AccessMap, signed};
use std::ops::Range;
use tpu_base::tensor::DType;

impl Contraction {
    /// The same product of the array that an operand is a view of: elements of that one lie so far
    /// apart. `None` where it would not have the same bits, or needs more scratch memory.
    pub fn through(&self, side: usize, strides: &[isize]) -> Option<Self> {
        self.of(side, self.arrays.get(side)?.through(strides)?)
    }

    /// The same product of the array of another type that an operand is converted from, likewise.
    pub fn converted(&self, side: usize, stored: DType) -> Option<Self> {
        self.of(side, self.arrays.get(side)?.converted(stored)?)
    }

    /// The same product with its sums rounded to a type of fewer bits. `None` where that is not what
    /// a conversion of the result gives.
    pub fn narrowed(&self, result: DType) -> Option<Self> {
        let sums = self.result == DType::F32 && self.arithmetic.gives(DType::F32);
        (sums && result == DType::Bf16).then(|| Self { result, ..self.clone() })
    }

    /// Whether the elements of an operand are rounded to bf16 as they are read.
    pub fn rounds(&self, side: usize) -> bool {
        self.sides.get(side).is_some_and(|side| !side.read && side.load == Load::Nearest)
    }

    /// The product that makes one of so many equal parts of the result along its first axis of several
    /// indices, and the operands of which it takes such parts along theirs. `None` where it would not
    /// have the same bits.
    pub fn part_of_result(&self, parts: usize) -> Option<(Self, Range<usize>)> {
        let mut part = self.clone();
        let axis = self.batch.iter().position(|&extent| extent != 1);
        let taken = match axis {
            Some(axis) => {
                part.batch[axis] = self.batch[axis].checked_div(parts)?;
                let [left, right] = self.arrays.each_ref().map(|array| array.axes().0[axis]);
                usize::from(left.is_none())..1 + usize::from(right.is_some())
            }
            None if self.batch.is_empty() => {
                part.extent.m = self.extent.m.checked_div(parts).filter(|&rows| rows >= 2)?;
                0..1
            }
            None => return None,
        };
        if !self.has_panels() {
            return None;
        }
        for side in taken.clone() {
            let array = self.arrays[side].part(axis, parts)?;
            part.sides[side] = super::side(&self.arithmetic, part.extent, (side, &array));
            part.arrays[side] = array;
        }
        Some((part, taken))
    }

    /// Whether sums are in an order that neither strides nor the sides decide: not those of a
    /// product with a vector, nor those that `gemm` makes.
    fn has_panels(&self) -> bool {
        let Extent { m, n, .. } = self.extent;
        matches!(self.arithmetic.kind, SumType::F32 | SumType::U32) && m != 1 && n != 1
    }

    /// Whether an operand takes no more scratch memory than another, and its elements are read side
    /// by side if those of the other are: panels are packed along the rows or along the sums.
    fn is_as_cheap(&self, operand: &ProductOperand, before: &ProductOperand) -> bool {
        let beside = |of: &ProductOperand| of.row == 1 || of.column == 1;
        let numbers = |of: &ProductOperand| {
            of.numbers(self.arithmetic.parts()).into_iter().fold(0, usize::saturating_add)
        };
        numbers(operand) <= numbers(before) && (beside(operand) || !beside(before))
    }

    fn of(&self, side: usize, array: OperandArray) -> Option<Self> {
        let before = self.sides.get(side).filter(|_| self.has_panels())?;
        let operand = super::side(&self.arithmetic, self.extent, (side, &array));
        if !self.is_as_cheap(&operand, before) || (operand.read && array.is_converted()) {
            return None;
        }
        let mut changed = self.clone();
        *changed.arrays.get_mut(side)? = array;
        *changed.sides.get_mut(side)? = operand;
        Some(changed)
    }

    /// The same product with its result in the order that `wanted` says, with its operands the
    /// other way round if they are `turned`. An axis that one operand has alone may come before those
    /// of the matrices: then the product batches along it. `None` where it would not have the same
    /// bits, or needs more scratch memory.
    pub fn ordered(&self, wanted: &AccessMap, turned: bool) -> Option<Self> {
        if !self.has_panels() || (turned && self.arithmetic.passes.len() != 1) {
            return None;
        }
        let map = wanted.from_first()?;
        // The columns are those of one operand, and lie side by side if that stays the right one.
        if map.last().is_some_and(|&(_, stride)| turned == (stride == 1)) {
            return None;
        }
        let mut axes = self.result_axes();
        let order = order_of(map, &axes)?;
        if !turned && order.is_sorted() {
            return None;
        }
        let last = order.last().map(|&at| axes[at].of);
        if last.is_none_or(|of| of[usize::from(turned)].is_some()) {
            return None;
        }
        let mut before = self.clone();
        if turned {
            let [lhs, rhs] = self.arrays.each_ref().map(OperandArray::turned);
            before.arrays = [rhs, lhs];
            let Extent { m, n, k } = self.extent;
            before.extent = Extent { m: n, n: m, k };
            before.sides = super::sides(&self.arithmetic, before.extent, &before.arrays);
            axes.iter_mut().for_each(|axis| axis.of.reverse());
        }
        let mut axes: Vec<ResultAxis> = order.into_iter().map(|at| axes[at]).collect();
        let columns = axes.split_off(start_of_run(&axes, 1));
        let rows = axes.split_off(start_of_run(&axes, 0));
        let only_right = |axis: &ResultAxis| matches!(axis.of, [None, Some(_)]);
        if axes.iter().any(only_right) {
            return None;
        }
        let grouped = self.grouped(&before.arrays, [&axes, &rows, &columns])?;
        let Extent { m, n, .. } = grouped.extent;
        let pairs = || grouped.sides.iter().zip(&before.sides);
        let cheap = pairs().all(|(side, before)| self.is_as_cheap(side, before));
        (cheap && m.min(n) >= MIN_TURNED_ROWS).then_some(grouped)
    }

    /// The product with another result that needs less scratch memory for its operands, and that
    /// result: free axes that do not lie as one are in the order in which they lie, or batch.
    pub fn regrouped(&self) -> Option<Regrouped> {
        if !self.has_panels() {
            return None;
        }
        let result = self.result_axes();
        let of = |side: usize| {
            let alone = |axis: &&ResultAxis| axis.of[side].is_some() && axis.of[1 - side].is_none();
            let mut axes: Vec<ResultAxis> = result.iter().filter(alone).copied().collect();
            let lies =
                |axis: &ResultAxis| axis.of[side].map_or((1, 0), |at| self.arrays[side].axis(at));
            axes.sort_by_key(|axis| std::cmp::Reverse(lies(axis).1));
            let is_one = |axes: &[ResultAxis]| {
                merged(&axes.iter().map(lies).collect::<Vec<ExtentStride>>()).is_some()
            };
            let first = (0..axes.len()).find(|&first| is_one(&axes[first..])).unwrap_or(0);
            let inner = axes.split_off(first);
            (axes, inner)
        };
        let ((left, rows), (right, columns)) = (of(0), of(1));
        let both = result.iter().filter(|axis| axis.of.iter().all(Option::is_some)).copied();
        let batch: Vec<ResultAxis> = left.into_iter().chain(right).chain(both).collect();
        let contraction = self.grouped(&self.arrays, [&batch, &rows, &columns])?;
        let Extent { m, n, .. } = contraction.extent;
        if m.min(n) < MIN_TURNED_ROWS || contraction.scratch() >= self.scratch() {
            return None;
        }
        let order: Vec<&ResultAxis> = batch.iter().chain(&rows).chain(&columns).collect();
        let dims: Vec<usize> = order.iter().map(|axis| axis.extent).collect();
        let mut strides = vec![0; result.len()];
        let mut stride = 1_usize;
        for axis in order.iter().rev() {
            let at = result.iter().position(|of| of.stride == axis.stride)?;
            strides[at] = signed(stride);
            stride = stride.saturating_mul(axis.extent);
        }
        Some(Regrouped { contraction, dims, strides })
    }

    /// The product with these axes that batch, rows and columns; nothing if its sums would be
    /// made in another way.
    fn grouped(
        &self,
        arrays: &[OperandArray; 2],
        [outer, rows, columns]: [&[ResultAxis]; 3],
    ) -> Option<Self> {
        let batch = |side: usize| outer.iter().map(|axis| axis.of[side]).collect();
        let of = |list: &[ResultAxis], side: usize| -> Vec<usize> {
            list.iter().filter_map(|axis| axis.of[side]).collect()
        };
        let [(_, [_, summed]), (_, [also, _])] = arrays.each_ref().map(OperandArray::axes);
        let arrays = [
            arrays[0].with_axes(batch(0), [of(rows, 0), summed.to_vec()]),
            arrays[1].with_axes(batch(1), [also.to_vec(), of(columns, 1)]),
        ];
        let count = |of: &[ResultAxis]| of.iter().map(|axis| axis.extent).product::<usize>();
        let extent = Extent { m: count(rows), n: count(columns), k: self.extent.k };
        let sides = super::sides(&self.arithmetic, extent, &arrays);
        let batch = outer.iter().map(|axis| axis.extent).collect();
        let grouped = Self { arrays, sides, batch, extent, ..self.clone() };
        grouped.has_panels().then_some(grouped)
    }

    /// The axes of the result that have several indices.
    fn result_axes(&self) -> Vec<ResultAxis> {
        let [(left, [rows, _]), (right, [_, columns])] =
            self.arrays.each_ref().map(OperandArray::axes);
        let both = left.iter().zip(right).map(|(&left, &right)| [left, right]);
        let rows = rows.iter().map(|&axis| [Some(axis), None]);
        let columns = columns.iter().map(|&axis| [None, Some(axis)]);
        let extents = |of: &[Option<usize>; 2]| {
            let sides = self.arrays.iter().zip(of);
            let extents = sides.filter_map(|(array, axis)| axis.map(|axis| array.axis(axis).0));
            extents.max().unwrap_or(1)
        };
        let mut axes: Vec<ResultAxis> = both
            .chain(rows)
            .chain(columns)
            .map(|of| ResultAxis { of, extent: extents(&of), stride: 0 })
            .collect();
        let mut stride = 1_usize;
        for axis in axes.iter_mut().rev() {
            axis.stride = stride;
            stride = stride.saturating_mul(axis.extent);
        }
        axes.retain(|axis| axis.extent != 1);
        axes
    }
}

/// A product with a result of other axes.
#[derive(Debug)]
pub struct Regrouped {
    /// The product.
    pub contraction: Contraction,
    /// The extents of its result.
    pub dims: Vec<usize>,
    /// Elements of its result from one index to the next of each axis of the result that was asked
    /// for, but of those with one index.
    pub strides: Vec<isize>,
}

/// An axis of a result, and which one of each operand it is.
#[derive(Debug, Clone, Copy)]
struct ResultAxis {
    of: [Option<usize>; 2],
    extent: usize,
    /// Elements of the result from one index to the next.
    stride: usize,
}

/// Where the axes at the end begin that one operand has alone.
fn start_of_run(axes: &[ResultAxis], side: usize) -> usize {
    let alone = |axis: &ResultAxis| axis.of[side].is_some() && axis.of[1 - side].is_none();
    axes.iter().rposition(|axis| !alone(axis)).map_or(0, |last| last + 1)
}

/// The numbers of the axes in the order that a map of all elements gives them; `None` where it takes
/// axes apart.
fn order_of(map: &[(usize, isize)], axes: &[ResultAxis]) -> Option<Vec<usize>> {
    let mut order = Vec::with_capacity(axes.len());
    for &(mut left, stride) in map {
        let mut stride = usize::try_from(stride).ok()?;
        let from = order.len();
        while left > 1 {
            let at = axes.iter().position(|axis| axis.stride == stride)?;
            if !left.is_multiple_of(axes[at].extent) || order.contains(&at) {
                return None;
            }
            order.push(at);
            left /= axes[at].extent;
            stride = stride.checked_mul(axes[at].extent)?;
        }
        order[from..].reverse();
    }
    (order.len() == axes.len()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::super::Axes;
    use super::*;
    use crate::matmul::accumulate::Rounding;
    use crate::matmul::precision::{Arithmetic, ONE_PASS};
    use crate::movement::strided_view::Access;
    use crate::simd::at_every_level;
    use bytemuck::{cast_slice, cast_slice_mut};
    use tpu_base::tensor::Shape;

    /// Sums over two axes of operands of these extents, the given ones, in the order of both.
    fn product(dims: [&[usize]; 2], sum: [&[usize; 2]; 2]) -> Contraction {
        let arithmetic = Arithmetic {
            kind: SumType::F32,
            rounding: Rounding::Bf16,
            passes: ONE_PASS,
            sum: None,
        };
        let shapes = dims.map(|dims| Shape::new(DType::F32, dims.to_vec()));
        let free = [0, 1].map(|side| (0..3).filter(|at| !sum[side].contains(at)).collect());
        let free: &[Vec<usize>; 2] = &free;
        let axes =
            Axes { batch: [&[], &[]], sum: [&sum[0][..], &sum[1][..]], free: [&free[0], &free[1]] };
        Contraction::new(arithmetic, [&shapes[0], &shapes[1]], DType::F32, axes)
    }

    fn run(product: &Contraction, operands: [&[f32]; 2], count: usize) -> Vec<f32> {
        let mut result = vec![f32::NAN; count];
        let mut scratch = vec![0_u64; product.scratch() / 8];
        let operands = operands.map(cast_slice);
        product.run(cast_slice_mut(&mut scratch), operands, cast_slice_mut(&mut result)).unwrap();
        result
    }

    #[test]
    fn sums_over_axes_apart_need_no_copy_and_have_the_bits_of_those_side_by_side() {
        // Longer and shorter than blocks of sums, which begin and end inside of the inner axis.
        for (a, b, m, n) in [(3, 90, 40, 70), (7, 150, 33, 65), (300, 3, 50, 40), (2, 700, 20, 90)]
        {
            let number = |at: usize| (at * 7919 % 1009) as f32 / 64.0 - 7.0;
            let left: Vec<f32> = (0..a * m * b).map(number).collect();
            let right: Vec<f32> = (0..a * b * n).map(|at| number(at + 5)).collect();
            let turned = |from: &[f32], dims: [usize; 3], order: [usize; 3]| -> Vec<f32> {
                let strides = [dims[1] * dims[2], dims[2], 1];
                let sizes = order.map(|axis| dims[axis]);
                let access =
                    Access { offset: 0, strides: order.map(|axis| signed(strides[axis])).into() };
                let mut to = vec![0.0_f32; from.len()];
                let map = AccessMap::new(&access, &sizes);
                map.fill_all(4, cast_slice(from), cast_slice_mut(&mut to));
                to
            };
            // The left one lies as a, m, b here and as m, a, b there; the right one as b, n, a and
            // as a, b, n.
            let [other_left, other_right] =
                [turned(&left, [a, m, b], [1, 0, 2]), turned(&right, [b, n, a], [2, 0, 1])];
            let apart = product([&[a, m, b], &[b, n, a]], [&[0, 2], &[2, 0]]);
            let beside = product([&[m, a, b], &[a, b, n]], [&[1, 2], &[0, 1]]);
            assert_eq!([apart.scratch(), beside.scratch()], [0, 0]);
            at_every_level(|level| {
                let found = run(&apart, [&left, &right], m * n);
                let wanted = run(&beside, [&other_left, &other_right], m * n);
                let bits = |of: &[f32]| of.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert!(bits(&found) == bits(&wanted), "{level:?}: {a} {b} {m} {n}");
            });
        }
    }
}
