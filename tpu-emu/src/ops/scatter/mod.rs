//! `scatter`: combines windows of updates into arrays at given indices.
mod plan;

use super::reducer::Reducer;
use super::{Cost, Cx, Entry, Kernel, Lowered, Site};
use crate::error::Result;
use crate::kernels::fold::{Fold, Visitor, dispatch};
use crate::kernels::lanes::TILE;
use crate::kernels::walk::{carve, carved, gather, spread};
use crate::tensor::{DType, Shape};
use plan::{Dimensions, Plan};
use std::marker::PhantomData;
use std::sync::Arc;

/// Shapes: inputs of one shape, indices, and updates of one shape; the results are as the inputs.
/// A window that is not wholly inside the inputs is skipped. Windows follow each other in the
/// order of the updates.
///
/// Errors: dimension numbers that do not fit the shapes or each other, updates of other types, a
/// body of another type.
///
/// Source: StableHLO specification, "scatter", C1-C25.
pub(super) const OP: Entry = Entry { mnemonic: "scatter", infer, lower };

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
    let Some(starts) = starts(indices.dtype) else {
        return Err(site.unimplemented(format!("indices {indices}")));
    };
    let windows = Arc::new(Windows {
        plan: Plan::new(&dimensions, &inputs[0], indices, update),
        indices: indices.elements(),
        starts,
        inputs: inputs.len(),
        cost: reducer.cost(update.elements()),
    });
    if reducer.overwrites() {
        let widths = reducer.widths().collect();
        return Ok(Lowered::Kernel(Box::new(Overwrite { windows, widths })));
    }
    let known = reducer.combiner();
    let fast = known.and_then(|(combiner, dtype)| dispatch(combiner, dtype, Build(&windows)));
    Ok(Lowered::Kernel(fast.unwrap_or_else(|| Box::new(General { windows, reducer }))))
}

/// Turns indices into starts; negative ones and those past `usize` become `usize::MAX`.
type Starts = fn(&[u8], &mut [usize]);

fn starts(dtype: DType) -> Option<Starts> {
    fn of<T: bytemuck::Pod + TryInto<usize>>(indices: &[u8], starts: &mut [usize]) {
        for (start, &index) in starts.iter_mut().zip(bytemuck::cast_slice::<u8, T>(indices)) {
            *start = index.try_into().unwrap_or(usize::MAX);
        }
    }
    Some(match dtype {
        DType::S2 | DType::S4 | DType::S8 => of::<i8>,
        DType::S16 => of::<i16>,
        DType::S32 => of::<i32>,
        DType::S64 => of::<i64>,
        DType::U2 | DType::U4 | DType::U8 => of::<u8>,
        DType::U16 => of::<u16>,
        DType::U32 => of::<u32>,
        DType::U64 => of::<u64>,
        _ => return None,
    })
}

/// What every kernel of a scatter has.
#[derive(Debug)]
struct Windows {
    plan: Plan,
    /// Elements of the indices.
    indices: usize,
    starts: Starts,
    /// Number of inputs.
    inputs: usize,
    cost: Cost,
}

impl Windows {
    /// Scratch bytes for the starts.
    fn room(&self) -> usize {
        self.indices * size_of::<usize>()
    }

    /// Calls `row` as [`Plan::run`] does.
    fn run(
        &self,
        room: &mut [u8],
        indices: &[u8],
        row: &mut dyn FnMut([usize; 2], usize, [usize; 2]) -> Result<()>,
    ) -> Result<()> {
        let starts = bytemuck::cast_slice_mut(room);
        (self.starts)(indices, starts);
        self.plan.run(starts, row)
    }
}

/// A scatter that replaces elements.
#[derive(Debug)]
struct Overwrite {
    windows: Arc<Windows>,
    widths: Vec<usize>,
}

impl Kernel for Overwrite {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (indices, updates) = (operands[self.windows.inputs], &operands[self.windows.inputs + 1..]);
        let mut parts = carve(cx.scratch, [self.windows.room()]);
        let row = &mut |[from, to]: [usize; 2], count: usize, steps: [usize; 2]| {
            for ((update, result), &width) in updates.iter().zip(&mut *results).zip(&self.widths) {
                if steps == [1, 1] {
                    result[to * width..][..count * width]
                        .copy_from_slice(&update[from * width..][..count * width]);
                } else {
                    for index in 0..count {
                        let (from, to) = (from + index * steps[0], to + index * steps[1]);
                        result[to * width..][..width]
                            .copy_from_slice(&update[from * width..][..width]);
                    }
                }
            }
            Ok(())
        };
        self.windows.run(parts.remove(0), indices, row)
    }

    fn scratch(&self) -> usize {
        carved([self.windows.room()])
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        Some(result)
    }

    fn cost(&self) -> Cost {
        self.windows.cost
    }
}

/// Makes the kernel for a known combiner.
struct Build<'a>(&'a Arc<Windows>);

impl Visitor for Build<'_> {
    type Output = Box<dyn Kernel>;

    fn visit<F: Fold>(self) -> Box<dyn Kernel> {
        Box::new(Known::<F> { windows: Arc::clone(self.0), fold: PhantomData })
    }
}

/// A scatter into one input by a known combiner.
#[derive(Debug)]
struct Known<F> {
    windows: Arc<Windows>,
    fold: PhantomData<F>,
}

impl<F: Fold> Kernel for Known<F> {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let updates: &[F::Element] = bytemuck::cast_slice(operands[2]);
        let result: &mut [F::Element] = bytemuck::cast_slice_mut(results[0]);
        let mut parts = carve(cx.scratch, [self.windows.room()]);
        let row = &mut |[from, to]: [usize; 2], count: usize, steps: [usize; 2]| {
            if steps == [1, 1] {
                let result = &mut result[to..to + count];
                for (result, &update) in result.iter_mut().zip(&updates[from..from + count]) {
                    *result = F::combine(*result, update);
                }
            } else {
                for index in 0..count {
                    let result = &mut result[to + index * steps[1]];
                    *result = F::combine(*result, updates[from + index * steps[0]]);
                }
            }
            Ok(())
        };
        self.windows.run(parts.remove(0), operands[1], row)
    }

    fn scratch(&self) -> usize {
        carved([self.windows.room()])
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        Some(result)
    }

    fn cost(&self) -> Cost {
        self.windows.cost
    }
}

/// A scatter by any body: its lanes are elements of one window, which are all different.
#[derive(Debug)]
struct General {
    windows: Arc<Windows>,
    reducer: Reducer,
}

impl General {
    /// Sizes of the parts of the scratch memory: starts, offsets of lanes, and for each input
    /// what is held, what comes next, and updates.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let widths = self.reducer.widths().map(|width| width * TILE);
        let offsets = [self.windows.room(), TILE * size_of::<usize>()];
        offsets.into_iter().chain(widths.clone()).chain(widths.clone()).chain(widths)
    }
}

impl Kernel for General {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let count = self.windows.inputs;
        let (indices, updates) = (operands[count], &operands[count + 1..]);
        let mut parts = carve(cx.scratch, self.parts()).into_iter();
        let (Some(room), Some(offsets)) = (parts.next(), parts.next()) else { return Ok(()) };
        let offsets: &mut [usize] = bytemuck::cast_slice_mut(offsets);
        let mut held: Vec<&mut [u8]> = parts.by_ref().take(count).collect();
        let mut next: Vec<&mut [u8]> = parts.by_ref().take(count).collect();
        let mut elements: Vec<&mut [u8]> = parts.collect();
        let row = &mut |[from, to]: [usize; 2], length: usize, steps: [usize; 2]| {
            for start in (0..length).step_by(TILE) {
                let lanes = TILE.min(length - start);
                let (from, to) = (from + start * steps[0], to + start * steps[1]);
                let offsets = &mut offsets[..lanes];
                let along = |offsets: &mut [usize], step: usize| {
                    offsets.iter_mut().enumerate().for_each(|(lane, at)| *at = lane * step);
                };
                along(offsets, steps[0]);
                let parts = updates.iter().zip(&mut elements).zip(self.reducer.widths());
                for ((update, element), width) in parts {
                    gather(width, update, from, offsets, &mut element[..lanes * width]);
                }
                along(offsets, steps[1]);
                let parts = results.iter().zip(&mut held).zip(self.reducer.widths());
                for ((result, held), width) in parts {
                    gather(width, result, to, offsets, &mut held[..lanes * width]);
                }
                let parts = elements.iter().zip(self.reducer.widths());
                let now: Vec<&[u8]> =
                    parts.map(|(element, width)| &element[..lanes * width]).collect();
                self.reducer.step(lanes, &mut held, &now, &mut next)?;
                let parts = results.iter_mut().zip(&held).zip(self.reducer.widths());
                for ((result, held), width) in parts {
                    spread(width, &held[..lanes * width], to, offsets, result);
                }
            }
            Ok(())
        };
        self.windows.run(room, indices, row)
    }

    fn scratch(&self) -> usize {
        carved(self.parts())
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        Some(result)
    }

    fn cost(&self) -> Cost {
        self.windows.cost
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing_bodies::{Code, Value, integers, lane, run};
    use crate::kernels::lanes::Register::Parameter;
    use crate::ops::Body;
    use crate::tensor::DType;
    use std::sync::Arc;
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

    fn add() -> Arc<dyn Body> {
        Code::binary(lane!("add", S32 i32 => S32 i32, |a, b| a + b))
    }

    fn unknown() -> Arc<dyn Body> {
        Code::binary(lane!("twice", S32 i32 => S32 i32, |a, b| 2 * a + b))
    }

    fn overwrite() -> Arc<dyn Body> {
        Code::steps(&[DType::S32; 2], Vec::new(), &[Parameter(1)])
    }

    #[test]
    fn rows_are_combined_in_order_and_windows_outside_are_skipped() {
        let x = Value::of(DType::S32, &[3, 2], &[1, 2, 3, 4, 5, 6]);
        let at = Value::of(DType::S32, &[5, 1], &[2, 0, 2, 3, -1]);
        let updates: Vec<i32> = (1..=10).map(|value| value * 10).collect();
        let updates = Value::of(DType::S32, &[5, 2], &updates);
        let list = list(&[1], &[0], &[0], 1);
        let scatter = |body| {
            let found = run("stablehlo.scatter", &list, &[&x, &at, &updates], &[body]).unwrap();
            found[0].elements::<i32>()
        };
        assert_eq!(scatter(add()), [31, 42, 3, 4, 65, 86]);
        assert_eq!(scatter(overwrite()), [30, 40, 3, 4, 50, 60]);
        assert_eq!(scatter(unknown()), [32, 44, 3, 4, 4 * 5 + 2 * 10 + 50, 4 * 6 + 2 * 20 + 60]);
    }

    #[test]
    fn a_window_that_sticks_out_is_skipped_whole() {
        let x = Value::of(DType::S32, &[4], &[0; 4]);
        let at = Value::of(DType::U8, &[2, 1], &[3_u8, 1]);
        let updates = Value::of(DType::S32, &[2, 2], &[1, 2, 3, 4]);
        let list = list(&[1], &[], &[0], 1);
        let found = run("stablehlo.scatter", &list, &[&x, &at, &updates], &[add()]).unwrap();
        assert_eq!(found[0].elements::<i32>(), [0, 3, 4, 0]);
    }

    #[test]
    fn batching_axes_go_along_and_the_index_vector_may_be_anywhere() {
        let x = Value::of(DType::S32, &[2, 3], &[0; 6]);
        let at = Value::of(DType::S32, &[1, 2, 2], &[2, 1, 0, 0]);
        let updates = Value::of(DType::S32, &[2, 2], &[1, 2, 3, 4]);
        let mut list = list(&[], &[1], &[1], 0);
        list.push(("input_batching_dims", integers(&[0])));
        list.push(("scatter_indices_batching_dims", integers(&[2])));
        let found = run("stablehlo.scatter", &list, &[&x, &at, &updates], &[unknown()]).unwrap();
        // Batch 0 has indices 2 and 0, batch 1 has 1 and 0.
        assert_eq!(found[0].elements::<i32>(), [3, 0, 1, 4, 2, 0]);
    }

    #[test]
    fn updates_of_another_shape_are_refused() {
        let x = Value::of(DType::S32, &[3], &[0; 3]);
        let at = Value::of(DType::S32, &[2, 1], &[0, 0]);
        let updates = Value::of(DType::S32, &[3], &[0; 3]);
        let list = list(&[], &[0], &[0], 1);
        let error = run("stablehlo.scatter", &list, &[&x, &at, &updates], &[add()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "stablehlo.scatter violates C4: updates s32[3] for indices s32[2,1] into s32[3]"
        );
    }
}
