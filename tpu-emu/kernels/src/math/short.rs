//! Functions of single precision that are computed in it: twice as many numbers in a vector as
//! in double precision, and no conversions.
//!
//! A result is a large part and a small one, each nearly exact, and their sum is the rounding
//! that counts. Where that would cost more than it gains (`tanh`, `logistic`, `erf`, `erf_inv`)
//! there is a quotient of numbers that are rounded themselves.
//!
//! Products are fused with the sums that they go into ([`Fused`]), but those of `erf`, whose
//! coefficients were found for steps that are rounded.

use super::polynomial::{between, horner};
use crate::simd::Fused;

/// Added to a number below 2^22, it rounds to a whole number, ties to even, that the lowest bits
/// of the sum hold.
const SHIFT: f32 = 12_582_912.0;

/// [`SHIFT`], with twice the bias of an exponent in its lowest bits.
const SHIFT_TWO_BIASES: f32 = SHIFT + 254.0;

/// ln 2 in two parts; the first has 16 bits, so its product with an exponent is exact.
const LN_2_PARTS: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];

/// `(e^r - 1 - r) / r²` for `|r| ≤ ln 2 / 2`, to 2^-26 of `e^r - 1`.
const EXP: [f32; 5] = [0.499_999_97, 0.166_665_45, 0.041_667_446, 0.008_366_447, 0.001_386_984_7];

/// `(e^r - 1 - r) / r²` likewise, to 2^-31.
const EXP_LONG: [f32; 6] =
    [0.5, 0.166_666_66, 0.041_666_493, 0.008_333_543, 0.001_393_238_1, 0.000_197_644_14];

/// `(ln (1 + f) - f + f²/2) / f³` for `f` from `√½ - 1` to `√2 - 1`, to 2^-27 of the logarithm.
const LOG: [f32; 8] = [
    0.333_333_3,
    -0.250_008_2,
    0.200_012_42,
    -0.166_234_09,
    0.142_015_8,
    -0.131_596_1,
    0.127_622_17,
    -0.076_364_39,
];

/// `erf(x) / x` by `x²` for `|x| ≤ 3.85`, to 2^-25 of it: the numerator.
const ERF_UP: [f32; 6] =
    [1.552_918_8, 0.258_594_93, 0.072_224_975, 0.005_056_321_6, 0.000_393_158_84, 2.901_459_3e-6];

/// The denominator.
const ERF_DOWN: [f32; 6] =
    [1.376_238_5, 0.687_919_3, 0.155_693_62, 0.020_347_78, 0.001_576_51, 5.330_414_6e-5];

/// From here on the quotient is 1, which the function is less 4.3 units in the last place.
const ERF_END: f32 = 3.643_880_1;

/// `erf⁻¹(x) / x` by `-ln (1 - x²)` below 16.7, to 2^-25 of it: the numerator.
const ERF_INV_UP: [f32; 6] =
    [0.886_226_95, 0.307_696_34, 0.059_894_916, 0.007_808_08, 0.000_646_936_3, 2.378_448e-5];

/// The denominator.
const ERF_INV_DOWN: [f32; 6] =
    [1.0, 0.085_399_4, 0.032_192_28, 0.001_908_152_2, 0.000_177_564_83, 1.250_969e-6];

/// The polynomial with these coefficients, the constant first.
#[inline(always)]
fn polynomial<F: Fused, const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
    horner(coefficients, |sum, next| F::mul_add(sum, x, next))
}

/// The polynomial with these coefficients, by pairs: fewer roundings one after the other.
#[inline(always)]
fn by_pairs(x: f32, c: &[f32; 6]) -> f32 {
    let square = x * x;
    (c[0] + c[1] * x) + square * ((c[2] + c[3] * x) + square * (c[4] + c[5] * x))
}

/// `x = n ln 2 + r`: bits that hold `n + 254`, and `e^r - 1` as a large part, which is exact, and
/// a small one.
#[inline(always)]
fn split<F: Fused, const N: usize>(x: f32, coefficients: &[f32; N]) -> (u32, f32, f32) {
    let shifted = F::mul_add(x, std::f32::consts::LOG2_E, SHIFT_TWO_BIASES);
    let count = shifted - SHIFT_TWO_BIASES;
    let large = F::mul_add(count, -LN_2_PARTS[0], x);
    let low = count * LN_2_PARTS[1];
    let rest = large - low;
    let small = F::mul_add(rest * rest, polynomial::<F, N>(rest, coefficients), -low);
    (shifted.to_bits(), large, small)
}

/// `2^a` and `2^b` with `a + b = n`, for the bits that [`split`] gives.
#[inline(always)]
fn halves(bits: u32) -> (f32, f32) {
    let first = bits >> 1;
    (f32::from_bits(first << 23), f32::from_bits(bits.wrapping_sub(first) << 23))
}

/// `e^x` for `x` from -104.5 to 89.
#[inline(always)]
fn bounded<F: Fused>(x: f32) -> f32 {
    let (bits, large, small) = split::<F, _>(x, &EXP);
    let (first, second) = halves(bits);
    F::mul_add(large + small, first, first) * second
}

/// `e^x`.
#[inline(always)]
pub(super) fn exp<F: Fused>(x: f32) -> f32 {
    bounded::<F>(between(x, -104.5, 89.0))
}

/// `e^x - 1`.
#[inline(always)]
pub(super) fn exp_m1<F: Fused>(x: f32) -> f32 {
    let (bits, large, small) = split::<F, _>(between(x, -20.0, 89.0), &EXP_LONG);
    let (first, second) = halves(bits);
    // The reciprocal of a power of two.
    let one = f32::from_bits((254_u32 << 23).wrapping_sub(second.to_bits()));
    let less = first - one;
    let part = first * large;
    let sum = less + part;
    let lost = part - (sum - less);
    ((sum + F::mul_add(first, small, lost)) * second).copysign(x)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(super) fn logistic<F: Fused>(x: f32) -> f32 {
    let size = -x.abs();
    let power = bounded::<F>(if size < -104.5 { -104.5 } else { size });
    (if x < 0.0 { power } else { 1.0 }) / (1.0 + power)
}

/// The hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh<F: Fused>(x: f32) -> f32 {
    let double = -2.0 * x.abs();
    let (bits, large, small) = split::<F, _>(if double < -20.0 { -20.0 } else { double }, &EXP);
    // Of the two biases one is too many.
    let scale = f32::from_bits(bits.wrapping_sub(127) << 23);
    // One less the power of e.
    let value = F::mul_add(-scale, large + small, 1.0 - scale);
    (value / (2.0 - value)).copysign(x)
}

/// The error function.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let x = between(x, -ERF_END, ERF_END);
    let square = x * x;
    let quotient = by_pairs(square, &ERF_UP) / by_pairs(square, &ERF_DOWN);
    between(x * quotient, -1.0, 1.0)
}

/// `(k, 2^k, m)` with `x = 2^k m` and `m` from `√½` to `√2`, for a normal `x`; the power as what
/// it adds to the bits of `m`.
#[inline(always)]
fn parts(x: f32) -> (f32, u32, f32) {
    const HALF_ROOT: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let bits = x.to_bits();
    let moved = bits.wrapping_sub(HALF_ROOT);
    let above = moved & 0xff80_0000;
    (exponent(moved), above, f32::from_bits(bits.wrapping_sub(above)))
}

/// The number in the upper nine bits.
#[expect(clippy::cast_precision_loss, reason = "nine bits")]
#[inline(always)]
fn exponent(bits: u32) -> f32 {
    (bits.cast_signed() >> 23) as f32
}

/// The values that a logarithm has outside of the positive finite numbers.
#[inline(always)]
fn with_ends(x: f32, value: f32) -> f32 {
    let value = if x == 0.0 { f32::NEG_INFINITY } else { value };
    let value = if x == f32::INFINITY { x } else { value };
    if x >= 0.0 { value } else { f32::NAN }
}

/// `k ln 2 + ln (1 + f) + more` for `f` from `√½ - 1` to `√2 - 1`.
#[inline(always)]
fn sum_of_logs<F: Fused>(k: f32, f: f32, more: f32) -> f32 {
    let square = f * f;
    let rest = F::mul_add(-0.5, square, F::mul_add(k, LN_2_PARTS[1], more));
    let small = F::mul_add(f * square, polynomial::<F, _>(f, &LOG), rest);
    let large = k * LN_2_PARTS[0];
    let sum = large + f;
    sum + ((f - (sum - large)) + small)
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn log<F: Fused>(x: f32) -> f32 {
    // Subnormal numbers are scaled by 2^23 first.
    let tiny = x < f32::MIN_POSITIVE;
    let (k, _, m) = parts(if tiny { x * 8_388_608.0 } else { x });
    let k = if tiny { k - 23.0 } else { k };
    with_ends(x, sum_of_logs::<F>(k, m - 1.0, 0.0))
}

/// `ln (1 + x)`.
#[inline(always)]
pub(super) fn log_1p<F: Fused>(x: f32) -> f32 {
    let whole = 1.0 + x;
    let back = whole - 1.0;
    // What the sum has lost, as a part of the power of two that is taken out.
    let lost = (1.0 - (whole - back)) + (x - back);
    let (k, above, m) = parts(whole);
    let lost = 0.5 * lost * f32::from_bits(0x4000_0000_u32.wrapping_sub(above));
    let f = m - 1.0;
    let sum = f + lost;
    let value = sum_of_logs::<F>(k, sum, lost - (sum - f)).copysign(x);
    with_ends(whole, value)
}

/// The number whose error function is `x`; NaN past ±1.
#[inline(always)]
pub(super) fn erf_inv<F: Fused>(x: f32) -> f32 {
    let product = (1.0 - x) * (1.0 + x);
    let (k, _, m) = parts(product);
    let size = -sum_of_logs::<F>(k, m - 1.0, 0.0);
    let value = x * polynomial::<F, _>(size, &ERF_INV_UP) / polynomial::<F, _>(size, &ERF_INV_DOWN);
    let value = if product > 0.0 { value } else { f32::NAN };
    if x.abs() == 1.0 { f32::INFINITY.copysign(x) } else { value }
}
