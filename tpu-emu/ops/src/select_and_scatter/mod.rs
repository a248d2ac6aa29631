//! `select_and_scatter`: adds each source element where its window has the selected one.
mod direct;

use super::reducer::{self, Reducer, splat};
use super::windowed::{Labels, windows};
use super::{Cost, Cx, Entry, Kernel, Lowered, RegionCode, Relayout, ShardingRule, Site, factors};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::movement::loop_nest::{carve, carved, gather, rows, spread};
use tpu_kernels::reduce::combiner::{Combiner, Fold, Visitor, dispatch};
use tpu_kernels::window::geometry::Windows;
use tpu_kernels::window::pool::Pool;

/// Places of a window in the padding are never selected. Among elements that are selected over
/// each other the first one stays.
///
/// Shapes: operand and result of one shape; the source has an element for each window; the initial
/// value is a scalar.
///
/// Errors: operands of different types, a source of another shape, attributes of another length
/// than the rank, bodies of another type.
///
/// Source: StableHLO specification, "select_and_scatter", C1-C12.
pub(super) const OP: Entry = Entry {
    sharding: ShardingRule::Same,
    factors: factors::windows_scattered,
    relayout: Relayout::Selected,
    ..Entry::new("select_and_scatter", infer, lower)
};

const LABELS: Labels = Labels {
    sizes: ["C4", "C5"],
    strides: ["C6", "C7"],
    bases: ["C8", "C8"],
    dilations: ["C8", "C8"],
    padding: "C8",
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, source, initial] = site.exactly::<3>()?;
    if source.dtype != operand.dtype {
        return Err(site.violates("C1", format!("{source} into {operand}")));
    }
    if initial.dtype != operand.dtype || initial.rank() != 0 {
        return Err(site.violates("C3", format!("{operand} starts from {initial}")));
    }
    let axes = windows(site, operand, &LABELS)?;
    if !axes.iter().map(|axis| axis.output).eq(source.dims.iter().copied()) {
        let counts: Vec<usize> = axes.iter().map(|axis| axis.output).collect();
        return Err(site.violates("C2", format!("{source} for windows {counts:?}")));
    }
    let select = site.body(0)?;
    if select.parameters() != vec![Shape::scalar(operand.dtype); 2]
        || select.results() != [Shape::scalar(DType::Pred)]
    {
        let (parameters, results) = (select.parameters(), select.results());
        return Err(site.violates("C9", format!("a body {parameters:?} to {results:?}")));
    }
    Reducer::of(site, 1, &[operand.dtype], "C10")?;
    Ok(vec![operand.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand, source, _] = site.exactly::<3>()?;
    let axes = windows(site, operand, &LABELS)?;
    let scatter = Reducer::of(site, 1, &[operand.dtype], "C10")?;
    let Some(windows) = Windows::new(&axes) else {
        return Err(site.unimplemented(format!("windows {axes:?}")));
    };
    let places = axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.size));
    let selections = source.elements().saturating_mul(places.saturating_sub(1));
    let select = Arc::clone(site.body(0)?);
    let selecting = reducer::cost(&*select, selections);
    let scattering = scatter.cost(source.elements());
    let cost = Cost {
        flops: selecting.flops + scattering.flops,
        transcendentals: selecting.transcendentals + scattering.transcendentals,
    };
    let known = scatter.combiner();
    if let (Some((Combiner::Add, dtype)), Some(program)) = (known, select.program())
        && let Some(pool) = Pool::new(&axes)
        && let Some(kernel) = direct::kernel(pool, program, dtype, cost)
    {
        return Ok(Lowered::Kernel(kernel));
    }
    let known = known.and_then(|(combiner, dtype)| dispatch(combiner, dtype, Deposits));
    let width = operand.dtype.host_bytes();
    let kernel = SelectAndScatter { windows, select, scatter, known, width, cost };
    Ok(Lowered::Kernel(Box::new(kernel)))
}

/// Combines source elements into the result: from the source, at these elements of the result;
/// `usize::MAX` for none.
type Deposit = fn(&[u8], &[usize], &mut [u8]);

struct Deposits;

impl Visitor for Deposits {
    type Output = Deposit;

    fn visit<F: Fold>(self) -> Deposit {
        fn deposit<F: Fold>(source: &[u8], at: &[usize], result: &mut [u8]) {
            let result: &mut [F::Element] = bytemuck::cast_slice_mut(result);
            let source: &[F::Element] = bytemuck::cast_slice(source);
            for (&element, &at) in source.iter().zip(at) {
                if let Some(result) = result.get_mut(at) {
                    *result = F::combine(*result, element);
                }
            }
        }
        deposit::<F>
    }
}

#[derive(Debug)]
struct SelectAndScatter {
    windows: Windows,
    select: Arc<dyn RegionCode>,
    scatter: Reducer,
    known: Option<Deposit>,
    width: usize,
    cost: Cost,
}

/// What is selected so far in each window of a block, and room for a tile of lanes.
struct WindowSelection<'a> {
    selected: &'a mut [usize],
    values: &'a mut [u8],
    held: &'a mut [u8],
    elements: &'a mut [u8],
    answers: &'a mut [u8],
}

impl SelectAndScatter {
    /// Selected elements and their values, offsets of lanes twice, then lanes held, lanes
    /// offered, answers.
    fn parts(&self) -> [usize; 7] {
        let (outputs, word) = (self.windows.outputs(), size_of::<usize>());
        let (tile, lanes) = (TILE_ELEMENTS * word, TILE_ELEMENTS * self.width);
        [outputs * word, outputs * self.width, tile, tile, lanes, lanes, TILE_ELEMENTS]
    }

    /// Offers the elements at `from` to the windows at `to`.
    fn offer(
        &self,
        operand: &[u8],
        to: &[usize],
        from: &[usize],
        state: &mut WindowSelection<'_>,
    ) -> Result<()> {
        let (lanes, width) = (to.len(), self.width);
        let elements = &mut state.elements[..lanes * width];
        gather(width, operand, 0, from, elements);
        let held = &mut state.held[..lanes * width];
        gather(width, state.values, 0, to, held);
        let answers = &mut state.answers[..lanes];
        self.select.apply(lanes, &[held, elements], &mut [&mut *answers])?;
        for (lane, (&to, &from)) in to.iter().zip(from).enumerate() {
            if answers[lane] == 0 || state.selected[to] == usize::MAX {
                state.selected[to] = from;
                let places = lane * width..(lane + 1) * width;
                held[places.clone()].copy_from_slice(&elements[places]);
            }
        }
        spread(width, held, 0, to, state.values);
        Ok(())
    }

    /// Combines the source into the selected elements one by one, by any body.
    fn deposit(&self, source: &[u8], at: &[usize], result: &mut [u8]) -> Result<()> {
        let width = self.width;
        let (mut held, mut element, mut next) = (0_u128, 0_u128, 0_u128);
        for (from, &at) in source.chunks_exact(width).zip(at) {
            if at == usize::MAX {
                continue;
            }
            let result = &mut result[at * width..][..width];
            bytemuck::bytes_of_mut(&mut held)[..width].copy_from_slice(result);
            bytemuck::bytes_of_mut(&mut element)[..width].copy_from_slice(from);
            let mut before = vec![bytemuck::bytes_of_mut(&mut held)];
            let mut after = vec![bytemuck::bytes_of_mut(&mut next)];
            let element = &bytemuck::bytes_of(&element)[..width];
            self.scatter.step(1, &mut before, &[element], &mut after)?;
            result.copy_from_slice(&before[0][..width]);
        }
        Ok(())
    }
}

impl Kernel for SelectAndScatter {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let [operand, source, initial] = operands[..] else { return Ok(()) };
        let mut parts = carve(cx.scratch, self.parts());
        let [selected, values, to, from, held, elements, answers] = &mut parts[..] else {
            return Ok(());
        };
        let to: &mut [usize] = bytemuck::cast_slice_mut(to);
        let from: &mut [usize] = bytemuck::cast_slice_mut(from);
        let selected = bytemuck::cast_slice_mut(selected);
        let mut state = WindowSelection { selected, values, held, elements, answers };
        splat(initial, results[0]);
        for block in self.windows.blocks() {
            let (first, count) = block;
            state.selected[..count].fill(usize::MAX);
            self.windows.places(block, &mut |axes, start| {
                let mut lanes = 0;
                rows(axes, start, &mut |at, count, steps| {
                    for index in 0..count {
                        to[lanes] = at[0] + index * steps[0];
                        from[lanes] = at[1] + index * steps[1];
                        lanes += 1;
                        if lanes == TILE_ELEMENTS {
                            self.offer(operand, to, from, &mut state)?;
                            lanes = 0;
                        }
                    }
                    Ok(())
                })?;
                if lanes > 0 {
                    self.offer(operand, &to[..lanes], &from[..lanes], &mut state)?;
                }
                Ok(())
            })?;
            let source = &source[first * self.width..(first + count) * self.width];
            match self.known {
                Some(deposit) => deposit(source, &state.selected[..count], results[0]),
                None => self.deposit(source, &state.selected[..count], results[0])?,
            }
        }
        Ok(())
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
    use crate::testing::{TestRegion, TestValue, integers, kind, lane, run};
    use tpu_base::tensor::DType;
    use tpu_kernels::{parallel, simd};

    #[test]
    fn the_first_of_equal_elements_takes_the_source() {
        // The example of the specification, with a tie added in the last windows.
        let x = TestValue::of(DType::S32, &[4, 2], &[1, 5, 2, 5, 3, 6, 4, 4]);
        let source = TestValue::of(DType::S32, &[2, 2], &[5, 6, 7, 8]);
        let zero = TestValue::of(DType::S32, &[], &[0]);
        let list = [
            ("window_dimensions", integers(&[3, 1])),
            ("window_strides", integers(&[2, 1])),
            ("padding", integers(&[0, 1, 0, 0])),
        ];
        for name in ["add", "unheard of"] {
            let select =
                TestRegion::binary(lane!("compare.GE", S32 i32 => Pred u8, |a, b| (a >= b).into()));
            let add = lane!("add", S32 i32 => S32 i32, |a, b| a + b);
            let add = TestRegion::binary(tpu_kernels::elementwise::program::ElementwiseOp {
                kind: kind(name),
                ..add
            });
            let bodies = [select, add];
            let found = run(&OP, &list, &[&x, &source, &zero], &bodies);
            assert_eq!(found.unwrap()[0].elements::<i32>(), [0, 0, 0, 0, 5, 14, 7, 0]);
        }
    }

    #[test]
    fn the_gradient_of_a_pool_is_what_its_bodies_say() {
        type Form = (&'static [usize], [&'static [i64]; 3]);
        let forms: [Form; 4] = [
            (&[3, 8, 6, 20], [&[1, 2, 2, 1], &[1, 2, 2, 1], &[0; 8]]),
            (&[3, 8, 6, 3], [&[1, 3, 3, 1], &[1, 2, 2, 1], &[0, 0, 0, 1, 1, 1, 0, 0]]),
            (&[3, 2, 8, 6], [&[1, 1, 3, 3], &[1, 1, 1, 1], &[0, 0, 0, 0, 1, 1, 1, 1]]),
            (&[40], [&[3], &[3], &[0, 0]]),
        ];
        let special = [f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY];
        for (dims, [sizes, strides, padding]) in forms {
            let number = |at: usize| {
                let value = u8::try_from(at * 7919 % 251).unwrap();
                special.get(usize::from(value)).copied().unwrap_or(f32::from(value % 16))
            };
            let count = dims.iter().product();
            let x: Vec<f32> = (0..count).map(number).collect();
            let x = TestValue::of(DType::F32, dims, &x);
            let zero = TestValue::of(DType::F32, &[], &[0.0_f32]);
            let list = [
                ("window_dimensions", integers(sizes)),
                ("window_strides", integers(strides)),
                ("padding", integers(padding)),
            ];
            let windows = dims.iter().zip(sizes.iter().zip(strides)).zip(padding.chunks(2));
            let outputs: Vec<usize> = windows
                .map(|((&dim, (size, stride)), padding)| {
                    let room = i64::try_from(dim).unwrap() + padding[0] + padding[1] - size;
                    usize::try_from(room / stride + 1).unwrap()
                })
                .collect();
            let source: Vec<f32> = (0..outputs.iter().product()).map(|at| number(at + 9)).collect();
            let source = TestValue::of(DType::F32, &outputs, &source);
            for direction in ["compare.GE", "compare.LE"] {
                let gradient = |known: bool| {
                    let ge = lane!("compare.GE", F32 f32 => Pred u8, |a, b| (a >= b).into());
                    let le = lane!("compare.LE", F32 f32 => Pred u8, |a, b| (a <= b).into());
                    let select = if direction == "compare.GE" { ge } else { le };
                    let name = if known { direction } else { "unheard of" };
                    let select =
                        TestRegion::binary(tpu_kernels::elementwise::program::ElementwiseOp {
                            kind: kind(name),
                            ..select
                        });
                    let add = TestRegion::binary(lane!("add", F32 f32 => F32 f32, |a, b| a + b));
                    let bodies = [select, add];
                    let operands = [&x, &source, &zero];
                    let found = run(&OP, &list, &operands, &bodies);
                    found.unwrap()[0].elements::<u32>()
                };
                let expected = gradient(false);
                simd::at_every_level(|_| assert_eq!(gradient(true), expected, "{dims:?}"));
                let threaded = parallel::with_threads(3, || gradient(true));
                assert_eq!(threaded, expected, "{dims:?} {direction}");
            }
        }
    }

    #[test]
    fn a_source_for_other_windows_is_refused() {
        let x = TestValue::of(DType::S32, &[4], &[1, 2, 3, 4]);
        let source = TestValue::of(DType::S32, &[2], &[5, 6]);
        let zero = TestValue::of(DType::S32, &[], &[0]);
        let list = [("window_dimensions", integers(&[2]))];
        let error = run(&OP, &list, &[&x, &source, &zero], &[]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "select_and_scatter violates C2: s32[2] for windows [3]"
        );
    }
}
