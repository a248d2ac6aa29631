//! Comparators that are known orders: lexicographic over operands, each up or down.
use super::small;
use crate::elementwise::kind::{Direction, ElementwiseKind, Order};
use crate::elementwise::program::{ElementwiseProgram, Instr, Register};
use crate::simd;
use half::{bf16, f16};
use tpu_base::tensor::DType;
use tpu_base::tensor::element::Float;

/// An operand that is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// Which operand.
    pub operand: usize,
    /// The type.
    pub dtype: DType,
    /// Whether the largest comes first.
    pub descending: bool,
    /// Whether -0 comes before +0, and NaN by its bits; else zeros are equal, and so are NaNs,
    /// which come after every number whether the order goes up or down.
    pub total: bool,
    /// Whether NaN is larger than every number in an order that is not total, and so comes first
    /// in one that goes down.
    pub nan_is_largest: bool,
}

/// The keys of a comparator `(a0, b0, a1, b1, …) -> a before b`, most significant first.
pub fn keys(program: &ElementwiseProgram) -> Option<Vec<SortKey>> {
    let [result] = program.results[..] else { return None };
    let reader = SideReader(program);
    let mut keys = Vec::new();
    let mut rest = result;
    loop {
        match reader.step(rest)? {
            step if step.op.kind == ElementwiseKind::Or => {
                let [a, b] = step.inputs[..] else { return None };
                // `a before b, or a equal to b and …`, in either order of writing.
                let (key, next) = reader.tie(a, b).or_else(|| reader.tie(b, a))?;
                keys.push(key);
                rest = next;
            }
            step => {
                keys.push(reader.before(step)?);
                return Some(keys);
            }
        }
    }
}

/// How a side of a comparison is made from a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ComparatorSide {
    parameter: usize,
    zeros_equal: bool,
    nans_equal: bool,
}

struct SideReader<'a>(&'a ElementwiseProgram);

impl SideReader<'_> {
    fn step(&self, register: Register) -> Option<&Instr> {
        match register {
            Register::Step(index) => self.0.steps.get(index),
            _ => None,
        }
    }

    /// Reads `before` as a comparison and `tied` as `equal and next`.
    fn tie(&self, before: Register, tied: Register) -> Option<(SortKey, Register)> {
        let before = self.step(before)?;
        let key = self.before(before)?;
        let and = self.step(tied).filter(|step| step.op.kind == ElementwiseKind::And)?;
        let [a, b] = and.inputs[..] else { return None };
        let equal = |register: Register| {
            let equals = |step: &&Instr| {
                let swapped = before.inputs.iter().rev().eq(&step.inputs);
                matches!(step.op.kind, ElementwiseKind::Compare(Direction::Eq, _))
                    && (step.inputs == before.inputs || swapped)
            };
            self.step(register).filter(equals).is_some()
        };
        match (equal(a), equal(b)) {
            (true, _) => Some((key, b)),
            (_, true) => Some((key, a)),
            _ => None,
        }
    }

    /// Reads a comparison of an operand's two parameters.
    fn before(&self, step: &Instr) -> Option<SortKey> {
        let (less, order) = match step.op.kind {
            ElementwiseKind::Compare(Direction::Lt, order) => (true, order),
            ElementwiseKind::Compare(Direction::Gt, order) => (false, order),
            _ => return None,
        };
        let [a, b] = step.inputs[..] else { return None };
        let (a, b) = (self.side(a)?, self.side(b)?);
        let swapped = a.parameter % 2 == 1;
        let fits = a.parameter ^ b.parameter == 1;
        let same = ComparatorSide { parameter: a.parameter, ..b } == a;
        let dtype = step.op.operand;
        if !fits || !same || dtype != self.0.parameters[a.parameter] {
            return None;
        }
        encoder(dtype)?;
        let descending = less == swapped;
        let total = order == Order::Total;
        let (total, nan_is_largest) = match is_float(dtype) {
            // Of the shorter floats, plain comparisons alone.
            false if small::encoder(dtype).is_some() => {
                if total || a.zeros_equal || a.nans_equal {
                    return None;
                }
                (false, false)
            }
            false => (false, false),
            true => match (total, a.zeros_equal, a.nans_equal) {
                (true, true, true) => (false, true),
                (true, false, false) => (true, true),
                (true, ..) => return None,
                (false, ..) => (false, false),
            },
        };
        Some(SortKey { operand: a.parameter / 2, dtype, descending, total, nan_is_largest })
    }

    /// Reads a parameter, or one whose zeros and NaNs are replaced by one of each.
    fn side(&self, register: Register) -> Option<ComparatorSide> {
        if let Register::Parameter(parameter) = register {
            return Some(ComparatorSide { parameter, zeros_equal: false, nans_equal: false });
        }
        let step = self.step(register).filter(|step| step.op.kind == ElementwiseKind::Select)?;
        let [condition, Register::Constant(constant), rest] = step.inputs[..] else { return None };
        let side = self.side(rest)?;
        let parameter = Register::Parameter(side.parameter);
        let (constant, condition) = (self.0.constants.get(constant)?, self.step(condition)?);
        let [a, b] = condition.inputs[..] else { return None };
        match condition.op.kind {
            ElementwiseKind::Compare(Direction::Ne, _) if a == parameter && b == parameter => {
                is_nan(constant.dtype, &constant.bytes)
                    .then_some(ComparatorSide { nans_equal: true, ..side })
            }
            ElementwiseKind::Compare(Direction::Eq, _) if a == parameter => {
                let Register::Constant(zero) = b else { return None };
                let zero = self.0.constants.get(zero)?;
                let zeros = zero.bytes.iter().chain(&constant.bytes).all(|&byte| byte == 0);
                zeros.then_some(ComparatorSide { zeros_equal: true, ..side })
            }
            _ => None,
        }
    }
}

/// Whether a comparison of this type may go by a total order.
fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::Bf16 | DType::F16 | DType::F32 | DType::F64)
}

fn is_nan(dtype: DType, bytes: &[u8]) -> bool {
    match dtype {
        DType::Bf16 => bytes.try_into().is_ok_and(|bytes| bf16::from_le_bytes(bytes).is_nan()),
        DType::F16 => bytes.try_into().is_ok_and(|bytes| f16::from_le_bytes(bytes).is_nan()),
        DType::F32 => bytes.try_into().is_ok_and(|bytes| f32::from_le_bytes(bytes).is_nan()),
        DType::F64 => bytes.try_into().is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
        _ => false,
    }
}

/// Turns elements `start`, `start + step`, … into numbers that order as the key says.
pub type Encode = fn(&SortKey, &[u8], start: usize, step: usize, &mut [u64]);

/// The encoder of a type; `None` for types without one.
pub fn encoder(dtype: DType) -> Option<Encode> {
    Some(match dtype {
        DType::Pred | DType::U2 | DType::U4 | DType::U8 => encode::<u8>,
        DType::U16 => encode::<u16>,
        DType::U32 => encode::<u32>,
        DType::U64 => encode::<u64>,
        DType::S2 | DType::S4 | DType::S8 => encode::<i8>,
        DType::S16 => encode::<i16>,
        DType::S32 => encode::<i32>,
        DType::S64 => encode::<i64>,
        DType::Bf16 => encode::<bf16>,
        DType::F16 => encode::<f16>,
        DType::F32 => encode::<f32>,
        DType::F64 => encode::<f64>,
        other => return small::encoder(other),
    })
}

/// An element that orders as an unsigned number of its own width.
pub(super) trait Ordinal: bytemuck::Pod {
    /// The number of the total order.
    fn total(self) -> u64;
    /// The number of an order with one zero and one NaN, which is the largest.
    #[inline(always)]
    fn canonical(self) -> u64 {
        self.total()
    }
    /// The code of a number where NaN has the last one, whether the order goes up or down.
    #[inline(always)]
    fn number(self, descending: bool) -> u64 {
        let flip = if descending { u64::MAX >> (64 - 8 * size_of::<Self>()) } else { 0 };
        self.canonical() ^ flip
    }
    /// Whether it is a number.
    #[inline(always)]
    fn is_number(self) -> bool {
        true
    }
}

macro_rules! unsigned {
    ($($t:ty)*) => {$(impl Ordinal for $t {
        #[inline(always)]
        fn total(self) -> u64 {
            self.into()
        }
    })*};
}

macro_rules! signed {
    ($($t:ty)*) => {$(impl Ordinal for $t {
        #[inline(always)]
        fn total(self) -> u64 {
            (self ^ <$t>::MIN).cast_unsigned().into()
        }
    })*};
}

macro_rules! floats {
    ($($t:ty, $bits:ty, $zero:expr;)*) => {$(impl Ordinal for $t {
        #[inline(always)]
        fn total(self) -> u64 {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            let bits = self.to_bits();
            (if bits & SIGN == 0 { bits | SIGN } else { !bits }).into()
        }
        #[inline(always)]
        fn canonical(self) -> u64 {
            if self.is_nan() {
                return <$bits>::MAX.into();
            }
            (if Float::widen(self) == 0.0 { $zero } else { self }).total()
        }
        #[inline(always)]
        fn is_number(self) -> bool {
            !self.is_nan()
        }
    })*};
}

unsigned! { u8 u16 u32 u64 }
signed! { i8 i16 i32 i64 }
floats! {
    bf16, u16, bf16::ZERO;
    f16, u16, f16::ZERO;
    f32, u32, 0.0;
    f64, u64, 0.0;
}

/// The codes of elements of a type.
pub(super) fn encode<T: Ordinal>(
    key: &SortKey,
    elements: &[u8],
    start: usize,
    step: usize,
    codes: &mut [u64],
) {
    let elements = &bytemuck::cast_slice::<u8, T>(elements)[start..];
    simd::run(Codes { key, elements, step: step.max(1), codes });
}

/// The codes of elements.
struct Codes<'a, T> {
    key: &'a SortKey,
    elements: &'a [T],
    step: usize,
    codes: &'a mut [u64],
}

impl<T: Ordinal> Codes<'_, T> {
    #[inline(always)]
    fn fill(codes: &mut [u64], elements: &[T], step: usize, code: impl Fn(T) -> u64) {
        if step == 1 {
            for (to, &element) in codes.iter_mut().zip(elements) {
                *to = code(element);
            }
        } else {
            for (to, &element) in codes.iter_mut().zip(elements.iter().step_by(step)) {
                *to = code(element);
            }
        }
    }
}

impl<T: Ordinal> simd::Loop for Codes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { key, elements, step, codes } = self;
        let last = u64::MAX >> (64 - 8 * size_of::<T>());
        let flip = if key.descending { last } else { 0 };
        if key.total {
            Self::fill(codes, elements, step, |element| element.total() ^ flip);
        } else if key.nan_is_largest {
            Self::fill(codes, elements, step, |element| element.canonical() ^ flip);
        } else {
            let code = |element: T| {
                if element.is_number() { element.number(key.descending) } else { last }
            };
            Self::fill(codes, elements, step, code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes<T: bytemuck::Pod>(dtype: DType, total: bool, descending: bool, x: &[T]) -> Vec<u64> {
        let key = SortKey { operand: 0, dtype, descending, total, nan_is_largest: false };
        let mut codes = vec![0; x.len()];
        encoder(dtype).unwrap()(&key, bytemuck::cast_slice(x), 0, 1, &mut codes);
        codes
    }

    #[test]
    fn floats_order_as_numbers_with_nan_last() {
        let x = [f32::NEG_INFINITY, -1.5, -0.0, 1e-40, 2.0, f32::INFINITY, f32::NAN];
        for total in [false, true] {
            assert!(codes(DType::F32, total, false, &x).is_sorted());
        }
        let down = [f32::INFINITY, 2.0, -0.0, -3.0, f32::NEG_INFINITY, f32::NAN];
        assert!(codes(DType::F32, false, true, &down).is_sorted());
        let zeros = codes(DType::F32, false, false, &[-0.0_f32, 0.0]);
        assert_eq!(zeros[0], zeros[1]);
        let zeros = codes(DType::F32, true, false, &[-0.0_f32, 0.0]);
        assert!(zeros[0] < zeros[1]);
    }

    #[test]
    fn integers_order_as_numbers() {
        assert!(codes(DType::S16, false, false, &[i16::MIN, -1, 0, i16::MAX]).is_sorted());
        assert!(codes(DType::U64, false, true, &[u64::MAX, 7, 0]).is_sorted());
    }
}
