//! Scatters by any body.
use super::ScatterWindows;
use crate::OneHot;
use crate::reducer::Reducer;
use crate::tuning::SCATTER_MARK_ELEMENTS;
use crate::{Cost, Cx, Kernel};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::movement::index::NOWHERE;
use tpu_kernels::movement::loop_nest::{carve, carved, gather, rows, spread};

/// A scatter by any body: its lanes are elements that are all different, so that none needs
/// what the body makes of another.
#[derive(Debug)]
pub(super) struct BodyScatter {
    pub(super) windows: Arc<ScatterWindows>,
    pub(super) reducer: Reducer,
}

impl BodyScatter {
    /// Sizes of the parts of the scratch memory: marks, offsets of lanes in results and updates,
    /// and for each input what is held, what comes next, and updates.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let widths = self.reducer.widths().map(|width| width * TILE_ELEMENTS);
        let offsets = TILE_ELEMENTS * size_of::<usize>();
        let fixed = [SCATTER_MARK_ELEMENTS * size_of::<u32>(), offsets, offsets];
        fixed.into_iter().chain(widths.clone()).chain(widths.clone()).chain(widths)
    }
}

/// Lanes that wait for the body, and room for its operands.
struct Lanes<'a> {
    reducer: &'a Reducer,
    /// The number of the batch that an element was last in.
    marks: &'a mut [u32],
    batch: u32,
    to: &'a mut [usize],
    from: &'a mut [usize],
    count: usize,
    held: Vec<&'a mut [u8]>,
    next: Vec<&'a mut [u8]>,
    elements: Vec<&'a mut [u8]>,
}

impl Lanes<'_> {
    /// One more lane, after those before it where it may be one of their elements.
    fn push(
        &mut self,
        [from, to]: [usize; 2],
        updates: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Result<()> {
        if self.count == TILE_ELEMENTS || self.marks[to % SCATTER_MARK_ELEMENTS] == self.batch {
            self.flush(updates, results)?;
        }
        self.marks[to % SCATTER_MARK_ELEMENTS] = self.batch;
        self.to[self.count] = to;
        self.from[self.count] = from;
        self.count += 1;
        Ok(())
    }

    /// Runs the body on the lanes that wait.
    fn flush(&mut self, updates: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let lanes = std::mem::take(&mut self.count);
        self.batch = self.batch.wrapping_add(1);
        if self.batch == 0 {
            self.marks.fill(0);
            self.batch = 1;
        }
        if lanes == 0 {
            return Ok(());
        }
        let (to, from) = (&self.to[..lanes], &self.from[..lanes]);
        let widths = self.reducer.widths();
        let sides = self.held.iter_mut().zip(&mut self.elements);
        for (((update, result), (held, element)), width) in
            updates.iter().zip(&*results).zip(sides).zip(widths.clone())
        {
            gather(width, update, 0, from, &mut element[..lanes * width]);
            gather(width, result, 0, to, &mut held[..lanes * width]);
        }
        let parts = self.elements.iter().zip(widths.clone());
        let now: Vec<&[u8]> = parts.map(|(element, width)| &element[..lanes * width]).collect();
        self.reducer.step(lanes, &mut self.held, &now, &mut self.next)?;
        for ((result, held), width) in results.iter_mut().zip(&self.held).zip(widths) {
            spread(width, &held[..lanes * width], 0, to, result);
        }
        Ok(())
    }
}

impl Kernel for BodyScatter {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let count = self.windows.inputs;
        let (indices, updates) = (operands[count], &operands[count + 1..]);
        let mut parts = carve(cx.scratch, self.parts()).into_iter();
        let (Some(marks), Some(to), Some(from)) = (parts.next(), parts.next(), parts.next()) else {
            return Ok(());
        };
        marks.fill(0);
        let mut lanes = Lanes {
            reducer: &self.reducer,
            marks: bytemuck::cast_slice_mut(marks),
            batch: 1,
            to: bytemuck::cast_slice_mut(to),
            from: bytemuck::cast_slice_mut(from),
            count: 0,
            held: parts.by_ref().take(count).collect(),
            next: parts.by_ref().take(count).collect(),
            elements: parts.collect(),
        };
        let plan = &self.windows.plan;
        plan.chunks(indices, &mut |from, step, places| {
            let inside = places.iter().enumerate().filter(|&(_, &place)| place != NOWHERE);
            for (number, &place) in inside {
                rows(&plan.window, [from + number * step, place], &mut |at, count, steps| {
                    (0..count).try_for_each(|index| {
                        let at = [at[0] + index * steps[0], at[1] + index * steps[1]];
                        lanes.push(at, updates, results)
                    })
                })?;
            }
            Ok(())
        })?;
        lanes.flush(updates, results)
    }

    fn scratch(&self) -> usize {
        carved(self.parts())
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        Some(result)
    }

    fn one_hot(&self) -> Option<&OneHot> {
        self.windows.one_hot.as_ref()
    }

    fn cost(&self) -> Cost {
        self.windows.cost
    }
}
