//! Matrix products of floats, by the `gemm` crate behind a checked interface.
// UNSAFETY: calls the one function of the crate; every index it forms is checked before.
#![expect(unsafe_code, reason = "the crate takes pointers and strides")]
use gemm::Parallelism;

/// A matrix inside a slice: element `(i, j)` is `data[i·row + j·column]`.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a, T> {
    /// The elements.
    pub data: &'a [T],
    /// Elements from one row to the next.
    pub row: usize,
    /// Elements from one column to the next.
    pub column: usize,
}

impl<T> Matrix<'_, T> {
    /// The matrix that begins `start` elements later.
    #[must_use]
    pub fn from(self, start: usize) -> Self {
        Self { data: self.data.get(start..).unwrap_or_default(), ..self }
    }

    /// Whether a matrix of this many rows and columns lies inside the slice.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        let (Some(last_row), Some(last_column)) = (rows.checked_sub(1), columns.checked_sub(1))
        else {
            return true;
        };
        let last = last_row
            .checked_mul(self.row)
            .zip(last_column.checked_mul(self.column))
            .and_then(|(row, column)| row.checked_add(column));
        last.is_some_and(|last| last < self.data.len())
    }
}

/// Rows, columns, and the length of the sums of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Rows of the left operand and of the result.
    pub m: usize,
    /// Columns of the right operand and of the result.
    pub n: usize,
    /// Columns of the left operand and rows of the right one.
    pub k: usize,
}

/// `result = lhs·rhs`, or `result += factor·lhs·rhs`, with the result's rows `stride` apart.
///
/// `T` is `f32`, `f64`, or a complex number of them.
///
/// # Panics
/// Where a matrix leaves its slice.
pub(crate) fn product<T: Copy + 'static>(
    extent: Extent,
    result: &mut [T],
    stride: usize,
    (add, factor, one): (bool, T, T),
    lhs: Matrix<'_, T>,
    rhs: Matrix<'_, T>,
) {
    let Extent { m, n, k } = extent;
    if m == 0 || n == 0 {
        return;
    }
    let whole = Matrix { data: &*result, row: stride, column: 1 };
    assert!(whole.holds(m, n) && stride >= n, "result of {extent:?}");
    assert!(lhs.holds(m, k), "lhs of {extent:?}");
    assert!(rhs.holds(k, n), "rhs of {extent:?}");
    let signed = |stride: usize| stride.cast_signed();
    // SAFETY: the three matrices lie inside their slices (checked above), the result is borrowed
    // exclusively and its rows do not overlap, and its elements are initialised.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            result.as_mut_ptr(),
            1,
            signed(stride),
            add,
            lhs.data.as_ptr(),
            signed(lhs.column),
            signed(lhs.row),
            rhs.data.as_ptr(),
            signed(rhs.column),
            signed(rhs.row),
            one,
            factor,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_takes_strides_and_adds_on_request() {
        let lhs = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let rhs = [1.0_f32, 0.5, 2.0, -1.0, 3.0, 0.25];
        let extent = Extent { m: 2, n: 2, k: 3 };
        let transposed = Matrix { data: &lhs, row: 1, column: 2 };
        let plain = Matrix { data: &rhs, row: 2, column: 1 };
        let mut result = [100.0; 4];
        product(extent, &mut result, 2, (false, 1.0, 1.0), transposed, plain);
        assert_eq!(result, [22.0, -1.25, 28.0, -1.5]);
        product(extent, &mut result, 2, (true, 1.0, -1.0), transposed, plain);
        assert_eq!(result, [0.0; 4]);
    }

    #[test]
    fn an_empty_sum_is_zero() {
        let empty = Matrix { data: &[], row: 1, column: 1 };
        let mut result = [f64::NAN; 6];
        let extent = Extent { m: 2, n: 3, k: 0 };
        product(extent, &mut result, 3, (false, 1.0, 1.0), empty, empty);
        assert_eq!(result, [0.0; 6]);
    }

    #[test]
    #[should_panic(expected = "lhs of")]
    fn a_matrix_outside_its_slice_is_refused() {
        let short = Matrix { data: &[1.0_f32; 3], row: 2, column: 1 };
        let extent = Extent { m: 2, n: 2, k: 2 };
        product(extent, &mut [0.0; 4], 2, (false, 1.0, 1.0), short, short);
    }
}
