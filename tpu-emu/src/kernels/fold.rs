//! Folds: commutative operations on two elements, by type, with the type they accumulate in.
#![expect(clippy::cast_possible_truncation, reason = "sums are rounded to the type of the result")]
use super::simd;
use crate::tensor::DType;
use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt::Debug;

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

impl Combiner {
    /// The combiner of an operation's mnemonic.
    pub fn named(mnemonic: &str) -> Option<Self> {
        Some(match mnemonic {
            "add" => Self::Add,
            "multiply" => Self::Multiply,
            "maximum" => Self::Maximum,
            "minimum" => Self::Minimum,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            _ => return None,
        })
    }
}

/// One combiner on one element type.
pub trait Fold: Copy + Debug + Send + Sync + 'static {
    /// The type in memory.
    type Element: Pod + Debug + Send + Sync;
    /// The type of partial results: `f32` for the 16-bit floats.
    type Partial: Pod + Send + Sync;
    /// The type of results of many partial results: `f64` for sums of narrower floats.
    type Total: Pod + Send + Sync;
    /// What changes nothing.
    const IDENTITY: Self::Partial;

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
        struct $name;

        impl Fold for $name {
            type Element = $element;
            type Partial = $partial;
            type Total = $total;
            const IDENTITY: $partial = $identity;

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
            $add $t, 0, |a, b| a.wrapping_add(b);
            $mul $t, 1, |a, b| a.wrapping_mul(b);
            $max $t, <$t>::MIN, |a, b| a.max(b);
            $min $t, <$t>::MAX, |a, b| a.min(b);
            $and $t, <$t>::MAX, |a, b| a & b;
            $or $t, 0, |a, b| a | b;
            $xor $t, 0, |a, b| a ^ b;
        )*}
    };
}

macro_rules! signed {
    ($($t:ty: $max:ident $min:ident;)*) => {
        plain! {$(
            $max $t, <$t>::MIN, |a, b| a.max(b);
            $min $t, <$t>::MAX, |a, b| a.min(b);
        )*}
    };
}

/// The larger and the smaller of two floats as IEEE 754-2019's `maximum` and `minimum`.
macro_rules! extremes {
    ($($t:ident $larger:ident $smaller:ident;)*) => {$(
        #[inline(always)]
        fn $larger(a: $t, b: $t) -> $t {
            // Equal numbers have equal bits, zeros aside.
            let equal = $t::from_bits(a.to_bits() & b.to_bits());
            let ordered = if a > b { a } else if b > a { b } else { equal };
            if a.is_nan() { a } else if b.is_nan() { b } else { ordered }
        }

        #[inline(always)]
        fn $smaller(a: $t, b: $t) -> $t {
            let equal = $t::from_bits(a.to_bits() | b.to_bits());
            let ordered = if a < b { a } else if b < a { b } else { equal };
            if a.is_nan() { a } else if b.is_nan() { b } else { ordered }
        }
    )*};
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
    f32 larger_f32 smaller_f32;
    f64 larger_f64 smaller_f64;
}
plain! {
    MulF32 f32, 1.0, |a, b| a * b;
    MaxF32 f32, f32::NEG_INFINITY, larger_f32;
    MinF32 f32, f32::INFINITY, smaller_f32;
    AddF64 f64, -0.0, |a, b| a + b;
    MulF64 f64, 1.0, |a, b| a * b;
    MaxF64 f64, f64::NEG_INFINITY, larger_f64;
    MinF64 f64, f64::INFINITY, smaller_f64;
    AddC128 Complex<f64>, Complex::new(-0.0, -0.0), |a, b| a + b;
}
folds! {
    AddF32 f32, f32, f64, -0.0, |x| x, |a, b| a + b, |x| x, f64::from, |a, b| a + b, |x| x as f32;
    AddC64 Complex<f32>, Complex<f32>, Complex<f64>, Complex::new(-0.0, -0.0),
        |x| x, |a, b| a + b, |x| x, |x| Complex::new(x.re.into(), x.im.into()), |a, b| a + b,
        |x| Complex::new(x.re as f32, x.im as f32);
    AddBf16 bf16, f32, f64, -0.0,
        f32::from, |a, b| a + b, bf16::from_f32, f64::from, |a, b| a + b,
        |x| bf16::from_f32(x as f32);
    MulBf16 bf16, f32, f32, 1.0,
        f32::from, |a, b| a * b, bf16::from_f32, |x| x, |a, b| a * b, bf16::from_f32;
    MaxBf16 bf16, f32, f32, f32::NEG_INFINITY,
        f32::from, larger_f32, bf16::from_f32, |x| x, larger_f32, bf16::from_f32;
    MinBf16 bf16, f32, f32, f32::INFINITY,
        f32::from, smaller_f32, bf16::from_f32, |x| x, smaller_f32, bf16::from_f32;
    AddF16 f16, f32, f64, -0.0,
        f32::from, |a, b| a + b, f16::from_f32, f64::from, |a, b| a + b,
        |x| f16::from_f32(x as f32);
    MulF16 f16, f32, f32, 1.0,
        f32::from, |a, b| a * b, f16::from_f32, |x| x, |a, b| a * b, f16::from_f32;
    MaxF16 f16, f32, f32, f32::NEG_INFINITY,
        f32::from, larger_f32, f16::from_f32, |x| x, larger_f32, f16::from_f32;
    MinF16 f16, f32, f32, f32::INFINITY,
        f32::from, smaller_f32, f16::from_f32, |x| x, smaller_f32, f16::from_f32;
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

/// Elements that become one partial result before it joins the total.
pub const BLOCK: usize = 4096;

/// Interleaved partial results of a block.
pub const LANES: usize = 32;

/// Folds elements that lie side by side.
///
/// The order is fixed by the length: blocks of 4096 elements, 32 interleaved partial results in
/// each, joined in a tree; a run of at most 32 elements in order.
pub fn fold_run<F: Fold>(mut total: F::Total, run: &[F::Element]) -> F::Total {
    if run.len() <= LANES {
        let join = |partial, &element| F::join(partial, F::load(element));
        let Some((first, rest)) = run.split_first() else { return total };
        return F::extend(total, rest.iter().fold(F::load(*first), join));
    }
    for block in run.chunks(BLOCK) {
        let mut lanes = [F::IDENTITY; LANES];
        lanes_of::<F>(block, 0, &mut lanes);
        total = F::extend(total, tree::<F>(lanes));
    }
    total
}

/// Takes elements into interleaved partial results; the first one goes to `lane`.
pub fn lanes_of<F: Fold>(run: &[F::Element], lane: usize, lanes: &mut [F::Partial]) {
    let Ok(lanes) = <&mut [F::Partial; LANES]>::try_from(lanes) else { return };
    let (head, run) = run.split_at(if lane == 0 { 0 } else { run.len().min(LANES - lane) });
    for (lane, &element) in lanes[lane..].iter_mut().zip(head) {
        *lane = F::join(*lane, F::load(element));
    }
    simd::run(Interleaved::<F> { run, lanes });
}

/// Elements that begin at the first one of the partial results.
struct Interleaved<'a, F: Fold> {
    run: &'a [F::Element],
    lanes: &'a mut [F::Partial; LANES],
}

impl<F: Fold> simd::Loop for Interleaved<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut lanes = *self.lanes;
        let (rows, rest) = self.run.as_chunks::<LANES>();
        for row in rows {
            for (lane, &element) in lanes.iter_mut().zip(row) {
                *lane = F::join(*lane, F::load(element));
            }
        }
        for (lane, &element) in lanes.iter_mut().zip(rest) {
            *lane = F::join(*lane, F::load(element));
        }
        *self.lanes = lanes;
    }
}

/// Joins the partial results of a block.
pub fn tree<F: Fold>(mut lanes: [F::Partial; LANES]) -> F::Partial {
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = F::join(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
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
        assert!(larger_f32(1.0, f32::NAN).is_nan() && larger_f32(f32::NAN, 1.0).is_nan());
        assert!(smaller_f32(1.0, f32::NAN).is_nan());
        assert_eq!(larger_f32(-0.0, 0.0).to_bits(), 0);
        assert_eq!(smaller_f32(0.0, -0.0).to_bits(), 1 << 31);
        assert_eq!((larger_f32(-2.0, 3.0), smaller_f32(-2.0, 3.0)), (3.0, -2.0));
    }

    #[test]
    fn a_sum_of_negative_zeros_from_a_negative_zero_keeps_the_sign() {
        let total = fold_run::<AddF32>(AddF32::start(-0.0), &[-0.0; 100]);
        assert!(AddF32::finish(total).is_sign_negative());
    }
}
