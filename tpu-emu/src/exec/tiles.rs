//! Runs fused loops, piece by piece.
use super::frame::Frame;
use crate::kernels::iota::fill_iota;
use crate::kernels::lane_code::{Input, Output};
use crate::kernels::lanes::TILE;
use crate::kernels::parallel;
use crate::program::fuse::{Fused, Load};
use crate::program::plan::Step;
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

/// Runs the loop of a step.
pub(super) fn run_loop(frame: &Frame, fused: &Fused, step: &Step) {
    parallel::ranges(fused.elements, PIECE, |range| piece(frame, fused, step, range));
}

fn is_filled(load: &Load) -> bool {
    match load {
        Load::Dense(_) => false,
        Load::Map(_, map) => !map.is_one_element(),
        Load::Iota(..) => true,
    }
}

fn piece(frame: &Frame, fused: &Fused, step: &Step, elements: Range<usize>) {
    let filled = fused.loads.iter().filter(|load| is_filled(load)).count();
    if filled == 0 {
        return tile(frame, fused, step, elements, &mut []);
    }
    FILLED.with_borrow_mut(|rows| {
        let units = filled * ROW / 16;
        if rows.len() < units {
            rows.resize(units, 0);
        }
        let mut start = elements.start;
        while start < elements.end {
            let end = elements.end.min(start + TILE);
            tile(frame, fused, step, start..end, bytemuck::cast_slice_mut(rows));
            start = end;
        }
    });
}

/// Runs some elements of a loop. `rows` has room for a tile of each load that must be filled.
fn tile(frame: &Frame, fused: &Fused, step: &Step, elements: Range<usize>, rows: &mut [u8]) {
    let (start, count) = (elements.start, elements.len());
    let code = &fused.code;
    let mut rows = rows.chunks_exact_mut(ROW);
    let load = |(load, &dtype): (&Load, &crate::tensor::DType)| -> Input<'_> {
        let width = dtype.host_bytes();
        let operand = |operand: usize| frame.cells(step.operands[operand]);
        let mut row = || &mut rows.next().unwrap_or_default()[..count * width];
        match load {
            Load::Dense(index) => operand(*index)[start * width..(start + count) * width].into(),
            Load::Map(index, map) => {
                if let Some(at) = map.one_element() {
                    return operand(*index)[at * width..(at + 1) * width].into();
                }
                let row = row();
                map.fill(width, frame.bytes(step.operands[*index]), start, row);
                Input::from(&*row)
            }
            Load::Iota(inner, extent) => {
                let row = row();
                fill_iota(dtype, start, *inner, *extent, row);
                Input::from(&*row)
            }
        }
    };
    let result = |(&slot, width): (&crate::program::plan::Slot, usize)| {
        Output::from(&frame.cells(slot)[start * width..(start + count) * width])
    };
    let loads = fused.loads.iter().zip(&code.program().parameters).map(load);
    let results = step.results.iter().zip(code.widths()).map(result);
    if fused.loads.len() <= FEW && step.results.len() <= FEW {
        let mut inputs = [Input::default(); FEW];
        let mut outputs = [Output::default(); FEW];
        inputs.iter_mut().zip(loads).for_each(|(slot, load)| *slot = load);
        outputs.iter_mut().zip(results).for_each(|(slot, result)| *slot = result);
        let (inputs, outputs) = (&inputs[..fused.loads.len()], &outputs[..step.results.len()]);
        code.run(count, inputs, outputs);
    } else {
        code.run(count, &loads.collect::<Vec<_>>(), &results.collect::<Vec<_>>());
    }
}
