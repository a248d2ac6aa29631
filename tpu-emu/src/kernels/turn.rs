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
        for first in (0..rows).step_by(SIDE) {
            let high = SIDE.min(rows - first);
            for left in (0..columns).step_by(SIDE) {
                let wide = SIDE.min(columns - left);
                let (from, to) = (left * step + first, first * columns + left);
                if (high, wide) == (SIDE, SIDE) {
                    block(&operand[from..], step, &mut result[to..], columns);
                    continue;
                }
                for row in 0..high {
                    for column in 0..wide {
                        result[to + row * columns + column] = operand[from + column * step + row];
                    }
                }
            }
        }
    }
}

/// Turns a whole block: its lines are `step` apart in the operand and `width` in the result.
#[inline(always)]
fn block<T: Pod>(operand: &[T], step: usize, result: &mut [T], width: usize) {
    let mut lines = [[T::zeroed(); SIDE]; SIDE];
    for (column, line) in lines.iter_mut().enumerate() {
        if let Some(from) = operand[column * step..].first_chunk::<SIDE>() {
            *line = *from;
        }
    }
    for row in 0..SIDE {
        if let Some(to) = result[row * width..].first_chunk_mut::<SIDE>() {
            for (element, line) in to.iter_mut().zip(&lines) {
                *element = line[row];
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
