//! Logarithms, and what is made of them.
use super::exp::{LN_2_PARTS, bounded_single};
use super::polynomial::{SHIFT, between, polynomial};
use std::f64::consts::LN_2;

/// `2 atanh(s) / s` by `s²` for `s ≤ (√2 - 1) / (√2 + 1)`, to 2^-37 of it.
const SHORT: [f64; 5] = [
    2.000_000_000_008_363_5,
    0.666_666_652_469_108_1,
    0.400_003_847_901_147_9,
    0.285_350_435_631_323_6,
    0.236_165_043_197_188_73,
];

/// `(2 atanh(s) / s - 2) / s²` by `s²`, to 2^-50 of it.
const LONG: [f64; 7] = [
    0.666_666_666_666_667,
    0.399_999_999_998_994_44,
    0.285_714_286_260_032_7,
    0.222_222_111_302_598_78,
    0.181_828_894_556_749_47,
    0.153_317_106_182_107_73,
    0.146_165_854_248_886_23,
];

/// `(k, m)` with `x = 2^k m` and `m` from `√½` to `√2`, for a normal `x`.
#[inline(always)]
fn parts(x: f64) -> (f64, f64) {
    const HALF_ROOT: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const BIAS: u64 = 1024;
    // 2^52, whose lowest bits hold a whole number that is added.
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let moved = x.to_bits().wrapping_sub(HALF_ROOT).wrapping_add(BIAS << 52);
    let exponent = f64::from_bits(moved >> 52 | TWO_52.to_bits()) - (TWO_52 + 1024.0);
    let above = (moved & 0xfff0_0000_0000_0000).wrapping_sub(BIAS << 52);
    (exponent, f64::from_bits(x.to_bits().wrapping_sub(above)))
}

/// The values that a logarithm has outside of the positive finite numbers.
#[inline(always)]
fn with_ends(x: f64, value: f64) -> f64 {
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    let value = if x == f64::INFINITY { x } else { value };
    if x >= 0.0 { value } else { f64::NAN }
}

/// `ln x` for a normal positive `x`, to about 2^-37 of it.
#[inline(always)]
fn positive_short(x: f64) -> f64 {
    let (k, m) = parts(x);
    let s = (m - 1.0) / (m + 1.0);
    k * LN_2 + s * polynomial(s * s, &SHORT)
}

/// `ln x` for a normal positive `x`, to about 2^-50 of it.
#[inline(always)]
pub(super) fn positive_long(x: f64) -> f64 {
    let (k, m) = parts(x);
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    k * LN_2 + (2.0 * s + s * square * polynomial(square, &LONG))
}

/// `k ln 2 + ln m + correction` for `m` from `√½` to `√2`.
#[inline(always)]
fn sum(k: f64, m: f64, correction: f64) -> f64 {
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let square = s * s;
    let half = 0.5 * f * f;
    let rest = square * polynomial(square, &LONG);
    let low = s * (half + rest) + (k * LN_2_PARTS[1] + correction);
    k * LN_2_PARTS[0] - ((half - low) - f)
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn log_single(x: f64) -> f64 {
    with_ends(x, positive_short(x))
}

/// `ln (1 + x)`.
#[inline(always)]
pub(super) fn log_1p_single(x: f64) -> f64 {
    let sum = 1.0 + x;
    // What the sum has lost.
    let lost = x - (sum - 1.0);
    let value = with_ends(sum, positive_short(sum) + lost / sum);
    if x == 0.0 { x } else { value }
}

/// The inverse hyperbolic sine.
#[inline(always)]
pub(super) fn asinh_single(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let value = log_1p_single(a + square / (1.0 + (1.0 + square).sqrt())).copysign(x);
    if a < f64::INFINITY { value } else { x }
}

/// The inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub(super) fn acosh_single(x: f64) -> f64 {
    let above = x - 1.0;
    let value = log_1p_single(above + (above * (x + 1.0)).sqrt());
    if x >= 1.0 { value } else { f64::NAN }
}

/// The inverse hyperbolic tangent.
#[inline(always)]
pub(super) fn atanh_single(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * log_1p_single(2.0 * a / (1.0 - a))).copysign(x)
}

/// The cube root.
#[inline(always)]
pub(super) fn cbrt_single(x: f64) -> f64 {
    let a = x.abs();
    let near = bounded_single(positive_short(a) * (1.0 / 3.0));
    let root = near - (near * near * near - a) / (3.0 * near * near);
    if a > 0.0 && a < f64::INFINITY { root.copysign(x) } else { x }
}

/// `x^y`.
#[inline(always)]
pub(super) fn pow_single(x: f64, y: f64) -> f64 {
    let a = x.abs();
    let exponent = y * with_ends(a, positive_long(a));
    let value = bounded_single(between(exponent, -150.0, 130.0));
    // Whether the exponent is a whole number, and an odd one.
    let size = y.abs();
    let bounded = if size < 1e9 { size } else { 0.0 };
    let whole = round_even(bounded) == bounded;
    let half = 0.5 * bounded;
    let odd = whole && round_even(half) != half;
    let value = if x.to_bits() >> 63 != 0 && odd { -value } else { value };
    let value = if x < 0.0 && !whole && a < f64::INFINITY { f64::NAN } else { value };
    let value = if a == 1.0 && size == f64::INFINITY { 1.0 } else { value };
    if x == 1.0 || y == 0.0 { 1.0 } else { value }
}

/// The nearest whole number of a number below 2^51.
#[inline(always)]
fn round_even(x: f64) -> f64 {
    (x + SHIFT) - SHIFT
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    // Subnormal numbers are scaled by 2^54 first.
    const TINY: f64 = f64::MIN_POSITIVE;
    let small = x < TINY;
    let scaled = if small { x * 18_014_398_509_481_984.0 } else { x };
    let (k, m) = parts(scaled);
    let k = if small { k - 54.0 } else { k };
    with_ends(x, sum(k, m, 0.0))
}

/// `ln (1 + x)`.
#[inline(always)]
pub(super) fn log_1p(x: f64) -> f64 {
    let whole = 1.0 + x;
    let lost = if x < 1.0 { x - (whole - 1.0) } else { 1.0 - (whole - x) };
    let (k, m) = parts(whole);
    let value = with_ends(whole, sum(k, m, lost / whole));
    if x == 0.0 { x } else { value }
}
