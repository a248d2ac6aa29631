//! Runs fused loops, piece by piece.
use super::frame::Frame;
use crate::passes::fuse::operand_access::AddressMode;
use crate::passes::fuse::{FusedLoop, LoopInput, StridedCopy};
use crate::plan::{Slot, Step};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::TILE;
use tpu_kernels::elementwise::vm::{Bound, Input, Output};
use tpu_kernels::movement::iota::fill_iota;
use tpu_kernels::parallel;

/// Elements that one piece of a loop has when it is split over threads.
const PIECE: usize = 32 * TILE;
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
pub(super) trait LoopValues {
    /// Where an operand is.
    fn operand(&self, index: usize) -> Window<'_>;
    /// Where a result goes.
    fn result(&self, index: usize) -> Window<'_>;
}

impl LoopValues for (&Frame, &Step) {
    fn operand(&self, index: usize) -> Window<'_> {
        Window { frame: self.0, slot: self.1.operands[index], first: 0 }
    }

    fn result(&self, index: usize) -> Window<'_> {
        Window { frame: self.0, slot: self.1.results[index], first: 0 }
    }
}

/// Runs the copy of a step.
pub(super) fn run_copy(frame: &Frame, copy: &StridedCopy, step: &Step) {
    if copy.map.wants_blocks() {
        let operand = frame.bytes(step.operands[0]);
        let result = frame.bytes_mut(step.results[0]);
        return copy.map.fill_blocks(copy.dtype.host_bytes(), operand, result);
    }
    parallel::ranges(copy.elements, PIECE, |range| copy_piece(copy, &(frame, step), range));
}

/// Copies some elements.
pub(super) fn copy_piece<W: LoopValues>(copy: &StridedCopy, at: &W, elements: Range<usize>) {
    let (from, to) = (at.operand(0), at.result(0));
    let width = copy.dtype.host_bytes();
    let operand = from.frame.bytes(from.slot);
    let result = to.frame.bytes_mut(to.some(&elements, width));
    copy.map.fill(width, operand, elements.start - from.first, result);
}

/// Runs the loop of a step.
pub(super) fn run_loop(frame: &Frame, fused: &FusedLoop, step: &Step) {
    parallel::ranges(fused.elements, PIECE, |range| piece(fused, &(frame, step), range));
}

/// Runs some elements of a loop.
pub(super) fn piece<W: LoopValues>(fused: &FusedLoop, at: &W, elements: Range<usize>) {
    if fused.room == 0 {
        return spans(fused, at, elements, &mut []);
    }
    FILLED.with_borrow_mut(|room| {
        let units = fused.room.div_ceil(16);
        if room.len() < units {
            room.resize(units, 0);
        }
        let room = &mut bytemuck::cast_slice_mut(room)[..fused.room];
        keep(fused, at, &elements, room);
        spans(fused, at, elements, room);
    });
}

/// The loop of a step with its arrays, where it is one call of machine code.
pub(super) fn bind<'f>(frame: &'f Frame, fused: &FusedLoop, step: &Step) -> Option<Bound<'f>> {
    if fused.elements > PIECE {
        return None;
    }
    let dtypes = &fused.code.program().parameters;
    let mut inputs = Vec::with_capacity(fused.loads.len());
    for ((load, way), dtype) in fused.loads.iter().zip(&fused.ways).zip(dtypes) {
        let (LoopInput::Dense(operand) | LoopInput::Map(operand, _)) = load else { return None };
        let (first, count) = match *way {
            AddressMode::Run(first) => (first, fused.elements),
            AddressMode::One(first) => (first, 1),
            _ => return None,
        };
        let width = dtype.host_bytes();
        let cells = frame.cells(step.operands[*operand]);
        inputs.push(Input::from(&cells[first * width..(first + count) * width]));
    }
    let outputs: Vec<Output<'f>> =
        step.results.iter().map(|&result| Output::from(frame.cells(result))).collect();
    fused.code.bind(fused.elements, &inputs, &outputs)
}

/// The first element of a load among those of the loop.
fn first<W: LoopValues>(load: &LoopInput, at: &W) -> usize {
    match load {
        LoopInput::Dense(index) | LoopInput::Map(index, _) | LoopInput::All(index, _) => {
            at.operand(*index).first
        }
        LoopInput::Iota(..) | LoopInput::Pieces(_) => 0,
    }
}

/// Elements of a load, from number `local` of it on.
fn fill<W: LoopValues>(load: &LoopInput, dtype: DType, at: &W, local: usize, into: &mut [u8]) {
    match load {
        LoopInput::Iota(inner, extent) => fill_iota(dtype, local, *inner, *extent, into),
        LoopInput::Map(index, map) => {
            let from = at.operand(*index);
            map.fill(dtype.host_bytes(), from.frame.bytes(from.slot), local, into);
        }
        LoopInput::Dense(_) | LoopInput::All(..) | LoopInput::Pieces(_) => {}
    }
}

/// Fills what is kept for a whole run of a loop.
fn keep<W: LoopValues>(fused: &FusedLoop, at: &W, elements: &Range<usize>, room: &mut [u8]) {
    let dtypes = &fused.code.program().parameters;
    for (index, way) in fused.ways.iter().enumerate() {
        let AddressMode::Again { period, kept } = *way else { continue };
        let (load, dtype) = (&fused.loads[index], dtypes[index]);
        let local = (elements.start - first(load, at)) % period;
        let count = kept.min(local + elements.len());
        let into = &mut room[fused.aside[index]..][..count * dtype.host_bytes()];
        fill(load, dtype, at, 0, into);
    }
}

/// Runs some elements of a loop. `room` has what is kept, and place for what is filled.
fn spans<W: LoopValues>(fused: &FusedLoop, at: &W, elements: Range<usize>, room: &mut [u8]) {
    let mut start = elements.start;
    while start < elements.end {
        let span = |(load, way): (&LoopInput, &AddressMode)| match way {
            AddressMode::Run(_) | AddressMode::One(_) | AddressMode::All(_) => usize::MAX,
            _ => way.span(load, start - first(load, at)),
        };
        let least = fused.loads.iter().zip(&fused.ways).map(span).min().unwrap_or(usize::MAX);
        let end = start + least.min(elements.end - start);
        span_of(fused, at, start..end, room);
        start = end;
    }
}

/// Runs elements that every load has at once.
fn span_of<W: LoopValues>(fused: &FusedLoop, at: &W, elements: Range<usize>, room: &mut [u8]) {
    let (start, count) = (elements.start, elements.len());
    let code = &fused.code;
    let dtypes = &code.program().parameters;
    for (index, (load, way)) in fused.loads.iter().zip(&fused.ways).enumerate() {
        let count = match (way, load) {
            (AddressMode::Fill, _) => count,
            (AddressMode::Steps(_), LoopInput::Iota(..)) => 1,
            _ => continue,
        };
        let into = &mut room[fused.aside[index]..][..count * dtypes[index].host_bytes()];
        fill(load, dtypes[index], at, start - first(load, at), into);
    }
    let room = &*room;
    let load = |index: usize| -> Input<'_> {
        let (load, way, width) =
            (&fused.loads[index], fused.ways[index], dtypes[index].host_bytes());
        let local = start - first(load, at);
        let place = match (load, way) {
            (_, AddressMode::Fill) | (LoopInput::Iota(..), AddressMode::Steps(_)) => 0,
            (_, AddressMode::Again { period, .. }) => local % period,
            (LoopInput::All(operand, elements), _) => {
                let from = at.operand(*operand);
                return from.frame.cells(from.slot)[..elements * width].into();
            }
            (LoopInput::Pieces(pieces), _) => {
                let (operand, place) = pieces.at(local);
                let from = at.operand(operand);
                return from.frame.cells(from.slot)[place * width..(place + count) * width].into();
            }
            (LoopInput::Dense(operand) | LoopInput::Map(operand, _), _) => {
                let from = at.operand(*operand);
                let (place, count) = match (way, load) {
                    (AddressMode::One(at), _) => (at, 1),
                    (AddressMode::Run(at), _) => (at + local, count),
                    (AddressMode::Steps(_), LoopInput::Map(_, map)) => (map.at(local), 1),
                    (_, LoopInput::Map(_, map)) => (map.at(local), count),
                    _ => (local, count),
                };
                return from.frame.cells(from.slot)[place * width..(place + count) * width].into();
            }
            (LoopInput::Iota(..), _) => 0,
        };
        let count = if matches!(way, AddressMode::Steps(_)) { 1 } else { count };
        room[fused.aside[index] + place * width..][..count * width].into()
    };
    let result = |(index, width): (usize, usize)| -> Output<'_> {
        Output::from(at.result(index).cells(&elements, width))
    };
    let results = code.widths().enumerate().map(result);
    let (reads, writes) = (fused.loads.len(), code.program().results.len());
    let loads = (0..reads).map(load);
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
