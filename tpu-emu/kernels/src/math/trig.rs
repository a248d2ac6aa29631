//! Sines, cosines, tangents and their inverses.
use super::polynomial::{SHIFT, polynomial};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, PI};

/// π/2 in three parts; the first two have 33 bits each.
const QUARTER: [f64; 3] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];

/// Up to here a number less a multiple of π/2 is what the parts give.
pub(super) const NEAR: f64 = 1e6;

/// Whether a number is past [`NEAR`] ones.
#[inline(always)]
pub(super) fn is_far(x: f64) -> bool {
    x.abs() > NEAR
}

/// `sin(r) / r` by `r²` for `|r| ≤ π/4`, to 2^-37 of it.
const SINE_SHORT: [f64; 5] = [
    0.999_999_999_995_670_9,
    -0.166_666_666_315_771_68,
    0.008_333_328_781_097_757,
    -0.000_198_392_018_004_363_14,
    2.717_341_870_116_158e-6,
];

/// `cos(r)` likewise, to 2^-43 of it.
const COSINE_SHORT: [f64; 6] = [
    0.999_999_999_999_944_4,
    -0.499_999_999_993_507_9,
    0.041_666_666_543_862_2,
    -0.001_388_888_039_123_56,
    2.479_892_822_582_362_3e-5,
    -2.717_339_169_572_195e-7,
];

/// `(sin(r) / r - 1) / r²` by `r²`, to 2^-54 of it.
const SINE: [f64; 7] = [
    -0.166_666_666_666_666_66,
    0.008_333_333_333_333_331,
    -0.000_198_412_698_412_650_63,
    2.755_731_921_933_731_2e-6,
    -2.505_210_623_180_283_7e-8,
    1.605_853_151_679_775_8e-10,
    -7.586_691_094_197_958e-13,
];

/// `(cos(r) - 1 + r²/2) / r⁴` by `r²`, to 2^-54 of it.
const COSINE: [f64; 7] = [
    0.041_666_666_666_666_664,
    -0.001_388_888_888_888_888_7,
    2.480_158_730_158_464_5e-5,
    -2.755_731_922_140_179e-7,
    2.087_675_579_072_196_3e-9,
    -1.147_046_083_079_530_4e-11,
    4.745_868_553_081_665_6e-14,
];

/// `asin(s) / s` by `s²` for `s ≤ ½`, to 2^-43 of it.
const ARCSINE: [f64; 10] = [
    0.999_999_999_999_949_3,
    0.166_666_666_707_248_64,
    0.074_999_994_673_328_99,
    0.044_643_126_986_807_71,
    0.030_375_044_824_850_72,
    0.022_472_654_485_734_003,
    0.016_472_553_768_643_084,
    0.018_639_289_707_947_67,
    -0.002_858_129_217_565_132_6,
    0.031_945_676_588_967_84,
];

/// `atan(t) / t` by `t²` for `t ≤ tan(π/8)`, to 2^-40 of it.
const ARCTANGENT: [f64; 8] = [
    0.999_999_999_999_244_2,
    -0.333_333_332_768_860_8,
    0.199_999_930_497_624_35,
    -0.142_853_864_071_861_2,
    0.111_034_542_364_912_74,
    -0.089_925_280_793_626_37,
    0.069_740_840_475_952_03,
    -0.037_653_073_690_567_94,
];

/// A number less a multiple of π/2: the multiple's lowest bits, the rest, and what is missing
/// from the rest.
#[inline(always)]
fn reduce(x: f64) -> (u64, f64, f64) {
    let shifted = x * FRAC_2_PI + SHIFT;
    let count = shifted - SHIFT;
    // Exact, as both have few bits.
    let high = x - count * QUARTER[0];
    let part = count * QUARTER[1];
    let middle = high - part;
    let lost = (high - middle) - part;
    let part = count * QUARTER[2];
    let rest = middle - part;
    (shifted.to_bits(), rest, ((middle - rest) - part) + lost)
}

/// `value`, negated where a bit is set.
#[inline(always)]
fn negated(value: f64, bit: u64) -> f64 {
    f64::from_bits(value.to_bits() ^ (bit << 63))
}

/// The sine and the cosine of what [`reduce`] leaves.
#[inline(always)]
fn both_single(rest: f64) -> (f64, f64) {
    let square = rest * rest;
    (rest * polynomial(square, &SINE_SHORT), polynomial(square, &COSINE_SHORT))
}

/// The sine for [`NEAR`] numbers.
#[inline(always)]
pub(super) fn sin_single(x: f64) -> f64 {
    let (quarters, rest, _) = reduce(x);
    let (sine, cosine) = both_single(rest);
    let value = negated(if quarters & 1 == 0 { sine } else { cosine }, quarters >> 1 & 1);
    if x == 0.0 { x } else { value }
}

/// The cosine for [`NEAR`] numbers.
#[inline(always)]
pub(super) fn cos_single(x: f64) -> f64 {
    let (quarters, rest, _) = reduce(x);
    let (sine, cosine) = both_single(rest);
    let value = if quarters & 1 == 0 { cosine } else { sine };
    negated(value, (quarters ^ quarters >> 1) & 1)
}

/// The tangent for [`NEAR`] numbers.
#[inline(always)]
pub(super) fn tan_single(x: f64) -> f64 {
    let (quarters, rest, _) = reduce(x);
    let (sine, cosine) = both_single(rest);
    let turned = quarters & 1 == 1;
    let (up, down) = if turned { (cosine, -sine) } else { (sine, cosine) };
    if x == 0.0 { x } else { up / down }
}

/// `asin(s)` for `s` from 0 to ½.
#[inline(always)]
fn small_arcsine(s: f64) -> f64 {
    s * polynomial(s * s, &ARCSINE)
}

/// The arcsine.
#[inline(always)]
pub(super) fn asin_single(x: f64) -> f64 {
    let a = x.abs();
    let large = a > 0.5;
    let value = small_arcsine(if large { (0.5 * (1.0 - a)).sqrt() } else { a });
    (if large { FRAC_PI_2 - 2.0 * value } else { value }).copysign(x)
}

/// The arccosine.
#[inline(always)]
pub(super) fn acos_single(x: f64) -> f64 {
    let a = x.abs();
    let large = a > 0.5;
    let value = small_arcsine(if large { (0.5 * (1.0 - a)).sqrt() } else { a });
    let value = if large { 2.0 * value } else { FRAC_PI_2 - value };
    // The angle of the opposite number is the rest of half a turn.
    if x < 0.0 { PI - value } else { value }
}

/// The angle of the point (x, y).
#[inline(always)]
pub(super) fn atan2_single(y: f64, x: f64) -> f64 {
    const EIGHTH_TANGENT: f64 = std::f64::consts::SQRT_2 - 1.0;
    let (a, b) = (y.abs(), x.abs());
    let infinite = a == f64::INFINITY && b == f64::INFINITY;
    let (a, b) = if infinite { (1.0, 1.0) } else { (a, b) };
    let steep = a > b;
    let (low, high) = if steep { (b, a) } else { (a, b) };
    // Past π/8 the angle from π/4 is taken.
    let middle = low > high * EIGHTH_TANGENT && high < f64::INFINITY;
    let (up, down) = if middle { (low - high, low + high) } else { (low, high) };
    let tangent = if up == 0.0 && down == 0.0 { 0.0 } else { up / down };
    let angle = tangent * polynomial(tangent * tangent, &ARCTANGENT);
    let angle = if middle { FRAC_PI_4 + angle } else { angle };
    let angle = if steep { FRAC_PI_2 - angle } else { angle };
    let angle = if x.to_bits() >> 63 != 0 { PI - angle } else { angle };
    let angle = angle.copysign(y);
    if x.is_nan() || y.is_nan() { f64::NAN } else { angle }
}

/// The arctangent.
#[inline(always)]
pub(super) fn atan_single(x: f64) -> f64 {
    atan2_single(x, 1.0)
}

/// The sine of what [`reduce`] leaves.
#[inline(always)]
fn reduced_sine(rest: f64, missing: f64) -> f64 {
    let square = rest * rest;
    let cube = square * rest;
    rest + (missing * (1.0 - 0.5 * square) + cube * polynomial(square, &SINE))
}

/// The cosine of what [`reduce`] leaves.
#[inline(always)]
fn reduced_cosine(rest: f64, missing: f64) -> f64 {
    let square = rest * rest;
    let half = 0.5 * square;
    let sum = 1.0 - half;
    let small = square * square * polynomial(square, &COSINE) - rest * missing;
    sum + (((1.0 - sum) - half) + small)
}

/// The sine for [`NEAR`] numbers.
#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    let (quarters, rest, missing) = reduce(x);
    let even = quarters & 1 == 0;
    let (sine, cosine) = (reduced_sine(rest, missing), reduced_cosine(rest, missing));
    let value = negated(if even { sine } else { cosine }, quarters >> 1 & 1);
    if x == 0.0 { x } else { value }
}

/// The cosine for [`NEAR`] numbers.
#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    let (quarters, rest, missing) = reduce(x);
    let even = quarters & 1 == 0;
    let (sine, cosine) = (reduced_sine(rest, missing), reduced_cosine(rest, missing));
    negated(if even { cosine } else { sine }, (quarters ^ quarters >> 1) & 1)
}
