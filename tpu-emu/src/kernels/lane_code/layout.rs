//! Where the values of a program lie while a tile of it is computed.
use super::Feed;
use crate::kernels::lanes::{LaneOp, LaneProgram, Register, TILE};

/// A run of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Those of an input.
    Input(usize),
    /// At an offset of the scratch memory.
    Scratch(usize),
    /// Those of an output.
    Output(usize),
}

/// One operation on a tile.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) op: LaneOp,
    /// Where each operand lies, and the bytes of an element.
    pub(super) inputs: Vec<(Place, usize)>,
    pub(super) result: Place,
}

/// What has one element for all lanes and is spread over a tile before the first one.
#[derive(Debug)]
pub(super) struct Spread {
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
pub(super) struct Result {
    /// Bytes of an element.
    pub(super) width: usize,
    /// Where the elements lie if they cannot be made where they are wanted; always there for
    /// outputs that steps make.
    pub(super) aside: Place,
    /// Whether a step makes it.
    pub(super) made: bool,
}

/// The operations of a program with a place for every value.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) spreads: Vec<Spread>,
    pub(super) calls: Vec<Call>,
    pub(super) results: Vec<Result>,
    /// Bytes of scratch memory.
    pub(super) scratch: usize,
}

/// Scratch memory that is being given out.
#[derive(Default)]
struct Room {
    size: usize,
    /// Widths and offsets of what is free again.
    free: Vec<(usize, usize)>,
}

impl Room {
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
        self.size += TILE * width + 64;
        at
    }
}

impl Layout {
    pub(super) fn new(program: &LaneProgram, feeds: &[Feed]) -> Self {
        let mut layout = Self::default();
        let mut room = Room::default();
        let mut last = vec![0; program.steps.len()];
        for (index, step) in program.steps.iter().enumerate() {
            for input in &step.inputs {
                if let Register::Step(made) = *input {
                    last[made] = index;
                }
            }
        }
        let mut spread = vec![None; program.parameters.len() + program.constants.len()];
        let mut steps: Vec<Place> = Vec::with_capacity(program.steps.len());
        let mut outputs = vec![None; program.steps.len()];
        for (index, result) in program.results.iter().enumerate().rev() {
            if let Register::Step(made) = *result {
                outputs[made] = Some(index);
                last[made] = usize::MAX;
            }
        }
        for (index, step) in program.steps.iter().enumerate() {
            let inputs: Vec<(Place, usize)> = step
                .inputs
                .iter()
                .map(|&input| {
                    let width = program.dtype(input).host_bytes();
                    let place = match input {
                        Register::Step(made) => steps[made],
                        other => layout.outer(program, feeds, other, &mut spread, &mut room),
                    };
                    (place, width)
                })
                .collect();
            let width = step.op.result.host_bytes();
            let result = match outputs[index] {
                Some(output) => Place::Output(output),
                None => Place::Scratch(room.take(width)),
            };
            for (at, input) in step.inputs.iter().enumerate() {
                if let Register::Step(made) = *input
                    && last[made] == index
                    && !step.inputs[..at].contains(input)
                    && let Place::Scratch(offset) = steps[made]
                {
                    room.free.push((program.dtype(*input).host_bytes(), offset));
                }
            }
            steps.push(result);
            layout.calls.push(Call { op: step.op, inputs, result });
        }
        for (index, &result) in program.results.iter().enumerate() {
            let width = program.dtype(result).host_bytes();
            let (aside, made) = match result {
                Register::Step(step) if outputs[step] == Some(index) => {
                    (Place::Scratch(room.keep(width)), true)
                }
                Register::Step(step) => (steps[step], false),
                other => (layout.outer(program, feeds, other, &mut spread, &mut room), false),
            };
            layout.results.push(Result { width, aside, made });
        }
        layout.scratch = room.size;
        layout
    }

    /// Where a parameter or a constant lies.
    fn outer(
        &mut self,
        program: &LaneProgram,
        feeds: &[Feed],
        register: Register,
        spread: &mut [Option<usize>],
        room: &mut Room,
    ) -> Place {
        let (from, number) = match register {
            Register::Parameter(index) if feeds[index] == Feed::Each => return Place::Input(index),
            Register::Parameter(index) => (One::Input(index), index),
            Register::Constant(index) | Register::Step(index) => {
                let bytes = program.constants[index].bytes.clone();
                (One::Constant(bytes), program.parameters.len() + index)
            }
        };
        let at = *spread[number].get_or_insert_with(|| {
            let width = program.dtype(register).host_bytes();
            let at = room.keep(width);
            self.spreads.push(Spread { from, at, width });
            at
        });
        Place::Scratch(at)
    }
}
