//! Operations on single elements that machine code leaves to their own loops.
use super::callee::{Callee, OPERANDS};
use super::code_memory::address_of_operate;
use super::encode::{Operand, byte, general};
use super::inst::{Class, Form, Micro, Value};
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

impl Lowerer {
    /// Calls an operation.
    pub(super) fn call(
        &mut self,
        op: &ElementwiseOp,
        inputs: &[(Register, DType)],
        result: Register,
    ) {
        let mut operands = [None; OPERANDS];
        let mut widths = [0; OPERANDS];
        let places = operands.iter_mut().zip(&mut widths);
        for (&(register, dtype), (operand, width)) in inputs.iter().zip(places) {
            if let Some(kind) = NumberKind::of(dtype) {
                (*operand, *width) = (Some(self.packed(register, kind)), kind.width());
            }
        }
        let callee =
            Callee { op: *op, widths, operands: inputs.len(), result: op.result.host_bytes() };
        let form = Form::Call(number(self.body.calls.len()));
        self.body.calls.push(callee);
        let value = self.body.emit(Class::Vector, NONE, form, 0, operands, None);
        self.define(result, value);
    }
}

impl Emitter<'_> {
    /// The code of a call. Everything in registers is kept on the stack meanwhile.
    pub(super) fn call(&mut self, now: u32, micro: Micro, callee: u32) {
        let callee = usize::try_from(callee).ok().and_then(|at| self.body.calls.get(at));
        let Some(callee) = callee else { return };
        let address = std::ptr::from_ref::<Callee>(callee).expose_provenance();
        let cells = match self.cells {
            Some(cells) => cells,
            None => self.room(5),
        };
        self.cells = Some(cells);
        let kept_pointer = cells + 4 * CELL;
        let locked: Vec<Value> = micro.reads().collect();
        let mut cell = cells;
        for &value in &locked {
            let from = self.ensure(value, &locked);
            self.write_element(8, from, Operand::At { base: general::RSP, offset: cell });
            cell += CELL;
        }
        locked.iter().for_each(|&value| self.release(value, now));
        for register in 0..self.limit {
            if let Some(value) = self.vectors[register].take() {
                self.evict(Class::Vector, value, byte(register));
            }
        }
        for register in 0..self.masks.len() {
            if let Some(value) = self.masks[register].take() {
                self.evict(Class::Mask, value, byte(register));
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
        let result = self.take(Class::Vector, &[]);
        self.put(Class::Vector, micro.result, result);
        let at = Operand::At { base: general::RSP, offset: cells + 3 * CELL };
        self.spread(callee.result, result, at);
        if !self.is_read(micro.result) {
            self.free(micro.result);
        }
    }
}
