//! Runs fused loops, tile by tile.
use super::frame::Frame;
use crate::kernels::iota::fill_iota;
use crate::kernels::lanes::TILE;
use crate::kernels::parallel;
use crate::program::fuse::{Fused, Load};
use crate::program::plan::Step;
use std::cell::RefCell;
use std::ops::Range;

/// Elements that one piece of a loop has when it is split over threads.
const PIECE: usize = 32 * TILE;

thread_local! {
    /// Registers of fused loops and their filled loads.
    static TILES: RefCell<(Vec<u128>, Vec<u128>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Runs the loop of a step.
pub(super) fn run_loop(frame: &Frame, fused: &Fused, step: &Step) {
    parallel::ranges(fused.elements, PIECE, |range| piece(frame, fused, step, range));
}

fn piece(frame: &Frame, fused: &Fused, step: &Step, elements: Range<usize>) {
    TILES.with_borrow_mut(|(registers, filled)| {
        fused.program.prepare(elements.len(), registers);
        let loads = fused.loads.len() * TILE;
        if filled.len() < loads {
            filled.resize(loads, 0);
        }
        let mut start = elements.start;
        while start < elements.end {
            let count = TILE.min(elements.end - start);
            tile(frame, fused, step, start, count, registers, filled);
            start += count;
        }
    });
}

fn tile(
    frame: &Frame,
    fused: &Fused,
    step: &Step,
    start: usize,
    count: usize,
    registers: &mut [u128],
    filled: &mut [u128],
) {
    for ((load, &dtype), place) in
        fused.loads.iter().zip(&fused.program.parameters).zip(filled.chunks_exact_mut(TILE))
    {
        let width = dtype.host_bytes();
        let place = &mut bytemuck::cast_slice_mut::<u128, u8>(place)[..count * width];
        match load {
            Load::Dense(_) => {}
            Load::Map(operand, map) => {
                map.fill(width, frame.bytes(step.operands[*operand]), start, place);
            }
            Load::Iota(inner, extent) => fill_iota(dtype, start, *inner, *extent, place),
        }
    }
    let filled: &[u128] = filled;
    let input = |parameter: usize| -> &[u8] {
        let width = fused.program.parameters[parameter].host_bytes();
        match &fused.loads[parameter] {
            Load::Dense(operand) => {
                &frame.bytes(step.operands[*operand])[start * width..(start + count) * width]
            }
            Load::Map(..) | Load::Iota(..) => {
                let place = &filled[parameter * TILE..(parameter + 1) * TILE];
                &bytemuck::cast_slice(place)[..count * width]
            }
        }
    };
    fused.program.tile(count, registers, &input, |index, bytes| {
        let width = bytes.len() / count;
        frame.write(step.results[index], start * width, bytes);
    });
}
