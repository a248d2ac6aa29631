//! Real and complex numbers under one name, for decompositions.
use super::work::Work;
use num_complex::Complex;
use num_traits::{Float, NumAssign};
use std::ops::Neg;

/// A real or complex float.
pub trait Scalar: Work + NumAssign + Neg<Output = Self> {
    /// The type of its parts.
    type Real: Float + Scalar<Real = Self::Real>;

    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part.
    fn im(self) -> Self::Real;
    /// From parts; a real number drops the imaginary one.
    fn of(re: Self::Real, im: Self::Real) -> Self;

    /// The conjugate.
    #[must_use]
    fn conjugate(self) -> Self {
        Self::of(self.re(), -self.im())
    }

    /// The absolute value.
    fn size(self) -> Self::Real {
        self.re().hypot(self.im())
    }

    /// A multiple by a real number.
    #[must_use]
    fn times(self, factor: Self::Real) -> Self {
        Self::of(self.re() * factor, self.im() * factor)
    }

    /// Neither infinite nor NaN.
    fn finite(self) -> bool {
        self.re().is_finite() && self.im().is_finite()
    }

    /// Not a number, in all parts.
    fn missing() -> Self {
        Self::of(Self::Real::nan(), Self::Real::nan())
    }
}

/// Writes [`Scalar`] for a float and its complex numbers.
macro_rules! scalar {
    ($real:ty) => {
        impl Scalar for $real {
            type Real = Self;

            fn re(self) -> Self {
                self
            }

            fn im(self) -> Self {
                0.0
            }

            fn of(re: Self, _: Self) -> Self {
                re
            }

            fn size(self) -> Self {
                self.abs()
            }

            fn finite(self) -> bool {
                self.is_finite()
            }
        }

        impl Scalar for Complex<$real> {
            type Real = $real;

            fn re(self) -> $real {
                self.re
            }

            fn im(self) -> $real {
                self.im
            }

            fn of(re: $real, im: $real) -> Self {
                Self::new(re, im)
            }
        }
    };
}

scalar!(f32);
scalar!(f64);
