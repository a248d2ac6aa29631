//! Operations on integers that no instruction does.
use super::encode::Opcode;
use super::inst::{LoopBody, Value};
use super::lower::Lowerer;
#[cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "names of instructions, as the manuals have them")
)]
use super::opcodes::*;
use super::select::{JitOp, NumberKind};
use crate::elementwise::program::Register;

impl Lowerer {
    /// An operation on integers; `None` where an instruction does it.
    pub(super) fn composed(
        &mut self,
        job: JitOp,
        kind: NumberKind,
        inputs: &[Register],
        [a, b]: [Value; 2],
    ) -> Option<Value> {
        let NumberKind::Integer(width, signed) = kind else { return None };
        let shift = matches!(job, JitOp::ShiftLeft | JitOp::ShiftRight | JitOp::ShiftArithmetic);
        let by = if shift { self.constant_of(inputs[1]) } else { None };
        Some(match (job, width) {
            (JitOp::Division(part), _) => self.division(part, width, signed, inputs),
            (JitOp::Ones, _) => self.ones(width, a),
            (JitOp::LeadingZeros, _) => self.leading_zeros(width, a),
            (JitOp::Multiply | JitOp::Square, 1) => self.byte_product(a, b),
            _ if by.is_some() => self.shift_by(job, width, a, by?),
            (JitOp::ShiftLeft, 1) => self.in_lanes_of_32(VPSLLVD, false, a, b),
            (JitOp::ShiftRight, 1) => self.in_lanes_of_32(VPSRLVD, false, a, b),
            (JitOp::ShiftArithmetic, 1) => self.in_lanes_of_32(VPSRAVD, true, a, b),
            _ => return None,
        })
    }

    fn in_lanes_of_32(&mut self, op: Opcode, signed: bool, a: Value, b: Value) -> Value {
        let (a, b) = (self.resize(a, 1, signed, 4), self.resize(b, 1, false, 4));
        let value = self.body.binary(op, self.body.length(4), a, b);
        self.resize(value, 4, false, 1)
    }

    /// A shift by a constant. Bytes are shifted in pairs, and what came from the neighbour is
    /// cleared.
    fn shift_by(&mut self, job: JitOp, width: usize, a: Value, by: u64) -> Value {
        let bits = u64::from(LoopBody::bits(width));
        let length = self.body.length(width);
        if by >= bits && job != JitOp::ShiftArithmetic {
            return self.body.constant(0, width);
        }
        let by = by.min(bits - 1);
        let by_lanes = |[pairs, singles, doubles]: [Shift; 3]| match width {
            1 | 2 => pairs,
            4 => singles,
            _ => doubles,
        };
        let shift = by_lanes(match job {
            JitOp::ShiftLeft => [VPSLLW, VPSLLD, VPSLLQ],
            JitOp::ShiftArithmetic if width > 1 => [VPSRAW, VPSRAD, VPSRAQ],
            _ => [VPSRLW, VPSRLD, VPSRLQ],
        });
        let shifted = self.body.shift(shift, length, a, u8::try_from(by).unwrap_or(0));
        if width > 1 {
            return shifted;
        }
        let own = if job == JitOp::ShiftLeft { 0xff << by } else { 0xff >> by };
        let own = self.body.constant(own & 0xff, 1);
        let value = self.body.binary(VPANDD, length, shifted, own);
        if job != JitOp::ShiftArithmetic {
            return value;
        }
        // The sign is copied to what is before it.
        let sign = self.body.constant(0x80 >> by, 1);
        let turned = self.body.binary(VPXORD, length, value, sign);
        self.body.binary(VPSUBB, length, turned, sign)
    }

    /// Products of bytes: those at even places and those at odd ones, in lanes of 16 bits.
    fn byte_product(&mut self, a: Value, b: Value) -> Value {
        let length = self.body.length(1);
        let low = self.body.constant(0xff, 2);
        let even = self.body.binary(VPMULLW, length, a, b);
        let even = self.body.binary(VPANDD, length, even, low);
        let upper = self.body.shift(VPSRLW, length, a, 8);
        let lower = if a == b { upper } else { self.body.shift(VPSRLW, length, b, 8) };
        let odd = self.body.binary(VPMULLW, length, upper, lower);
        let odd = self.body.shift(VPSLLW, length, odd, 8);
        self.body.binary(VPORD, length, even, odd)
    }
}
