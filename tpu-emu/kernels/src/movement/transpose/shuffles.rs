//! Blocks transposed by instructions that interleave vectors.
use super::{BlockTranspose, SIDE};
use crate::simd::Shuffles;
use bytemuck::Pod;

/// Elements of one or two bytes, by instructions that interleave vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interleaved(pub(super) Shuffles);

impl<T: Pod> BlockTranspose<T> for Interleaved {
    #[inline(always)]
    fn transpose(self, operand: &[T], step: usize, result: &mut [T], width: usize) {
        let at = (operand, step);
        match size_of::<T>() {
            1 => square::<T, 16>(self.0, at, (result, width)),
            _ => self.squares::<T, 8>(at, (result, width)),
        }
    }
}

impl Interleaved {
    /// A block as squares of `N` elements, which are a vector.
    #[inline(always)]
    fn squares<T: Pod, const N: usize>(
        self,
        (operand, step): (&[T], usize),
        (result, width): (&mut [T], usize),
    ) {
        for down in (0..SIDE).step_by(N) {
            for right in (0..SIDE).step_by(N) {
                let from = &operand[right * step + down..];
                let to = &mut result[down * width + right..];
                square::<T, N>(self.0, (from, step), (to, width));
            }
        }
    }
}

/// Transposes a square of `N` vectors of `N` elements; with the slices stand the elements from one line
/// to the next.
#[inline(always)]
fn square<T: Pod, const N: usize>(
    machine: Shuffles,
    (operand, step): (&[T], usize),
    (result, width): (&mut [T], usize),
) {
    let sse = machine.sse2;
    let mut lines = [sse._mm_setzero_si128(); N];
    for (at, line) in lines.iter_mut().enumerate() {
        let bytes: &[u8] = bytemuck::cast_slice(&operand[at * step..][..N]);
        if let Some(bytes) = bytes.first_chunk::<16>() {
            *line = pulp::cast(*bytes);
        }
    }
    let mut round = N;
    while round > 1 {
        let before = lines;
        // Two vectors at a time and without a choice between them: else the rounds of 16 vectors
        // stay a loop, which keeps them in memory.
        for at in 0..N / 2 {
            let (a, b) = (before[at], before[at + N / 2]);
            [lines[2 * at], lines[2 * at + 1]] = match size_of::<T>() {
                1 => [sse._mm_unpacklo_epi8(a, b), sse._mm_unpackhi_epi8(a, b)],
                _ => [sse._mm_unpacklo_epi16(a, b), sse._mm_unpackhi_epi16(a, b)],
            };
        }
        round /= 2;
    }
    for (at, line) in lines.into_iter().enumerate() {
        let bytes: [u8; 16] = pulp::cast(line);
        let to: &mut [u8] = bytemuck::cast_slice_mut(&mut result[at * width..][..N]);
        to.copy_from_slice(&bytes);
    }
}

/// Columns of 16 rows that begin `step` elements apart: the first eight. Elements have four bytes;
/// this is called where [`crate::simd::run_shuffled`] runs.
#[inline(always)]
pub(crate) fn eight_columns<T: Pod>(
    machine: Shuffles,
    operand: &[T],
    step: usize,
    lines: &mut [[T; SIDE]; 8],
) {
    for half in [0, 8] {
        let mut rows = [[T::zeroed(); 8]; 8];
        for (at, row) in rows.iter_mut().enumerate() {
            if let Some(from) = operand[(half + at) * step..].first_chunk::<8>() {
                *row = *from;
            }
        }
        for (line, column) in lines.iter_mut().zip(eight_by_eight(machine, &rows)) {
            if let Some(to) = line[half..].first_chunk_mut::<8>() {
                *to = column;
            }
        }
    }
}

/// The columns of eight rows of 2 to 4 elements, which have four bytes; this is called where
/// [`crate::simd::run_shuffled`] runs.
#[inline(always)]
pub(crate) fn few_columns<T: Pod, const N: usize>(
    machine: Shuffles,
    rows: &[[T; N]; 8],
) -> [[T; 8]; N] {
    let (avx, avx2) = (machine.avx, machine.avx2);
    let bytes: &[u8] = bytemuck::cast_slice(rows.as_flattened());
    let mut from = [avx._mm256_setzero_si256(); 4];
    for (vector, bytes) in from.iter_mut().zip(bytes.as_chunks::<32>().0) {
        *vector = pulp::cast(*bytes);
    }
    let [a, b, c, d] = from;
    let ordered = |vector, order: [i32; 8]| {
        avx2._mm256_permutevar8x32_epi32(vector, pulp::cast::<[i32; 8], _>(order))
    };
    let mut columns = from;
    match N {
        2 => {
            let (a, b) = (pulp::cast(a), pulp::cast(b));
            let even = pulp::cast(avx._mm256_shuffle_ps::<0x88>(a, b));
            let odd = pulp::cast(avx._mm256_shuffle_ps::<0xdd>(a, b));
            columns[0] = avx2._mm256_permute4x64_epi64::<0xd8>(even);
            columns[1] = avx2._mm256_permute4x64_epi64::<0xd8>(odd);
        }
        3 => {
            // Of three vectors, every third lane of each has an element of one column.
            let first = avx2._mm256_blend_epi32::<0x92>(a, b);
            let second = avx2._mm256_blend_epi32::<0x24>(a, b);
            let third = avx2._mm256_blend_epi32::<0x49>(a, b);
            let first = avx2._mm256_blend_epi32::<0x24>(first, c);
            let second = avx2._mm256_blend_epi32::<0x49>(second, c);
            let third = avx2._mm256_blend_epi32::<0x92>(third, c);
            columns[0] = ordered(first, [0, 3, 6, 1, 4, 7, 2, 5]);
            columns[1] = ordered(second, [1, 4, 7, 2, 5, 0, 3, 6]);
            columns[2] = ordered(third, [2, 5, 0, 3, 6, 1, 4, 7]);
        }
        _ => {
            let (low, others) =
                (avx2._mm256_unpacklo_epi32(a, b), avx2._mm256_unpacklo_epi32(c, d));
            let (high, rest) = (avx2._mm256_unpackhi_epi32(a, b), avx2._mm256_unpackhi_epi32(c, d));
            let turns = [0, 4, 1, 5, 2, 6, 3, 7];
            columns[0] = ordered(avx2._mm256_unpacklo_epi64(low, others), turns);
            columns[1] = ordered(avx2._mm256_unpackhi_epi64(low, others), turns);
            columns[2] = ordered(avx2._mm256_unpacklo_epi64(high, rest), turns);
            columns[3] = ordered(avx2._mm256_unpackhi_epi64(high, rest), turns);
        }
    }
    let mut found = [[T::zeroed(); 8]; N];
    for (found, column) in found.iter_mut().zip(columns) {
        let column: [u8; 32] = pulp::cast(column);
        bytemuck::bytes_of_mut(found).copy_from_slice(&column);
    }
    found
}

/// The columns of a square. Elements have four bytes; this is called where
/// [`crate::simd::run_shuffled`] runs.
#[inline(always)]
pub(crate) fn eight_by_eight<T: Pod>(machine: Shuffles, rows: &[[T; 8]; 8]) -> [[T; 8]; 8] {
    let (avx, avx2) = (machine.avx, machine.avx2);
    let mut pairs = [avx._mm256_setzero_si256(); 8];
    let vector = |at: usize| match bytemuck::bytes_of(&rows[at]).first_chunk::<32>() {
        Some(bytes) => pulp::cast(*bytes),
        None => avx._mm256_setzero_si256(),
    };
    for at in 0..4 {
        let (a, b) = (vector(2 * at), vector(2 * at + 1));
        pairs[2 * at] = avx2._mm256_unpacklo_epi32(a, b);
        pairs[2 * at + 1] = avx2._mm256_unpackhi_epi32(a, b);
    }
    let mut fours = pairs;
    for at in 0..4 {
        // Of four rows, the first halves and then the second ones.
        let first = at / 2 * 4 + at % 2;
        let (a, b) = (pairs[first], pairs[first + 2]);
        fours[2 * at] = avx2._mm256_unpacklo_epi64(a, b);
        fours[2 * at + 1] = avx2._mm256_unpackhi_epi64(a, b);
    }
    let mut columns = [[T::zeroed(); 8]; 8];
    for at in 0..4 {
        let (a, b) = (fours[at], fours[at + 4]);
        let low: [u8; 32] = pulp::cast(avx2._mm256_permute2x128_si256::<0x20>(a, b));
        let high: [u8; 32] = pulp::cast(avx2._mm256_permute2x128_si256::<0x31>(a, b));
        bytemuck::bytes_of_mut(&mut columns[at]).copy_from_slice(&low);
        bytemuck::bytes_of_mut(&mut columns[at + 4]).copy_from_slice(&high);
    }
    columns
}
