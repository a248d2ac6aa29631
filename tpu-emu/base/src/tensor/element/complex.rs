//! Complex numbers.
use super::{Complex, ComplexNumber, Element, Number, Real};
use crate::tensor::DType;

macro_rules! complex_numbers {
    ($($part:ident $dtype:ident;)*) => {$(
        impl Element for Complex<$part> {
            const DTYPE: DType = DType::$dtype;
        }

        impl Number for Complex<$part> {
            const ZERO: Self = Self { re: 0.0, im: 0.0 };
            const ONE: Self = Self { re: 1.0, im: 0.0 };

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self {
                    re: self.re * other.re - self.im * other.im,
                    im: self.re * other.im + self.im * other.re,
                }
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                quotient(self, other)
            }

            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
        }

        impl ComplexNumber for Complex<$part> {
            type Part = $part;

            #[inline(always)]
            fn parts(self) -> Self {
                self
            }

            #[inline(always)]
            fn from_parts(parts: Self) -> Self {
                parts
            }

            #[inline(always)]
            fn widen(self) -> Complex<f64> {
                Complex::new(self.re.into(), self.im.into())
            }

            #[inline(always)]
            fn narrow(wide: Complex<f64>) -> Self {
                Self { re: $part::from_f64(wide.re), im: $part::from_f64(wide.im) }
            }
        }
    )*};
}

complex_numbers! {
    f32 C64;
    f64 C128;
}

/// `a / b` without overflow in between; infinite over finite is infinite, finite over infinite
/// is zero, and a number over zero is infinite.
///
/// Source: C99, annex G, "Multiplicative operators"; Smith's algorithm for finite numbers.
fn quotient<T: num_traits::Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    let zero = T::zero();
    let result = if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let scale = b.re + b.im * ratio;
        Complex::new((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
    } else {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        Complex::new((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale)
    };
    if !(result.re.is_nan() && result.im.is_nan()) {
        return result;
    }
    let unit = |x: T| if x.is_infinite() { T::one() } else { zero }.copysign(x);
    if b.re == zero && b.im == zero && !(a.re.is_nan() && a.im.is_nan()) {
        let infinity = T::infinity().copysign(b.re);
        Complex::new(infinity * a.re, infinity * a.im)
    } else if (a.re.is_infinite() || a.im.is_infinite()) && b.re.is_finite() && b.im.is_finite() {
        let (re, im) = (unit(a.re), unit(a.im));
        let infinity = T::infinity();
        Complex::new(infinity * (re * b.re + im * b.im), infinity * (im * b.re - re * b.im))
    } else if (b.re.is_infinite() || b.im.is_infinite()) && a.re.is_finite() && a.im.is_finite() {
        let (re, im) = (unit(b.re), unit(b.im));
        Complex::new(zero * (a.re * re + a.im * im), zero * (a.im * re - a.re * im))
    } else {
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotient_of_large_numbers_does_not_overflow() {
        let big = Complex::new(1e38_f32, 1e38);
        assert_eq!(big.div(big), Complex::new(1.0, 0.0));
        let [infinity, one] = [Complex::new(f32::INFINITY, f32::NAN), Complex::ONE];
        assert!(infinity.div(one).re.is_infinite());
        assert_eq!(one.div(Complex::ZERO).re, f32::INFINITY);
        assert_eq!(one.div(Complex::new(f32::INFINITY, 0.0)), Complex::ZERO);
    }
}
