//! Powers of e, and what is made of them.
//!
//! `single` functions compute a function of an `f32` in double precision; the caller rounds.
use super::polynomial::{SHIFT, between, polynomial};
use std::f64::consts::{LN_2, LOG2_E};

/// ln 2 in two parts; the first has 32 bits.
pub(super) const LN_2_PARTS: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// `(e^r - 1) / r` for `|r| ≤ ln 2 / 2`, to 2^-31 of it.
const SHORT: [f64; 7] = [
    1.0,
    0.500_000_004_722_104_7,
    0.166_666_667_191_122_08,
    0.041_666_352_438_247_99,
    0.008_333_298_432_837_545,
    0.001_394_114_659_780_266,
    0.000_198_993_163_372_191_74,
];

/// `(e^r - 1 - r) / r²` for `|r| ≤ ln 2 / 2`, to 2^-57 of it.
const LONG: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_7,
    0.041_666_666_666_666_67,
    0.008_333_333_333_326_12,
    0.001_388_888_888_888_373_7,
    0.000_198_412_698_748_739_75,
    2.480_158_732_558_584e-5,
    2.755_725_533_255_441e-6,
    2.755_727_359_479_941_3e-7,
    2.510_524_515_390_137e-8,
    2.091_470_706_961_235_5e-9,
];

/// `2^n` for a whole number that has been added to [`SHIFT`].
#[inline(always)]
fn power_of_two(shifted: f64) -> f64 {
    f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// `(2^n, e^r - 1)` with `x = n ln 2 + r`, for `|x| < 700`.
#[inline(always)]
fn split_single(x: f64) -> (f64, f64) {
    let shifted = x * LOG2_E + SHIFT;
    let rest = x - (shifted - SHIFT) * LN_2;
    (power_of_two(shifted), rest * polynomial(rest, &SHORT))
}

/// `e^x` for `|x| < 700`.
#[inline(always)]
pub(super) fn bounded_single(x: f64) -> f64 {
    let (scale, rest) = split_single(x);
    scale + scale * rest
}

/// `e^x - 1` for `|x| < 700`.
#[inline(always)]
fn bounded_minus_one_single(x: f64) -> f64 {
    let (scale, rest) = split_single(x);
    scale * rest + (scale - 1.0)
}

/// The hyperbolic sine.
#[inline(always)]
pub(super) fn sinh_single(x: f64) -> f64 {
    let value = bounded_minus_one_single(between(x.abs(), 0.0, 130.0));
    (0.5 * (value + value / (value + 1.0))).copysign(x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh_single(x: f64) -> f64 {
    let value = bounded_single(between(x.abs(), 0.0, 130.0));
    0.5 * (value + 1.0 / value)
}

/// `(2^a, 2^b, e^r - 1)` with `x = (a + b) ln 2 + r`, for `x` from -746 to 711.
#[inline(always)]
fn split(x: f64) -> (f64, f64, f64) {
    let count = (x * LOG2_E + SHIFT) - SHIFT;
    let rest = (x - count * LN_2_PARTS[0]) - count * LN_2_PARTS[1];
    let first = 0.5 * count + SHIFT;
    let second = (count - (first - SHIFT)) + SHIFT;
    let value = rest + rest * rest * polynomial(rest, &LONG);
    (power_of_two(first), power_of_two(second), value)
}

/// `e^x`.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let (first, second, rest) = split(between(x, -746.0, 711.0));
    (first + first * rest) * second
}

/// `e^x - 1`.
#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let (first, second, rest) = split(between(x, -60.0, 711.0));
    let value = (first * rest + (first - 1.0 / second)) * second;
    if x == 0.0 { x } else { value }
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// The hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let value = exp_m1(between(2.0 * x.abs(), 0.0, 60.0));
    (value / (value + 2.0)).copysign(x)
}
