//! Runs fused loops, piece by piece.
use super::frame::Frame;
use crate::kernels::iota::fill_iota;
use crate::kernels::lane_code::{Input, Output};
use crate::kernels::lanes::TILE;
use crate::kernels::parallel;
use crate::program::fuse::{Fused, Load};
use crate::program::plan::{Slot, Step};
use crate::tensor::DType;
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// Elements that one piece of a loop has when it is split over threads.
const PIECE: usize = 32 * TILE;
/// Bytes from one filled load to the next.
const ROW: usize = TILE * 16 + 64;
/// Loads and results that a loop takes without an allocation.
const FEW: usize = 16;

thread_local! {
    /// Filled loads.
    static FILLED: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

/// What a loop reads or writes: a place, and which of the loop's elements it begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) frame: &'a Frame,
    pub(super) slot: Slot,
    pub(super) first: usize,
}

impl<'a> Window<'a> {
    /// The place of some of the loop's elements.
    fn some(self, elements: &Range<usize>, width: usize) -> Slot {
        let offset = self.slot.offset + (elements.start - self.first) * width;
        Slot { base: self.slot.base, offset, bytes: elements.len() * width }
    }

    fn cells(self, elements: &Range<usize>, width: usize) -> &'a [Cell<u8>] {
        self.frame.cells(self.some(elements, width))
    }
}

/// The values of a loop, by the numbers of its operands and results.
pub(super) trait Windows {
    /// Where an operand is.
    fn operand(&self, index: usize) -> Window<'_>;
    /// Where a result goes.
    fn result(&self, index: usize) -> Window<'_>;
}

impl Windows for (&Frame, &Step) {
    fn operand(&self, index: usize) -> Window<'_> {
        Window { frame: self.0, slot: self.1.operands[index], first: 0 }
    }

    fn result(&self, index: usize) -> Window<'_> {
        Window { frame: self.0, slot: self.1.results[index], first: 0 }
    }
}

/// Runs the loop of a step.
pub(super) fn run_loop(frame: &Frame, fused: &Fused, step: &Step) {
    parallel::ranges(fused.elements, PIECE, |range| piece(fused, &(frame, step), range));
}

fn is_filled(load: &Load) -> bool {
    match load {
        Load::Dense(_) => false,
        Load::Map(_, map) => !map.is_one_element(),
        Load::Iota(..) => true,
    }
}

/// Runs some elements of a loop.
pub(super) fn piece<W: Windows>(fused: &Fused, at: &W, elements: Range<usize>) {
    if let Some((index, map)) = fused.copies() {
        let (from, to) = (at.operand(index), at.result(0));
        let width = fused.code.program().parameters[0].host_bytes();
        let operand = from.frame.bytes(from.slot);
        let result = to.frame.bytes_mut(to.some(&elements, width));
        map.fill(width, operand, elements.start - from.first, result);
        return;
    }
    let filled = fused.loads.iter().filter(|load| is_filled(load)).count();
    if filled == 0 {
        return tile(fused, at, elements, &mut []);
    }
    FILLED.with_borrow_mut(|rows| {
        let units = filled * ROW / 16;
        if rows.len() < units {
            rows.resize(units, 0);
        }
        let mut start = elements.start;
        while start < elements.end {
            let end = elements.end.min(start + TILE);
            tile(fused, at, start..end, bytemuck::cast_slice_mut(rows));
            start = end;
        }
    });
}

/// Runs some elements of a loop. `rows` has room for a tile of each load that must be filled.
fn tile<W: Windows>(fused: &Fused, at: &W, elements: Range<usize>, rows: &mut [u8]) {
    let (start, count) = (elements.start, elements.len());
    let code = &fused.code;
    let mut rows = rows.chunks_exact_mut(ROW);
    let load = |(load, &dtype): (&Load, &DType)| -> Input<'_> {
        let width = dtype.host_bytes();
        let mut row = || &mut rows.next().unwrap_or_default()[..count * width];
        match load {
            Load::Dense(index) => at.operand(*index).cells(&elements, width).into(),
            Load::Map(index, map) => {
                let from = at.operand(*index);
                if let Some(at) = map.one_element() {
                    return from.frame.cells(from.slot)[at * width..(at + 1) * width].into();
                }
                let row = row();
                map.fill(width, from.frame.bytes(from.slot), start - from.first, row);
                Input::from(&*row)
            }
            Load::Iota(inner, extent) => {
                let row = row();
                fill_iota(dtype, start, *inner, *extent, row);
                Input::from(&*row)
            }
        }
    };
    let result = |(index, width): (usize, usize)| -> Output<'_> {
        Output::from(at.result(index).cells(&elements, width))
    };
    let loads = fused.loads.iter().zip(&code.program().parameters).map(load);
    let results = code.widths().enumerate().map(result);
    let (reads, writes) = (fused.loads.len(), code.program().results.len());
    if reads <= FEW && writes <= FEW {
        let mut inputs = [Input::default(); FEW];
        let mut outputs = [Output::default(); FEW];
        inputs.iter_mut().zip(loads).for_each(|(slot, load)| *slot = load);
        outputs.iter_mut().zip(results).for_each(|(slot, result)| *slot = result);
        let (inputs, outputs) = (&inputs[..reads], &outputs[..writes]);
        code.run(count, inputs, outputs);
    } else {
        code.run(count, &loads.collect::<Vec<_>>(), &results.collect::<Vec<_>>());
    }
}
