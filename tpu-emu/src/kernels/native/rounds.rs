// UNSAFETY: calls a compiled loop with the addresses of its variables, each of which is checked
// to have the bytes that the loop reads and writes there.
//! Loops over single elements as machine code: condition, body, and back.
#![expect(unsafe_code, reason = "calls machine code")]
use super::allocate::{Emitter, number, vector};
use super::encode::{Fields, If, Operand, byte, general, opcode};
use super::job::{Kind, job};
use super::lower::{Lowerer, MOVE, Source};
use super::memory::Function;
use super::micro::{Origin, Value};
use crate::kernels::lanes::{LaneProgram, Register};
use std::cell::Cell;

/// Variables that change, of which each has a register.
const VARIABLES: usize = 12;

/// A loop over single elements. The program's parameters are its variables, the program's steps
/// those of the condition and then those of the body.
#[derive(Debug)]
pub struct Loop {
    /// Condition and body.
    pub program: LaneProgram,
    /// How many steps the condition has.
    pub condition: usize,
    /// Whether there is another round.
    pub decision: Register,
    /// What each variable is in the next round.
    pub next: Vec<Register>,
}

/// A loop as machine code.
#[derive(Debug)]
pub struct Rounds {
    function: Function,
    /// Bytes of each variable.
    widths: Vec<usize>,
}

impl Rounds {
    /// Compiles a loop; `None` where an operation is not known, where there are too many
    /// variables, or where the system gives no memory for code.
    pub fn new(of: &Loop) -> Option<Self> {
        let program = &of.program;
        let widths: Vec<usize> =
            program.parameters.iter().map(|dtype| dtype.host_bytes()).collect();
        if !widths.iter().all(|width| matches!(width, 1 | 2 | 4 | 8)) {
            return None;
        }
        let (code, entry) = compile(of, &widths)?;
        Function::new(&code, entry).map(|function| Self { function, widths })
    }

    /// Runs the loop to its end, on the variables that are given.
    ///
    /// # Panics
    /// Where a variable is missing or has too few bytes.
    pub fn run(&self, variables: &[&[Cell<u8>]]) {
        assert_eq!(variables.len(), self.widths.len(), "variables of a loop");
        let address = |(variable, &width): (&&[Cell<u8>], &usize)| {
            assert!(variable.len() >= width, "{} bytes for {width}", variable.len());
            variable.as_ptr().cast::<u8>().cast_mut()
        };
        let addresses: Vec<*mut u8> = variables.iter().zip(&self.widths).map(address).collect();
        // SAFETY: each address has the bytes that the code reads and writes there.
        unsafe { self.function.call(&addresses, 0) };
    }
}

fn compile(of: &Loop, widths: &[usize]) -> Option<(Vec<u8>, usize)> {
    let program = &of.program;
    let mut lowerer = Lowerer::new(1);
    let changes = |index: usize| of.next[index] != Register::Parameter(index);
    if (0..widths.len()).filter(|&index| changes(index)).count() > VARIABLES {
        return None;
    }
    for index in 0..widths.len() {
        let source = if changes(index) { Source::Variable(index) } else { Source::One(index) };
        lowerer.source(Register::Parameter(index), source);
    }
    for (index, constant) in program.constants.iter().enumerate() {
        let mut bits = [0; 8];
        bits.iter_mut().zip(&constant.bytes).for_each(|(bit, &byte)| *bit = byte);
        lowerer.source(Register::Constant(index), Source::Constant(u64::from_le_bytes(bits)));
    }
    let step = |lowerer: &mut Lowerer, index: usize| {
        let step = &program.steps[index];
        let (job, kind) = job(&step.op)?;
        lowerer.step(job, kind, &step.inputs, Register::Step(index));
        Some(())
    };
    (0..of.condition).try_for_each(|index| step(&mut lowerer, index))?;
    let decision = lowerer.mask(of.decision);
    lowerer.body.decision = Some((lowerer.body.code.len(), decision));
    (of.condition..program.steps.len()).try_for_each(|index| step(&mut lowerer, index))?;
    for index in (0..widths.len()).filter(|&index| changes(index)) {
        let kind = Kind::of(program.dtype(of.next[index]))?;
        let value = lowerer.packed(of.next[index], kind);
        let variable = matches!(lowerer.body.values[value.index()].1, Origin::Variable(_));
        // All variables change at once, so what one takes from another is kept aside.
        let value = if variable { lowerer.body.unary(MOVE, 2, value) } else { value };
        lowerer.body.stores.push((value, index, widths[index]));
    }
    lowerer.body.prune();
    let body = &lowerer.body;
    Some(Emitter::new(body, widths.len()).rounds(widths))
}

impl Emitter<'_> {
    /// The machine code of a loop whose stores are its variables' next values.
    fn rounds(mut self, widths: &[usize]) -> (Vec<u8>, usize) {
        let frame = self.enter(&[]);
        let mut registers = vec![None; widths.len()];
        for (_, array, width) in self.body.stores.clone() {
            self.limit -= 1;
            let register = byte(self.limit);
            self.code.load(general::RAX, general::RDI, number(8 * array));
            self.spread(width, register, Operand::At { base: general::RAX, offset: 0 });
            registers[array] = Some(register);
        }
        for (index, (_, origin)) in self.body.values.iter().enumerate() {
            if let Origin::Variable(array) = origin {
                self.place[index] = registers[*array];
            }
        }
        self.keep_constants();
        let top = self.code.here();
        let (before, decision) = self.body.decision.unwrap_or((0, Value(0)));
        for at in 0..before {
            self.micro(number(at), self.body.code[at]);
        }
        let mask = self.ensure(decision, &[]);
        // kmovw eax, mask; test al, 1
        self.code.raw(&[0xc5, 0xf8, 0x93, 0xc0 | mask, 0xa8, 1]);
        let exit = self.code.jump(If::Zero);
        if before == self.body.code.len() {
            self.release(decision, number(before));
        }
        for at in before..self.body.code.len() {
            self.micro(number(at), self.body.code[at]);
        }
        for (at, (value, array, _)) in self.body.stores.clone().into_iter().enumerate() {
            let from = self.ensure(value, &[]);
            let move_all = opcode(1, 1, true, 0x6f);
            let to = registers[array].unwrap_or(0);
            self.code.vector(move_all, vector(to), Operand::Register(from));
            self.release(value, number(self.body.code.len() + at));
        }
        self.code.jump_back(If::Always, top);
        self.code.land(exit);
        for (_, array, width) in self.body.stores.clone() {
            self.code.load(general::RAX, general::RDI, number(8 * array));
            let (op, immediate) = match width {
                1 => (opcode(3, 1, false, 0x14), Some(0)),
                2 => (opcode(3, 1, false, 0x15), Some(0)),
                4 => (opcode(1, 1, false, 0x7e), None),
                _ => (opcode(1, 1, true, 0x7e), None),
            };
            let reg = registers[array].unwrap_or(0);
            let fields = Fields { length: 0, reg, other: 0, mask: 0, zero: false, immediate };
            self.code.vector(op, fields, Operand::At { base: general::RAX, offset: 0 });
        }
        self.leave(&[], frame)
    }
}
