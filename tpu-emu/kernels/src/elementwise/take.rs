//! Elements of an array by numbers that programs compute: operations on lanes for it.
use super::kind::ElementwiseKind;
use super::loops::lane;
use super::program::{ElementwiseOp, LoopFn};
use tpu_base::tensor::DType;

/// The element with a number, of type [`NUMBER`]: operands are the number and all of an array
/// that has elements up to number `last`. `None` for types without such a loop.
pub fn take(dtype: DType, last: u32) -> Option<ElementwiseOp> {
    let run: LoopFn = match dtype.host_bytes() {
        1 => taken::<u8>,
        2 => taken::<u16>,
        4 => taken::<u32>,
        8 => taken::<u64>,
        _ => return None,
    };
    let immediate = [last, 0];
    let (kind, transcendental) = (ElementwiseKind::Take, false);
    Some(ElementwiseOp { kind, operand: dtype, result: dtype, run, immediate, transcendental })
}

/// The type of the numbers.
pub const NUMBER: DType = DType::S32;

fn taken<T: bytemuck::Pod>(immediate: [u32; 2], inputs: &[&[u8]], output: &mut [u8]) {
    let numbers: &[u32] = bytemuck::cast_slice(inputs[0]);
    let array: &[T] = bytemuck::cast_slice(inputs[1]);
    let last = usize::try_from(immediate[0]).map_or(0, |last| last.min(array.len() - 1));
    let output: &mut [T] = bytemuck::cast_slice_mut(output);
    for (to, &number) in output.iter_mut().zip(numbers) {
        *to = array[usize::try_from(number).map_or(last, |number| number.min(last))];
    }
}

/// The larger of the first two operands, or the third if that is less: `clamp` on integers.
/// `None` for types that indices do not have.
pub fn clamp(dtype: DType) -> Option<ElementwiseOp> {
    let run = match dtype {
        DType::S8 => lane!(|low: i8, a: i8, high: i8| a.max(low).min(high)),
        DType::S16 => lane!(|low: i16, a: i16, high: i16| a.max(low).min(high)),
        DType::S32 => lane!(|low: i32, a: i32, high: i32| a.max(low).min(high)),
        DType::S64 => lane!(|low: i64, a: i64, high: i64| a.max(low).min(high)),
        DType::U8 => lane!(|low: u8, a: u8, high: u8| a.max(low).min(high)),
        DType::U16 => lane!(|low: u16, a: u16, high: u16| a.max(low).min(high)),
        DType::U32 => lane!(|low: u32, a: u32, high: u32| a.max(low).min(high)),
        DType::U64 => lane!(|low: u64, a: u64, high: u64| a.max(low).min(high)),
        _ => return None,
    };
    Some(exact(ElementwiseKind::Clamp, dtype, dtype, run))
}

/// The low bits of a number that [`NUMBER`] can hold; `None` where it has that type.
pub fn narrowed(dtype: DType) -> Option<ElementwiseOp> {
    let run = match dtype {
        DType::S8 => lane!(|a: i8| -> i32 { a.into() }),
        DType::S16 => lane!(|a: i16| -> i32 { a.into() }),
        DType::S64 => lane!(|a: i64| -> i32 { low(a.to_le_bytes()) }),
        DType::U8 => lane!(|a: u8| -> i32 { a.into() }),
        DType::U16 => lane!(|a: u16| -> i32 { a.into() }),
        DType::U32 => lane!(|a: u32| -> i32 { a.cast_signed() }),
        DType::U64 => lane!(|a: u64| -> i32 { low(a.to_le_bytes()) }),
        _ => return None,
    };
    Some(exact(ElementwiseKind::Convert, dtype, NUMBER, run))
}

#[inline(always)]
fn low([a, b, c, d, ..]: [u8; 8]) -> i32 {
    i32::from_le_bytes([a, b, c, d])
}

/// The product of two numbers.
pub fn times() -> ElementwiseOp {
    exact(ElementwiseKind::Multiply, NUMBER, NUMBER, lane!(|a: i32, b: i32| a.wrapping_mul(b)))
}

/// The sum of two numbers.
pub fn plus() -> ElementwiseOp {
    exact(ElementwiseKind::Add, NUMBER, NUMBER, lane!(|a: i32, b: i32| a.wrapping_add(b)))
}

fn exact(kind: ElementwiseKind, operand: DType, result: DType, run: LoopFn) -> ElementwiseOp {
    ElementwiseOp { kind, operand, result, run, immediate: [0; 2], transcendental: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_behind_the_end_and_negative_ones_take_the_last_element() {
        let (numbers, array) = ([2_i32, 0, 3, -1, i32::MIN, 1], [1_u16, 2, 3]);
        let [mut all, mut few] = [[0_u16; 6]; 2];
        for (last, found) in [(2, &mut all), (1, &mut few)] {
            let inputs = [bytemuck::cast_slice(&numbers), bytemuck::cast_slice(&array)];
            let take = take(DType::Bf16, last).unwrap();
            (take.run)(take.immediate, &inputs, bytemuck::cast_slice_mut(found));
        }
        assert_eq!((all, few), ([3, 1, 3, 3, 3, 2], [2, 1, 2, 2, 2, 2]));
        assert!(take(DType::C128, 5).is_none());
    }

    #[test]
    fn a_number_of_every_type_is_clamped_and_narrowed() {
        let ends = |dtype: DType| -> Vec<Vec<u8>> {
            [0_u64, 9].map(|end| end.to_le_bytes()[..dtype.host_bytes()].to_vec()).into()
        };
        for dtype in [DType::S8, DType::U8, DType::S16, DType::U16, DType::S64, DType::U64] {
            let width = dtype.host_bytes();
            let clamp = clamp(dtype).unwrap();
            let ends = ends(dtype);
            let narrowed = narrowed(dtype).unwrap();
            let unsigned = [DType::U8, DType::U16, DType::U64].contains(&dtype);
            let negative = if unsigned { 9 } else { 0 };
            for (number, expected) in [(5_i64, 5), (9, 9), (100, 9), (-3, negative)] {
                let bytes = number.to_le_bytes();
                let mut start = vec![0; width];
                (clamp.run)([0; 2], &[&ends[0], &bytes[..width], &ends[1]], &mut start);
                let mut found = [0_i32];
                (narrowed.run)([0; 2], &[&start], bytemuck::cast_slice_mut(&mut found));
                assert_eq!(found, [expected], "{number} as {dtype:?}");
            }
        }
        assert!(narrowed(NUMBER).is_none());
        assert!(clamp(DType::F32).is_none());
    }
}
