//! Lengths of vectors, and sums that run side by side.
use super::scalar::Scalar;
use crate::linalg::tuning::LANES;
use crate::matmul::accumulate::Work;
use crate::simd;
use crate::simd::Loop;
use num_traits::Float;

/// The sum of sums that ran side by side.
#[inline(always)]
pub(super) fn total<T: Scalar>(sums: &[T; LANES]) -> T {
    let eight: [T; 8] = std::array::from_fn(|at| sums[at] + sums[at + 8]);
    let four: [T; 4] = std::array::from_fn(|at| eight[at] + eight[at + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// The length of a vector whose squares may be no numbers of the type.
fn scaled_length<T: Scalar>(vector: impl Iterator<Item = T> + Clone) -> T::Real {
    let zero = T::Real::ZERO;
    let mut largest = zero;
    for value in vector.clone() {
        let size = value.re().abs().max(value.im().abs());
        if value.re().is_nan() || value.im().is_nan() {
            return T::Real::nan();
        }
        largest = largest.max(size);
    }
    if largest == zero || largest.is_infinite() {
        return largest;
    }
    let square = |part: T::Real| (part / largest) * (part / largest);
    let sum = vector.fold(zero, |sum, value| sum + square(value.re()) + square(value.im()));
    largest * sum.sqrt()
}

/// The length of a vector, without overflow between.
#[inline(always)]
pub(super) fn length<T: Scalar>(vector: &[T]) -> T::Real {
    let mut sums = [T::Real::ZERO; LANES];
    let (groups, rest) = vector.as_chunks::<LANES>();
    for values in groups {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += value.re() * value.re() + value.im() * value.im();
        }
    }
    for (sum, value) in sums.iter_mut().zip(rest) {
        *sum += value.re() * value.re() + value.im() * value.im();
    }
    let sum = total(&sums);
    // Smaller squares may have been lost.
    let least = T::Real::min_positive_value() / (T::Real::epsilon() * T::Real::epsilon());
    if sum.is_finite() && sum > least { sum.sqrt() } else { scaled_length(vector.iter().copied()) }
}

/// [`length`], for callers that are no loops themselves.
pub(super) fn length_of<T: Scalar>(vector: &[T]) -> T::Real {
    struct Length<'a, T>(&'a [T]);
    impl<T: Scalar> Loop for Length<'_, T> {
        type Output = T::Real;

        #[inline(always)]
        fn run(self) -> T::Real {
            length(self.0)
        }
    }
    simd::run(Length(vector))
}
