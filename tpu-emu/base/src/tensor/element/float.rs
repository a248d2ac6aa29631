//! Floats.
use super::{
    Element, F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN, F8E4M3FNUZ,
    F8E5M2, F8E5M2FNUZ, F8E8M0FNU, Float, Number, Real, Wide, bf16, f16, sixteen,
};
use crate::for_each_small_float;
use crate::tensor::DType;
use crate::tensor::subnormals::{one_double, one_single};

macro_rules! wide_floats {
    ($($name:ident $dtype:ident $key:ident $one:ident;)*) => {$(
        impl Element for $name {
            const DTYPE: DType = DType::$dtype;
        }

        impl Number for $name {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

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
                self * other
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }

            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
        }

        impl Real for $name {
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                (self.flushed() % other.flushed()).flushed()
            }

            #[inline(always)]
            fn nan_max(self, other: Self) -> Self {
                // The sum is NaN if either is. Of two zeros the one with more sign bits loses.
                let larger = if self == other {
                    Self::from_bits(self.to_bits() & other.to_bits())
                } else if self > other {
                    self
                } else {
                    other
                };
                let larger = larger.flushed();
                if self.is_nan() { self } else { larger }
            }

            #[inline(always)]
            fn nan_min(self, other: Self) -> Self {
                let smaller = if self == other {
                    Self::from_bits(self.to_bits() | other.to_bits())
                } else if self < other {
                    self
                } else {
                    other
                };
                let smaller = smaller.flushed();
                if self.is_nan() { self } else { smaller }
            }

            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self == other
            }

            #[inline(always)]
            fn order_key(self) -> i64 {
                let bits = self.to_bits().cast_signed();
                i64::from(if bits < 0 { !bits ^ $key::MIN } else { bits })
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn sign(self) -> Self {
                let zero = self.flushed();
                if self == 0.0 {
                    zero
                } else if self.is_nan() {
                    self
                } else {
                    Self::copysign(1.0, self)
                }
            }

            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::unnecessary_cast,
                reason = "the nearest is what is asked for"
            )]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                value.into()
            }

            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::unnecessary_cast,
                reason = "the nearest is what is asked for"
            )]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }

        impl Float for $name {
            type Wide = Self;

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }

            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }
        }

        impl Wide for $name {
            #[inline(always)]
            fn flushed(self) -> Self {
                self * $one()
            }
        }
    )*};
}

wide_floats! {
    f32 F32 i32 one_single;
    f64 F64 i64 one_double;
}

macro_rules! narrow_floats {
    ($($name:ident $dtype:ident zero $zero:expr, one $one:expr,
        read $read:expr, single $single:expr, double $double:expr;)*) => {$(
        impl Element for $name {
            const DTYPE: DType = DType::$dtype;
        }

        impl Number for $name {
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self::narrow(self.widen() + other.widen())
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self::narrow(self.widen() - other.widen())
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self::narrow(self.widen() * other.widen())
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                Self::narrow(self.widen() / other.widen())
            }

            #[inline(always)]
            fn neg(self) -> Self {
                Self::narrow(-self.widen())
            }
        }

        impl Real for $name {
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                Self::narrow(self.widen() % other.widen())
            }

            #[inline(always)]
            fn nan_max(self, other: Self) -> Self {
                Self::narrow(self.widen().nan_max(other.widen()))
            }

            #[inline(always)]
            fn nan_min(self, other: Self) -> Self {
                Self::narrow(self.widen().nan_min(other.widen()))
            }

            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self.widen() < other.widen()
            }

            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self.widen() == other.widen()
            }

            #[inline(always)]
            fn order_key(self) -> i64 {
                self.widen().order_key()
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                Self::narrow(self.widen().abs())
            }

            #[inline(always)]
            fn sign(self) -> Self {
                Self::narrow(Real::sign(self.widen()))
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                $read(self)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                $read(self).into()
            }

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                $single(value)
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $double(value)
            }
        }

        impl Float for $name {
            type Wide = f32;

            #[inline(always)]
            fn widen(self) -> f32 {
                $read(self)
            }

            #[inline(always)]
            fn narrow(wide: f32) -> Self {
                $single(wide)
            }
        }
    )*};
}

narrow_floats! {
    bf16 Bf16 zero bf16::ZERO, one bf16::ONE,
        read sixteen::of_bf16, single sixteen::bf16_of, double |x| sixteen::bf16_of(sixteen::odd(x));
    f16 F16 zero f16::ZERO, one f16::ONE,
        read sixteen::of_f16, single sixteen::f16_of, double |x| sixteen::f16_of(sixteen::odd(x));
}

macro_rules! small_floats {
    ($($name:ident)*) => {
        narrow_floats! {$(
            // Where there is no zero, the smallest number stands for it.
            $name $name zero Self(0), one Self::ONE,
                read $name::to_f32, single $name::from_f32, double $name::from_f64;
        )*}
    };
}

for_each_small_float!(small_floats);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_wins_and_negative_zero_is_less() {
        for (a, b) in [(0.0_f32, -0.0), (-0.0, 0.0)] {
            assert!(a.nan_max(b).is_sign_positive() && a.nan_min(b).is_sign_negative());
        }
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(a.nan_max(b).is_nan() && a.nan_min(b).is_nan());
        }
        assert_eq!((2.0_f32.nan_max(-3.0), 2.0_f32.nan_min(-3.0)), (2.0, -3.0));
    }

    #[test]
    fn the_order_key_orders_floats_totally() {
        let sorted = [-f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f32::INFINITY, f32::NAN];
        assert!(sorted.is_sorted_by(|a, b| a.order_key() < b.order_key()));
        assert!(sorted.map(f64::from).is_sorted_by(|a, b| a.order_key() < b.order_key()));
    }

    #[test]
    fn one_is_one_in_every_format() {
        macro_rules! ones {
            ($($name:ident)*) => { $(assert_eq!($name::ONE.to_f32(), 1.0);)* };
        }
        for_each_small_float!(ones bf16 f16);
    }
}
