//! Elements of one type as elements of another.
use super::encode::Opcode;
use super::inst::{LoopBody, ShortOrigin, Value};
use super::lower::{Forms, Lowerer};
#[cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "names of instructions, as the manuals have them")
)]
use super::opcodes::*;
use super::select::{NumberKind, float};
use crate::elementwise::program::Register;

impl Lowerer {
    /// 16-bit floats as 32-bit ones.
    pub(super) fn unpack(&mut self, kind: NumberKind, packed: Value) -> Value {
        let length = self.body.length(4);
        if kind == NumberKind::F16 {
            return self.body.unary(VCVTPH2PS, length, packed);
        }
        let wide = self.body.unary(VPMOVZXWD, length, packed);
        self.body.shift(VPSLLD, length, wide, 16)
    }

    /// 32-bit floats that 16-bit ones equal as those.
    pub(super) fn pack(&mut self, kind: NumberKind, wide: Value) -> Value {
        let length = self.body.length(4);
        if kind == NumberKind::F16 {
            return self.body.reversed(VCVTPS2PH, length, wide, Some(0));
        }
        let high = self.body.shift(VPSRLD, length, wide, 16);
        self.body.reversed(VPMOVDW, length, high, None)
    }

    /// A computed float as one of a type. An exact one needs no rounding.
    pub(super) fn rounded(&mut self, kind: NumberKind, value: Value, exact: bool) -> Forms {
        let wide = |value| Forms { wide: Some(value), ..Forms::default() };
        match kind {
            NumberKind::F16 if exact => wide(value),
            NumberKind::F16 => Forms::packed(self.pack(kind, value)),
            NumberKind::Bf16 if exact => wide(self.quiet(value)),
            NumberKind::Bf16 => wide(self.round_to_bf16(value)),
            _ => Forms::packed(value),
        }
    }

    /// Numbers as they are, and every NaN a quiet one.
    fn quiet(&mut self, value: Value) -> Value {
        let quiet = self.body.constant(0x0040_0000, 4);
        let length = self.body.length(4);
        let nan = self.body.test(VCMPPS, length, value, value, Some(3));
        let all = self.body.binary(VPORD, length, value, quiet);
        self.body.over(nan, value);
        all
    }

    /// The nearest that has 16 bits, ties to even; NaN stays one.
    fn round_to_bf16(&mut self, value: Value) -> Value {
        let length = self.body.length(4);
        let [one, half, quiet, kept] =
            [1, 0x7fff, 0x0040_0000, 0xffff_0000].map(|bits| self.body.constant(bits, 4));
        let body = &mut self.body;
        let (add, and) = (VPADDD, VPANDD);
        let nan = body.test(VCMPPS, length, value, value, Some(3));
        let last = body.shift(VPSRLD, length, value, 16);
        let odd = body.binary(and, length, last, one);
        let up = body.binary(add, length, odd, half);
        let sum = body.binary(add, length, up, value);
        let all = body.binary(VPORD, length, value, quiet);
        body.over(nan, sum);
        body.binary(and, length, all, kept)
    }

    pub(super) fn convert(&mut self, from: NumberKind, to: NumberKind, input: Register) -> Forms {
        match (from, to) {
            (NumberKind::Pred, _) => self.ones_where(to, input),
            (NumberKind::Integer(width, _), NumberKind::Pred) => {
                let value = self.packed(input, from);
                Forms::mask(self.not_zero(value, width))
            }
            (_, NumberKind::Pred) => {
                let (value, width) =
                    (self.wide(input, from), if from == NumberKind::F64 { 8 } else { 4 });
                let zero = self.body.constant(0, width);
                let length = self.body.length(width);
                Forms::mask(self.body.test(
                    float(from, [VCMPPS, VCMPPD]),
                    length,
                    value,
                    zero,
                    Some(4),
                ))
            }
            (NumberKind::Integer(width, signed), NumberKind::Integer(other, _)) => {
                let value = self.packed(input, from);
                Forms::packed(self.resize(value, width, signed, other))
            }
            (NumberKind::Integer(width, signed), _) => {
                let value = self.packed(input, from);
                self.floats_of(value, width, signed, to)
            }
            (_, NumberKind::Integer(width, signed)) => {
                let value = self.wide(input, from);
                Forms::packed(self.truncate(value, width, signed))
            }
            (NumberKind::F64, _) => {
                let value = self.packed(input, from);
                Forms::packed(self.body.unary(VCVTPD2PS, self.body.length(8), value))
            }
            (_, NumberKind::F64) => {
                let value = self.wide(input, from);
                Forms::packed(self.body.unary(VCVTPS2PD, self.body.length(8), value))
            }
            (NumberKind::Bf16, NumberKind::F32) => Forms::packed(self.wide(input, from)),
            _ => {
                let value = self.wide(input, from);
                self.rounded(to, value, false)
            }
        }
    }

    /// Zeros and ones.
    fn ones_where(&mut self, to: NumberKind, input: Register) -> Forms {
        let mask = self.mask(input);
        let value = self.where_mask(to, mask);
        if let NumberKind::Integer(..) = to {
            self.origins.insert(value, ShortOrigin::Mask(mask));
        }
        Forms::packed(value)
    }

    fn where_mask(&mut self, to: NumberKind, mask: Value) -> Value {
        let one = match to {
            NumberKind::F32 => 1.0_f32.to_bits().into(),
            NumberKind::F64 => 1.0_f64.to_bits(),
            NumberKind::F16 => half::f16::ONE.to_bits().into(),
            NumberKind::Bf16 => half::bf16::ONE.to_bits().into(),
            _ => 1,
        };
        let width = to.width();
        let ones = self.body.constant(one, width);
        let op = by_width(width, [VMOVDQU8, VMOVDQU16, VMOVDQA32, VMOVDQA64]);
        let value = self.body.unary(op, self.body.length(width), ones);
        self.body.or_zero(mask);
        value
    }

    /// Integers of another width: the low bits, or copies of the sign before them.
    pub(super) fn resize(
        &mut self,
        value: Value,
        width: usize,
        signed: bool,
        other: usize,
    ) -> Value {
        if width == other {
            value
        } else if width < other {
            self.lengthened(value, width, signed, other)
        } else {
            let op = cut(width, other);
            let short = self.body.reversed(op, self.body.length(width), value, None);
            self.origins.insert(short, ShortOrigin::Cut(value, width));
            short
        }
    }

    /// A longer integer, by way of what the short one was made of.
    fn lengthened(&mut self, value: Value, width: usize, signed: bool, other: usize) -> Value {
        let (length, bits) = (self.body.length(other), LoopBody::bits(other - width));
        match self.origins.get(&value) {
            Some(&ShortOrigin::Cut(long, 4)) if other == 4 && signed => {
                let high = self.body.shift(VPSLLD, length, long, bits);
                self.body.shift(VPSRAD, length, high, bits)
            }
            Some(&ShortOrigin::Cut(long, of)) if of == other && other >= 4 && !signed => {
                let low = self.body.constant((1 << LoopBody::bits(width)) - 1, other);
                self.body.binary(by_size(other, [VPANDD, VPANDQ]), length, long, low)
            }
            Some(&ShortOrigin::Mask(mask)) => {
                self.where_mask(NumberKind::Integer(other, signed), mask)
            }
            _ => {
                let op = extend(width, other, signed);
                self.body.unary(op, length, value)
            }
        }
    }

    fn floats_of(&mut self, value: Value, width: usize, signed: bool, to: NumberKind) -> Forms {
        let (value, from) =
            if width < 4 { (self.resize(value, width, signed, 4), 4) } else { (value, width) };
        let large = if to == NumberKind::F64 { 8 } else { from };
        let length = self.body.length(large.max(4));
        let op = match (from, to == NumberKind::F64, signed) {
            (4, false, true) => VCVTDQ2PS,
            (4, false, false) => VCVTUDQ2PS,
            (4, true, true) => VCVTDQ2PD,
            (4, true, false) => VCVTUDQ2PD,
            (_, false, true) => VCVTQQ2PS,
            (_, false, false) => VCVTUQQ2PS,
            (_, true, true) => VCVTQQ2PD,
            (_, true, false) => VCVTUQQ2PD,
        };
        let wide = self.body.unary(op, length, value);
        self.rounded(to, wide, false)
    }

    /// 32-bit floats as integers: cut, saturated, 0 for NaN.
    fn truncate(&mut self, value: Value, width: usize, signed: bool) -> Value {
        let length = self.body.length(4);
        let zero = self.body.constant(0, 4);
        let narrow = |[byte, word]: [Opcode; 2]| if width == 1 { byte } else { word };
        if !signed {
            // The instruction gives its second operand if the first is NaN.
            let least = self.body.binary(VMAXPS, length, value, zero);
            let cut = self.body.unary(VCVTTPS2UDQ, length, least);
            return if width == 4 {
                cut
            } else {
                self.body.reversed(narrow([VPMOVUSDB, VPMOVUSDW]), length, cut, None)
            };
        }
        let limit = self.body.constant(2_147_483_648.0_f32.to_bits().into(), 4);
        let most = self.body.constant(0x7fff_ffff, 4);
        let body = &mut self.body;
        let large = body.test(VCMPPS, length, value, limit, Some(0x1d));
        let number = body.test(VCMPPS, length, value, value, Some(7));
        let cut = body.unary(VCVTTPS2DQ, length, value);
        body.or_zero(number);
        let cut = body.choose(VPBLENDMD, length, large, most, cut);
        if width == 4 {
            cut
        } else {
            body.reversed(narrow([VPMOVSDB, VPMOVSDW]), length, cut, None)
        }
    }
}
