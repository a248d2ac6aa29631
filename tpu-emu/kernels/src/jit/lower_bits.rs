//! Counts of bits, by sums of ever wider fields.
use super::inst::{LoopBody, Value};
use super::lower::Lowerer;
#[cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "names of instructions, as the manuals have them")
)]
use super::opcodes::*;
use super::target::Target;

impl Lowerer {
    /// How many bits of each integer are set.
    pub(super) fn ones(&mut self, width: usize, value: Value) -> Value {
        if self.target.counts_bits() {
            let lane = width.max(4);
            let value = self.resize(value, width, false, lane);
            let length = self.body.length(lane);
            let count = self.body.unary(by_size(lane, [VPOPCNTD, VPOPCNTQ]), length, value);
            return self.resize(count, lane, false, width);
        }
        let length = self.body.length(width);
        let [pairs, fours, eights] = [0x55, 0x33, 0x0f].map(|bits| self.body.constant(bits, 1));
        // Fields of one byte at most: what a shift brings from the next byte is cleared.
        let odd = self.shifted(width, VPSRLW, value, 1, pairs);
        let value = self.body.binary(VPSUBB, length, value, odd);
        let odd = self.shifted(width, VPSRLW, value, 2, fours);
        let even = self.body.binary(VPANDD, length, value, fours);
        let value = self.body.binary(VPADDB, length, even, odd);
        let upper = self.body.shift(VPSRLW, length, value, 4);
        let value = self.body.binary(VPADDB, length, value, upper);
        let mut value = self.body.binary(VPANDD, length, value, eights);
        let wider = [(VPSRLW, 8), (VPSRLD, 16), (VPSRLQ, 32)];
        for (shift, by) in wider.into_iter().take(width.ilog2() as usize) {
            let upper = self.body.shift(shift, length, value, by);
            value = self.body.binary(VPADDB, length, value, upper);
        }
        if width == 1 {
            return value;
        }
        let lowest = self.body.constant(0xff, width);
        self.body.binary(VPANDD, length, value, lowest)
    }

    fn shifted(&mut self, width: usize, shift: Shift, value: Value, by: u8, kept: Value) -> Value {
        let length = self.body.length(width);
        let shifted = self.body.shift(shift, length, value, by);
        self.body.binary(VPANDD, length, shifted, kept)
    }

    /// How many bits before the first one that is set are not, of integers of up to 32 bits: the
    /// exponent of a float says where that is. A bit behind one that is set is cleared before, so
    /// that nothing is rounded up to the next power.
    pub(super) fn leading_zeros(&mut self, width: usize, value: Value) -> Value {
        let value = self.resize(value, width, false, 4);
        let length = self.body.length(4);
        if self.target == Target::Avx512 {
            let before = self.body.constant(32 - u64::from(LoopBody::bits(width)), 4);
            let count = self.body.unary(VPLZCNTD, length, value);
            let count = self.body.binary(VPSUBD, length, count, before);
            return self.resize(count, 4, false, width);
        }
        let behind = self.body.shift(VPSRLD, length, value, 1);
        let both = self.body.binary(VPANDD, length, value, behind);
        let first = self.body.binary(VPXORD, length, value, both);
        let float = self.body.unary(VCVTDQ2PS, length, first);
        let exponent = self.body.shift(VPSRLD, length, float, 23);
        // The exponent of 1 is 127; with the sign before it, it is larger than any other.
        let bits = LoopBody::bits(width);
        let [most, zero, all] =
            [127 + u64::from(bits) - 1, 0, bits.into()].map(|bits| self.body.constant(bits, 4));
        let count = self.body.binary(VPSUBD, length, most, exponent);
        let count = self.body.binary(VPMAXSD, length, count, zero);
        let count = self.body.binary(VPMINSD, length, count, all);
        self.resize(count, 4, false, width)
    }
}
