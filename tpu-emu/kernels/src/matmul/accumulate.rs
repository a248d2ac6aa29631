//! The types that products are computed in.
use super::gemm_crate;
use super::gemm_crate::{Extent, Matrix};
use super::integer;
use super::widen::Widen;
use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

/// How a number is made fit for the multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Not at all.
    Exact,
    /// To the nearest bf16.
    Bf16,
    /// To the nearest f16.
    F16,
    /// To the nearest number with ten bits after the point.
    Tf32,
}

/// A type that products are computed in.
pub trait Work: Pod + Send + Sync + Widen {
    /// 0.
    const ZERO: Self;

    /// `result = lhs·rhs`, or `result += lhs·rhs`, with the result's rows `stride` apart.
    fn product(
        extent: Extent,
        result: &mut [Self],
        stride: usize,
        add: bool,
        lhs: Matrix<'_, Self>,
        rhs: Matrix<'_, Self>,
    );

    /// The number rounded.
    #[must_use]
    fn round(self, rounding: Rounding) -> Self;

    /// What rounding lost.
    #[must_use]
    fn rest(self, rounded: Self) -> Self;

    /// Zero in place of NaN.
    #[must_use]
    fn without_nan(self) -> Self;
}

/// Rounds to the nearest, ties to even. Infinities stay, NaN stays NaN.
#[inline(always)]
pub(crate) fn round_f32(value: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::Exact => value,
        Rounding::Bf16 => round_bits::<16>(value),
        Rounding::Tf32 => round_bits::<13>(value),
        Rounding::F16 => f16::from_f32(value).to_f32(),
    }
}

/// Clears the `BITS` lowest bits, rounding to the nearest, ties to even.
#[inline(always)]
fn round_bits<const BITS: u32>(value: f32) -> f32 {
    let bits = value.to_bits();
    let half = (1 << (BITS - 1)) - 1 + ((bits >> BITS) & 1);
    let rounded = f32::from_bits(bits.wrapping_add(half) & !((1 << BITS) - 1));
    if value.is_nan() { value } else { rounded }
}

impl Work for f32 {
    const ZERO: Self = 0.0;

    fn product(
        extent: Extent,
        result: &mut [Self],
        stride: usize,
        add: bool,
        lhs: Matrix<'_, Self>,
        rhs: Matrix<'_, Self>,
    ) {
        gemm_crate::product(extent, result, stride, (add, 1.0, 1.0), lhs, rhs);
    }

    #[inline(always)]
    fn round(self, rounding: Rounding) -> Self {
        round_f32(self, rounding)
    }

    #[inline(always)]
    fn rest(self, rounded: Self) -> Self {
        self - rounded
    }

    #[inline(always)]
    fn without_nan(self) -> Self {
        if self.is_nan() { 0.0 } else { self }
    }
}

impl Work for f64 {
    const ZERO: Self = 0.0;

    fn product(
        extent: Extent,
        result: &mut [Self],
        stride: usize,
        add: bool,
        lhs: Matrix<'_, Self>,
        rhs: Matrix<'_, Self>,
    ) {
        gemm_crate::product(extent, result, stride, (add, 1.0, 1.0), lhs, rhs);
    }

    #[inline(always)]
    fn round(self, rounding: Rounding) -> Self {
        match rounding {
            Rounding::Exact | Rounding::Tf32 => self,
            Rounding::Bf16 => bf16::from_f64(self).to_f64(),
            Rounding::F16 => f16::from_f64(self).to_f64(),
        }
    }

    #[inline(always)]
    fn rest(self, rounded: Self) -> Self {
        self - rounded
    }

    #[inline(always)]
    fn without_nan(self) -> Self {
        if self.is_nan() { 0.0 } else { self }
    }
}

/// Complex numbers, part by part.
macro_rules! complex {
    ($part:ty) => {
        impl Work for Complex<$part> {
            const ZERO: Self = Self::new(0.0, 0.0);

            fn product(
                extent: Extent,
                result: &mut [Self],
                stride: usize,
                add: bool,
                lhs: Matrix<'_, Self>,
                rhs: Matrix<'_, Self>,
            ) {
                let one = Self::new(1.0, 0.0);
                gemm_crate::product(extent, result, stride, (add, one, one), lhs, rhs);
            }

            #[inline(always)]
            fn round(self, rounding: Rounding) -> Self {
                Self::new(self.re.round_to(rounding), self.im.round_to(rounding))
            }

            #[inline(always)]
            fn rest(self, rounded: Self) -> Self {
                self - rounded
            }

            #[inline(always)]
            fn without_nan(self) -> Self {
                Self::new(Work::without_nan(self.re), Work::without_nan(self.im))
            }
        }
    };
}

/// [`Work::round`] under a name that floats do not have themselves.
trait RoundTo: Work {
    fn round_to(self, rounding: Rounding) -> Self {
        Work::round(self, rounding)
    }
}

impl RoundTo for f32 {}
impl RoundTo for f64 {}

complex!(f32);
complex!(f64);

/// Integers modulo their size; nothing is rounded.
macro_rules! integer {
    ($type:ty) => {
        impl Work for $type {
            const ZERO: Self = 0;

            fn product(
                extent: Extent,
                result: &mut [Self],
                stride: usize,
                add: bool,
                lhs: Matrix<'_, Self>,
                rhs: Matrix<'_, Self>,
            ) {
                integer::product(extent, result, stride, add, lhs, rhs);
            }

            #[inline(always)]
            fn round(self, _: Rounding) -> Self {
                self
            }

            #[inline(always)]
            fn rest(self, rounded: Self) -> Self {
                self.wrapping_sub(rounded)
            }

            #[inline(always)]
            fn without_nan(self) -> Self {
                self
            }
        }
    };
}

integer!(u32);
integer!(u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_goes_to_the_nearest_and_ties_go_to_even() {
        for bits in (0..=u32::MAX).step_by(65_521 * 3) {
            let value = f32::from_bits(bits);
            let expected = bf16::from_f32(value).to_f32();
            let rounded = round_f32(value, Rounding::Bf16);
            assert!(rounded == expected || (value.is_nan() && rounded.is_nan()), "{value:e}");
        }
        let ulp = 2_f32.powi(-10);
        assert_eq!(round_f32(1.0 + ulp / 2.0, Rounding::Tf32), 1.0);
        assert_eq!(round_f32(1.0 + ulp * 1.5, Rounding::Tf32), 1.0 + 2.0 * ulp);
        assert_eq!(round_f32(f32::MAX, Rounding::Bf16), f32::INFINITY);
        assert_eq!(round_f32(f32::NEG_INFINITY, Rounding::Bf16), f32::NEG_INFINITY);
    }
}
