//! Blocks of Householder reflectors, `H1·H2⋯ = I - V·S·Vᴴ`, which products of matrices apply.
//!
//! A block keeps its vectors one after the other, each from the first row of the block on, with
//! its leading zeros and its one, so that sums run over whole groups of [`LANES`].
//! `S` is never formed: what it multiplies by is the solution of a triangular system, which a
//! factor of 0 does no harm.
use super::factor::{Triangle, chunk, solve_block, subtract_product};
use super::length::{length, total};
use super::scalar::Scalar;
use crate::linalg::tuning::{
    BLOCK_REFLECTORS, BLOCK_ROWS, CHUNK_MULTIPLY_ADDS, LANES, PRODUCT_DEPTH,
};
use crate::matmul::accumulate::Work;
use crate::matmul::gemm_crate;
use crate::matmul::gemm_crate::{Extent, Matrix};
use crate::parallel;
use crate::simd;
use crate::simd::Loop;
use num_traits::Float;
use std::ops::Range;

/// In which order the reflectors of a block are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReflectorOrder {
    /// `H1·H2⋯`, the last one first.
    Product,
    /// `⋯H2ᴴ·H1ᴴ`, the first one first.
    Adjoint,
}

impl ReflectorOrder {
    /// The factor of a reflector, or of its adjoint.
    fn factor<T: Scalar>(self, tau: T) -> T {
        if self == Self::Product { tau } else { tau.conjugate() }
    }
}

/// Some neighbouring reflectors.
pub(crate) struct ReflectorBlock<'a, T> {
    count: usize,
    /// Rows that they change, from the first row of the block on.
    length: usize,
    /// Numbers from one vector to the next; those behind `length` are 0.
    stride: usize,
    vectors: &'a mut [T],
    conjugates: &'a mut [T],
    order: ReflectorOrder,
    /// A triangle of `Vᴴ·V` whose rows are multiplied by the factors: that of a system whose
    /// diagonal counts as ones.
    system: &'a mut [T],
    sums: &'a mut [T],
}

/// Numbers from one vector of `rows` to the next: whole groups of [`LANES`], and an odd number of
/// them, so that elements of the same row do not keep one another out of a cache.
pub(super) fn stride(rows: usize) -> usize {
    (rows.div_ceil(LANES) | 1).saturating_mul(LANES)
}

/// Numbers of room for the blocks of reflectors of `rows` that change `columns`.
pub(crate) fn room(rows: usize, columns: usize) -> usize {
    let count = BLOCK_REFLECTORS.min(rows);
    let vectors = stride(rows).saturating_mul(2);
    let columns = columns.max(count).saturating_add(count);
    count.saturating_mul(vectors.saturating_add(columns))
}

/// The matrix that a block's vectors are stored in, below its diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Elements from one row to the next.
    pub(crate) width: usize,
    /// The row of the first vector's one.
    pub(crate) row: usize,
    /// The column of the first vector.
    pub(crate) column: usize,
}

impl<'a, T: Scalar> ReflectorBlock<'a, T> {
    /// The columns of `a` from `place` on, before they are reflected: vectors without a one. Rows
    /// at the end that are 0 in all of them are left out: reflectors keep them so.
    fn read(a: &[T], place: Place, order: ReflectorOrder, count: usize, room: &'a mut [T]) -> Self {
        let Place { width, row, column } = place;
        let below = a[row * width..].chunks_exact(width);
        let zero = |row: &[T]| row[column..column + count].iter().all(|&value| value == T::ZERO);
        let length = below.len() - below.clone().rev().take_while(|row| zero(row)).count();
        let length = length.max(count);
        let stride = stride(length);
        let (vectors, room) = room.split_at_mut(count * stride);
        let (conjugates, room) = room.split_at_mut(if T::IS_REAL { 0 } else { count * stride });
        let (system, sums) = room.split_at_mut(count * count);
        for (at, vector) in vectors.chunks_exact_mut(stride).enumerate() {
            vector[length..].fill(T::ZERO);
            let values = below.clone().map(|row| row[column + at]);
            vector.iter_mut().zip(values.take(length)).for_each(|(to, from)| *to = from);
        }
        Self { count, length, stride, vectors, conjugates, order, system, sums }
    }

    /// The reflectors whose vectors are stored in `a`, with their factors.
    pub(crate) fn stored(
        a: &[T],
        place: Place,
        order: ReflectorOrder,
        taus: &[T],
        room: &'a mut [T],
    ) -> Self {
        let mut block = Self::read(a, place, order, taus.len(), room);
        for (at, vector) in block.vectors.chunks_exact_mut(block.stride).enumerate() {
            vector[..at].fill(T::ZERO);
            vector[at] = T::of_i64(1);
        }
        block.finish(taus);
        block
    }

    /// Makes reflectors of columns of `a`, and stores what LAPACK does: `R`, the vectors below it,
    /// and their factors.
    pub(crate) fn reflect(
        a: &mut [T],
        place: Place,
        order: ReflectorOrder,
        taus: &mut [T],
        room: &'a mut [T],
    ) -> Self {
        let mut block = Self::read(a, place, order, taus.len(), room);
        let Self { count, length, stride, .. } = block;
        simd::run(ReflectorPanel {
            stride,
            vectors: block.vectors,
            a: &mut *a,
            place,
            taus: &mut *taus,
        });
        let Place { width, row, column } = place;
        for (at, to) in a[row * width..].chunks_exact_mut(width).take(length).enumerate() {
            let to = &mut to[column..column + count];
            let vectors = block.vectors.chunks_exact(stride);
            to.iter_mut().zip(vectors).take(at).for_each(|(to, vector)| *to = vector[at]);
        }
        block.finish(taus);
        block
    }

    /// Makes the system.
    fn finish(&mut self, taus: &[T]) {
        let Self { count, length, stride, .. } = *self;
        for (to, from) in self.conjugates.iter_mut().zip(&*self.vectors) {
            *to = from.conjugate();
        }
        let (vectors, conjugates) = (&*self.vectors, adjoint(self.vectors, self.conjugates));
        let left = Matrix { data: conjugates, row: stride, column: 1 };
        let right = Matrix { data: vectors, row: 1, column: stride };
        sum_products([count, count, length], self.system, left, right);
        for (row, &tau) in self.system.chunks_exact_mut(count).zip(taus) {
            let tau = self.order.factor(tau);
            row.iter_mut().for_each(|value| *value *= tau);
        }
    }

    /// Applies the reflectors to some columns of `rows`, whose first row is that of the block.
    pub(crate) fn apply(
        &mut self,
        taus: &[T],
        (rows, width): (&mut [T], usize),
        columns: Range<usize>,
    ) {
        let Self { count, length, stride, order, .. } = *self;
        if columns.is_empty() || count == 0 {
            return;
        }
        let left = Matrix { data: adjoint(self.vectors, self.conjugates), row: stride, column: 1 };
        let (system, values) = (&*self.system, &*rows);
        let some = (CHUNK_MULTIPLY_ADDS / (count * length)).max(1).next_multiple_of(BLOCK_ROWS);
        let sums = &mut self.sums[..count * columns.len()];
        parallel::chunks_mut(sums, count * some, |index, sums| {
            let right =
                Matrix { data: &values[columns.start + index * some..], row: width, column: 1 };
            sum_products([count, sums.len() / count, length], sums, left, right);
            weigh(order, taus, system, sums);
        });
        self.subtract((rows, width), columns, some);
    }

    /// Applies them to `rows` whose columns from `column` on, as many as there are reflectors, are
    /// those of the identity.
    pub(crate) fn apply_to_identity(
        &mut self,
        taus: &[T],
        (rows, width): (&mut [T], usize),
        column: usize,
    ) {
        let count = self.count;
        if count == 0 {
            return;
        }
        let sums = &mut self.sums[..count * count];
        let vectors = adjoint(self.vectors, self.conjugates);
        for (to, from) in sums.chunks_exact_mut(count).zip(vectors.chunks_exact(self.stride)) {
            to.copy_from_slice(&from[..count]);
        }
        weigh(self.order, taus, self.system, sums);
        self.subtract((rows, width), column..column + count, count);
    }

    /// `rows -= V·sums`, where sums of `some` columns follow one another.
    fn subtract(&self, (rows, width): (&mut [T], usize), columns: Range<usize>, some: usize) {
        let Self { count, length, stride, .. } = *self;
        let (vectors, sums) = (&*self.vectors, &self.sums[..count * columns.len()]);
        let chunk = chunk(columns.len());
        let rows = &mut rows[..length * width];
        parallel::chunks_mut(rows, chunk * width, |index, rows| {
            let left = Matrix { data: &vectors[index * chunk..], row: 1, column: stride };
            let starts = columns.clone().step_by(some);
            for (start, sums) in starts.zip(sums.chunks(count * some)) {
                let columns = sums.len() / count;
                let right = Matrix { data: sums, row: columns, column: 1 };
                subtract_product((&mut *rows, width, start..start + columns), left, right, count);
            }
        });
    }
}

/// The conjugates, which are the numbers themselves where they are real.
fn adjoint<'a, T: Scalar>(values: &'a [T], conjugates: &'a [T]) -> &'a [T] {
    if T::IS_REAL { values } else { conjugates }
}

/// `sums = left·right`, in parts that do not depend on the machine.
fn sum_products<T: Scalar>(
    [m, n, k]: [usize; 3],
    sums: &mut [T],
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
) {
    for start in (0..k).step_by(PRODUCT_DEPTH) {
        let extent = Extent { m, n, k: PRODUCT_DEPTH.min(k - start) };
        let (left, right) = (left.from(start * left.column), right.from(start * right.row));
        gemm_crate::product(extent, sums, n, (start > 0, T::one(), T::one()), left, right);
    }
}

/// Turns inner products with the vectors into multiples of them.
fn weigh<T: Scalar>(order: ReflectorOrder, taus: &[T], system: &[T], sums: &mut [T]) {
    let count = taus.len();
    let columns = sums.len() / count;
    for (row, &tau) in sums.chunks_exact_mut(columns).zip(taus) {
        let tau = order.factor(tau);
        row.iter_mut().for_each(|value| *value *= tau);
    }
    let triangle = Triangle { lower: order == ReflectorOrder::Adjoint, unit: true };
    solve_block(count, triangle, system, (sums, columns, 0..columns));
}

/// Columns that become reflectors.
struct ReflectorPanel<'a, T> {
    stride: usize,
    vectors: &'a mut [T],
    a: &'a mut [T],
    place: Place,
    taus: &'a mut [T],
}

impl<T: Scalar> Loop for ReflectorPanel<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { stride, vectors, a, place: Place { width, row, column }, taus } = self;
        let a = &mut a[row * width + column..];
        for (at, tau) in taus.iter_mut().enumerate() {
            let (vector, others) = vectors[at * stride..].split_at_mut(stride);
            for (above, value) in vector[..at].iter_mut().enumerate() {
                a[above * width + at] = std::mem::replace(value, T::ZERO);
            }
            let start = at / LANES * LANES;
            let (head, one) = (std::mem::replace(&mut vector[at], T::ZERO), T::of_i64(1));
            let rest = length(&vector[start..]);
            if rest == T::Real::ZERO && head.im() == T::Real::ZERO {
                (*tau, vector[at], a[at * width + at]) = (T::ZERO, one, head);
                continue;
            }
            let whole = head.re().hypot(head.im()).hypot(rest);
            let beta = if head.re() < T::Real::ZERO { whole } else { -whole };
            *tau = T::of((beta - head.re()) / beta, -head.im() / beta);
            let scale = head - T::of(beta, T::Real::ZERO);
            let inverse = one.over(scale);
            if inverse.finite() && scale.finite() && inverse.size() >= T::Real::min_positive_value()
            {
                vector[start..].iter_mut().for_each(|value| *value *= inverse);
            } else {
                vector[start..].iter_mut().for_each(|value| *value = value.over(scale));
            }
            (vector[at], a[at * width + at]) = (one, T::of(beta, T::Real::ZERO));
            let (vector, factor) = (&vector[start..], -tau.conjugate());
            for other in others.chunks_exact_mut(stride) {
                turn(vector, factor, &mut other[start..]);
            }
        }
    }
}

/// Adds a multiple of a vector to another: `factor` times their inner product. Both are whole
/// groups.
#[inline(always)]
fn turn<T: Scalar>(vector: &[T], factor: T, other: &mut [T]) {
    let mut sums = [T::ZERO; LANES];
    let groups = vector.as_chunks::<LANES>().0.iter().zip(other.as_chunks::<LANES>().0);
    for (v, other) in groups {
        for lane in 0..LANES {
            sums[lane] += v[lane].conjugate() * other[lane];
        }
    }
    let factor = factor * total(&sums);
    for (other, &v) in other.iter_mut().zip(vector) {
        *other += factor * v;
    }
}
