//! `fft`: Fourier transforms over the last one to three axes.
use super::{Cost, Cx, Entry, Kernel, LayoutRule, Lowered, Relayout, Site};
use crate::tuning::{FFT_BLOCK_ELEMENTS, FFT_ELEMENT_TABLE_BYTES, FFT_UNCHECKED_BYTES};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::Complex;
use num_traits::Zero;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use std::fmt;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::aligned::Aligned;
use tpu_kernels::parallel;

/// Transforms the last axes, one after the other; the inverse ones divide by the lengths.
///
/// Shapes: FFT and IFFT keep the complex operand's; RFFT takes reals and leaves `n/2 + 1` of the
/// last axis, IRFFT takes these and gives reals.
/// Errors: `Constraint` C1 for other than one to three axes, C2 and C3 for element types, C4 and C5
/// for lengths that differ from the operand's.
/// Source: StableHLO specification, "fft", C1-C5.
pub(super) const OP: Entry = Entry {
    layout: LayoutRule::Default,
    relayout: Relayout::Transformed,
    ..Entry::new("fft", infer, lower)
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FftKind {
    Forward,
    Inverse,
    FromReal,
    ToReal,
}

fn kind(site: &Site<'_>) -> Result<FftKind> {
    match site.attribute("fft_type")?.as_str() {
        Some("FFT") => Ok(FftKind::Forward),
        Some("IFFT") => Ok(FftKind::Inverse),
        Some("RFFT") => Ok(FftKind::FromReal),
        Some("IRFFT") => Ok(FftKind::ToReal),
        other => Err(site.unimplemented(format!("fft_type {other:?}"))),
    }
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly::<1>()?;
    let (kind, lengths) = (kind(site)?, site.indices("fft_length")?);
    if !(1..=3).contains(&lengths.len()) || lengths.len() > operand.rank() {
        let what = format!("{} lengths for {operand}", lengths.len());
        return Err(site.violates("C1", what));
    }
    let result = match (kind, operand.dtype) {
        (FftKind::Forward | FftKind::Inverse, DType::C64 | DType::C128) => operand.dtype,
        (FftKind::FromReal, DType::F32) => DType::C64,
        (FftKind::FromReal, DType::F64) => DType::C128,
        (FftKind::ToReal, DType::C64) => DType::F32,
        (FftKind::ToReal, DType::C128) => DType::F64,
        _ => return Err(site.violates("C2", format!("{kind:?} of {operand}"))),
    };
    let mut dims = operand.dims.to_vec();
    let outer = dims.len() - lengths.len();
    let mut wanted = lengths.clone();
    if let (FftKind::ToReal, Some(last)) = (kind, wanted.last_mut()) {
        // XLA makes no reals of one number as of none.
        let none = *last == 0 && dims.last() == Some(&1);
        *last = if none { 1 } else { half(*last) };
    }
    if dims[outer..] != wanted {
        let what = format!("lengths {lengths:?} of {operand}");
        return Err(site.violates(if kind == FftKind::ToReal { "C5" } else { "C4" }, what));
    }
    dims[outer..].copy_from_slice(&lengths);
    if let (FftKind::FromReal, Some(last)) = (kind, dims.last_mut()) {
        *last = half(*last);
    }
    Ok(vec![Shape::new(result, dims)])
}

/// Independent numbers of the transform of `length` reals.
fn half(length: usize) -> usize {
    if length == 0 { 0 } else { length / 2 + 1 }
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand] = site.exactly::<1>()?;
    let (kind, lengths) = (kind(site)?, site.indices("fft_length")?);
    let result = infer(site)?.remove(0);
    if result.elements() > 0 {
        has_room_for_tables(&lengths)?;
    }
    let wide = matches!(operand.dtype, DType::F64 | DType::C128);
    Ok(Lowered::Kernel(if wide {
        Box::new(Transform::<f64>::new(kind, operand, &result, &lengths))
    } else {
        Box::new(Transform::<f32>::new(kind, operand, &result, &lengths))
    }))
}

/// Asks for the room of a transform's tables, which are made by a library that ends the process
/// where there is none.
///
/// # Errors
/// `HostMemory`.
fn has_room_for_tables(lengths: &[usize]) -> Result<()> {
    let longest =
        lengths.iter().copied().max().unwrap_or(0).saturating_mul(FFT_ELEMENT_TABLE_BYTES);
    if longest > FFT_UNCHECKED_BYTES { Aligned::try_zeros(longest).map(drop) } else { Ok(()) }
}

/// The transform of one axis of the complex array.
struct FftAxis<T> {
    plan: Arc<dyn Fft<T>>,
    length: usize,
    /// Elements from one index to the next.
    stride: usize,
}

/// The transform of the last axis between reals and half of their spectrum.
enum Last<T> {
    Complex,
    FromReal(Arc<dyn RealToComplex<T>>),
    ToReal(Arc<dyn ComplexToReal<T>>),
}

struct Transform<T> {
    kind: FftKind,
    /// Axes in the order in which they are transformed, without the one between reals and halves.
    axes: Vec<FftAxis<T>>,
    real: Last<T>,
    /// The last extent of operand and result.
    last: [usize; 2],
    /// Elements of the complex array.
    elements: usize,
    /// Nothing is there to be transformed.
    empty: bool,
    factor: T,
}

impl<T: FftNum> fmt::Debug for Transform<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<usize> = self.axes.iter().map(|axis| axis.length).collect();
        write!(f, "{:?} {lengths:?} of {}", self.kind, self.elements)
    }
}

/// Lines of such a block at least, which fill a line of the cache, and at most.
const LINES: [usize; 2] = [8, 64];

/// Rows whose elements are copied into lines at once: a line of the cache of the shorter numbers.
const TURNED: usize = 8;

/// Lines of a multiple of so many elements share few places of a cache.
const ALIASED: usize = 64;

/// Copies the columns of rows into lines that begin `apart` elements apart.
fn gather<T: Copy>(rows: &[&mut [Complex<T>]], lines: &mut [Complex<T>], apart: usize) {
    for (index, rows) in rows.chunks(TURNED).enumerate() {
        let at = index * TURNED;
        let lines = lines.chunks_exact_mut(apart).enumerate();
        if let Some(rows) = rows.first_chunk::<TURNED>() {
            for (column, line) in lines {
                line[at..at + TURNED].copy_from_slice(&rows.each_ref().map(|row| row[column]));
            }
        } else {
            for (column, line) in lines {
                line[at..].iter_mut().zip(rows).for_each(|(to, row)| *to = row[column]);
            }
        }
    }
}

/// Copies such lines back into the columns of rows.
fn scatter<T: Copy>(lines: &[Complex<T>], apart: usize, rows: &mut [&mut [Complex<T>]]) {
    for (index, rows) in rows.chunks_mut(TURNED).enumerate() {
        let at = index * TURNED;
        for (column, line) in lines.chunks_exact(apart).enumerate() {
            let line = &line[at..at + rows.len()];
            rows.iter_mut().zip(line).for_each(|(row, &value)| row[column] = value);
        }
    }
}

impl<T: FftNum> FftAxis<T> {
    /// Transforms every line along the axis.
    fn transform(&self, array: &mut [Complex<T>]) {
        let Self { plan, length, stride } = self;
        let room = plan.get_inplace_scratch_len();
        if *stride == 1 {
            let chunk = parallel::items_per_chunk(length * size_of::<Complex<T>>());
            parallel::chunks_mut(array, chunk * length, |_, part| {
                plan.process_with_scratch(part, &mut vec![Complex::zero(); room]);
            });
            return;
        }
        let width = (FFT_BLOCK_ELEMENTS / length).clamp(LINES[0], LINES[1]).min(*stride);
        // Lines of a power of two elements would keep one another out of a cache.
        let apart = if length % ALIASED == 0 { length + TURNED } else { *length };
        for block in array.chunks_exact_mut(length * stride) {
            // The rows of each block of lines.
            let mut tiles: Vec<Vec<&mut [Complex<T>]>> = Vec::new();
            tiles.resize_with(stride.div_ceil(width), || Vec::with_capacity(*length));
            for row in block.chunks_exact_mut(*stride) {
                for (tile, row) in tiles.iter_mut().zip(row.chunks_mut(width)) {
                    tile.push(row);
                }
            }
            let chunk = parallel::items_per_chunk(length * width * size_of::<Complex<T>>());
            parallel::chunks_mut(&mut tiles, chunk, |_, tiles| {
                let mut turned = vec![Complex::zero(); apart * width];
                let mut room = vec![Complex::zero(); room];
                for tile in tiles {
                    let used = tile.first().map_or(0, |row| row.len());
                    let turned = &mut turned[..apart * used];
                    gather(tile, turned, apart);
                    if apart == *length {
                        plan.process_with_scratch(turned, &mut room);
                    } else {
                        for line in turned.chunks_exact_mut(apart) {
                            plan.process_with_scratch(&mut line[..*length], &mut room);
                        }
                    }
                    scatter(turned, apart, tile);
                }
            });
        }
    }
}

impl<T: FftNum + Pod + num_traits::Float> Transform<T> {
    fn new(kind: FftKind, operand: &Shape, result: &Shape, lengths: &[usize]) -> Self {
        // The complex array in which everything happens has half of the last axis of reals.
        let array = if kind == FftKind::ToReal { operand } else { result };
        let inverse = matches!(kind, FftKind::Inverse | FftKind::ToReal);
        let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
        let (elements, strides) = (array.elements(), array.strides());
        let empty = elements == 0 || result.elements() == 0;
        let outer = array.rank() - lengths.len();
        let mut axes: Vec<FftAxis<T>> = Vec::new();
        let mut real = Last::Complex;
        if !empty {
            let mut planner = FftPlanner::new();
            for (&length, &stride) in lengths.iter().zip(&strides[outer..]) {
                axes.push(FftAxis { plan: planner.plan_fft(length, direction), length, stride });
            }
            let last = lengths.last().copied().unwrap_or(1);
            if kind == FftKind::FromReal {
                axes.pop();
                real = Last::FromReal(RealFftPlanner::new().plan_fft_forward(last));
            } else if kind == FftKind::ToReal {
                axes.pop();
                real = Last::ToReal(RealFftPlanner::new().plan_fft_inverse(last));
            }
        }
        if !inverse {
            axes.reverse();
        }
        let count = lengths
            .iter()
            .fold(T::one(), |count, &length| count * T::from_usize(length).unwrap_or_else(T::one));
        let factor = if inverse { T::one() / count } else { T::one() };
        let last = [operand, result].map(|shape| shape.dims.last().copied().unwrap_or(1));
        Self { kind, axes, real, last, elements, empty, factor }
    }
}

impl<T: FftNum + Pod + num_traits::Float> Kernel for Transform<T>
where
    Complex<T>: Pod,
{
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[operand], [result]) = (operands, results) else {
            return Err(Error::bad("fft takes one operand and gives one result"));
        };
        if self.empty {
            return Ok(());
        }
        let [before, after] = self.last;
        let chunk = parallel::items_per_chunk(before.max(after) * size_of::<Complex<T>>());
        match &self.real {
            Last::Complex => {
                let array: &mut [Complex<T>] = cast_slice_mut(result);
                array.copy_from_slice(cast_slice(operand));
                self.axes.iter().for_each(|axis| axis.transform(array));
                if self.kind == FftKind::Inverse {
                    parallel::chunks_mut(array, chunk * after, |_, part| {
                        part.iter_mut().for_each(|value| *value = value.scale(self.factor));
                    });
                }
            }
            Last::FromReal(plan) => {
                let reals: &[T] = cast_slice(operand);
                let array: &mut [Complex<T>] = cast_slice_mut(result);
                parallel::chunks_mut(array, chunk * after, |index, part| {
                    let mut line = vec![T::zero(); before];
                    let mut room = vec![Complex::zero(); plan.get_scratch_len()];
                    let rows = reals[index * chunk * before..].chunks_exact(before);
                    for (to, from) in part.chunks_exact_mut(after).zip(rows) {
                        line.copy_from_slice(from);
                        // Only lengths can be wrong, and they are the plan's.
                        let _lengths = plan.process_with_scratch(&mut line, to, &mut room);
                    }
                });
                self.axes.iter().for_each(|axis| axis.transform(array));
            }
            Last::ToReal(plan) => {
                let array: &mut [Complex<T>] = cast_slice_mut(&mut *cx.scratch);
                let array = &mut array[..self.elements];
                array.copy_from_slice(cast_slice(operand));
                self.axes.iter().for_each(|axis| axis.transform(array));
                let array = &*array;
                let reals: &mut [T] = cast_slice_mut(result);
                parallel::chunks_mut(reals, chunk * after, |index, part| {
                    let mut line = vec![Complex::zero(); before];
                    let mut room = vec![Complex::zero(); plan.get_scratch_len()];
                    let rows = array[index * chunk * before..].chunks_exact(before);
                    for (to, from) in part.chunks_exact_mut(after).zip(rows) {
                        line.copy_from_slice(from);
                        // Parts that a real spectrum does not have are taken for zero, as they
                        // add nothing to the real result.
                        let _parts = plan.process_with_scratch(&mut line, to, &mut room);
                        to.iter_mut().for_each(|value| *value = *value * self.factor);
                    }
                });
            }
        }
        Ok(())
    }

    fn scratch(&self) -> usize {
        let copy = if self.kind == FftKind::ToReal { self.elements } else { 0 };
        copy.saturating_mul(size_of::<Complex<T>>())
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    fn cost(&self) -> Cost {
        // Five operations a stage of a radix-2 transform.
        let last = if self.kind == FftKind::ToReal { self.last[1] } else { self.last[0] };
        let real = if matches!(self.real, Last::Complex) { None } else { Some(last) };
        let lengths = self.axes.iter().map(|axis| axis.length).chain(real);
        let stages: f64 = lengths.map(|length| (length as f64).log2().max(0.0)).sum();
        Cost { flops: 5.0 * self.elements as f64 * stages, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue};
    use tpu_stablehlo::ir::Attribute;

    fn transform(
        word: &'static str,
        lengths: &[i64],
        operand: TestValue,
        result: (DType, &[usize]),
    ) -> Result<TestValue> {
        let attributes = [
            ("fft_type", Attribute::Word(word.into())),
            ("fft_length", Attribute::Integers(lengths.to_vec())),
        ];
        let declared = [Shape::new(result.0, result.1)];
        Ok(Case::new(OP.mnemonic)
            .attributes(&attributes)
            .given(&[operand])
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP)?
            .remove(0))
    }

    /// The transform by its definition, over all axes.
    fn expected(dims: &[usize], values: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
        let mut array = values.to_vec();
        let strides = Shape::new(DType::C128, dims).strides();
        for (&length, &stride) in dims.iter().zip(&strides) {
            let before = array.clone();
            for (index, value) in array.iter_mut().enumerate() {
                let at = index / stride % length;
                let term = |from: usize| {
                    let turn = f64::from(u32::try_from(at * from).unwrap())
                        / f64::from(u32::try_from(length).unwrap());
                    let angle = sign * 2.0 * std::f64::consts::PI * turn;
                    before[index - at * stride + from * stride] * Complex::from_polar(1.0, angle)
                };
                *value = (0..length).map(term).sum();
            }
        }
        array
    }

    fn numbers(count: usize) -> Vec<Complex<f64>> {
        let part = |i: usize| f64::from(u32::try_from(i * 37 % 101).unwrap()) / 50.0 - 1.0;
        (0..count).map(|i| Complex::new(part(i), part(3 * i + 1))).collect()
    }

    fn near(left: &[Complex<f64>], right: &[Complex<f64>], tolerance: f64) {
        assert_eq!(left.len(), right.len());
        for (left, right) in left.iter().zip(right) {
            assert!((left - right).norm() < tolerance, "{left} {right}");
        }
    }

    #[test]
    fn an_axis_whose_tables_have_no_room_is_refused() {
        assert!(has_room_for_tables(&[]).is_ok() && has_room_for_tables(&[7, 1 << 20]).is_ok());
        let error = has_room_for_tables(&[3, 1 << 60]).unwrap_err();
        assert!(matches!(error, Error::HostMemory { .. }), "{error}");
    }

    #[test]
    fn forward_and_inverse_follow_the_definition_over_every_axis() {
        // Among them lines that lie across memory: aliased ones or not, in whole groups of rows and
        // tiles or not.
        let across = [&[64_usize, 9][..], &[70, 3], &[64, 70], &[2, 128, 5]];
        let dims = [&[1_usize][..], &[8], &[7], &[53], &[4, 6], &[3, 4, 5]];
        for dims in dims.into_iter().chain(across) {
            let values = numbers(dims.iter().product());
            let lengths: Vec<i64> = dims.iter().map(|&dim| i64::try_from(dim).unwrap()).collect();
            let array = || TestValue::of(DType::C128, dims, &values);
            let forward = transform("FFT", &lengths, array(), (DType::C128, dims)).unwrap();
            // The sums of the definition lose bits too.
            let size: f64 = values.iter().map(|value| value.norm()).sum();
            let wanted = expected(dims, &values, -1.0);
            near(&forward.elements(), &wanted, (1e-14 * size).max(1e-11));
            let back = transform("IFFT", &lengths, forward, (DType::C128, dims)).unwrap();
            near(&back.elements(), &values, 1e-13);
        }
    }

    #[test]
    fn reals_have_half_a_spectrum_and_come_back() {
        for dims in [&[1_usize][..], &[2], &[8], &[7], &[2, 4, 6], &[3, 5]] {
            let values: Vec<f64> =
                numbers(dims.iter().product()).into_iter().map(|value| value.re).collect();
            let lengths: Vec<i64> = dims.iter().map(|&dim| i64::try_from(dim).unwrap()).collect();
            let last = *dims.last().unwrap();
            let mut halved = dims.to_vec();
            *halved.last_mut().unwrap() = half(last);
            let array = TestValue::of(DType::F64, dims, &values);
            let forward = transform("RFFT", &lengths, array, (DType::C128, &halved)).unwrap();
            let complex: Vec<Complex<f64>> = values.iter().map(|&value| value.into()).collect();
            let all = expected(dims, &complex, -1.0);
            let wanted: Vec<Complex<f64>> =
                all.chunks(last).flat_map(|row| row[..half(last)].to_vec()).collect();
            near(&forward.elements(), &wanted, 1e-12);
            let back = transform("IRFFT", &lengths, forward, (DType::F64, dims)).unwrap();
            for (left, right) in back.elements::<f64>().iter().zip(&values) {
                assert!((left - right).abs() < 1e-13, "{left} {right}");
            }
        }
    }

    #[test]
    fn leading_axes_are_batches_and_floats_of_32_bits_work() {
        let values: Vec<Complex<f32>> = (0..6_u8).map(|i| Complex::new(i.into(), 0.0)).collect();
        let array = TestValue::of(DType::C64, &[3, 2], &values);
        let result = transform("FFT", &[2], array, (DType::C64, &[3, 2])).unwrap();
        let wanted = [1, -1, 5, -1, 9, -1].map(|re: i8| Complex::new(f32::from(re), 0.0));
        assert_eq!(result.elements::<Complex<f32>>(), wanted);
    }

    #[test]
    fn empty_arrays_stay_empty_and_other_lengths_are_refused() {
        let array = |dims: &[usize]| {
            let count = dims.iter().product();
            TestValue::of(DType::C64, dims, &vec![Complex::new(0_f32, 0.0); count])
        };
        let result = transform("FFT", &[0], array(&[2, 0]), (DType::C64, &[2, 0])).unwrap();
        assert!(result.bytes().is_empty());
        for count in [0, 1] {
            let result = transform("IRFFT", &[0], array(&[3, count]), (DType::F32, &[3, 0]));
            assert!(result.unwrap().bytes().is_empty());
        }
        let error = transform("FFT", &[5], array(&[4]), (DType::C64, &[4])).unwrap_err();
        assert!(error.to_string().contains("lengths [5] of c64[4]"), "{error}");
    }
}
