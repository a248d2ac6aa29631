//! `reduce_window`: combines the elements of sliding windows.
mod direct;
mod general;
mod scan;

use super::reducer::{Reducer, inputs};
use super::windowed::{Labels, windows};
use super::{Cost, Cx, Entry, Kernel, LayoutRule, Lowered, Relayout, ShardingRule, Site, factors};
use std::convert::Infallible;
use std::marker::PhantomData;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::loop_nest::{carve, carved, rows};
use tpu_kernels::reduce::combiner::{Combiner, Fold, Visitor, dispatch};
use tpu_kernels::window::geometry::{WindowAxis, Windows};
use tpu_kernels::window::pool::Pool;

/// Shapes: inputs of one shape and an initial scalar for each; along every axis the results have
/// as many elements as there are windows.
///
/// Places of a window in the padding are skipped, as XLA does; with an initial value that changes
/// nothing this is the same as combining it once more for each of them.
///
/// Errors: those of `reduce`; attributes of another length than the rank, and numbers that are not
/// positive.
///
/// Source: StableHLO specification, "reduce_window", C1-C16.
pub(super) const OP: Entry = Entry {
    layout: LayoutRule::Default,
    relayout: Relayout::Windows,
    sharding: ShardingRule::Windowed,
    factors: factors::windowed,
    ..Entry::new("reduce_window", infer, lower)
};

const INPUTS: [&str; 4] = ["C1", "C2", "C3", "C13"];
const LABELS: Labels = Labels {
    sizes: ["C4", "C5"],
    strides: ["C6", "C7"],
    bases: ["C8", "C9"],
    dilations: ["C10", "C11"],
    padding: "C12",
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let (inputs, _) = inputs(site, INPUTS)?;
    let axes = windows(site, &inputs[0], &LABELS)?;
    let dims: Vec<usize> = axes.iter().map(|axis| axis.output).collect();
    Ok(inputs.iter().map(|input| Shape::new(input.dtype, dims.clone())).collect())
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let (inputs, reducer) = inputs(site, INPUTS)?;
    let axes = windows(site, &inputs[0], &LABELS)?;
    let cost = cost(&axes, &reducer);
    let known = reducer.combiner();
    if let Some((scan, reverse)) = scan::Scan::of(&axes) {
        let build = scan::MakeScan { scan: scan.clone(), reverse, cost };
        let fast = known.and_then(|(combiner, dtype)| dispatch(combiner, dtype, build));
        if let Some(kernel) = fast {
            return Ok(Lowered::Kernel(kernel));
        }
        if !reverse {
            return Ok(Lowered::Kernel(Box::new(scan::BodyScan { scan, reducer, cost })));
        }
    }
    if let (Some((combiner, dtype)), Some(pool)) = (known, Pool::new(&axes)) {
        let idempotent = !matches!(combiner, Combiner::Add | Combiner::Multiply | Combiner::Xor);
        let build = direct::MakeDirectWindow { pool, idempotent, cost };
        if let Some(kernel) = dispatch(combiner, dtype, build) {
            return Ok(Lowered::Kernel(kernel));
        }
    }
    let Some(windows) = Windows::new(&axes) else {
        return Err(site.unimplemented(format!("windows {axes:?}")));
    };
    let fast = known.and_then(|(combiner, dtype)| {
        let windows = Windows::new(&axes)?;
        dispatch(combiner, dtype, MakeWindow { windows, cost })
    });
    let general = || Box::new(general::BodyWindows { windows, reducer, cost });
    Ok(Lowered::Kernel(fast.unwrap_or_else(|| general())))
}

/// All places but one of every window.
fn cost(axes: &[WindowAxis], reducer: &Reducer) -> Cost {
    let windows: usize = axes.iter().map(|axis| axis.output).product();
    let places = axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.size));
    reducer.cost(windows.saturating_mul(places.saturating_sub(1)))
}

/// Makes the kernel for a known combiner.
struct MakeWindow {
    windows: Windows,
    cost: Cost,
}

impl Visitor for MakeWindow {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        Box::new(FixedReduceWindow::<F> {
            windows: self.windows,
            cost: self.cost,
            fold: PhantomData,
        })
    }
}

/// Windows of one input under a known combiner.
#[derive(Debug)]
struct FixedReduceWindow<F> {
    windows: Windows,
    cost: Cost,
    fold: PhantomData<F>,
}

impl<F: Fold> Kernel for FixedReduceWindow<F> {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let input: &[F::Element] = bytemuck::cast_slice(operands[0]);
        let init: F::Element = bytemuck::pod_read_unaligned(operands[1]);
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(results[0]);
        let mut parts = carve(cx.scratch, [self.scratch()]);
        let totals: &mut [F::Total] = bytemuck::cast_slice_mut(parts.remove(0));
        for block in self.windows.blocks() {
            let (first, count) = block;
            let totals = &mut totals[..count];
            totals.fill(F::start(init));
            let done: Result<(), Infallible> = self.windows.places(block, &mut |axes, start| {
                rows(axes, start, &mut |[to, from], count, steps| {
                    join::<F>(totals, to, input, from, count, steps);
                    Ok(())
                })
            });
            let Ok(()) = done;
            for (result, &total) in result[first..first + count].iter_mut().zip(&*totals) {
                *result = F::finish(total);
            }
        }
        Ok(())
    }

    fn scratch(&self) -> usize {
        // A whole number of totals, whatever the alignment of the parts.
        carved([self.windows.outputs() * size_of::<F::Total>()])
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// Combines a run of elements into totals.
fn join<F: Fold>(
    totals: &mut [F::Total],
    to: usize,
    input: &[F::Element],
    from: usize,
    count: usize,
    steps: [usize; 2],
) {
    if steps == [1, 1] {
        let totals = &mut totals[to..to + count];
        for (total, &element) in totals.iter_mut().zip(&input[from..from + count]) {
            *total = F::extend(*total, F::load(element));
        }
    } else {
        let totals = totals[to..].iter_mut().step_by(steps[0].max(1));
        let elements = input[from..].iter().step_by(steps[1].max(1));
        for (total, &element) in totals.zip(elements).take(count) {
            *total = F::extend(*total, F::load(element));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RegionCode;
    use super::OP;
    use crate::testing::{TestRegion, TestValue, integers, kind, lane, run};
    use std::sync::Arc;
    use tpu_base::tensor::DType;
    use tpu_kernels::{parallel, simd};
    use tpu_stablehlo::ir::Attribute;

    fn add(name: &'static str) -> Arc<dyn RegionCode> {
        let add = lane!("add", S32 i32 => S32 i32, |a, b| a + b);
        TestRegion::binary(tpu_kernels::elementwise::program::ElementwiseOp {
            kind: kind(name),
            ..add
        })
    }

    type List = Vec<(&'static str, Attribute)>;

    fn both(list: &List, x: &TestValue, init: i32) -> Vec<i32> {
        let init = TestValue::of(DType::S32, &[], &[init]);
        let [known, unknown] = ["add", "unheard of"].map(|name| {
            let found = run(&OP, list, &[x, &init], &[add(name)]).unwrap();
            found[0].elements::<i32>()
        });
        assert_eq!(known, unknown);
        known
    }

    #[test]
    fn places_in_the_padding_are_skipped() {
        let x = TestValue::of(DType::S32, &[4], &[1, 2, 3, 4]);
        let list = vec![("window_dimensions", integers(&[3])), ("padding", integers(&[1, 1]))];
        // From XLA's CPU backend.
        assert_eq!(both(&list, &x, 10), [13, 16, 19, 17]);
    }

    #[test]
    fn dilations_and_strides_select_elements() {
        // The example of the specification.
        let x = TestValue::of(DType::S32, &[3, 2], &[1, 2, 3, 4, 5, 6]);
        let list = vec![
            ("window_dimensions", integers(&[2, 1])),
            ("window_strides", integers(&[4, 1])),
            ("base_dilations", integers(&[2, 1])),
            ("window_dilations", integers(&[3, 1])),
            ("padding", integers(&[2, 1, 0, 0])),
        ];
        assert_eq!(both(&list, &x, 0), [0, 0, 3, 4]);
    }

    #[test]
    fn every_form_of_windows_gives_the_same_as_its_body() {
        // Shape, sizes, strides, dilations, padding, dilations of the input.
        type Form = (&'static [usize], [&'static [i64]; 5]);
        let forms: [Form; 16] = [
            (&[2, 9, 7, 20], [&[1, 2, 2, 1], &[1, 2, 2, 1], &[1; 4], &[0; 8], &[1; 4]]),
            (
                &[2, 9, 7, 20],
                [&[1, 3, 3, 1], &[1, 2, 1, 1], &[1; 4], &[0, 0, 1, 1, 1, 1, 0, 0], &[1; 4]],
            ),
            (
                &[2, 9, 7, 3],
                [&[1, 3, 3, 1], &[1, 2, 1, 1], &[1; 4], &[0, 0, 1, 1, 1, 1, 0, 0], &[1; 4]],
            ),
            (&[2, 3, 9, 8], [&[1, 1, 2, 2], &[1, 1, 2, 2], &[1; 4], &[0; 8], &[1; 4]]),
            (
                &[2, 3, 9, 8],
                [&[1, 1, 3, 3], &[1, 1, 2, 2], &[1; 4], &[0, 0, 0, 0, 1, 1, 1, 1], &[1; 4]],
            ),
            (&[3, 50], [&[2, 7], &[1, 3], &[1, 2], &[1, 0, 4, -1], &[1; 2]]),
            (&[5000], [&[64], &[1], &[1], &[0, 0], &[1]]),
            (&[5000], [&[9], &[1], &[1], &[12, -3], &[1]]),
            (&[3000, 2], [&[7, 1], &[1, 1], &[1, 1], &[3, 3, 0, 0], &[1; 2]]),
            (&[2, 70, 10], [&[1, 7, 1], &[1, 1, 1], &[1, 1, 1], &[0, 0, 3, 3, 0, 0], &[1; 3]]),
            (&[3, 50], [&[1, 4], &[1, 4], &[1; 2], &[0; 4], &[1; 2]]),
            (&[3, 51], [&[1, 6], &[1, 5], &[1; 2], &[0, 0, 2, 3], &[1; 2]]),
            (&[2, 9, 7, 2], [&[1, 2, 3, 1], &[1, 2, 3, 1], &[1; 4], &[0; 8], &[1; 4]]),
            (&[2, 9, 7, 4], [&[1, 2, 3, 1], &[1, 2, 2, 1], &[1; 4], &[0; 8], &[1; 4]]),
            (
                &[2, 5, 4, 20],
                [&[1, 2, 2, 1], &[1; 4], &[1; 4], &[0, 0, 1, 1, 1, 1, 0, 0], &[1, 2, 2, 1]],
            ),
            (&[2, 5, 9], [&[1, 3, 4], &[1, 2, 1], &[1; 3], &[0, 0, 1, -2, 5, 7], &[1, 2, 3]]),
        ];
        for (dims, [sizes, strides, dilations, padding, bases]) in forms {
            let count = dims.iter().product();
            let number = |at: usize| i32::try_from(at * 7919 % 1009).unwrap() - 500;
            let x: Vec<i32> = (0..count).map(number).collect();
            let x = TestValue::of(DType::S32, dims, &x);
            let list = vec![
                ("window_dimensions", integers(sizes)),
                ("window_strides", integers(strides)),
                ("window_dilations", integers(dilations)),
                ("padding", integers(padding)),
                ("base_dilations", integers(bases)),
            ];
            simd::at_every_level(|_| {
                both(&list, &x, 3);
            });
            let extreme = |name: &'static str| {
                let maximum = lane!("maximum", S32 i32 => S32 i32, |a, b| a.max(b));
                let body = TestRegion::binary(tpu_kernels::elementwise::program::ElementwiseOp {
                    kind: kind(name),
                    ..maximum
                });
                let init = TestValue::of(DType::S32, &[], &[i32::MIN]);
                let found = run(&OP, &list, &[&x, &init], &[body]).unwrap();
                found[0].elements::<i32>()
            };
            let expected = extreme("unheard of");
            simd::at_every_level(|_| {
                assert_eq!(extreme("maximum"), expected, "{dims:?} {sizes:?}")
            });
            for threads in [2, 3] {
                let found = parallel::with_threads(threads, || extreme("maximum"));
                assert_eq!(found, expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn windows_over_everything_before_are_running_sums() {
        let x: Vec<i32> = (0..24).collect();
        let x = TestValue::of(DType::S32, &[2, 3, 4], &x);
        let list = |padding: &[i64]| {
            let sizes = integers(&[1, 3, 1]);
            vec![("window_dimensions", sizes), ("padding", integers(padding))]
        };
        let forward = both(&list(&[0, 0, 2, 0, 0, 0]), &x, 100);
        assert_eq!(forward[..12], [100, 101, 102, 103, 104, 106, 108, 110, 112, 115, 118, 121]);
        let backward = both(&list(&[0, 0, 0, 2, 0, 0]), &x, 0);
        assert_eq!(backward[12..], [48, 51, 54, 57, 36, 38, 40, 42, 20, 21, 22, 23]);
    }

    #[test]
    fn an_unknown_scan_folds_from_the_left() {
        let body = TestRegion::binary(lane!("twice", S32 i32 => S32 i32, |a, b| 2 * a + b));
        let x = TestValue::of(DType::S32, &[3], &[1, 2, 3]);
        let init = TestValue::of(DType::S32, &[], &[1]);
        let list = |padding: &[i64]| {
            [("window_dimensions", integers(&[3])), ("padding", integers(padding))]
        };
        let scan = |padding: &[i64]| {
            let bodies = [Arc::clone(&body)];
            let found = run(&OP, &list(padding), &[&x, &init], &bodies);
            found.unwrap()[0].elements::<i32>()
        };
        assert_eq!(scan(&[2, 0]), [3, 8, 19]);
        assert_eq!(scan(&[0, 2]), [19, 11, 5]);
    }

    #[test]
    fn attributes_of_another_length_are_refused() {
        let x = TestValue::of(DType::S32, &[3], &[1, 2, 3]);
        let init = TestValue::of(DType::S32, &[], &[1]);
        let error = |list: &List| {
            let found = run(&OP, list, &[&x, &init], &[add("add")]);
            found.unwrap_err().to_string()
        };
        assert_eq!(
            error(&vec![("window_dimensions", integers(&[1, 1]))]),
            "reduce_window violates C4: window_dimensions [1, 1] for s32[3]"
        );
        assert_eq!(
            error(&vec![("window_dimensions", integers(&[0]))]),
            "reduce_window violates C5: window_dimensions [0]"
        );
    }
}
