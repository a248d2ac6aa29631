//! Values from memory into registers and back: by groups, by single elements, to cells of the
//! stack.
use super::encode::{Fields, Operand, general};
use super::inst::{Class, Origin, Value};
use super::opcodes;
use super::opcodes::{KMOVW, VPBROADCASTB, VPBROADCASTD, VPBROADCASTQ, VPBROADCASTW};
use super::regalloc::{Emitter, TAIL, scale, vector};
use super::target::Target;
use super::vex;

impl Emitter<'_> {
    /// Fields of a move of whole groups. Less than the shortest vector needs a mask.
    fn whole(&self, width: usize, reg: u8) -> Fields {
        let short = self.target == Target::Avx512 && self.body.group * width < 16;
        let mask = if short { TAIL } else { 0 };
        let length = self.body.length(width);
        Fields { length, reg, other: 0, mask, zero: false, immediate: None }
    }

    pub(super) fn store_cell(&mut self, register: u8, offset: u32) {
        let at = Operand::At { base: general::RSP, offset };
        self.code.vector(opcodes::store(4), vector(register), at);
    }

    pub(super) fn load_cell(&mut self, register: u8, offset: u32) {
        let at = Operand::At { base: general::RSP, offset };
        self.code.vector(opcodes::load(4), vector(register), at);
    }

    /// Reads a value from where it is kept.
    pub(super) fn reload(&mut self, value: Value, register: u8) {
        let (class, origin) = self.body.values[value.index()];
        match origin {
            Origin::Made => {
                let offset = self.kept[value.index()].unwrap_or(0);
                let at = Operand::At { base: general::RSP, offset };
                match class {
                    Class::Vector => self.load_cell(register, offset),
                    Class::Mask => {
                        self.code.mask(KMOVW, false, register, 0, at);
                    }
                }
            }
            Origin::Load(array, width) => {
                let base = self.pointer(array);
                let operand = Operand::Indexed { base, scale: scale(width), offset: 0 };
                if self.singly {
                    return self.spread(width, register, operand);
                }
                let mut fields = self.whole(width, register);
                fields.zero = fields.mask != 0;
                let op = match self.target {
                    Target::Avx512 => opcodes::load(width),
                    Target::Avx2 => vex::load(self.body.group * width),
                };
                self.code.access(op, fields, operand);
            }
            // Variables have their registers for good, or their cells.
            Origin::Variable(_) => {
                if let Some(offset) = self.kept[value.index()] {
                    self.load_cell(register, offset);
                }
            }
            Origin::Broadcast(array, width) => {
                let base = self.pointer(array);
                self.spread(width, register, Operand::At { base, offset: 0 });
            }
            Origin::Constant(offset, width) => {
                self.spread(width, register, Operand::Pool(offset));
            }
        }
    }

    /// One element everywhere.
    pub(super) fn spread(&mut self, width: usize, register: u8, operand: Operand) {
        let op = match self.target {
            Target::Avx512 => {
                opcodes::by_width(width, [VPBROADCASTB, VPBROADCASTW, VPBROADCASTD, VPBROADCASTQ])
            }
            Target::Avx2 => vex::spread(width),
        };
        self.code.vector(op, vector(register), operand);
    }

    /// Writes a group's elements, or the first one.
    pub(super) fn write(&mut self, width: usize, register: u8, operand: Operand) {
        if self.singly {
            return self.write_element(width, register, operand);
        }
        let op = match self.target {
            Target::Avx512 => opcodes::store(width),
            Target::Avx2 => vex::store(self.body.group * width),
        };
        self.code.access(op, self.whole(width, register), operand);
    }
}
