//! A reduction by any body, for many results at a time.
use super::reducer::{Reducer, splat};
use super::{Cost, Cx, FewReduced, Kernel};
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::movement::loop_nest::{Axis, carve, carved, gather, rows};
use tpu_kernels::movement::transpose::transpose_bytes;
use tpu_kernels::reduce::argminmax::PickLoops;
use tpu_kernels::reduce::axis::Reduction;

/// A reduction by any body: its lanes are results.
#[derive(Debug)]
pub(super) struct BodyReduce {
    pub(super) plan: Reduction,
    pub(super) reducer: Reducer,
    pub(super) outputs: usize,
    /// Chunks of each row that are reduced side by side; more than one for associative bodies.
    pub(super) chunks: usize,
    /// The loops of a body that picks elements of runs, and the runs' length, where they are long.
    pub(super) picked_runs: Option<(PickLoops, usize)>,
    pub(super) cost: Cost,
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

    /// Picks an element of each run of `count`.
    fn pick(
        &self,
        pick: PickLoops,
        count: usize,
        offsets: &[usize],
        inputs: &[&[u8]],
        held: &mut [&mut [u8]],
    ) {
        let mut widths = self.reducer.widths();
        let ([values, indices], [held_values, held_indices]) = (inputs, held) else { return };
        let (Some(wide), Some(narrow)) = (widths.next(), widths.next()) else { return };
        let held = held_values.chunks_exact_mut(wide).zip(held_indices.chunks_exact_mut(narrow));
        for (&at, (value, index)) in offsets.iter().zip(held) {
            let row = [
                &values[at * wide..(at + count) * wide],
                &indices[at * narrow..(at + count) * narrow],
            ];
            (pick.row)([value, index], row);
        }
    }

    /// Reduces the elements at `offsets` and those that follow them along the reduced axes.
    fn tile(&self, offsets: &[usize], inputs: &[&[u8]], buffers: &mut Buffers<'_>) -> Result<()> {
        let lanes = offsets.len();
        let start = offsets.first().copied().unwrap_or(0);
        let dense = offsets.iter().enumerate().all(|(lane, &offset)| offset == start + lane);
        let Buffers { held, next, elements } = buffers;
        if let Some((pick, count)) = self.picked_runs {
            self.pick(pick, count, offsets, inputs, held);
            return Ok(());
        }
        if let Some(apart) = self.rows_apart(offsets) {
            return self.transposed(start, apart, lanes, inputs, held, next);
        }
        let pick = self.reducer.pick_loops().filter(|_| dense);
        rows(&self.plan.reduced, [0], &mut |[at], count, [step]| {
            if let (Some(pick), [values, indices], &[value, index]) = (pick, &mut held[..], inputs)
            {
                let mut widths = self.reducer.widths();
                let [wide, narrow] = [(); 2].map(|()| widths.next().unwrap_or(1));
                let held = [&mut values[..lanes * wide], &mut indices[..lanes * narrow]];
                let from = [&value[(start + at) * wide..], &index[(start + at) * narrow..]];
                (pick.columns)(held, from, [count, step]);
                return Ok(());
            }
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

/// Where the elements along some axes lie, in order.
fn places(axes: &[Axis<1>]) -> Vec<usize> {
    let mut all = Vec::new();
    let listed = rows(axes, [0], &mut |[at], count, [step]| {
        all.extend((0..count).map(|index| at + index * step));
        Ok::<(), Infallible>(())
    });
    let Ok(()) = listed;
    all
}

/// Room for a tile of results, by input.
struct Buffers<'a> {
    held: Vec<&'a mut [u8]>,
    next: Vec<&'a mut [u8]>,
    elements: Vec<&'a mut [u8]>,
}

impl Kernel for BodyReduce {
    fn few_reduced(&self, most: usize) -> Option<FewReduced<'_>> {
        let body = self.reducer.program()?;
        let axes = [&self.plan.kept, &self.plan.reduced].into_iter().flatten();
        let all = axes.fold(1_usize, |all, axis| all.saturating_mul(axis.count));
        if all > most || self.chunks > 1 {
            return None;
        }
        let reduced = places(&self.plan.reduced);
        let of = |start| reduced.iter().map(|at| start + at).collect();
        let elements = places(&self.plan.kept).into_iter().map(of).collect();
        Some(FewReduced { body, elements })
    }

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

    fn part(&self, first: usize, parts: usize) -> Option<(Arc<dyn Kernel>, Range<usize>)> {
        let plan = self.plan.part(first, parts).filter(|_| self.chunks == 1)?;
        let (reducer, picked_runs) = (self.reducer.clone(), self.picked_runs);
        let (outputs, cost) = (self.outputs / parts, self.cost.part(parts));
        let inputs = reducer.widths().count();
        Some((Arc::new(Self { plan, reducer, outputs, chunks: 1, picked_runs, cost }), 0..inputs))
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
