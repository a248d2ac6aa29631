//! The steps of a round as operations on single elements: arrays of a few elements become as many
//! values, and what only moves elements becomes nothing.
use crate::passes::fuse::{FusedLoop, LoopInput};
use crate::plan::{PlannedStep, Slot, Step};
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::{
    ElementwiseConstant, ElementwiseOp, ElementwiseProgram, Instr, Register,
};
use tpu_kernels::jit::{Action, Index, MemoryOperand, reaches};
use tpu_kernels::movement::index::Outside;
use tpu_kernels::movement::iota::fill_iota;
use tpu_kernels::movement::move_list::{Moves, Start};
use tpu_ops::{SELECT, differs};
use tpu_stablehlo::ir::Attributes;

/// Operations of a round that becomes one piece of code.
const STEPS: usize = 512;
/// Elements of an array that becomes as many values.
const ELEMENTS: usize = 16;

pub(super) fn overlap(a: &Slot, b: &Slot) -> bool {
    a.base == b.base && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
}

/// Whether all of a slot lies in another one.
pub(super) fn inside(slot: &Slot, whole: &Slot) -> bool {
    let end = |slot: &Slot| slot.offset + slot.bytes;
    slot.base == whole.base && slot.offset >= whole.offset && end(slot) <= end(whole)
}

/// The type of an element of so many bytes, when nothing is known but that.
fn dtype(bytes: usize) -> Option<DType> {
    match bytes {
        1 => Some(DType::U8),
        2 => Some(DType::U16),
        4 => Some(DType::U32),
        8 => Some(DType::U64),
        _ => None,
    }
}

/// A piece of a slot.
fn part(slot: Slot, at: usize, bytes: usize) -> Option<Slot> {
    let piece = Slot { base: slot.base, offset: slot.offset + at, bytes };
    inside(&piece, &slot).then_some(piece)
}

/// Follows the values of a round through the memories.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) program: ElementwiseProgram,
    /// The memory that each parameter of the program lies in, unless a round reads it.
    pub(super) homes: Vec<Option<usize>>,
    pub(super) memories: Vec<Slot>,
    /// What a round does.
    pub(super) actions: Vec<Action>,
    /// What lies in each element that has been read or written.
    values: Vec<(Slot, Register)>,
    /// Elements that have been written.
    pub(super) written: Vec<Slot>,
    /// Memories of which elements are read or written at places that the loop computes.
    arrays: Vec<(usize, bool)>,
}

impl Writer {
    /// A new parameter that lies in a memory of its own.
    fn variable(&mut self, slot: Slot, dtype: DType) -> Register {
        self.memories.push(slot);
        self.homes.push(Some(self.memories.len() - 1));
        self.program.parameters.push(dtype);
        Register::Parameter(self.homes.len() - 1)
    }

    /// The memories of the parameters that have one.
    fn home_slots(&self) -> impl Iterator<Item = Slot> {
        self.homes.iter().flatten().map(|&home| self.memories[home])
    }

    fn is_home(&self, slot: &Slot) -> bool {
        self.home_slots().any(|home| overlap(&home, slot))
    }

    /// What lies in an element now.
    pub(super) fn element(&mut self, slot: Slot, known: Option<DType>) -> Option<Register> {
        if let Some((_, register)) = self.values.iter().find(|(other, _)| *other == slot) {
            return Some(*register);
        }
        let partly = self.written.iter().any(|other| overlap(other, &slot)) || self.is_home(&slot);
        let known = known.filter(|known| known.host_bytes() == slot.bytes);
        let dtype = known.or(dtype(slot.bytes))?;
        if partly || self.homes.len() >= STEPS {
            return None;
        }
        let register = self.variable(slot, dtype);
        self.values.push((slot, register));
        Some(register)
    }

    fn write(&mut self, slot: Slot, register: Register) {
        self.values.retain(|(other, _)| !overlap(other, &slot));
        self.values.push((slot, register));
        self.written.push(slot);
    }

    /// The elements of a piece of memory: where each begins in it, and what it is. What is not
    /// known is read as elements of `width` bytes.
    fn elements(&mut self, slot: Slot, width: usize) -> Option<Vec<(usize, Slot, Register)>> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < slot.bytes {
            if found.len() >= 4 * ELEMENTS {
                return None;
            }
            let begins = |(other, _): &&(Slot, Register)| {
                (other.base, other.offset) == (slot.base, slot.offset + at)
                    && at + other.bytes <= slot.bytes
            };
            let bytes = self.values.iter().find(begins).map_or(width, |(other, _)| other.bytes);
            let piece = part(slot, at, bytes)?;
            found.push((at, piece, self.element(piece, None)?));
            at += bytes;
        }
        Some(found)
    }

    /// Copies a few elements.
    fn copy(&mut self, from: Slot, to: Slot) -> Option<()> {
        let bytes = from.bytes.min(to.bytes);
        let width = match bytes {
            1 | 2 | 4 | 8 => bytes,
            _ => 4,
        };
        for (at, piece, register) in self.elements(part(from, 0, bytes)?, width)? {
            self.write(part(to, at, piece.bytes)?, register);
        }
        Some(())
    }

    /// What a parameter's memory holds at the end of a round; itself where it has none.
    pub(super) fn next(&self, parameter: usize) -> Register {
        let own = Register::Parameter(parameter);
        let Some(home) = self.homes[parameter] else { return own };
        let here = |(slot, _): &&(Slot, Register)| *slot == self.memories[home];
        self.values.iter().find(here).map_or(own, |(_, register)| *register)
    }

    /// Whether some element of an array is written.
    pub(super) fn writes(&self) -> bool {
        self.arrays.iter().any(|&(_, written)| written)
    }

    /// Makes variables of what the loop carries and only writes, and checks that nothing that is
    /// kept in registers is looked for in memory.
    pub(super) fn close(&mut self, carried: &[Slot]) -> Option<()> {
        for written in self.written.clone() {
            let told = carried.iter().any(|whole| overlap(whole, &written));
            let Some(&(slot, register)) = self.values.iter().find(|(slot, _)| *slot == written)
            else {
                // It has been written over; in part is too much.
                let gone = self.values.iter().any(|(slot, _)| inside(&written, slot));
                let lost = told || self.is_home(&written);
                if lost && !gone {
                    return None;
                }
                continue;
            };
            if self.home_slots().any(|home| home == slot) {
                continue;
            }
            if self.is_home(&slot) {
                return None;
            }
            if told {
                let dtype = self.program.dtype(register);
                self.variable(slot, dtype);
            }
        }
        let clash = |&(array, is_written): &(usize, bool)| {
            let array = self.memories[array];
            self.written.iter().any(|slot| overlap(slot, &array))
                || (is_written && self.is_home(&array))
        };
        (!self.arrays.iter().any(clash)).then_some(())
    }

    pub(super) fn steps(&mut self, steps: &[Step]) -> Option<()> {
        steps.iter().try_for_each(|step| match &step.op {
            PlannedStep::Fused(fused) => self.fused(fused, step),
            PlannedStep::Copies(copies) => {
                copies.iter().try_for_each(|&(from, to)| self.copy(from, to))
            }
            PlannedStep::Branch { selector, branches } => self.branch(*selector, branches),
            PlannedStep::Kernel { kernel, starts, .. } => {
                let moves = kernel.moves(ELEMENTS)?;
                starts.iter().try_for_each(|&(from, to)| self.copy(from, to))?;
                self.moves(&moves, step)
            }
            _ => None,
        })
    }

    fn fused(&mut self, fused: &FusedLoop, step: &Step) -> Option<()> {
        let program = fused.code.program();
        let after = fused.elements.checked_mul(program.steps.len())?;
        if fused.elements > ELEMENTS || self.program.steps.len() + after > STEPS {
            return None;
        }
        let typed = |step: &Instr| -> Vec<DType> {
            step.inputs.iter().map(|&input| program.dtype(input)).collect()
        };
        if !program.steps.iter().all(|step| reaches(&step.op, &typed(step))) {
            return None;
        }
        let constants = self.program.constants.len();
        self.program.constants.extend(program.constants.iter().cloned());
        let mut results = Vec::with_capacity(fused.elements);
        for element in 0..fused.elements {
            let mut inputs = Vec::with_capacity(fused.loads.len());
            for (load, &dtype) in fused.loads.iter().zip(&program.parameters) {
                inputs.push(self.load(load, dtype, element, step)?);
            }
            let first = self.program.steps.len();
            let here = |register: &Register| match *register {
                Register::Parameter(index) => inputs[index],
                Register::Constant(index) => Register::Constant(constants + index),
                Register::Step(index) => Register::Step(first + index),
            };
            for step in &program.steps {
                let inputs = step.inputs.iter().map(here).collect();
                self.actions.push(Action::Step(self.program.steps.len()));
                self.program.steps.push(Instr { op: step.op, inputs });
            }
            results.push(program.results.iter().map(here).collect::<Vec<_>>());
        }
        // A result may lie where an operand does that later elements still read.
        for (element, registers) in results.into_iter().enumerate() {
            for (&slot, register) in step.results.iter().zip(registers) {
                let bytes = self.program.dtype(register).host_bytes();
                if slot.bytes != bytes * fused.elements {
                    return None;
                }
                self.write(part(slot, element * bytes, bytes)?, register);
            }
        }
        Some(())
    }

    /// Both of two branches, and of each value the one that the chosen branch has.
    fn branch(&mut self, selector: Slot, branches: &[Vec<Step>]) -> Option<()> {
        let [zero, other] = branches else { return None };
        let chosen = match selector.bytes {
            1 => self.element(selector, Some(DType::Pred))?,
            4 => {
                let number = self.element(selector, Some(DType::S32))?;
                self.program
                    .constants
                    .push(ElementwiseConstant { dtype: DType::S32, bytes: Box::new([0; 4]) });
                let zero = Register::Constant(self.program.constants.len() - 1);
                self.operation(differs(DType::S32).ok()?, vec![number, zero])
            }
            _ => return None,
        };
        let (before, homes, arrays) = (self.values.clone(), self.homes.len(), self.arrays.len());
        self.steps(zero)?;
        let first = std::mem::replace(&mut self.values, before);
        // What the first branch has read lies there for the second one too.
        for parameter in homes..self.homes.len() {
            if let Some(home) = self.homes[parameter] {
                self.values.push((self.memories[home], Register::Parameter(parameter)));
            }
        }
        self.steps(other)?;
        if self.arrays[arrays..].iter().any(|&(_, written)| written) {
            return None;
        }
        let second = std::mem::take(&mut self.values);
        for (slot, register) in second {
            let same = |(other, _): &&(Slot, Register)| *other == slot;
            let Some(&(_, zero)) = first.iter().find(same) else {
                // Only one branch knows it, so that it is not there behind them.
                continue;
            };
            let value = if zero == register {
                register
            } else {
                let of = dtype(slot.bytes)?;
                let select = SELECT.on_scalars(&Attributes::default(), &[DType::Pred, of, of], of);
                self.operation(select.ok()?, vec![chosen, register, zero])
            };
            self.values.push((slot, value));
        }
        Some(())
    }

    fn operation(&mut self, op: ElementwiseOp, inputs: Vec<Register>) -> Register {
        self.actions.push(Action::Step(self.program.steps.len()));
        self.program.steps.push(Instr { op, inputs });
        Register::Step(self.program.steps.len() - 1)
    }

    /// What a loop reads for one of its elements.
    fn load(
        &mut self,
        load: &LoopInput,
        dtype: DType,
        element: usize,
        step: &Step,
    ) -> Option<Register> {
        let bytes = dtype.host_bytes();
        let (operand, at) = match load {
            LoopInput::Dense(operand) => (*operand, element),
            LoopInput::Map(operand, map) => (*operand, map.at(element)),
            LoopInput::Pieces(pieces) => pieces.at(element),
            LoopInput::All(..) => return None,
            LoopInput::Iota(inner, extent) => {
                let mut number = [0_u64; 1];
                let one = bytemuck::cast_slice_mut(&mut number).get_mut(..bytes)?;
                fill_iota(dtype, element, *inner, *extent, one);
                let bytes = Box::from(&*one);
                self.program.constants.push(ElementwiseConstant { dtype, bytes });
                return Some(Register::Constant(self.program.constants.len() - 1));
            }
        };
        self.element(part(step.operands[operand], at * bytes, bytes)?, Some(dtype))
    }

    /// What only moves elements.
    fn moves(&mut self, moves: &Moves, step: &Step) -> Option<()> {
        let &[result] = &step.results[..] else { return None };
        let skips = moves.outside == Outside::Skip;
        let counts = |start: &&Start| start.room > 0 || skips;
        let starts: Vec<&Start> = moves.starts.iter().filter(counts).collect();
        let mut found = Vec::new();
        for run in &moves.moves {
            if run.bytes / moves.width.max(1) > ELEMENTS {
                return None;
            }
            if !starts.is_empty() && !moves.into {
                continue;
            }
            let from = part(step.operands[run.operand], run.from, run.bytes)?;
            for (at, piece, register) in self.elements(from, moves.width)? {
                found.push((run.to + at, piece.bytes, register));
            }
        }
        if starts.is_empty() {
            for (at, bytes, register) in found {
                self.write(part(result, at, bytes)?, register);
            }
            return Some(());
        }
        let mut indices = Vec::with_capacity(starts.len());
        for &&Start { operand, at, dtype, room, step: bytes } in &starts {
            let slot = part(step.operands[operand], at, dtype.host_bytes())?;
            let register = self.element(slot, Some(dtype))?;
            indices.push(Index { register, dtype, room, step: bytes });
        }
        let memory = self.array(if moves.into { result } else { step.operands[0] }, moves.into);
        let place = |offset: usize, width: usize| MemoryOperand {
            memory,
            offset,
            width,
            indices: indices.clone(),
            skips,
        };
        if moves.into {
            for (at, bytes, register) in found {
                self.actions.push(Action::Write(register, place(at, bytes)));
            }
            return Some(());
        }
        let dtype = dtype(moves.width)?;
        for run in &moves.moves {
            for at in (0..run.bytes).step_by(moves.width) {
                self.program.parameters.push(dtype);
                self.homes.push(None);
                let parameter = self.homes.len() - 1;
                let place = place(run.from + at, moves.width);
                self.actions.push(Action::Read(parameter, place));
                let to = part(result, run.to + at, moves.width)?;
                self.write(to, Register::Parameter(parameter));
            }
        }
        Some(())
    }

    /// The number of a memory whose elements are read or written at places that are computed.
    fn array(&mut self, slot: Slot, written: bool) -> usize {
        let known = self.arrays.iter().find(|(array, _)| self.memories[*array] == slot);
        let memory = known.map_or(self.memories.len(), |(array, _)| *array);
        if memory == self.memories.len() {
            self.memories.push(slot);
        }
        self.arrays.push((memory, written));
        memory
    }
}
