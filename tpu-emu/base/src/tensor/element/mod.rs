//! The Rust type of one element, and the arithmetic that kernels share.
//!
//! Integers wrap. Floats narrower than 32 bits compute in `f32` and round once.
mod complex;
mod convert;
mod dispatch;
mod float;
mod integer;
mod loose;
mod sixteen;

use super::DType;
pub use super::small_float::{
    F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN, F8E4M3FNUZ, F8E5M2,
    F8E5M2FNUZ, F8E8M0FNU, for_each_small_float,
};
use bytemuck::Pod;
pub use convert::Convert;
pub use dispatch::for_dtype;
pub use half::{bf16, f16};
pub use loose::{Pred, S1, S2, S4, U1, U2, U4};
pub use num_complex::Complex;
use std::fmt::Debug;

/// One element as programs store it.
pub trait Element: Pod + PartialEq + Debug + Send + Sync {
    /// The element type.
    const DTYPE: DType;
    /// Whether loops over it are compiled for every vector width.
    const COMMON: bool = matches!(
        Self::DTYPE,
        DType::Bf16
            | DType::F16
            | DType::F32
            | DType::F64
            | DType::Pred
            | DType::S8
            | DType::S16
            | DType::S32
            | DType::S64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::C64
            | DType::C128
    );
}

/// A number: an integer, a float or a complex number.
pub trait Number: Element {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// `self + other`.
    #[must_use]
    fn add(self, other: Self) -> Self;

    /// `self - other`.
    #[must_use]
    fn sub(self, other: Self) -> Self;

    /// `self · other`.
    #[must_use]
    fn mul(self, other: Self) -> Self;

    /// `self / other`. Integers truncate; division by zero gives all ones.
    #[must_use]
    fn div(self, other: Self) -> Self;

    /// `-self`.
    #[must_use]
    fn neg(self) -> Self;
}

/// A number with an order.
pub trait Real: Number {
    /// The remainder of the division that truncates, with the sign of `self`; `self` for an
    /// integer zero as `other`.
    #[must_use]
    fn rem(self, other: Self) -> Self;

    /// The larger one; NaN if either is NaN; -0 is less than +0.
    #[must_use]
    fn nan_max(self, other: Self) -> Self;

    /// The smaller one; NaN if either is NaN; -0 is less than +0.
    #[must_use]
    fn nan_min(self, other: Self) -> Self;

    /// Whether `self < other`; no NaN is.
    fn less(self, other: Self) -> bool;

    /// Whether the numbers are equal; no NaN is, both zeros are.
    fn same(self, other: Self) -> bool;

    /// A number that orders floats totally: -NaN, -∞, …, -0, +0, …, +∞, NaN. Integers are their
    /// own key, an unsigned one with its highest bit flipped.
    fn order_key(self) -> i64;

    /// `|self|`; the smallest signed integer is its own.
    #[must_use]
    fn magnitude(self) -> Self;

    /// -1, 0 or 1; zeros and NaN are their own.
    #[must_use]
    fn sign(self) -> Self;

    /// The nearest `f32`.
    fn to_f32(self) -> f32;

    /// The nearest `f64`.
    fn to_f64(self) -> f64;

    /// The nearest number; integers truncate and saturate, and are 0 for NaN.
    fn from_f32(value: f32) -> Self;

    /// The nearest number; integers truncate and saturate, and are 0 for NaN.
    fn from_f64(value: f64) -> Self;
}

/// An integer.
pub trait Int: Real + Ord {
    /// The width.
    const BITS: u32;
    /// Whether it can be negative.
    const SIGNED: bool;

    /// The value with its sign extended to 64 bits.
    fn bits(self) -> u64;

    /// The value of the lowest bits.
    fn wrap(bits: u64) -> Self;

    /// The bits that are set in both.
    #[must_use]
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self::wrap(self.bits() & other.bits())
    }

    /// The bits that are set in either.
    #[must_use]
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self::wrap(self.bits() | other.bits())
    }

    /// The bits in which they differ.
    #[must_use]
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self::wrap(self.bits() ^ other.bits())
    }

    /// How far to shift by this number: the width for everything that is not below it.
    #[inline(always)]
    fn distance(self) -> u32 {
        // A negative number has its highest bits set.
        u32::try_from(self.bits().min(Self::BITS.into())).unwrap_or(Self::BITS)
    }

    /// The bits moved up; zero for a distance of the width or more.
    #[must_use]
    #[inline(always)]
    fn left(self, distance: Self) -> Self {
        let by = distance.distance();
        Self::wrap(if by < Self::BITS { self.bits() << by } else { 0 })
    }

    /// The bits moved down; zero for a distance of the width or more.
    #[must_use]
    #[inline(always)]
    fn right(self, distance: Self) -> Self {
        let by = distance.distance();
        let bits = self.bits() & (u64::MAX >> (64 - Self::BITS));
        Self::wrap(if by < Self::BITS { bits >> by } else { 0 })
    }

    /// The bits moved down with copies of the highest bit above them.
    #[must_use]
    #[inline(always)]
    fn right_signed(self, distance: Self) -> Self {
        let unused = 64 - Self::BITS;
        let signed = (self.bits() << unused).cast_signed() >> unused;
        Self::wrap((signed >> distance.distance().min(Self::BITS - 1)).cast_unsigned())
    }

    /// How many bits are set.
    #[must_use]
    #[inline(always)]
    fn ones(self) -> Self {
        Self::wrap((self.bits() << (64 - Self::BITS)).count_ones().into())
    }

    /// How many bits above the highest one that is set.
    #[must_use]
    #[inline(always)]
    fn zeros_above(self) -> Self {
        let zeros = (self.bits() << (64 - Self::BITS)).leading_zeros();
        Self::wrap(zeros.min(Self::BITS).into())
    }

    /// The upper half of the product.
    #[must_use]
    #[inline(always)]
    fn upper_product(self, other: Self) -> Self {
        // Both have at most eight bits where this is not written anew.
        Self::wrap((self.bits().wrapping_mul(other.bits())) >> Self::BITS)
    }
}

/// A float.
pub trait Float: Real {
    /// The type it computes in: `f64` for `f64`, else `f32`.
    type Wide: Wide;

    /// The same number in the type to compute in.
    fn widen(self) -> Self::Wide;

    /// The nearest number.
    fn narrow(wide: Self::Wide) -> Self;
}

/// A float that computes in itself.
pub trait Wide: Float<Wide = Self> + num_traits::Float + num_traits::FloatConst {
    /// The number; a zero of its sign for a subnormal one where the thread flushes those. For
    /// results that come about without arithmetic.
    #[must_use]
    fn flushed(self) -> Self;
}

/// A complex number.
pub trait ComplexNumber: Number {
    /// The type of its parts.
    type Part: Wide;

    /// As the library's type.
    fn parts(self) -> Complex<Self::Part>;

    /// From the library's type.
    fn from_parts(parts: Complex<Self::Part>) -> Self;

    /// In double precision.
    fn widen(self) -> Complex<f64>;

    /// The nearest number.
    fn narrow(wide: Complex<f64>) -> Self;
}
