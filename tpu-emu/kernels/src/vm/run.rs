// UNSAFETY: reads and writes the elements of tiles through addresses, because a result may take
// the place of an operand. Every address range is checked once against what was handed in, and
// no slice of elements that are written exists beside another one of the same bytes.
//! Runs programs tile by tile.
#![expect(unsafe_code, reason = "results may take the place of operands")]
use super::layout::{Elements, One, TileArray, TileLayout, TileStep};
use super::{OperandMode, Ready};
use crate::elementwise::program::ElementwiseOp;
use crate::elementwise::tuning::TILE_ELEMENTS;
use crate::elementwise::tuning::{INLINE_ARRAYS, INLINE_OPERANDS};
use crate::jit::{CodeEntry, Native, is_here};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::slice;
use std::sync::Arc;

/// Elements to read. Others may write to them only where a program's output is in their place.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    at: *const u8,
    bytes: usize,
    lives: PhantomData<&'a [Cell<u8>]>,
}

/// Elements to write.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    at: *mut u8,
    bytes: usize,
    lives: PhantomData<&'a [Cell<u8>]>,
}

impl Default for Input<'_> {
    fn default() -> Self {
        Self::from(&[] as &[u8])
    }
}

impl Default for Output<'_> {
    fn default() -> Self {
        Self::from(&mut [] as &mut [u8])
    }
}

impl<'a> From<&'a [u8]> for Input<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { at: bytes.as_ptr(), bytes: bytes.len(), lives: PhantomData }
    }
}

impl<'a> From<&'a [Cell<u8>]> for Input<'a> {
    fn from(bytes: &'a [Cell<u8>]) -> Self {
        Self { at: bytes.as_ptr().cast(), bytes: bytes.len(), lives: PhantomData }
    }
}

impl<'a> From<&'a mut [u8]> for Output<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        Self { at: bytes.as_mut_ptr(), bytes: bytes.len(), lives: PhantomData }
    }
}

impl<'a> From<&'a [Cell<u8>]> for Output<'a> {
    fn from(bytes: &'a [Cell<u8>]) -> Self {
        Self { at: bytes.as_ptr().cast::<u8>().cast_mut(), bytes: bytes.len(), lives: PhantomData }
    }
}

impl Input<'_> {
    /// What is behind so many bytes.
    fn behind(self, bytes: usize) -> Self {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        Self { at: self.at.wrapping_add(bytes), bytes: self.bytes - bytes, lives: PhantomData }
    }
}

impl Output<'_> {
    /// What is behind so many bytes.
    fn behind(self, bytes: usize) -> Self {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        Self { at: self.at.wrapping_add(bytes), bytes: self.bytes - bytes, lives: PhantomData }
    }
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct ScratchLine([u8; 64]);

thread_local! {
    static SCRATCH: RefCell<Vec<ScratchLine>> = const { RefCell::new(Vec::new()) };
}

/// Checks that every array has as many elements as the program reads and writes.
fn check<'a>(
    ready: &Ready,
    lanes: usize,
    inputs: impl ExactSizeIterator<Item = Input<'a>>,
    outputs: impl ExactSizeIterator<Item = Output<'a>>,
) {
    let program = &ready.program;
    assert_eq!(inputs.len(), program.parameters.len(), "inputs and parameters");
    assert_eq!(outputs.len(), program.results.len(), "outputs and results");
    let fits = |at: *const u8, bytes: usize, lanes: usize, width: usize| {
        let least = lanes.checked_mul(width);
        assert!(least.is_some_and(|n| n <= bytes), "{bytes} bytes for {lanes} lanes of {width}");
        assert!(at.addr().is_multiple_of(width), "elements of {width} bytes at {at:p}");
    };
    for ((input, dtype), feed) in inputs.zip(&program.parameters).zip(&ready.feeds) {
        let lanes = match *feed {
            OperandMode::PerElement => lanes,
            OperandMode::Scalar => 1,
            OperandMode::Table(elements) => elements,
        };
        fits(input.at, input.bytes, lanes, dtype.host_bytes());
    }
    for (output, result) in outputs.zip(&ready.portable.results) {
        fits(output.at, output.bytes, lanes, result.width);
    }
}

pub(super) fn run(ready: &Ready, lanes: usize, inputs: &[Input<'_>], outputs: &[Output<'_>]) {
    if lanes == 0 {
        return;
    }
    run_with(ready, ready.layout(lanes), lanes, inputs, outputs);
}

/// Runs a program by one of its layouts.
pub(super) fn run_with(
    ready: &Ready,
    layout: &TileLayout,
    lanes: usize,
    inputs: &[Input<'_>],
    outputs: &[Output<'_>],
) {
    check(ready, lanes, inputs.iter().copied(), outputs.iter().copied());
    if layout.whole {
        let scratch = std::ptr::null_mut();
        return Tiles { layout, inputs, outputs, scratch, start: 0, count: lanes, aside: 0 }.tile();
    }
    SCRATCH.with_borrow_mut(|scratch| {
        let lines = layout.scratch.div_ceil(64);
        if scratch.len() < lines {
            scratch.resize(lines, ScratchLine([0; 64]));
        }
        let scratch = scratch.as_mut_ptr().cast::<u8>();
        let mut tiles = Tiles { layout, inputs, outputs, scratch, start: 0, count: 0, aside: 0 };
        tiles.find_shared();
        tiles.spread(lanes.min(TILE_ELEMENTS));
        while tiles.start < lanes {
            tiles.count = TILE_ELEMENTS.min(lanes - tiles.start);
            tiles.tile();
            tiles.start += tiles.count;
        }
    });
}

/// Elements that stretches read: those of the first, and how many there are from the first one of a
/// stretch to the first one of the next.
pub type Stretched<'a> = (Input<'a>, usize);

/// Runs a program on one stretch of `lanes` elements after the other. The outputs follow one
/// another.
pub(super) fn run_stretches(
    ready: &Ready,
    [lanes, stretches]: [usize; 2],
    inputs: &[Stretched<'_>],
    outputs: &[Output<'_>],
) {
    if lanes == 0 || stretches == 0 {
        return;
    }
    let layout = ready.layout(lanes * stretches);
    let program = &ready.program;
    let input_bytes = |index: usize| inputs[index].1 * program.parameters[index].host_bytes();
    let output_bytes = |index: usize| lanes * layout.results[index].width;
    let inputs_at = |stretch: usize| {
        let inputs = inputs.iter().enumerate();
        inputs.map(move |(index, input)| input.0.behind(stretch * input_bytes(index)))
    };
    let outputs_at = |stretch: usize| {
        let outputs = outputs.iter().enumerate();
        outputs.map(move |(index, to)| to.behind(stretch * output_bytes(index)))
    };
    let ([TileStep::Native(native, arrays)], true) = (&layout.parts[..], layout.whole) else {
        for stretch in 0..stretches {
            let inputs: Vec<Input<'_>> = inputs_at(stretch).collect();
            let outputs: Vec<Output<'_>> = outputs_at(stretch).collect();
            run_with(ready, layout, lanes, &inputs, &outputs);
        }
        return;
    };
    // What the first and the last stretch have lies around all of them.
    for stretch in [0, stretches - 1] {
        check(ready, lanes, inputs_at(stretch), outputs_at(stretch));
    }
    let place = |array: &TileArray| match array.place {
        Elements::Input(index) | Elements::All(index) => {
            (inputs[index].0.at.cast_mut(), input_bytes(index))
        }
        Elements::Output(index) => (outputs[index].at, output_bytes(index)),
        Elements::Scratch(_) => (std::ptr::null_mut(), 0),
    };
    let walk = |addresses: &mut [*mut u8], steps: &mut [usize]| {
        for ((array, address), step) in arrays.iter().zip(&mut *addresses).zip(&mut *steps) {
            (*address, *step) = place(array);
        }
        let code = native.function().entry();
        for _ in 0..stretches {
            // SAFETY: as many elements are at each place as the code reads and writes: `check` has
            // seen it for the first and the last stretch. A whole layout has nothing in scratch
            // memory.
            unsafe { code.call(addresses, lanes) };
            for (address, step) in addresses.iter_mut().zip(&*steps) {
                *address = address.wrapping_add(*step);
            }
        }
    };
    let count = arrays.len();
    if count <= INLINE_ARRAYS {
        let (mut addresses, mut steps) =
            ([std::ptr::null_mut(); INLINE_ARRAYS], [0; INLINE_ARRAYS]);
        walk(&mut addresses[..count], &mut steps[..count]);
    } else {
        walk(&mut vec![std::ptr::null_mut(); count], &mut vec![0; count]);
    }
}

/// A program as machine code with the arrays that it works on.
#[derive(Debug)]
pub struct Bound<'a> {
    code: CodeEntry,
    addresses: Vec<*mut u8>,
    lanes: usize,
    lives: PhantomData<&'a [Cell<u8>]>,
    /// Holds the code.
    _ready: Arc<Ready>,
}

impl<'a> Bound<'a> {
    /// Binds a program; `None` where not all of it is machine code.
    pub(super) fn new(
        ready: &Arc<Ready>,
        lanes: usize,
        inputs: &[Input<'a>],
        outputs: &[Output<'a>],
    ) -> Option<Self> {
        if lanes == 0 || !is_here() {
            return None;
        }
        let layout = ready.native().filter(|layout| layout.whole)?;
        check(ready, lanes, inputs.iter().copied(), outputs.iter().copied());
        let (scratch, start, aside) = (std::ptr::null_mut(), 0, 0);
        let tiles = Tiles { layout, inputs, outputs, scratch, start, count: lanes, aside };
        let [TileStep::Native(native, arrays)] = &layout.parts[..] else { return None };
        let address = |array: &TileArray| tiles.address(array.place, array.width);
        let addresses = arrays.iter().map(address).collect();
        let (code, lives) = (native.function().entry(), PhantomData);
        Some(Self { code, addresses, lanes, lives, _ready: Arc::clone(ready) })
    }

    /// Runs it.
    pub fn run(&self) {
        // SAFETY: `new` has checked that as many elements are at each place as the code reads and
        // writes, and `'a` keeps them there; the code lives as long as what has made it.
        unsafe { self.code.call(&self.addresses, self.lanes) };
    }
}

/// A walk over the tiles of a run. All addresses below stay inside of the inputs and outputs,
/// which `check` has measured, and of the scratch memory, which is as long as the layout says.
struct Tiles<'r> {
    layout: &'r TileLayout,
    inputs: &'r [Input<'r>],
    outputs: &'r [Output<'r>],
    scratch: *mut u8,
    start: usize,
    count: usize,
    /// The outputs, a bit each, whose memory some input has too. Those behind the last bit
    /// count as such.
    aside: u64,
}

impl Tiles<'_> {
    fn find_shared(&mut self) {
        for (index, output) in self.outputs.iter().enumerate() {
            let (low, high) = (output.at.addr(), output.at.addr() + output.bytes);
            let shares =
                |input: &Input<'_>| input.at.addr() < high && low < input.at.addr() + input.bytes;
            if index < 64 && self.inputs.iter().any(shares) {
                self.aside |= 1 << index;
            }
        }
    }

    fn is_aside(&self, output: usize) -> bool {
        let last = self.layout.results[output].last;
        !last && (output >= 64 || self.aside >> output & 1 == 1)
    }

    fn spread(&self, count: usize) {
        for spread in &self.layout.spreads {
            let from = match &spread.from {
                One::Input(index) => self.inputs[*index].at,
                One::Constant(bytes) => bytes.as_ptr(),
            };
            let to = self.scratch.wrapping_add(spread.at);
            // SAFETY: one element is there to be read, and a tile's place is as long as a tile;
            // the places are aligned to 16 bytes at least, and constants are copied as bytes.
            unsafe {
                match spread.width {
                    1 => slice::from_raw_parts_mut(to, count).fill(from.read()),
                    2 => fill::<u16>(from, to, count),
                    4 => fill::<u32>(from, to, count),
                    8 => fill::<u64>(from, to, count),
                    width => (0..count).for_each(|lane| {
                        from.copy_to(to.wrapping_add(lane * width), width);
                    }),
                }
            }
        }
    }

    fn address(&self, place: Elements, width: usize) -> *mut u8 {
        match place {
            Elements::Input(index) => {
                self.inputs[index].at.wrapping_add(self.start * width).cast_mut()
            }
            Elements::All(index) => self.inputs[index].at.cast_mut(),
            Elements::Scratch(offset) => self.scratch.wrapping_add(offset),
            Elements::Output(index) if self.is_aside(index) => {
                self.address(self.layout.results[index].aside, width)
            }
            Elements::Output(index) => self.outputs[index].at.wrapping_add(self.start * width),
        }
    }

    fn tile(&self) {
        for part in &self.layout.parts {
            match part {
                TileStep::Call { op, inputs, result } => self.call(op, inputs, *result),
                TileStep::Native(native, arrays) => self.native(native, arrays),
            }
        }
        if self.layout.whole {
            return;
        }
        // What was an operand's goes first: its memory may be an output's.
        self.copy(|_, made| !made);
        self.copy(|index, made| made && self.is_aside(index));
    }

    fn copy(&self, wanted: impl Fn(usize, bool) -> bool) {
        for (index, result) in self.layout.results.iter().enumerate() {
            if !wanted(index, result.made) {
                continue;
            }
            let to = self.outputs[index].at.wrapping_add(self.start * result.width);
            let from = self.address(result.aside, result.width);
            // SAFETY: both are `count` elements long. `copy` allows that they overlap.
            unsafe { from.copy_to(to, self.count * result.width) };
        }
    }

    fn native(&self, native: &Native, arrays: &[TileArray]) {
        let mut few = [std::ptr::null_mut(); INLINE_ARRAYS];
        let mut many = Vec::new();
        let addresses = if arrays.len() <= INLINE_ARRAYS {
            &mut few[..arrays.len()]
        } else {
            many.resize(arrays.len(), std::ptr::null_mut());
            &mut many[..]
        };
        for (address, array) in addresses.iter_mut().zip(arrays) {
            *address = self.address(array.place, array.width);
        }
        // SAFETY: `count` elements are at each place, or as many as the feed says. Outputs
        // that share memory with an input are made there by the last part alone.
        unsafe { native.function().entry().call(addresses, self.count) };
    }

    fn call(&self, op: &ElementwiseOp, inputs: &[(Elements, usize)], result: Elements) {
        let width = op.result.host_bytes();
        let result = self.address(result, width);
        // SAFETY: `count` elements are at each place, or all of an input. The result's place is
        // none of the operands': outputs that share memory with an input are made in scratch
        // memory, and the layout gives a step's result no place that one of its operands has.
        unsafe {
            let result = slice::from_raw_parts_mut(result, self.count * width);
            let read = |&(place, width): &(Elements, usize)| {
                let bytes = match place {
                    Elements::All(index) => self.inputs[index].bytes,
                    _ => self.count * width,
                };
                slice::from_raw_parts(self.address(place, width).cast_const(), bytes)
            };
            if inputs.len() <= INLINE_OPERANDS {
                let mut few: [&[u8]; INLINE_OPERANDS] = [&[]; INLINE_OPERANDS];
                for (slot, input) in few.iter_mut().zip(inputs) {
                    *slot = read(input);
                }
                (op.run)(op.immediate, &few[..inputs.len()], result);
            } else {
                let inputs: Vec<&[u8]> = inputs.iter().map(read).collect();
                (op.run)(op.immediate, &inputs, result);
            }
        }
    }
}

/// Writes the element at `from` `count` times.
///
/// # Safety
/// An element is readable at `from`, `count` are writable at `to`, which is aligned.
unsafe fn fill<T: Copy>(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let value = from.cast::<T>().read_unaligned();
        slice::from_raw_parts_mut(to.cast::<T>(), count).fill(value);
    }
}
