//! Quotients and remainders of integers: shifts for powers of two, floats for all else.
use super::inst::{LoopBody, Value};
use super::lower::{AND_OR, Lowerer};
#[cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "names of instructions, as the manuals have them")
)]
use super::opcodes::*;
use super::select::NumberKind;
use crate::elementwise::program::Register;
use crate::math::int_div::SHIFT;

/// Rounds towards zero and tells nobody.
const CUT: u8 = 0x0b;

/// Which of both is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// How often the divisor goes into the dividend, cut towards zero; by zero, all bits are set.
    Quotient,
    /// What is left of the dividend; by zero, all of it.
    Rest,
}

/// A divisor that is the same for all elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Divisor {
    Zero,
    /// This power of two, or its opposite.
    Power(u8, bool),
    Other(i64),
}

/// What a divisor of these bits is.
fn divisor(bits: u64, width: usize, signed: bool) -> Divisor {
    let rest = 64 - u32::from(LoopBody::bits(width));
    let raw = bits << rest;
    let number = if signed { i128::from(raw.cast_signed() >> rest) } else { (raw >> rest).into() };
    let size = number.unsigned_abs();
    if size == 0 {
        Divisor::Zero
    } else if size.is_power_of_two() {
        Divisor::Power(super::encode::byte(size.trailing_zeros() as usize), number < 0)
    } else {
        // Only integers of up to 32 bits are asked for.
        Divisor::Other(i64::try_from(number).unwrap_or(0))
    }
}

/// Whether doubles are needed to divide integers of a width by what may be a constant.
pub(super) fn needs_doubles(width: usize, signed: bool, constant: Option<u64>) -> bool {
    let by = constant.map(|bits| divisor(bits, width, signed));
    width == 4 && !matches!(by, Some(Divisor::Zero | Divisor::Power(..)))
}

impl Lowerer {
    /// What to multiply floats with instead of dividing them by a constant: the inverse of a power
    /// of two, if both are normal numbers. Then both results are the same number, rounded once.
    pub(super) fn exact_inverse(&mut self, kind: NumberKind, by: Register) -> Option<Value> {
        self.constant_of(by)?;
        let (width, fraction, most) =
            if kind == NumberKind::F64 { (8, 52, 2045) } else { (4, 23, 253) };
        let by = self.wide(by, kind);
        let bits = self.body.bits_of(by, width)?;
        let (sign, exponent) = (bits >> (8 * width - 1), bits >> fraction & (most + 2));
        let power = bits.trailing_zeros() >= fraction && (1..=most).contains(&exponent);
        power.then(|| {
            let inverse = sign << (8 * width - 1) | (most + 1 - exponent) << fraction;
            self.body.constant(inverse, width)
        })
    }

    /// Divides integers of up to 32 bits.
    pub(super) fn division(
        &mut self,
        part: Part,
        width: usize,
        signed: bool,
        inputs: &[Register],
    ) -> Value {
        let kind = NumberKind::Integer(width, signed);
        let [a, b] = [inputs[0], inputs[1]].map(|input| self.packed(input, kind));
        let by = self.constant_of(inputs[1]).map(|bits| divisor(bits, width, signed));
        // Shorter ones in lanes of 32 bits, as floats are.
        let long = self.resize(a, width, signed, 4);
        let value = match by {
            Some(Divisor::Zero) if part == Part::Rest => return a,
            Some(Divisor::Zero) => return self.body.constant(u64::MAX, width),
            Some(Divisor::Power(power, below)) => self.by_power(part, signed, long, power, below),
            by => {
                let by_long = self.resize(b, width, signed, 4);
                let quotient = match by {
                    Some(Divisor::Other(number)) => self.by_number(width, signed, long, number),
                    _ => self.by_any(width, signed, long, by_long),
                };
                match part {
                    Part::Quotient => quotient,
                    Part::Rest => {
                        let length = self.body.length(4);
                        let gone = self.body.binary(VPMULLD, length, quotient, by_long);
                        self.body.binary(VPSUBD, length, long, gone)
                    }
                }
            }
        };
        self.resize(value, 4, signed, width)
    }

    fn by_power(
        &mut self,
        part: Part,
        signed: bool,
        a: Value,
        power: u8,
        below_zero: bool,
    ) -> Value {
        let length = self.body.length(4);
        let below = (1_u64 << power) - 1;
        // Of a number below zero, all that is cut is added first.
        let raised = if signed && power > 0 {
            let sign = self.body.shift(VPSRAD, length, a, 31);
            let more = self.body.shift(VPSRLD, length, sign, 32 - power);
            self.body.binary(VPADDD, length, a, more)
        } else {
            a
        };
        if part == Part::Rest {
            let whole = self.body.constant(!below & 0xffff_ffff, 4);
            let gone = self.body.binary(VPANDD, length, raised, whole);
            return self.body.binary(VPSUBD, length, a, gone);
        }
        let shift = if signed { VPSRAD } else { VPSRLD };
        let quotient =
            if power == 0 { raised } else { self.body.shift(shift, length, raised, power) };
        if below_zero {
            let zero = self.body.constant(0, 4);
            self.body.binary(VPSUBD, length, zero, quotient)
        } else {
            quotient
        }
    }

    /// A product with the inverse. A half is added to the dividend's distance from zero: what is
    /// cut then is never nearer to a whole number than the product is to the exact one.
    fn by_number(&mut self, width: usize, signed: bool, a: Value, by: i64) -> Value {
        let (a, size) = self.dividends(width, signed, a);
        let length = self.body.length(size);
        #[expect(clippy::cast_precision_loss, reason = "it has 32 bits")]
        let by = by as f64;
        #[expect(clippy::cast_possible_truncation, reason = "it is a number of 16 bits")]
        let bits = |number: f64| match size {
            8 => number.to_bits(),
            _ => (number as f32).to_bits().into(),
        };
        let [half, sign, inverse] =
            [0.5, -0.0, by.recip()].map(|number| self.body.constant(bits(number), size));
        let half =
            if signed { self.body.ternary(size, length, [a, sign, half], AND_OR) } else { half };
        let above = self.body.binary(by_size(size, [VADDPS, VADDPD]), length, a, half);
        let quotient = self.body.binary(by_size(size, [VMULPS, VMULPD]), length, above, inverse);
        self.whole(size, quotient)
    }

    /// A quotient of floats. One of `a / b` that is no whole number is at least `1 / b` below the
    /// next, and is rounded by at most `a / b` in 2^24, in doubles in 2^53: that is less, for `a` has
    /// 16 bits, or 32.
    fn by_any(&mut self, width: usize, signed: bool, a: Value, b: Value) -> Value {
        let [(upper, size), (lower, _)] = [a, b].map(|value| self.dividends(width, signed, value));
        let op = by_size(size, [VDIVPS, VDIVPD]);
        let quotient = self.body.binary(op, self.body.length(size), upper, lower);
        let quotient = self.whole(size, quotient);
        let length = self.body.length(4);
        let (zero, ones) = (self.body.constant(0, 4), self.body.constant(u64::MAX, 4));
        let none = self.body.test(VPCMPD, length, b, zero, Some(0));
        self.body.choose(VPBLENDMD, length, none, ones, quotient)
    }

    /// Integers in lanes of 32 bits as floats that have all their bits, and the bytes of those.
    fn dividends(&mut self, width: usize, signed: bool, value: Value) -> (Value, usize) {
        let (op, size) = match (width, signed) {
            (4, true) => (VCVTDQ2PD, 8),
            (4, false) => (VCVTUDQ2PD, 8),
            _ => (VCVTDQ2PS, 4),
        };
        (self.body.unary(op, self.body.length(size), value), size)
    }

    /// Floats as integers in lanes of 32 bits: cut, and those of doubles without what is above.
    fn whole(&mut self, size: usize, value: Value) -> Value {
        let length = self.body.length(size);
        if size == 4 {
            return self.body.unary(VCVTTPS2DQ, length, value);
        }
        let cut_value = self.body.unary_with(VRNDSCALEPD, length, value, CUT);
        let shift = self.body.constant(SHIFT.to_bits(), 8);
        let low = self.body.binary(VADDPD, length, cut_value, shift);
        self.body.reversed(VPMOVQD, length, low, None)
    }
}
