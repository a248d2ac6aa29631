//! The columns of short rows, all of them in one pass over the rows.
use crate::for_width;
use crate::movement::transpose::few_columns;
use crate::movement::tuning::MAX_SHORT_ROW_ELEMENTS;
use crate::simd;
use bytemuck::Pod;

/// Copies the columns of an array of rows of `N` elements, from number `first` of each column on,
/// each to an array of its own. `width` is an element's bytes.
///
/// # Panics
/// Where the operand ends before a column does, or the columns are not equally long.
pub fn deinterleave<const N: usize>(
    width: usize,
    operand: &[u8],
    first: usize,
    columns: [&mut [u8]; N],
) {
    const { assert!(2 <= N && N <= MAX_SHORT_ROW_ELEMENTS, "rows of 2 to 4 elements") };
    for_width!(width, T => {
        let columns = columns.map(|column| -> &mut [T] { bytemuck::cast_slice_mut(column) });
        let rows = columns.first().map_or(0, |column| column.len());
        let operand: &[T] = bytemuck::cast_slice(operand);
        let (operand, _) = operand[first * N..][..rows * N].as_chunks::<N>();
        assert!(columns.iter().all(|column| column.len() == rows), "columns of one length");
        match simd::shuffles() {
            Some(machine) if width == 4 => {
                simd::run_shuffled(machine, DeinterleaveByShuffles { machine, operand, columns });
            }
            _ => simd::run_to_avx2(Deinterleave { operand, columns }),
        }
    });
}

/// Columns of elements of four bytes, eight rows at a time.
struct DeinterleaveByShuffles<'a, T, const N: usize> {
    machine: simd::Shuffles,
    operand: &'a [[T; N]],
    columns: [&'a mut [T]; N],
}

impl<T: Pod, const N: usize> simd::Loop for DeinterleaveByShuffles<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { machine, operand, mut columns } = self;
        let (groups, rest) = operand.as_chunks::<8>();
        let done = operand.len() - rest.len();
        let mut blocks =
            columns.each_mut().map(|column| &mut column.as_chunks_mut().0[..groups.len()]);
        for (at, rows) in groups.iter().enumerate() {
            for (column, found) in blocks.iter_mut().zip(few_columns(machine, rows)) {
                column[at] = found;
            }
        }
        let columns = columns.map(|column| &mut column[done..]);
        Deinterleave { operand: rest, columns }.run();
    }
}

struct Deinterleave<'a, T, const N: usize> {
    operand: &'a [[T; N]],
    columns: [&'a mut [T]; N],
}

impl<T: Pod, const N: usize> simd::Loop for Deinterleave<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { operand, mut columns } = self;
        for (at, row) in operand.iter().enumerate() {
            for (column, &element) in columns.iter_mut().zip(row) {
                if let Some(to) = column.get_mut(at) {
                    *to = element;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::at_every_level;

    /// Every column of `rows` rows has its elements, and no others, from any of them on.
    fn check<T: Pod + Eq + std::fmt::Debug, const N: usize>(rows: usize, of: impl Fn(usize) -> T) {
        let operand: Vec<T> = (0..rows * N).map(&of).collect();
        for first in [0, rows / 3, rows] {
            let count = rows - first;
            let mut columns: [Vec<T>; N] = std::array::from_fn(|_| vec![of(rows * N); count]);
            let slices = columns.each_mut().map(|column| bytemuck::cast_slice_mut(column));
            deinterleave(size_of::<T>(), bytemuck::cast_slice(&operand), first, slices);
            for (at, column) in columns.iter().enumerate() {
                let wanted: Vec<T> = (first..rows).map(|row| of(row * N + at)).collect();
                assert_eq!(*column, wanted, "column {at} of {N}, {rows} rows");
            }
        }
    }

    #[test]
    fn every_column_has_its_elements_at_every_width() {
        at_every_level(|_| {
            for rows in [0, 1, 2, 5, 15, 16, 17, 63, 64, 65, 200] {
                check::<u8, 2>(rows, |at| at.to_le_bytes()[0]);
                check::<u8, 3>(rows, |at| at.to_le_bytes()[0]);
                check::<u16, 4>(rows, |at| u16::try_from(at).unwrap());
                check::<u32, 2>(rows, |at| u32::try_from(at).unwrap());
                check::<u32, 3>(rows, |at| u32::try_from(at).unwrap());
                check::<u64, 3>(rows, |at| at.try_into().unwrap());
                check::<[u64; 2], 4>(rows, |at| [at.try_into().unwrap(), 7]);
            }
        });
    }

    #[test]
    #[should_panic(expected = "range end index")]
    fn rows_that_are_not_there_are_refused() {
        let (mut a, mut b) = ([0; 4], [0; 4]);
        deinterleave(1, &[0; 7], 0, [&mut a, &mut b]);
    }
}
