//! Special functions of real numbers, in double precision.
use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// The number whose error function is `x`; NaN past ±1.
pub fn erf_inv(x: f64) -> f64 {
    let a = x.abs();
    if a == 1.0 {
        return f64::INFINITY.copysign(x);
    }
    if x == 0.0 || a.is_nan() {
        return x;
    }
    if a > 1.0 {
        return f64::NAN;
    }
    // A closed form good to a part in 500 (S. Winitzki, 2008), then Halley's method.
    let log = (-a * a).ln_1p();
    let term = 2.0 / (PI * 0.147) + log / 2.0;
    let mut y = ((term * term - log / 0.147).sqrt() - term).sqrt();
    if y < 1e-6 {
        // The closed form cancels here, the first term of the series does not.
        y = a / FRAC_2_SQRT_PI;
    }
    for _ in 0..3 {
        let error = if a < 0.5 { libm::erf(y) - a } else { (1.0 - a) - libm::erfc(y) };
        let step = error / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// `ln |Γ(x)|`; infinite at 0, -1, -2, ….
pub fn lgamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// The inverse hyperbolic cosine; NaN below 1.
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The series of the derivative of `ln Γ`, by `1 / z²`, over `-1 / z²`: Bernoulli numbers over
/// twice their index.
pub(crate) const DIGAMMA: [f64; 7] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32_760.0,
    1.0 / 12.0,
];

/// The derivative of `ln Γ`; NaN at 0, -1, -2, ….
///
/// Source: Abramowitz and Stegun, 6.3.5, 6.3.7 and 6.3.18.
pub fn digamma(x: f64) -> f64 {
    if x.is_infinite() {
        return if x > 0.0 { x } else { f64::NAN };
    }
    if x <= 0.0 && x == x.floor() {
        return f64::NAN;
    }
    if x < 0.5 {
        // The tangent has the period 1 here; the difference is exact.
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = DIGAMMA.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    sum + x.ln() - 0.5 / x - series
}

/// The Hurwitz zeta function, `Σ (q + k)^-x` for `k` from 0 on; NaN below `x = 1`.
///
/// Source: the Euler-Maclaurin formula.
pub fn zeta(x: f64, q: f64) -> f64 {
    if x.is_nan() || q.is_nan() || x < 1.0 {
        return f64::NAN;
    }
    if x == 1.0 {
        return f64::INFINITY;
    }
    if q <= 0.0 && q == q.floor() {
        // The pole has one sign on both sides for even powers only.
        return if x % 2.0 == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    // Past this many terms below zero the sum is not worth its time.
    const LOWEST: f64 = -4096.0;
    if q < LOWEST || (q <= 0.0 && x != x.floor()) {
        return f64::NAN;
    }
    let (mut sum, mut base) = (0.0, q);
    // The series below wants a base that grows with the power.
    let enough = 12.0 + x.min(1000.0) / 2.0;
    while base < enough {
        let term = base.powf(-x);
        sum += term;
        base += 1.0;
        if base > 1.0 && term.abs() < sum.abs() * f64::EPSILON / 16.0 {
            return sum;
        }
    }
    // Bernoulli numbers over factorials of their index.
    const SERIES: [f64; 9] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3617.0 / 10_670_622_842_880_000.0,
        43_867.0 / 5_109_094_217_170_944_000.0,
    ];
    let power = base.powf(-x);
    if power == 0.0 {
        return sum;
    }
    sum += power * base / (x - 1.0) + power / 2.0;
    let (mut factor, mut at) = (power * x / base, x);
    for term in SERIES {
        let added = factor * term;
        sum += added;
        if added.abs() < sum.abs() * f64::EPSILON {
            break;
        }
        factor *= (at + 1.0) * (at + 2.0) / (base * base);
        at += 2.0;
    }
    sum
}

/// Derivative number `n + 1` of `ln Γ`; NaN for an `n` that is no integer from 0 on.
pub fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if !(n > 0.0 && n == n.floor()) {
        return f64::NAN;
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * libm::tgamma(n + 1.0).min(f64::MAX) * zeta(n + 1.0, x)
}

/// `e^-|x| · I₁(x)`, the scaled modified Bessel function of the first kind.
///
/// Source: Abramowitz and Stegun, 9.6.10 and 9.7.1.
pub fn bessel_i1e(x: f64) -> f64 {
    let a = x.abs();
    if a.is_infinite() {
        return 0.0_f64.copysign(x);
    }
    if a.is_nan() {
        return x;
    }
    let value = if a < 30.0 {
        let half = a / 2.0;
        let square = half * half;
        let (mut term, mut sum, mut k) = (half, half, 1.0);
        while term > sum * f64::EPSILON / 4.0 {
            term *= square / (k * (k + 1.0));
            sum += term;
            k += 1.0;
        }
        sum * (-a).exp()
    } else {
        let (mut term, mut sum, mut k) = (1.0_f64, 1.0_f64, 1.0_f64);
        while term.abs() > f64::EPSILON / 4.0 && k < 40.0 {
            let odd = 2.0 * k - 1.0;
            term *= (odd * odd - 4.0) / (8.0 * k * a);
            sum += term;
            k += 1.0;
        }
        sum / ((2.0 * PI).sqrt() * a.sqrt())
    };
    value.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64) {
        let same = got == expected || got.is_nan() && expected.is_nan();
        assert!(same || (got / expected - 1.0).abs() < 2e-14, "{got} is not {expected}");
    }

    #[test]
    fn functions_have_the_values_of_scipy() {
        close(erf_inv(0.5), 0.476_936_276_204_469_9);
        close(erf_inv(-1e-8), -8.862_269_254_527_58e-9);
        close(erf_inv(0.999_999_999), 4.320_005_388_105_362);
        close(digamma(1.0), -0.577_215_664_901_532_9);
        close(digamma(-3.25), 4.466_275_872_350_280_5);
        close(digamma(100.5), 4.605_174_352_581_845);
        close(zeta(2.0, 1.0), PI * PI / 6.0);
        close(zeta(3.5, 0.25), 128.546_958_964_284_33);
        close(polygamma(2.0, 1.5), -0.828_796_644_234_319_8);
        close(bessel_i1e(1.0), 0.207_910_415_349_708_45);
        close(bessel_i1e(-50.0), -0.055_993_123_892_895_4);
    }

    #[test]
    fn the_ends_of_the_domains_have_values() {
        close(erf_inv(1.0), f64::INFINITY);
        close(erf_inv(1.5), f64::NAN);
        close(acosh(-1e5), f64::NAN);
        close(digamma(-1e-20), 1e20);
        close(digamma(0.0), f64::NAN);
        close(digamma(-2.0), f64::NAN);
        close(lgamma(-3.0), f64::INFINITY);
        close(lgamma(f64::NEG_INFINITY), f64::INFINITY);
        close(zeta(1.0, 2.0), f64::INFINITY);
        close(zeta(0.5, 2.0), f64::NAN);
        close(zeta(2.0, -1.0), f64::INFINITY);
        close(zeta(3.0, -1.0), f64::NAN);
        assert_eq!(bessel_i1e(f64::INFINITY), 0.0);
    }
}
