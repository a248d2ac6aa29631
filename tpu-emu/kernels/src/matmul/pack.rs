//! Matrices laid out as the panels that products are computed from. Elements are read as they are
//! stored and rounded on the way.
use super::accumulate::{Rounding, Work, round_f32};
use super::micro_kernel::Lane;
use super::precision::Arithmetic;
use crate::movement::transpose::eight_by_eight;
use crate::simd;
use crate::simd::{Loop, Shuffles};
use bytemuck::{Pod, cast_slice};
use half::{bf16, f16};
use std::ops::Range;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Convert, Float};

/// Steps of the sums that are transposed at once.
pub(crate) const TRANSPOSED_STEPS: usize = 16;

/// A matrix whose panels can be written.
pub trait Source<T>: Sync {
    /// Writes panels of `W` rows or columns `free`, each with one line for every step of the sums
    /// in `depth`; what the last panel lacks is zero. `part` is that of the split operand.
    fn pack<const W: usize>(
        &self,
        part: usize,
        free: Range<usize>,
        depth: Range<usize>,
        out: &mut [[T; W]],
    );
}

/// How an element becomes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// It is one.
    Plain,
    /// An f32, to the nearest bf16.
    Nearest,
    /// A part of an f32, as the arithmetic splits it.
    Part(Rounding),
    /// An f32 that stands for the bf16 that it is converted to.
    Converted,
    /// A bf16.
    Bf16,
    /// An f16.
    F16,
    /// An integer of 8 bits with a sign.
    S8,
    /// One without.
    U8,
}

impl Load {
    /// Bytes of an element as it is stored.
    pub(super) fn element_bytes(self) -> usize {
        match self {
            Self::Plain | Self::Nearest | Self::Part(_) | Self::Converted => 4,
            Self::Bf16 | Self::F16 => 2,
            Self::S8 | Self::U8 => 1,
        }
    }
}

/// A type that matrices are multiplied in through panels.
pub trait Panel: Lane + Work {
    /// How elements of a type are read; `None` where only [`Arithmetic::split`] can.
    fn load(arithmetic: &Arithmetic, dtype: DType) -> Option<Load>;
    /// Gives a visitor the function that reads elements in a way that [`Panel::load`] gave.
    fn read<V: Visit<Self>>(load: Load, part: usize, visitor: V);
    /// `self + a·b`.
    #[must_use]
    fn plus(self, a: Self, b: Self) -> Self;
    /// `self + other`.
    #[must_use]
    fn sum(self, other: Self) -> Self;
}

/// Work on elements as they are stored.
pub trait Visit<T> {
    /// Does it; `read` makes a number of an element.
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync);
}

impl Panel for f32 {
    fn load(arithmetic: &Arithmetic, dtype: DType) -> Option<Load> {
        let rounding = arithmetic.rounding;
        match (dtype, arithmetic.parts()) {
            (DType::F32, 1) if rounding == Rounding::Exact => Some(Load::Plain),
            (DType::F32, 1) if rounding == Rounding::Bf16 => Some(Load::Nearest),
            (DType::F32, _) => Some(Load::Part(rounding)),
            (DType::Bf16, 1) if rounding != Rounding::F16 => Some(Load::Bf16),
            (DType::F16, 1) if rounding != Rounding::Bf16 => Some(Load::F16),
            (DType::S8 | DType::S4 | DType::S2, 1) => Some(Load::S8),
            (DType::U8 | DType::U4 | DType::U2 | DType::Pred, 1) => Some(Load::U8),
            _ => None,
        }
    }

    fn read<V: Visit<Self>>(load: Load, part: usize, visitor: V) {
        match load {
            Load::Plain => visitor.visit(|value: f32| value),
            Load::Nearest => visitor.visit(|value: f32| round_f32(value, Rounding::Bf16)),
            Load::Part(rounding) => visitor.visit(move |mut value: f32| {
                for _ in 0..part {
                    value -= round_f32(value, rounding);
                }
                round_f32(value, rounding)
            }),
            Load::Converted => visitor.visit(|value: f32| value.convert::<bf16>().widen()),
            Load::Bf16 => {
                visitor.visit(|value: bf16| f32::from_bits(u32::from(value.to_bits()) << 16));
            }
            Load::F16 => visitor.visit(|value: f16| value.widen()),
            Load::S8 => visitor.visit(|value: i8| f32::from(value)),
            Load::U8 => visitor.visit(|value: u8| f32::from(value)),
        }
    }

    #[inline(always)]
    fn plus(self, a: Self, b: Self) -> Self {
        self + a * b
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        self + other
    }
}

impl Panel for u32 {
    fn load(_: &Arithmetic, dtype: DType) -> Option<Load> {
        match dtype {
            DType::U32 | DType::S32 => Some(Load::Plain),
            DType::S8 | DType::S4 | DType::S2 => Some(Load::S8),
            DType::U8 | DType::U4 | DType::U2 | DType::Pred => Some(Load::U8),
            _ => None,
        }
    }

    fn read<V: Visit<Self>>(load: Load, _: usize, visitor: V) {
        match load {
            Load::S8 => visitor.visit(|value: i8| i32::from(value).cast_unsigned()),
            Load::U8 => visitor.visit(|value: u8| Self::from(value)),
            _ => visitor.visit(|value: Self| value),
        }
    }

    #[inline(always)]
    fn plus(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }

    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// Where the elements of some rows or columns lie, and where their panels go.
struct PanelSource<'a, T, const W: usize> {
    /// The matrix's elements from the first one on.
    bytes: &'a [u8],
    /// Elements from one row or column to the next, and from one step of the sums to the next.
    strides: [usize; 2],
    free: Range<usize>,
    depth: Range<usize>,
    /// The lines of a panel that are written, and all that it has.
    lines: (Range<usize>, usize),
    out: &'a mut [[T; W]],
}

impl<T: Lane, const W: usize> Visit<T> for PanelSource<'_, T, W> {
    fn visit<E: Pod + Sync>(self, read: impl Fn(E) -> T + Copy + Sync) {
        let PanelSource { bytes, strides, free, depth, lines, out } = self;
        simd::run(LayPanels { data: elements::<E>(bytes), strides, free, depth, lines, out, read });
    }
}

/// Bytes as elements; those of nothing need not be aligned.
pub fn elements<E: Pod>(bytes: &[u8]) -> &[E] {
    if bytes.is_empty() { &[] } else { cast_slice(bytes) }
}

struct LayPanels<'a, E, T, const W: usize, F> {
    data: &'a [E],
    strides: [usize; 2],
    free: Range<usize>,
    depth: Range<usize>,
    lines: (Range<usize>, usize),
    out: &'a mut [[T; W]],
    read: F,
}

impl<E: Copy, T: Lane, const W: usize, F: Fn(E) -> T + Copy> Loop for LayPanels<'_, E, T, W, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { data, strides: [across, along], free, depth, lines, out, read } = self;
        let (lines, steps) = lines;
        if lines.is_empty() {
            return;
        }
        for (panel, first) in out.chunks_exact_mut(steps).zip(free.clone().step_by(W)) {
            let panel = &mut panel[lines.clone()];
            let width = W.min(free.end - first);
            let start = first * across + depth.start * along;
            if across == 1 && width == W {
                for (line, at) in panel.iter_mut().zip(0..) {
                    lay_beside(&data[start + at * along..][..W], line, read);
                }
            } else if along == 1 {
                transposed(data, start, across, width, panel, read);
            } else {
                for (line, at) in panel.iter_mut().zip(0..) {
                    *line = [T::ZERO; W];
                    for (i, to) in line[..width].iter_mut().enumerate() {
                        *to = read(data[start + at * along + i * across]);
                    }
                }
            }
        }
    }
}

/// Lays elements out that are so many places apart.
#[inline(always)]
pub(crate) fn lay<E: Copy, T>(from: &[E], apart: usize, to: &mut [T], read: impl Fn(E) -> T) {
    if apart == 1 {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = read(from);
        }
    } else {
        for (to, &from) in to.iter_mut().zip(from.iter().step_by(apart.max(1))) {
            *to = read(from);
        }
    }
}

/// Lays out so many elements beside each other, in vectors if there are enough.
#[inline(always)]
pub(crate) fn lay_beside<E: Copy, T: Lane, const N: usize>(
    from: &[E],
    to: &mut [T; N],
    read: impl Fn(E) -> T,
) {
    let Some(from) = from.first_chunk::<N>() else { return lay(from, 1, to, read) };
    // All are read before one is written: vectors, whatever the compiler knows of both places.
    let mut laid = [T::ZERO; N];
    for i in 0..N {
        laid[i] = read(from[i]);
    }
    *to = laid;
}

/// Lays out rows that are dense along the sums, some steps of all of them at a time.
#[inline(always)]
fn transposed<E: Copy, T: Lane, const W: usize>(
    data: &[E],
    start: usize,
    across: usize,
    width: usize,
    panel: &mut [[T; W]],
    read: impl Fn(E) -> T + Copy,
) {
    let machine = simd::shuffles();
    let mut block = [[T::ZERO; TRANSPOSED_STEPS]; W];
    let steps = panel.len();
    for (lines, at) in panel.chunks_mut(TRANSPOSED_STEPS).zip((0..steps).step_by(TRANSPOSED_STEPS))
    {
        for (i, row) in block[..width].iter_mut().enumerate() {
            lay_beside(&data[start + i * across + at..][..lines.len()], row, read);
        }
        turn(machine, &block, lines);
    }
}

/// Writes rows of a block as columns; so many of them as there are lines.
#[inline(never)]
pub(crate) fn turn<T: Lane, const W: usize>(
    machine: Option<Shuffles>,
    block: &[[T; TRANSPOSED_STEPS]; W],
    lines: &mut [[T; W]],
) {
    if let Some(machine) = machine.filter(|_| W.is_multiple_of(8)) {
        return simd::run_shuffled(machine, Turn { machine, block, lines });
    }
    for (step, line) in lines.iter_mut().enumerate() {
        for (to, row) in line.iter_mut().zip(block) {
            *to = row[step];
        }
    }
}

/// Whole squares of eight.
struct Turn<'a, T, const W: usize> {
    machine: Shuffles,
    block: &'a [[T; TRANSPOSED_STEPS]; W],
    lines: &'a mut [[T; W]],
}

impl<T: Lane, const W: usize> Loop for Turn<'_, T, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { machine, block, lines } = self;
        for (lines, step) in lines.chunks_mut(8).zip((0..TRANSPOSED_STEPS).step_by(8)) {
            for first in (0..W).step_by(8) {
                let mut rows = [[T::ZERO; 8]; 8];
                for (row, from) in rows.iter_mut().zip(&block[first..]) {
                    if let Some(from) = from[step..].first_chunk() {
                        *row = *from;
                    }
                }
                for (line, column) in lines.iter_mut().zip(eight_by_eight(machine, &rows)) {
                    if let Some(to) = line[first..].first_chunk_mut() {
                        *to = column;
                    }
                }
            }
        }
    }
}

/// Steps of the sums that go along two axes which no one stride reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OuterSteps {
    /// Steps along the inner axis.
    pub inner: usize,
    /// Elements from one index of the outer axis to the next.
    pub stride: usize,
}

/// A matrix with strides, in elements as they are stored.
#[derive(Debug, Clone, Copy)]
pub struct Strided<'a> {
    /// How elements are read.
    pub load: Load,
    /// The elements; where they are numbers already, the parts one after the other.
    pub bytes: &'a [u8],
    /// Bytes of the first element of the matrix, and from one part to the next.
    pub start: [usize; 2],
    /// Elements from one row or column to the next, and from one step of the sums to the next.
    pub strides: [usize; 2],
    /// What is added where steps go along another axis as well. Panels alone are made of such.
    pub outer: Option<OuterSteps>,
}

impl<'a> Strided<'a> {
    /// A matrix that one stride reaches along its rows or columns, and one along the sums.
    pub fn new(load: Load, bytes: &'a [u8], start: [usize; 2], strides: [usize; 2]) -> Self {
        Self { load, bytes, start, strides, outer: None }
    }
}

impl<T: Panel> Source<T> for Strided<'_> {
    fn pack<const W: usize>(
        &self,
        part: usize,
        free: Range<usize>,
        depth: Range<usize>,
        out: &mut [[T; W]],
    ) {
        let [start, step] = self.start;
        let bytes = self.bytes.get(start + part * step..).unwrap_or_default();
        let (strides, steps) = (self.strides, depth.len());
        let inner = self.outer.map_or(usize::MAX, |outer| outer.inner);
        let mut at = depth.start;
        while at < depth.end {
            let first = at % inner;
            let some = (inner - first).min(depth.end - at);
            let before = self.outer.map_or(0, |outer| at / inner * outer.stride);
            let bytes = bytes.get(before * self.load.element_bytes()..).unwrap_or_default();
            let lines = at - depth.start;
            let source = PanelSource {
                bytes,
                strides,
                free: free.clone(),
                depth: first..first + some,
                lines: (lines..lines + some, steps),
                out: &mut *out,
            };
            T::read(self.load, part, source);
            at += some;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_every_order_of_the_elements() {
        simd::at_every_level(|_| {
            let data: Vec<f32> = (0..40_u8 * 6).map(f32::from).collect();
            for strides in [[1, 40], [40, 1], [2, 80]] {
                let (free, depth) = if strides[0] == 40 { (1..6, 3..38) } else { (3..17, 1..3) };
                let source = Strided::new(Load::Plain, cast_slice(&data), [0, 0], strides);
                let steps = depth.len();
                let mut out = vec![[f32::NAN; 8]; free.len().div_ceil(8) * steps];
                source.pack(0, free.clone(), depth.clone(), &mut out);
                for (at, line) in out.iter().enumerate() {
                    for (i, &value) in line.iter().enumerate() {
                        let i = free.start + at / steps * 8 + i;
                        let l = depth.start + at % steps;
                        let inside = i < free.end;
                        let index = i * strides[0] + l * strides[1];
                        assert_eq!(value, if inside { data[index] } else { 0.0 });
                    }
                }
            }
        });
    }
}
