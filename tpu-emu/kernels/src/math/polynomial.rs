//! Pieces of the functions: code without branches that becomes vectors of any width.

/// Added to a number below 2^51, it rounds to a whole number, ties to even, that the lowest bits
/// of the sum hold.
pub(super) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The polynomial with these coefficients, the constant first.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut at = N - 1;
    while at > 0 {
        at -= 1;
        sum = sum * x + coefficients[at];
    }
    sum
}

/// `x` within bounds; NaN stays.
#[inline(always)]
pub(super) fn between(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}
