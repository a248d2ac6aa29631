//! Inverse trigonometric and hyperbolic functions of complex numbers.
//!
//! Branch cuts and special values are those of C99, annex G.
//!
//! Source: W. Kahan, "Branch cuts for complex elementary functions", 1987.
use super::complex::{log, sqrt};
use std::f64::consts::{FRAC_PI_2, LN_2};
use tpu_base::tensor::element::Complex;

type C = Complex<f64>;

/// Beyond this size `sqrt(z² ± 1)` is `z`.
const LARGE: f64 = 1e16;

fn large(z: C) -> bool {
    z.re.abs() > LARGE || z.im.abs() > LARGE
}

/// The roots of `1 - z` and `1 + z`.
fn roots(z: C) -> (C, C) {
    // Zeros keep the sign that the side of the cut has.
    (sqrt(C::new(1.0 - z.re, -z.im)), sqrt(C::new(1.0 + z.re, z.im)))
}

/// The arc sine.
pub fn asin(z: C) -> C {
    let turned = asinh(C::new(-z.im, z.re));
    C::new(turned.im, -turned.re)
}

/// The arc cosine.
pub fn acos(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() || y.is_nan() {
        let infinite = x.is_infinite() || y.is_infinite();
        let im = if infinite { f64::INFINITY } else { f64::NAN };
        let re = if x == 0.0 { FRAC_PI_2 } else { f64::NAN };
        return C::new(re, if y.is_infinite() { -y } else { im });
    }
    if large(z) {
        let size = log(z).re + LN_2;
        return C::new(y.abs().atan2(x), -size.copysign(y));
    }
    let (minus, plus) = roots(z);
    let re = 2.0 * minus.re.atan2(plus.re);
    C::new(re, libm::asinh(plus.re * minus.im - plus.im * minus.re))
}

/// The inverse hyperbolic cosine.
pub fn acosh(z: C) -> C {
    let turned = acos(z);
    C::new(turned.im.abs(), turned.re.copysign(z.im))
}

/// The inverse hyperbolic sine.
pub fn asinh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() || y.is_nan() {
        return if x.is_infinite() {
            z
        } else if y.is_infinite() {
            C::new(f64::INFINITY, f64::NAN)
        } else {
            C::new(f64::NAN, if y == 0.0 { y } else { f64::NAN })
        };
    }
    if large(z) {
        let size = log(C::new(x.abs(), y)).re + LN_2;
        return C::new(size.copysign(x), y.atan2(x.abs()));
    }
    // asinh(z) = i asin(-iz), with asin from the roots of 1 ± w for w = y - ix.
    let (minus, plus) = roots(C::new(y, -x));
    let im = y.atan2((minus.re * plus.re) - (minus.im * plus.im));
    let re = -libm::asinh(minus.re * plus.im - minus.im * plus.re);
    C::new(re.abs().copysign(x), im)
}

/// The arc tangent.
pub fn atan(z: C) -> C {
    let turned = atanh(C::new(-z.im, z.re));
    C::new(turned.im, -turned.re)
}

/// The inverse hyperbolic tangent.
pub fn atanh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() || y.is_nan() {
        return if y.is_infinite() {
            C::new(0.0_f64.copysign(x), FRAC_PI_2.copysign(y))
        } else if x.is_infinite() {
            C::new(0.0_f64.copysign(x), f64::NAN)
        } else {
            C::new(if x == 0.0 { x } else { f64::NAN }, f64::NAN)
        };
    }
    let (a, b) = (x.abs(), y.abs());
    if a > 1e150 || b > 1e150 {
        // 1 / z, without overflow in between.
        let re = if a.is_infinite() || b.is_infinite() {
            0.0
        } else {
            let (s, t) = if a > b { (1.0, b / a) } else { (a / b, 1.0) };
            s / (s * s + t * t) / a.max(b)
        };
        return C::new(re.copysign(x), FRAC_PI_2.copysign(y));
    }
    if a == 1.0 && b == 0.0 {
        return C::new(f64::INFINITY.copysign(x), y);
    }
    let gap = 1.0 - a;
    let re = if b < 1e-150 && a == 1.0 {
        // ln |(1 + z) / (1 - z)| where the square of the distance vanishes.
        0.5 * (2.0_f64.ln() - b.ln())
    } else {
        0.25 * (4.0 * a / (gap * gap + b * b)).ln_1p()
    };
    let im = 0.5 * (2.0 * y).atan2(gap * (1.0 + a) - b * b);
    C::new(re.copysign(x), im)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: C, re: f64, im: f64) {
        for (got, expected) in [(got.re, re), (got.im, im)] {
            let same = got == expected || got.is_nan() && expected.is_nan();
            assert!(same || (got / expected - 1.0).abs() < 1e-14, "{got} is not {expected}");
        }
    }

    #[test]
    fn functions_have_the_values_of_numpy() {
        let z = C::new(1.5, -2.5);
        close(asin(z), 0.515_548_435_734_906_7, -1.777_662_377_506_644_7);
        close(acos(z), 1.055_247_891_059_989_8, 1.777_662_377_506_644_7);
        close(acosh(z), 1.777_662_377_506_644_7, -1.055_247_891_059_989_8);
        close(asinh(C::new(-0.5, 0.25)), -0.492_675_683_420_770_6, 0.224_328_452_634_667_5);
        close(atan(C::new(0.5, 0.25)), 0.484_254_490_329_966_2, 0.200_586_618_131_234_32);
    }

    #[test]
    fn the_sides_of_a_cut_differ() {
        close(acos(C::new(2.0, 0.0)), 0.0, -1.316_957_896_924_816_6);
        close(acos(C::new(2.0, -0.0)), 0.0, 1.316_957_896_924_816_6);
        assert!(asin(C::new(2.0, -0.0)).im < 0.0 && asin(C::new(2.0, 0.0)).im > 0.0);
        assert!(atanh(C::new(2.0, -0.0)).im < 0.0 && atanh(C::new(2.0, 0.0)).im > 0.0);
    }
}
