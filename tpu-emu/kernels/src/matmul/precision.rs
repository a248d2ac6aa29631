//! What a product is computed in, and how its operands are rounded and split for it.
use super::accumulate::{Rounding, Work};
use super::gemm_crate::{Extent, Matrix};
use super::widen::widen;
use crate::parallel;
use crate::simd;
use crate::simd::Loop;
use std::sync::atomic::{AtomicBool, Ordering};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::DType;

/// The type that products are summed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumType {
    /// Floats of 32 bits.
    F32,
    /// Floats of 64 bits.
    F64,
    /// Complex numbers of two floats of 32 bits.
    C64,
    /// Complex numbers of two floats of 64 bits.
    C128,
    /// Integers modulo 2^32.
    U32,
    /// Integers modulo 2^64.
    U64,
}

impl SumType {
    /// Whether elements of this type can be used where they lie.
    pub fn is(self, dtype: DType) -> bool {
        match self {
            Self::F32 => dtype == DType::F32,
            Self::F64 => dtype == DType::F64,
            Self::C64 => dtype == DType::C64,
            Self::C128 => dtype == DType::C128,
            Self::U32 => matches!(dtype, DType::U32 | DType::S32),
            Self::U64 => matches!(dtype, DType::U64 | DType::S64),
        }
    }

    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 | Self::U32 => 4,
            Self::F64 | Self::C64 | Self::U64 => 8,
            Self::C128 => 16,
        }
    }
}

/// Pairs of parts that are multiplied, the smallest products first.
pub type Passes = &'static [(usize, usize)];

/// One product of operands that are not split.
pub const ONE_PASS: Passes = &[(0, 0)];
/// Two parts each, without the product of the small ones.
pub const THREE_PASSES: Passes = &[(1, 0), (0, 1), (0, 0)];
/// Three parts each, without the three smallest products.
pub const SIX_PASSES: Passes = &[(1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0)];
/// Three parts each.
pub const NINE_PASSES: Passes =
    &[(2, 2), (2, 1), (1, 2), (1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0)];

/// How a product is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arithmetic {
    /// What it is summed in.
    pub kind: SumType,
    /// What the operands, or their parts, are rounded to.
    pub rounding: Rounding,
    /// Which parts are multiplied.
    pub passes: Passes,
    /// The type that sums are rounded to before they become results.
    pub sum: Option<Rounding>,
}

impl Arithmetic {
    /// This arithmetic in floats, which are multiplied faster, where the result is integers of 32 bits
    /// and no sum of `terms` products of these types can leave the integers that floats hold.
    #[must_use]
    pub fn in_floats(self, operands: [DType; 2], result: DType, terms: usize) -> Self {
        let whole = self.kind == SumType::U32 && self.passes.len() == 1 && self.sum.is_none();
        let magnitude = |dtype| match dtype {
            DType::Pred => Some(1),
            DType::S2 => Some(2),
            DType::U2 => Some(3),
            DType::S4 => Some(8),
            DType::U4 => Some(15),
            DType::S8 => Some(128),
            DType::U8 => Some(255),
            _ => None,
        };
        let [Some(a), Some(b)] = operands.map(magnitude) else { return self };
        let fits = terms.checked_mul(a * b).is_some_and(|most| most <= 1 << f32::MANTISSA_DIGITS);
        if !(whole && fits && result == DType::S32) {
            return self;
        }
        Self { kind: SumType::F32, rounding: Rounding::Exact, passes: ONE_PASS, sum: None }
    }

    /// In how many parts an operand is split.
    pub fn parts(&self) -> usize {
        self.passes.iter().map(|&(lhs, _)| lhs + 1).max().unwrap_or(1)
    }

    /// Whether elements of a type are multiplied as they are.
    pub fn takes(&self, dtype: DType) -> bool {
        self.kind.is(dtype) && self.rounding == Rounding::Exact
    }

    /// Whether sums are elements of a type.
    pub fn gives(&self, dtype: DType) -> bool {
        self.kind.is(dtype) && self.sum.is_none()
    }

    /// Reads elements and splits them: part `p` of element `i` is `out[p·count + i]`.
    ///
    /// # Errors
    /// `Unimplemented` for types that hold no numbers.
    pub fn split<W: Work>(&self, dtype: DType, bytes: &[u8], out: &mut [W]) -> Result<()> {
        let parts = self.parts();
        let count = out.len() / parts;
        let width = dtype.host_bytes();
        let refused = AtomicBool::new(false);
        parallel::chunks_mut(&mut out[..count], parallel::items_per_chunk(width), |chunk, out| {
            let first = chunk * parallel::items_per_chunk(width) * width;
            let bytes = &bytes[first..first + out.len() * width];
            if !simd::run(Read { dtype, bytes, out: &mut *out }) {
                refused.store(true, Ordering::Relaxed);
            }
            if parts == 1 && self.rounding != Rounding::Exact {
                simd::run(Round { rounding: self.rounding, values: out });
            }
        });
        if refused.into_inner() {
            return Err(Error::Unimplemented(format!("a product of {}", dtype.name())));
        }
        for part in 1..parts {
            let (before, rest) = out[(part - 1) * count..].split_at_mut(count);
            simd::run(Split { rounding: self.rounding, values: before, rest });
        }
        if parts > 1 && self.rounding != Rounding::Exact {
            simd::run(Round { rounding: self.rounding, values: &mut out[(parts - 1) * count..] });
        }
        Ok(())
    }

    /// Multiplies matrices of parts: part `p` of an operand begins `p·step` elements after the
    /// first one.
    pub fn multiply<W: Work>(
        &self,
        extent: Extent,
        result: &mut [W],
        stride: usize,
        (lhs, lhs_step): (Matrix<'_, W>, usize),
        (rhs, rhs_step): (Matrix<'_, W>, usize),
    ) {
        for (index, &(left, right)) in self.passes.iter().enumerate() {
            if index > 0 && index + 1 == self.passes.len() {
                // The small parts of an infinity are NaN; the large product tells the truth.
                for row in result.chunks_mut(stride.max(1)).take(extent.m) {
                    let width = extent.n.min(row.len());
                    row[..width].iter_mut().for_each(|value| *value = value.without_nan());
                }
            }
            let (lhs, rhs) = (lhs.from(left * lhs_step), rhs.from(right * rhs_step));
            W::product(extent, result, stride, index > 0, lhs, rhs);
        }
    }

    /// Turns sums into results.
    ///
    /// # Errors
    /// `Unimplemented` where the one does not become the other.
    pub fn finish<W: Work>(&self, sums: &mut [W], dtype: DType, out: &mut [u8]) -> Result<()> {
        if let Some(rounding) = self.sum {
            simd::run(Round { rounding, values: sums });
        }
        if simd::run(Write { sums, dtype, out }) {
            return Ok(());
        }
        Err(Error::Unimplemented(format!("{} as {}", std::any::type_name::<W>(), dtype.name())))
    }
}

/// Reads elements; `false` for types that hold no numbers.
struct Read<'a, W> {
    dtype: DType,
    bytes: &'a [u8],
    out: &'a mut [W],
}

impl<W: Work> Loop for Read<'_, W> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        widen(self.dtype, self.bytes, self.out)
    }
}

/// Writes elements; `false` for types that the numbers do not become.
struct Write<'a, W> {
    sums: &'a [W],
    dtype: DType,
    out: &'a mut [u8],
}

impl<W: Work> Loop for Write<'_, W> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        W::narrow(self.sums, self.dtype, self.out)
    }
}

/// Rounds numbers.
struct Round<'a, W> {
    rounding: Rounding,
    values: &'a mut [W],
}

impl<W: Work> Loop for Round<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Each loop knows its rounding.
        match self.rounding {
            Rounding::Exact => {}
            Rounding::Bf16 => each(self.values, |value| value.round(Rounding::Bf16)),
            Rounding::Tf32 => each(self.values, |value| value.round(Rounding::Tf32)),
            Rounding::F16 => each(self.values, |value| value.round(Rounding::F16)),
        }
    }
}

#[inline(always)]
fn each<W: Work>(values: &mut [W], f: impl Fn(W) -> W) {
    values.iter_mut().for_each(|value| *value = f(*value));
}

/// Rounds numbers and keeps what that lost.
struct Split<'a, W> {
    rounding: Rounding,
    values: &'a mut [W],
    rest: &'a mut [W],
}

impl<W: Work> Loop for Split<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (value, rest) in self.values.iter_mut().zip(self.rest) {
            let rounded = value.round(self.rounding);
            *rest = value.rest(rounded);
            *value = rounded;
        }
    }
}

/// Runs `$call` with `$type` bound to the Rust type of a [`Kind`].
macro_rules! for_kind {
    ($kind:expr, $type:ident => $call:expr) => {
        match $kind {
            $crate::matmul::precision::SumType::F32 => {
                type $type = f32;
                $call
            }
            $crate::matmul::precision::SumType::F64 => {
                type $type = f64;
                $call
            }
            $crate::matmul::precision::SumType::C64 => {
                type $type = num_complex::Complex<f32>;
                $call
            }
            $crate::matmul::precision::SumType::C128 => {
                type $type = num_complex::Complex<f64>;
                $call
            }
            $crate::matmul::precision::SumType::U32 => {
                type $type = u32;
                $call
            }
            $crate::matmul::precision::SumType::U64 => {
                type $type = u64;
                $call
            }
        }
    };
}
pub(crate) use for_kind;

/// Takes `count` numbers from the front of scratch memory, aligned to 64 bytes.
///
/// # Errors
/// `BadArgument` where the memory is too short: the kernel asked for less than it uses.
pub fn split_scratch<'a, W: Work>(scratch: &mut &'a mut [u8], count: usize) -> Result<&'a mut [W]> {
    let bytes = scratch_bytes(count, size_of::<W>());
    let whole = std::mem::take(scratch);
    if bytes > whole.len() {
        return Err(Error::bad(format!("scratch of {} bytes for {bytes}", whole.len())));
    }
    let (taken, rest) = whole.split_at_mut(bytes);
    *scratch = rest;
    Ok(&mut bytemuck::cast_slice_mut(taken)[..count])
}

/// Bytes that [`split_scratch`] takes for `count` numbers of `bytes` each.
pub fn scratch_bytes(count: usize, bytes: usize) -> usize {
    count.saturating_mul(bytes).checked_next_multiple_of(64).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(arithmetic: Arithmetic, lhs: &[f32], rhs: &[f32]) -> f32 {
        let parts = arithmetic.parts();
        let k = lhs.len();
        let [left, right] = [lhs, rhs].map(|values| {
            let mut out = vec![0.0_f32; parts * k];
            arithmetic.split(DType::F32, bytemuck::cast_slice(values), &mut out).unwrap();
            out
        });
        let mut result = [f32::NAN];
        let lhs = Matrix { data: &left[..], row: k, column: 1 };
        let rhs = Matrix { data: &right[..], row: 1, column: 1 };
        arithmetic.multiply(Extent { m: 1, n: 1, k }, &mut result, 1, (lhs, k), (rhs, k));
        result[0]
    }

    #[test]
    fn more_passes_of_bf16_are_closer_to_the_product() {
        let [a, b] = [1.234_567_9_f32, 7.654_321];
        let error = |passes| {
            let arithmetic =
                Arithmetic { kind: SumType::F32, rounding: Rounding::Bf16, passes, sum: None };
            (f64::from(dot(arithmetic, &[a], &[b])) - f64::from(a) * f64::from(b)).abs()
        };
        let errors = [ONE_PASS, THREE_PASSES, SIX_PASSES, NINE_PASSES].map(error);
        assert!(errors[0] > 5e-4 && errors[1] < 1e-4 && errors[2] < 1e-6, "{errors:?}");
        assert!(errors[3] < 1e-6, "{errors:?}");
    }

    #[test]
    fn sums_of_bytes_that_floats_hold_are_computed_in_floats() {
        let integers = Arithmetic {
            kind: SumType::U32,
            rounding: Rounding::Exact,
            passes: ONE_PASS,
            sum: None,
        };
        let kind = |operands, result, terms| integers.in_floats(operands, result, terms).kind;
        let (bytes, wide) = ([DType::S8; 2], DType::S32);
        assert_eq!(kind(bytes, wide, 1024), SumType::F32);
        assert_eq!(kind(bytes, wide, 1025), SumType::U32);
        assert_eq!(kind([DType::U8; 2], wide, 258), SumType::F32);
        assert_eq!(kind([DType::U8; 2], wide, 259), SumType::U32);
        assert_eq!(kind([DType::U8, DType::Pred], wide, usize::MAX), SumType::U32);
        assert_eq!(kind(bytes, DType::S8, 8), SumType::U32);
        assert_eq!(kind([DType::S16; 2], wide, 8), SumType::U32);
    }

    #[test]
    fn an_infinity_survives_being_split() {
        for passes in [ONE_PASS, THREE_PASSES, SIX_PASSES, NINE_PASSES] {
            let arithmetic =
                Arithmetic { kind: SumType::F32, rounding: Rounding::Bf16, passes, sum: None };
            let infinite = dot(arithmetic, &[f32::INFINITY, 1.1], &[1.1, 1.0]);
            assert_eq!(infinite, f32::INFINITY, "{passes:?}");
            assert!(dot(arithmetic, &[f32::INFINITY], &[0.0]).is_nan());
            assert!(dot(arithmetic, &[f32::NAN], &[1.0]).is_nan());
        }
    }
}
