//! The logarithm of the gamma function and its derivative, of single precision.
use super::log::{log_single, positive_long};
use super::polynomial::polynomial;
use crate::math::special::DIGAMMA;

/// Numbers below are moved up by it, where the series below holds.
const MOVED: f64 = 8.0;

/// Stirling's series of `ln Γ(z)` by `1 / z²`, over `1 / z`.
const STIRLING: [f64; 7] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
];

/// `ln |Γ(x)|` from zero on.
#[inline(always)]
pub(super) fn lgamma_single(x: f64) -> f64 {
    const HALF_LOG_TURN: f64 = 0.918_938_533_204_672_7;
    let small = x < MOVED;
    let pairs =
        (x * (x + 7.0), (x + 1.0) * (x + 6.0), (x + 2.0) * (x + 5.0), (x + 3.0) * (x + 4.0));
    let product = (pairs.0 * pairs.1) * (pairs.2 * pairs.3);
    let log = log_single(product);
    let below = if small { log } else { 0.0 };
    let z = if small { x + MOVED } else { x };
    let inverse = 1.0 / z;
    let series = inverse * polynomial(inverse * inverse, &STIRLING);
    let value = (z - 0.5) * positive_long(z) - z + (HALF_LOG_TURN + series) - below;
    let value = if x == 1.0 || x == 2.0 { 0.0 } else { value };
    if x < f64::INFINITY { value } else { x }
}

/// Whether a number is negative, or so near to 1 or 2, where the sum of [`lgamma_single`] ends in
/// nothing, that little of it is right.
#[inline(always)]
pub(super) fn is_far(x: f64) -> bool {
    const NEAR: f64 = 0.0625;
    x < 0.0 || (x - 1.0).abs() < NEAR || (x - 2.0).abs() < NEAR
}

/// The derivative of `ln Γ(x)` above zero; NaN at zero.
#[inline(always)]
pub(super) fn digamma_single(x: f64) -> f64 {
    let small = x < MOVED;
    let mut below = 0.0;
    let mut step = 0.0;
    while step < MOVED {
        below += 1.0 / (x + step);
        step += 1.0;
    }
    let below = if small { below } else { 0.0 };
    let z = if small { x + MOVED } else { x };
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    let value = positive_long(z) - 0.5 * inverse - square * polynomial(square, &DIGAMMA) - below;
    let value = if x < f64::INFINITY { value } else { x };
    if x == 0.0 { f64::NAN } else { value }
}
