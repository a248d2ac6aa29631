//! Matrices turned, block by block.
use super::simd;
use bytemuck::Pod;

/// Rows and columns of a block.
const SIDE: usize = 16;

/// `result[r * columns + c] = operand[r + c * step]`, for `columns` and the rows that `result` has.
pub fn turn<T: Pod>(operand: &[T], step: usize, columns: usize, result: &mut [T]) {
    simd::run(Turn { operand, step, columns, result });
}

struct Turn<'a, T> {
    operand: &'a [T],
    step: usize,
    columns: usize,
    result: &'a mut [T],
}

impl<T: Pod> simd::Loop for Turn<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Turn { operand, step, columns, result } = self;
        let rows = result.len().checked_div(columns).unwrap_or(0);
        let mut block = [[T::zeroed(); SIDE]; SIDE];
        for first in (0..rows).step_by(SIDE) {
            let high = SIDE.min(rows - first);
            for left in (0..columns).step_by(SIDE) {
                let wide = SIDE.min(columns - left);
                for (column, line) in block[..wide].iter_mut().enumerate() {
                    let at = (left + column) * step + first;
                    line[..high].copy_from_slice(&operand[at..at + high]);
                }
                for row in 0..high {
                    let at = (first + row) * columns + left;
                    let mut turned = [T::zeroed(); SIDE];
                    for (element, line) in turned.iter_mut().zip(&block) {
                        *element = line[row];
                    }
                    result[at..at + wide].copy_from_slice(&turned[..wide]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns_whatever_their_numbers() {
        for (rows, columns, step) in
            [(1, 1, 1), (16, 16, 16), (5, 40, 9), (33, 17, 33), (50, 3, 64)]
        {
            let operand: Vec<u32> = (0..).take(columns * step).collect();
            let mut result = vec![0; rows * columns];
            turn(&operand, step, columns, &mut result);
            let expected =
                (0..rows * columns).map(|at| operand[at / columns + at % columns * step]);
            assert!(expected.eq(result.iter().copied()), "{rows} x {columns} by {step}");
        }
    }
}
