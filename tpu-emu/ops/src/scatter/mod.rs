//! `scatter`: combines windows of updates into arrays at given indices.
mod general;
mod one_hot;
mod plan;
mod put;

use super::reducer::Reducer;
use super::{Cost, Entry, Lowered, OneHot, Relayout, Site, factors};
use one_hot::one_hot;
use plan::{Dimensions, ScatterPlan};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::index::{Outside, placer};
use tpu_kernels::reduce::combiner::dispatch;

/// Shapes: inputs of one shape, indices, and updates of one shape; the results are as the inputs.
/// A window that is not wholly inside the inputs is skipped. Windows follow each other in the
/// order of the updates.
///
/// Errors: dimension numbers that do not fit the shapes or each other, updates of other types, a
/// body of another type.
///
/// Source: StableHLO specification, "scatter", C1-C25.
pub const OP: Entry = Entry {
    factors: factors::scattered,
    relayout: Relayout::Scattered,
    ..Entry::new("scatter", infer, lower)
};

/// A scatter whose operands are checked.
struct Checked<'a> {
    inputs: &'a [Shape],
    indices: &'a Shape,
    update: &'a Shape,
    dimensions: Dimensions,
    reducer: Reducer,
}

fn check<'a>(site: &Site<'a>) -> Result<Checked<'a>> {
    let count = site.operands.len() / 2;
    if count == 0 || site.operands.len().is_multiple_of(2) {
        let what = format!("{} operands are no inputs with updates", site.operands.len());
        return Err(site.violates("C5", what));
    }
    let (inputs, rest) = site.operands.split_at(count);
    let (indices, updates) = (&rest[0], &rest[1..]);
    for (input, update) in inputs.iter().zip(updates) {
        if input.dims != inputs[0].dims {
            return Err(site.violates("C1", format!("{input} beside {}", inputs[0])));
        }
        if update.dims != updates[0].dims {
            return Err(site.violates("C3", format!("{update} beside {}", updates[0])));
        }
        if update.dtype != input.dtype {
            return Err(site.violates("C6", format!("{update} into {input}")));
        }
    }
    let dimensions = Dimensions::of(site)?;
    dimensions.check(site, &inputs[0], indices, &updates[0])?;
    let dtypes: Vec<DType> = inputs.iter().map(|input| input.dtype).collect();
    let reducer = Reducer::of(site, 0, &dtypes, "C23")?;
    Ok(Checked { inputs, indices, update: &updates[0], dimensions, reducer })
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    Ok(check(site)?.inputs.to_vec())
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let Checked { inputs, indices, update, dimensions, reducer } = check(site)?;
    let Some(placer) = placer(indices.dtype, Outside::Skip) else {
        return Err(site.unimplemented(format!("indices {indices}")));
    };
    let windows = Arc::new(ScatterWindows {
        plan: ScatterPlan::new(placer, &dimensions, &inputs[0], indices, update),
        indices: indices.dtype,
        inputs: inputs.len(),
        cost: reducer.cost(update.elements()),
        one_hot: match inputs {
            [input] => one_hot(&dimensions, [input, indices, update], &reducer),
            _ => None,
        },
    });
    if reducer.overwrites() {
        return Ok(Lowered::Kernel(put::overwrite(&windows, reducer.widths())));
    }
    let known = reducer.combiner();
    let fast = known.and_then(|of| dispatch(of.0, of.1, put::MakeScatter(&windows, of)));
    Ok(Lowered::Kernel(fast.unwrap_or_else(|| Box::new(general::BodyScatter { windows, reducer }))))
}

/// What every kernel of a scatter has.
#[derive(Debug)]
struct ScatterWindows {
    plan: ScatterPlan,
    /// The type of the indices.
    indices: DType,
    /// Number of inputs.
    inputs: usize,
    cost: Cost,
    /// The choice that it is as well.
    one_hot: Option<OneHot>,
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::RegionCode;
    use crate::testing::{TestRegion, TestValue, integers, lane, run};
    use std::sync::Arc;
    use tpu_base::tensor::DType;
    use tpu_kernels::elementwise::program::Register::Parameter;
    use tpu_kernels::{parallel, simd};
    use tpu_stablehlo::ir::{Attribute, Element};

    type List = Vec<(&'static str, Attribute)>;

    fn list(window: &[i64], inserted: &[i64], targets: &[i64], vector: i64) -> List {
        vec![
            ("update_window_dims", integers(window)),
            ("inserted_window_dims", integers(inserted)),
            ("scatter_dims_to_operand_dims", integers(targets)),
            ("index_vector_dim", Attribute::Integer(vector.into(), Element::S64)),
        ]
    }

    fn add() -> Arc<dyn RegionCode> {
        TestRegion::binary(lane!("add", S32 i32 => S32 i32, |a, b| a + b))
    }

    fn unknown() -> Arc<dyn RegionCode> {
        TestRegion::binary(lane!("twice", S32 i32 => S32 i32, |a, b| 2 * a + b))
    }

    fn overwrite() -> Arc<dyn RegionCode> {
        TestRegion::steps(&[DType::S32; 2], Vec::new(), &[Parameter(1)])
    }

    #[test]
    fn rows_are_combined_in_order_and_windows_outside_are_skipped() {
        let x = TestValue::of(DType::S32, &[3, 2], &[1, 2, 3, 4, 5, 6]);
        let at = TestValue::of(DType::S32, &[5, 1], &[2, 0, 2, 3, -1]);
        let updates: Vec<i32> = (1..=10).map(|value| value * 10).collect();
        let updates = TestValue::of(DType::S32, &[5, 2], &updates);
        let list = list(&[1], &[0], &[0], 1);
        let scatter = |body| {
            let found = run(&OP, &list, &[&x, &at, &updates], &[body]).unwrap();
            found[0].elements::<i32>()
        };
        assert_eq!(scatter(add()), [31, 42, 3, 4, 65, 86]);
        assert_eq!(scatter(overwrite()), [30, 40, 3, 4, 50, 60]);
        assert_eq!(scatter(unknown()), [32, 44, 3, 4, 4 * 5 + 2 * 10 + 50, 4 * 6 + 2 * 20 + 60]);
    }

    #[test]
    fn bodies_known_and_unknown_agree_for_any_number_of_threads_and_width() {
        let unheard = lane!("unheard of", S32 i32 => S32 i32, |a, b| a.wrapping_add(b));
        let unheard = TestRegion::binary(unheard);
        let number = |at: usize| i32::try_from(at * 7919 % 10_007).unwrap();
        // Single elements, rows, and rows of columns; some indices are outside.
        for (width, inner) in [(1, 1), (40, 1), (3, 20)] {
            let (targets, count) = (3000, 12_000);
            let size = width * inner;
            let whole: Vec<i32> = (0..targets * size).map(number).collect();
            let whole = TestValue::of(DType::S32, &[targets, width, inner], &whole);
            let at: Vec<i32> = (0..count).map(|at| number(at) % 3100 - 50).collect();
            let at = TestValue::of(DType::S32, &[count, 1], &at);
            let updates: Vec<i32> = (0..count * size).map(|at| number(at) - 77).collect();
            // The axis of windows lies before or behind their elements.
            let (dims, window) = if inner == 1 {
                ([count, width, inner], [1, 2])
            } else {
                ([width, count, inner], [0, 2])
            };
            let updates = TestValue::of(DType::S32, &dims, &updates);
            let list = list(&window, &[0], &[0], 1);
            let scatter = |body: &Arc<dyn RegionCode>| {
                let operands = [&whole, &at, &updates];
                run(&OP, &list, &operands, &[Arc::clone(body)]).unwrap()
            };
            let expected = [scatter(&unheard), scatter(&last())];
            simd::at_every_level(|_| {
                assert_eq!([scatter(&add()), scatter(&overwrite())], expected)
            });
            for threads in [2, 3] {
                let found =
                    parallel::with_threads(threads, || [scatter(&add()), scatter(&overwrite())]);
                assert_eq!(found, expected, "{threads} threads");
            }
        }
    }

    /// Gives the update, and is not recognised.
    fn last() -> Arc<dyn RegionCode> {
        TestRegion::binary(lane!("last", S32 i32 => S32 i32, |_, b| b))
    }

    #[test]
    fn a_window_that_sticks_out_is_skipped_whole() {
        let x = TestValue::of(DType::S32, &[4], &[0; 4]);
        let at = TestValue::of(DType::U8, &[2, 1], &[3_u8, 1]);
        let updates = TestValue::of(DType::S32, &[2, 2], &[1, 2, 3, 4]);
        let list = list(&[1], &[], &[0], 1);
        let found = run(&OP, &list, &[&x, &at, &updates], &[add()]).unwrap();
        assert_eq!(found[0].elements::<i32>(), [0, 3, 4, 0]);
    }

    #[test]
    fn batching_axes_go_along_and_the_index_vector_may_be_anywhere() {
        let x = TestValue::of(DType::S32, &[2, 3], &[0; 6]);
        let at = TestValue::of(DType::S32, &[1, 2, 2], &[2, 1, 0, 0]);
        let updates = TestValue::of(DType::S32, &[2, 2], &[1, 2, 3, 4]);
        let mut list = list(&[], &[1], &[1], 0);
        list.push(("input_batching_dims", integers(&[0])));
        list.push(("scatter_indices_batching_dims", integers(&[2])));
        let found = run(&OP, &list, &[&x, &at, &updates], &[unknown()]).unwrap();
        // Batch 0 has indices 2 and 0, batch 1 has 1 and 0.
        assert_eq!(found[0].elements::<i32>(), [3, 0, 1, 4, 2, 0]);
    }

    #[test]
    fn updates_of_another_shape_are_refused() {
        let x = TestValue::of(DType::S32, &[3], &[0; 3]);
        let at = TestValue::of(DType::S32, &[2, 1], &[0, 0]);
        let updates = TestValue::of(DType::S32, &[3], &[0; 3]);
        let list = list(&[], &[0], &[0], 1);
        let error = run(&OP, &list, &[&x, &at, &updates], &[add()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "scatter violates C4: updates s32[3] for indices s32[2,1] into s32[3]"
        );
    }
}
