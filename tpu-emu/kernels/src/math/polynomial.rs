//! Pieces of the functions: code without branches that becomes vectors of any width.

use std::ops::{Add, Mul};

/// Added to a number below 2^51, it rounds to a whole number, ties to even, that the lowest bits
/// of the sum hold.
pub(super) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The polynomial with these coefficients, the constant first.
#[inline(always)]
pub(super) fn polynomial<T, const N: usize>(x: T, coefficients: &[T; N]) -> T
where
    T: Copy + Add<Output = T> + Mul<Output = T>,
{
    horner(coefficients, |sum, next| sum * x + next)
}

/// A polynomial by `step`, which multiplies a sum with the variable and adds the next coefficient.
#[inline(always)]
pub(super) fn horner<T: Copy, const N: usize>(
    coefficients: &[T; N],
    step: impl Fn(T, T) -> T,
) -> T {
    let mut sum = coefficients[N - 1];
    let mut at = N - 1;
    while at > 0 {
        at -= 1;
        sum = step(sum, coefficients[at]);
    }
    sum
}

/// `x` within bounds; NaN stays.
#[inline(always)]
pub(super) fn between<T: PartialOrd>(x: T, low: T, high: T) -> T {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}
