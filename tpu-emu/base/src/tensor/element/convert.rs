//! From any element type to any other.
use super::{
    Complex, Element, F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN,
    F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, Float, Int, Pred, Real, S1, S2, S4, U1, U2, U4,
    bf16, f16,
};
use crate::for_each_small_float;

/// An element that becomes one of another type.
///
/// Integers wrap. Floats become integers by truncation, saturating, 0 for NaN. Everything but
/// zero is true. Complex numbers lose their imaginary part, except where the result has one.
pub trait Convert: Element {
    /// The element as another type.
    fn convert<R: Convert>(self) -> R;

    /// From an integer's bits, sign-extended where it is signed.
    fn from_integer(bits: u64, signed: bool) -> Self;

    /// From a float.
    fn from_single(value: f32) -> Self;

    /// From a float.
    fn from_double(value: f64) -> Self;

    /// From a complex number.
    fn from_complex(value: Complex<f64>) -> Self {
        Self::from_double(value.re)
    }
}

impl Convert for Pred {
    #[inline(always)]
    fn convert<R: Convert>(self) -> R {
        R::from_integer(self.0.into(), false)
    }

    #[inline(always)]
    fn from_integer(bits: u64, _: bool) -> Self {
        (bits != 0).into()
    }

    #[inline(always)]
    fn from_single(value: f32) -> Self {
        (value != 0.0).into()
    }

    #[inline(always)]
    fn from_double(value: f64) -> Self {
        (value != 0.0).into()
    }

    #[inline(always)]
    fn from_complex(value: Complex<f64>) -> Self {
        (value.re != 0.0 || value.im != 0.0).into()
    }
}

macro_rules! from_integers {
    ($($name:ident)*) => {$(
        impl Convert for $name {
            #[inline(always)]
            fn convert<R: Convert>(self) -> R {
                R::from_integer(self.bits(), Self::SIGNED)
            }

            #[inline(always)]
            fn from_integer(bits: u64, _: bool) -> Self {
                Self::wrap(bits)
            }

            #[inline(always)]
            fn from_single(value: f32) -> Self {
                <Self as Real>::from_f32(value)
            }

            #[inline(always)]
            fn from_double(value: f64) -> Self {
                <Self as Real>::from_f64(value)
            }
        }
    )*};
}

from_integers!(S1 S2 S4 i8 i16 i32 i64 U1 U2 U4 u8 u16 u32 u64);

macro_rules! from_floats {
    ($($name:ident through $wide:ident $from:ident;)*) => {$(
        impl Convert for $name {
            #[inline(always)]
            fn convert<R: Convert>(self) -> R {
                R::$from(self.widen())
            }

            #[inline(always)]
            #[expect(clippy::cast_precision_loss, reason = "the nearest is what is asked for")]
            fn from_integer(bits: u64, signed: bool) -> Self {
                let wide = if signed { bits.cast_signed() as $wide } else { bits as $wide };
                Self::$from(wide)
            }

            #[inline(always)]
            fn from_single(value: f32) -> Self {
                <Self as Real>::from_f32(value)
            }

            #[inline(always)]
            fn from_double(value: f64) -> Self {
                <Self as Real>::from_f64(value)
            }
        }
    )*};
}

from_floats! {
    f32 through f32 from_single;
    f64 through f64 from_double;
    bf16 through f32 from_single;
    f16 through f32 from_single;
}

macro_rules! from_small_floats {
    ($($name:ident)*) => { from_floats! { $($name through f32 from_single;)* } };
}

for_each_small_float!(from_small_floats);

macro_rules! from_complex_numbers {
    ($($part:ident)*) => {$(
        impl Convert for Complex<$part> {
            #[inline(always)]
            fn convert<R: Convert>(self) -> R {
                R::from_complex(Complex::new(self.re.into(), self.im.into()))
            }

            #[inline(always)]
            fn from_integer(bits: u64, signed: bool) -> Self {
                Self::new($part::from_integer(bits, signed), 0.0)
            }

            #[inline(always)]
            fn from_single(value: f32) -> Self {
                Self::new(value.into(), 0.0)
            }

            #[inline(always)]
            fn from_double(value: f64) -> Self {
                Self::new($part::from_f64(value), 0.0)
            }

            #[inline(always)]
            fn from_complex(value: Complex<f64>) -> Self {
                Self::new($part::from_f64(value.re), $part::from_f64(value.im))
            }
        }
    )*};
}

from_complex_numbers!(f32 f64);
