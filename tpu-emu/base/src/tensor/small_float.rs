//! Floats of eight bits and fewer, one to a byte: what a byte means, and the byte of a number.
use bytemuck::{Pod, Zeroable};

/// How a format spends its highest codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// Infinities and NaNs under the highest exponent.
    Ieee,
    /// One NaN of each sign, all bits set; no infinity.
    Fn,
    /// One NaN in the place of the negative zero; no infinity.
    Fnuz,
    /// Finite numbers only: what is too large becomes the largest, NaN becomes the negative zero.
    Finite,
    /// A power of two without sign or zero; all bits set is NaN.
    Exponent,
}

/// The numbers of a format.
#[derive(Debug, Clone, Copy)]
struct SmallFloatFormat {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

impl SmallFloatFormat {
    /// Bits without the sign.
    #[inline(always)]
    const fn width(self) -> u32 {
        self.exponent_bits + self.mantissa_bits
    }

    #[inline(always)]
    const fn sign(self) -> u8 {
        match self.specials {
            Specials::Exponent => 0,
            _ => 1 << self.width(),
        }
    }

    /// The code of the largest finite number.
    #[inline(always)]
    const fn largest(self) -> u32 {
        let codes = 1 << self.width();
        match self.specials {
            Specials::Ieee => codes - (1 << self.mantissa_bits) - 1,
            Specials::Fn | Specials::Exponent => codes - 2,
            Specials::Fnuz | Specials::Finite => codes - 1,
        }
    }

    /// The code of NaN without its sign.
    #[inline(always)]
    const fn nan(self) -> u8 {
        let all = self.sign().wrapping_sub(1);
        match self.specials {
            // The quiet NaN with an otherwise empty mantissa.
            Specials::Ieee => all & !((1 << (self.mantissa_bits - 1)) - 1),
            Specials::Fn | Specials::Exponent => all,
            Specials::Fnuz | Specials::Finite => self.sign(),
        }
    }

    /// The code of one: an exponent of zero, and no digit behind the point.
    const fn one(self) -> u8 {
        #[expect(clippy::cast_possible_truncation, reason = "codes have eight bits")]
        let code = (self.bias.cast_unsigned() << self.mantissa_bits) as u8;
        code
    }

    /// The bits of the `f32` that equals a code.
    const fn decode(self, code: u8) -> u32 {
        const NAN: u32 = 0x7fc0_0000;
        let negative = code & self.sign() != 0;
        let sign = if negative { 1 << 31 } else { 0 };
        let code = code as u32 & ((1 << self.width()) - 1);
        if code > self.largest() {
            let infinite = matches!(self.specials, Specials::Ieee) && code == self.largest() + 1;
            return if infinite { sign | 0x7f80_0000 } else { sign | NAN };
        }
        if matches!(self.specials, Specials::Fnuz) && negative && code == 0 {
            return NAN | 1 << 31;
        }
        if matches!(self.specials, Specials::Exponent) {
            // The smallest power is a subnormal `f32`.
            return if code == 0 { 1 << 22 } else { code << 23 };
        }
        let exponent = code >> self.mantissa_bits;
        let mantissa = code & ((1 << self.mantissa_bits) - 1);
        if exponent == 0 {
            if mantissa == 0 {
                return sign;
            }
            // A subnormal number is a normal `f32`.
            let shift = mantissa.leading_zeros() - (31 - self.mantissa_bits);
            let fraction = (mantissa << shift) & ((1 << self.mantissa_bits) - 1);
            let biased = (128 - self.bias).cast_unsigned() - shift;
            return sign | biased << 23 | fraction << (23 - self.mantissa_bits);
        }
        let biased = exponent + (127 - self.bias).cast_unsigned();
        sign | biased << 23 | mantissa << (23 - self.mantissa_bits)
    }

    const fn table(self) -> [f32; 256] {
        let mut table = [0.0; 256];
        let mut code = 0;
        while code < 256 {
            #[expect(clippy::cast_possible_truncation, reason = "codes end at 255")]
            let value = f32::from_bits(self.decode(code as u8));
            table[code] = value;
            code += 1;
        }
        table
    }

    /// The code nearest to a number; ties go to the even code, in a format without mantissa up.
    fn encode(self, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_nan() {
            return match self.specials {
                Specials::Ieee | Specials::Fn => sign | self.nan(),
                Specials::Fnuz | Specials::Finite | Specials::Exponent => self.nan(),
            };
        }
        let bits = value.abs().to_bits();
        if matches!(self.specials, Specials::Exponent) {
            return if value > 0.0 && value.is_finite() { self.power(bits) } else { self.nan() };
        }
        // Steps of the smallest mantissa digit at the number's exponent, counted in the code.
        let lowest = 1023 - i64::from(self.bias) + 1;
        let exponent = (bits >> 52).cast_signed();
        let code = if exponent >= 1023 + 128 {
            u64::from(self.largest()) + 1
        } else {
            let drop = 52 - i64::from(self.mantissa_bits) + (lowest - exponent).max(0);
            if drop > 54 {
                0
            } else {
                let implicit = u64::from(exponent > 0) << 52;
                let digits = bits & ((1 << 52) - 1) | implicit;
                let base = (exponent - lowest).max(0).cast_unsigned() << self.mantissa_bits;
                base + round_off(digits, drop)
            }
        };
        match u8::try_from(code.min(u64::from(self.largest()) + 1)) {
            Ok(0) if matches!(self.specials, Specials::Fnuz) => 0,
            Ok(code) if u32::from(code) <= self.largest() => sign | code,
            // Past the largest: infinity is the next code where there is one.
            Ok(code) if matches!(self.specials, Specials::Ieee) => sign | code,
            _ => match self.specials {
                Specials::Finite => sign | (self.sign() - 1),
                Specials::Fnuz => self.nan(),
                _ => sign | self.nan(),
            },
        }
    }

    /// Encodes a number of single precision, without branches where there is a mantissa.
    #[inline(always)]
    fn encode_single(self, value: f32) -> u8 {
        if matches!(self.specials, Specials::Exponent) {
            // A product, as the conversion of a subnormal number may be a zero.
            let digits = value.to_bits() & 0x007f_ffff;
            let subnormal = value.is_sign_positive() && value.to_bits() == digits;
            let tiny = f64::from(digits) * f64::from_bits((1023 - 149) << 52);
            return self.encode(if subnormal { tiny } else { value.into() });
        }
        let size = value.to_bits() & !(1 << 31);
        let sign = if value.to_bits() >> 31 != 0 { self.sign() } else { 0 };
        let lowest = (127 + 1 - self.bias).cast_unsigned() << 23;
        let drop = 23 - self.mantissa_bits;
        let half = (1 << (drop - 1)) - 1 + (size >> drop & 1);
        let below = (127 - self.bias).cast_unsigned() << self.mantissa_bits;
        let normal = (size.wrapping_add(half) >> drop).wrapping_sub(below);
        // A power of two whose last digit is that of the smallest number.
        let base = lowest + (drop << 23);
        let sum = f32::from_bits(size) + f32::from_bits(base);
        let code = if size < lowest { sum.to_bits().wrapping_sub(base) } else { normal };
        let past = self.largest() + 1;
        #[expect(clippy::cast_possible_truncation, reason = "codes have eight bits")]
        let finite = code.min(past) as u8;
        let too_large = match self.specials {
            Specials::Ieee => sign | finite,
            Specials::Finite => sign | (self.sign() - 1),
            Specials::Fnuz => self.nan(),
            _ => sign | self.nan(),
        };
        let nan = match self.specials {
            Specials::Fnuz | Specials::Finite => self.nan(),
            _ => sign | self.nan(),
        };
        let unsigned_zero = matches!(self.specials, Specials::Fnuz) && code == 0;
        let signed = if unsigned_zero { 0 } else { sign | finite };
        let number = if code >= past { too_large } else { signed };
        if size > f32::INFINITY.to_bits() { nan } else { number }
    }

    /// The code of the power of two nearest to the positive number with these bits; of two the
    /// larger.
    fn power(self, bits: u64) -> u8 {
        let rounded = ((bits + (1 << 51)) >> 52).cast_signed();
        let code = rounded - (1023 - i64::from(self.bias));
        u8::try_from(code.max(0)).unwrap_or(self.nan())
    }
}

/// `digits / 2^drop`, rounded to nearest, ties to even.
fn round_off(digits: u64, drop: i64) -> u64 {
    let half = 1_u64 << (drop - 1);
    let kept = digits >> drop;
    let rest = digits & ((half << 1) - 1);
    kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
}

macro_rules! small_floats {
    ($($name:ident $exponent:literal $mantissa:literal bias $bias:literal $specials:ident;)*) => {
        $(
            #[doc = concat!("One element of `DType::", stringify!($name), "`.")]
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
            #[repr(transparent)]
            pub struct $name(pub u8);

            impl $name {
                const FORMAT: SmallFloatFormat = SmallFloatFormat {
                    exponent_bits: $exponent,
                    mantissa_bits: $mantissa,
                    bias: $bias,
                    specials: Specials::$specials,
                };
                const TABLE: &[f32; 256] = &Self::FORMAT.table();

                /// The bit of the sign; 0 where there is none.
                pub const SIGN: u8 = Self::FORMAT.sign();
                /// Whether NaN has the code that would be that of the negative zero.
                pub const NAN_IS_NEGATIVE_ZERO: bool =
                    matches!(Self::FORMAT.specials, Specials::Fnuz);
                /// The number one.
                pub const ONE: Self = Self(Self::FORMAT.one());

                /// The number, exactly.
                #[inline(always)]
                pub fn to_f32(self) -> f32 {
                    Self::TABLE[usize::from(self.0)]
                }

                /// The nearest number, ties to the even code.
                #[inline(always)]
                pub fn from_f32(value: f32) -> Self {
                    Self(Self::FORMAT.encode_single(value))
                }

                /// The nearest number, ties to the even code.
                pub fn from_f64(value: f64) -> Self {
                    Self(Self::FORMAT.encode(value))
                }
            }
        )*
    };
}

/// Calls a macro with the names of the floats of eight bits and fewer, behind what else it is told.
#[macro_export]
macro_rules! for_each_small_float {
    ($callback:ident $($more:tt)*) => {
        $callback! {
            $($more)* F4E2M1FN F6E2M3FN F6E3M2FN F8E3M4 F8E4M3 F8E4M3B11FNUZ F8E4M3FN F8E4M3FNUZ
            F8E5M2 F8E5M2FNUZ F8E8M0FNU
        }
    };
}
pub use for_each_small_float;

small_floats! {
    F4E2M1FN 2 1 bias 1 Finite;
    F6E2M3FN 2 3 bias 1 Finite;
    F6E3M2FN 3 2 bias 3 Finite;
    F8E3M4 3 4 bias 3 Ieee;
    F8E4M3 4 3 bias 7 Ieee;
    F8E4M3B11FNUZ 4 3 bias 11 Fnuz;
    F8E4M3FN 4 3 bias 7 Fn;
    F8E4M3FNUZ 4 3 bias 8 Fnuz;
    F8E5M2 5 2 bias 15 Ieee;
    F8E5M2FNUZ 5 2 bias 16 Fnuz;
    F8E8M0FNU 8 0 bias 127 Exponent;
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! round_trips {
        ($($name:ident $bits:literal),*) => {$(
            for code in 0..=u8::MAX >> (8 - $bits) {
                let value = $name(code).to_f32();
                let back = $name::from_f32(value);
                assert!(
                    back.0 == code || value.is_nan() && back.to_f32().is_nan(),
                    "{} {code:#x} {value} {back:?}", stringify!($name)
                );
            }
        )*};
    }

    #[test]
    fn every_number_survives_a_round_trip_through_f32() {
        round_trips!(
            F4E2M1FN 4, F6E2M3FN 6, F6E3M2FN 6, F8E3M4 8, F8E4M3 8, F8E4M3B11FNUZ 8, F8E4M3FN 8,
            F8E4M3FNUZ 8, F8E5M2 8, F8E5M2FNUZ 8, F8E8M0FNU 8
        );
    }

    #[test]
    fn single_precision_is_encoded_as_double_is() {
        macro_rules! same {
            ($($name:ident)*) => {$(
                for bits in (0..u32::MAX / 40_009).map(|i| i * 40_009) {
                    let value = f32::from_bits(bits);
                    let expected = $name::from_f64(value.into());
                    assert_eq!($name::from_f32(value), expected, "{value:e}");
                }
                // Ties, and their neighbours.
                for code in 0..u8::MAX {
                    let middle = ($name(code).to_f32() + $name(code + 1).to_f32()) / 2.0;
                    for bits in [-1, 0, 1].map(|step| middle.to_bits().wrapping_add_signed(step)) {
                        let value = f32::from_bits(bits);
                        let expected = $name::from_f64(value.into());
                        assert_eq!($name::from_f32(value), expected, "{value:e}");
                    }
                }
            )*};
        }
        for_each_small_float!(same);
    }

    #[test]
    fn special_numbers_take_the_codes_that_ml_dtypes_gives_them() {
        let numbers = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 6.0, 5.9, 28.0, 1e-40];
        let of = |encode: fn(f32) -> u8| numbers.map(encode);
        assert_eq!(of(|x| F4E2M1FN::from_f32(x).0), [8, 7, 15, 8, 7, 7, 7, 0]);
        assert_eq!(of(|x| F6E2M3FN::from_f32(x).0), [0x20, 0x1f, 0x3f, 0x20, 0x1c, 0x1c, 0x1f, 0]);
        assert_eq!(of(|x| F8E4M3FN::from_f32(x).0), [0x7f, 0x7f, 0xff, 0x80, 0x4c, 0x4c, 0x5e, 0]);
        assert_eq!(of(|x| F8E4M3FNUZ::from_f32(x).0), [0x80, 0x80, 0x80, 0, 0x54, 0x54, 0x66, 0]);
        assert_eq!(of(|x| F8E5M2::from_f32(x).0), [0x7e, 0x7c, 0xfc, 0x80, 0x46, 0x46, 0x4f, 0]);
        assert_eq!(of(|x| F8E3M4::from_f32(x).0), [0x78, 0x70, 0xf0, 0x80, 0x58, 0x58, 0x70, 0]);
        assert_eq!(of(|x| F8E8M0FNU::from_f32(x).0), [0xff, 0xff, 0xff, 0xff, 0x82, 0x81, 0x84, 0]);
    }
}
