//! `stablehlo.power`: powers.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{ComplexNumber, Int, for_dtype};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::math;
use tpu_kernels::math::complex;

pub(super) const OP: Entry =
    Entry::elementwise("power", same::<2>, lower).within(math::ulps2::<math::Power>());

/// `lhs^rhs`. Integers wrap; a negative exponent gives 0 for integers other than 1 and -1.
///
/// Shapes: operands and result `[d..]`.
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for booleans.
/// Source: StableHLO specification, "power", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = math::binary::<math::Power>(dtype)
        .or_else(|| for_dtype!(dtype, T: Int => lane!(|a: T, b: T| power(a, b))))
        .or_else(|| {
            for_dtype!(dtype, T: Complex => {
                lane!(|a: T, b: T| T::narrow(complex::power(a.widen(), b.widen())))
            })
        });
    lane_of(site, ElementwiseKind::Power, run, true)
}

/// By squaring, modulo the width.
fn power<T: Int>(base: T, exponent: T) -> T {
    let minus_one = T::ZERO.sub(T::ONE);
    let odd = exponent.bits() & 1 == 1;
    if T::SIGNED && exponent < T::ZERO {
        return match base {
            one if one == T::ONE => one,
            one if one == minus_one && odd => one,
            one if one == minus_one => T::ONE,
            _ => T::ZERO,
        };
    }
    let mut left = exponent.bits();
    let (mut square, mut result) = (base, T::ONE);
    while left != 0 {
        if left & 1 == 1 {
            result = result.mul(square);
        }
        square = square.mul(square);
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::binary;
    use tpu_base::tensor::element::Complex;
    use tpu_stablehlo::ir::Attributes;

    #[test]
    fn integers_wrap_and_negative_exponents_give_zero() {
        let (base, exponent) = ([3_i32, 2, -1, -1, 7, 1, 0, 10], [4, -1, -3, -2, 0, -9, 0, 10]);
        let power: Vec<i32> = binary(&OP, &Attributes::default(), &base, &exponent);
        assert_eq!(power, [81, 0, -1, 1, 1, 1, 1, 1_410_065_408]);
    }

    #[test]
    fn floats_follow_ieee_and_complex_numbers_their_logarithm() {
        let powers: Vec<f32> =
            binary(&OP, &Attributes::default(), &[2.0_f32, 0.0, f32::NAN], &[0.5_f32, 0.0, 0.0]);
        assert_eq!(powers, [std::f32::consts::SQRT_2, 1.0, 1.0]);
        let i = Complex::new(0.0_f64, 1.0);
        let power: Vec<Complex<f64>> = binary(&OP, &Attributes::default(), &[i], &[i]);
        assert!((power[0].re - 0.207_879_576_350_761_9).abs() < 1e-15 && power[0].im == 0.0);
    }

    #[test]
    fn one_infinity_and_zero_have_powers_of_their_own() {
        let (infinity, nan) = (f32::INFINITY, f32::NAN);
        let bases = [(1.0, 0.0), (infinity, 0.0), (infinity, 0.0), (0.0, 0.0), (nan, 0.0)];
        let exponents = [(nan, nan), (2.0, 0.0), (-2.0, 0.0), (0.5, 0.0), (0.0, 0.0)];
        let numbers = |parts: [(f32, f32); 5]| parts.map(|(re, im)| Complex::new(re, im));
        let (bases, exponents) = (numbers(bases), numbers(exponents));
        let powers: Vec<Complex<f32>> = binary(&OP, &Attributes::default(), &bases, &exponents);
        let wanted = numbers([(1.0, 0.0), (infinity, 0.0), (0.0, 0.0), (0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(powers, wanted);
        let zero = [Complex::new(0.0_f32, 0.0)];
        let i = [Complex::new(1.0_f32, 1.0)];
        let power: Vec<Complex<f32>> = binary(&OP, &Attributes::default(), &zero, &i);
        assert!(power[0].re.is_nan() && power[0].im.is_nan());
    }
}
