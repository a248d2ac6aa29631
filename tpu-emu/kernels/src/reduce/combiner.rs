//! Folds: commutative operations on two elements, by type, with the type they accumulate in.
//!
//! What they compute is what the traits of that type say, as for the operations by themselves.
#![expect(clippy::cast_possible_truncation, reason = "sums are rounded to the type of the result")]
use crate::elementwise::kind::ElementwiseKind;
use crate::elementwise::program::{ElementwiseProgram, Register};
use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt::Debug;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Float, Int, Number, Real, Wide};

/// A commutative and associative operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combiner {
    /// Sum; the disjunction of booleans.
    Add,
    /// Product; the conjunction of booleans.
    Multiply,
    /// The larger one; NaN if either is, and +0 before -0.
    Maximum,
    /// The smaller one; NaN if either is, and -0 before +0.
    Minimum,
    /// Bitwise conjunction.
    And,
    /// Bitwise disjunction.
    Or,
    /// Bitwise difference.
    Xor,
}

impl ElementwiseProgram {
    /// The combiner that a program is which does one commutative thing to its two parameters.
    pub fn combiner(&self) -> Option<Combiner> {
        let [step] = &self.steps[..] else { return None };
        let [a, b] = step.inputs[..] else { return None };
        let both = [Register::Parameter(0), Register::Parameter(1)];
        let whole = self.parameters.len() == 2 && self.results == [Register::Step(0)];
        let fits = both == [a, b] || both == [b, a];
        if whole && fits { Combiner::of(step.op.kind) } else { None }
    }
}

impl Combiner {
    /// The combiner that an operation is; `None` where its order matters.
    pub const fn of(kind: ElementwiseKind) -> Option<Self> {
        Some(match kind {
            ElementwiseKind::Add => Self::Add,
            ElementwiseKind::Multiply => Self::Multiply,
            ElementwiseKind::Maximum => Self::Maximum,
            ElementwiseKind::Minimum => Self::Minimum,
            ElementwiseKind::And => Self::And,
            ElementwiseKind::Or => Self::Or,
            ElementwiseKind::Xor => Self::Xor,
            ElementwiseKind::Abs
            | ElementwiseKind::Acos
            | ElementwiseKind::Acosh
            | ElementwiseKind::Asin
            | ElementwiseKind::Asinh
            | ElementwiseKind::Atan
            | ElementwiseKind::Atan2
            | ElementwiseKind::Atanh
            | ElementwiseKind::BesselI1e
            | ElementwiseKind::BitcastConvert
            | ElementwiseKind::Cbrt
            | ElementwiseKind::Ceil
            | ElementwiseKind::Clamp
            | ElementwiseKind::Complex
            | ElementwiseKind::Conjugate
            | ElementwiseKind::Convert
            | ElementwiseKind::Cosh
            | ElementwiseKind::Cosine
            | ElementwiseKind::CountLeadingZeros
            | ElementwiseKind::Digamma
            | ElementwiseKind::Divide
            | ElementwiseKind::Erf
            | ElementwiseKind::ErfInv
            | ElementwiseKind::Erfc
            | ElementwiseKind::Exponential
            | ElementwiseKind::ExponentialMinusOne
            | ElementwiseKind::Floor
            | ElementwiseKind::Imaginary
            | ElementwiseKind::IsFinite
            | ElementwiseKind::IsInfinite
            | ElementwiseKind::IsNegativeInfinite
            | ElementwiseKind::IsPositiveInfinite
            | ElementwiseKind::LogGamma
            | ElementwiseKind::Log
            | ElementwiseKind::LogPlusOne
            | ElementwiseKind::Logistic
            | ElementwiseKind::MultiplyHigh
            | ElementwiseKind::Negate
            | ElementwiseKind::NextAfter
            | ElementwiseKind::Not
            | ElementwiseKind::Polygamma
            | ElementwiseKind::PopulationCount
            | ElementwiseKind::Power
            | ElementwiseKind::Real
            | ElementwiseKind::ReducePrecision
            | ElementwiseKind::Remainder
            | ElementwiseKind::RoundNearestAfz
            | ElementwiseKind::RoundNearestEven
            | ElementwiseKind::Rsqrt
            | ElementwiseKind::Select
            | ElementwiseKind::ShiftLeft
            | ElementwiseKind::ShiftRightArithmetic
            | ElementwiseKind::ShiftRightLogical
            | ElementwiseKind::Sign
            | ElementwiseKind::Sine
            | ElementwiseKind::Sinh
            | ElementwiseKind::Sqrt
            | ElementwiseKind::Square
            | ElementwiseKind::Subtract
            | ElementwiseKind::Tan
            | ElementwiseKind::Tanh
            | ElementwiseKind::Zeta
            | ElementwiseKind::Compare(..)
            | ElementwiseKind::Take => return None,
        })
    }
}

/// One combiner on one element type.
pub trait Fold: Copy + Debug + Send + Sync + 'static {
    /// The type of results.
    type Element: Pod + Debug + Send + Sync;
    /// The type in memory of what is reduced.
    type Stored: Pod + Debug + Send + Sync;
    /// The type of partial results: `f32` for the 16-bit floats.
    type Partial: Pod + Send + Sync;
    /// The type of results of many partial results: `f64` for sums of narrower floats.
    type Total: Pod + Send + Sync;
    /// What changes nothing.
    const IDENTITY: Self::Partial;

    /// What is reduced as a partial result.
    fn read(stored: Self::Stored) -> Self::Partial;
    /// An element as a partial result.
    fn load(element: Self::Element) -> Self::Partial;
    /// The operation.
    fn join(a: Self::Partial, b: Self::Partial) -> Self::Partial;
    /// A partial result as an element.
    fn store(partial: Self::Partial) -> Self::Element;
    /// An element as a total.
    fn start(element: Self::Element) -> Self::Total;
    /// A total with one more partial result.
    fn extend(total: Self::Total, partial: Self::Partial) -> Self::Total;
    /// A total as an element.
    fn finish(total: Self::Total) -> Self::Element;

    /// The operation on two elements, rounded.
    #[inline(always)]
    fn combine(a: Self::Element, b: Self::Element) -> Self::Element {
        Self::store(Self::join(Self::load(a), Self::load(b)))
    }
}

/// Code that is compiled for every fold.
pub trait Visitor {
    /// What it gives.
    type Output;
    /// The code.
    fn visit<F: Fold>(self) -> Self::Output;
}

macro_rules! folds {
    ($($name:ident $element:ty, $partial:ty, $total:ty, $identity:expr,
        $load:expr, $join:expr, $store:expr, $widen:expr, $extend:expr, $finish:expr;)*) => {$(
        #[derive(Debug, Clone, Copy)]
        pub(super) struct $name;

        impl Fold for $name {
            type Element = $element;
            type Stored = $element;
            type Partial = $partial;
            type Total = $total;
            const IDENTITY: $partial = $identity;

            #[inline(always)]
            fn read(stored: $element) -> $partial {
                Self::load(stored)
            }
            #[inline(always)]
            fn load(element: $element) -> $partial {
                let load: fn($element) -> $partial = $load;
                load(element)
            }
            #[inline(always)]
            fn join(a: $partial, b: $partial) -> $partial {
                let join: fn($partial, $partial) -> $partial = $join;
                join(a, b)
            }
            #[inline(always)]
            fn store(partial: $partial) -> $element {
                let store: fn($partial) -> $element = $store;
                store(partial)
            }
            #[inline(always)]
            fn start(element: $element) -> $total {
                let widen: fn($partial) -> $total = $widen;
                widen(Self::load(element))
            }
            #[inline(always)]
            fn extend(total: $total, partial: $partial) -> $total {
                let widen: fn($partial) -> $total = $widen;
                let extend: fn($total, $total) -> $total = $extend;
                extend(total, widen(partial))
            }
            #[inline(always)]
            fn finish(total: $total) -> $element {
                let finish: fn($total) -> $element = $finish;
                finish(total)
            }
        }
    )*};
}

/// Folds that accumulate in the type of the elements.
macro_rules! plain {
    ($($name:ident $element:ty, $identity:expr, $join:expr;)*) => {
        folds! {$(
            $name $element, $element, $element, $identity,
                |x| x, $join, |x| x, |x| x, $join, |x| x;
        )*}
    };
}

macro_rules! unsigned {
    ($($t:ty: $add:ident $mul:ident $max:ident $min:ident $and:ident $or:ident $xor:ident;)*) => {
        plain! {$(
            $add $t, 0, |a, b| a.add(b);
            $mul $t, 1, |a, b| a.mul(b);
            $max $t, <$t>::MIN, |a, b| a.nan_max(b);
            $min $t, <$t>::MAX, |a, b| a.nan_min(b);
            $and $t, <$t>::MAX, |a, b| a.and(b);
            $or $t, 0, |a, b| a.or(b);
            $xor $t, 0, |a, b| a.xor(b);
        )*}
    };
}

macro_rules! signed {
    ($($t:ty: $max:ident $min:ident;)*) => {
        plain! {$(
            $max $t, <$t>::MIN, |a, b| a.nan_max(b);
            $min $t, <$t>::MAX, |a, b| a.nan_min(b);
        )*}
    };
}

/// The larger and the smaller of floats as IEEE 754-2019's `maximum` and `minimum`: partial results
/// are integers in the order of the floats, and NaN is beyond all of them.
macro_rules! extremes {
    ($($name:ident $element:ty, $integer:ty, $start:expr, $nan:ident, $join:ident;)*) => {
        folds! {$(
            $name $element, $integer, $integer, {
                let bits = <$element>::to_bits($start).cast_signed();
                bits ^ ((bits >> (<$integer>::BITS - 1)) & <$integer>::MAX)
            },
                |x| {
                    let bits = x.to_bits().cast_signed();
                    let number = bits ^ ((bits >> (<$integer>::BITS - 1)) & <$integer>::MAX);
                    let magnitude = bits & <$integer>::MAX;
                    if magnitude > <$element>::INFINITY.to_bits().cast_signed() {
                        <$integer>::$nan
                    } else {
                        number
                    }
                },
                |a, b| a.$join(b),
                |x| {
                    let bits = x ^ ((x >> (<$integer>::BITS - 1)) & <$integer>::MAX);
                    let number = <$element>::from_bits(bits.cast_unsigned());
                    let number = Float::narrow(Float::widen(number).flushed());
                    if x == <$integer>::$nan { <$element>::NAN } else { number }
                },
                |x| x,
                |a, b| a.$join(b),
                Self::store;
        )*}
    };
}

/// A float of 16 bits as one of 32; NaN stays one.
#[inline(always)]
fn widened(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

unsigned! {
    u8: AddU8 MulU8 MaxU8 MinU8 AndU8 OrU8 XorU8;
    u16: AddU16 MulU16 MaxU16 MinU16 AndU16 OrU16 XorU16;
    u32: AddU32 MulU32 MaxU32 MinU32 AndU32 OrU32 XorU32;
    u64: AddU64 MulU64 MaxU64 MinU64 AndU64 OrU64 XorU64;
}
signed! {
    i8: MaxS8 MinS8;
    i16: MaxS16 MinS16;
    i32: MaxS32 MinS32;
    i64: MaxS64 MinS64;
}
extremes! {
    MaxF32 f32, i32, f32::NEG_INFINITY, MAX, nan_max;
    MinF32 f32, i32, f32::INFINITY, MIN, nan_min;
    MaxF64 f64, i64, f64::NEG_INFINITY, MAX, nan_max;
    MinF64 f64, i64, f64::INFINITY, MIN, nan_min;
    MaxBf16 bf16, i16, bf16::NEG_INFINITY, MAX, nan_max;
    MinBf16 bf16, i16, bf16::INFINITY, MIN, nan_min;
    MaxF16 f16, i16, f16::NEG_INFINITY, MAX, nan_max;
    MinF16 f16, i16, f16::INFINITY, MIN, nan_min;
}
plain! {
    MulF32 f32, 1.0, |a, b| a.mul(b);
    AddF64 f64, -0.0, |a, b| a.add(b);
    MulF64 f64, 1.0, |a, b| a.mul(b);
    AddC128 Complex<f64>, Complex::new(-0.0, -0.0), |a, b| a.add(b);
}
folds! {
    AddF32 f32, f32, f64, -0.0, |x| x, |a, b| a.add(b), |x| x, f64::from, |a, b| a.add(b), |x| x as f32;
    AddC64 Complex<f32>, Complex<f32>, Complex<f64>, Complex::new(-0.0, -0.0),
        |x| x, |a, b| a.add(b), |x| x, |x| Complex::new(x.re.into(), x.im.into()), |a, b| a.add(b),
        |x| Complex::new(x.re as f32, x.im as f32);
    AddBf16 bf16, f32, f64, -0.0,
        widened, |a, b| a.add(b), bf16::from_f32, f64::from, |a, b| a.add(b),
        |x| bf16::from_f32(x as f32);
    MulBf16 bf16, f32, f32, 1.0,
        widened, |a, b| a.mul(b), bf16::from_f32, |x| x, |a, b| a.mul(b), bf16::from_f32;
    AddF16 f16, f32, f64, -0.0,
        f32::from, |a, b| a.add(b), f16::from_f32, f64::from, |a, b| a.add(b),
        |x| f16::from_f32(x as f32);
    MulF16 f16, f32, f32, 1.0,
        f32::from, |a, b| a.mul(b), f16::from_f32, |x| x, |a, b| a.mul(b), f16::from_f32;
}

/// Runs code for a combiner on a type; `None` for a pair that has no fold.
pub fn dispatch<V: Visitor>(combiner: Combiner, dtype: DType, visitor: V) -> Option<V::Output> {
    use Combiner::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
    macro_rules! rows {
        ($($combiner:pat, $dtype:pat => $fold:ident;)*) => {
            match (combiner, dtype) {
                $(($combiner, $dtype) => visitor.visit::<$fold>(),)*
                _ => return None,
            }
        };
    }
    Some(rows! {
        Add | Maximum | Or, DType::Pred => OrU8;
        Multiply | Minimum | And, DType::Pred => AndU8;
        Add, DType::S8 | DType::U8 => AddU8;
        Add, DType::S16 | DType::U16 => AddU16;
        Add, DType::S32 | DType::U32 => AddU32;
        Add, DType::S64 | DType::U64 => AddU64;
        Add, DType::Bf16 => AddBf16;
        Add, DType::F16 => AddF16;
        Add, DType::F32 => AddF32;
        Add, DType::F64 => AddF64;
        Add, DType::C64 => AddC64;
        Add, DType::C128 => AddC128;
        Multiply, DType::S8 | DType::U8 => MulU8;
        Multiply, DType::S16 | DType::U16 => MulU16;
        Multiply, DType::S32 | DType::U32 => MulU32;
        Multiply, DType::S64 | DType::U64 => MulU64;
        Multiply, DType::Bf16 => MulBf16;
        Multiply, DType::F16 => MulF16;
        Multiply, DType::F32 => MulF32;
        Multiply, DType::F64 => MulF64;
        Maximum, DType::U2 | DType::U4 | DType::U8 => MaxU8;
        Maximum, DType::U16 => MaxU16;
        Maximum, DType::U32 => MaxU32;
        Maximum, DType::U64 => MaxU64;
        Maximum, DType::S2 | DType::S4 | DType::S8 => MaxS8;
        Maximum, DType::S16 => MaxS16;
        Maximum, DType::S32 => MaxS32;
        Maximum, DType::S64 => MaxS64;
        Maximum, DType::Bf16 => MaxBf16;
        Maximum, DType::F16 => MaxF16;
        Maximum, DType::F32 => MaxF32;
        Maximum, DType::F64 => MaxF64;
        Minimum, DType::U2 | DType::U4 | DType::U8 => MinU8;
        Minimum, DType::U16 => MinU16;
        Minimum, DType::U32 => MinU32;
        Minimum, DType::U64 => MinU64;
        Minimum, DType::S2 | DType::S4 | DType::S8 => MinS8;
        Minimum, DType::S16 => MinS16;
        Minimum, DType::S32 => MinS32;
        Minimum, DType::S64 => MinS64;
        Minimum, DType::Bf16 => MinBf16;
        Minimum, DType::F16 => MinF16;
        Minimum, DType::F32 => MinF32;
        Minimum, DType::F64 => MinF64;
        And, DType::U2 | DType::U4 | DType::U8 | DType::S2 | DType::S4 | DType::S8 => AndU8;
        And, DType::S16 | DType::U16 => AndU16;
        And, DType::S32 | DType::U32 => AndU32;
        And, DType::S64 | DType::U64 => AndU64;
        Or, DType::U2 | DType::U4 | DType::U8 | DType::S2 | DType::S4 | DType::S8 => OrU8;
        Or, DType::S16 | DType::U16 => OrU16;
        Or, DType::S32 | DType::U32 => OrU32;
        Or, DType::S64 | DType::U64 => OrU64;
        Xor, DType::Pred | DType::U2 | DType::U4 | DType::U8 => XorU8;
        Xor, DType::S2 | DType::S4 | DType::S8 => XorU8;
        Xor, DType::S16 | DType::U16 => XorU16;
        Xor, DType::S32 | DType::U32 => XorU32;
        Xor, DType::S64 | DType::U64 => XorU64;
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::fold_run;
    use super::*;

    #[test]
    fn a_long_sum_of_tenths_has_no_drift() {
        let tenths = vec![0.1_f32; 1_000_003];
        let total = fold_run::<AddF32>(AddF32::start(0.0), &tenths);
        let exact = 0.1_f32 as f64 * 1_000_003.0;
        assert!((total - exact).abs() / exact < 1e-6, "{total} {exact}");
    }

    #[test]
    fn extremes_keep_nan_and_order_zeros() {
        fn larger<F: Fold<Element = f32>>(a: f32, b: f32) -> f32 {
            F::finish(F::extend(F::start(a), F::load(b)))
        }
        for nan in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)] {
            for number in [1.0, f32::INFINITY, f32::NEG_INFINITY] {
                assert!(larger::<MaxF32>(number, nan).is_nan());
                assert!(larger::<MinF32>(nan, number).is_nan());
                assert!(MaxF32::combine(nan, number).is_nan());
            }
        }
        assert_eq!(larger::<MaxF32>(-0.0, 0.0).to_bits(), 0);
        assert_eq!(larger::<MinF32>(0.0, -0.0).to_bits(), 1 << 31);
        let tiny = f32::from_bits(1);
        let order = [f32::NEG_INFINITY, f32::MIN, -1.5, -tiny, -0.0, 0.0, tiny, 2.0, f32::INFINITY];
        for (index, &high) in order.iter().enumerate() {
            for &low in &order[..=index] {
                assert_eq!(larger::<MaxF32>(low, high).to_bits(), high.to_bits());
                assert_eq!(larger::<MinF32>(high, low).to_bits(), low.to_bits());
            }
        }
        assert_eq!(MaxF32::store(MaxF32::IDENTITY), f32::NEG_INFINITY);
        assert_eq!(MinBf16::store(MinBf16::IDENTITY), bf16::INFINITY);
        assert!(MinF16::combine(f16::NAN, f16::NEG_INFINITY).is_nan());
        assert_eq!(MaxF64::combine(-2.0, -3.0), -2.0);
    }

    #[test]
    fn a_sum_of_negative_zeros_from_a_negative_zero_keeps_the_sign() {
        let total = fold_run::<AddF32>(AddF32::start(-0.0), &[-0.0; 100]);
        assert!(AddF32::finish(total).is_sign_negative());
    }
}
