//! Where the values of a program lie while a tile of it is computed.
use super::OperandMode;
use super::segments::{Segment, last_uses};
use crate::elementwise::program::{ElementwiseOp, ElementwiseProgram, Register};
use crate::elementwise::tuning::TILE_ELEMENTS;
use crate::jit;
use crate::jit::{Native, ValueSource};

/// A run of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    /// Those of an input.
    Input(usize),
    /// All of an input.
    All(usize),
    /// At an offset of the scratch memory.
    Scratch(usize),
    /// Those of an output.
    Output(usize),
}

/// Something that is done to a tile.
#[derive(Debug)]
pub(super) enum TileStep {
    /// One operation.
    Call {
        op: ElementwiseOp,
        /// Where each operand lies, and the bytes of an element.
        inputs: Vec<(Elements, usize)>,
        result: Elements,
    },
    /// Machine code, and the arrays that it works on.
    Native(Native, Vec<TileArray>),
}

/// An array of a native part.
#[derive(Debug, Clone, Copy)]
pub(super) struct TileArray {
    pub(super) place: Elements,
    /// Bytes from one lane's element to the next; 0 where all lanes have the same.
    pub(super) width: usize,
}

/// What has one element for all lanes and is spread over a tile before the first one.
#[derive(Debug)]
pub(super) struct SpreadScalar {
    pub(super) from: One,
    pub(super) at: usize,
    pub(super) width: usize,
}

/// One element.
#[derive(Debug, Clone)]
pub(super) enum One {
    Input(usize),
    Constant(Box<[u8]>),
}

/// How an output gets its elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopResult {
    /// Bytes of an element.
    pub(super) width: usize,
    /// Where the elements lie if they cannot be made where they are wanted.
    pub(super) aside: Elements,
    /// Whether a step makes it.
    pub(super) made: bool,
    /// Whether it is made where it is wanted even if an input lies there: each group of elements
    /// is read before it is written, and nothing is read later.
    pub(super) last: bool,
}

/// The operations of a program with a place for every value.
#[derive(Debug, Default)]
pub(super) struct TileLayout {
    pub(super) spreads: Vec<SpreadScalar>,
    pub(super) parts: Vec<TileStep>,
    pub(super) results: Vec<LoopResult>,
    /// Bytes of scratch memory.
    pub(super) scratch: usize,
    /// Whether all elements are one tile.
    pub(super) whole: bool,
}

/// Scratch memory that is being given out.
#[derive(Default)]
struct ScratchAllocator {
    size: usize,
    /// Widths and offsets of what is free again.
    free: Vec<(usize, usize)>,
}

impl ScratchAllocator {
    fn take(&mut self, width: usize) -> usize {
        if let Some(found) = self.free.iter().rposition(|&(of, _)| of == width) {
            return self.free.swap_remove(found).1;
        }
        self.keep(width)
    }

    /// A place that nothing else ever has.
    fn keep(&mut self, width: usize) -> usize {
        let at = self.size;
        // Tiles at a distance of a page's size would share their lines of the cache.
        self.size += TILE_ELEMENTS * width + 64;
        at
    }
}

/// A layout that is being made.
struct Maker<'p> {
    program: &'p ElementwiseProgram,
    feeds: &'p [OperandMode],
    layout: TileLayout,
    room: ScratchAllocator,
    /// Where parameters and constants have been spread to.
    spread: Vec<Option<usize>>,
    /// Where the steps' values lie.
    steps: Vec<Option<Elements>>,
    /// The output that each step makes.
    outputs: Vec<Option<usize>>,
}

impl TileLayout {
    /// A layout for groups of steps; `None` where the system gives no memory for code.
    pub(super) fn new(
        program: &ElementwiseProgram,
        feeds: &[OperandMode],
        groups: &[Segment],
    ) -> Option<Self> {
        let mut outputs = vec![None; program.steps.len()];
        for (index, result) in program.results.iter().enumerate().rev() {
            if let Register::Step(made) = *result {
                outputs[made] = Some(index);
            }
        }
        let mut maker = Maker {
            program,
            feeds,
            layout: Self::default(),
            room: ScratchAllocator::default(),
            spread: vec![None; program.parameters.len() + program.constants.len()],
            steps: vec![None; program.steps.len()],
            outputs,
        };
        maker.parts(groups)?;
        maker.results(groups);
        let mut layout = maker.layout;
        layout.scratch = maker.room.size;
        let native = matches!(layout.parts[..], [TileStep::Native(..)]);
        layout.whole = native && layout.results.iter().all(|result| result.made);
        Some(layout)
    }
}

impl Maker<'_> {
    fn width(&self, register: Register) -> usize {
        self.program.dtype(register).host_bytes()
    }

    fn parts(&mut self, groups: &[Segment]) -> Option<()> {
        let last = last_uses(self.program, groups);
        for (at, group) in groups.iter().enumerate() {
            if group.native {
                let part = self.native(group, at, &last)?;
                self.layout.parts.push(part);
            } else {
                group.steps.iter().for_each(|&step| self.call(step));
            }
            // What is read here for the last time gives its place to later values.
            let program = self.program;
            for ((place, last), step) in self.steps.iter().zip(&last).zip(&program.steps) {
                if *last == Some(at)
                    && let Some(Elements::Scratch(offset)) = *place
                {
                    self.room.free.push((step.op.result.host_bytes(), offset));
                }
            }
        }
        Some(())
    }

    /// Gives a step's value a place.
    fn place(&mut self, step: usize) -> Elements {
        let place = match self.outputs[step] {
            Some(output) => Elements::Output(output),
            None => Elements::Scratch(self.room.take(self.width(Register::Step(step)))),
        };
        self.steps[step] = Some(place);
        place
    }

    fn call(&mut self, index: usize) {
        let step = &self.program.steps[index];
        let inputs = step.inputs.iter().map(|&input| (self.elements(input), self.width(input)));
        let inputs = inputs.collect();
        let result = self.place(index);
        self.layout.parts.push(TileStep::Call { op: step.op, inputs, result });
    }

    fn native(&mut self, group: &Segment, at: usize, last: &[Option<usize>]) -> Option<TileStep> {
        let mut arrays = Vec::new();
        let mut sources: Vec<(Register, ValueSource)> = Vec::new();
        for &index in &group.steps {
            for &input in &self.program.steps[index].inputs {
                let width = self.width(input);
                if sources.iter().any(|&(known, _)| known == input) {
                    continue;
                }
                let source = match input {
                    Register::Step(step) => match self.steps[step] {
                        Some(place) => {
                            arrays.push(TileArray { place, width });
                            ValueSource::Each(arrays.len() - 1)
                        }
                        None => continue,
                    },
                    Register::Constant(constant) => {
                        let mut bits = [0; 8];
                        let bytes = &self.program.constants[constant].bytes;
                        bits.iter_mut().zip(bytes).for_each(|(bit, &byte)| *bit = byte);
                        ValueSource::Constant(u64::from_le_bytes(bits))
                    }
                    Register::Parameter(parameter) => {
                        let array = arrays.len();
                        let (place, width, source) = match self.feeds[parameter] {
                            OperandMode::PerElement => {
                                (Elements::Input(parameter), width, ValueSource::Each(array))
                            }
                            OperandMode::Scalar => {
                                (Elements::Input(parameter), 0, ValueSource::One(array))
                            }
                            OperandMode::Table(_) => {
                                (Elements::All(parameter), 0, ValueSource::All(array))
                            }
                        };
                        arrays.push(TileArray { place, width });
                        source
                    }
                };
                sources.push((input, source));
            }
        }
        let mut stores = Vec::new();
        for &step in &group.steps {
            let needed = last[step].is_some_and(|last| last > at);
            if needed || self.outputs[step].is_some() {
                let width = self.width(Register::Step(step));
                let place = self.place(step);
                arrays.push(TileArray { place, width });
                stores.push((Register::Step(step), arrays.len() - 1));
            }
        }
        let part = jit::CodeRequest {
            program: self.program,
            steps: &group.steps,
            sources: &sources,
            stores: &stores,
            arrays: arrays.len(),
        };
        Some(TileStep::Native(Native::new(&part)?, arrays))
    }

    fn results(&mut self, groups: &[Segment]) {
        // What is a parameter as it is, is read after all groups.
        let steps = |result: &Register| matches!(result, Register::Step(_));
        let alone = self.program.results.iter().all(steps);
        let last = groups.last().filter(|group| group.native && alone);
        for (index, &result) in self.program.results.iter().enumerate() {
            let width = self.width(result);
            let made = matches!(result, Register::Step(step) if self.outputs[step] == Some(index));
            let aside =
                if made { Elements::Scratch(self.room.keep(width)) } else { self.elements(result) };
            let in_last = |step: usize| last.is_some_and(|group| group.steps.contains(&step));
            let last = matches!(result, Register::Step(step) if made && in_last(step));
            self.layout.results.push(LoopResult { width, aside, made, last });
        }
    }

    /// Where a register's elements lie, one for each lane.
    fn elements(&mut self, register: Register) -> Elements {
        let (from, number) = match register {
            Register::Step(step) => return self.steps[step].unwrap_or(Elements::Scratch(0)),
            Register::Parameter(index) => match self.feeds[index] {
                OperandMode::PerElement => return Elements::Input(index),
                OperandMode::Table(_) => return Elements::All(index),
                OperandMode::Scalar => (One::Input(index), index),
            },
            Register::Constant(index) => {
                let bytes = self.program.constants[index].bytes.clone();
                (One::Constant(bytes), self.program.parameters.len() + index)
            }
        };
        let width = self.width(register);
        let at = match self.spread[number] {
            Some(at) => at,
            None => {
                let at = self.room.keep(width);
                self.spread[number] = Some(at);
                self.layout.spreads.push(SpreadScalar { from, at, width });
                at
            }
        };
        Elements::Scratch(at)
    }
}
