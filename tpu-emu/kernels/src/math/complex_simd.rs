//! Functions of complex numbers of single precision, computed in double precision without
//! branches where nothing is zero, infinite or NaN; elsewhere one by one.
use super::exp::bounded_single;
use super::log::positive_long;
use super::trig;
use super::trig::{atan2_single, cos_single, sin_single};
use super::{Over, over, rounded};
use crate::elementwise::program::Immediate;
use crate::math::complex;
use crate::simd;
use crate::simd::Loop;
use bytemuck::{cast_slice, cast_slice_mut};
use tpu_base::tensor::element::{Complex, Number};

type Z = Complex<f64>;

/// A function of one complex number.
pub trait ComplexFunction {
    /// Whether `at` holds.
    fn plain(z: Z) -> bool;
    /// The function of plain numbers.
    fn at(z: Z) -> Z;
    /// The function of any number.
    fn any(z: Z) -> Z;
}

#[inline(always)]
fn finite(z: Z) -> bool {
    z.re.abs() < f64::INFINITY && z.im.abs() < f64::INFINITY
}

/// The square of the absolute value.
#[inline(always)]
fn square(z: Z) -> f64 {
    z.re * z.re + z.im * z.im
}

/// Powers of e.
#[derive(Debug)]
pub struct Exponential;

impl ComplexFunction for Exponential {
    #[inline(always)]
    fn plain(z: Z) -> bool {
        z.re.abs() < 600.0 && z.im.abs() <= trig::NEAR
    }

    #[inline(always)]
    fn at(z: Z) -> Z {
        let scale = bounded_single(z.re);
        Z::new(scale * cos_single(z.im), scale * sin_single(z.im))
    }

    fn any(z: Z) -> Z {
        complex::exp(z)
    }
}

/// The natural logarithm.
#[derive(Debug)]
pub struct Log;

impl ComplexFunction for Log {
    #[inline(always)]
    fn plain(z: Z) -> bool {
        finite(z) && (z.re != 0.0 || z.im != 0.0)
    }

    #[inline(always)]
    fn at(z: Z) -> Z {
        // The squares are exact; what their sum loses matters near one.
        let (a, b) = (z.re * z.re, z.im * z.im);
        let sum = a + b;
        let rest = sum - a;
        let lost = (a - (sum - rest)) + (b - rest);
        Z::new(0.5 * (positive_long(sum) + lost / sum), atan2_single(z.im, z.re))
    }

    fn any(z: Z) -> Z {
        complex::log(z)
    }
}

/// The square root.
#[derive(Debug)]
pub struct Sqrt;

impl ComplexFunction for Sqrt {
    #[inline(always)]
    fn plain(z: Z) -> bool {
        finite(z) && (z.re != 0.0 || z.im != 0.0)
    }

    #[inline(always)]
    fn at(z: Z) -> Z {
        let large = (0.5 * (square(z).sqrt() + z.re.abs())).sqrt();
        let small = 0.5 * z.im.abs() / large;
        let (re, im) = if z.re >= 0.0 { (large, small) } else { (small, large) };
        Z::new(re, im.copysign(z.im))
    }

    fn any(z: Z) -> Z {
        complex::sqrt(z)
    }
}

/// The two parts of the results, and whether there was a number that is not plain.
struct PlainParts;

impl<F: ComplexFunction> Loop for Over<(&[Complex<f32>], &mut [Complex<f32>]), (PlainParts, F)> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (z, output) = self.0;
        let mut plain = true;
        for (result, z) in output.iter_mut().zip(z) {
            let z = wide(*z);
            plain &= F::plain(z);
            *result = narrow(F::at(z));
        }
        plain
    }
}

#[inline(always)]
fn wide(z: Complex<f32>) -> Z {
    Z::new(z.re.into(), z.im.into())
}

#[inline(always)]
fn narrow(z: Z) -> Complex<f32> {
    Complex::new(rounded(z.re), rounded(z.im))
}

/// The `LoopFn` of a function of one complex number of single precision.
pub fn unary<F: ComplexFunction>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let z: &[Complex<f32>] = cast_slice(inputs[0]);
    let output: &mut [Complex<f32>] = cast_slice_mut(output);
    if !simd::run(over::<_, (PlainParts, F)>((z, &mut *output))) {
        for (result, &z) in output.iter_mut().zip(z) {
            if !F::plain(wide(z)) {
                *result = narrow(F::any(wide(z)));
            }
        }
    }
}

struct Absolute;

impl Loop for Over<(&[Complex<f32>], &mut [f32]), Absolute> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (result, &z) in self.0.1.iter_mut().zip(self.0.0) {
            *result = rounded(square(wide(z)).sqrt());
        }
    }
}

/// The `LoopFn` of the absolute value of numbers of single precision; NaN where either part is.
pub fn abs(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let (z, output): (&[Complex<f32>], &mut [f32]) =
        (cast_slice(inputs[0]), cast_slice_mut(output));
    simd::run(over::<_, Absolute>((z, output)));
}

struct Quotient;

/// Whether a quotient needs no rule of its own.
#[inline(always)]
fn divides(a: Z, b: Z) -> bool {
    finite(a) && finite(b) && (b.re != 0.0 || b.im != 0.0)
}

impl Loop for Over<(&[Complex<f32>], &[Complex<f32>], &mut [Complex<f32>]), Quotient> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (a, b, output) = self.0;
        let mut plain = true;
        for ((result, &a), &b) in output.iter_mut().zip(a).zip(b) {
            let (a, b) = (wide(a), wide(b));
            plain &= divides(a, b);
            let size = square(b);
            let re = (a.re * b.re + a.im * b.im) / size;
            let im = (a.im * b.re - a.re * b.im) / size;
            *result = narrow(Z::new(re, im));
        }
        plain
    }
}

/// The `LoopFn` of the quotient of numbers of single precision.
pub fn divide(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let (a, b): (&[Complex<f32>], &[Complex<f32>]) = (cast_slice(inputs[0]), cast_slice(inputs[1]));
    let output: &mut [Complex<f32>] = cast_slice_mut(output);
    if !simd::run(over::<_, Quotient>((a, b, &mut *output))) {
        for ((result, &a), &b) in output.iter_mut().zip(a).zip(b) {
            if !divides(wide(a), wide(b)) {
                *result = Number::div(a, b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::program::LoopFn;

    /// Numbers of many sizes in every direction, and the special ones.
    fn samples() -> Vec<Complex<f32>> {
        let ends = [0.0, -0.0, 1.0, -2.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-44, 3e38];
        let mut all: Vec<Complex<f32>> =
            ends.iter().flat_map(|&re| ends.map(|im| Complex::new(re, im))).collect();
        for i in 0..20_000_u16 {
            let size = 1.003_f32.powi(i32::from(i % 8000) - 4000);
            let angle = f32::from(i) * 0.377;
            all.push(Complex::new(size * angle.cos(), size * angle.sin()));
            all.push(Complex::new(angle.cos(), angle.sin()));
        }
        all
    }

    fn near(got: f32, wanted: f64, size: f64) -> bool {
        let limit = 1e-7 * size.abs().max(wanted.abs()) + 1e-45;
        let wide = f64::from(got);
        wide == wanted
            || wide.is_nan() && wanted.is_nan()
            || got == rounded(wanted)
            || (wide - wanted).abs() <= limit
    }

    fn check(code: LoopFn, exact: fn(Z) -> Z) {
        let z = samples();
        let mut results = vec![Complex::new(0.0_f32, 0.0); z.len()];
        code([0; 2], &[cast_slice(&z)], cast_slice_mut(&mut results));
        for (&z, result) in z.iter().zip(results) {
            let wanted = exact(wide(z));
            let good = near(result.re, wanted.re, 0.0) && near(result.im, wanted.im, 0.0);
            assert!(good, "{z}: {result}, not {wanted}");
            let same = |a: f32, b: f64| a != 0.0 || a.is_sign_negative() == b.is_sign_negative();
            assert!(same(result.re, wanted.re) && same(result.im, wanted.im), "{z}: {result}");
        }
    }

    #[test]
    fn functions_are_those_of_any_number_to_the_last_place() {
        check(unary::<Exponential>, complex::exp);
        check(unary::<Log>, complex::log);
        check(unary::<Sqrt>, complex::sqrt);
        check(
            |immediate, inputs, output| {
                let mut sizes = vec![0.0_f32; output.len() / 8];
                abs(immediate, inputs, cast_slice_mut(&mut sizes));
                let output: &mut [Complex<f32>] = cast_slice_mut(output);
                output.iter_mut().zip(sizes).for_each(|(z, re)| *z = Complex::new(re, 0.0));
            },
            |z| Z::new(complex::abs(z), 0.0),
        );
    }

    #[test]
    fn quotients_are_close_for_their_size_and_follow_the_rules() {
        let a = samples();
        let b: Vec<Complex<f32>> = a.iter().rev().copied().collect();
        let (a, b) = ([&a[..], &a[..81]].concat(), [&b[..], &a[..81]].concat());
        let mut results = vec![Complex::new(0.0_f32, 0.0); a.len()];
        divide([0; 2], &[cast_slice(&a), cast_slice(&b)], cast_slice_mut(&mut results));
        for ((&a, &b), &result) in a.iter().zip(&b).zip(&results) {
            if divides(wide(a), wide(b)) {
                let wanted = wide(a) / wide(b);
                let size = wanted.norm();
                let good = near(result.re, wanted.re, size) && near(result.im, wanted.im, size);
                assert!(good, "{a} / {b}: {result}, not {wanted}");
            } else {
                let bits = |z: Complex<f32>| {
                    [z.re, z.im].map(|x| if x.is_nan() { 1 } else { x.to_bits() })
                };
                assert_eq!(bits(result), bits(Number::div(a, b)), "{a} / {b}");
            }
        }
    }
}
