//! Matrix products of integers, wrapping.
use super::gemm_crate::{Extent, Matrix};
use crate::matmul::tuning::INTEGER_BLOCK_COLUMNS;
use num_traits::{WrappingAdd, WrappingMul};

/// `result = lhs·rhs` or `result += lhs·rhs` modulo the type's size, rows `stride` apart.
///
/// # Panics
/// Where a matrix leaves its slice.
pub fn product<T: Copy + Default + PartialEq + WrappingAdd + WrappingMul>(
    Extent { m, n, k }: Extent,
    result: &mut [T],
    stride: usize,
    add: bool,
    lhs: Matrix<'_, T>,
    rhs: Matrix<'_, T>,
) {
    if n == 0 {
        return;
    }
    for start in (0..n).step_by(INTEGER_BLOCK_COLUMNS) {
        let width = INTEGER_BLOCK_COLUMNS.min(n - start);
        for i in 0..m {
            let row = &mut result[i * stride + start..][..width];
            if !add {
                row.fill(T::default());
            }
            for l in 0..k {
                let factor = lhs.data[i * lhs.row + l * lhs.column];
                if factor == T::default() {
                    continue;
                }
                let from = &rhs.data[l * rhs.row + start * rhs.column..];
                if rhs.column == 1 {
                    for (sum, value) in row.iter_mut().zip(&from[..width]) {
                        *sum = sum.wrapping_add(&factor.wrapping_mul(value));
                    }
                } else {
                    for (sum, value) in row.iter_mut().zip(from.iter().step_by(rhs.column)) {
                        *sum = sum.wrapping_add(&factor.wrapping_mul(value));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_wrap_and_strides_are_followed() {
        let lhs = [u32::MAX, 2, 3, 4];
        let extent = Extent { m: 2, n: 2, k: 2 };
        let plain = Matrix { data: &lhs, row: 2, column: 1 };
        let turned = Matrix { data: &lhs, row: 1, column: 2 };
        let mut result = [7; 4];
        product(extent, &mut result, 2, false, plain, turned);
        assert_eq!(result, [5, 5, 5, 25]);
        product(extent, &mut result, 2, true, plain, plain);
        assert_eq!(result, [12, 11, 14, 47]);
    }
}
