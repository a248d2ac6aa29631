//! Units of 32 bits out of the terms of sums.
use super::{ByteMatrix, COLUMNS};
use crate::matmul::pack::{TRANSPOSED_STEPS, turn};
use crate::simd;
use crate::simd::Loop;
use bytemuck::{Pod, cast_slice_mut};
use std::ops::Range;

/// What is added to a byte with a sign to make one without, modulo 2^8; and the other way round.
const FLIP: u8 = 0x80;

/// How terms lie in units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    any(not(target_arch = "x86_64"), tpu_emu_portable),
    expect(dead_code, reason = "no machine makes them")
)]
pub(crate) enum UnitForm {
    /// Two integers of 16 bits of each side.
    Halves,
    /// Four integers with a sign of the left side, and four without of the right one: those of the other
    /// kind are 128 less or more than they were.
    Shifted {
        /// Whether the elements had a sign.
        signed: [bool; 2],
    },
    /// Four integers as they were, in rows of lines of a cache.
    Lines {
        /// Whether they have a sign.
        signed: [bool; 2],
    },
}

impl UnitForm {
    /// Units of so many terms.
    pub(super) fn units(self, terms: usize) -> usize {
        match self {
            Self::Halves => terms.div_ceil(2),
            Self::Shifted { .. } => terms.div_ceil(4),
            Self::Lines { .. } => terms.div_ceil(4).next_multiple_of(16),
        }
    }

    /// What bytes of one side are combined with, bit by bit, by exclusive or.
    fn flip(self, side: usize) -> u8 {
        match self {
            Self::Shifted { signed } if signed[side] != (side == 0) => FLIP,
            _ => 0,
        }
    }

    /// What the sums of each row lack; nothing where that is zero.
    // (l' + a)·(r' - b) summed up is l'·r' - b·l' + a·(r' - b); `a` and `b` are what bytes are flipped by.
    pub(super) fn of_rows(self, left: &[u32], units: usize) -> Vec<u32> {
        match u32::from(self.flip(1)) {
            0 => Vec::new(),
            less => simd::run(RowSums { left, units, less }),
        }
    }

    /// What the sums of each column lack, likewise.
    pub(super) fn of_columns(
        self,
        right: &[[u32; COLUMNS]],
        units: usize,
        terms: usize,
    ) -> Vec<u32> {
        let [add, less] = [self.flip(0), self.flip(1)].map(u32::from);
        if add == 0 {
            return Vec::new();
        }
        let all = less.wrapping_mul(u32::try_from(terms).unwrap_or_default());
        let sums = simd::run(ColumnSums { right, units });
        sums.into_iter().map(|sum| sum.wrapping_sub(all).wrapping_mul(add)).collect()
    }

    /// Lays terms of one side out.
    fn lay(self, side: usize, signed: bool, layout: impl ByteLayout) {
        match self {
            Self::Halves if signed => simd::run(Laying { layout, term: half(true) }),
            Self::Halves => simd::run(Laying { layout, term: half(false) }),
            Self::Shifted { .. } | Self::Lines { .. } => {
                let flip = self.flip(side);
                simd::run(Laying { layout, term: |byte| byte ^ flip });
            }
        }
    }
}

/// The sum of the bytes of each row, which have a sign, times `-less`.
struct RowSums<'a> {
    left: &'a [u32],
    units: usize,
    less: u32,
}

impl Loop for RowSums<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run(self) -> Vec<u32> {
        let rows = self.left.chunks_exact(self.units);
        rows.map(|row| {
            let bytes = bytemuck::cast_slice::<u32, i8>(row);
            let sum: i32 = bytes.iter().map(|&byte| i32::from(byte)).sum();
            sum.cast_unsigned().wrapping_mul(self.less).wrapping_neg()
        })
        .collect()
    }
}

/// The sum of the bytes of each column, which have no sign.
struct ColumnSums<'a> {
    right: &'a [[u32; COLUMNS]],
    units: usize,
}

impl Loop for ColumnSums<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn run(self) -> Vec<u32> {
        let mut all = Vec::with_capacity(self.right.len() / self.units.max(1) * COLUMNS);
        for panel in self.right.chunks_exact(self.units) {
            let mut sums = [0_u32; COLUMNS];
            for line in panel {
                for (sum, unit) in sums.iter_mut().zip(line) {
                    *sum += (unit & 0xff) + (unit >> 8 & 0xff) + (unit >> 16 & 0xff) + (unit >> 24);
                }
            }
            all.extend_from_slice(&sums);
        }
        all
    }
}

/// A term as it lies in a unit, in the bits of its own size.
trait Term: Pod {
    /// Units of which each has a term of the first lines, as many as it holds.
    fn join<const W: usize>(lines: &[[Self; W]; 4], units: &mut [u32; W]);
}

impl Term for u8 {
    #[inline(always)]
    fn join<const W: usize>([first, second, third, fourth]: &[[u8; W]; 4], units: &mut [u32; W]) {
        // The compiler knows this form as vectors whose elements take turns.
        let units = cast_slice_mut::<u32, u8>(units);
        for (i, unit) in units.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            unit[0] = first[i];
            unit[1] = second[i];
            unit[2] = third[i];
            unit[3] = fourth[i];
        }
    }
}

impl Term for u16 {
    #[inline(always)]
    fn join<const W: usize>([first, second, ..]: &[[u16; W]; 4], units: &mut [u32; W]) {
        for ((unit, &first), &second) in units.iter_mut().zip(first).zip(second) {
            *unit = u32::from(first) | u32::from(second) << 16;
        }
    }
}

/// A byte with or without a sign, in 16 bits.
#[inline(always)]
fn half(signed: bool) -> impl Fn(u8) -> u16 + Copy {
    move |byte| {
        let wide = if signed { i16::from(byte.cast_signed()) } else { i16::from(byte) };
        wide.cast_unsigned()
    }
}

/// What is laid out, and where.
trait ByteLayout {
    /// Does it; `term` makes a term of a byte.
    fn lay<E: Term>(self, term: impl Fn(u8) -> E + Copy);
}

struct Laying<L, F> {
    layout: L,
    term: F,
}

impl<E: Term, L: ByteLayout, F: Fn(u8) -> E + Copy> Loop for Laying<L, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.layout.lay(self.term);
    }
}

/// Lays rows out, each as units one after the other; what the last tile lacks is zero.
pub(super) fn lay_rows(
    form: UnitForm,
    matrix: ByteMatrix<'_>,
    free: Range<usize>,
    depth: Range<usize>,
    out: &mut [u32],
) {
    let units = form.units(depth.len());
    form.lay(0, matrix.signed, LayByteRows { matrix, free, depth, units, out });
}

/// Lays rows out as [`lay_rows`] does: `copy` writes the terms of one into bytes.
pub(crate) fn lay_copied(
    form: UnitForm,
    signed: bool,
    rows: Range<usize>,
    terms: usize,
    out: &mut [u32],
    copy: impl FnMut(usize, &mut [u8]),
) {
    let units = form.units(terms);
    form.lay(0, signed, LayCopied { rows, terms, units, out, copy });
}

/// Lays columns out as panels; what the last one lacks is zero.
pub(super) fn lay_columns(
    form: UnitForm,
    matrix: ByteMatrix<'_>,
    free: Range<usize>,
    depth: Range<usize>,
    out: &mut [[u32; COLUMNS]],
) {
    let units = form.units(depth.len());
    form.lay(1, matrix.signed, LayByteColumns { matrix, free, depth, units, out });
}

/// Terms of a unit.
const fn per_unit<E>() -> usize {
    size_of::<u32>() / size_of::<E>()
}

/// The units of one row or column whose terms lie side by side; zero behind them.
#[inline(always)]
fn lay_dense<E: Term>(terms: &[u8], term: impl Fn(u8) -> E, out: &mut [u32]) {
    let out = cast_slice_mut::<u32, E>(out);
    let (used, rest) = out.split_at_mut(terms.len());
    for (to, &byte) in used.iter_mut().zip(terms) {
        *to = term(byte);
    }
    rest.fill(E::zeroed());
}

/// One unit of each of several rows or columns, at these steps of the sums; zero where there is none.
#[inline(always)]
fn lay_beside<E: Term, const W: usize>(
    matrix: ByteMatrix<'_>,
    free: Range<usize>,
    steps: Range<usize>,
    term: impl Fn(u8) -> E,
    out: &mut [u32; W],
) {
    let [across, along] = matrix.strides;
    let mut lines = [[E::zeroed(); W]; 4];
    for (line, step) in lines.iter_mut().zip(steps) {
        let from = &matrix.data[free.start * across + step * along..];
        if let (1, true, Some(from)) = (across, free.len() == W, from.first_chunk::<W>()) {
            for (to, &byte) in line.iter_mut().zip(from) {
                *to = term(byte);
            }
        } else {
            for (to, i) in line.iter_mut().zip(0..free.len()) {
                *to = term(from[i * across]);
            }
        }
    }
    E::join(&lines, out);
}

/// Units of each of several rows that are made side by side.
const UNITS_BESIDE: usize = 8;

struct LayByteRows<'a> {
    matrix: ByteMatrix<'a>,
    free: Range<usize>,
    depth: Range<usize>,
    units: usize,
    out: &'a mut [u32],
}

impl ByteLayout for LayByteRows<'_> {
    #[inline(always)]
    fn lay<E: Term>(self, term: impl Fn(u8) -> E + Copy) {
        let Self { matrix, free, depth, units, out } = self;
        let [across, along] = matrix.strides;
        let (rows, rest) = out.split_at_mut(free.len() * units);
        rest.fill(0);
        if along == 1 {
            for (row, i) in rows.chunks_exact_mut(units).zip(free) {
                lay_dense(&matrix.data[i * across + depth.start..][..depth.len()], term, row);
            }
            return;
        }
        let used = depth.len().div_ceil(per_unit::<E>());
        let machine = simd::shuffles();
        for (rows, first) in
            rows.chunks_mut(TRANSPOSED_STEPS * units).zip(free.clone().step_by(TRANSPOSED_STEPS))
        {
            let some = first..free.end.min(first + TRANSPOSED_STEPS);
            for at in (0..used).step_by(UNITS_BESIDE) {
                let count = UNITS_BESIDE.min(used - at);
                let mut block = [[0; TRANSPOSED_STEPS]; UNITS_BESIDE];
                for (beside, unit) in block[..count].iter_mut().zip(at..) {
                    let start = depth.start + unit * per_unit::<E>();
                    let steps = start..depth.end.min(start + per_unit::<E>());
                    lay_beside(matrix, some.clone(), steps, term, beside);
                }
                let mut lines = [[0; UNITS_BESIDE]; TRANSPOSED_STEPS];
                turn(machine, &block, &mut lines[..some.len()]);
                for (row, line) in rows.chunks_exact_mut(units).zip(lines) {
                    row[at..at + count].copy_from_slice(&line[..count]);
                }
            }
            rows.chunks_exact_mut(units).for_each(|row| row[used..].fill(0));
        }
    }
}

struct LayCopied<'a, C> {
    rows: Range<usize>,
    terms: usize,
    units: usize,
    out: &'a mut [u32],
    copy: C,
}

impl<C: FnMut(usize, &mut [u8])> ByteLayout for LayCopied<'_, C> {
    #[inline(always)]
    fn lay<E: Term>(self, term: impl Fn(u8) -> E + Copy) {
        let Self { rows, terms, units, out, mut copy } = self;
        let mut bytes = vec![0; terms];
        let (used, rest) = out.split_at_mut(rows.len() * units);
        rest.fill(0);
        for (row, i) in used.chunks_exact_mut(units).zip(rows) {
            copy(i, &mut bytes);
            lay_dense(&bytes, term, row);
        }
    }
}

struct LayByteColumns<'a> {
    matrix: ByteMatrix<'a>,
    free: Range<usize>,
    depth: Range<usize>,
    units: usize,
    out: &'a mut [[u32; COLUMNS]],
}

impl ByteLayout for LayByteColumns<'_> {
    #[inline(always)]
    fn lay<E: Term>(self, term: impl Fn(u8) -> E + Copy) {
        let Self { matrix, free, depth, units, out } = self;
        let [across, along] = matrix.strides;
        let used = depth.len().div_ceil(per_unit::<E>());
        let machine = simd::shuffles();
        if along != 1 {
            // Two panels are a line of the cache: each is read once.
            let pairs = out.chunks_mut(2 * units).zip(free.clone().step_by(2 * COLUMNS));
            for (pair, first) in pairs {
                for (at, step) in depth.clone().step_by(per_unit::<E>()).enumerate() {
                    let steps = step..depth.end.min(step + per_unit::<E>());
                    for (panel, first) in pair.chunks_exact_mut(units).zip([first, first + COLUMNS])
                    {
                        let some = first..free.end.min(first + COLUMNS);
                        lay_beside(matrix, some, steps.clone(), term, &mut panel[at]);
                    }
                }
                for panel in pair.chunks_exact_mut(units) {
                    panel[used..].fill([0; COLUMNS]);
                }
            }
            return;
        }
        for (panel, first) in out.chunks_exact_mut(units).zip(free.clone().step_by(COLUMNS)) {
            let some = first..free.end.min(first + COLUMNS);
            let (lines, rest) = panel.split_at_mut(used);
            rest.fill([0; COLUMNS]);
            let mut block = [[0; TRANSPOSED_STEPS]; COLUMNS];
            let terms = TRANSPOSED_STEPS * per_unit::<E>();
            for (lines, start) in
                lines.chunks_mut(TRANSPOSED_STEPS).zip(depth.clone().step_by(terms))
            {
                let steps = start..depth.end.min(start + terms);
                for (row, i) in block.iter_mut().zip(some.clone()) {
                    let from = &matrix.data[i * across + steps.start..][..steps.len()];
                    lay_dense(from, term, row);
                }
                turn(machine, &block, lines);
            }
        }
    }
}
