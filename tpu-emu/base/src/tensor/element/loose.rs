//! Integers and booleans narrower than a byte, one to a byte.
use super::{Element, Int, Number, Real};
use crate::tensor::DType;
use bytemuck::{Pod, Zeroable};

/// One element of `DType::Pred`: 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Pred(pub u8);

impl Element for Pred {
    const DTYPE: DType = DType::Pred;
}

impl From<bool> for Pred {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

impl From<Pred> for bool {
    fn from(value: Pred) -> Self {
        value.0 != 0
    }
}

macro_rules! loose_integers {
    ($($name:ident($byte:ident) $bits:literal $signed:literal;)*) => {$(
        #[doc = concat!("One element of `DType::", stringify!($name), "`, extended to a byte.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(pub $byte);

        impl Element for $name {
            const DTYPE: DType = DType::$name;
        }

        impl Int for $name {
            const BITS: u32 = $bits;
            const SIGNED: bool = $signed;

            #[inline(always)]
            fn bits(self) -> u64 {
                self.0.bits()
            }

            #[inline(always)]
            fn wrap(bits: u64) -> Self {
                // Shifting up and down extends the sign of a signed byte.
                Self(<$byte>::wrap(bits << (8 - $bits)) >> (8 - $bits))
            }
        }

        impl Number for $name {
            const ZERO: Self = Self(0);
            const ONE: Self = Self(1 << (8 - $bits) >> (8 - $bits));

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self::wrap(self.bits().wrapping_add(other.bits()))
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self::wrap(self.bits().wrapping_sub(other.bits()))
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self::wrap(self.bits().wrapping_mul(other.bits()))
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                Self::wrap(Number::div(self.0, other.0).bits())
            }

            #[inline(always)]
            fn neg(self) -> Self {
                Self::wrap(self.bits().wrapping_neg())
            }
        }

        impl Real for $name {
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                Self(Real::rem(self.0, other.0))
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
                self.0.order_key()
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                Self::wrap(self.0.magnitude().bits())
            }

            #[inline(always)]
            fn sign(self) -> Self {
                Self::wrap(Real::sign(self.0).bits())
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self.0.into()
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.0.into()
            }

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                Self::from_f64(value.into())
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                let byte = <$byte as Real>::from_f64(value);
                Self(byte.clamp(<$byte>::MIN >> (8 - $bits), <$byte>::MAX >> (8 - $bits)))
            }
        }
    )*};
}

loose_integers! {
    S1(i8) 1 true;
    S2(i8) 2 true;
    S4(i8) 4 true;
    U1(u8) 1 false;
    U2(u8) 2 false;
    U4(u8) 4 false;
}
