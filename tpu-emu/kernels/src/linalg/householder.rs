//! Householder reflectors `I - tau·v·vᴴ` in LAPACK's convention: `v` begins with a one that is not
//! stored, and `(I - tau·v·vᴴ)ᴴ` maps the vector to a real multiple of the first axis.
use super::reflectors;
use super::reflectors::{Place, ReflectorBlock, ReflectorOrder};
use super::scalar::Scalar;
use crate::linalg::tuning::BLOCK_REFLECTORS;
use std::ops::Range;

/// Numbers of room that [`qr`] and [`product`] use for `m` rows and `n` columns.
pub fn workspace([m, n]: [usize; 2]) -> usize {
    if m.min(n) == 0 { 0 } else { reflectors::room(m, n) }
}

/// The first columns of blocks of reflectors, `count` in all.
fn blocks(count: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let blocks = count.div_ceil(BLOCK_REFLECTORS);
    (0..blocks)
        .map(move |block| block * BLOCK_REFLECTORS..count.min((block + 1) * BLOCK_REFLECTORS))
}

/// `a [m, n]` becomes `R` with the reflectors below its diagonal; `taus` has `min(m, n)` numbers,
/// `room` what [`workspace`] says.
pub fn qr<T: Scalar>([m, n]: [usize; 2], a: &mut [T], taus: &mut [T], room: &mut [T]) {
    for Range { start, end } in blocks(m.min(n)) {
        let (place, taus) = (Place { width: n, row: start, column: start }, &mut taus[start..end]);
        let mut block =
            ReflectorBlock::reflect(a, place, ReflectorOrder::Adjoint, taus, &mut *room);
        block.apply(taus, (&mut a[start * n..], n), end..n);
    }
}

/// The first `n` columns of the product of the reflectors stored in `a [m, n]`, into `q [m, n]`.
/// `room` has what [`workspace`] says.
pub fn product<T: Scalar>([m, n]: [usize; 2], a: &[T], taus: &[T], q: &mut [T], room: &mut [T]) {
    q.fill(T::ZERO);
    for k in 0..m.min(n) {
        q[k * n + k] = T::of_i64(1);
    }
    for Range { start, end } in blocks(taus.len().min(m).min(n)).rev() {
        let (place, taus) = (Place { width: n, row: start, column: start }, &taus[start..end]);
        let mut block = ReflectorBlock::stored(a, place, ReflectorOrder::Product, taus, &mut *room);
        let rows = &mut q[start * n..];
        block.apply(taus, (&mut *rows, n), end..n);
        block.apply_to_identity(taus, (rows, n), start);
    }
}
