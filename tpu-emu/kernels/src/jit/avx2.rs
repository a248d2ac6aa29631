//! The body of a loop in the instructions of AVX2.
//!
//! What AVX2 does with the same operands stays as it is (`vex` says what that is), anything else
//! becomes a few instructions with the same bits. A mask becomes a vector with ones or zeros in
//! every lane; whoever reads it for lanes of another width gets it in that width.
use super::encode::Opcode;
use super::inst::{Class, Form, LoopBody, Micro, Origin, Value};
use super::liveness::number;
use super::opcodes;
use super::opcodes::{by_size, by_width};
use super::vex;
use std::collections::HashMap;

/// The comparisons of floats that expansions need, by the instruction's immediate.
const NOT_LESS: u8 = 0x15;
const EQUAL: u8 = 0;

/// A body that is being translated.
pub(super) struct Translation<'b> {
    pub(super) body: &'b mut LoopBody,
    /// What each value has become.
    names: Vec<Value>,
    /// Bytes of a lane of each mask.
    lanes: HashMap<Value, usize>,
    /// Masks in lanes of another width.
    resized: HashMap<(Value, usize), Value>,
    /// Masks, and those that are set where they are not.
    opposites: HashMap<Value, Value>,
}

/// Translates a body that has instructions of AVX-512.
pub(super) fn translate(body: &mut LoopBody) {
    let code = std::mem::take(&mut body.code);
    let mut decision = body.decision.take();
    let names = (0..body.values.len()).map(|index| Value(number(index))).collect();
    let (lanes, resized, opposites) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut to = Translation { body, names, lanes, resized, opposites };
    for at in 0..=code.len() {
        if let Some((_, mask)) = decision.take_if(|(before, _)| *before == at) {
            to.body.decision = Some((to.body.code.len(), to.names[mask.index()]));
        }
        if let Some(micro) = code.get(at) {
            to.micro(micro);
        }
    }
    for at in 0..to.body.stores.len() {
        let value = to.names[to.body.stores[at].0.index()];
        // What one variable takes from another is kept aside, as all change at once.
        let variable = matches!(to.body.values[value.index()].1, Origin::Variable(_));
        to.body.stores[at].0 = if variable { to.body.unary(vex::VMOVDQA, 1, value) } else { value };
    }
    to.body.prune();
}

impl Translation<'_> {
    fn micro(&mut self, micro: &Micro) {
        let name = |value: Value| self.names[value.index()];
        let operands = micro.operands.map(|value| value.map(name));
        let (mask, start) = (micro.mask.map(name), micro.start.map(name));
        match micro.form {
            Form::Peek(_) | Form::Poke(_) | Form::Lay(_) | Form::Call(_) | Form::Take(_) => {
                self.body.code.push(Micro { operands, mask, ..*micro });
                return;
            }
            _ => {}
        }
        let [Some(a), b, c] = operands else { return };
        let (b, c) = (b.unwrap_or(a), c.unwrap_or(a));
        let value = match (mask, start) {
            _ if micro.form == Form::Ternary => self.ternary([start.unwrap_or(a), b, c], micro),
            _ => self.unmasked(micro, [a, b]),
        };
        let width = lane(micro.op);
        let length = micro.length;
        let value = match (mask, start) {
            (Some(mask), Some(start)) => self.choose(width, length, mask, value, start),
            (Some(mask), None) if micro.zero => {
                let mask = self.mask_in(mask, width);
                self.body.binary(vex::VPAND, length, value, mask)
            }
            (Some(mask), None) => self.choose(width, length, mask, b, a),
            _ => value,
        };
        self.names[micro.result.index()] = value;
    }

    /// `(a & b) | c`, the only table of logic that operations need.
    fn ternary(&mut self, [a, b, c]: [Value; 3], micro: &Micro) -> Value {
        let both = self.body.binary(vex::VPAND, micro.length, a, b);
        self.body.binary(vex::VPOR, micro.length, both, c)
    }

    /// What an instruction gives in all lanes.
    fn unmasked(&mut self, micro: &Micro, [a, b]: [Value; 2]) -> Value {
        let length = micro.length.min(1);
        let with = micro.immediate;
        let is_choice = [
            opcodes::VMOVDQU8,
            opcodes::VMOVDQU16,
            opcodes::VPBLENDMB,
            opcodes::VPBLENDMW,
            opcodes::VPBLENDMD,
            opcodes::VPBLENDMQ,
        ];
        let masked_move =
            micro.mask.is_some() && matches!(micro.op, opcodes::VMOVDQA32 | opcodes::VMOVDQA64);
        if masked_move || is_choice.contains(&micro.op) {
            return a;
        }
        if let Form::Shift(digit) = micro.form {
            return self.shift(micro.op, digit, length, a, with.unwrap_or(0));
        }
        if matches!(micro.form, Form::MaskBinary | Form::MaskUnary) {
            return self.logic(micro.op, a, b);
        }
        if let Some(op) = vex::same(micro.op) {
            let operands = if micro.form == Form::Binary {
                [Some(a), Some(b), None]
            } else {
                [Some(a), None, None]
            };
            return self.body.emit(Class::Vector, op, micro.form, length, operands, with);
        }
        if let Some(mask) = self.test(micro.op, length, [a, b], with.unwrap_or(0)) {
            return mask;
        }
        self.expanded(micro.op, length, [a, b])
    }

    /// A mask by a test of vectors; `None` where the instruction is none.
    fn test(&mut self, op: Opcode, length: u8, [a, b]: [Value; 2], with: u8) -> Option<Value> {
        let width = lane(op);
        let mask = match op {
            opcodes::VCMPPS | opcodes::VCMPPD => self.compare_floats(width, length, [a, b], with),
            opcodes::VPTESTMB | opcodes::VPTESTMW | opcodes::VPTESTMD | opcodes::VPTESTMQ => {
                let both = if a == b { a } else { self.body.binary(vex::VPAND, length, a, b) };
                let zero = self.body.constant(0, width);
                let none = self.equal(width, length, [both, zero]);
                self.not(none)
            }
            opcodes::VFPCLASSPS | opcodes::VFPCLASSPD => {
                let rest = self.body.constant(u64::MAX >> (64 - 8 * width + 1), width);
                let infinity = match width {
                    4 => f32::INFINITY.to_bits().into(),
                    _ => f64::INFINITY.to_bits(),
                };
                let infinity = self.body.constant(infinity, width);
                let size = self.body.binary(vex::VPAND, length, a, rest);
                // Infinities alone, or NaN too.
                let how = if with & 1 == 1 { NOT_LESS } else { EQUAL };
                self.compare_floats(width, length, [size, infinity], how)
            }
            opcodes::VPCMPB | opcodes::VPCMPW | opcodes::VPCMPD | opcodes::VPCMPQ => {
                self.compare_integers(width, length, true, [a, b], with)
            }
            opcodes::VPCMPUB | opcodes::VPCMPUW | opcodes::VPCMPUD | opcodes::VPCMPUQ => {
                self.compare_integers(width, length, false, [a, b], with)
            }
            _ => return None,
        };
        Some(mask)
    }

    pub(super) fn compare_floats(
        &mut self,
        width: usize,
        length: u8,
        [a, b]: [Value; 2],
        with: u8,
    ) -> Value {
        let op = by_size(width, [vex::VCMPPS, vex::VCMPPD]);
        let operands = [Some(a), Some(b), None];
        let mask = self.body.emit(Class::Vector, op, Form::Binary, length, operands, Some(with));
        self.is_mask(mask, width)
    }

    fn compare_integers(
        &mut self,
        width: usize,
        length: u8,
        signed: bool,
        [a, b]: [Value; 2],
        with: u8,
    ) -> Value {
        if with & 3 == 0 {
            let equal = self.equal(width, length, [a, b]);
            return if with == 0 { equal } else { self.not(equal) };
        }
        // Less, less or equal, their opposites.
        let pair = if with & 3 == 1 { [b, a] } else { [a, b] };
        let greater = self.greater(width, length, signed, pair);
        if matches!(with, 2 | 5) { self.not(greater) } else { greater }
    }

    pub(super) fn equal(&mut self, width: usize, length: u8, [a, b]: [Value; 2]) -> Value {
        let ops = [vex::VPCMPEQB, vex::VPCMPEQW, vex::VPCMPEQD, vex::VPCMPEQQ];
        let mask = self.body.binary(by_width(width, ops), length, a, b);
        self.is_mask(mask, width)
    }

    /// Where the first of two integers is greater.
    pub(super) fn greater(
        &mut self,
        width: usize,
        length: u8,
        signed: bool,
        pair: [Value; 2],
    ) -> Value {
        let ops = [vex::VPCMPGTB, vex::VPCMPGTW, vex::VPCMPGTD, vex::VPCMPGTQ];
        // With the top bit turned, integers without a sign have the order of those with one.
        let turned = |value| if signed { value } else { self.without_top(width, length, value) };
        let [a, b] = pair.map(turned);
        let mask = self.body.binary(by_width(width, ops), length, a, b);
        self.is_mask(mask, width)
    }

    fn without_top(&mut self, width: usize, length: u8, value: Value) -> Value {
        let top = 1_u64 << (LoopBody::bits(width) - 1);
        if let Some(bits) = self.body.bits_of(value, width) {
            return self.body.constant(bits ^ top, width);
        }
        let top = self.body.constant(top, width);
        self.body.binary(vex::VPXOR, length, value, top)
    }

    fn is_mask(&mut self, value: Value, width: usize) -> Value {
        self.lanes.insert(value, width);
        value
    }

    fn width_of(&self, mask: Value) -> usize {
        self.lanes.get(&mask).copied().unwrap_or(4)
    }

    /// The mask that is set where another one is not.
    pub(super) fn not(&mut self, mask: Value) -> Value {
        if let Some(&other) = self.opposites.get(&mask) {
            return other;
        }
        let (width, ones) = (self.width_of(mask), self.body.constant(u64::MAX, 4));
        let length = self.body.length(width);
        let other = self.body.binary(vex::VPXOR, length, mask, ones);
        self.opposites.insert(mask, other);
        self.opposites.insert(other, mask);
        self.is_mask(other, width)
    }

    /// A mask for lanes of a width.
    fn mask_in(&mut self, mask: Value, width: usize) -> Value {
        let from = self.width_of(mask);
        if from == width {
            return mask;
        }
        if let Some(&known) = self.resized.get(&(mask, width)) {
            return known;
        }
        let value = if from < width {
            let length = self.body.length(width);
            self.body.unary(vex::extend(from, width), length, mask)
        } else {
            self.cut(mask, from, width)
        };
        self.resized.insert((mask, width), value);
        if value == mask { value } else { self.is_mask(value, width) }
    }

    /// A mask from masks, in the wider lanes of both.
    fn logic(&mut self, op: Opcode, a: Value, b: Value) -> Value {
        if op == opcodes::KNOTW {
            return self.not(a);
        }
        let width = self.width_of(a).max(self.width_of(b));
        let (a, b) = (self.mask_in(a, width), self.mask_in(b, width));
        let length = self.body.length(width);
        let by = match op {
            opcodes::KANDW => vex::VPAND,
            opcodes::KANDNW => vex::VPANDN,
            opcodes::KORW => vex::VPOR,
            _ => vex::VPXOR,
        };
        let mask = self.body.binary(by, length, a, b);
        let mask = self.is_mask(mask, width);
        if op == opcodes::KXNORW { self.not(mask) } else { mask }
    }

    /// One value where a mask is set, another one elsewhere.
    pub(super) fn choose(
        &mut self,
        width: usize,
        length: u8,
        mask: Value,
        yes: Value,
        no: Value,
    ) -> Value {
        let negated = self.opposites.get(&mask).copied().filter(|other| other.0 < mask.0);
        let (mask, yes, no) = negated.map_or((mask, yes, no), |other| (other, no, yes));
        let mask = self.mask_in(mask, width);
        let ops = [vex::VPBLENDVB, vex::VPBLENDVB, vex::VBLENDVPS, vex::VBLENDVPD];
        let operands = [Some(no), Some(yes), Some(mask)];
        let op = by_width(width, ops);
        self.body.emit(Class::Vector, op, Form::Choice, length.min(1), operands, None)
    }
}

/// Bytes of a lane of an instruction of AVX-512 that makes or takes a mask.
fn lane(op: Opcode) -> usize {
    match op {
        opcodes::VMOVDQU8
        | opcodes::VPBLENDMB
        | opcodes::VPTESTMB
        | opcodes::VPCMPB
        | opcodes::VPCMPUB => 1,
        opcodes::VMOVDQU16
        | opcodes::VPBLENDMW
        | opcodes::VPTESTMW
        | opcodes::VPCMPW
        | opcodes::VPCMPUW => 2,
        op if op.wide => 8,
        _ => 4,
    }
}
