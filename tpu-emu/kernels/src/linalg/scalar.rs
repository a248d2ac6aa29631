//! Real and complex numbers under one name, for decompositions.
use crate::matmul::accumulate::Work;
use crate::matmul::widen::Widen;
use num_complex::Complex;
use num_traits::{Float, NumAssign};
use std::ops::Neg;

/// A real or complex float.
pub trait Scalar: Work + NumAssign + Neg<Output = Self> {
    /// The type of its parts.
    type Real: Float + Scalar<Real = Self::Real>;

    /// Whether it has no imaginary part.
    const IS_REAL: bool;

    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part.
    fn im(self) -> Self::Real;
    /// From parts; a real number drops the imaginary one.
    fn of(re: Self::Real, im: Self::Real) -> Self;

    /// The conjugate.
    #[must_use]
    #[inline(always)]
    fn conjugate(self) -> Self {
        Self::of(self.re(), -self.im())
    }

    /// The absolute value.
    fn size(self) -> Self::Real {
        self.re().hypot(self.im())
    }

    /// A multiple by a real number.
    #[must_use]
    #[inline(always)]
    fn times(self, factor: Self::Real) -> Self {
        Self::of(self.re() * factor, self.im() * factor)
    }

    /// The quotient, also where the square of the divisor's size is no number of the type.
    #[must_use]
    fn over(self, divisor: Self) -> Self;

    /// Neither infinite nor NaN.
    fn finite(self) -> bool {
        self.re().is_finite() && self.im().is_finite()
    }

    /// Not a number, in all parts.
    fn missing() -> Self {
        Self::of(Self::Real::nan(), Self::Real::nan())
    }
}

/// The power of two that a finite number has at least; 0 for zero.
fn exponent<R: Float>(value: R) -> i32 {
    let (digits, exponent, _) = value.integer_decode();
    digits.checked_ilog2().map_or(0, |bits| i32::from(exponent) + bits.cast_signed())
}

/// A number times a power of two. What leaves the range of the type does so without NaN.
fn scaled<T: Scalar>(z: T, by: i32) -> T {
    let two = T::Real::of_i64(2);
    let most = exponent(T::Real::max_value()) - 1;
    let by = by.clamp(-2 * most, 2 * most);
    z.times(two.powi(by / 2)).times(two.powi(by - by / 2))
}

/// Writes [`Scalar`] for a float and its complex numbers.
///
/// Between `2^-small` and `2^large`, the numbers of a quotient can be squared and multiplied.
macro_rules! scalar {
    ($real:ty, $small:literal, $large:literal) => {
        impl Scalar for $real {
            type Real = Self;

            const IS_REAL: bool = true;

            #[inline(always)]
            fn re(self) -> Self {
                self
            }

            #[inline(always)]
            fn im(self) -> Self {
                0.0
            }

            #[inline(always)]
            fn of(re: Self, _: Self) -> Self {
                re
            }

            fn size(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn over(self, divisor: Self) -> Self {
                self / divisor
            }

            fn finite(self) -> bool {
                self.is_finite()
            }
        }

        impl Scalar for Complex<$real> {
            type Real = $real;

            const IS_REAL: bool = false;

            #[inline(always)]
            fn re(self) -> $real {
                self.re
            }

            #[inline(always)]
            fn im(self) -> $real {
                self.im
            }

            #[inline(always)]
            fn of(re: $real, im: $real) -> Self {
                Self::new(re, im)
            }

            #[inline]
            fn over(self, divisor: Self) -> Self {
                let extent = |z: Self| z.re.abs().max(z.im.abs());
                let (a, b) = (extent(self), extent(divisor));
                let range = <$real>::powi(2.0, -$small)..<$real>::powi(2.0, $large);
                let plain = (a == 0.0 || range.contains(&a)) && range.contains(&b);
                if plain || b == 0.0 || !(self.finite() && divisor.finite()) {
                    return self / divisor;
                }
                let (a_exponent, b_exponent) = (exponent(a), exponent(b));
                let [a, b] =
                    [(self, -a_exponent), (divisor, -b_exponent)].map(|(z, by)| scaled(z, by));
                scaled(a / b, a_exponent - b_exponent)
            }
        }
    };
}

scalar!(f32, 50, 60);
scalar!(f64, 450, 500);
