//! Runs fused loops, piece by piece.
use super::frame::Frame;
use crate::kernels::iota::fill_iota;
use crate::kernels::lane_code::{Input, Output};
use crate::kernels::lanes::TILE;
use crate::kernels::parallel;
use crate::program::fuse::{Fused, Load};
use crate::program::plan::{Slot, Step};
use crate::tensor::DType;
use std::cell::RefCell;
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

/// Where a loop's operands and results are, by their numbers.
type Windows<'w, 'a> = &'w dyn Fn(usize) -> Window<'a>;

/// Runs the loop of a step.
pub(super) fn run_loop(frame: &Frame, fused: &Fused, step: &Step) {
    let operand = |index: usize| Window { frame, slot: step.operands[index], first: 0 };
    let result = |index: usize| Window { frame, slot: step.results[index], first: 0 };
    parallel::ranges(fused.elements, PIECE, |range| piece(fused, &operand, &result, range));
}

fn is_filled(load: &Load) -> bool {
    match load {
        Load::Dense(_) => false,
        Load::Map(_, map) => !map.is_one_element(),
        Load::Iota(..) => true,
    }
}

/// Runs some elements of a loop.
pub(super) fn piece<'a>(
    fused: &Fused,
    operand: Windows<'_, 'a>,
    result: Windows<'_, 'a>,
    elements: Range<usize>,
) {
    let filled = fused.loads.iter().filter(|load| is_filled(load)).count();
    if filled == 0 {
        return tile(fused, operand, result, elements, &mut []);
    }
    FILLED.with_borrow_mut(|rows| {
        let units = filled * ROW / 16;
        if rows.len() < units {
            rows.resize(units, 0);
        }
        let mut start = elements.start;
        while start < elements.end {
            let end = elements.end.min(start + TILE);
            tile(fused, operand, result, start..end, bytemuck::cast_slice_mut(rows));
            start = end;
        }
    });
}

/// Runs some elements of a loop. `rows` has room for a tile of each load that must be filled.
fn tile<'a>(
    fused: &Fused,
    operand: Windows<'_, 'a>,
    result: Windows<'_, 'a>,
    elements: Range<usize>,
    rows: &mut [u8],
) {
    let (start, count) = (elements.start, elements.len());
    let code = &fused.code;
    let mut rows = rows.chunks_exact_mut(ROW);
    let run_of = |window: Window<'a>, width: usize| {
        let at = (start - window.first) * width;
        &window.frame.cells(window.slot)[at..at + count * width]
    };
    let load = |(load, &dtype): (&Load, &DType)| -> Input<'_> {
        let width = dtype.host_bytes();
        let mut row = || &mut rows.next().unwrap_or_default()[..count * width];
        match load {
            Load::Dense(index) => run_of(operand(*index), width).into(),
            Load::Map(index, map) => {
                let from = operand(*index);
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
    let results =
        code.widths().enumerate().map(|(index, width)| Output::from(run_of(result(index), width)));
    let made = code.program().results.len();
    let loads = fused.loads.iter().zip(&code.program().parameters).map(load);
    if fused.loads.len() <= FEW && made <= FEW {
        let mut inputs = [Input::default(); FEW];
        let mut outputs = [Output::default(); FEW];
        inputs.iter_mut().zip(loads).for_each(|(slot, load)| *slot = load);
        outputs.iter_mut().zip(results).for_each(|(slot, result)| *slot = result);
        let (inputs, outputs) = (&inputs[..fused.loads.len()], &outputs[..made]);
        code.run(count, inputs, outputs);
    } else {
        code.run(count, &loads.collect::<Vec<_>>(), &results.collect::<Vec<_>>());
    }
}
