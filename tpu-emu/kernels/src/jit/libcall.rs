//! Operations on single elements that machine code leaves to their own loops.
use super::callee::{CELL_BYTES, Callee, Cells, OPERANDS};
use super::code_memory::address_of_operate;
use super::encode::{Operand, byte, general};
use super::inst::{CallCell, Class, Form, Micro, Value};
use super::liveness::number;
use super::lower::Lowerer;
use super::opcodes::NONE;
use super::regalloc::{CELL, Emitter};
use super::select::NumberKind;
use crate::elementwise::program::{ElementwiseOp, Register};
use tpu_base::tensor::DType;

/// Whether an operation can be called: on operands of these types.
pub(super) fn can_call(op: &ElementwiseOp, inputs: &[DType]) -> bool {
    let plain = |dtype: &DType| NumberKind::of(*dtype).is_some();
    inputs.len() <= OPERANDS && plain(&op.result) && inputs.iter().all(plain)
}

/// Operations of one kind on single elements: the operands and the result of each.
pub(super) type SameCalls = Vec<(Vec<Register>, Register)>;

/// How many elements of a call of an operation fit.
pub(super) fn room(op: &ElementwiseOp, inputs: &[DType]) -> usize {
    let widths = inputs.iter().map(|dtype| dtype.host_bytes());
    CELL_BYTES / widths.chain([op.result.host_bytes()]).max().unwrap_or(1).max(1)
}

/// Where an element lies: of which operand, the last being the result, and which one.
fn cell(operand: usize, width: usize, element: usize) -> CallCell {
    CallCell { offset: number(CELL_BYTES * operand + width * element), width }
}

impl Lowerer {
    /// Calls an operation, on as many elements as there are.
    pub(super) fn call(&mut self, op: &ElementwiseOp, inputs: &[DType], calls: &SameCalls) {
        let mut widths = [0; OPERANDS];
        for (operand, (&dtype, width)) in inputs.iter().zip(&mut widths).enumerate() {
            let Some(kind) = NumberKind::of(dtype) else { continue };
            *width = kind.width() * calls.len();
            for (element, (registers, _)) in calls.iter().enumerate() {
                let value = Some(self.packed(registers[operand], kind));
                let form = Form::Lay(cell(operand, kind.width(), element));
                self.body.emit(Class::Vector, NONE, form, 0, [value, None, None], None);
            }
        }
        let result = op.result.host_bytes();
        let callee =
            Callee { op: *op, widths, operands: inputs.len(), result: result * calls.len() };
        let form = Form::Call(number(self.body.calls.len()));
        self.body.calls.push(callee);
        self.body.emit(Class::Vector, NONE, form, 0, [None; 3], None);
        for (element, &(_, register)) in calls.iter().enumerate() {
            let form = Form::Take(cell(OPERANDS, result, element));
            let value = self.body.emit(Class::Vector, NONE, form, 0, [None; 3], None);
            self.define(register, value);
        }
    }
}

impl Emitter<'_> {
    /// The stack's cells for the operands and the result of a call, and one more.
    fn call_cells(&mut self) -> u32 {
        let cells = match self.cells {
            Some(cells) => cells,
            None => self.room(number(OPERANDS) + 2),
        };
        self.cells = Some(cells);
        cells
    }

    /// Writes an element for a call.
    pub(super) fn lay(&mut self, now: u32, micro: Micro, cell: CallCell) {
        let Some(value) = micro.operands[0] else { return };
        let offset = self.call_cells() + cell.offset;
        let from = self.ensure(value, &[value]);
        self.write_element(cell.width, from, Operand::At { base: general::RSP, offset });
        self.release(value, now);
    }

    /// Reads an element of what a call has left.
    pub(super) fn fetch(&mut self, micro: Micro, cell: CallCell) {
        let offset = self.call_cells() + cell.offset;
        let result = self.take(Class::Vector, &[]);
        self.put(Class::Vector, micro.result, result);
        self.spread(cell.width, result, Operand::At { base: general::RSP, offset });
        if !self.is_read(micro.result) {
            self.free(micro.result);
        }
    }

    /// The code of a call. Everything in registers is kept on the stack meanwhile.
    pub(super) fn call(&mut self, callee: u32) {
        let callee = usize::try_from(callee).ok().and_then(|at| self.body.calls.get(at));
        let Some(callee) = callee else { return };
        let address = std::ptr::from_ref::<Callee>(callee).expose_provenance();
        let cells = self.call_cells();
        let kept_pointer = cells + number(size_of::<Cells>());
        for register in 0..self.limit {
            if let Some(value) = self.vectors[register].take() {
                self.evict(Class::Vector, value, byte(register));
            }
        }
        let homes = match self.homes {
            Some(homes) => homes,
            None => self.room(32),
        };
        self.homes = Some(homes);
        let variables = self.variables.clone();
        let home = |register: u8| Operand::At {
            base: general::RSP,
            offset: homes + CELL * u32::from(register),
        };
        for &register in &variables {
            self.write_element(8, register, home(register));
        }
        self.code.store(general::RDI, general::RSP, kept_pointer);
        self.code.number(general::RDI, u64::try_from(address).unwrap_or(0));
        self.code.address(general::RSI, general::RSP, cells);
        self.code.number(general::RAX, u64::try_from(address_of_operate()).unwrap_or(0));
        self.code.clear_upper();
        self.code.call(general::RAX);
        self.counted = None;
        self.code.load(general::RDI, general::RSP, kept_pointer);
        for &register in &variables {
            self.spread(8, register, home(register));
        }
        for index in 0..self.place.len() {
            let Some(register) = self.place[index] else { continue };
            if usize::from(register) >= self.limit && !variables.contains(&register) {
                self.reload(Value(number(index)), register);
            }
        }
    }
}
