//! Numbers that count along an axis.
use super::strided_view::count_up;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{ComplexNumber, Int, Real, for_dtype};

/// Fills `result` with the index along an axis, from element `start` of the array on: the axis
/// has `extent` indices of `inner` elements each. Integers wrap.
pub fn fill_iota(dtype: DType, start: usize, inner: usize, extent: usize, result: &mut [u8]) {
    let integers = for_dtype!(dtype, T: Int => {
        count_up(start, inner, extent, bytemuck::cast_slice_mut(result), |index| {
            T::wrap(tpu_base::units::to_u64(index))
        });
    });
    #[expect(clippy::cast_precision_loss, reason = "a float's nearest number to a large index")]
    let floats = for_dtype!(dtype, T: Float => {
        count_up(start, inner, extent, bytemuck::cast_slice_mut(result), |index| {
            T::from_f64(index as f64)
        });
    });
    #[expect(clippy::cast_precision_loss, reason = "a float's nearest number to a large index")]
    let complex = for_dtype!(dtype, T: Complex => {
        count_up(start, inner, extent, bytemuck::cast_slice_mut(result), |index| {
            let real = <T as ComplexNumber>::Part::from_f64(index as f64);
            T::from_parts(num_complex::Complex::new(real, num_traits::Zero::zero()))
        });
    });
    if integers.or(floats).or(complex).is_none() {
        // A boolean axis has at most two indices.
        count_up(start, inner, extent, result, |index| u8::from(index != 0));
    }
}
