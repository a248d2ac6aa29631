//! `reduce`: combines the elements along some axes.
use super::body_reduce::BodyReduce;
use super::reducer::inputs;
use super::{
    Absorbed, Cost, Cx, Entry, Kernel, Lowered, Reduced, Relayout, ShardingRule, Site, factors,
};
use crate::tuning::MAX_REDUCE_ROW_PARTS;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::aligned::Aligned;
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::movement::loop_nest::Axis;
use tpu_kernels::parallel;
use tpu_kernels::reduce::axis::Reduction;
use tpu_kernels::reduce::combiner::{Combiner, Fold, Visitor, dispatch};
use tpu_kernels::reduce::converted::{dispatch_converted, is_converted};
use tpu_kernels::reduce::dyn_combiner::folder_of;
use tpu_kernels::reduce::tuning::{BLOCK_PARTIALS, MIN_PICKED_ELEMENTS};

/// Shapes: inputs of one shape and an initial scalar for each; the results lack `dimensions`.
///
/// Errors: inputs of different shapes, initial values of other types, axes that are out of range
/// or repeated, a body of another type.
///
/// Source: StableHLO specification, "reduce", C1-C8.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Reduced,
    factors: factors::reduced,
    relayout: Relayout::Reduced,
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
    let picked_runs = reducer.pick_loops().zip(long_run(&plan));
    let parted = reducer.picks() && picked_runs.is_none();
    let chunks = if parted { chunks(&plan, outputs) } else { 1 };
    let general = BodyReduce { plan, reducer, outputs, chunks, picked_runs, cost };
    let known = general.reducer.combiner();
    let single = general.outputs == inputs[0].elements();
    if single && known.is_some_and(|(combiner, dtype)| changes_nothing(site, combiner, dtype)) {
        return Ok(Lowered::View);
    }
    let fast = known.and_then(|of @ (combiner, dtype)| {
        let make = MakeReduce { plan: &general.plan, cost: general.cost, of: Some(of) };
        dispatch(combiner, dtype, make)
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

/// The length of the run of elements side by side that each result is of, where it is long.
fn long_run(plan: &Reduction) -> Option<usize> {
    match plan.reduced[..] {
        [Axis { count, steps: [1] }] if count >= MIN_PICKED_ELEMENTS => Some(count),
        _ => None,
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
struct MakeReduce<'a> {
    plan: &'a Reduction,
    cost: Cost,
    of: Option<(Combiner, DType)>,
}

impl Visitor for MakeReduce<'_> {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        let Self { plan, cost, of } = self;
        Box::new(FixedReduce::<F>::new(plan.clone(), cost, of))
    }
}

/// A reduction of one input by a known combiner.
#[derive(Debug)]
struct FixedReduce<F> {
    plan: Reduction,
    reduced: Option<Reduced>,
    cost: Cost,
    /// What it is of, where what it reads is of the type of the result.
    of: Option<(Combiner, DType)>,
    fold: PhantomData<F>,
}

impl<F: Fold> FixedReduce<F> {
    fn new(plan: Reduction, cost: Cost, of: Option<(Combiner, DType)>) -> Self {
        let reduced = plan.middle().map(|dims| Reduced { fold: folder_of::<F>(of), dims });
        Self { plan, reduced, cost, of, fold: PhantomData }
    }
}

impl<F: Fold> Kernel for FixedReduce<F> {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if self.reduced.as_ref().is_some_and(|reduced| reduced.run(operands, results[0])) {
            return Ok(());
        }
        let init = bytemuck::pod_read_unaligned(operands[1]);
        let operand: &[F::Stored] = bytemuck::cast_slice(operands[0]);
        let result = bytemuck::cast_slice_mut(results[0]);
        let [indices, elements, width] = self.plan.outermost().unwrap_or([1, 0, result.len()]);
        let some = parallel::items_per_chunk(elements * size_of::<F::Stored>());
        if some >= indices {
            self.plan.run::<F>(operand, init, result, cx.scratch);
            return Ok(());
        }
        parallel::chunks_mut(result, some * width, |chunk, result| {
            let first = chunk * some;
            let (plan, start) = self.plan.some(first..indices.min(first + some));
            let mut scratch = Aligned::zeros(Reduction::scratch::<F>());
            plan.run::<F>(&operand[start..], init, result, scratch.bytes_mut());
        });
        Ok(())
    }

    fn scratch(&self) -> usize {
        Reduction::scratch::<F>()
    }

    fn reduction(&self) -> Option<Reduced> {
        self.reduced.clone()
    }

    fn absorbs(&self) -> bool {
        self.of.is_some_and(|(combiner, dtype)| is_converted(combiner, dtype))
    }

    fn absorbing(&self, work: &Absorbed<'_>) -> Option<Arc<dyn Kernel>> {
        let (&Absorbed::Converted(0, from), Some((combiner, to))) = (work, self.of) else {
            return None;
        };
        // Short runs are lanes of a vector where their elements have 32 bits.
        let short = |axis: &Axis<1>| axis.steps == [1] && axis.count <= BLOCK_PARTIALS;
        if self.plan.reduced.last().is_some_and(short) {
            return None;
        }
        let make = MakeReduce { plan: &self.plan, cost: self.cost, of: None };
        Some(Arc::from(dispatch_converted(combiner, [from, to], make)?))
    }

    fn part(&self, first: usize, parts: usize) -> Option<(Arc<dyn Kernel>, Range<usize>)> {
        let plan = self.plan.part(first, parts)?;
        Some((Arc::new(Self::new(plan, self.cost.part(parts), self.of)), 0..1))
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
    fn threads_share_results_of_any_axes() {
        let dims = [3, 700, 2, 70];
        let elements: Vec<i32> = (0..).take(dims.iter().product::<usize>()).collect();
        let body = TestRegion::binary(lane!("add", S32 i32 => S32 i32, |a, b| a.wrapping_add(b)));
        let x = TestValue::of(DType::S32, &dims, &elements);
        let init = TestValue::of(DType::S32, &[], &[5]);
        for axes in [&[0_i64, 3][..], &[0, 2], &[1, 3], &[0, 2, 3], &[2, 3], &[0, 1, 2, 3]] {
            let list = [("dimensions", integers(axes))];
            let mut wanted = std::collections::BTreeMap::new();
            for &element in &elements {
                let mut place = usize::try_from(element).unwrap();
                let mut index = [0; 4];
                for (axis, number) in [(3, 3), (2, 2), (1, 1), (0, 0)] {
                    let kept = !axes.contains(&number);
                    index[axis] = if kept { place % dims[axis] } else { 0 };
                    place /= dims[axis];
                }
                let sum: &mut i32 = wanted.entry(index).or_insert(5);
                *sum = sum.wrapping_add(element);
            }
            let wanted: Vec<i32> = wanted.into_values().collect();
            for threads in [1, 2] {
                let found = tpu_kernels::parallel::with_threads(threads, || {
                    let bodies = [std::sync::Arc::clone(&body)];
                    run(&OP, &list, &[&x, &init], &bodies).unwrap()[0].elements::<i32>()
                });
                assert_eq!(found, wanted, "{axes:?}");
            }
        }
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
