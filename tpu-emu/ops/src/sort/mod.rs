//! `sort`: orders the elements of several arrays along an axis by one comparator.
mod keyed;
mod merge;
mod plain;
mod ranges;

use super::{Cost, Cx, Entry, Kernel, Lowered, RegionCode, Relayout, Site, factors};
use crate::tuning::SORT_MERGE_ELEMENTS;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::loop_nest::{carve, carved, gather};
use tpu_kernels::sort::comparator;
use tpu_kernels::sort::comparator::SortKey;
use tpu_kernels::sort::keys;

/// Shapes: inputs and results of one shape.
///
/// The sort is stable whether or not it is asked to be.
///
/// Errors: inputs of different shapes, an axis that is out of range, a comparator of another type.
///
/// Source: StableHLO specification, "sort", C1-C5.
pub(super) const OP: Entry = Entry {
    factors: factors::sorted,
    relayout: Relayout::Sorted,
    ..Entry::new("sort", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let Some(first) = site.operands.first() else {
        return Err(site.violates("C1", "no operands"));
    };
    if let Some(other) = site.operands.iter().find(|operand| operand.dims != first.dims) {
        return Err(site.violates("C2", format!("{other} beside {first}")));
    }
    axis(site, first)?;
    let comparator = site.body(0)?;
    let twice = site.operands.iter().flat_map(|operand| [operand.dtype; 2]).map(Shape::scalar);
    if !twice.eq(comparator.parameters().iter().cloned())
        || comparator.results() != [Shape::scalar(DType::Pred)]
    {
        let (parameters, results) = (comparator.parameters(), comparator.results());
        let what = format!("a comparator {parameters:?} to {results:?} for {:?}", site.operands);
        return Err(site.violates("C5", what));
    }
    Ok(site.operands.to_vec())
}

/// The axis to sort along; negative numbers count from the end.
fn axis(site: &Site<'_>, shape: &Shape) -> Result<usize> {
    let given = site.attributes.integer("dimension").unwrap_or(-1);
    let rank = i64::try_from(shape.rank()).unwrap_or(i64::MAX);
    let counted = if given < 0 { given.saturating_add(rank) } else { given };
    usize::try_from(counted)
        .ok()
        .filter(|&axis| axis < shape.rank())
        .ok_or_else(|| site.violates("C4", format!("axis {given} of {shape}")))
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let first = &site.operands[0];
    let axis = axis(site, first)?;
    let comparator = site.body(0)?;
    let length = first.dims[axis];
    let rows = SortRows {
        axis,
        length,
        inner: first.dims[axis + 1..].iter().product(),
        outer: first.dims[..axis].iter().product(),
        widths: site.operands.iter().map(|operand| operand.dtype.host_bytes()).collect(),
    };
    let keys =
        comparator.program().and_then(comparator::keys).filter(|_| u32::try_from(length).is_ok());
    let bits =
        |keys: &Vec<SortKey>| keys.iter().map(|key| 8 * key.dtype.host_bytes()).sum::<usize>();
    if let Some([key]) = keys.as_deref()
        && let Some(plain) = keys::plain(key.dtype)
        && let Some(kernel) = plain::Sorted::new(&rows, *key, plain)
    {
        return Ok(Lowered::Kernel(Box::new(kernel)));
    }
    Ok(Lowered::Kernel(match keys {
        Some(keys) if bits(&keys) <= 32 => Box::new(keyed::Keyed::<u64>::new(rows, &keys)),
        Some(keys) if bits(&keys) <= 96 => Box::new(keyed::Keyed::<u128>::new(rows, &keys)),
        _ => Box::new(Merged { rows, comparator: Arc::clone(comparator) }),
    }))
}

/// The rows that are sorted.
#[derive(Debug, Clone)]
struct SortRows {
    axis: usize,
    length: usize,
    /// Elements from one of a row to the next.
    inner: usize,
    outer: usize,
    /// Bytes of an element of each operand.
    widths: Vec<usize>,
}

impl SortRows {
    /// Offset of a row's first element.
    fn start(&self, row: usize) -> usize {
        row / self.inner * (self.inner * self.length) + row % self.inner
    }

    fn count(&self) -> usize {
        self.outer * self.inner
    }

    fn cost(&self) -> Cost {
        let elements = self.count() * self.length;
        let levels = elements
            .checked_ilog2()
            .map_or(0, |floor| if elements.is_power_of_two() { floor } else { floor + 1 });
        #[expect(clippy::cast_precision_loss, reason = "a count that is reported rounded")]
        let elements = elements as f64;
        Cost { flops: elements * f64::from(levels), transcendentals: 0.0 }
    }
}

/// Writes the elements at the offsets to `start`, `start + step`, ….
fn permute(width: usize, from: &[u8], offsets: &[usize], start: usize, step: usize, to: &mut [u8]) {
    if step == 1 {
        let to = &mut to[start * width..][..offsets.len() * width];
        return gather(width, from, 0, offsets, to);
    }
    for (index, offset) in offsets.iter().enumerate() {
        let element = &from[offset * width..][..width];
        to[(start + index * step) * width..][..width].copy_from_slice(element);
    }
}

/// A sort by any comparator.
#[derive(Debug)]
struct Merged {
    rows: SortRows,
    comparator: Arc<dyn RegionCode>,
}

impl Merged {
    /// Rows that are sorted together.
    fn together(&self) -> usize {
        (SORT_MERGE_ELEMENTS / self.rows.length.max(1)).clamp(1, self.rows.count().max(1))
    }

    /// Offsets twice, pairs, sides' offsets, answers, and the sides of each operand.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let elements = self.together() * self.rows.length;
        let pairs = self.together() * self.rows.length.div_ceil(2);
        let word = size_of::<usize>();
        let sides = self.rows.widths.iter().flat_map(move |width| [width * pairs; 2]);
        let pair = size_of::<merge::Pair>();
        let fixed =
            [word * elements, word * elements, pair * pairs, word * pairs, word * pairs, pairs];
        fixed.into_iter().chain(sides)
    }
}

impl Kernel for Merged {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let SortRows { length, inner, .. } = self.rows;
        if length == 0 {
            return Ok(());
        }
        let mut parts = carve(cx.scratch, self.parts());
        let elements = parts.split_off(6);
        let [order, next, pairs, left, right, answers] = &mut parts[..] else { return Ok(()) };
        let mut workspace = merge::MergeScratch {
            order: bytemuck::cast_slice_mut(order),
            next: bytemuck::cast_slice_mut(next),
            pairs: bytemuck::cast_slice_mut(pairs),
            offsets: [bytemuck::cast_slice_mut(left), bytemuck::cast_slice_mut(right)],
            elements,
            answers,
        };
        let mut row = 0;
        while row < self.rows.count() {
            let rows = self.together().min(self.rows.count() - row);
            // A last batch of fewer rows sorts its first row again in the rest of the room.
            for (index, order) in workspace.order.chunks_exact_mut(length).enumerate() {
                let start = self.rows.start(row + if index < rows { index } else { 0 });
                order.iter_mut().enumerate().for_each(|(at, order)| *order = start + at * inner);
            }
            merge::sort(&*self.comparator, operands, &self.rows.widths, length, &mut workspace)?;
            let sorted = workspace.order.chunks_exact(length).take(rows).zip(row..);
            for (order, row) in sorted {
                let start = self.rows.start(row);
                let arrays = operands.iter().zip(&mut *results).zip(&self.rows.widths);
                for ((operand, result), &width) in arrays {
                    permute(width, operand, order, start, inner, result);
                }
            }
            row += rows;
        }
        Ok(())
    }

    fn scratch(&self) -> usize {
        carved(self.parts())
    }

    fn cost(&self) -> Cost {
        self.rows.cost()
    }
}

#[cfg(test)]
mod tests {
    use super::super::RegionCode;
    use super::OP;
    use crate::testing::{TestRegion, TestValue, execute, kind, lane, run, step};
    use std::sync::Arc;
    use tpu_base::tensor::DType;
    use tpu_kernels::elementwise::program::ElementwiseConstant;
    use tpu_kernels::elementwise::program::Register::{Constant, Parameter, Step};
    use tpu_kernels::parallel;
    use tpu_kernels::sort::comparator;
    use tpu_stablehlo::ir::{Attribute, Element};

    fn sort(axis: i128, operands: &[&TestValue], body: &Arc<dyn RegionCode>) -> Vec<TestValue> {
        let list = [("dimension", Attribute::Integer(axis, Element::S64))];
        run(&OP, &list, operands, &[Arc::clone(body)]).unwrap()
    }

    /// A comparator of the first of two operands; `name` tells whether it is recognised.
    fn pairs(name: &'static str) -> Arc<dyn RegionCode> {
        let less = lane!("compare.LT", S32 i32 => Pred u8, |a, b| (a < b).into());
        let less = tpu_kernels::elementwise::program::ElementwiseOp { kind: kind(name), ..less };
        let parameters = [DType::S32, DType::S32, DType::S16, DType::S16];
        TestRegion::steps(&parameters, vec![(less, vec![Parameter(0), Parameter(1)])], &[Step(0)])
    }

    #[test]
    fn known_and_unknown_comparators_sort_the_same_and_stably() {
        let key = |index: i32| index * 7919 % 1009 % 13;
        let (rows, length) = (3, 1001);
        let keys: Vec<i32> = (0..rows * length).map(key).collect();
        let tags: Vec<i16> = (0..).take(keys.len()).collect();
        for (dims, axis) in [([3, 1001], 1), ([3, 1001], -2), ([1001, 3], 0), ([1001, 3], 1)] {
            let keys = TestValue::of(DType::S32, &dims, &keys);
            let tags = TestValue::of(DType::S16, &dims, &tags);
            let known = sort(axis, &[&keys, &tags], &pairs("compare.LT"));
            let unknown = sort(axis, &[&keys, &tags], &pairs("unheard of"));
            assert_eq!(known, unknown);
            assert_ne!(known[0], keys);
        }
        let wide = TestValue::of(DType::S32, &[3, 1001], &keys);
        let tags = TestValue::of(DType::S16, &[3, 1001], &tags);
        let found = sort(1, &[&wide, &tags], &pairs("compare.LT"));
        let (found, order) = (found[0].elements::<i32>(), found[1].elements::<i16>());
        let rows = found.chunks(1001).zip(order.chunks(1001));
        for (row, (keys, tags)) in rows.enumerate() {
            let together: Vec<_> = keys.iter().zip(tags).collect();
            assert!(together.is_sorted(), "row {row}");
        }
    }

    /// `<` or `>` on one float.
    fn floats(direction: &'static str) -> Arc<dyn RegionCode> {
        let list = [("comparison_direction", Attribute::Word(direction.into()))];
        let compare = step("stablehlo.compare", &list, &[DType::F32; 2], DType::Pred);
        TestRegion::binary(compare)
    }

    #[test]
    fn one_array_is_sorted_as_by_its_comparator_for_any_number_of_threads() {
        // Some rows have NaN or zeros of both signs, others have not.
        let number = |at: usize| f32::from(u16::try_from(at * 7919 % 4001).unwrap()) - 1999.5;
        let plain: Vec<f32> = (0..4 * 50_000).map(number).collect();
        let mut special = plain.clone();
        for at in (0..special.len()).step_by(1013) {
            special[at] = [0.0, -0.0][at / 1013 % 2];
        }
        for x in [plain, special] {
            for (dims, axis) in [([4, 50_000], 1), ([20_000, 10], 1), ([50_000, 4], 0)] {
                let x = TestValue::of(DType::F32, &dims, &x);
                for direction in ["LT", "GT"] {
                    let body = floats(direction);
                    let rows = super::SortRows {
                        axis,
                        length: dims[axis],
                        inner: dims[axis + 1..].iter().product(),
                        outer: dims[..axis].iter().product(),
                        widths: vec![4],
                    };
                    let kernel = super::Merged { rows, comparator: Arc::clone(&body) };
                    let expected = execute(&kernel, &[&x], std::slice::from_ref(&x.shape)).unwrap();
                    let axis = i128::try_from(axis).unwrap();
                    for threads in [1, 3] {
                        let found = parallel::with_threads(threads, || sort(axis, &[&x], &body));
                        assert!(found[0] == expected[0], "{dims:?} {direction}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_comparator_that_contradicts_itself_ends() {
        let body = TestRegion::binary(lane!("always", S32 i32 => Pred u8, |_, _| 1));
        let x = TestValue::of(DType::S32, &[100], &(0..100).collect::<Vec<i32>>());
        let mut found = sort(0, &[&x], &body)[0].elements::<i32>();
        found.sort_unstable();
        assert_eq!(found, (0..100).collect::<Vec<i32>>());
    }

    #[test]
    fn nothing_is_sorted() {
        let body =
            TestRegion::binary(lane!("compare.GT", S32 i32 => Pred u8, |a, b| (a > b).into()));
        let x = TestValue::of::<i32>(DType::S32, &[2, 0], &[]);
        assert_eq!(sort(0, &[&x], &body), [x]);
        let x = TestValue::of(DType::S32, &[3], &[1, 3, 2]);
        assert_eq!(sort(0, &[&x], &body)[0].elements::<i32>(), [3, 2, 1]);
    }

    /// JAX's comparator for two float keys: zeros are made equal, so are NaNs, and the total
    /// order puts NaN last.
    fn lexicographic() -> Arc<dyn RegionCode> {
        let float = DType::F32;
        let compare = |direction: &'static str, kind: &'static str| {
            let list = [
                ("comparison_direction", Attribute::Word(direction.into())),
                ("compare_type", Attribute::Word(kind.into())),
            ];
            step("stablehlo.compare", &list, &[float; 2], DType::Pred)
        };
        let bits = |name| step(name, &[], &[DType::Pred; 2], DType::Pred);
        let select = step("stablehlo.select", &[], &[DType::Pred, float, float], float);
        let constant =
            |value: f32| ElementwiseConstant { dtype: float, bytes: Box::new(value.to_le_bytes()) };
        let mut steps = Vec::new();
        for parameter in (0..4).map(Parameter) {
            let at = steps.len();
            steps.push((compare("EQ", "FLOAT"), vec![parameter, Constant(0)]));
            steps.push((select, vec![Step(at), Constant(0), parameter]));
            steps.push((compare("NE", "FLOAT"), vec![parameter, parameter]));
            steps.push((select, vec![Step(at + 2), Constant(1), Step(at + 1)]));
        }
        let (a, b, c, d) = (Step(3), Step(7), Step(11), Step(15));
        steps.push((compare("LT", "TOTALORDER"), vec![c, d]));
        steps.push((compare("LT", "TOTALORDER"), vec![a, b]));
        steps.push((compare("EQ", "TOTALORDER"), vec![a, b]));
        steps.push((bits("stablehlo.and"), vec![Step(18), Step(16)]));
        steps.push((bits("stablehlo.or"), vec![Step(17), Step(19)]));
        let constants = vec![constant(0.0), constant(f32::NAN)];
        TestRegion::with_constants(&[float; 4], constants, steps, &[Step(20)])
    }

    #[test]
    fn the_comparator_of_jax_is_known_and_orders_by_both_keys() {
        let body = lexicographic();
        let keys = comparator::keys(body.program().unwrap()).unwrap();
        assert_eq!(keys.iter().map(|key| key.operand).collect::<Vec<_>>(), [0, 1]);
        assert!(keys.iter().all(|key| !key.total && key.nan_is_largest && !key.descending));
        let nan = f32::NAN;
        let x = TestValue::of(DType::F32, &[7], &[1.0, -nan, 0.0, -0.0, nan, 1.0, -3.0]);
        let y = TestValue::of(DType::F32, &[7], &[2.0_f32, 5.0, 4.0, 3.0, 1.0, -2.0, nan]);
        let found = sort(0, &[&x, &y], &body);
        assert_eq!(found[0].elements::<f32>()[..5], [-3.0, 0.0, 0.0, 1.0, 1.0]);
        assert_eq!(found[1].elements::<f32>()[1..], [3.0, 4.0, -2.0, 2.0, 1.0, 5.0]);
        // The same by the comparator itself.
        let rows = super::SortRows { axis: 0, length: 7, inner: 1, outer: 1, widths: vec![4, 4] };
        let kernel = super::Merged { rows, comparator: body };
        assert_eq!(
            execute(&kernel, &[&x, &y], &[x.shape.clone(), y.shape.clone()]).unwrap()[1],
            found[1]
        );
    }
}
