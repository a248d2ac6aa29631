//! From operations to instructions.
use super::address::{ElementAddress, Index};
use super::encode::Opcode;
use super::inst::{Class, Form, LoopBody, ShortOrigin, Value};
#[cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "names of instructions, as the manuals have them")
)]
use super::opcodes::*;
use super::select::{JitOp, NumberKind, Relation, float};
use super::target::Target;
use crate::elementwise::program::Register;
use std::collections::HashMap;

/// Where elements come from that no operation of the loop makes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueSource {
    /// An array with an element for each lane.
    Each(usize),
    /// An array with one element for all.
    One(usize),
    /// An array in which each lane looks up its own.
    All(usize),
    /// The bits of one element for all.
    Constant(u64),
    /// One element that each round of a loop reads and writes.
    Variable(usize),
}

/// What is known of an operand: its elements as they lie in memory, 16-bit floats as the `f32`
/// that they equal, booleans as a mask.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Forms {
    pub(super) packed: Option<Value>,
    pub(super) wide: Option<Value>,
    pub(super) mask: Option<Value>,
}

impl Forms {
    pub(super) fn packed(value: Value) -> Self {
        Self { packed: Some(value), ..Self::default() }
    }

    pub(super) fn mask(value: Value) -> Self {
        Self { mask: Some(value), ..Self::default() }
    }
}

/// `vpternlogd`'s table for `(a & b) | c`.
pub(super) const AND_OR: u8 = 0xea;

pub(super) struct Lowerer {
    pub(super) body: LoopBody,
    pub(super) target: Target,
    sources: HashMap<Register, ValueSource>,
    forms: HashMap<Register, Forms>,
    /// What has been shifted by a constant: the value, and the distance to the left.
    shifts: HashMap<Register, (Value, i16)>,
    /// Where indices lead.
    pub(super) addresses: HashMap<Vec<Index>, ElementAddress>,
    /// What shorter integers were made of.
    pub(super) origins: HashMap<Value, ShortOrigin>,
}

/// Instructions on floats, for both of their widths.
const ADD: [Opcode; 2] = [VADDPS, VADDPD];
const SUBTRACT: [Opcode; 2] = [VSUBPS, VSUBPD];
const MULTIPLY: [Opcode; 2] = [VMULPS, VMULPD];
const DIVIDE: [Opcode; 2] = [VDIVPS, VDIVPD];
const ROOT: [Opcode; 2] = [VSQRTPS, VSQRTPD];
const MAXIMUM: [Opcode; 2] = [VMAXPS, VMAXPD];
const MINIMUM: [Opcode; 2] = [VMINPS, VMINPD];
const ROUND: [Opcode; 2] = [VRNDSCALEPS, VRNDSCALEPD];
const COMPARE: [Opcode; 2] = [VCMPPS, VCMPPD];

impl Lowerer {
    pub(super) fn new(group: usize, target: Target) -> Self {
        Self {
            body: LoopBody::new(group),
            target,
            sources: HashMap::new(),
            forms: HashMap::new(),
            shifts: HashMap::new(),
            addresses: HashMap::new(),
            origins: HashMap::new(),
        }
    }

    /// Says where a register's elements come from.
    pub(super) fn source(&mut self, register: Register, source: ValueSource) {
        self.sources.insert(register, source);
    }

    pub(super) fn constant_of(&self, register: Register) -> Option<u64> {
        match self.sources.get(&register) {
            Some(ValueSource::Constant(bits)) => Some(*bits),
            _ => None,
        }
    }

    /// The elements as they lie in memory.
    pub(super) fn packed(&mut self, register: Register, kind: NumberKind) -> Value {
        let forms = self.forms.get(&register).copied().unwrap_or_default();
        if let Some(value) = forms.packed {
            return value;
        }
        let width = kind.width();
        let value = match (self.sources.get(&register), forms) {
            (_, Forms { mask: Some(mask), .. }) => {
                let ones = self.body.constant(1, 1);
                let length = self.body.length(1);
                let value = self.body.unary(VMOVDQU8, length, ones);
                self.body.or_zero(mask);
                value
            }
            (_, Forms { wide: Some(wide), .. }) => self.pack(kind, wide),
            (Some(&ValueSource::Each(array)), _) => self.body.load(array, width),
            (Some(&ValueSource::One(array)), _) => self.body.broadcast(array, width),
            // Its elements are nobody's lane.
            (Some(&ValueSource::All(_)), _) => self.body.constant(0, width),
            (Some(&ValueSource::Variable(array)), _) => self.body.variable(array),
            (Some(&ValueSource::Constant(bits)), _) => self.body.constant(bits, width),
            // A register that nothing defines holds zeros.
            (None, _) => self.body.constant(0, width),
        };
        self.forms.entry(register).or_default().packed = Some(value);
        value
    }

    /// Floats to compute with.
    pub(super) fn wide(&mut self, register: Register, kind: NumberKind) -> Value {
        if matches!(kind, NumberKind::F32 | NumberKind::F64) {
            return self.packed(register, kind);
        }
        if let Some(value) = self.forms.get(&register).and_then(|forms| forms.wide) {
            return value;
        }
        let value = match self.constant_of(register) {
            Some(bits) => {
                let [low, high, ..] = bits.to_le_bytes();
                let half = u16::from_le_bytes([low, high]);
                let single = match kind {
                    NumberKind::F16 => half::f16::from_bits(half).to_f32().to_bits(),
                    _ => u32::from(half) << 16,
                };
                self.body.constant(single.into(), 4)
            }
            None => {
                let packed = self.packed(register, kind);
                self.unpack(kind, packed)
            }
        };
        self.forms.entry(register).or_default().wide = Some(value);
        value
    }

    /// A boolean as a mask.
    pub(super) fn mask(&mut self, register: Register) -> Value {
        if let Some(value) = self.forms.get(&register).and_then(|forms| forms.mask) {
            return value;
        }
        let packed = self.packed(register, NumberKind::Pred);
        let value = self.not_zero(packed, 1);
        self.forms.entry(register).or_default().mask = Some(value);
        value
    }

    /// The mask of the elements that are not zero.
    pub(super) fn not_zero(&mut self, value: Value, width: usize) -> Value {
        let op = by_width(width, [VPTESTMB, VPTESTMW, VPTESTMD, VPTESTMQ]);
        self.body.test(op, self.body.length(width), value, value, None)
    }

    /// Says what a register holds.
    pub(super) fn define(&mut self, register: Register, value: Value) {
        self.forms.insert(register, Forms::packed(value));
    }

    /// Lowers an operation.
    pub(super) fn step(
        &mut self,
        job: JitOp,
        kind: NumberKind,
        inputs: &[Register],
        result: Register,
    ) {
        let forms = match (job, kind) {
            (JitOp::Convert(to), _) => self.convert(kind, to, inputs[0]),
            (JitOp::Take(last), _) => Forms::packed(self.take(kind, last, inputs)),
            (JitOp::Same, _) => Forms::packed(self.packed(inputs[0], kind)),
            (JitOp::Select, _) => self.select(kind, inputs),
            (_, NumberKind::Pred) => self.predicates(job, inputs),
            (_, NumberKind::Integer(width, signed)) => {
                self.note_shift(job, kind, inputs, result);
                match self.rotation(job, width, inputs) {
                    Some(value) => Forms::packed(value),
                    None => self.integers(job, width, signed, inputs),
                }
            }
            _ => self.floats(job, kind, inputs),
        };
        self.forms.insert(result, forms);
    }

    /// Elements of an array by their numbers. No number leads out of it.
    fn take(&mut self, kind: NumberKind, last: u32, inputs: &[Register]) -> Value {
        let numbers = self.packed(inputs[0], NumberKind::Integer(4, true));
        let last = self.body.constant(last.into(), 4);
        let length = self.body.length(4);
        let numbers = self.body.binary(VPMINUD, length, numbers, last);
        match self.sources.get(&inputs[1]) {
            Some(&ValueSource::All(array)) => self.body.gather(array, kind.width(), numbers),
            _ => self.packed(inputs[1], kind),
        }
    }

    fn note_shift(&mut self, job: JitOp, kind: NumberKind, inputs: &[Register], result: Register) {
        let way = match job {
            JitOp::ShiftLeft => 1,
            JitOp::ShiftRight => -1,
            _ => return,
        };
        let distance = self.constant_of(inputs[1]).and_then(|bits| i16::try_from(bits).ok());
        if let Some(distance) = distance {
            let value = self.packed(inputs[0], kind);
            self.shifts.insert(result, (value, way * distance));
        }
    }

    /// One rotation for two shifts whose bits meet.
    fn rotation(&mut self, job: JitOp, width: usize, inputs: &[Register]) -> Option<Value> {
        if !matches!(job, JitOp::Or | JitOp::Xor | JitOp::Add) || width < 4 {
            return None;
        }
        let [a, b] = inputs else { return None };
        let (&(a, left), &(b, right)) = (self.shifts.get(a)?, self.shifts.get(b)?);
        let bits = i16::from(LoopBody::bits(width));
        let meet = left.signum() != right.signum() && (left - right).abs() == bits;
        let inside = left.abs() < bits && right.abs() < bits;
        let by = u8::try_from(left.max(right)).ok()?;
        let length = self.body.length(width);
        (a == b && meet && inside)
            .then(|| self.body.shift(by_size(width, [VPROLD, VPROLQ]), length, a, by))
    }

    fn select(&mut self, kind: NumberKind, inputs: &[Register]) -> Forms {
        let mask = self.mask(inputs[0]);
        if kind == NumberKind::Pred {
            let (a, b) = (self.mask(inputs[1]), self.mask(inputs[2]));
            let yes = self.body.logic(KANDW, mask, Some(a));
            let no = self.body.logic(KANDNW, mask, Some(b));
            return Forms::mask(self.body.logic(KORW, yes, Some(no)));
        }
        let wide = |forms: Option<&Forms>| forms.is_some_and(|forms| forms.packed.is_none());
        let halves = matches!(kind, NumberKind::F16 | NumberKind::Bf16);
        let made = |register: &Register| wide(self.forms.get(register));
        let as_wide = halves && inputs[1..].iter().all(made);
        let (a, b, width) = if as_wide {
            (self.wide(inputs[1], kind), self.wide(inputs[2], kind), 4)
        } else {
            (self.packed(inputs[1], kind), self.packed(inputs[2], kind), kind.width())
        };
        let op = by_width(width, [VPBLENDMB, VPBLENDMW, VPBLENDMD, VPBLENDMQ]);
        let value = self.body.choose(op, self.body.length(width), mask, a, b);
        if as_wide { Forms { wide: Some(value), ..Forms::default() } } else { Forms::packed(value) }
    }

    fn predicates(&mut self, job: JitOp, inputs: &[Register]) -> Forms {
        let a = self.mask(inputs[0]);
        let Some(&second) = inputs.get(1) else {
            return Forms::mask(self.body.logic(KNOTW, a, None));
        };
        if let (JitOp::Compare(relation), Some(bits)) = (job, self.constant_of(second)) {
            match (relation, bits & 0xff != 0) {
                (Relation::NotEqual, false) | (Relation::Equal, true) => return Forms::mask(a),
                (Relation::NotEqual, true) | (Relation::Equal, false) => {
                    return Forms::mask(self.body.logic(KNOTW, a, None));
                }
                _ => {}
            }
        }
        let b = self.mask(second);
        let (op, a, b, negated) = match job {
            JitOp::Multiply | JitOp::Minimum | JitOp::And => (KANDW, a, b, false),
            JitOp::Add | JitOp::Maximum | JitOp::Or => (KORW, a, b, false),
            JitOp::Compare(Relation::Equal) => (KXNORW, a, b, false),
            JitOp::Compare(Relation::Less) => (KANDNW, a, b, false),
            JitOp::Compare(Relation::Greater) => (KANDNW, b, a, false),
            JitOp::Compare(Relation::LessOrEqual) => (KANDNW, b, a, true),
            JitOp::Compare(Relation::GreaterOrEqual) => (KANDNW, a, b, true),
            _ => (KXORW, a, b, false),
        };
        let mask = self.body.logic(op, a, Some(b));
        Forms::mask(if negated { self.body.logic(KNOTW, mask, None) } else { mask })
    }

    fn integers(&mut self, job: JitOp, width: usize, signed: bool, inputs: &[Register]) -> Forms {
        let kind = NumberKind::Integer(width, signed);
        let length = self.body.length(width);
        let all: Vec<Value> = inputs.iter().map(|&input| self.packed(input, kind)).collect();
        let [a, b] = [all[0], all.get(1).copied().unwrap_or(all[0])];
        if let Some(value) = self.composed(job, kind, inputs, [a, b]) {
            return Forms::packed(value);
        }
        let body = &mut self.body;
        let difference = by_width(width, [VPSUBB, VPSUBW, VPSUBD, VPSUBQ]);
        let [and, or, xor] = [[VPANDD, VPANDQ], [VPORD, VPORQ], [VPXORD, VPXORQ]];
        let [and, or, xor] = [and, or, xor].map(|ops| by_size(width, ops));
        let (largest, least) = (largest(width, signed), least(width, signed));
        let shift = |ops: [Opcode; 4]| by_width(width, ops);
        let value = match job {
            JitOp::Add => {
                let op = by_width(width, [VPADDB, VPADDW, VPADDD, VPADDQ]);
                body.binary(op, length, a, b)
            }
            JitOp::Subtract => body.binary(difference, length, a, b),
            JitOp::Negate => {
                let zero = body.constant(0, width);
                body.binary(difference, length, zero, a)
            }
            JitOp::Multiply | JitOp::Square => {
                let op = by_width(width, [VPMULLW, VPMULLW, VPMULLD, VPMULLQ]);
                body.binary(op, length, a, b)
            }
            JitOp::Maximum => body.binary(largest, length, a, b),
            JitOp::Minimum => body.binary(least, length, a, b),
            JitOp::Clamp => {
                let value = body.binary(largest, length, b, a);
                body.binary(least, length, value, all[2])
            }
            JitOp::Absolute => {
                let op = by_width(width, [VPABSB, VPABSW, VPABSD, VPABSQ]);
                body.unary(op, length, a)
            }
            JitOp::Sign if signed => {
                let (zero, by) = (body.constant(0, width), LoopBody::bits(width) - 1);
                let negative = body.shift(by_size(width, [VPSRAD, VPSRAQ]), length, a, by);
                let opposite = body.binary(difference, length, zero, a);
                let positive = body.shift(by_size(width, [VPSRLD, VPSRLQ]), length, opposite, by);
                body.binary(or, length, negative, positive)
            }
            JitOp::Sign => {
                let one = body.constant(1, width);
                body.binary(least, length, a, one)
            }
            JitOp::And => body.binary(and, length, a, b),
            JitOp::Or => body.binary(or, length, a, b),
            JitOp::Xor => body.binary(xor, length, a, b),
            JitOp::Not => {
                let ones = body.constant(u64::MAX, width);
                body.binary(xor, length, a, ones)
            }
            JitOp::ShiftLeft => {
                body.binary(shift([VPSLLVW, VPSLLVW, VPSLLVD, VPSLLVQ]), length, a, b)
            }
            JitOp::ShiftRight => {
                body.binary(shift([VPSRLVW, VPSRLVW, VPSRLVD, VPSRLVQ]), length, a, b)
            }
            JitOp::ShiftArithmetic => {
                body.binary(shift([VPSRAVW, VPSRAVW, VPSRAVD, VPSRAVQ]), length, a, b)
            }
            JitOp::Compare(relation) => {
                let with = Some(relation.of_integers());
                return Forms::mask(body.test(compare(width, signed), length, a, b, with));
            }
            _ => a,
        };
        Forms::packed(value)
    }

    fn floats(&mut self, job: JitOp, kind: NumberKind, inputs: &[Register]) -> Forms {
        let all: Vec<Value> = inputs.iter().map(|&input| self.wide(input, kind)).collect();
        let [a, b] = [all[0], all.get(1).copied().unwrap_or(all[0])];
        let width = if kind == NumberKind::F64 { 8 } else { 4 };
        let length = self.body.length(width);
        let one = if width == 8 { 1.0_f64.to_bits() } else { 1.0_f32.to_bits().into() };
        let top = 1_u64 << (LoopBody::bits(width) - 1);
        let inverse = (job == JitOp::Divide).then(|| self.exact_inverse(kind, inputs[1])).flatten();
        let body = &mut self.body;
        let (value, exact) = match job {
            JitOp::Add => (body.binary(float(kind, ADD), length, a, b), false),
            JitOp::Subtract => (body.binary(float(kind, SUBTRACT), length, a, b), false),
            JitOp::Multiply | JitOp::Square => {
                (body.binary(float(kind, MULTIPLY), length, a, b), false)
            }
            JitOp::Divide => match inverse {
                Some(inverse) => (body.binary(float(kind, MULTIPLY), length, a, inverse), false),
                None => (body.binary(float(kind, DIVIDE), length, a, b), false),
            },
            JitOp::Root => (body.unary(float(kind, ROOT), length, a), false),
            JitOp::InverseRoot => {
                let root = body.unary(float(kind, ROOT), length, a);
                let one = body.constant(one, width);
                (body.binary(float(kind, DIVIDE), length, one, root), false)
            }
            JitOp::Maximum | JitOp::Minimum => {
                (self.extreme(job == JitOp::Maximum, kind, [inputs[0], inputs[1]], [a, b]), true)
            }
            JitOp::Clamp => {
                let [low, x, high] = [all[0], all[1], all[2]];
                let value = self.extreme(true, kind, [inputs[1], inputs[0]], [x, low]);
                (self.general_extreme(false, kind, [value, high]), true)
            }
            JitOp::Negate => {
                let sign = body.constant(top, width);
                (body.binary(by_size(width, [VPXORD, VPXORQ]), length, a, sign), true)
            }
            JitOp::Absolute => {
                let rest = body.constant(top - 1, width);
                (body.binary(by_size(width, [VPANDD, VPANDQ]), length, a, rest), true)
            }
            JitOp::Sign => {
                let (zero, sign, one) =
                    (body.constant(0, width), body.constant(top, width), body.constant(one, width));
                let other = body.test(float(kind, COMPARE), length, a, zero, Some(0x0c));
                let zero = body.binary(float(kind, MAXIMUM), length, a, a);
                let value = body.ternary(width, length, [a, sign, one], AND_OR);
                body.over(other, zero);
                (value, true)
            }
            JitOp::Round(how) => (body.unary_with(float(kind, ROUND), length, a, how), false),
            JitOp::RoundAway => {
                let half = if width == 8 {
                    0.5_f64.next_down().to_bits()
                } else {
                    0.5_f32.next_down().to_bits().into()
                };
                let (sign, half) = (body.constant(top, width), body.constant(half, width));
                let part = body.ternary(width, length, [a, sign, half], AND_OR);
                let sum = body.binary(float(kind, ADD), length, a, part);
                (body.unary_with(float(kind, ROUND), length, sum, 0x0b), false)
            }
            JitOp::Classify(classes, others) => {
                let op = float(kind, [VFPCLASSPS, VFPCLASSPD]);
                let operands = [Some(a), None, None];
                let mask = body.emit(Class::Mask, op, Form::Unary, length, operands, Some(classes));
                let mask = if others { body.logic(KNOTW, mask, None) } else { mask };
                return Forms::mask(mask);
            }
            JitOp::Compare(relation) => {
                let with = Some(relation.of_floats());
                return Forms::mask(body.test(float(kind, COMPARE), length, a, b, with));
            }
            _ => (a, true),
        };
        self.rounded(kind, value, exact)
    }

    /// The larger or smaller of two.
    fn extreme(
        &mut self,
        larger: bool,
        kind: NumberKind,
        registers: [Register; 2],
        [a, b]: [Value; 2],
    ) -> Value {
        let number = |bits: u64| match (kind, u32::try_from(bits)) {
            (NumberKind::F32, Ok(bits)) => Some(f64::from(f32::from_bits(bits))),
            (NumberKind::F64, _) => Some(f64::from_bits(bits)),
            _ => None,
        };
        let constants = registers.map(|register| self.constant_of(register).and_then(number));
        let (constant, fixed, other) = match constants {
            [_, Some(constant)] => (constant, b, a),
            [Some(constant), _] => (constant, a, b),
            _ => return self.general_extreme(larger, kind, [a, b]),
        };
        let length = self.body.length(if kind == NumberKind::F64 { 8 } else { 4 });
        if constant == 0.0 && constant.is_sign_positive() && larger {
            // Everything above zero, and NaN.
            let kept = self.body.test(float(kind, COMPARE), length, other, fixed, Some(0x16));
            let value = self.body.unary(float(kind, [VMOVDQA32, VMOVDQA64]), length, other);
            self.body.or_zero(kept);
            return value;
        }
        if constant == 0.0 || constant.is_nan() {
            return self.general_extreme(larger, kind, [a, b]);
        }
        // The instruction gives its second operand if one is NaN.
        self.body.binary(float(kind, if larger { MAXIMUM } else { MINIMUM }), length, fixed, other)
    }

    /// NaN if either is, and of two zeros the one that the sign says.
    fn general_extreme(&mut self, larger: bool, kind: NumberKind, [a, b]: [Value; 2]) -> Value {
        let width = if kind == NumberKind::F64 { 8 } else { 4 };
        let length = self.body.length(width);
        let body = &mut self.body;
        let (extreme, logic) =
            if larger { (MAXIMUM, [VPANDD, VPANDQ]) } else { (MINIMUM, [VPORD, VPORQ]) };
        let equal = body.test(float(kind, COMPARE), length, a, b, Some(0));
        let nan = body.test(float(kind, COMPARE), length, a, a, Some(3));
        let chosen = body.binary(float(kind, extreme), length, a, b);
        let value = body.binary(by_size(width, logic), length, a, b);
        body.over(equal, chosen);
        // Of a zero that was no zero as an integer, the sign is left.
        let value = body.binary(float(kind, extreme), length, value, value);
        body.choose(by_size(width, [VPBLENDMD, VPBLENDMQ]), length, nan, a, value)
    }
}
