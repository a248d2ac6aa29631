// UNSAFETY: calls a compiled loop with the addresses of its memories, each of which is checked to
// have the bytes that the loop reads and writes there; what it computes is moved inside of them.
//! Loops over single elements as machine code: condition, body, and back.
#![expect(unsafe_code, reason = "calls machine code")]
use super::address::{Index, MemoryOperand};
use super::avx2::translate;
use super::call_groups::grouped;
use super::callee::Callee;
use super::code_memory::Function;
use super::encode::{If, Operand, byte, general};
use super::inst::{Origin, Value};
use super::libcall::SameCalls;
use super::liveness::number;
use super::lower::{Lowerer, ValueSource};
use super::opcodes::{VMOVDQA32, VMOVDQA64};
use super::regalloc::{Emitter, vector};
use super::select::{NumberKind, job};
use super::target::Target;
use crate::elementwise::program::{ElementwiseProgram, Register};
use std::cell::Cell;

/// Variables that have registers for good; more of them lie on the stack.
const REGISTERS: usize = 8;

/// Variables that change.
const VARIABLES: usize = 96;

/// What a round does at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The step of the program with this number.
    Step(usize),
    /// Reads an element into a parameter of the program.
    Read(usize, MemoryOperand),
    /// Writes an element.
    Write(Register, MemoryOperand),
}

/// A loop over single elements.
#[derive(Debug)]
pub struct Loop {
    /// The operations, and as parameters the variables and what is read.
    pub program: ElementwiseProgram,
    /// The memory of each variable; `None` for a parameter that is read in each round.
    pub homes: Vec<Option<usize>>,
    /// Bytes of each memory.
    pub memories: Vec<usize>,
    /// Condition and body.
    pub actions: Vec<Action>,
    /// How many actions the condition has.
    pub condition: usize,
    /// Whether there is another round.
    pub decision: Register,
    /// What each parameter is in the next round; itself for one that is not a variable.
    pub next: Vec<Register>,
}

/// A loop as machine code.
#[derive(Debug)]
pub struct ScalarLoop {
    function: Function,
    /// Bytes of each memory.
    memories: Vec<usize>,
    /// What the code calls, by address.
    _calls: Vec<Callee>,
}

impl ScalarLoop {
    /// Compiles a loop; `None` where an operation or an index is not known, where there are too
    /// many variables, or where the system gives no memory for code.
    ///
    /// # Panics
    /// Where an element lies behind the end of its memory.
    pub fn new(of: &Loop) -> Option<Self> {
        for (parameter, home) in of.homes.iter().enumerate() {
            let width = of.program.parameters[parameter].host_bytes();
            if !matches!(width, 1 | 2 | 4 | 8) {
                return None;
            }
            assert!(home.is_none_or(|home| of.memories[home] >= width), "a variable's memory");
        }
        for action in &of.actions {
            let (Action::Read(_, place) | Action::Write(_, place)) = action else { continue };
            assert!(place.reach() <= of.memories[place.memory], "{place:?}");
            let small = i32::try_from(place.reach()).is_ok();
            let width = matches!(place.width, 1 | 2 | 4 | 8);
            if !small || !width || !place.indices.iter().all(Index::is_known) {
                return None;
            }
        }
        let target = Target::for_single_elements()?;
        let mut lowerer = lower(of, target)?;
        translate(&mut lowerer.body);
        let (code, entry) = Emitter::new(&lowerer.body, of.memories.len(), target).rounds();
        #[cfg(any(test, feature = "testing"))]
        super::verify::verify(&code, entry, &contract(of, &lowerer, target));
        let function = Function::new(&code, entry)?;
        let _calls = std::mem::take(&mut lowerer.body.calls);
        Some(Self { function, memories: of.memories.clone(), _calls })
    }

    /// Runs the loop to its end, on the memories that are given.
    ///
    /// # Panics
    /// Where a memory is missing or has too few bytes.
    pub fn run(&self, memories: &[&[Cell<u8>]]) {
        assert_eq!(memories.len(), self.memories.len(), "memories of a loop");
        let address = |(memory, &bytes): (&&[Cell<u8>], &usize)| {
            assert!(memory.len() >= bytes, "{} bytes for {bytes}", memory.len());
            memory.as_ptr().cast::<u8>().cast_mut()
        };
        let addresses: Vec<*mut u8> = memories.iter().zip(&self.memories).map(address).collect();
        // SAFETY: each address has the bytes that the code reads and writes there.
        unsafe { self.function.entry().call(&addresses, 0) };
    }
}

/// What the function of a loop may do.
#[cfg(any(test, feature = "testing"))]
fn contract(of: &Loop, lowerer: &Lowerer, target: Target) -> super::verify::Contract {
    let variables = lowerer.body.stores.iter().map(|&(_, home, _)| home);
    let elements = of.actions.iter().filter_map(|action| match action {
        Action::Write(_, place) => Some(place.memory),
        Action::Step(_) | Action::Read(..) => None,
    });
    let callee = |callee| std::ptr::from_ref::<Callee>(callee).addr();
    super::verify::Contract {
        target,
        arrays: of.memories.len(),
        writes: variables.chain(elements).collect(),
        group: None,
        callees: lowerer.body.calls.iter().map(callee).collect(),
    }
}

fn lower(of: &Loop, target: Target) -> Option<Lowerer> {
    let program = &of.program;
    let mut lowerer = Lowerer::new(1, target);
    let changes = |index: usize| of.next[index] != Register::Parameter(index);
    if (0..of.homes.len()).filter(|&index| changes(index)).count() > VARIABLES {
        return None;
    }
    for (index, home) in of.homes.iter().enumerate() {
        let Some(home) = *home else { continue };
        let source =
            if changes(index) { ValueSource::Variable(home) } else { ValueSource::One(home) };
        lowerer.source(Register::Parameter(index), source);
    }
    for (index, constant) in program.constants.iter().enumerate() {
        let mut bits = [0; 8];
        bits.iter_mut().zip(&constant.bytes).for_each(|(bit, &byte)| *bit = byte);
        lowerer.source(Register::Constant(index), ValueSource::Constant(u64::from_le_bytes(bits)));
    }
    let (tests, rest) = of.actions.split_at(of.condition);
    act(&mut lowerer, program, tests)?;
    let decision = lowerer.mask(of.decision);
    lowerer.body.decision = Some((lowerer.body.code.len(), decision));
    act(&mut lowerer, program, rest)?;
    for (index, home) in of.homes.iter().enumerate() {
        let Some(home) = home.filter(|_| changes(index)) else { continue };
        let kind = NumberKind::of(program.dtype(of.next[index]))?;
        let value = lowerer.packed(of.next[index], kind);
        let variable = matches!(lowerer.body.values[value.index()].1, Origin::Variable(_));
        // All variables change at once, so what one takes from another is kept aside.
        let value = if variable { lowerer.body.unary(VMOVDQA32, 2, value) } else { value };
        lowerer.body.stores.push((value, home, program.parameters[index].host_bytes()));
    }
    lowerer.body.prune();
    Some(lowerer)
}

/// The instructions of some actions.
fn act(lowerer: &mut Lowerer, program: &ElementwiseProgram, actions: &[Action]) -> Option<()> {
    for group in grouped(program, actions) {
        let mut calls = SameCalls::new();
        for at in group {
            match &actions[at] {
                Action::Step(index) => {
                    let (step, result) = (&program.steps[*index], Register::Step(*index));
                    match job(&step.op) {
                        Some((job, kind)) => lowerer.step(job, kind, &step.inputs, result),
                        None => calls.push((step.inputs.clone(), result)),
                    }
                }
                Action::Read(parameter, place) => {
                    lowerer.peek(program, place, Register::Parameter(*parameter));
                }
                Action::Write(value, place) => {
                    let kind = NumberKind::of(program.dtype(*value))?;
                    lowerer.poke(program, place, (*value, kind));
                }
            }
        }
        if let Some(&(_, Register::Step(first))) = calls.first() {
            let step = &program.steps[first];
            let inputs: Vec<_> = step.inputs.iter().map(|&input| program.dtype(input)).collect();
            lowerer.call(&step.op, &inputs, &calls);
        }
    }
    Some(())
}

/// Where a variable is.
#[derive(Debug, Clone, Copy)]
enum Home {
    /// In a register that nothing else has.
    Register(u8),
    /// On the stack, so far behind its end.
    Cell(u32),
}

impl Emitter<'_> {
    /// The machine code of a loop whose stores are its variables' next values.
    fn rounds(mut self) -> (Vec<u8>, usize) {
        let frame = self.enter(&[]);
        let homes = self.variables();
        self.keep_constants();
        let top = self.code.here();
        let (before, decision) = self.body.decision.unwrap_or((0, Value(0)));
        for at in 0..before {
            self.micro(number(at), self.body.code[at]);
        }
        let mask = self.ensure(decision, &[]);
        self.code.test_vector(mask);
        let exit = self.code.jump(If::Zero);
        if before == self.body.code.len() {
            self.release(decision, number(before));
        }
        for at in before..self.body.code.len() {
            self.micro(number(at), self.body.code[at]);
        }
        for (at, (value, array, _)) in self.body.stores.clone().into_iter().enumerate() {
            let from = self.ensure(value, &[]);
            match homes[array] {
                Home::Register(to) => {
                    self.code.vector(VMOVDQA64, vector(to), Operand::Register(from));
                }
                Home::Cell(offset) => self.store_cell(from, offset),
            }
            self.release(value, number(self.body.code.len() + at));
        }
        self.code.jump_back(If::Always, top);
        self.code.land(exit);
        for (_, array, width) in self.body.stores.clone() {
            self.code.load(general::RAX, general::RDI, number(8 * array));
            let from = match homes[array] {
                Home::Register(from) => from,
                Home::Cell(offset) => {
                    self.load_cell(0, offset);
                    0
                }
            };
            self.write_element(width, from, Operand::At { base: general::RAX, offset: 0 });
        }
        self.leave(&[], frame)
    }

    /// Reads the variables: the most used ones into registers that are theirs, the others into
    /// cells of the stack. Gives where each array's variable is.
    fn variables(&mut self) -> Vec<Home> {
        let mut uses = vec![0; self.pointers.len()];
        for (index, (_, origin)) in self.body.values.iter().enumerate() {
            if let Origin::Variable(array) = origin {
                uses[*array] += self.uses.count(index);
            }
        }
        let mut all: Vec<(usize, usize)> =
            self.body.stores.iter().map(|&(_, array, width)| (array, width)).collect();
        all.sort_by_key(|&(array, _)| std::cmp::Reverse(uses[array]));
        let mut homes = vec![Home::Cell(0); self.pointers.len()];
        for (at, (array, width)) in all.into_iter().enumerate() {
            let has_register = at < REGISTERS;
            let register = if has_register {
                self.limit -= 1;
                byte(self.limit)
            } else {
                0
            };
            self.code.load(general::RAX, general::RDI, number(8 * array));
            self.spread(width, register, Operand::At { base: general::RAX, offset: 0 });
            homes[array] = if has_register {
                self.variables.push(register);
                Home::Register(register)
            } else {
                let offset = self.room(1);
                self.store_cell(register, offset);
                Home::Cell(offset)
            };
        }
        for (index, (_, origin)) in self.body.values.iter().enumerate() {
            let Origin::Variable(array) = origin else { continue };
            match homes[*array] {
                Home::Register(register) => self.place[index] = Some(register),
                Home::Cell(offset) => self.kept[index] = Some(offset),
            }
        }
        homes
    }
}
