//! Integers as wide as their storage.
use super::{Element, Int, Number, Real};
use crate::tensor::DType;

/// A number with the whole part of `x` in its lowest bits, for `|x|` below 2^22.
#[inline(always)]
fn whole_single(x: f32) -> u32 {
    (x.trunc() + 12_582_912.0).to_bits()
}

/// A number with the whole part of `x` in its lowest bits, for `|x|` below 2^51.
#[inline(always)]
fn whole_double(x: f64) -> u64 {
    (x.trunc() + 6_755_399_441_055_744.0).to_bits()
}

/// The quotient of integers; of zero any number.
///
/// A quotient that is no whole number is farther from one than the digits of the float.
macro_rules! quotient {
    (short $a:ident $b:ident) => {
        whole_single(f32::from($a) / f32::from($b)) as Self
    };
    (middle $a:ident $b:ident) => {
        whole_double(f64::from($a) / f64::from($b)) as Self
    };
    (long $a:ident $b:ident) => {
        if $b == 0 { 0 } else { $a.wrapping_div($b) }
    };
}

/// The whole part of a float, between the bounds; 0 for NaN.
macro_rules! whole {
    (short f32 $value:ident) => {
        whole!(@bounded whole_single, f32, $value)
    };
    (long $float:ident $value:ident) => {
        $value as Self
    };
    ($width:ident $float:ident $value:ident) => {
        whole!(@bounded whole_double, f64, f64::from($value))
    };
    (@bounded $whole:ident, $float:ident, $value:expr) => {{
        let value = $value;
        let above = if value > Self::MAX as $float { Self::MAX as $float } else { value };
        let bounded = if above < Self::MIN as $float { Self::MIN as $float } else { above };
        if value.is_nan() { 0 } else { $whole(bounded) as Self }
    }};
}

macro_rules! integers {
    ($($name:ident $dtype:ident signed $signed:literal unsigned $unsigned:ident same $same:ident
        double $double:ident $width:ident,
        magnitude $magnitude:expr, signum $signum:expr, key $key:expr;)*) => {$(
        impl Element for $name {
            const DTYPE: DType = DType::$dtype;
        }

        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_possible_wrap,
            clippy::unnecessary_cast,
            clippy::cast_lossless,
            reason = "the low bits are what is asked for"
        )]
        impl Int for $name {
            const BITS: u32 = Self::BITS;
            const SIGNED: bool = $signed;

            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn wrap(bits: u64) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn left(self, distance: Self) -> Self {
                let by = (distance as $unsigned).min(Self::BITS as $unsigned);
                if by < Self::BITS as $unsigned { self.wrapping_shl(by as u32) } else { 0 }
            }

            #[inline(always)]
            fn right(self, distance: Self) -> Self {
                let by = (distance as $unsigned).min(Self::BITS as $unsigned);
                let bits = (self as $unsigned).wrapping_shr(by as u32);
                if by < Self::BITS as $unsigned { bits as Self } else { 0 }
            }

            #[inline(always)]
            fn right_signed(self, distance: Self) -> Self {
                let by = (distance as $unsigned).min(Self::BITS as $unsigned - 1);
                (self as $same).wrapping_shr(by as u32) as Self
            }

            #[inline(always)]
            fn ones(self) -> Self {
                self.count_ones() as Self
            }

            #[inline(always)]
            fn zeros_above(self) -> Self {
                self.leading_zeros() as Self
            }

            #[inline(always)]
            fn upper_product(self, other: Self) -> Self {
                ((self as $double * other as $double) >> Self::BITS) as Self
            }
        }

        impl Number for $name {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                clippy::cast_sign_loss,
                reason = "the low bits are what is asked for"
            )]
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                let quotient = quotient!($width self other);
                if other == 0 { !0 } else { quotient }
            }

            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
        }

        impl Real for $name {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                clippy::cast_sign_loss,
                reason = "the low bits are what is asked for"
            )]
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                let quotient: Self = quotient!($width self other);
                let rest = self.wrapping_sub(quotient.wrapping_mul(other));
                if other == 0 { self } else { rest }
            }

            #[inline(always)]
            fn nan_max(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn nan_min(self, other: Self) -> Self {
                self.min(other)
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
                let key: fn(Self) -> i64 = $key;
                key(self)
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                let magnitude: fn(Self) -> Self = $magnitude;
                magnitude(self)
            }

            #[inline(always)]
            fn sign(self) -> Self {
                let signum: fn(Self) -> Self = $signum;
                signum(self)
            }

            #[inline(always)]
            #[allow(clippy::cast_precision_loss, reason = "to the nearest is what is asked for")]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            #[allow(clippy::cast_precision_loss, reason = "to the nearest is what is asked for")]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the conversion truncates and saturates"
            )]
            #[allow(clippy::cast_sign_loss, reason = "negative numbers saturate at 0")]
            fn from_f32(value: f32) -> Self {
                whole!($width f32 value)
            }

            #[inline(always)]
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the conversion truncates and saturates"
            )]
            #[allow(clippy::cast_sign_loss, reason = "negative numbers saturate at 0")]
            fn from_f64(value: f64) -> Self {
                whole!($width f64 value)
            }
        }
    )*};
}

integers! {
    i8 S8 signed true unsigned u8 same i8
        double i16 short,
        magnitude i8::wrapping_abs, signum i8::signum, key i64::from;
    i16 S16 signed true unsigned u16 same i16
        double i32 short,
        magnitude i16::wrapping_abs, signum i16::signum, key i64::from;
    i32 S32 signed true unsigned u32 same i32
        double i64 middle,
        magnitude i32::wrapping_abs, signum i32::signum, key i64::from;
    i64 S64 signed true unsigned u64 same i64
        double i128 long,
        magnitude i64::wrapping_abs, signum i64::signum, key |x| x;
    u8 U8 signed false unsigned u8 same i8
        double u16 short,
        magnitude |x| x, signum |x| x.min(1), key i64::from;
    u16 U16 signed false unsigned u16 same i16
        double u32 short,
        magnitude |x| x, signum |x| x.min(1), key i64::from;
    u32 U32 signed false unsigned u32 same i32
        double u64 middle,
        magnitude |x| x, signum |x| x.min(1), key i64::from;
    u64 U64 signed false unsigned u64 same i64
        double u128 long,
        magnitude |x| x, signum |x| x.min(1), key |x| (x ^ 1 << 63).cast_signed();
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the language's own conversions are what is compared with"
)]
mod tests {
    use super::*;
    use crate::tensor::element::{S4, U4};

    #[test]
    fn division_by_zero_and_overflow_have_values() {
        assert_eq!((Number::div(7_i32, 0), Real::rem(7_i32, 0)), (-1, 7));
        assert_eq!((Number::div(7_u8, 0), Real::rem(7_u8, 0)), (255, 7));
        assert_eq!((Number::div(i64::MIN, -1), Real::rem(i64::MIN, -1)), (i64::MIN, 0));
        assert_eq!(
            (S4(-8).div(S4(-1)), S4(7).div(S4(0)), U4(7).div(U4(0))),
            (S4(-8), S4(-1), U4(15))
        );
    }

    #[test]
    fn floats_are_cut_as_the_language_does() {
        let numbers = (0..u32::MAX / 65_003).map(|i| f32::from_bits(i * 65_003));
        let near = [0.0, 0.999_999_94, 127.999_99, 128.0, 255.5, 65_535.996, 2_147_483_648.0];
        let ends = near.into_iter().flat_map(|x| [x, -x]).chain([f32::NAN, f32::INFINITY]);
        macro_rules! same {
            ($($name:ident)*) => {$(
                for x in numbers.clone().chain(ends.clone()) {
                    assert_eq!($name::from_f32(x), x as $name, "{x:e}");
                    let wide = f64::from(x) * (1.0 - f64::EPSILON);
                    assert_eq!($name::from_f64(wide), wide as $name, "{wide:e}");
                }
            )*};
        }
        same!(i8 i16 i32 i64 u8 u16 u32 u64);
    }

    #[test]
    fn quotients_and_rests_are_those_of_integers() {
        let wide = [0, 1, 2, 3, 7, 127, 128, 255, 46_341, 65_535, i32::MAX, i32::MIN, i32::MIN + 1];
        let numbers = wide.into_iter().flat_map(|x| [x, -(x & i32::MAX)]);
        macro_rules! same {
            ($($name:ident)*) => {$(
                for a in numbers.clone().map(|x| x as $name) {
                    for b in numbers.clone().map(|x| x as $name).filter(|&b| b != 0) {
                        assert_eq!(Number::div(a, b), a.wrapping_div(b), "{a} / {b}");
                        assert_eq!(Real::rem(a, b), a.wrapping_rem(b), "{a} % {b}");
                    }
                }
            )*};
        }
        same!(i8 i16 i32 i64 u8 u16 u32 u64);
    }

    #[test]
    fn narrow_integers_wrap_to_their_width() {
        assert_eq!((S4(7).add(S4(1)), U4(15).add(U4(2)), S4(-8).neg()), (S4(-8), U4(1), S4(-8)));
        assert_eq!(
            (S4::from_f32(99.0), S4::from_f32(-99.0), U4::from_f32(-1.0)),
            (S4(7), S4(-8), U4(0))
        );
    }
}
