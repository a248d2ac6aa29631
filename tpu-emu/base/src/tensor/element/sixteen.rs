//! The two floats of 16 bits from wider ones and back, without branches.
use super::{bf16, f16};

const INFINITY: u32 = f32::INFINITY.to_bits();

/// The bits of an absolute value, and the sign's.
#[inline(always)]
fn split(x: f32) -> (u32, u32) {
    (x.to_bits() & !(1 << 31), x.to_bits() & 1 << 31)
}

#[expect(clippy::cast_possible_truncation, reason = "the upper half is empty")]
#[inline(always)]
fn low(bits: u32) -> u16 {
    bits as u16
}

/// The nearest number, ties to even; NaN keeps its sign and upper bits.
#[inline(always)]
pub(super) fn bf16_of(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x0040;
    bf16::from_bits(low(if split(x).0 > INFINITY { nan } else { rounded }))
}

/// The number, exactly.
#[inline(always)]
pub(super) fn of_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// The nearest number, ties to even; NaN keeps its sign and upper bits.
#[inline(always)]
pub(super) fn f16_of(x: f32) -> f16 {
    // The smallest normal number, and the smallest that is rounded to infinity.
    const NORMAL: u32 = (127 - 14) << 23;
    const OVERFLOW: u32 = (127 + 16) << 23;
    let (size, sign) = split(x);
    let normal = (size.wrapping_add(0xfff + (size >> 13 & 1)) >> 13).wrapping_sub((127 - 15) << 10);
    // The last digit of a sum with one half is that of a subnormal number.
    let subnormal = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let finite = if size < NORMAL { subnormal } else { normal };
    let bounded = if size >= OVERFLOW { 0x7c00 } else { finite };
    let nan = 0x7e00 | (size >> 13 & 0x03ff);
    f16::from_bits(low(sign >> 16 | if size > INFINITY { nan } else { bounded }))
}

/// The number, exactly.
#[inline(always)]
pub(super) fn of_f16(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let (size, sign) = (bits & 0x7fff, (bits & 0x8000) << 16);
    let normal = (size << 13).wrapping_add((127 - 15) << 23);
    // 2^-14 with the digits of a subnormal number, less 2^-14.
    let base = (127 - 14) << 23;
    let subnormal = (f32::from_bits(base | size << 13) - f32::from_bits(base)).to_bits();
    let special = INFINITY | size << 13 | if size > 0x7c00 { 1 << 22 } else { 0 };
    let finite = if size < 0x0400 { subnormal } else { normal };
    f32::from_bits(sign | if size < 0x7c00 { finite } else { special })
}

/// A number of single precision that rounds to any shorter format as `x` does: the one of its
/// neighbours that is odd, where `x` lies between two.
#[inline(always)]
pub(super) fn odd(x: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "what is lost makes the result odd")]
    let near = x as f32;
    let wide = f64::from(near);
    let down = near.to_bits() - u32::from(wide.abs() > x.abs());
    f32::from_bits(down | u32::from(wide != x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every exponent and sign.
    fn samples() -> impl Iterator<Item = f32> {
        let spread = (0..u32::MAX / 49_999).map(|i| f32::from_bits(i * 49_999));
        // Ties, and their neighbours.
        let halves = (0..=u16::MAX).map(f16::from_bits).filter(|half| half.is_finite());
        let ties = halves.flat_map(|half| {
            let tie = half.to_f32().to_bits() + (1 << 12);
            [tie - 1, tie, tie + 1].map(f32::from_bits)
        });
        spread.chain(ties)
    }

    #[test]
    fn numbers_are_rounded_as_the_library_does() {
        for x in samples() {
            assert_eq!(bf16_of(x).to_bits(), bf16::from_f32(x).to_bits(), "{x:e}");
            assert_eq!(f16_of(x).to_bits(), f16::from_f32(x).to_bits(), "{x:e}");
        }
    }

    #[test]
    fn numbers_are_read_as_the_library_does() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert_eq!(of_f16(half).to_bits(), half.to_f32().to_bits(), "{bits:#x}");
            let read = of_bf16(brain);
            assert!(read == brain.to_f32() || read.is_nan() && brain.is_nan(), "{bits:#x}");
        }
    }

    /// Whether the finite number with these bits is the nearest, of two the even one.
    fn nearest(x: f64, bits: u16, value: fn(u16) -> f64) -> bool {
        let distance = |bits: u16| (value(bits) - x).abs();
        let not_farther = |other: u16| {
            let [here, there] = [distance(bits), distance(other)];
            here < there || here == there && bits & 1 == 0 || !value(other).is_finite()
        };
        bits & 0x7fff == 0 || not_farther(bits - 1) && not_farther(bits + 1)
    }

    #[test]
    fn double_precision_is_rounded_once() {
        for x in samples().filter(|x| x.abs() < 1e38).map(f64::from) {
            for x in [x, x * (1.0 + f64::EPSILON), x * (1.0 - f64::EPSILON), x * 0.3] {
                let brain = bf16_of(odd(x)).to_bits();
                assert!(nearest(x, brain, |bits| of_bf16(bf16::from_bits(bits)).into()), "{x:e}");
                let half = f16_of(odd(x));
                let near = nearest(x, half.to_bits(), |bits| of_f16(f16::from_bits(bits)).into());
                assert!(if half.is_finite() { near } else { x.abs() >= 65_520.0 }, "{x:e}");
            }
        }
        assert!(bf16_of(odd(f64::NAN)).is_nan());
        assert_eq!(f16_of(odd(-1e300)), f16::NEG_INFINITY);
        // Between a tie and the next number of single precision.
        assert_eq!(bf16_of(odd(1.003_906_250_000_1)).to_bits(), 0x3f81);
        assert_eq!(bf16_of(odd(1.003_906_25)).to_bits(), 0x3f80);
    }
}
