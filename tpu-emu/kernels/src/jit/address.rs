//! Single elements of arrays, at places that a loop computes.
use super::encode::{Arithmetic, Fields, If, Operand, general};
use super::inst::{Class, Form, MemoryElement, Micro, Value};
use super::liveness::number;
use super::lower::Lowerer;
use super::opcodes::{
    KANDW, NONE, VMOVD_STORE, VMOVQ_STORE, VPADDD, VPCMPUD, VPCMPUQ, VPEXTRB, VPEXTRW, VPMAXSD,
    VPMAXSQ, VPMINSD, VPMINSQ, VPMINUD, VPMULLD, VPSLLD, by_size, by_width,
};
use super::regalloc::Emitter;
use super::select::NumberKind;
use super::target::Target;
use super::vex;
use crate::elementwise::program::Register;
use tpu_base::tensor::DType;

/// An index that counts as the nearest one from 0 to `room`.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl Lowerer {
    /// Bytes from where a place's memory begins, without its offset.
    fn bytes_to(&mut self, indices: &[Index]) -> Value {
        let mut all: Option<Value> = None;
        for Index { register, dtype, room, step } in indices {
            let width = dtype.host_bytes();
            let Some(kind) = NumberKind::of(*dtype) else { continue };
            let mut value = self.packed(*register, kind);
            let room = self.body.constant(u64::try_from(*room).unwrap_or(0), width);
            if kind == NumberKind::Integer(4, false) {
                value = self.body.binary(VPMINUD, 0, value, room);
            } else {
                let zero = self.body.constant(0, width);
                value = self.body.binary(by_size(width, [VPMAXSD, VPMAXSQ]), 0, value, zero);
                value = self.body.binary(by_size(width, [VPMINSD, VPMINSQ]), 0, value, room);
            }
            value = match step {
                1 => value,
                2 | 4 | 8 | 16 | 32 | 64 => {
                    let by = step.trailing_zeros().to_le_bytes()[0];
                    self.body.shift(VPSLLD, 0, value, by)
                }
                _ => {
                    let step = self.body.constant(u64::try_from(*step).unwrap_or(0), 4);
                    self.body.binary(VPMULLD, 0, value, step)
                }
            };
            all = Some(all.map_or(value, |all| self.body.binary(VPADDD, 0, all, value)));
        }
        all.unwrap_or_else(|| self.body.constant(0, 4))
    }

    fn element(place: &MemoryOperand) -> MemoryElement {
        MemoryElement {
            array: number(place.memory),
            offset: number(place.offset),
            width: place.width,
        }
    }

    /// Reads an element.
    pub(super) fn peek(&mut self, place: &MemoryOperand, result: Register) {
        let at = self.bytes_to(&place.indices);
        let form = Form::Peek(Self::element(place));
        let value = self.body.emit(Class::Vector, NONE, form, 0, [Some(at), None, None], None);
        self.define(result, value);
    }

    /// Writes an element.
    pub(super) fn poke(&mut self, place: &MemoryOperand, value: Register, kind: NumberKind) {
        let value = self.packed(value, kind);
        let at = self.bytes_to(&place.indices);
        let form = Form::Poke(Self::element(place));
        let inside = if place.skips { self.inside(&place.indices) } else { None };
        self.body.emit(Class::Vector, NONE, form, 0, [Some(at), Some(value), None], None);
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
    /// Lets `rdx` and `rcx` say where an element lies; gives it as an operand.
    fn element(&mut self, at: u8, element: MemoryElement) -> Operand {
        let array = 8 * element.array;
        self.code.load(general::RDX, general::RDI, array);
        let reg = at;
        let fields = Fields { length: 0, reg, other: 0, mask: 0, zero: false, immediate: None };
        self.code.vector(VMOVD_STORE, fields, Operand::Register(general::RCX));
        if element.offset > 0 {
            self.code.with_number(Arithmetic::Add, general::RCX, element.offset);
        }
        Operand::Indexed { base: general::RDX, scale: 0 }
    }

    pub(super) fn peek(&mut self, now: u32, micro: Micro, element: MemoryElement) {
        let Some(at) = micro.operands[0] else { return };
        let from = self.ensure(at, &[at]);
        let operand = self.element(from, element);
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
            self.test(mask);
            self.code.jump(If::Zero)
        });
        let operand = self.element(to, element);
        self.write_element(element.width, from, operand);
        if let Some(jump) = skipped {
            self.code.land(jump);
        }
        locked.iter().for_each(|&value| self.release(value, now));
    }

    /// Writes the first element of a register.
    pub(super) fn write_element(&mut self, width: usize, reg: u8, operand: Operand) {
        let op = match self.target {
            Target::Avx512 => by_width(width, [VPEXTRB, VPEXTRW, VMOVD_STORE, VMOVQ_STORE]),
            Target::Avx2 => vex::store_one(width),
        };
        let immediate = if width < 4 { Some(0) } else { None };
        let fields = Fields { length: 0, reg, other: 0, mask: 0, zero: false, immediate };
        self.code.vector(op, fields, operand);
    }
}
