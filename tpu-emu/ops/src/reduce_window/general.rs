//! Windows under any body: its lanes are results.
use crate::reducer::{Reducer, splat};
use crate::{Cost, Cx, Kernel};
use tpu_base::error::Result;
use tpu_kernels::elementwise::tuning::TILE_ELEMENTS;
use tpu_kernels::movement::loop_nest::{carve, carved, gather, rows, spread};
use tpu_kernels::window::geometry::Windows;

/// Windows of any number of inputs.
#[derive(Debug)]
pub(super) struct BodyWindows {
    pub(super) windows: Windows,
    pub(super) reducer: Reducer,
    pub(super) cost: Cost,
}

impl BodyWindows {
    /// Offsets in results and inputs, then for each input what is held, what comes next, and
    /// elements.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let offsets = [TILE_ELEMENTS * size_of::<usize>(); 2];
        let widths = self.reducer.widths().map(|width| width * TILE_ELEMENTS);
        offsets.into_iter().chain(widths.clone()).chain(widths.clone()).chain(widths)
    }

    /// One step of the results at `offsets.0` with the elements at `offsets.1`.
    fn step(
        &self,
        offsets: [&[usize]; 2],
        inputs: &[&[u8]],
        results: &mut [&mut [u8]],
        [held, next, elements]: &mut [Vec<&mut [u8]>; 3],
    ) -> Result<()> {
        let lanes = offsets[0].len();
        let parts = inputs.iter().zip(&*results).zip(held.iter_mut().zip(&mut *elements));
        for (((input, result), (held, element)), width) in parts.zip(self.reducer.widths()) {
            gather(width, result, 0, offsets[0], &mut held[..lanes * width]);
            gather(width, input, 0, offsets[1], &mut element[..lanes * width]);
        }
        let parts = elements.iter().zip(self.reducer.widths());
        let now: Vec<&[u8]> = parts.map(|(element, width)| &element[..lanes * width]).collect();
        self.reducer.step(lanes, held, &now, next)?;
        for ((result, held), width) in results.iter_mut().zip(held).zip(self.reducer.widths()) {
            spread(width, &held[..lanes * width], 0, offsets[0], result);
        }
        Ok(())
    }
}

impl Kernel for BodyWindows {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let count = results.len();
        let (inputs, initial) = operands.split_at(count);
        let mut parts = carve(cx.scratch, self.parts()).into_iter();
        let (Some(to), Some(from)) = (parts.next(), parts.next()) else { return Ok(()) };
        let to: &mut [usize] = bytemuck::cast_slice_mut(to);
        let from: &mut [usize] = bytemuck::cast_slice_mut(from);
        let mut buffers =
            [0; 3].map(|_: usize| parts.by_ref().take(count).collect::<Vec<&mut [u8]>>());
        for (result, initial) in results.iter_mut().zip(initial) {
            splat(initial, result);
        }
        for block in self.windows.blocks() {
            self.windows.places(block, &mut |axes, start| {
                let start = [start[0] + block.0, start[1]];
                let mut lanes = 0;
                rows(axes, start, &mut |at, count, steps| {
                    for index in 0..count {
                        to[lanes] = at[0] + index * steps[0];
                        from[lanes] = at[1] + index * steps[1];
                        lanes += 1;
                        if lanes == TILE_ELEMENTS {
                            self.step([to, from], inputs, results, &mut buffers)?;
                            lanes = 0;
                        }
                    }
                    Ok(())
                })?;
                if lanes > 0 {
                    self.step([&to[..lanes], &from[..lanes]], inputs, results, &mut buffers)?;
                }
                Ok(())
            })?;
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
