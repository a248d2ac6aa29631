//! Runs fused loops, tile by tile.
use super::frame::Frame;
use crate::kernels::iota::fill_iota;
use crate::kernels::lanes::TILE;
use crate::kernels::parallel;
use crate::program::fuse::{Fused, Load};
use crate::program::plan::{Slot, Step};
use std::cell::RefCell;
use std::ops::Range;

/// Elements that one piece of a loop has when it is split over threads.
const PIECE: usize = 32 * TILE;

thread_local! {
    /// Registers of fused loops and their filled loads.
    static TILES: RefCell<(Vec<u128>, Vec<u128>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// What a loop reads or writes: a place, and which of the loop's elements it begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) frame: &'a Frame,
    pub(super) slot: Slot,
    pub(super) first: usize,
}

/// Runs the loop of a step.
pub(super) fn run_loop(frame: &Frame, fused: &Fused, step: &Step) {
    let operand = |index: usize| Window { frame, slot: step.operands[index], first: 0 };
    let result = |index: usize| Window { frame, slot: step.results[index], first: 0 };
    parallel::ranges(fused.elements, PIECE, |range| piece(fused, &operand, &result, range));
}

/// Runs some elements of a loop.
pub(super) fn piece<'a>(
    fused: &Fused,
    operand: &dyn Fn(usize) -> Window<'a>,
    result: &dyn Fn(usize) -> Window<'a>,
    elements: Range<usize>,
) {
    if let Some((index, map)) = fused.copies() {
        let (from, to) = (operand(index), result(0));
        let width = fused.program.parameters[0].host_bytes();
        let offset = to.slot.offset + (elements.start - to.first) * width;
        let slot = Slot { base: to.slot.base, offset, bytes: elements.len() * width };
        let start = elements.start - from.first;
        map.fill(width, from.frame.bytes(from.slot), start, to.frame.bytes_mut(slot));
        return;
    }
    TILES.with_borrow_mut(|(registers, filled)| {
        fused.program.prepare(elements.len(), registers);
        let loads = fused.loads.len() * TILE;
        if filled.len() < loads {
            filled.resize(loads, 0);
        }
        let mut start = elements.start;
        while start < elements.end {
            let count = TILE.min(elements.end - start);
            tile(fused, operand, result, start, count, registers, filled);
            start += count;
        }
    });
}

fn tile<'a>(
    fused: &Fused,
    operand: &dyn Fn(usize) -> Window<'a>,
    result: &dyn Fn(usize) -> Window<'a>,
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
            Load::Map(index, map) => {
                let from = operand(*index);
                map.fill(width, from.frame.bytes(from.slot), start - from.first, place);
            }
            Load::Iota(inner, extent) => fill_iota(dtype, start, *inner, *extent, place),
        }
    }
    let filled: &[u128] = filled;
    let input = |parameter: usize| -> &[u8] {
        let width = fused.program.parameters[parameter].host_bytes();
        match &fused.loads[parameter] {
            Load::Dense(index) => {
                let from = operand(*index);
                let at = (start - from.first) * width;
                &from.frame.bytes(from.slot)[at..at + count * width]
            }
            Load::Map(..) | Load::Iota(..) => {
                let place = &filled[parameter * TILE..(parameter + 1) * TILE];
                &bytemuck::cast_slice(place)[..count * width]
            }
        }
    };
    fused.program.tile(count, registers, &input, |index, bytes| {
        let width = bytes.len() / count;
        let to = result(index);
        to.frame.write(to.slot, (start - to.first) * width, bytes);
    });
}
