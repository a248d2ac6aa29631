//! Elementwise programs: straight-line code over registers that hold a run of elements each.
//!
//! Fused loops and the regions of reductions, scatters and sorts are programs of this form.
use crate::tensor::DType;
use std::cell::RefCell;

/// Elements that a register holds.
pub const TILE: usize = 1024;

/// Small numbers that an operation needs besides its operands: widths, a direction.
pub type Immediate = [u32; 2];

/// Applies an operation to runs of elements. Every input has as many elements as the output.
pub type LaneFn = fn(immediate: Immediate, inputs: &[&[u8]], output: &mut [u8]);

/// An elementwise operation on fixed types.
#[derive(Debug, Clone, Copy)]
pub struct LaneOp {
    /// The mnemonic; a comparison's direction follows a dot (`compare.LT`).
    pub name: &'static str,
    /// Element type of the operands (of the last one where they differ, as for `select`).
    pub operand: DType,
    /// Element type of the result.
    pub result: DType,
    /// The loop.
    pub run: LaneFn,
    /// Its numbers.
    pub immediate: Immediate,
    /// Whether it counts as a transcendental function.
    pub transcendental: bool,
}

/// Where a step's operand comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// A parameter of the program.
    Parameter(usize),
    /// A constant.
    Constant(usize),
    /// The result of an earlier step.
    Step(usize),
}

/// One operation of a program.
#[derive(Debug, Clone)]
pub struct LaneStep {
    /// What to do.
    pub op: LaneOp,
    /// On what.
    pub inputs: Vec<Register>,
}

/// A constant of a program: its type and the bytes of one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneConstant {
    /// Element type.
    pub dtype: DType,
    /// One element.
    pub bytes: Box<[u8]>,
}

/// Straight-line elementwise code.
#[derive(Debug, Clone, Default)]
pub struct LaneProgram {
    /// Element types of the parameters.
    pub parameters: Vec<DType>,
    /// Constants.
    pub constants: Vec<LaneConstant>,
    /// Steps in order.
    pub steps: Vec<LaneStep>,
    /// The results.
    pub results: Vec<Register>,
}

impl LaneProgram {
    /// The type of a register.
    pub fn dtype(&self, register: Register) -> DType {
        match register {
            Register::Parameter(index) => self.parameters[index],
            Register::Constant(index) => self.constants[index].dtype,
            Register::Step(index) => self.steps[index].op.result,
        }
    }

    /// The operation of a program that does one commutative thing to its two parameters.
    pub fn combiner(&self) -> Option<&'static str> {
        const COMMUTATIVE: [&str; 7] =
            ["add", "multiply", "maximum", "minimum", "and", "or", "xor"];
        let [step] = &self.steps[..] else { return None };
        let [a, b] = step.inputs[..] else { return None };
        let both = [Register::Parameter(0), Register::Parameter(1)];
        let whole = self.parameters.len() == 2 && self.results == [Register::Step(0)];
        let fits = both == [a, b] || both == [b, a];
        (whole && fits && COMMUTATIVE.contains(&step.op.name)).then_some(step.op.name)
    }

    /// Runs the program on `lanes` elements of each parameter, tile by tile.
    ///
    /// `inputs[k]` and `outputs[k]` have `lanes` elements and are aligned for their types.
    pub fn run(&self, lanes: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
        thread_local! {
            static REGISTERS: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
        }
        REGISTERS.with_borrow_mut(|registers| {
            self.prepare(lanes, registers);
            let mut start = 0;
            while start < lanes {
                let count = TILE.min(lanes - start);
                let part = |register: usize| {
                    let width = self.parameters[register].host_bytes();
                    &inputs[register][start * width..(start + count) * width]
                };
                self.tile(count, registers, &part, |index, bytes| {
                    let width = bytes.len() / count;
                    outputs[index][start * width..start * width + bytes.len()]
                        .copy_from_slice(bytes);
                });
                start += count;
            }
        });
    }

    /// Makes room for the registers and fills those of the constants, for tiles of at most
    /// `lanes` elements.
    pub fn prepare(&self, lanes: usize, registers: &mut Vec<u128>) {
        let slots = self.constants.len() + self.steps.len();
        if registers.len() < slots * TILE {
            registers.resize(slots * TILE, 0);
        }
        let count = lanes.min(TILE);
        for (slot, constant) in registers.chunks_exact_mut(TILE).zip(&self.constants) {
            let width = constant.bytes.len();
            let bytes = &mut bytemuck::cast_slice_mut::<u128, u8>(slot)[..count * width];
            for element in bytes.chunks_exact_mut(width) {
                element.copy_from_slice(&constant.bytes);
            }
        }
    }

    /// Runs the program on at most [`TILE`] elements. `input` gives a parameter's elements,
    /// `output` takes a result's. The registers have been prepared.
    pub fn tile<'a>(
        &self,
        count: usize,
        registers: &mut [u128],
        input: &dyn Fn(usize) -> &'a [u8],
        mut output: impl FnMut(usize, &[u8]),
    ) {
        const SLOT: usize = TILE;
        let constants = self.constants.len();
        for (index, step) in self.steps.iter().enumerate() {
            let (before, from) = registers.split_at_mut((constants + index) * SLOT);
            let width = step.op.result.host_bytes();
            let result = &mut bytemuck::cast_slice_mut(&mut from[..SLOT])[..count * width];
            let before: &[u128] = before;
            let read = |register: Register| -> &[u8] { self.read(register, count, before, input) };
            match step.inputs[..] {
                [a] => (step.op.run)(step.op.immediate, &[read(a)], result),
                [a, b] => (step.op.run)(step.op.immediate, &[read(a), read(b)], result),
                [a, b, c] => {
                    (step.op.run)(step.op.immediate, &[read(a), read(b), read(c)], result);
                }
                _ => {
                    let inputs: Vec<&[u8]> = step.inputs.iter().map(|&input| read(input)).collect();
                    (step.op.run)(step.op.immediate, &inputs, result);
                }
            }
        }
        for (index, &register) in self.results.iter().enumerate() {
            output(index, self.read(register, count, registers, input));
        }
    }

    fn read<'r, 'a: 'r>(
        &self,
        register: Register,
        count: usize,
        registers: &'r [u128],
        input: &dyn Fn(usize) -> &'a [u8],
    ) -> &'r [u8] {
        let slot = match register {
            Register::Parameter(index) => return input(index),
            Register::Constant(index) => index,
            Register::Step(index) => self.constants.len() + index,
        };
        let width = self.dtype(register).host_bytes();
        &bytemuck::cast_slice(&registers[slot * TILE..(slot + 1) * TILE])[..count * width]
    }
}
