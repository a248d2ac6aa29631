//! Sorts of elements that are their own keys: their codes are sorted, and turned back.
use super::comparator::SortKey;
use super::radix::{self, Digits};
use crate::simd;
use half::{bf16, f16};
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Float, Wide};

/// Sorts one row of a type. `workspace` is as long as the row, or empty for less than
/// [`MIN_RADIX_ELEMENTS`](super::tuning::MIN_RADIX_ELEMENTS) elements.
pub type SortRow = fn(&SortKey, from: &[u8], to: &mut [u8], workspace: &mut [u8]);

/// How a type is sorted; `None` for types without an order.
pub fn plain(dtype: DType) -> Option<SortRow> {
    Some(match dtype {
        DType::Pred | DType::U2 | DType::U4 | DType::U8 => sort::<u8>,
        DType::U16 => sort::<u16>,
        DType::U32 => sort::<u32>,
        DType::U64 => sort::<u64>,
        DType::S2 | DType::S4 | DType::S8 => sort::<i8>,
        DType::S16 => sort::<i16>,
        DType::S32 => sort::<i32>,
        DType::S64 => sort::<i64>,
        DType::Bf16 => sort::<bf16>,
        DType::F16 => sort::<f16>,
        DType::F32 => sort::<f32>,
        DType::F64 => sort::<f64>,
        _ => return None,
    })
}

/// An element whose total order is that of a number.
trait Coded: bytemuck::Pod + Send + Sync {
    /// The number.
    type Code: Digits;

    /// The number, or the one that orders the other way.
    fn code(self, descending: bool) -> Self::Code;
    /// The element of a number.
    fn element(code: Self::Code, descending: bool) -> Self;
    /// The first number, and the last one.
    fn ends() -> [Self::Code; 2];
    /// Whether it is NaN, positive zero, negative zero, where that differs from equal elements.
    fn special(self) -> [bool; 3] {
        [false; 3]
    }
}

macro_rules! integers {
    ($($t:ty, $code:ty, $first:expr;)*) => {$(impl Coded for $t {
        type Code = $code;

        #[inline(always)]
        fn code(self, descending: bool) -> $code {
            // The code of the smallest element is zero.
            let code = <$code>::from_ne_bytes((self ^ $first).to_ne_bytes());
            if descending { !code } else { code }
        }
        fn ends() -> [$code; 2] {
            [<$code>::MIN, <$code>::MAX]
        }
        #[inline(always)]
        fn element(code: $code, descending: bool) -> $t {
            let code = if descending { !code } else { code };
            <$t>::from_ne_bytes(code.to_ne_bytes()) ^ $first
        }
    })*};
}

macro_rules! floats {
    ($($t:ty, $code:ty;)*) => {$(impl Coded for $t {
        type Code = $code;

        #[inline(always)]
        fn code(self, descending: bool) -> $code {
            const SIGN: $code = 1 << (<$code>::BITS - 1);
            let bits = self.to_bits();
            // All bits of a negative number are turned, only the sign of another one.
            let turned = (bits.cast_signed() >> (<$code>::BITS - 1)).cast_unsigned() | SIGN;
            let code = bits ^ turned;
            if descending { !code } else { code }
        }
        fn ends() -> [$code; 2] {
            [<$code>::MIN, <$code>::MAX]
        }
        #[inline(always)]
        fn element(code: $code, descending: bool) -> $t {
            const SIGN: $code = 1 << (<$code>::BITS - 1);
            let code = if descending { !code } else { code };
            let turned = (!code.cast_signed() >> (<$code>::BITS - 1)).cast_unsigned() | SIGN;
            <$t>::from_bits(code ^ turned)
        }
        #[inline(always)]
        fn special(self) -> [bool; 3] {
            const SIGN: $code = 1 << (<$code>::BITS - 1);
            let bits = self.to_bits();
            // Where subnormal numbers count as zeros, each is a zero of a kind of its own.
            let digits = bits & !SIGN;
            let subnormal = digits.wrapping_sub(1) < <$t>::MIN_POSITIVE.to_bits() - 1;
            let kinds = subnormal && Float::widen(self).flushed() == 0.0;
            let nan = bits & !SIGN > <$t>::INFINITY.to_bits();
            [nan, bits == 0 || kinds, bits == SIGN || kinds]
        }
    })*};
}

integers! {
    u8, u8, 0; u16, u16, 0; u32, u32, 0; u64, u64, 0;
    i8, u8, i8::MIN; i16, u16, i16::MIN; i32, u32, i32::MIN; i64, u64, i64::MIN;
}
floats! { bf16, u16; f16, u16; f32, u32; f64, u64; }

/// Whether elements that count as equal are the same, so that an order of codes says all.
fn fits<T: Coded>(key: &SortKey, elements: &[T]) -> bool {
    key.total || simd::run(Fits(elements))
}

/// Whether there is no NaN, and no more than one kind of zero.
struct Fits<'a, T>(&'a [T]);

impl<T: Coded> simd::Loop for Fits<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let mut any = [false; 3];
        for &element in self.0 {
            for (any, special) in any.iter_mut().zip(element.special()) {
                *any |= special;
            }
        }
        let [nan, positive, negative] = any;
        !(nan || positive && negative)
    }
}

fn sort<T: Coded>(key: &SortKey, from: &[u8], to: &mut [u8], workspace: &mut [u8]) {
    let down = key.descending;
    let from: &[T] = bytemuck::cast_slice(from);
    let codes: &mut [T::Code] = bytemuck::cast_slice_mut(to);
    let ties = (!fits(key, from)).then(|| ties::<T>(key));
    simd::run(Each(codes.iter_mut().zip(from), |(code, &element): (&mut T::Code, &T)| {
        *code = element.code(down);
    }));
    if let Some(ties) = &ties {
        for (code, &element) in codes.iter_mut().zip(from) {
            *code = tie(element).map_or(*code, |tie| ties[tie]);
        }
    }
    let workspace: &mut [T::Code] =
        if workspace.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(workspace) };
    radix::sort(codes, workspace, 0..size_of::<T>());
    let mut places = ties.map(|ties| ties.map(|tie| codes.partition_point(|&code| code < tie)));
    // A code has as many bytes as its element, and may have any bits.
    simd::run(Each(codes.iter_mut(), |code: &mut T::Code| {
        *code = bytemuck::cast(T::element(*code, down));
    }));
    // Equal ones lie together, and stay in their order.
    if let Some(places) = &mut places {
        for &element in from {
            if let Some(tie) = tie(element) {
                codes[places[tie]] = bytemuck::cast(element);
                places[tie] += 1;
            }
        }
    }
}

/// The codes of elements that count as equal and are not the same, of zeros and of NaN: no other
/// element has them.
fn ties<T: Coded>(key: &SortKey) -> [T::Code; 2] {
    let [first, last] = T::ends();
    let nan = if key.nan_is_largest && key.descending { first } else { last };
    [T::zeroed().code(key.descending), nan]
}

/// Which of them an element is.
fn tie<T: Coded>(element: T) -> Option<usize> {
    let [nan, positive, negative] = element.special();
    if nan { Some(1) } else { (positive || negative).then_some(0) }
}

/// Does something to each of many.
struct Each<I, F>(I, F);

impl<I: Iterator, F: FnMut(I::Item)> simd::Loop for Each<I, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.for_each(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(dtype: DType, descending: bool, total: bool) -> SortKey {
        SortKey { operand: 0, dtype, descending, total, nan_is_largest: true }
    }

    fn sorted<T: bytemuck::Pod>(key: &SortKey, elements: &[T]) -> Vec<T> {
        let mut to = elements.to_vec();
        let mut workspace = elements.to_vec();
        let row = plain(key.dtype).unwrap();
        let (to_bytes, workspace) =
            (bytemuck::cast_slice_mut(&mut to), bytemuck::cast_slice_mut(&mut workspace));
        row(key, bytemuck::cast_slice(elements), to_bytes, workspace);
        to
    }

    #[test]
    fn elements_come_back_in_order() {
        let x = [2.5_f32, -1.0, f32::INFINITY, -0.0, 1e-40, f32::NEG_INFINITY, -3e38];
        let up = [f32::NEG_INFINITY, -3e38, -1.0, -0.0, 1e-40, 2.5, f32::INFINITY];
        simd::at_every_level(|_| {
            let found = sorted(&key(DType::F32, false, false), &x);
            assert_eq!(found.map_bits(), up.to_vec().map_bits());
            let mut down = sorted(&key(DType::F32, true, false), &x);
            down.reverse();
            assert_eq!(down.map_bits(), up.to_vec().map_bits());
        });
        assert_eq!(
            sorted(&key(DType::S8, false, false), &[3_i8, -128, 127, -1]),
            [-128, -1, 3, 127]
        );
        assert_eq!(
            sorted(&key(DType::S64, true, false), &[3_i64, i64::MIN, -1]),
            [3, -1, i64::MIN]
        );
        assert_eq!(sorted(&key(DType::U16, true, false), &[3_u16, 9, 0]), [9, 3, 0]);
        let halves = [1.0, -2.0, 0.5].map(bf16::from_f32);
        let expected = [-2.0, 0.5, 1.0].map(bf16::from_f32);
        assert_eq!(sorted(&key(DType::Bf16, false, false), &halves), expected);
    }

    #[test]
    fn zeros_of_both_signs_are_equal_and_so_are_nans_which_stay_in_their_order() {
        let nan = f32::from_bits;
        let (a, b, c) = (nan(0x7fc0_0001), nan(0xffc0_0002), nan(0x7f80_0003));
        let x = [a, 0.0, 1.0, b, -0.0, f32::INFINITY, 0.0, c, -1.0, -0.0, f32::NEG_INFINITY];
        let numbers = [f32::NEG_INFINITY, -1.0, 0.0, -0.0, 0.0, -0.0, 1.0, f32::INFINITY];
        let down = [f32::INFINITY, 1.0, 0.0, -0.0, 0.0, -0.0, -1.0, f32::NEG_INFINITY];
        let of = |key: SortKey| sorted(&key, &x).map_bits();
        let joined = |parts: [&[f32]; 2]| parts.concat().map_bits();
        let nans = [a, b, c];
        assert_eq!(of(key(DType::F32, false, false)), joined([&numbers, &nans]));
        assert_eq!(of(key(DType::F32, true, false)), joined([&nans, &down]));
        let last = SortKey { nan_is_largest: false, ..key(DType::F32, true, false) };
        assert_eq!(of(last), joined([&down, &nans]));
        let total = of(key(DType::F32, false, true));
        assert_eq!(total[..2], [b, f32::NEG_INFINITY].to_vec().map_bits());
        assert_eq!(sorted(&key(DType::F32, false, false), &[0.0_f32; 0]), [0.0; 0]);
        assert!(plain(DType::C64).is_none());
    }

    #[test]
    fn subnormal_numbers_are_zeros_where_they_are_flushed() {
        use tpu_base::tensor::subnormals::Subnormals;
        let x = [1.0_f32, -1e-40, 1e-40, 0.0, -1.0, -0.0];
        let key = key(DType::F32, false, false);
        let _mode = Subnormals::Flushed.enter();
        let flushed = [-1.0, -1e-40, 1e-40, 0.0, -0.0, 1.0];
        assert_eq!(sorted(&key, &x).map_bits(), flushed.to_vec().map_bits());
        let _mode = Subnormals::Kept.enter();
        let kept = [-1.0, -1e-40, 0.0, -0.0, 1e-40, 1.0];
        assert_eq!(sorted(&key, &x).map_bits(), kept.to_vec().map_bits());
    }

    trait Bits {
        fn map_bits(self) -> Vec<u32>;
    }

    impl Bits for Vec<f32> {
        fn map_bits(self) -> Vec<u32> {
            self.into_iter().map(f32::to_bits).collect()
        }
    }
}
