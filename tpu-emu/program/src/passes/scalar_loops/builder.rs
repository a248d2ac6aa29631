//! The steps of a loop as operations on single elements.
mod bodies;
mod products;
mod reductions;
mod single;

pub(super) use reductions::is_few;
use reductions::joining;
pub(super) use single::Single;

use crate::graph::{Graph, ValueId};
use crate::passes::fuse::scalar_program::{ScalarProgram, ValueRange};
use crate::passes::fuse::{FusedStep, StepBlock, StepKind, StridedCopy};
use crate::tuning::{
    MAX_HANDED_ON_ELEMENTS, MAX_SCALAR_LOOP_ARRAY_ELEMENTS, MAX_SCALAR_LOOP_STEPS,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::{
    ElementwiseConstant, ElementwiseOp, ElementwiseProgram, Instr, Register,
};
use tpu_kernels::jit::{Action, Index, Loop, MemoryOperand, knows};
use tpu_kernels::movement::index::Outside;
use tpu_kernels::movement::move_list::{Moves, Start};
use tpu_ops::{Entry, Reduced, SELECT, differs};
use tpu_stablehlo::ir::Attributes;

/// The unsigned type of so many bytes.
fn unsigned(bytes: usize) -> Option<DType> {
    match bytes {
        1 => Some(DType::U8),
        2 => Some(DType::U16),
        4 => Some(DType::U32),
        8 => Some(DType::U64),
        _ => None,
    }
}

/// The selection between elements of so many bytes.
fn select(bytes: usize) -> Option<ElementwiseOp> {
    let of = unsigned(bytes)?;
    SELECT.on_scalars(&Attributes::default(), &[DType::Pred, of, of], of).ok()
}

/// An operation on single elements that machine code knows.
fn known(entry: &Entry, operands: &[DType], result: DType) -> Option<ElementwiseOp> {
    entry.on_scalars(&Attributes::default(), operands, result).ok().filter(knows)
}

/// What a value of the loop is; a value that is none of these comes from outside.
#[derive(Debug, Clone)]
enum Held {
    /// What the loop carries at this position, in its memory.
    Carried(usize),
    /// Registers, each for an element of so many bytes.
    Elements(usize, Vec<Register>),
}

/// Makes the steps of an iteration operations on single elements.
pub(super) struct Builder<'g> {
    graph: &'g Graph,
    /// The loop's results.
    carried: &'g [ValueId],
    /// What is in the memory of each carried value now: its parameter, or an update of it.
    current: Vec<ValueId>,
    held: FxHashMap<ValueId, Held>,
    program: ElementwiseProgram,
    /// The memory of each parameter of the program; none for what an action reads.
    homes: Vec<Option<usize>>,
    /// What each parameter of the program is in the next iteration.
    next: Vec<Register>,
    memories: Vec<ValueRange>,
    actions: Vec<Action>,
    /// Elements that have been read from outside or from what is carried, by value and offset.
    read: FxHashMap<(ValueId, usize), Register>,
    /// How wide the elements of such a value are.
    widths: FxHashMap<ValueId, usize>,
    /// Memories of arrays whose elements are read or written at indices that the loop computes.
    arrays: FxHashMap<ValueId, usize>,
    /// Those of them that are written.
    updated: FxHashSet<ValueId>,
    /// Bytes of the values that live inside of steps only, which are numbered behind the program's.
    inside: Vec<usize>,
}

impl<'g> Builder<'g> {
    pub(super) fn new(graph: &'g Graph, carried: &'g [ValueId]) -> Self {
        Self {
            graph,
            carried,
            current: Vec::new(),
            held: FxHashMap::default(),
            program: ElementwiseProgram::default(),
            homes: Vec::new(),
            next: Vec::new(),
            memories: Vec::new(),
            actions: Vec::new(),
            read: FxHashMap::default(),
            widths: FxHashMap::default(),
            arrays: FxHashMap::default(),
            updated: FxHashSet::default(),
            inside: Vec::new(),
        }
    }

    /// The program of a loop; `None` where some of it cannot be done on single elements.
    pub(super) fn finish(
        mut self,
        condition: &StepBlock,
        body: &StepBlock,
    ) -> Option<ScalarProgram> {
        self.enter(condition);
        self.steps(&condition.steps)?;
        if !self.updated.is_empty() {
            return None;
        }
        let tested = self.actions.len();
        let decision = self.element(*condition.results.first()?, 0, DType::Pred)?;
        self.enter(body);
        self.steps(&body.steps)?;
        for (index, &result) in body.results.iter().enumerate() {
            self.carry(index, result)?;
        }
        // What is written at computed indices is nowhere but in memory.
        if self.updated.iter().any(|array| self.widths.contains_key(array)) {
            return None;
        }
        let Self { program, homes, memories, actions, next, .. } = self;
        let mut dtypes = program.parameters.iter().copied();
        let mut constants = program.constants.iter();
        if !dtypes.all(|dtype| unsigned(dtype.host_bytes()).is_some())
            || !constants.all(|constant| unsigned(constant.bytes.len()).is_some())
        {
            return None;
        }
        let bytes = memories.iter().map(|range| range.bytes).collect();
        let condition = tested;
        let code = Loop { program, homes, memories: bytes, actions, condition, decision, next };
        Some(ScalarProgram { code, memories })
    }

    /// Begins a block whose parameters are what the loop carries.
    fn enter(&mut self, code: &StepBlock) {
        self.current.clone_from(&code.parameters);
        let carried = code.parameters.iter().enumerate();
        self.held.extend(carried.map(|(index, &value)| (value, Held::Carried(index))));
    }

    /// Says what a carried value is in the next iteration.
    fn carry(&mut self, index: usize, result: ValueId) -> Option<()> {
        if self.current[index] == result {
            return Some(());
        }
        let carried = self.carried[index];
        if self.arrays.contains_key(&carried) {
            return None;
        }
        let (width, registers) = self.elements(result)?;
        if width * registers.len() != self.graph.bytes(carried) {
            return None;
        }
        for (at, register) in registers.into_iter().enumerate() {
            let dtype = self.program.dtype(register);
            match self.variable(carried, at * width, dtype)? {
                Register::Parameter(parameter) => self.next[parameter] = register,
                Register::Constant(_) | Register::Step(_) => return None,
            }
        }
        Some(())
    }

    /// Numbers values that live inside of a step only, by their bytes; gives the first number.
    fn name_inside(&mut self, bytes: impl Iterator<Item = usize>) -> Option<u32> {
        let first = self.graph.values.len() + self.inside.len();
        self.inside.extend(bytes);
        u32::try_from(first).ok()
    }

    /// Bytes of a value of the program, or inside of a step.
    fn bytes(&self, value: ValueId) -> Option<usize> {
        match value.index().checked_sub(self.graph.values.len()) {
            None => Some(self.graph.bytes(value)),
            Some(inside) => self.inside.get(inside).copied(),
        }
    }

    /// A new parameter of the program.
    fn parameter(&mut self, home: Option<usize>, dtype: DType) -> Option<Register> {
        let register = Register::Parameter(self.homes.len());
        self.homes.push(home);
        self.program.parameters.push(dtype);
        self.next.push(register);
        (self.homes.len() <= MAX_SCALAR_LOOP_STEPS).then_some(register)
    }

    fn constant(&mut self, dtype: DType, bytes: &[u8]) -> Register {
        self.program.constants.push(ElementwiseConstant { dtype, bytes: bytes.into() });
        Register::Constant(self.program.constants.len() - 1)
    }

    /// The parameter for an element of a value from outside or of a carried one.
    fn variable(&mut self, value: ValueId, offset: usize, dtype: DType) -> Option<Register> {
        let bytes = dtype.host_bytes();
        if *self.widths.entry(value).or_insert(bytes) != bytes || !offset.is_multiple_of(bytes) {
            return None;
        }
        if let Some(&register) = self.read.get(&(value, offset)) {
            return Some(register);
        }
        self.memories.push(ValueRange { value, offset, bytes });
        let register = self.parameter(Some(self.memories.len() - 1), dtype)?;
        self.read.insert((value, offset), register);
        Some(register)
    }

    /// The value in whose memory a value lies, unless that is in registers or gone.
    fn memory(&self, value: ValueId) -> Option<ValueId> {
        match self.held.get(&value) {
            Some(Held::Elements(..)) => None,
            Some(&Held::Carried(index)) => {
                (self.current[index] == value).then_some(self.carried[index])
            }
            None => Some(value),
        }
    }

    /// An element of a value.
    fn element(&mut self, value: ValueId, offset: usize, dtype: DType) -> Option<Register> {
        let bytes = dtype.host_bytes();
        unsigned(bytes)?;
        if let Some(Held::Elements(width, registers)) = self.held.get(&value) {
            // The bytes may have another name here, as elements of another width.
            let whole = *width == bytes && offset.is_multiple_of(bytes);
            return registers.get(offset / bytes).copied().filter(|_| whole);
        }
        if let Some(known) = &self.graph.values.get(value.index())?.known {
            let known = Arc::clone(known);
            return Some(self.constant(dtype, known.get(offset..offset + bytes)?));
        }
        let value = self.memory(value)?;
        self.variable(value, offset, dtype)
    }

    /// All elements of a value, and how wide they are.
    fn elements(&mut self, value: ValueId) -> Option<(usize, Vec<Register>)> {
        if let Some(Held::Elements(width, registers)) = self.held.get(&value) {
            return Some((*width, registers.clone()));
        }
        let shape = &self.graph.values.get(value.index())?.shape;
        let (dtype, count) = (shape.dtype, shape.elements());
        let width = dtype.host_bytes();
        if count > MAX_HANDED_ON_ELEMENTS {
            return None;
        }
        let each = |at| self.element(value, at * width, dtype);
        Some((width, (0..count).map(each).collect::<Option<_>>()?))
    }

    fn hold(&mut self, value: ValueId, width: usize, registers: Vec<Register>) -> Option<()> {
        let whole = self.bytes(value) == Some(width * registers.len());
        self.held.insert(value, Held::Elements(width, registers));
        whole.then_some(())
    }

    fn steps(&mut self, steps: &[FusedStep]) -> Option<()> {
        steps.iter().try_for_each(|step| match &step.kind {
            StepKind::Fused(fused) => self.fused(fused, &step.operands, &step.results),
            StepKind::Copy(copy) => self.copy(copy, step.operands[0], step.results[0]),
            StepKind::Branch(branches) => self.branch(step, branches),
            StepKind::Kernel(kernel) => match Single::of(&**kernel)? {
                Single::Product(product) => self.product(&product, step),
                Single::Reduction(Reduced { fold, dims }) => {
                    self.reduction(&*fold, dims, &step.operands, step.results[0])
                }
                Single::Body(few) => self.few_reduced(&few, step),
                Single::Moves(moves, join) => {
                    let join = match join {
                        Some(of) => Some(joining(of)?),
                        None => None,
                    };
                    self.moves(kernel.starts_from(0), (&moves, join), step)
                }
            },
            StepKind::Rows(rows) => self.rows(rows, step),
            StepKind::While { .. } | StepKind::Each(_) => None,
        })
    }

    fn copy(&mut self, copy: &StridedCopy, from: ValueId, result: ValueId) -> Option<()> {
        let width = copy.dtype.host_bytes();
        let element = |at| self.element(from, copy.map.at(at) * width, copy.dtype);
        let registers = (0..copy.elements).map(element).collect::<Option<_>>()?;
        self.hold(result, width, registers)
    }

    fn operation(&mut self, op: ElementwiseOp, inputs: Vec<Register>) -> Register {
        self.actions.push(Action::Step(self.program.steps.len()));
        self.program.steps.push(Instr { op, inputs });
        Register::Step(self.program.steps.len() - 1)
    }

    /// Computes both of two branches, and takes of each value the one that the chosen branch has.
    fn branch(&mut self, step: &FusedStep, branches: &[StepBlock]) -> Option<()> {
        let [zero, other] = branches else { return None };
        let selector = step.operands[0];
        let chosen = match self.graph.bytes(selector) {
            1 => self.element(selector, 0, DType::Pred)?,
            4 => {
                let number = self.element(selector, 0, DType::S32)?;
                let zero = self.constant(DType::S32, &[0; 4]);
                self.operation(differs(DType::S32).ok()?, vec![number, zero])
            }
            _ => return None,
        };
        let before = self.current.clone();
        self.steps(&zero.steps)?;
        self.steps(&other.steps)?;
        // An update would be done whichever branch is chosen.
        if self.current != before {
            return None;
        }
        for ((&result, &zero), &other) in step.results.iter().zip(&zero.results).zip(&other.results)
        {
            let ((width, zeros), (same, others)) = (self.elements(zero)?, self.elements(other)?);
            if width != same || zeros.len() != others.len() {
                return None;
            }
            let mut registers = Vec::with_capacity(zeros.len());
            for (zero, other) in zeros.into_iter().zip(others) {
                registers.push(match zero == other {
                    true => zero,
                    false => self.operation(select(width)?, vec![chosen, other, zero]),
                });
            }
            self.hold(result, width, registers)?;
        }
        Some(())
    }

    /// What only moves elements, into a copy of the operand with a number where one is given.
    fn moves(
        &mut self,
        onto: Option<usize>,
        (moves, join): (&Moves, Option<ElementwiseOp>),
        step: &FusedStep,
    ) -> Option<()> {
        let &[result] = &step.results[..] else { return None };
        let width = moves.width;
        unsigned(width)?;
        if moves.moves.iter().any(|run| run.bytes / width > MAX_SCALAR_LOOP_ARRAY_ELEMENTS) {
            return None;
        }
        let skips = moves.outside == Outside::Skip;
        let counts = |start: &&Start| start.room > 0 || skips;
        let mut indices = Vec::new();
        for &Start { operand, at, dtype, room, step: bytes } in moves.starts.iter().filter(counts) {
            let register = self.element(step.operands[operand], at, dtype)?;
            indices.push(Index { register, dtype, room, step: bytes });
        }
        if moves.into && !indices.is_empty() {
            return self.update(step, (moves, join), onto?, &indices);
        }
        if join.is_some() {
            return None;
        }
        let mut registers = match onto {
            Some(operand) => match self.elements(step.operands[operand])? {
                (same, registers) if same == width => registers.into_iter().map(Some).collect(),
                _ => return None,
            },
            None => vec![None; self.graph.bytes(result) / width],
        };
        for run in &moves.moves {
            let from = step.operands[run.operand];
            let dtype = self.dtype_of(from, width)?;
            for at in (0..run.bytes).step_by(width) {
                let register = if indices.is_empty() {
                    self.element(from, run.from + at, dtype)?
                } else {
                    let array = self.memory(from)?;
                    let place = self.place(array, run.from + at, moves, &indices);
                    self.read(dtype, place)?
                };
                *registers.get_mut((run.to + at) / width)? = Some(register);
            }
        }
        self.hold(result, width, registers.into_iter().collect::<Option<_>>()?)
    }

    /// Reads an element at a computed index.
    fn read(&mut self, dtype: DType, place: MemoryOperand) -> Option<Register> {
        let register = self.parameter(None, dtype)?;
        if let Register::Parameter(parameter) = register {
            self.actions.push(Action::Read(parameter, place));
        }
        Some(register)
    }

    /// An update in place of an array that the loop carries, at computed indices; what is there is
    /// joined with what comes, or replaced by it.
    fn update(
        &mut self,
        step: &FusedStep,
        (moves, join): (&Moves, Option<ElementwiseOp>),
        array: usize,
        indices: &[Index],
    ) -> Option<()> {
        let (array, result) = (step.operands[array], step.results[0]);
        let Some(&Held::Carried(index)) = self.held.get(&array) else { return None };
        let memory = self.memory(array)?;
        for run in &moves.moves {
            let from = step.operands[run.operand];
            let dtype = self.dtype_of(from, moves.width)?;
            for at in (0..run.bytes).step_by(moves.width) {
                let mut register = self.element(from, run.from + at, dtype)?;
                let place = self.place(memory, run.to + at, moves, indices);
                if let Some(join) = join {
                    let held = self.read(dtype, place.clone())?;
                    register = self.operation(join, vec![held, register]);
                }
                self.actions.push(Action::Write(register, place));
            }
        }
        self.updated.insert(memory);
        self.current[index] = result;
        self.held.insert(result, Held::Carried(index));
        Some(())
    }

    /// The type of a value's elements, or of as many bytes where it has another name here.
    fn dtype_of(&self, value: ValueId, width: usize) -> Option<DType> {
        let dtype = self.graph.value(value).shape.dtype;
        if dtype.host_bytes() == width { Some(dtype) } else { unsigned(width) }
    }

    /// An element at computed indices of an array in memory.
    fn place(
        &mut self,
        array: ValueId,
        offset: usize,
        moves: &Moves,
        indices: &[Index],
    ) -> MemoryOperand {
        let memory = *self.arrays.entry(array).or_insert_with(|| {
            let bytes = self.graph.bytes(array);
            self.memories.push(ValueRange { value: array, offset: 0, bytes });
            self.memories.len() - 1
        });
        let (width, skips) = (moves.width, moves.outside == Outside::Skip);
        MemoryOperand { memory, offset, width, indices: indices.to_vec(), skips }
    }
}
