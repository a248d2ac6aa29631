//! From operations to instructions.
use super::encode::{Opcode, opcode};
use super::inst::{Body, Class, Form, Value};
use super::select::{Job, Kind, Relation};
use crate::elementwise::program::Register;
use std::collections::HashMap;

/// Where elements come from that no operation of the loop makes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
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

/// `vmovdqu8` and `vmovdqa32`, from a register.
const MOVE_BYTES: Opcode = opcode(1, 3, false, 0x6f);
pub(super) const MOVE: Opcode = opcode(1, 1, false, 0x6f);
/// `vpternlogd`'s table for `(a & b) | c`.
const AND_OR: u8 = 0xea;

pub(super) struct Lowerer {
    pub(super) body: Body,
    sources: HashMap<Register, Source>,
    forms: HashMap<Register, Forms>,
    /// What has been shifted by a constant: the value, and the distance to the left.
    shifts: HashMap<Register, (Value, i16)>,
}

/// An instruction on floats: `vxxxps` or `vxxxpd`.
pub(super) fn float(kind: Kind, byte: u8) -> Opcode {
    let double = kind == Kind::F64;
    opcode(1, u8::from(double), double, byte)
}

/// An instruction whose forms for 32 and 64 bits differ in the width bit.
pub(super) fn sized(map: u8, prefix: u8, byte: u8, width: usize) -> Opcode {
    opcode(map, prefix, width == 8, byte)
}

/// The instruction for a width in bytes out of four.
fn by_width(width: usize, ops: [Opcode; 4]) -> Opcode {
    ops[match width {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    }]
}

impl Lowerer {
    pub(super) fn new(group: usize) -> Self {
        Self {
            body: Body::new(group),
            sources: HashMap::new(),
            forms: HashMap::new(),
            shifts: HashMap::new(),
        }
    }

    /// Says where a register's elements come from.
    pub(super) fn source(&mut self, register: Register, source: Source) {
        self.sources.insert(register, source);
    }

    fn constant_of(&self, register: Register) -> Option<u64> {
        match self.sources.get(&register) {
            Some(Source::Constant(bits)) => Some(*bits),
            _ => None,
        }
    }

    /// The elements as they lie in memory.
    pub(super) fn packed(&mut self, register: Register, kind: Kind) -> Value {
        let forms = self.forms.get(&register).copied().unwrap_or_default();
        if let Some(value) = forms.packed {
            return value;
        }
        let width = kind.width();
        let value = match (self.sources.get(&register), forms) {
            (_, Forms { mask: Some(mask), .. }) => {
                let ones = self.body.constant(1, 1);
                let length = self.body.length(1);
                let value = self.body.unary(MOVE_BYTES, length, ones);
                self.body.or_zero(mask);
                value
            }
            (_, Forms { wide: Some(wide), .. }) => self.pack(kind, wide),
            (Some(&Source::Each(array)), _) => self.body.load(array, width),
            (Some(&Source::One(array)), _) => self.body.broadcast(array, width),
            // Its elements are nobody's lane.
            (Some(&Source::All(_)), _) => self.body.constant(0, width),
            (Some(&Source::Variable(array)), _) => self.body.variable(array),
            (Some(&Source::Constant(bits)), _) => self.body.constant(bits, width),
            // A register that nothing defines holds zeros.
            (None, _) => self.body.constant(0, width),
        };
        self.forms.entry(register).or_default().packed = Some(value);
        value
    }

    /// Floats to compute with.
    pub(super) fn wide(&mut self, register: Register, kind: Kind) -> Value {
        if matches!(kind, Kind::F32 | Kind::F64) {
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
                    Kind::F16 => half::f16::from_bits(half).to_f32().to_bits(),
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
        let packed = self.packed(register, Kind::Pred);
        let value = self.not_zero(packed, 1);
        self.forms.entry(register).or_default().mask = Some(value);
        value
    }

    /// The mask of the elements that are not zero.
    pub(super) fn not_zero(&mut self, value: Value, width: usize) -> Value {
        let ops = [(false, 0x26), (true, 0x26), (false, 0x27), (true, 0x27)];
        let op = by_width(width, ops.map(|(wide, byte)| opcode(2, 1, wide, byte)));
        self.body.test(op, self.body.length(width), value, value, None)
    }

    /// Says what a register holds.
    pub(super) fn define(&mut self, register: Register, value: Value) {
        self.forms.insert(register, Forms::packed(value));
    }

    /// Lowers an operation.
    pub(super) fn step(&mut self, job: Job, kind: Kind, inputs: &[Register], result: Register) {
        let forms = match (job, kind) {
            (Job::Convert(to), _) => self.convert(kind, to, inputs[0]),
            (Job::Take(last), _) => Forms::packed(self.take(kind, last, inputs)),
            (Job::Same, _) => Forms::packed(self.packed(inputs[0], kind)),
            (Job::Select, _) => self.select(kind, inputs),
            (_, Kind::Pred) => self.predicates(job, inputs),
            (_, Kind::Integer(width, signed)) => {
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
    fn take(&mut self, kind: Kind, last: u32, inputs: &[Register]) -> Value {
        let numbers = self.packed(inputs[0], Kind::Integer(4, true));
        let last = self.body.constant(last.into(), 4);
        let (_, least) = extremes(4, false);
        let length = self.body.length(4);
        let numbers = self.body.binary(least, length, numbers, last);
        match self.sources.get(&inputs[1]) {
            Some(&Source::All(array)) => self.body.gather(array, kind.width(), numbers),
            _ => self.packed(inputs[1], kind),
        }
    }

    fn note_shift(&mut self, job: Job, kind: Kind, inputs: &[Register], result: Register) {
        let way = match job {
            Job::ShiftLeft => 1,
            Job::ShiftRight => -1,
            _ => return,
        };
        let distance = self.constant_of(inputs[1]).and_then(|bits| i16::try_from(bits).ok());
        if let Some(distance) = distance {
            let value = self.packed(inputs[0], kind);
            self.shifts.insert(result, (value, way * distance));
        }
    }

    /// One rotation for two shifts whose bits meet.
    fn rotation(&mut self, job: Job, width: usize, inputs: &[Register]) -> Option<Value> {
        if !matches!(job, Job::Or | Job::Xor | Job::Add) || width < 4 {
            return None;
        }
        let [a, b] = inputs else { return None };
        let (&(a, left), &(b, right)) = (self.shifts.get(a)?, self.shifts.get(b)?);
        let bits = i16::from(Body::bits(width));
        let meet = left.signum() != right.signum() && (left - right).abs() == bits;
        let inside = left.abs() < bits && right.abs() < bits;
        let by = u8::try_from(left.max(right)).ok()?;
        let length = self.body.length(width);
        (a == b && meet && inside)
            .then(|| self.body.shift(sized(1, 1, 0x72, width), 1, length, a, by))
    }

    fn select(&mut self, kind: Kind, inputs: &[Register]) -> Forms {
        let mask = self.mask(inputs[0]);
        if kind == Kind::Pred {
            let (a, b) = (self.mask(inputs[1]), self.mask(inputs[2]));
            let yes = self.body.logic(0x41, mask, Some(a));
            let no = self.body.logic(0x42, mask, Some(b));
            return Forms::mask(self.body.logic(0x45, yes, Some(no)));
        }
        let wide = |forms: Option<&Forms>| forms.is_some_and(|forms| forms.packed.is_none());
        let halves = matches!(kind, Kind::F16 | Kind::Bf16);
        let made = |register: &Register| wide(self.forms.get(register));
        let as_wide = halves && inputs[1..].iter().all(made);
        let (a, b, width) = if as_wide {
            (self.wide(inputs[1], kind), self.wide(inputs[2], kind), 4)
        } else {
            (self.packed(inputs[1], kind), self.packed(inputs[2], kind), kind.width())
        };
        let ops = [(false, 0x66), (true, 0x66), (false, 0x64), (true, 0x64)];
        let op = by_width(width, ops.map(|(wide, byte)| opcode(2, 1, wide, byte)));
        let value = self.body.choose(op, self.body.length(width), mask, a, b);
        if as_wide { Forms { wide: Some(value), ..Forms::default() } } else { Forms::packed(value) }
    }

    fn predicates(&mut self, job: Job, inputs: &[Register]) -> Forms {
        let a = self.mask(inputs[0]);
        let Some(&second) = inputs.get(1) else {
            return Forms::mask(self.body.logic(0x44, a, None));
        };
        let b = self.mask(second);
        let (byte, a, b, negated) = match job {
            Job::Multiply | Job::Minimum | Job::And => (0x41, a, b, false),
            Job::Add | Job::Maximum | Job::Or => (0x45, a, b, false),
            Job::Compare(Relation::Equal) => (0x46, a, b, false),
            Job::Compare(Relation::Less) => (0x42, a, b, false),
            Job::Compare(Relation::Greater) => (0x42, b, a, false),
            Job::Compare(Relation::LessOrEqual) => (0x42, b, a, true),
            Job::Compare(Relation::GreaterOrEqual) => (0x42, a, b, true),
            _ => (0x47, a, b, false),
        };
        let mask = self.body.logic(byte, a, Some(b));
        Forms::mask(if negated { self.body.logic(0x44, mask, None) } else { mask })
    }

    fn integers(&mut self, job: Job, width: usize, signed: bool, inputs: &[Register]) -> Forms {
        let kind = Kind::Integer(width, signed);
        let length = self.body.length(width);
        let all: Vec<Value> = inputs.iter().map(|&input| self.packed(input, kind)).collect();
        let [a, b] = [all[0], all.get(1).copied().unwrap_or(all[0])];
        let body = &mut self.body;
        let basic =
            |bytes: [u8; 4]| by_width(width, bytes.map(|byte| opcode(1, 1, width == 8, byte)));
        let logic = |byte: u8| sized(1, 1, byte, width);
        let (largest, least) = extremes(width, signed);
        let value = match job {
            Job::Add => body.binary(basic([0xfc, 0xfd, 0xfe, 0xd4]), length, a, b),
            Job::Subtract => body.binary(basic([0xf8, 0xf9, 0xfa, 0xfb]), length, a, b),
            Job::Negate => {
                let zero = body.constant(0, width);
                body.binary(basic([0xf8, 0xf9, 0xfa, 0xfb]), length, zero, a)
            }
            Job::Multiply | Job::Square => {
                let op =
                    if width == 2 { opcode(1, 1, false, 0xd5) } else { sized(2, 1, 0x40, width) };
                body.binary(op, length, a, b)
            }
            Job::Maximum => body.binary(largest, length, a, b),
            Job::Minimum => body.binary(least, length, a, b),
            Job::Clamp => {
                let value = body.binary(largest, length, b, a);
                body.binary(least, length, value, all[2])
            }
            Job::Absolute => {
                let op =
                    by_width(width, [0x1c, 0x1d, 0x1e, 0x1f].map(|byte| sized(2, 1, byte, width)));
                body.unary(op, length, a)
            }
            Job::Sign if signed => {
                let (zero, by) = (body.constant(0, width), Body::bits(width) - 1);
                let byte = if width == 8 { 0x73 } else { 0x72 };
                let negative = body.shift(sized(1, 1, 0x72, width), 4, length, a, by);
                let opposite = body.binary(basic([0xf8, 0xf9, 0xfa, 0xfb]), length, zero, a);
                let positive = body.shift(sized(1, 1, byte, width), 2, length, opposite, by);
                body.binary(logic(0xeb), length, negative, positive)
            }
            Job::Sign => {
                let one = body.constant(1, width);
                body.binary(least, length, a, one)
            }
            Job::And => body.binary(logic(0xdb), length, a, b),
            Job::Or => body.binary(logic(0xeb), length, a, b),
            Job::Xor => body.binary(logic(0xef), length, a, b),
            Job::Not => {
                let ones = body.constant(u64::MAX, width);
                body.binary(logic(0xef), length, a, ones)
            }
            Job::ShiftLeft => body.binary(shifting(width, 0x12, 0x47), length, a, b),
            Job::ShiftRight => body.binary(shifting(width, 0x10, 0x45), length, a, b),
            Job::ShiftArithmetic => body.binary(shifting(width, 0x11, 0x46), length, a, b),
            Job::Compare(relation) => {
                let narrow = width < 4;
                let byte = if narrow { 0x3e } else { 0x1e } | u8::from(signed);
                let op = opcode(3, 1, matches!(width, 2 | 8), byte);
                let with = Some(relation.of_integers());
                return Forms::mask(body.test(op, length, a, b, with));
            }
            _ => a,
        };
        Forms::packed(value)
    }

    fn floats(&mut self, job: Job, kind: Kind, inputs: &[Register]) -> Forms {
        let all: Vec<Value> = inputs.iter().map(|&input| self.wide(input, kind)).collect();
        let [a, b] = [all[0], all.get(1).copied().unwrap_or(all[0])];
        let width = if kind == Kind::F64 { 8 } else { 4 };
        let length = self.body.length(width);
        let one = if width == 8 { 1.0_f64.to_bits() } else { 1.0_f32.to_bits().into() };
        let top = 1_u64 << (Body::bits(width) - 1);
        let body = &mut self.body;
        let (value, exact) = match job {
            Job::Add => (body.binary(float(kind, 0x58), length, a, b), false),
            Job::Subtract => (body.binary(float(kind, 0x5c), length, a, b), false),
            Job::Multiply | Job::Square => (body.binary(float(kind, 0x59), length, a, b), false),
            Job::Divide => (body.binary(float(kind, 0x5e), length, a, b), false),
            Job::Root => (body.unary(float(kind, 0x51), length, a), false),
            Job::InverseRoot => {
                let root = body.unary(float(kind, 0x51), length, a);
                let one = body.constant(one, width);
                (body.binary(float(kind, 0x5e), length, one, root), false)
            }
            Job::Maximum | Job::Minimum => {
                (self.extreme(job == Job::Maximum, kind, [inputs[0], inputs[1]], [a, b]), true)
            }
            Job::Clamp => {
                let [low, x, high] = [all[0], all[1], all[2]];
                let value = self.extreme(true, kind, [inputs[1], inputs[0]], [x, low]);
                (self.general_extreme(false, kind, [value, high]), true)
            }
            Job::Negate => {
                let sign = body.constant(top, width);
                (body.binary(sized(1, 1, 0xef, width), length, a, sign), true)
            }
            Job::Absolute => {
                let rest = body.constant(top - 1, width);
                (body.binary(sized(1, 1, 0xdb, width), length, a, rest), true)
            }
            Job::Sign => {
                let (zero, sign, one) =
                    (body.constant(0, width), body.constant(top, width), body.constant(one, width));
                let other = body.test(float(kind, 0xc2), length, a, zero, Some(0x0c));
                let zero = body.binary(float(kind, 0x5f), length, a, a);
                let value = body.ternary(width, length, [a, sign, one], AND_OR);
                body.over(other, zero);
                (value, true)
            }
            Job::Round(how) => (body.unary_with(rounding(width), length, a, how), false),
            Job::RoundAway => {
                let half = if width == 8 {
                    0.5_f64.next_down().to_bits()
                } else {
                    0.5_f32.next_down().to_bits().into()
                };
                let (sign, half) = (body.constant(top, width), body.constant(half, width));
                let part = body.ternary(width, length, [a, sign, half], AND_OR);
                let sum = body.binary(float(kind, 0x58), length, a, part);
                (body.unary_with(rounding(width), length, sum, 0x0b), false)
            }
            Job::Classify(classes, others) => {
                let op = sized(3, 1, 0x66, width);
                let operands = [Some(a), None, None];
                let mask = body.emit(Class::Mask, op, Form::Unary, length, operands, Some(classes));
                let mask = if others { body.logic(0x44, mask, None) } else { mask };
                return Forms::mask(mask);
            }
            Job::Compare(relation) => {
                let with = Some(relation.of_floats());
                return Forms::mask(body.test(float(kind, 0xc2), length, a, b, with));
            }
            _ => (a, true),
        };
        self.rounded(kind, value, exact)
    }

    /// The larger or smaller of two.
    fn extreme(
        &mut self,
        larger: bool,
        kind: Kind,
        registers: [Register; 2],
        [a, b]: [Value; 2],
    ) -> Value {
        let number = |bits: u64| match (kind, u32::try_from(bits)) {
            (Kind::F32, Ok(bits)) => Some(f64::from(f32::from_bits(bits))),
            (Kind::F64, _) => Some(f64::from_bits(bits)),
            _ => None,
        };
        let constants = registers.map(|register| self.constant_of(register).and_then(number));
        let (constant, fixed, other) = match constants {
            [_, Some(constant)] => (constant, b, a),
            [Some(constant), _] => (constant, a, b),
            _ => return self.general_extreme(larger, kind, [a, b]),
        };
        let length = self.body.length(if kind == Kind::F64 { 8 } else { 4 });
        if constant == 0.0 && constant.is_sign_positive() && larger {
            // Everything above zero, and NaN.
            let kept = self.body.test(float(kind, 0xc2), length, other, fixed, Some(0x16));
            let value = self.body.unary(MOVE, length, other);
            if kind == Kind::F64 {
                self.body.widen_last();
            }
            self.body.or_zero(kept);
            return value;
        }
        if constant == 0.0 || constant.is_nan() {
            return self.general_extreme(larger, kind, [a, b]);
        }
        // The instruction gives its second operand if one is NaN.
        self.body.binary(float(kind, if larger { 0x5f } else { 0x5d }), length, fixed, other)
    }

    /// NaN if either is, and of two zeros the one that the sign says.
    fn general_extreme(&mut self, larger: bool, kind: Kind, [a, b]: [Value; 2]) -> Value {
        let width = if kind == Kind::F64 { 8 } else { 4 };
        let length = self.body.length(width);
        let body = &mut self.body;
        let (byte, logic) = if larger { (0x5f, 0xdb) } else { (0x5d, 0xeb) };
        let equal = body.test(float(kind, 0xc2), length, a, b, Some(0));
        let nan = body.test(float(kind, 0xc2), length, a, a, Some(3));
        let chosen = body.binary(float(kind, byte), length, a, b);
        let value = body.binary(sized(1, 1, logic, width), length, a, b);
        body.over(equal, chosen);
        // Of a zero that was no zero as an integer, the sign is left.
        let value = body.binary(float(kind, byte), length, value, value);
        body.choose(sized(2, 1, 0x64, width), length, nan, a, value)
    }
}

/// `vrndscaleps` or `vrndscalepd`.
fn rounding(width: usize) -> Opcode {
    opcode(3, 1, width == 8, if width == 8 { 0x09 } else { 0x08 })
}

/// Shifts by elements: the opcode for words and the one for wider ones.
fn shifting(width: usize, word: u8, other: u8) -> Opcode {
    if width == 2 { opcode(2, 1, true, word) } else { sized(2, 1, other, width) }
}

/// The instructions for the larger and the smaller of integers.
fn extremes(width: usize, signed: bool) -> (Opcode, Opcode) {
    let wide = width == 8;
    match (width, signed) {
        (1, true) => (opcode(2, 1, false, 0x3c), opcode(2, 1, false, 0x38)),
        (1, false) => (opcode(1, 1, false, 0xde), opcode(1, 1, false, 0xda)),
        (2, true) => (opcode(1, 1, false, 0xee), opcode(1, 1, false, 0xea)),
        (2, false) => (opcode(2, 1, false, 0x3e), opcode(2, 1, false, 0x3a)),
        (_, true) => (opcode(2, 1, wide, 0x3d), opcode(2, 1, wide, 0x39)),
        (_, false) => (opcode(2, 1, wide, 0x3f), opcode(2, 1, wide, 0x3b)),
    }
}
