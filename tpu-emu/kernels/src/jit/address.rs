//! Single elements of arrays, at places that a loop computes.
use super::bounds::most;
use super::encode::{Fields, If, Operand, general};
use super::inst::{Class, Form, MemoryElement, Micro, Value};
use super::liveness::number;
use super::lower::Lowerer;
use super::opcodes::{
    KANDW, NONE, VPADDD, VPCMPUD, VPCMPUQ, VPMAXSD, VPMAXSQ, VPMINSD, VPMINSQ, VPMINUD, VPMULLD,
    VPSLLD, by_size,
};
use super::regalloc::Emitter;
use super::select::NumberKind;
use super::vex;
use crate::elementwise::program::{ElementwiseProgram, Register};
use tpu_base::tensor::DType;

/// An index that counts as the nearest one from 0 to `room`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Index {
    /// Where it is.
    pub register: Register,
    /// The type.
    pub dtype: DType,
    /// The largest that is meant.
    pub room: usize,
    /// Bytes from one index to the next.
    pub step: usize,
}

impl Index {
    /// Whether the code can count with it.
    pub fn is_known(&self) -> bool {
        let small = |number: usize| i32::try_from(number).is_ok();
        let reach = self.room.checked_mul(self.step);
        matches!(self.dtype, DType::S32 | DType::U32 | DType::S64) && reach.is_some_and(small)
    }
}

/// Where an element lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryOperand {
    /// The number of the memory.
    pub memory: usize,
    /// Bytes before it where all indices are 0.
    pub offset: usize,
    /// The bytes.
    pub width: usize,
    /// The indices.
    pub indices: Vec<Index>,
    /// Whether nothing is written where an index is not inside.
    pub skips: bool,
}

impl MemoryOperand {
    /// Bytes that the memory has at least.
    pub fn reach(&self) -> usize {
        let far = self.indices.iter().map(|index| index.room.saturating_mul(index.step));
        far.fold(self.offset.saturating_add(self.width), usize::saturating_add)
    }
}

/// Where an element lies behind its memory's offset: a number, and how often it is doubled for
/// bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ElementAddress {
    number: Value,
    scale: u8,
}

impl Lowerer {
    /// Where the indices of a place lead. Two places of a round that have the same share it.
    fn address(&mut self, program: &ElementwiseProgram, indices: &[Index]) -> ElementAddress {
        if let Some(&known) = self.addresses.get(indices) {
            return known;
        }
        let made = match indices {
            [Index { step: step @ (1 | 2 | 4 | 8), .. }] => ElementAddress {
                number: self.inside_of(program, &indices[0]),
                scale: step.trailing_zeros().to_le_bytes()[0],
            },
            _ => ElementAddress { number: self.bytes_to(program, indices), scale: 0 },
        };
        self.addresses.insert(indices.to_vec(), made);
        made
    }

    /// An index, moved inside.
    fn inside_of(&mut self, program: &ElementwiseProgram, index: &Index) -> Value {
        let Index { register, dtype, room, .. } = index;
        let (kind, width) = (NumberKind::of(*dtype), dtype.host_bytes());
        let value = self.packed(*register, kind.unwrap_or(NumberKind::Raw(width)));
        let last = u64::try_from(*room).unwrap_or(0);
        if most(program, *register).is_some_and(|most| most <= last) {
            return value;
        }
        let last = self.body.constant(last, width);
        if kind == Some(NumberKind::Integer(4, false)) {
            return self.body.binary(VPMINUD, 0, value, last);
        }
        let zero = self.body.constant(0, width);
        let value = self.body.binary(by_size(width, [VPMAXSD, VPMAXSQ]), 0, value, zero);
        self.body.binary(by_size(width, [VPMINSD, VPMINSQ]), 0, value, last)
    }

    /// Bytes from where a place's memory begins, without its offset.
    fn bytes_to(&mut self, program: &ElementwiseProgram, indices: &[Index]) -> Value {
        let mut all: Option<Value> = None;
        for index in indices {
            let value = self.inside_of(program, index);
            let value = match index.step {
                1 => value,
                step @ (2 | 4 | 8 | 16 | 32 | 64) => {
                    let by = step.trailing_zeros().to_le_bytes()[0];
                    self.body.shift(VPSLLD, 0, value, by)
                }
                step => {
                    let step = self.body.constant(u64::try_from(step).unwrap_or(0), 4);
                    self.body.binary(VPMULLD, 0, value, step)
                }
            };
            all = Some(all.map_or(value, |all| self.body.binary(VPADDD, 0, all, value)));
        }
        all.unwrap_or_else(|| self.body.constant(0, 4))
    }

    /// An element, with the number of it.
    fn element(
        &mut self,
        program: &ElementwiseProgram,
        place: &MemoryOperand,
    ) -> (Value, MemoryElement) {
        let ElementAddress { number: at, scale } = self.address(program, &place.indices);
        let (array, offset) = (number(place.memory), number(place.offset));
        (at, MemoryElement { array, offset, scale, width: place.width })
    }

    /// Reads an element.
    pub(super) fn peek(
        &mut self,
        program: &ElementwiseProgram,
        place: &MemoryOperand,
        result: Register,
    ) {
        let (at, element) = self.element(program, place);
        let operands = [Some(at), None, None];
        let value = self.body.emit(Class::Vector, NONE, Form::Peek(element), 0, operands, None);
        self.define(result, value);
    }

    /// Writes an element.
    pub(super) fn poke(
        &mut self,
        program: &ElementwiseProgram,
        place: &MemoryOperand,
        (value, kind): (Register, NumberKind),
    ) {
        let value = self.packed(value, kind);
        let (at, element) = self.element(program, place);
        let inside = if place.skips { self.inside(&place.indices) } else { None };
        let operands = [Some(at), Some(value), None];
        self.body.emit(Class::Vector, NONE, Form::Poke(element), 0, operands, None);
        if let Some(last) = self.body.code.last_mut() {
            last.mask = inside;
        }
    }

    /// Whether all indices are inside.
    fn inside(&mut self, indices: &[Index]) -> Option<Value> {
        let mut all: Option<Value> = None;
        for Index { register, dtype, room, .. } in indices {
            let width = dtype.host_bytes();
            let value = self.packed(*register, NumberKind::of(*dtype)?);
            let room = self.body.constant(u64::try_from(*room).unwrap_or(0), width);
            // Without its sign, a negative index is a large one.
            let test = self.body.test(by_size(width, [VPCMPUD, VPCMPUQ]), 0, value, room, Some(2));
            all = Some(all.map_or(test, |all| self.body.logic(KANDW, all, Some(test))));
        }
        all
    }
}

impl Emitter<'_> {
    /// Lets `rdx` and `rcx` say where an element lies, whose number is that value in that register;
    /// gives it as an operand.
    fn element(&mut self, (at, reg): (Value, u8), element: MemoryElement) -> Operand {
        let MemoryElement { array, offset, scale, .. } = element;
        self.code.load(general::RDX, general::RDI, 8 * array);
        if self.counted != Some(at) {
            let fields = Fields { length: 0, reg, other: 0, mask: 0, zero: false, immediate: None };
            self.code.vector(vex::VMOVD_STORE, fields, Operand::Register(general::RCX));
            self.counted = Some(at);
        }
        Operand::Indexed { base: general::RDX, scale, offset }
    }

    pub(super) fn peek(&mut self, now: u32, micro: Micro, element: MemoryElement) {
        let Some(at) = micro.operands[0] else { return };
        let from = self.ensure(at, &[at]);
        let operand = self.element((at, from), element);
        self.release(at, now);
        let result = self.take(Class::Vector, &[]);
        self.put(Class::Vector, micro.result, result);
        self.spread(element.width, result, operand);
        if !self.is_read(micro.result) {
            self.free(micro.result);
        }
    }

    pub(super) fn poke(&mut self, now: u32, micro: Micro, element: MemoryElement) {
        let [Some(at), Some(value), _] = micro.operands else { return };
        let locked: Vec<Value> = micro.reads().collect();
        let to = self.ensure(at, &locked);
        let from = self.ensure(value, &locked);
        let skipped = micro.mask.map(|mask| {
            let mask = self.ensure(mask, &locked);
            self.code.test_vector(mask);
            self.code.jump(If::Zero)
        });
        let operand = self.element((at, to), element);
        self.write_element(element.width, from, operand);
        if let Some(jump) = skipped {
            self.code.land(jump);
            self.counted = None;
        }
        locked.iter().for_each(|&value| self.release(value, now));
    }

    /// Writes the first element of a register.
    pub(super) fn write_element(&mut self, width: usize, reg: u8, operand: Operand) {
        let op = vex::store_one(width);
        let immediate = if width < 4 { Some(0) } else { None };
        let fields = Fields { length: 0, reg, other: 0, mask: 0, zero: false, immediate };
        self.code.vector(op, fields, operand);
    }
}
