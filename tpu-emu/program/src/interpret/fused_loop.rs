//! Runs fused loops, chunk by chunk.
use super::frame::Frame;
use crate::passes::fuse::operand_access::AddressMode;
use crate::passes::fuse::{FusedLoop, LoopInput, StridedCopy};
use crate::plan::{Slot, Step};
use crate::tuning::{INLINE_LOOP_ARRAYS, IOTA_BATCH_ELEMENTS, LOOP_CHUNK_ELEMENTS};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use tpu_base::tensor::DType;
use tpu_kernels::movement::deinterleave::deinterleave;
use tpu_kernels::movement::iota::fill_iota;
use tpu_kernels::parallel;
use tpu_kernels::vm::{Input, Output, Stretched};

thread_local! {
    /// Elements that are gathered for inputs.
    static SCRATCH: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

/// What a loop reads or writes: its memory, and which of the loop's elements it begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) frame: &'a Frame,
    pub(super) slot: Slot,
    pub(super) first: usize,
}

impl<'a> Window<'a> {
    /// The memory of some of the loop's elements.
    fn some(self, elements: &Range<usize>, width: usize) -> Slot {
        self.slot.part((elements.start - self.first) * width, elements.len() * width)
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
    parallel::ranges(copy.elements, LOOP_CHUNK_ELEMENTS, |range| {
        copy_chunk(copy, &(frame, step), range)
    });
}

/// Copies some elements.
pub(super) fn copy_chunk<W: LoopValues>(copy: &StridedCopy, at: &W, elements: Range<usize>) {
    let (from, to) = (at.operand(0), at.result(0));
    let width = copy.dtype.host_bytes();
    let operand = from.frame.bytes(from.slot);
    let result = to.frame.bytes_mut(to.some(&elements, width));
    copy.map.fill(width, operand, elements.start - from.first, result);
}

/// Runs the loop of a step.
pub(super) fn run_loop(frame: &Frame, fused: &FusedLoop, step: &Step) {
    parallel::ranges(fused.elements, LOOP_CHUNK_ELEMENTS, |range| {
        run_chunk(fused, &(frame, step), range)
    });
}

/// Runs some elements of a loop.
pub(super) fn run_chunk<W: LoopValues>(fused: &FusedLoop, at: &W, elements: Range<usize>) {
    if fused.scratch_bytes == 0 {
        return spans(fused, at, elements, &mut []);
    }
    SCRATCH.with_borrow_mut(|scratch| {
        let words = fused.scratch_bytes.div_ceil(16);
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        let scratch = &mut bytemuck::cast_slice_mut(scratch)[..fused.scratch_bytes];
        gather_periods(fused, at, &elements, scratch);
        spans(fused, at, elements, scratch);
    });
}

/// The first element of an input among those of the loop.
fn first<W: LoopValues>(input: &LoopInput, at: &W) -> usize {
    match input {
        LoopInput::Dense(index) | LoopInput::Strided(index, _) | LoopInput::Table(index, _) => {
            at.operand(*index).first
        }
        LoopInput::Iota(..) | LoopInput::Concat(_) => 0,
    }
}

/// Elements of an input, from number `local` of it on.
fn gather<W: LoopValues>(input: &LoopInput, dtype: DType, at: &W, local: usize, into: &mut [u8]) {
    match input {
        LoopInput::Iota(inner, extent) => fill_iota(dtype, local, *inner, *extent, into),
        LoopInput::Strided(index, map) => {
            let from = at.operand(*index);
            map.fill(dtype.host_bytes(), from.frame.bytes(from.slot), local, into);
        }
        LoopInput::Dense(_) | LoopInput::Table(..) | LoopInput::Concat(_) => {}
    }
}

/// Gathers so many elements of all columns of an operand, from number `start` of the loop on.
fn gather_columns<W: LoopValues>(
    fused: &FusedLoop,
    columns: &[usize],
    at: &W,
    [start, count]: [usize; 2],
    scratch: &mut [u8],
) {
    match *columns {
        [a, b] => gather_all(fused, [a, b], at, [start, count], scratch),
        [a, b, c] => gather_all(fused, [a, b, c], at, [start, count], scratch),
        [a, b, c, d] => gather_all(fused, [a, b, c, d], at, [start, count], scratch),
        _ => unreachable!("2 to 4 columns"),
    }
}

fn gather_all<W: LoopValues, const N: usize>(
    fused: &FusedLoop,
    columns: [usize; N],
    at: &W,
    [start, count]: [usize; 2],
    scratch: &mut [u8],
) {
    let input = &fused.inputs[columns[0]];
    let LoopInput::Strided(operand, map) = input else { return };
    let Some((offset, _)) = map.steps() else { return };
    let width = fused.code.program().parameters[columns[0]].host_bytes();
    let from = at.operand(*operand);
    let first = offset / N + start - from.first;
    let places = columns.map(|column| {
        let place = fused.scratch_offsets[column];
        place..place + count * width
    });
    let into = scratch.get_disjoint_mut(places).expect("each input has scratch memory of its own");
    deinterleave(width, from.frame.bytes(from.slot), first, into);
}

/// Gathers what is kept for a whole run of a loop.
fn gather_periods<W: LoopValues>(
    fused: &FusedLoop,
    at: &W,
    elements: &Range<usize>,
    scratch: &mut [u8],
) {
    let dtypes = &fused.code.program().parameters;
    for (index, mode) in fused.modes.iter().enumerate() {
        let AddressMode::Periodic { period, kept } = *mode else { continue };
        let (input, dtype) = (&fused.inputs[index], dtypes[index]);
        let local = (elements.start - first(input, at)) % period;
        let count = kept.min(local + elements.len());
        let into = &mut scratch[fused.scratch_offsets[index]..][..count * dtype.host_bytes()];
        gather(input, dtype, at, 0, into);
    }
}

/// Where an input's elements are for one span after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// The first one's number, in the operand or in what is gathered.
    pub(super) element: usize,
    /// From the first one of a span to the first one of the next.
    step: usize,
    /// How many spans that holds for.
    spans: usize,
}

impl Stretch {
    /// That of spans of `count` elements, from number `local` of the input on.
    pub(super) fn of(input: &LoopInput, mode: AddressMode, local: usize, count: usize) -> Self {
        let (element, step, spans) = match (mode, input) {
            (AddressMode::Scalar(at), _) => (at, 0, usize::MAX),
            (AddressMode::Contiguous(at), _) => (at + local, count, usize::MAX),
            (AddressMode::Table(_), _) => (0, 0, usize::MAX),
            (AddressMode::Periodic { period, kept }, _) => match local % period {
                element if count.is_multiple_of(period) => (element, 0, usize::MAX),
                element => (element, count, (kept - element) / count),
            },
            (AddressMode::ScalarRuns(inner), LoopInput::Iota(..)) => match local % inner {
                0 if count == inner => (0, 1, IOTA_BATCH_ELEMENTS),
                inside => (0, 0, (inner - inside) / count),
            },
            (_, LoopInput::Strided(_, map)) if mode != AddressMode::Gathered => {
                map.stretch(local, count)
            }
            (_, LoopInput::Concat(view)) => (view.at(local).1, count, view.span(local) / count),
            _ => (0, 0, 1),
        };
        Self { element, step, spans }
    }
}

/// Runs some elements of a loop. `scratch` has what is kept, and space for what is gathered.
fn spans<W: LoopValues>(fused: &FusedLoop, at: &W, elements: Range<usize>, scratch: &mut [u8]) {
    let mut start = elements.start;
    while start < elements.end {
        let span = |(input, mode): (&LoopInput, &AddressMode)| match mode {
            AddressMode::Contiguous(_) | AddressMode::Scalar(_) | AddressMode::Table(_) => {
                usize::MAX
            }
            _ => mode.span(input, start - first(input, at)),
        };
        let inputs = fused.inputs.iter().zip(&fused.modes);
        let least = inputs.clone().map(span).min().unwrap_or(usize::MAX);
        let count = least.min(elements.end - start);
        // What is not machine code takes longer than to begin a span.
        let most = if fused.native { (elements.end - start) / count } else { 1 };
        let stretch = |(input, &mode): (&LoopInput, &AddressMode)| {
            Stretch::of(input, mode, start - first(input, at), count).spans
        };
        let spans = if most > 1 { inputs.map(stretch).fold(most, usize::min).max(1) } else { 1 };
        spans_of(fused, at, start, [count, spans], scratch);
        start += count * spans;
    }
}

/// Runs one span of elements that every input has at once after the other: `[count, spans]`.
fn spans_of<W: LoopValues>(
    fused: &FusedLoop,
    at: &W,
    start: usize,
    [count, spans]: [usize; 2],
    scratch: &mut [u8],
) {
    let code = &fused.code;
    let dtypes = &code.program().parameters;
    for columns in &fused.columns {
        gather_columns(fused, columns, at, [start, count], scratch);
    }
    for (index, (input, mode)) in fused.inputs.iter().zip(&fused.modes).enumerate() {
        let local = start - first(input, at);
        let into = &mut scratch[fused.scratch_offsets[index]..];
        let width = dtypes[index].host_bytes();
        match (mode, input) {
            (AddressMode::Gathered, _) if !fused.is_column(index) => {
                gather(input, dtypes[index], at, local, &mut into[..count * width]);
            }
            (AddressMode::ScalarRuns(inner), LoopInput::Iota(_, extent)) => {
                let indices = if count == *inner { spans } else { 1 };
                fill_iota(dtypes[index], local / inner, 1, *extent, &mut into[..indices * width]);
            }
            _ => {}
        }
    }
    let scratch = &*scratch;
    let input = |index: usize| -> Stretched<'_> {
        let (input, mode, width) =
            (&fused.inputs[index], fused.modes[index], dtypes[index].host_bytes());
        let local = start - first(input, at);
        let Stretch { element, step, .. } = Stretch::of(input, mode, local, count);
        let each = mode.read_by(count);
        let bytes = element * width..(element + (spans - 1) * step + each) * width;
        let gathered = matches!(mode, AddressMode::Gathered | AddressMode::Periodic { .. });
        let operand = if gathered { None } else { input.operand_with(local) };
        let elements: Input<'_> = match operand {
            Some(operand) => {
                let from = at.operand(operand);
                from.frame.cells(from.slot)[bytes].into()
            }
            None => scratch[fused.scratch_offsets[index]..][bytes].into(),
        };
        (elements, step)
    };
    let elements = start..start + count * spans;
    let result = |(index, width): (usize, usize)| -> Output<'_> {
        Output::from(at.result(index).cells(&elements, width))
    };
    let results = code.widths().enumerate().map(result);
    let (reads, writes) = (fused.inputs.len(), code.program().results.len());
    let given = (0..reads).map(input);
    if reads <= INLINE_LOOP_ARRAYS && writes <= INLINE_LOOP_ARRAYS {
        let mut outputs = [Output::default(); INLINE_LOOP_ARRAYS];
        outputs.iter_mut().zip(results).for_each(|(slot, result)| *slot = result);
        let outputs = &outputs[..writes];
        if spans > 1 {
            let mut inputs = [Stretched::default(); INLINE_LOOP_ARRAYS];
            inputs.iter_mut().zip(given).for_each(|(slot, input)| *slot = input);
            code.run_stretches([count, spans], &inputs[..reads], outputs);
        } else {
            let mut inputs = [Input::default(); INLINE_LOOP_ARRAYS];
            inputs.iter_mut().zip(given).for_each(|(slot, input)| *slot = input.0);
            code.run(count, &inputs[..reads], outputs);
        }
    } else if spans > 1 {
        let (inputs, outputs) = (given.collect::<Vec<_>>(), results.collect::<Vec<_>>());
        code.run_stretches([count, spans], &inputs, &outputs);
    } else {
        let inputs: Vec<Input<'_>> = given.map(|(input, _)| input).collect();
        code.run(count, &inputs, &results.collect::<Vec<_>>());
    }
}
