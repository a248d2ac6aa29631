//! Elements of an array by numbers that programs compute: operations on lanes for it.
use super::kind::ElementwiseKind;
use super::program::{ElementwiseOp, LoopFn};
use crate::elementwise::tuning::TAKE_GROUP_ELEMENTS;
use crate::for_width;
use tpu_base::tensor::DType;

/// The element with a number, of type [`NUMBER`]: operands are the number and all of an array
/// that has elements up to number `last`. `None` for types without such a loop.
pub fn take(dtype: DType, last: u32) -> Option<ElementwiseOp> {
    let width = dtype.host_bytes();
    if width > 8 {
        return None;
    }
    let run: LoopFn = for_width!(width, T => taken::<T>, else return None);
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
    let array = &array[..=last];
    let last = u32::try_from(last).unwrap_or(u32::MAX);
    let element = |number: u32| array[usize::try_from(number).unwrap_or_default()];
    let output: &mut [T] = bytemuck::cast_slice_mut(output);
    // Several at once: they are written by one instruction.
    let (groups, rest) = output.as_chunks_mut::<TAKE_GROUP_ELEMENTS>();
    let (numbers, others) = numbers.as_chunks::<TAKE_GROUP_ELEMENTS>();
    for (to, numbers) in groups.iter_mut().zip(numbers) {
        let mut taken = [T::zeroed(); TAKE_GROUP_ELEMENTS];
        for (taken, &number) in taken.iter_mut().zip(numbers) {
            *taken = element(number.min(last));
        }
        *to = taken;
    }
    for (to, &number) in rest.iter_mut().zip(others) {
        *to = element(number.min(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_what_is_left_of_them_take_the_same_elements() {
        let array: Vec<u8> = (0..=255).collect();
        for count in 0..3 * TAKE_GROUP_ELEMENTS {
            let numbers: Vec<u32> =
                (0_u32..).step_by(37).map(|number| number % 300).take(count).collect();
            let mut found = vec![0_u8; count];
            let take = take(DType::U8, 250).unwrap();
            (take.run)(take.immediate, &[bytemuck::cast_slice(&numbers), &array], &mut found);
            let wanted: Vec<u8> = numbers.iter().map(|&number| number.min(250) as u8).collect();
            assert_eq!(found, wanted);
        }
    }

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
}
