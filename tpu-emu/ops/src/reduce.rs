//! `reduce`: combines the elements along some axes.
use super::reducer::{Reducer, inputs, splat};
use super::{Cost, Cx, Entry, Kernel, Lowered, Reduced, ShardingRule, Site, factors};
use crate::tuning::MAX_REDUCE_ROW_PARTS;
use std::marker::PhantomData;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::movement::loop_nest::{Axis, carve, carved, gather, rows};
use tpu_kernels::movement::transpose::transpose_bytes;
use tpu_kernels::reduce::axis::Reduction;
use tpu_kernels::reduce::combiner::{Combiner, Fold, Visitor, dispatch};
use tpu_kernels::reduce::dyn_combiner::folder;

/// Shapes: inputs of one shape and an initial scalar for each; the results lack `dimensions`.
///
/// Errors: inputs of different shapes, initial values of other types, axes that are out of range
/// or repeated, a body of another type.
///
/// Source: StableHLO specification, "reduce", C1-C8.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Reduced,
    factors: factors::reduced,
    ..Entry::new("reduce", infer, lower)
};

const LABELS: [&str; 4] = ["C3", "C1", "C2", "C6"];

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let (inputs, _) = inputs(site, LABELS)?;
    let first = &inputs[0];
    let dimensions = site.optional_indices("dimensions")?;
    for (index, &axis) in dimensions.iter().enumerate() {
        if axis >= first.rank() {
            return Err(site.violates("C4", format!("axis {axis} of {first}")));
        }
        if dimensions[..index].contains(&axis) {
            return Err(site.violates("C5", format!("axis {axis} is repeated in {dimensions:?}")));
        }
    }
    let kept = first.dims.iter().enumerate().filter(|(axis, _)| !dimensions.contains(axis));
    let dims: Vec<usize> = kept.map(|(_, &dim)| dim).collect();
    Ok(inputs.iter().map(|input| Shape::new(input.dtype, dims.clone())).collect())
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let (inputs, reducer) = inputs(site, LABELS)?;
    let plan = Reduction::new(&inputs[0], &site.optional_indices("dimensions")?);
    let outputs: usize = plan.kept.iter().map(|axis| axis.count).product();
    let cost = reducer.cost(inputs[0].elements().saturating_sub(outputs));
    let chunks = if reducer.picks() { chunks(&plan, outputs) } else { 1 };
    let general = BodyReduce { plan, reducer, outputs, chunks, cost };
    let known = general.reducer.combiner();
    let single = general.outputs == inputs[0].elements();
    if single && known.is_some_and(|(combiner, dtype)| changes_nothing(site, combiner, dtype)) {
        return Ok(Lowered::View);
    }
    let fast = known.and_then(|(combiner, dtype)| {
        let middle = general.plan.middle().zip(folder(combiner, dtype));
        let reduced = middle.map(|(dims, fold)| Reduced { fold, dims });
        dispatch(combiner, dtype, MakeReduce(&general, reduced))
    });
    Ok(Lowered::Kernel(fast.unwrap_or_else(|| Box::new(general))))
}

/// Whether the initial value is known to change no integer.
fn changes_nothing(site: &Site<'_>, combiner: Combiner, dtype: DType) -> bool {
    let Some([init]) = site.known_integers(1).as_deref().and_then(|all| all.as_array().copied())
    else {
        return false;
    };
    match (combiner, dtype) {
        (Combiner::Add | Combiner::Or | Combiner::Xor, _) | (Combiner::Maximum, DType::Pred) => {
            init == 0
        }
        (Combiner::Multiply, _) | (Combiner::And | Combiner::Minimum, DType::Pred) => init == 1,
        (Combiner::And, _) => init == -1,
        (Combiner::Maximum | Combiner::Minimum, _) => false,
    }
}

/// Chunks that few long rows are cut into, so that there are lanes to fill.
fn chunks(plan: &Reduction, outputs: usize) -> usize {
    match plan.reduced[..] {
        [axis] if outputs > 0 && axis.count >= 4 * MAX_REDUCE_ROW_PARTS => {
            (TILE_ELEMENTS / outputs).clamp(1, MAX_REDUCE_ROW_PARTS)
        }
        _ => 1,
    }
}

/// Makes the kernel for a known combiner.
struct MakeReduce<'a>(&'a BodyReduce, Option<Reduced>);

impl Visitor for MakeReduce<'_> {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        let Self(general, reduced) = self;
        let (plan, cost) = (general.plan.clone(), general.cost);
        Box::new(FixedReduce::<F> { plan, reduced, cost, fold: PhantomData })
    }
}

/// A reduction of one input by a known combiner.
#[derive(Debug)]
struct FixedReduce<F> {
    plan: Reduction,
    reduced: Option<Reduced>,
    cost: Cost,
    fold: PhantomData<F>,
}

impl<F: Fold> Kernel for FixedReduce<F> {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if self.reduced.as_ref().is_some_and(|reduced| reduced.run(operands, results[0])) {
            return Ok(());
        }
        let init = bytemuck::pod_read_unaligned(operands[1]);
        let result = bytemuck::cast_slice_mut(results[0]);
        self.plan.run::<F>(bytemuck::cast_slice(operands[0]), init, result, cx.scratch);
        Ok(())
    }

    fn scratch(&self) -> usize {
        Reduction::scratch::<F>()
    }

    fn reduction(&self) -> Option<Reduced> {
        self.reduced.clone()
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// A reduction by any body: its lanes are results.
#[derive(Debug)]
struct BodyReduce {
    plan: Reduction,
    reducer: Reducer,
    outputs: usize,
    /// Chunks of each row that are reduced side by side; more than one for associative bodies.
    chunks: usize,
    cost: Cost,
}

impl BodyReduce {
    /// Results, or chunks of all results, that are computed together.
    fn lanes(&self) -> usize {
        (self.outputs * self.chunks).min(TILE_ELEMENTS)
    }

    /// Sizes of the parts of the scratch memory: offsets of the lanes, then for each input what
    /// has been accumulated, what comes next, and gathered elements.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let lanes = self.lanes();
        let widths = self.reducer.widths().map(move |width| width * lanes);
        let offsets = std::iter::once(lanes * size_of::<usize>());
        offsets.chain(widths.clone()).chain(widths.clone()).chain(widths)
    }

    /// Reduces rows that are cut into chunks, whose results then follow each other in order.
    /// `offsets` has the rows' starts in front, and room for all chunks.
    fn cut(
        &self,
        offsets: &mut [usize],
        inputs: &[&[u8]],
        initial: &[&[u8]],
        buffers: &mut Buffers<'_>,
    ) -> Result<()> {
        let [Axis { count, steps: [step] }] = self.plan.reduced[..] else { return Ok(()) };
        let (outputs, length) = (self.outputs, count / self.chunks);
        let lanes = self.chunks * outputs;
        for lane in outputs..lanes {
            offsets[lane] = offsets[lane % outputs] + lane / outputs * (length * step);
        }
        let Buffers { held, next, elements } = buffers;
        let load = |to: &mut [&mut [u8]], offsets: &[usize], at: usize| {
            for ((input, width), to) in inputs.iter().zip(self.reducer.widths()).zip(to) {
                gather(width, input, at, offsets, &mut to[..offsets.len() * width]);
            }
        };
        load(held, &offsets[..lanes], 0);
        for index in 1..length {
            load(elements, &offsets[..lanes], index * step);
            self.step(lanes, 0, held, elements, next)?;
        }
        std::mem::swap(held, elements);
        for (held, initial) in held.iter_mut().zip(initial) {
            splat(initial, held);
        }
        for chunk in 0..self.chunks {
            self.step(outputs, chunk * outputs, held, elements, next)?;
        }
        for index in length * self.chunks..count {
            load(elements, &offsets[..outputs], index * step);
            self.step(outputs, 0, held, elements, next)?;
        }
        Ok(())
    }

    /// One step with the elements from lane `first` on.
    fn step<'a>(
        &self,
        lanes: usize,
        first: usize,
        held: &mut Vec<&'a mut [u8]>,
        elements: &[&mut [u8]],
        next: &mut Vec<&'a mut [u8]>,
    ) -> Result<()> {
        let parts = elements.iter().zip(self.reducer.widths());
        let now: Vec<&[u8]> =
            parts.map(|(element, width)| &element[first * width..][..lanes * width]).collect();
        self.reducer.step(lanes, held, &now, next)
    }

    /// How far apart the rows at `offsets` are, if each is a run of elements.
    fn rows_apart(&self, offsets: &[usize]) -> Option<usize> {
        let ([Axis { steps: [1], .. }], [first, second, ..]) = (&self.plan.reduced[..], offsets)
        else {
            return None;
        };
        let apart = second.checked_sub(*first)?;
        let fits = |(lane, &offset): (usize, &usize)| offset == first + lane * apart;
        (apart > 1 && offsets.iter().enumerate().all(fits)).then_some(apart)
    }

    /// Reduces rows, some columns of all of them at a time.
    fn transposed<'a>(
        &self,
        start: usize,
        apart: usize,
        lanes: usize,
        inputs: &[&[u8]],
        held: &mut Vec<&'a mut [u8]>,
        next: &mut Vec<&'a mut [u8]>,
    ) -> Result<()> {
        const COLUMNS: usize = 32;
        let count: usize = self.plan.reduced.iter().map(|axis| axis.count).product();
        let room = |width: usize| vec![0_u128; (COLUMNS * lanes * width).div_ceil(16)];
        let mut transposed: Vec<Vec<u128>> = self.reducer.widths().map(room).collect();
        for first in (0..count).step_by(COLUMNS) {
            let columns = COLUMNS.min(count - first);
            for ((input, width), transposed) in
                inputs.iter().zip(self.reducer.widths()).zip(&mut transposed)
            {
                let transposed: &mut [u8] = bytemuck::cast_slice_mut(transposed);
                let dims = [columns, lanes];
                transpose_bytes(width, &input[(start + first) * width..], apart, dims, transposed);
            }
            for column in 0..columns {
                let parts = transposed.iter().zip(self.reducer.widths());
                let now = parts.map(|(transposed, width)| {
                    &bytemuck::cast_slice(transposed)[column * lanes * width..][..lanes * width]
                });
                let now: Vec<&[u8]> = now.collect();
                self.reducer.step(lanes, held, &now, next)?;
            }
        }
        Ok(())
    }

    /// Reduces the elements at `offsets` and those that follow them along the reduced axes.
    fn tile(&self, offsets: &[usize], inputs: &[&[u8]], buffers: &mut Buffers<'_>) -> Result<()> {
        let lanes = offsets.len();
        let start = offsets.first().copied().unwrap_or(0);
        let dense = offsets.iter().enumerate().all(|(lane, &offset)| offset == start + lane);
        let Buffers { held, next, elements } = buffers;
        if let Some(apart) = self.rows_apart(offsets) {
            return self.transposed(start, apart, lanes, inputs, held, next);
        }
        rows(&self.plan.reduced, [0], &mut |[at], count, [step]| {
            for at in (0..count).map(|index| at + index * step) {
                let parts = inputs.iter().zip(self.reducer.widths());
                let now: Vec<&[u8]> = if dense {
                    parts
                        .map(|(input, width)| &input[(start + at) * width..][..lanes * width])
                        .collect()
                } else {
                    let gathered = |((input, width), to): ((&&[u8], usize), &'_ mut &mut [u8])| {
                        gather(width, input, at, offsets, &mut to[..lanes * width]);
                    };
                    parts.zip(elements.iter_mut()).for_each(gathered);
                    let parts = elements.iter().zip(self.reducer.widths());
                    parts.map(|(element, width)| &element[..lanes * width]).collect()
                };
                self.reducer.step(lanes, held, &now, next)?;
            }
            Ok(())
        })
    }
}

/// Room for a tile of results, by input.
struct Buffers<'a> {
    held: Vec<&'a mut [u8]>,
    next: Vec<&'a mut [u8]>,
    elements: Vec<&'a mut [u8]>,
}

impl Kernel for BodyReduce {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let count = results.len();
        let (inputs, initial) = operands.split_at(count);
        let mut parts = carve(cx.scratch, self.parts()).into_iter();
        let Some(offsets) = parts.next() else { return Ok(()) };
        let offsets: &mut [usize] = bytemuck::cast_slice_mut(offsets);
        let mut buffers = Buffers {
            held: parts.by_ref().take(count).collect(),
            next: parts.by_ref().take(count).collect(),
            elements: parts.collect(),
        };
        let (mut filled, mut done) = (0, 0);
        rows(&self.plan.kept, [0], &mut |[at], count, [step]| {
            for index in 0..count {
                offsets[filled] = at + index * step;
                filled += 1;
                if filled < self.outputs.min(TILE_ELEMENTS) && done + filled < self.outputs {
                    continue;
                }
                if self.chunks > 1 {
                    self.cut(offsets, inputs, initial, &mut buffers)?;
                } else {
                    for (held, initial) in buffers.held.iter_mut().zip(initial) {
                        splat(initial, held);
                    }
                    self.tile(&offsets[..filled], inputs, &mut buffers)?;
                }
                let parts = results.iter_mut().zip(&buffers.held).zip(self.reducer.widths());
                for ((result, held), width) in parts {
                    let held = &held[..filled * width];
                    result[done * width..][..held.len()].copy_from_slice(held);
                }
                done += filled;
                filled = 0;
            }
            Ok(())
        })
    }

    fn scratch(&self) -> usize {
        carved(self.parts())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::{Case, TestRegion, TestValue, integers, lane, run, step};
    use tpu_base::tensor::DType;
    use tpu_kernels::elementwise::program::Register::{Parameter, Step};
    use tpu_stablehlo::ir::Attribute;

    fn sum_f32() -> std::sync::Arc<dyn super::super::RegionCode> {
        TestRegion::binary(lane!("add", F32 f32 => F32 f32, |a, b| a + b))
    }

    #[test]
    fn rows_and_columns_are_summed_by_a_known_body() {
        let x = TestValue::of(DType::F32, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let zero = TestValue::of(DType::F32, &[], &[0.5_f32]);
        let sum = |axes: &[i64]| {
            let list = [("dimensions", integers(axes))];
            let found = run(&OP, &list, &[&x, &zero], &[sum_f32()]).unwrap();
            found[0].elements::<f32>()
        };
        assert_eq!(sum(&[1]), [6.5, 15.5]);
        assert_eq!(sum(&[0]), [5.5, 7.5, 9.5]);
        assert_eq!(sum(&[0, 1]), [21.5]);
    }

    #[test]
    fn an_initial_value_that_changes_nothing_leaves_single_elements_where_they_are() {
        use super::super::Lowered;
        let and = || TestRegion::binary(lane!("and", S32 i32 => S32 i32, |a, b| a & b));
        let of = |extent: usize, init: i32| {
            let case = Case::new("stablehlo.reduce").integers("dimensions", &[1]);
            let elements: Vec<i32> = (1..=3).collect();
            let case = match extent {
                1 => case.value(DType::S32, &[3, 1], &elements),
                _ => case.value(DType::S32, &[1, 3], &elements),
            };
            let case = case.known(DType::S32, &[], &[init]).body(and());
            let view = matches!(case.lower(&OP).unwrap(), Lowered::View);
            (view, case.eval::<i32>(&OP))
        };
        assert_eq!(of(1, -1), (true, vec![1, 2, 3]));
        assert_eq!(of(1, 2), (false, vec![0, 2, 2]));
        assert_eq!(of(3, -1), (false, vec![0]));
    }

    #[test]
    fn an_unknown_body_is_a_left_fold_of_the_accumulator_with_each_element() {
        let body = TestRegion::binary(lane!("subtract", S32 i32 => S32 i32, |a, b| 2 * a - b));
        let x = TestValue::of(DType::S32, &[2, 3], &[1, 2, 3, 4, 5, 6]);
        let init = TestValue::of(DType::S32, &[], &[10]);
        let fold = |axes: &[i64]| {
            let list = [("dimensions", integers(axes))];
            let bodies = [std::sync::Arc::clone(&body)];
            run(&OP, &list, &[&x, &init], &bodies).unwrap()[0].elements::<i32>()
        };
        let left = |elements: &[i32]| elements.iter().fold(10, |a, b| 2 * a - b);
        assert_eq!(fold(&[1]), [left(&[1, 2, 3]), left(&[4, 5, 6])]);
        assert_eq!(fold(&[0]), [left(&[1, 4]), left(&[2, 5]), left(&[3, 6])]);
        assert_eq!(fold(&[0, 1]), [left(&[1, 2, 3, 4, 5, 6])]);
    }

    #[test]
    fn two_inputs_share_a_body() {
        let less = lane!("compare.LT", S32 i32 => Pred u8, |a, b| (a < b).into());
        let max = lane!("maximum", S32 i32 => S32 i32, |a, b| a.max(b));
        let first = lane!("first", S16 i16 => S16 i16, |a, _| a);
        let inputs = [DType::S32, DType::S16, DType::S32, DType::S16];
        let steps = vec![
            (less, vec![Parameter(0), Parameter(2)]),
            (max, vec![Parameter(0), Parameter(2)]),
            (first, vec![Parameter(3), Parameter(1)]),
        ];
        let body = TestRegion::steps(&inputs, steps, &[Step(1), Step(2)]);
        let x = TestValue::of(DType::S32, &[2, 2000], &(0..4000).collect::<Vec<i32>>());
        let y = TestValue::of(DType::S16, &[2, 2000], &(0..4000).collect::<Vec<i16>>());
        let (a, b) =
            (TestValue::of(DType::S32, &[], &[7]), TestValue::of(DType::S16, &[], &[8_i16]));
        let list = [("dimensions", integers(&[0]))];
        let found = run(&OP, &list, &[&x, &y, &a, &b], &[body]).unwrap();
        assert_eq!(found[0].elements::<i32>(), (2000..4000).collect::<Vec<_>>());
        assert_eq!(found[1].elements::<i16>(), (2000..4000).collect::<Vec<_>>());
    }

    /// JAX's body for an argmax, from the operations themselves.
    fn argmax() -> std::sync::Arc<dyn super::super::RegionCode> {
        let compare = |direction: &'static str, dtype| {
            let list = [("comparison_direction", Attribute::Word(direction.into()))];
            step("stablehlo.compare", &list, &[dtype; 2], DType::Pred)
        };
        let bits = |name| step(name, &[], &[DType::Pred; 2], DType::Pred);
        let select = |dtype| step("stablehlo.select", &[], &[DType::Pred, dtype, dtype], dtype);
        let [held, held_index, value, index] = [0, 1, 2, 3].map(Parameter);
        let (float, int) = (DType::F32, DType::S32);
        let steps = vec![
            (compare("GT", float), vec![held, value]),
            (compare("NE", float), vec![held, held]),
            (bits("stablehlo.or"), vec![Step(0), Step(1)]),
            (compare("EQ", float), vec![held, value]),
            (compare("LT", int), vec![held_index, index]),
            (bits("stablehlo.and"), vec![Step(3), Step(4)]),
            (bits("stablehlo.or"), vec![Step(2), Step(5)]),
            (select(float), vec![Step(2), held, value]),
            (select(int), vec![Step(6), held_index, index]),
        ];
        TestRegion::steps(&[float, int, float, int], steps, &[Step(7), Step(8)])
    }

    #[test]
    fn a_long_row_is_cut_into_pieces_and_the_first_nan_or_extreme_still_wins() {
        let body = argmax();
        assert!(tpu_kernels::reduce::argminmax::is_pick(body.program().unwrap()));
        let (length, count) = (5003, 5003_i32);
        let mut x: Vec<f32> = (0..3 * length).map(|at| (at * 7919 % 4999) as f32).collect();
        x[2 * length..][4000] = f32::NAN;
        x[2 * length..][5001] = f32::NAN;
        let first = |row: &[f32]| {
            let best = row.iter().copied().fold(f32::MIN, f32::max);
            let found = |&value: &f32| value.is_nan() || value == best;
            row.iter().position(|value| value.is_nan()).or(row.iter().position(found)).unwrap()
        };
        let expected: Vec<i32> =
            x.chunks(length).map(|row| i32::try_from(first(row)).unwrap()).collect();
        let places: Vec<i32> = (0..3).flat_map(|_| 0..count).collect();
        let x = TestValue::of(DType::F32, &[3, length], &x);
        let places = TestValue::of(DType::S32, &[3, length], &places);
        let low = TestValue::of(DType::F32, &[], &[f32::NEG_INFINITY]);
        let zero = TestValue::of(DType::S32, &[], &[0]);
        let list = [("dimensions", integers(&[1]))];
        let found = run(&OP, &list, &[&x, &places, &low, &zero], &[body]).unwrap();
        assert_eq!(found[1].elements::<i32>(), expected);
        assert_eq!(expected[2], 4000);
    }

    #[test]
    fn axes_and_types_that_do_not_fit_are_named() {
        let x = TestValue::of(DType::F32, &[2], &[1.0_f32, 2.0]);
        let (zero, wrong) =
            (TestValue::of(DType::F32, &[], &[0.0_f32]), TestValue::of(DType::S32, &[], &[0]));
        let error = |axes: &[i64], init: &TestValue| {
            let list = [("dimensions", integers(axes))];
            run(&OP, &list, &[&x, init], &[sum_f32()]).unwrap_err().to_string()
        };
        assert_eq!(error(&[1], &zero), "reduce violates C4: axis 1 of f32[2]");
        assert_eq!(error(&[0, 0], &zero), "reduce violates C5: axis 0 is repeated in [0, 0]");
        assert_eq!(error(&[0], &wrong), "reduce violates C2: f32[2] starts from s32[]");
    }
}
