//! Batches of products of small matrices: operands are laid out for many of them at once.
use super::blocked::with_panels;
use super::micro_kernel::Lane;
use super::pack::{
    Load, Panel, Source, Strided, TRANSPOSED_STEPS, Visit, elements, lay, lay_beside,
};
use super::unpacked_lhs::{NARROW, Several, WIDE, is_narrow};
use crate::matmul::tuning::{MAX_SMALL_DEPTH, MAX_SMALL_MULTIPLY_ADDS, SMALL_BATCH_BYTES};
use crate::simd;
use crate::simd::Loop;
use bytemuck::{Pod, cast_slice_mut};

/// Whether a product of `m` rows, `n` columns and sums of `k` terms is small.
pub fn is_small([m, n, k]: [usize; 3]) -> bool {
    (1..=MAX_SMALL_DEPTH).contains(&k)
        && m.saturating_mul(n).saturating_mul(k) <= MAX_SMALL_MULTIPLY_ADDS
}

/// One operand of all products: element `(i, l)` of a matrix is `i·strides[0] + l·strides[1]`
/// elements after its first one; `i` counts rows or columns, `l` the terms of the sums.
#[derive(Debug, Clone, Copy)]
pub struct SmallOperand<'a> {
    /// How elements are read.
    pub load: Load,
    /// The elements.
    pub bytes: &'a [u8],
    /// Elements from one row or column to the next, and from one term to the next.
    pub strides: [usize; 2],
}

impl<'a> SmallOperand<'a> {
    /// The matrix whose first element is so many behind the first one.
    fn at(self, start: usize) -> Strided<'a> {
        let Self { load, bytes, strides } = self;
        Strided::new(load, bytes, [start * load.element_bytes(), 0], strides)
    }
}

impl<'a> From<Strided<'a>> for SmallOperand<'a> {
    fn from(Strided { load, bytes, start, strides, .. }: Strided<'a>) -> Self {
        Self { load, bytes: bytes.get(start[0]..).unwrap_or_default(), strides }
    }
}

/// Computes `out.len() / (m·n)` products of matrices of `size` `[m, n, k]`. `starts` gives the
/// first elements of both operands of a product.
pub fn products<T: Panel>(
    size: [usize; 3],
    operands: [SmallOperand<'_>; 2],
    starts: impl Fn(usize) -> [usize; 2],
    out: &mut [T],
) {
    if is_narrow(size[1]) {
        in_panels::<T, NARROW>(size, operands, &starts, out);
    } else {
        in_panels::<T, WIDE>(size, operands, &starts, out);
    }
}

fn in_panels<T: Panel, const P: usize>(
    size: [usize; 3],
    [lhs, rhs]: [SmallOperand<'_>; 2],
    starts: &dyn Fn(usize) -> [usize; 2],
    out: &mut [T],
) {
    let [m, n, k] = size;
    let (left, right) = (m * k, n.div_ceil(P) * k);
    let some = (SMALL_BATCH_BYTES / ((left + right * P) * size_of::<T>())).max(1);
    for (out, first) in out.chunks_mut(some * m * n).zip((0..).step_by(some)) {
        let count = out.len() / (m * n);
        let places: Vec<[usize; 2]> = (first..first + count).map(starts).collect();
        // Panels begin at a line of the cache.
        let split = (count * left * size_of::<T>()).next_multiple_of(64);
        with_panels(split + count * right * size_of::<[T; P]>(), |room| {
            let (rows, panels) = room.split_at_mut(split);
            let rows = &mut cast_slice_mut::<u8, T>(rows)[..count * left];
            let (panels, _) = cast_slice_mut::<u8, T>(panels).as_chunks_mut::<P>();
            let SmallOperand { load, bytes, strides } = lhs;
            if strides[0] == 1 && m.min(k) > TRANSPOSED_STEPS / 2 {
                for (&[start, _], out) in places.iter().zip(rows.chunks_exact_mut(m * k)) {
                    turned_rows(lhs.at(start), [m, k], out);
                }
            } else {
                let whole = Whole { bytes, strides, places: &places, size: [m, k] };
                T::read(load, 0, LhsRows { whole, out: rows });
            }
            let SmallOperand { load, bytes, strides } = rhs;
            if strides[1] == 1 && k > TRANSPOSED_STEPS / 2 {
                for (&[_, start], out) in places.iter().zip(panels.chunks_exact_mut(right)) {
                    rhs.at(start).pack(0, 0..n, 0..k, out);
                }
            } else {
                let whole = Whole { bytes, strides, places: &places, size: [n, k] };
                T::read(load, 0, Panels { whole, out: panels });
            }
            Several { left: rows, right: panels, size, out }.run();
        });
    }
}

/// Lays out `m` rows of `k` terms whose columns are dense, as panels of terms.
fn turned_rows<T: Panel>(columns: Strided<'_>, [m, k]: [usize; 2], out: &mut [T]) {
    const TERMS: usize = TRANSPOSED_STEPS;
    let [row, term] = columns.strides;
    let terms = Strided { strides: [term, row], ..columns };
    let mut lines = [[<T as Lane>::ZERO; TERMS]; 4 * TERMS];
    for (rows, first) in out.chunks_mut(lines.len() * k).zip((0..m).step_by(lines.len())) {
        let lines = &mut lines[..rows.len() / k];
        for l in (0..k).step_by(TERMS) {
            let deep = TERMS.min(k - l);
            terms.pack(0, l..l + deep, first..first + lines.len(), lines);
            for (row, line) in rows.chunks_exact_mut(k).zip(&*lines) {
                match row[l..].first_chunk_mut() {
                    Some(to) => *to = *line,
                    None => row[l..].copy_from_slice(&line[..deep]),
                }
            }
        }
    }
}

/// The matrices of one operand.
#[derive(Clone, Copy)]
struct Whole<'a, B: ?Sized> {
    bytes: &'a B,
    strides: [usize; 2],
    places: &'a [[usize; 2]],
    /// Rows or columns, and terms.
    size: [usize; 2],
}

/// Left matrices, as rows of terms.
struct LhsRows<'a, T> {
    whole: Whole<'a, [u8]>,
    out: &'a mut [T],
}

impl<T: Lane> Visit<T> for LhsRows<'_, T> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let Whole { bytes, strides, places, size } = self.whole;
        let whole = Whole { bytes: elements::<E>(bytes), strides, places, size };
        simd::run(LayRows { whole, out: self.out, read });
    }
}

struct LayRows<'a, E, T, F> {
    whole: Whole<'a, [E]>,
    out: &'a mut [T],
    read: F,
}

impl<E: Copy, T: Lane, F: Fn(E) -> T + Copy> Loop for LayRows<'_, E, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { whole: Whole { bytes: data, strides, places, size }, out, read } = self;
        let ([across, along], [count, terms]) = (strides, size);
        for (&[start, _], out) in places.iter().zip(out.chunks_exact_mut(count * terms)) {
            if along == 1 && across == terms {
                lay(&data[start..][..count * terms], 1, out, read);
                continue;
            }
            for (row, i) in out.chunks_exact_mut(terms).zip(0..) {
                lay(&data[start + i * across..], along, row, read);
            }
        }
    }
}

/// Right matrices, as panels of columns.
struct Panels<'a, T, const P: usize> {
    whole: Whole<'a, [u8]>,
    out: &'a mut [[T; P]],
}

impl<T: Lane, const P: usize> Visit<T> for Panels<'_, T, P> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let Whole { bytes, strides, places, size } = self.whole;
        let whole = Whole { bytes: elements::<E>(bytes), strides, places, size };
        simd::run(LayPanels { whole, out: self.out, read });
    }
}

struct LayPanels<'a, E, T, F, const P: usize> {
    whole: Whole<'a, [E]>,
    out: &'a mut [[T; P]],
    read: F,
}

impl<E: Copy, T: Lane, F: Fn(E) -> T + Copy, const P: usize> Loop for LayPanels<'_, E, T, F, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { whole: Whole { bytes: data, strides, places, size }, out, read } = self;
        let ([across, along], [count, terms]) = (strides, size);
        let each = count.div_ceil(P) * terms;
        for (&[_, start], out) in places.iter().zip(out.chunks_exact_mut(each)) {
            for (panel, first) in out.chunks_exact_mut(terms).zip((0..count).step_by(P)) {
                let width = P.min(count - first);
                let start = start + first * across;
                if across == 1 {
                    for (line, l) in panel.iter_mut().zip(0..) {
                        let from = &data[start + l * along..][..width];
                        if width == P {
                            lay_beside(from, line, read);
                            continue;
                        }
                        let (some, rest) = line.split_at_mut(width);
                        lay(from, 1, some, read);
                        rest.fill(T::ZERO);
                    }
                    continue;
                }
                if width < P {
                    panel.fill([T::ZERO; P]);
                }
                for j in 0..width {
                    let from = data[start + j * across..].iter().step_by(along.max(1));
                    for (line, &from) in panel.iter_mut().zip(from) {
                        line[j] = read(from);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::cast_slice;

    #[test]
    fn operands_of_every_order_give_their_products() {
        let number = |i: usize| u32::try_from(i * 37 % 1009).unwrap();
        let data: Vec<u32> = (0..6000).map(number).collect();
        simd::at_every_level(|_| {
            for [m, n, k] in
                [[1, 1, 1], [8, 8, 8], [3, 17, 5], [9, 40, 12], [70, 9, 17], [17, 33, 25]]
            {
                let lefts = [[k, 1], [1, m], [2 * k, 2]];
                let rights = [[1, n], [k, 1], [2, 2 * n]];
                for strides in lefts.into_iter().zip(rights) {
                    let side = |strides| SmallOperand {
                        load: Load::Plain,
                        bytes: cast_slice(&data),
                        strides,
                    };
                    let starts = |index: usize| [index * 5, 300 + index * 7];
                    let mut out = vec![9; 3 * m * n];
                    let operands = [side(strides.0), side(strides.1)];
                    products([m, n, k], operands, starts, &mut out);
                    for (at, &value) in out.iter().enumerate() {
                        let (index, i, j) = (at / (m * n), at / n % m, at % n);
                        let [left, right] = starts(index);
                        let term = |l: usize| {
                            data[left + i * strides.0[0] + l * strides.0[1]]
                                * data[right + j * strides.1[0] + l * strides.1[1]]
                        };
                        assert_eq!(value, (0..k).map(term).sum::<u32>(), "{m} {n} {k} at {at}");
                    }
                }
            }
        });
    }

    #[test]
    fn a_product_without_terms_or_of_many_is_not_small() {
        assert!(is_small([1, 1, 1]) && is_small([64, 64, 64]));
        assert!(!is_small([8, 8, 0]) && !is_small([8, 8, 1000]) && !is_small([200, 100, 100]));
        assert!(!is_small([usize::MAX, 2, 2]));
    }
}
