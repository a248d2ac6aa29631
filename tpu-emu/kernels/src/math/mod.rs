//! Functions of real numbers are written without branches, so that loops over them become vectors.
//!
//! A function of single precision is computed in single precision where `short` has it, else in
//! double precision and rounded once. All vector widths give the same bits: nothing here is
//! reordered, approximated by an instruction, or fused but where it says so ([`Fused`]).
//!
//! [`unary`] and [`binary`] choose the loop of a function by the element type:
//!
//! | elements | loop |
//! |---|---|
//! | `f32` | `single`: polynomials of `short`, or widened to `f64` and rounded once |
//! | `f64` | `double`: polynomials of our own for some functions, else `std` or `libm` |
//! | floats of 16 bits and fewer | through `f32`, `WIDEN_ELEMENTS` at a time, then rounded |
//! | complex of two `f32`: some functions | [`complex_simd`] |
//! | any other complex | [`complex`] and [`complex_inverse`], in `f64`, one by one |
//! | integers of 32 bits: quotients and remainders | [`int_div`], in double precision |
//! | Bessel, polygamma and zeta functions | [`special`], in double precision, one by one |
//!
//! Files of polynomials: `exp` for powers of e and hyperbolic functions, `log` for logarithms,
//! powers, cube roots and inverse hyperbolic functions, `trig`, `erf`, `gamma`.
//!
//! Some functions have numbers for which the polynomials are not meant: large angles, operands
//! of [`Lgamma`] and [`Digamma`] that are negative or near a root, large quotients of [`Remainder`]. There the vector loop
//! runs over everything, and `far` computes those numbers again, one by one. [`complex_simd`] does
//! likewise with zeros, infinities and NaN.
//!
//! For all: an element's bits depend on its operands alone, not on its neighbours, on
//! threads or on the vector width. Each function names its error bound in units in the last place
//! of single precision ([`ulps`], [`ulps2`]). Tests compare it with double precision.
mod function_loops;
mod gamma;
mod polynomial;
mod tuning;

use super::simd::Fused;
use function_loops::{Over, over, rounded};
use tpu_base::tensor::element::Wide;

pub use function_loops::{binary, unary};

/// A function of one number. What it computes with is `#[inline(always)]`.
pub trait RealFunction {
    /// How many units in the last place the result of single precision is off at most.
    const ULPS: f64;
    /// Whether there are numbers that are the business of `far`.
    const HAS_FAR: bool = false;

    /// The function of a number of single precision.
    fn single<M: Fused>(x: f32) -> f32;

    /// The function in double precision.
    fn double(x: f64) -> f64;

    /// Whether a number is the business of `far`.
    #[inline(always)]
    fn is_far(_x: f64) -> bool {
        false
    }

    /// The function of such numbers.
    fn far(x: f64) -> f64 {
        Self::double(x)
    }
}

/// A function of two numbers, likewise.
pub trait Function2 {
    /// How many units in the last place the result of single precision is off at most.
    const ULPS: f64;

    /// The function of numbers of single precision, before it is rounded.
    fn single(x: f64, y: f64) -> f64;

    /// The function in double precision.
    fn double(x: f64, y: f64) -> f64;

    /// Whether a pair is the business of `far`.
    #[inline(always)]
    fn is_far(_x: f64, _y: f64) -> bool {
        false
    }

    /// The function of such pairs.
    fn far(x: f64, y: f64) -> f64 {
        Self::double(x, y)
    }
}

/// How many units in the last place a function of one number is off at most.
pub const fn ulps<F: RealFunction>() -> f64 {
    F::ULPS
}

/// How many units in the last place a function of two numbers is off at most.
pub const fn ulps2<F: Function2>() -> f64 {
    F::ULPS
}

/// A function of single precision, computed in it or in double precision.
macro_rules! computed {
    (short $function:expr, $x:ident) => {
        $function($x)
    };
    (long $function:expr, $x:ident) => {
        rounded($function(f64::from($x)))
    };
}

/// Writes [`RealFunction`] for a type of its own. `M` is how the machine multiplies and adds.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $ulps:literal
        $way:ident $single:expr, $double:expr $(, where $is_far:expr => $far:expr)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl RealFunction for $name {
            const ULPS: f64 = $ulps;
            $(const HAS_FAR: bool = { _ = $far; true };)?

            #[inline(always)]
            fn single<M: Fused>(x: f32) -> f32 {
                computed!($way $single, x)
            }

            #[inline(always)]
            fn double(x: f64) -> f64 {
                $double(x)
            }

            $(#[inline(always)]
            fn is_far(x: f64) -> bool {
                $is_far(x)
            }

            fn far(x: f64) -> f64 {
                $far(x)
            })?
        }
    )*

        /// Calls `check` with every function's name, bound and code.
        #[cfg(test)]
        fn for_all(mut check: impl FnMut(&str, f64, tests::SingleLoop)) {
            $(check(stringify!($name), $ulps, function_loops::single::<$name>);)*
        }
    };
}

functions! {
    /// `e^x`.
    Exponential 0.95 short short::exp::<M>, exp::exp;
    /// `e^x - 1`.
    ExponentialMinusOne 1.1 short short::exp_m1::<M>, exp::exp_m1;
    /// The natural logarithm.
    Log 0.95 short short::log::<M>, log::log;
    /// `ln (1 + x)`.
    LogPlusOne 1.01 short short::log_1p::<M>, log::log_1p;
    /// `1 / (1 + e^-x)`.
    Logistic 2.45 short short::logistic::<M>, exp::logistic;
    /// The hyperbolic tangent.
    Tanh 2.6 short short::tanh::<M>, exp::tanh;
    /// The hyperbolic sine.
    Sinh 0.51 long exp::sinh_single, f64::sinh;
    /// The hyperbolic cosine.
    Cosh 0.51 long exp::cosh_single, f64::cosh;
    /// The sine.
    Sine 0.51 long trig::sin_single, trig::sin, where trig::is_far => libm::sin;
    /// The cosine.
    Cosine 0.51 long trig::cos_single, trig::cos, where trig::is_far => libm::cos;
    /// The tangent.
    Tan 0.51 long trig::tan_single, f64::tan, where trig::is_far => libm::tan;
    /// The arcsine.
    Asin 0.51 long trig::asin_single, f64::asin;
    /// The arccosine.
    Acos 0.51 long trig::acos_single, f64::acos;
    /// The arctangent.
    Atan 0.51 long trig::atan_single, f64::atan;
    /// The inverse hyperbolic sine.
    Asinh 0.51 long log::asinh_single, libm::asinh;
    /// The inverse hyperbolic cosine; NaN below 1.
    Acosh 0.51 long log::acosh_single, special::acosh;
    /// The inverse hyperbolic tangent.
    Atanh 0.51 long log::atanh_single, libm::atanh;
    /// The cube root.
    Cbrt 0.51 long log::cbrt_single, f64::cbrt;
    /// The error function.
    Erf 6.3 short short::erf, libm::erf;
    /// One less the error function.
    Erfc 0.51 long erf::erfc_single, libm::erfc;
    /// The inverse of the error function; NaN past ±1.
    ErfInv 4.7 short short::erf_inv::<M>, special::erf_inv;
    /// `ln |Γ(x)|`.
    Lgamma 2.0 long gamma::lgamma_single, special::lgamma,
        where gamma::is_far => special::lgamma;
    /// The derivative of `ln Γ`.
    Digamma 2.0 long gamma::digamma_single, special::digamma,
        where negative => special::digamma;
}

#[inline(always)]
fn negative(x: f64) -> bool {
    x < 0.0
}

/// `x^y`.
#[derive(Debug)]
pub struct Power;

impl Function2 for Power {
    const ULPS: f64 = 0.51;

    #[inline(always)]
    fn single(x: f64, y: f64) -> f64 {
        log::pow_single(x, y)
    }

    #[inline(always)]
    fn double(x: f64, y: f64) -> f64 {
        x.powf(y)
    }
}

/// The angle of the point (y, x).
#[derive(Debug)]
pub struct Atan2;

impl Function2 for Atan2 {
    const ULPS: f64 = 0.51;

    #[inline(always)]
    fn single(y: f64, x: f64) -> f64 {
        trig::atan2_single(y, x)
    }

    #[inline(always)]
    fn double(y: f64, x: f64) -> f64 {
        y.atan2(x)
    }
}

/// The remainder of the division that truncates, with the sign of `x`.
#[derive(Debug)]
pub struct Remainder;

/// Quotients from here on have no exact product with the divisor.
const LARGE_QUOTIENT: f64 = 536_870_912.0;

impl Function2 for Remainder {
    const ULPS: f64 = 0.0;

    #[inline(always)]
    fn single(x: f64, y: f64) -> f64 {
        let (a, b) = (x.abs(), y.abs());
        let count = (a / b + polynomial::SHIFT) - polynomial::SHIFT;
        let rest = a - count * b;
        let rest = if rest < 0.0 { rest + b } else { rest };
        let rest = if b == f64::INFINITY && a < b { a } else { rest };
        rest.copysign(x)
    }

    #[inline(always)]
    fn double(x: f64, y: f64) -> f64 {
        // Libraries compute remainders bit by bit, or do not, as they like.
        (x.flushed() % y.flushed()).flushed()
    }

    #[inline(always)]
    fn is_far(x: f64, y: f64) -> bool {
        let (a, b) = (x.abs(), y.abs());
        b > 0.0 && a < f64::INFINITY && a >= b * LARGE_QUOTIENT
    }
}

pub mod complex;
pub mod complex_inverse;
pub mod complex_simd;
mod erf;
mod exp;
pub mod int_div;
mod log;
mod short;
pub mod special;
#[cfg(test)]
mod tests;
mod trig;
