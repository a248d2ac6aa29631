//! Functions of complex numbers.
//!
//! Everything is computed in `f64`. At infinities, NaN and signed zeros the results are those of
//! C99, annex G, but for the places where XLA's expansions give NaN.
use std::f64::consts::LN_2;
use tpu_base::tensor::element::Complex;

type C = Complex<f64>;

/// Exponents past this overflow `exp`, but not its square root's.
const LARGE: f64 = 700.0;

/// `|z|`; NaN where either part is.
pub fn abs(z: C) -> f64 {
    if z.re.is_nan() || z.im.is_nan() { f64::NAN } else { z.re.hypot(z.im) }
}

/// `z / |z|`; zero is its own.
pub fn sign(z: C) -> C {
    let abs = abs(z);
    if abs.is_infinite() && z.re.is_finite() && z.im.is_finite() {
        return sign(z / 4.0);
    }
    if abs == 0.0 { C::new(0.0, 0.0) } else { C::new(z.re / abs, z.im / abs) }
}

/// `scale · e^x`, finite wherever the product is.
fn scaled_exp(x: f64, scale: f64) -> f64 {
    if x > LARGE && x.is_finite() {
        let half = (x / 2.0).exp();
        scale * half * half
    } else {
        scale * x.exp()
    }
}

/// `e^z`.
pub fn exp(z: C) -> C {
    if z.im == 0.0 {
        return C::new(z.re.exp(), z.im);
    }
    if !z.im.is_finite() && z.re == f64::NEG_INFINITY {
        return C::new(0.0, 0.0_f64.copysign(z.im));
    }
    if !z.im.is_finite() && z.re == f64::INFINITY {
        return C::new(f64::INFINITY, f64::NAN);
    }
    let (sin, cos) = z.im.sin_cos();
    C::new(scaled_exp(z.re, cos), scaled_exp(z.re, sin))
}

/// `e^z - 1`.
pub fn exp_m1(z: C) -> C {
    if z.im == 0.0 {
        return C::new(z.re.exp_m1(), z.im);
    }
    if !z.im.is_finite() {
        return C::new(f64::NAN, f64::NAN);
    }
    if !z.re.is_finite() || z.re > LARGE {
        let power = exp(z);
        return C::new(power.re - 1.0, power.im);
    }
    let (sin, cos) = z.im.sin_cos();
    let half = (z.im / 2.0).sin();
    C::new(z.re.exp_m1() * cos - 2.0 * half * half, z.re.exp() * sin)
}

/// `a² + b² + c`, with the low halves of the products.
fn sum_of_squares(a: f64, b: f64, c: f64) -> f64 {
    let (aa, bb) = (a * a, b * b);
    let low = a.mul_add(a, -aa) + b.mul_add(b, -bb);
    let (large, small) = if aa > bb { (aa, bb) } else { (bb, aa) };
    (large + c) + small + low
}

/// `ln |z|`.
fn log_abs(z: C) -> f64 {
    let (a, b) = (z.re.abs(), z.im.abs());
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    if large.is_finite() && large > f64::MAX / 4.0 {
        return (large / 4.0).hypot(small / 4.0).ln() + 2.0 * LN_2;
    }
    let near_one = (0.5..=1.5).contains(&large) && large + small < 2.0;
    let square = if near_one { large * large + small * small } else { 0.0 };
    if near_one && (0.5..=2.0).contains(&square) {
        return 0.5 * sum_of_squares(large, small, -1.0).ln_1p();
    }
    z.re.hypot(z.im).ln()
}

/// The natural logarithm, cut along the negative real axis.
pub fn log(z: C) -> C {
    C::new(log_abs(z), z.im.atan2(z.re))
}

/// `log(1 + z)`.
pub fn ln_1p(z: C) -> C {
    let one_more = C::new(z.re + 1.0, z.im);
    let im = z.im.atan2(one_more.re);
    let small = z.re.abs() < 1.0 && z.im.abs() < 1.0 && one_more.re > 0.5;
    if !small {
        return C::new(log_abs(one_more), im);
    }
    // |1 + z|² - 1 = 2 re + re² + im².
    let squares = sum_of_squares(z.re, z.im, 2.0 * z.re);
    C::new(0.5 * squares.ln_1p(), im)
}

/// The square root with a real part that is not negative.
pub fn sqrt(z: C) -> C {
    let C { re, im } = z;
    if re == 0.0 && im == 0.0 {
        return C::new(0.0, im);
    }
    if im.is_infinite() {
        return C::new(f64::INFINITY, im);
    }
    if re.is_infinite() {
        let other = if im.is_nan() { im } else { 0.0_f64.copysign(im) };
        return if re > 0.0 {
            C::new(re, other)
        } else {
            C::new(other.abs(), f64::INFINITY.copysign(im))
        };
    }
    let largest = re.abs().max(im.abs());
    // Powers of four, so that the root of the scale is exact.
    let (down, up) = if largest > f64::MAX / 4.0 {
        (0.0625, 4.0)
    } else if largest < 1e-290 {
        (2.0_f64.powi(108), 2.0_f64.powi(-54))
    } else {
        (1.0, 1.0)
    };
    let (re, im) = (re * down, im * down);
    let root = ((re.abs() + re.hypot(im)) * 0.5).sqrt();
    if re >= 0.0 {
        C::new(root * up, im / (2.0 * root) * up)
    } else {
        C::new(im.abs() / (2.0 * root) * up, root.copysign(im) * up)
    }
}

/// `1 / sqrt(z)`.
pub fn rsqrt(z: C) -> C {
    let infinite = z.re.is_infinite() || z.im.is_infinite();
    if infinite && !z.re.is_nan() && !z.im.is_nan() {
        return C::new(0.0, -(0.0_f64.copysign(z.im)));
    }
    let abs = abs(z);
    if abs == 0.0 {
        return C::new(f64::INFINITY, f64::NAN);
    }
    if abs.is_infinite() && z.re.is_finite() && z.im.is_finite() {
        return rsqrt(z / 4.0) / 2.0;
    }
    // The conjugate of the root of z / |z|, over the root of |z|.
    let root = sqrt(z);
    C::new(root.re / abs, -root.im / abs)
}

/// The cube root with the smallest angle.
pub fn cbrt(z: C) -> C {
    if z.re == 0.0 && z.im == 0.0 {
        return z;
    }
    let (sin, cos) = (z.im.atan2(z.re) / 3.0).sin_cos();
    let root = abs(z).cbrt();
    C::new(root * cos, root * sin)
}

/// `sinh(z)`.
pub fn sinh(z: C) -> C {
    let C { re: x, im: y } = z;
    if y == 0.0 {
        return C::new(x.sinh(), y);
    }
    if x == 0.0 {
        return C::new(x, y.sin());
    }
    if x.is_infinite() && !y.is_finite() {
        return C::new(f64::NAN, f64::NAN);
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() > LARGE {
        let half = 0.5_f64.copysign(x);
        return C::new(scaled_exp(x.abs(), cos * half), scaled_exp(x.abs(), sin * 0.5));
    }
    C::new(x.sinh() * cos, x.cosh() * sin)
}

/// `cosh(z)`.
pub fn cosh(z: C) -> C {
    let C { re: x, im: y } = z;
    if y == 0.0 || x == 0.0 {
        let im = if y.is_nan() || x.is_nan() || y.is_infinite() || x.is_infinite() {
            0.0_f64.copysign(if y == 0.0 { y } else { x })
        } else {
            x * y
        };
        return if y == 0.0 { C::new(x.cosh(), im) } else { C::new(y.cos(), im) };
    }
    if x.is_infinite() && !y.is_finite() {
        return C::new(f64::NAN, f64::NAN);
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() > LARGE {
        let half = 0.5_f64.copysign(x);
        return C::new(scaled_exp(x.abs(), cos * 0.5), scaled_exp(x.abs(), sin * half));
    }
    C::new(x.cosh() * cos, x.sinh() * sin)
}

/// `sin(z) = -i sinh(iz)`.
pub fn sin(z: C) -> C {
    let turned = sinh(C::new(-z.im, z.re));
    C::new(turned.im, -turned.re)
}

/// `cos(z) = cosh(iz)`.
pub fn cos(z: C) -> C {
    cosh(C::new(-z.im, z.re))
}

/// `tanh(z)`.
///
/// Source: W. Kahan, "Branch cuts for complex elementary functions", 1987.
pub fn tanh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() {
        return C::new(x, if y == 0.0 { y } else { f64::NAN });
    }
    if x.is_infinite() {
        let sign = if y.is_finite() { (2.0 * y).sin() } else { y };
        return C::new(1.0_f64.copysign(x), 0.0_f64.copysign(sign));
    }
    if !y.is_finite() {
        return C::new(f64::NAN, f64::NAN);
    }
    if x.abs() > 22.0 {
        let (sin, cos) = y.sin_cos();
        return C::new(1.0_f64.copysign(x), 4.0 * sin * cos * (-2.0 * x.abs()).exp());
    }
    let tan = y.tan();
    let beta = 1.0 + tan * tan;
    let sinh = x.sinh();
    let rho = (1.0 + sinh * sinh).sqrt();
    let denominator = 1.0 + beta * sinh * sinh;
    C::new(beta * rho * sinh / denominator, tan / denominator)
}

/// `tan(z) = -i tanh(iz)`.
pub fn tan(z: C) -> C {
    let turned = tanh(C::new(-z.im, z.re));
    C::new(turned.im, -turned.re)
}

/// `1 / (1 + e^-z)`.
pub fn logistic(z: C) -> C {
    // tanh has no overflow in between: logistic(z) = (1 + tanh(z / 2)) / 2.
    if z.re > -30.0 || z.re.is_nan() {
        let half = tanh(C::new(z.re / 2.0, z.im / 2.0));
        return C::new(0.5 + half.re / 2.0, half.im / 2.0);
    }
    exp(z)
}

/// `base^exponent`, cut along the negative real axis of the base.
///
/// The powers of one and of infinity, and the zeroth power, are those of XLA's expansion; zero
/// has only real powers that are not negative.
pub fn power(base: C, exponent: C) -> C {
    let one = C::new(1.0, 0.0);
    let real = exponent.im == 0.0;
    if base == C::new(f64::INFINITY, 0.0) && real && exponent.re != 0.0 && !exponent.re.is_nan() {
        return C::new(if exponent.re > 0.0 { f64::INFINITY } else { 0.0 }, 0.0);
    }
    if base == one || (real && exponent.re == 0.0) {
        return one;
    }
    let abs = abs(base);
    if abs == 0.0 && real && exponent.re > 0.0 {
        return C::new(0.0, 0.0);
    }
    let angle = base.im.atan2(base.re);
    let size = abs.powf(exponent.re) * (-exponent.im * angle).exp();
    let (sin, cos) = (exponent.re * angle + exponent.im * abs.ln()).sin_cos();
    C::new(size * cos, size * sin)
}

/// `-i log((x + iy) / sqrt(x² + y²))`.
pub fn atan2(y: C, x: C) -> C {
    let i_y = C::new(-y.im, y.re);
    let ratio = (x + i_y) / sqrt(x * x + y * y);
    let turned = log(ratio);
    C::new(turned.im, -turned.re)
}

/// `z²`, with a real part that cancels no earlier than it must.
pub fn square(z: C) -> C {
    C::new((z.re - z.im) * (z.re + z.im), 2.0 * (z.re * z.im))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_that_are_not_finite_have_no_hyperbolic_functions() {
        let (infinity, nan) = (f64::INFINITY, f64::NAN);
        for im in [infinity, -infinity, nan] {
            let infinite = C::new(infinity, im);
            let values = [
                exp_m1(C::new(0.0, im)),
                exp_m1(infinite),
                exp_m1(-infinite),
                sinh(infinite),
                cosh(infinite),
                tanh(C::new(0.0, im)),
                tanh(C::new(1.0, im)),
            ];
            for value in values {
                assert!(value.re.is_nan() && value.im.is_nan(), "{im} {value}");
            }
        }
        assert_eq!(tanh(C::new(infinity, nan)).re, 1.0);
    }

    #[test]
    fn a_number_with_a_nan_has_no_size() {
        assert!(abs(C::new(f64::INFINITY, f64::NAN)).is_nan());
        assert_eq!(abs(C::new(f64::INFINITY, 1.0)), f64::INFINITY);
    }
}
