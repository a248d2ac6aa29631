//! Instructions of AVX-512 that AVX2 does in several.
use super::avx2::Translation;
use super::encode::Opcode;
use super::inst::{Class, Form, Value};
use super::opcodes;
use super::vex;

/// `2^52` and `2^84`: integers in the lowest bits of such a float are added to it.
const LOW: u64 = 0x4330_0000_0000_0000;
const HIGH: u64 = 0x4530_0000_0000_0000;
/// The comparison of floats that is true for greater or equal ones.
const GREATER_OR_EQUAL: u8 = 0x1d;

impl Translation<'_> {
    /// What an instruction gives that AVX2 has not.
    pub(super) fn expanded(&mut self, op: Opcode, length: u8, [a, b]: [Value; 2]) -> Value {
        match op {
            opcodes::VPMULLQ => self.product(length, a, b),
            opcodes::VPABSQ => {
                let negative = self.negative(length, a);
                let turned = self.body.binary(vex::VPXOR, length, a, negative);
                self.body.binary(vex::VPSUBQ, length, turned, negative)
            }
            opcodes::VPMAXSQ => self.extreme(length, true, [a, b], [a, b]),
            opcodes::VPMINSQ => self.extreme(length, true, [a, b], [b, a]),
            opcodes::VPMAXUQ => self.extreme(length, false, [a, b], [a, b]),
            opcodes::VPMINUQ => self.extreme(length, false, [a, b], [b, a]),
            opcodes::VPSRAVQ => {
                let negative = self.negative(length, a);
                let turned = self.body.binary(vex::VPXOR, length, a, negative);
                let shifted = self.body.binary(vex::VPSRLVQ, length, turned, b);
                self.body.binary(vex::VPXOR, length, shifted, negative)
            }
            opcodes::VPSLLVW => self.shift_words(vex::VPMOVZXWD, vex::VPSLLVD, [a, b]),
            opcodes::VPSRLVW => self.shift_words(vex::VPMOVZXWD, vex::VPSRLVD, [a, b]),
            opcodes::VPSRAVW => self.shift_words(vex::VPMOVSXWD, vex::VPSRAVD, [a, b]),
            opcodes::VPMOVWB => self.cut(a, 2, 1),
            opcodes::VPMOVDB => self.cut(a, 4, 1),
            opcodes::VPMOVQB => self.cut(a, 8, 1),
            opcodes::VPMOVDW => self.cut(a, 4, 2),
            opcodes::VPMOVQW => self.cut(a, 8, 2),
            opcodes::VPMOVQD => self.cut(a, 8, 4),
            opcodes::VPMOVUSDB => self.saturated(length, a, None, 0xff, 1),
            opcodes::VPMOVUSDW => self.saturated(length, a, None, 0xffff, 2),
            opcodes::VPMOVSDB => self.saturated(length, a, Some(-0x80), 0x7f, 1),
            opcodes::VPMOVSDW => self.saturated(length, a, Some(-0x8000), 0x7fff, 2),
            opcodes::VCVTUDQ2PS => self.singles_of_u32(length, a),
            opcodes::VCVTUDQ2PD => self.doubles_of_u32(length, a),
            opcodes::VCVTQQ2PD => self.doubles_of_64(length, a, true),
            opcodes::VCVTUQQ2PD => self.doubles_of_64(length, a, false),
            opcodes::VCVTQQ2PS => self.singles_of_64(length, a, true),
            opcodes::VCVTUQQ2PS => self.singles_of_64(length, a, false),
            opcodes::VCVTTPS2UDQ => self.u32_of_singles(length, a),
            other => unreachable!("{other:?} has no translation"),
        }
    }

    pub(super) fn shift(
        &mut self,
        op: Opcode,
        digit: u8,
        length: u8,
        value: Value,
        by: u8,
    ) -> Value {
        let is = |shift: opcodes::Shift| (shift.op, shift.digit) == (op, digit);
        let known = [
            (opcodes::VPSRLW, vex::VPSRLW),
            (opcodes::VPSRAW, vex::VPSRAW),
            (opcodes::VPSLLW, vex::VPSLLW),
            (opcodes::VPSRLD, vex::VPSRLD),
            (opcodes::VPSRLQ, vex::VPSRLQ),
            (opcodes::VPSRAD, vex::VPSRAD),
            (opcodes::VPSLLD, vex::VPSLLD),
            (opcodes::VPSLLQ, vex::VPSLLQ),
        ];
        if let Some((_, same)) = known.into_iter().find(|(shift, _)| is(*shift)) {
            return self.body.shift(same, length, value, by);
        }
        if is(opcodes::VPSRAQ) {
            let negative = self.negative(length, value);
            let turned = self.body.binary(vex::VPXOR, length, value, negative);
            let shifted = self.body.shift(vex::VPSRLQ, length, turned, by);
            return self.body.binary(vex::VPXOR, length, shifted, negative);
        }
        let (left, right, bits) =
            if op.wide { (vex::VPSLLQ, vex::VPSRLQ, 64) } else { (vex::VPSLLD, vex::VPSRLD, 32) };
        let left = self.body.shift(left, length, value, by);
        let right = self.body.shift(right, length, value, bits - by);
        self.body.binary(vex::VPOR, length, left, right)
    }

    /// Ones in the lanes of 64 bits that are negative.
    fn negative(&mut self, length: u8, value: Value) -> Value {
        let zero = self.body.constant(0, 8);
        self.greater(8, length, true, [zero, value])
    }

    /// One of a pair, the first where the first of another is greater.
    fn extreme(
        &mut self,
        length: u8,
        signed: bool,
        pair: [Value; 2],
        [yes, no]: [Value; 2],
    ) -> Value {
        let greater = self.greater(8, length, signed, pair);
        self.choose(8, length, greater, yes, no)
    }

    /// The low 64 bits of products.
    fn product(&mut self, length: u8, a: Value, b: Value) -> Value {
        let body = &mut *self.body;
        let [high_a, high_b] = [a, b].map(|value| body.shift(vex::VPSRLQ, length, value, 32));
        let first = body.binary(vex::VPMULUDQ, length, high_a, b);
        let second = body.binary(vex::VPMULUDQ, length, high_b, a);
        let cross = body.binary(vex::VPADDQ, length, first, second);
        let cross = body.shift(vex::VPSLLQ, length, cross, 32);
        let low = body.binary(vex::VPMULUDQ, length, a, b);
        body.binary(vex::VPADDQ, length, low, cross)
    }

    /// Shifts of 16 bits in lanes of 32.
    fn shift_words(&mut self, extend: Opcode, shift: Opcode, [a, by]: [Value; 2]) -> Value {
        let length = self.body.length(4);
        let a = self.body.unary(extend, length, a);
        let by = self.body.unary(vex::VPMOVZXWD, length, by);
        let value = self.body.binary(shift, length, a, by);
        self.cut(value, 4, 2)
    }

    /// The low bytes of lanes, side by side.
    pub(super) fn cut(&mut self, value: Value, from: usize, to: usize) -> Value {
        if self.body.group == 1 {
            // The lowest bytes are where they were.
            return value;
        }
        let mut order = [0x80; 16];
        for (byte, place) in order.iter_mut().zip(0..16 / from * to) {
            *byte = super::encode::byte(place / to * from + place % to);
        }
        let order = self.body.wide_constant(order);
        let length = self.body.length(from);
        let low = self.body.binary(vex::VPSHUFB, length, value, order);
        if length == 0 {
            return low;
        }
        let high = self.body.reversed(vex::VEXTRACTI128, 1, low, Some(1));
        let join = match 16 / from * to {
            2 => vex::VPUNPCKLWD,
            4 => vex::VPUNPCKLDQ,
            _ => vex::VPUNPCKLQDQ,
        };
        self.body.binary(join, 0, low, high)
    }

    fn saturated(
        &mut self,
        length: u8,
        value: Value,
        least: Option<i32>,
        most: u64,
        to: usize,
    ) -> Value {
        let most = self.body.constant(most, 4);
        let value = match least {
            Some(least) => {
                let least = self.body.constant(least.cast_unsigned().into(), 4);
                let value = self.body.binary(vex::VPMAXSD, length, value, least);
                self.body.binary(vex::VPMINSD, length, value, most)
            }
            None => self.body.binary(vex::VPMINUD, length, value, most),
        };
        self.cut(value, 4, to)
    }

    /// Both halves are exact, so their sum is rounded once.
    fn singles_of_u32(&mut self, length: u8, value: Value) -> Value {
        let body = &mut *self.body;
        let half = body.constant(0xffff, 4);
        let scale = body.constant(65536_f32.to_bits().into(), 4);
        let low = body.binary(vex::VPAND, length, value, half);
        let high = body.shift(vex::VPSRLD, length, value, 16);
        let [low, high] = [low, high].map(|half| body.unary(vex::VCVTDQ2PS, length, half));
        let high = body.binary(vex::VMULPS, length, high, scale);
        body.binary(vex::VADDPS, length, high, low)
    }

    fn doubles_of_u32(&mut self, length: u8, value: Value) -> Value {
        let body = &mut *self.body;
        let top = body.constant(0x8000_0000, 4);
        let away = body.constant(2_147_483_648_f64.to_bits(), 8);
        let turned = body.binary(vex::VPXOR, body.length(4), value, top);
        let value = body.unary(vex::VCVTDQ2PD, length, turned);
        body.binary(vex::VADDPD, length, value, away)
    }

    /// The upper half, the lower one: both are exact, so their sum is rounded once.
    fn doubles_of_64(&mut self, length: u8, value: Value, signed: bool) -> Value {
        let body = &mut *self.body;
        let (bits, away) = if signed {
            // 2^84 + 2^63 + 2^52
            (HIGH | 0x8000_0000, HIGH | 0x8010_0000)
        } else {
            // 2^84 + 2^52
            (HIGH, HIGH | 0x0010_0000)
        };
        let [bits, away] = [bits, away].map(|bits| body.constant(bits, 8));
        let [half, low] = [0xffff_ffff, LOW].map(|bits| body.constant(bits, 8));
        let high = body.shift(vex::VPSRLQ, length, value, 32);
        let high = body.binary(vex::VPXOR, length, high, bits);
        let high = body.binary(vex::VSUBPD, length, high, away);
        let rest = body.binary(vex::VPAND, length, value, half);
        let rest = body.binary(vex::VPOR, length, rest, low);
        body.binary(vex::VADDPD, length, high, rest)
    }

    /// A large integer gives up its last 11 bits first, and is odd if one of them was set: then
    /// it is a double, whose rounding to a single is that of the integer.
    fn singles_of_64(&mut self, length: u8, value: Value, signed: bool) -> Value {
        let body = &mut *self.body;
        let [last, rest, zero] = [0x7ff, !0x7ff, 0].map(|bits| body.constant(bits, 8));
        let near = if signed {
            let away = body.constant(1 << 53, 8);
            let moved = body.binary(vex::VPADDQ, length, value, away);
            body.shift(vex::VPSRLQ, length, moved, 54)
        } else {
            body.shift(vex::VPSRLQ, length, value, 53)
        };
        let some = body.binary(vex::VPAND, length, value, last);
        let some = body.binary(vex::VPADDQ, length, some, last);
        let odd = body.binary(vex::VPOR, length, value, some);
        let odd = body.binary(vex::VPAND, length, odd, rest);
        let small = self.equal(8, length, [near, zero]);
        let value = self.choose(8, length, small, value, odd);
        let value = self.doubles_of_64(length, value, signed);
        self.body.unary(vex::VCVTPD2PS, length, value)
    }

    /// Singles that are not negative as integers: cut, and the largest for what is larger.
    fn u32_of_singles(&mut self, length: u8, value: Value) -> Value {
        let half = self.body.constant(2_147_483_648_f32.to_bits().into(), 4);
        let all = self.body.constant(4_294_967_296_f32.to_bits().into(), 4);
        let top = self.body.constant(0x8000_0000, 4);
        let upper = self.compare_floats(4, length, [value, half], GREATER_OR_EQUAL);
        let over = self.compare_floats(4, length, [value, all], GREATER_OR_EQUAL);
        let body = &mut *self.body;
        let less = body.binary(vex::VPAND, length, upper, half);
        let rest = body.binary(vex::VSUBPS, length, value, less);
        let cut = body.unary(vex::VCVTTPS2DQ, length, rest);
        let bit = body.binary(vex::VPAND, length, upper, top);
        let whole = body.binary(vex::VPXOR, length, cut, bit);
        body.emit(
            Class::Vector,
            vex::VPOR,
            Form::Binary,
            length,
            [Some(whole), Some(over), None],
            None,
        )
    }
}
