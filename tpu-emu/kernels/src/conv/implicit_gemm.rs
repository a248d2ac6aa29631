//! Convolutions that go over a padded input: the windows of a phase are rows of one matrix, read where
//! they lie, and its elements of the kernel the other matrix.
use super::depthwise::Strip;
use super::dilation;
use super::geometry::Geometry;
use super::pack_filter::Lines;
use super::padded_input::{PaddedAxis, PaddedInput};
use super::window_rows::PhaseWindows;
use crate::aligned::Aligned;
use crate::conv::tuning::{
    BLOCK_SUMS, IMPLICIT_CHUNK_MULTIPLY_ADDS, MAX_BLOCK_WINDOWS, MAX_INTERLEAVED_FEATURES,
    MAX_TAP_OFFSETS, MIN_BLOCK_WINDOWS, PADDED_INPUT_SLACK_ELEMENTS, WAVE_BLOCKS,
};
use crate::matmul::accumulate::Work;
use crate::matmul::blocked;
use crate::matmul::micro_kernel::ROWS;
use crate::matmul::pack::{Load, Panel};
use crate::matmul::precision::{Arithmetic, scratch_bytes, split_scratch};
use crate::matmul::tuning::WRITE_MULTIPLY_ADDS;
use crate::matmul::unpacked_lhs::{NARROW, UnpackedProduct, WIDE, is_narrow};
use crate::parallel;
use bytemuck::cast_slice_mut;
use parking_lot::Mutex;
use std::ops::Range;
use tpu_base::error::Result;
use tpu_base::tensor::DType;

/// A compiled convolution over a padded input.
#[derive(Debug)]
pub(crate) struct ImplicitGemm {
    arithmetic: Arithmetic,
    loads: [Load; 2],
    result: DType,
    padded: PaddedInput,
    phases: Vec<PhaseWindows>,
    /// Input features, output features of a group (of all, where they lie beside each other).
    features: usize,
    columns: usize,
    /// Elements from one group to the next; one group where they lie beside each other.
    groups: usize,
    group_strides: [usize; 3],
    /// Elements of the kernel from one input feature to the next, and from one output feature.
    kernel: [usize; 2],
    /// Elements of the result from one output feature to the next.
    stride: usize,
    beside: bool,
    /// Bytes of an element of input, kernel and result.
    widths: [usize; 3],
}

impl ImplicitGemm {
    /// Plans one; `None` where the padded input would be too large, or the arithmetic has several passes.
    pub(crate) fn new(
        arithmetic: &Arithmetic,
        geometry: &Geometry,
        loads: [Load; 2],
        dtypes: [DType; 3],
    ) -> Option<Self> {
        let (features, [feature, kernel_feature]) = geometry.input_features;
        let (columns, [column, stride]) = geometry.output_features;
        if arithmetic.passes.len() != 1 || features == 0 || columns == 0 {
            return None;
        }
        let beside = geometry.groups > 1 && (columns <= MAX_INTERLEAVED_FEATURES || features == 1);
        let axes = dilation::axes(geometry)?;
        let images = PaddedAxis {
            input: (geometry.batch.0, geometry.batch.1[0]),
            first: 0,
            places: geometry.batch.0,
        };
        let spatial = axes.iter().zip(&geometry.windows);
        let spatial = spatial.map(|(axis, window)| PaddedAxis {
            input: window.input,
            first: axis.first,
            places: axis.places,
        });
        let (groups, group) =
            if beside { (geometry.groups, geometry.group_strides[0]) } else { (1, 0) };
        let padded = PaddedInput {
            sides: [images].into_iter().chain(spatial).collect(),
            inner: [(features, feature), (groups, group)],
            times: if beside { columns } else { 1 },
        };
        let most = geometry.elements[0]
            .saturating_mul(2 * padded.times)
            .saturating_add(PADDED_INPUT_SLACK_ELEMENTS);
        if padded.elements() > most {
            return None;
        }
        let strides = padded.strides();
        let mut phases = Vec::new();
        let mut taps = 0_usize;
        dilation::combinations(&axes, |some| {
            let count = some.iter().fold(1_usize, |all, along| all.saturating_mul(along.taps[2]));
            taps = taps.saturating_add(count);
            if taps <= MAX_TAP_OFFSETS {
                phases.push(PhaseWindows::new(geometry, &strides, &axes, some));
            }
        });
        if taps > MAX_TAP_OFFSETS {
            return None;
        }
        phases.retain(|phase| phase.windows() > 0);
        Some(Self {
            arithmetic: *arithmetic,
            loads,
            result: dtypes[2],
            padded,
            phases,
            features,
            columns: columns * groups,
            groups: if beside { 1 } else { geometry.groups },
            group_strides: geometry.group_strides,
            kernel: [kernel_feature, column],
            stride,
            beside,
            widths: dtypes.map(DType::host_bytes),
        })
    }

    /// Columns of a panel of the kernel.
    fn panel(&self) -> usize {
        match self.columns {
            columns if self.beside => columns,
            columns if is_narrow(columns) => NARROW,
            _ => WIDE,
        }
    }

    /// The sums of the windows of a convolution with one phase.
    pub(crate) fn sums(&self) -> usize {
        let windows = self.phases.first().map_or(0, PhaseWindows::windows);
        windows.saturating_mul(self.columns)
    }

    /// Numbers of scratch memory: the padded input, and the kernel of a phase.
    pub(crate) fn numbers(&self) -> [usize; 2] {
        let taps = self.phases.iter().map(|phase| phase.taps.len()).max().unwrap_or(0);
        let columns = self.columns.next_multiple_of(self.panel());
        [self.padded.elements(), taps.saturating_mul(self.features).saturating_mul(columns)]
    }

    /// Bytes of scratch memory of a run.
    pub(crate) fn scratch(&self) -> usize {
        let width = self.arithmetic.kind.bytes();
        let [padded, kernel] = self.numbers();
        scratch_bytes(padded, width).saturating_add(scratch_bytes(kernel, width))
    }

    /// Computes the result.
    ///
    /// # Errors
    /// `Unimplemented` for types that hold no numbers.
    pub(crate) fn run<T: Panel>(
        &self,
        mut scratch: &mut [u8],
        [input, kernel]: [&[u8]; 2],
        result: &mut [u8],
    ) -> Result<()> {
        let [elements, lines] = self.numbers();
        let padded = split_scratch::<T>(&mut scratch, elements)?;
        let packed = split_scratch::<T>(&mut scratch, lines)?;
        for group in 0..self.groups {
            let [from, other, to] = self.group_strides.map(|stride| stride * group);
            let input = input.get(from * self.widths[0]..).unwrap_or_default();
            let kernel = kernel.get(other * self.widths[1]..).unwrap_or_default();
            self.padded.lay(self.loads[0], input, padded);
            for phase in &self.phases {
                self.lay_filter(phase, kernel, packed);
                let (padded, packed) = (&*padded, &*packed);
                let sums = |windows: Range<usize>, sums: &mut [T]| {
                    self.sums_of(phase, windows, (padded, packed), (sums, false));
                };
                self.write(phase, &mut result[to * self.widths[2]..], &sums)?;
            }
        }
        Ok(())
    }

    /// Whether its groups, if it has several, are computed side by side.
    pub(crate) fn is_one_group(&self) -> bool {
        self.groups == 1
    }

    /// Computes the sums of all windows of a convolution with one group and one phase; `sums` hold
    /// what they are added to, if `add`.
    ///
    /// # Errors
    /// As those of [`ImplicitGemm::run`].
    pub(crate) fn add_up<T: Panel>(
        &self,
        mut scratch: &mut [u8],
        [input, kernel]: [&[u8]; 2],
        (sums, add): (&mut [T], bool),
    ) -> Result<()> {
        let [elements, lines] = self.numbers();
        let padded = split_scratch::<T>(&mut scratch, elements)?;
        let packed = split_scratch::<T>(&mut scratch, lines)?;
        self.padded.lay(self.loads[0], input, padded);
        for phase in &self.phases {
            self.lay_filter(phase, kernel, packed);
            let (padded, packed) = (&*padded, &*packed);
            let windows = phase.windows();
            let rows = self.rows(windows);
            parallel::chunks_mut(sums, rows * self.columns, |index, sums| {
                let some = index * rows..windows.min((index + 1) * rows);
                self.sums_of(phase, some, (padded, packed), (sums, add));
            });
        }
        Ok(())
    }

    fn lay_filter<T: Panel>(&self, phase: &PhaseWindows, kernel: &[u8], packed: &mut [T]) {
        let lines = Lines {
            taps: &phase.taps,
            segments: &phase.segments,
            features: self.features,
            strides: self.kernel,
            columns: self.columns,
            width: self.panel(),
        };
        lines.lay(self.loads[1], kernel, packed);
    }

    /// Makes results of sums that [`ImplicitGemm::add_up`] gave, and writes them.
    ///
    /// # Errors
    /// As those of [`ImplicitGemm::run`].
    pub(crate) fn write_sums<T: Panel>(&self, sums: &[T], result: &mut [u8]) -> Result<()> {
        let some = |windows: Range<usize>, out: &mut [T]| {
            out.copy_from_slice(&sums[windows.start * self.columns..windows.end * self.columns]);
        };
        self.phases.iter().try_for_each(|phase| self.write(phase, result, &some))
    }

    /// Makes results of the sums of a phase's windows, and writes them.
    fn write<T: Panel>(
        &self,
        phase: &PhaseWindows,
        result: &mut [u8],
        sums: &(impl Fn(Range<usize>, &mut [T]) + Sync),
    ) -> Result<()> {
        if phase.is_dense(self.columns) && self.stride == 1 && self.is_one_group() {
            self.dense(phase, result, sums)
        } else {
            self.apart(phase, result, sums)
        }
    }

    /// The sums of some windows.
    fn sums_of<T: Panel>(
        &self,
        phase: &PhaseWindows,
        windows: Range<usize>,
        (data, kernel): (&[T], &[T]),
        (sums, add): (&mut [T], bool),
    ) {
        let starts = &phase.starts(windows, 0)[..];
        let (columns, taps) = (self.columns, &phase.places[..]);
        if taps.is_empty() {
            if !add {
                sums.fill(<T as Work>::ZERO);
            }
        } else if self.beside {
            let (features, groups) = (self.features, columns);
            Strip { data, starts, taps, features, kernel, groups, out: sums, add }.run();
        } else if self.panel() == NARROW {
            self.matrix::<T, NARROW>(phase, starts, (data, kernel), (sums, add));
        } else {
            self.matrix::<T, WIDE>(phase, starts, (data, kernel), (sums, add));
        }
    }

    /// The products of windows that are rows of a matrix.
    fn matrix<T: Panel, const P: usize>(
        &self,
        phase: &PhaseWindows,
        starts: &[usize],
        (data, kernel): (&[T], &[T]),
        (sums, add): (&mut [T], bool),
    ) {
        let columns = self.columns;
        let width = columns.next_multiple_of(P);
        for (index, (runs, lines)) in phase.segments.iter().enumerate() {
            let (right, _) = kernel[lines.start * width..lines.end * width].as_chunks::<P>();
            let (runs, pitch) = (&phase.runs[runs.clone()], lines.len());
            let (out, add) = ((&mut *sums, columns), add || index > 0);
            UnpackedProduct { data, starts, runs, right, pitch, columns, out, add }.run();
        }
    }

    /// Windows of a block, whose rows and sums stay in a cache; an even number of blocks.
    fn rows(&self, windows: usize) -> usize {
        let rows = windows.div_ceil(windows.div_ceil(MAX_BLOCK_WINDOWS).next_multiple_of(2));
        rows.min((BLOCK_SUMS / self.columns).max(MIN_BLOCK_WINDOWS)).next_multiple_of(ROWS)
    }

    /// Computes sums of windows and makes results of them.
    fn finish<T: Panel>(
        &self,
        windows: Range<usize>,
        out: &mut [u8],
        sums: &impl Fn(Range<usize>, &mut [T]),
    ) -> Result<()> {
        if self.arithmetic.gives(self.result) {
            sums(windows, cast_slice_mut(out));
            return Ok(());
        }
        blocked::with_sums(windows.len() * self.columns, |room| {
            sums(windows, &mut *room);
            self.arithmetic.finish(room, self.result, out)
        })
    }

    /// A phase whose results follow each other.
    fn dense<T: Panel>(
        &self,
        phase: &PhaseWindows,
        result: &mut [u8],
        sums: &(impl Fn(Range<usize>, &mut [T]) + Sync),
    ) -> Result<()> {
        let (row, windows) = (self.columns * self.widths[2], phase.windows());
        let rows = self.rows(windows);
        let terms = phase.places.len().saturating_mul(self.features);
        let terms = if self.beside { terms } else { terms.saturating_add(WRITE_MULTIPLY_ADDS) };
        let work = self.columns.saturating_mul(terms).max(1);
        let chunk = (IMPLICIT_CHUNK_MULTIPLY_ADDS / work).max(1).next_multiple_of(rows);
        let outcome = Mutex::new(Ok(()));
        parallel::chunks_mut(&mut result[..windows * row], chunk * row, |index, out| {
            for (part, out) in out.chunks_mut(rows * row).enumerate() {
                let first = index * chunk + part * rows;
                let done = self.finish(first..windows.min(first + rows), out, sums);
                if done.is_err() {
                    *outcome.lock() = done;
                }
            }
        });
        outcome.into_inner()
    }

    /// A phase whose results lie apart.
    fn apart<T: Panel>(
        &self,
        phase: &PhaseWindows,
        result: &mut [u8],
        sums: &(impl Fn(Range<usize>, &mut [T]) + Sync),
    ) -> Result<()> {
        let (width, windows) = (self.widths[2], phase.windows());
        let rows = self.rows(windows);
        let some = |block: usize| block * rows..windows.min((block + 1) * rows);
        let blocks = windows.div_ceil(rows);
        for wave in (0..blocks).step_by(WAVE_BLOCKS) {
            let finished = parallel::map(WAVE_BLOCKS.min(blocks - wave), |index| {
                let windows = some(wave + index);
                let mut out = Aligned::zeros(windows.len() * self.columns * width);
                self.finish(windows, out.bytes_mut(), sums).map(|()| out)
            });
            for (index, values) in finished.into_iter().enumerate() {
                let (windows, step) = (some(wave + index), [self.columns, self.stride]);
                let values = values?;
                match width {
                    1 => phase.spread::<1>(windows, step, values.bytes(), result),
                    2 => phase.spread::<2>(windows, step, values.bytes(), result),
                    4 => phase.spread::<4>(windows, step, values.bytes(), result),
                    _ => phase.spread::<8>(windows, step, values.bytes(), result),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_cases::{Case, exact, geometry, numbers, wanted};
    use super::*;
    use crate::simd;
    use bytemuck::cast_slice;

    #[test]
    fn every_kind_of_convolution_is_what_its_definition_says() {
        let plane = [([7, 3], 1, 1, [1, 1]), ([9, 2], 2, 0, [1, 2])];
        let gaps = [([4, 3], 1, 1, [2, 1]), ([5, 3], 2, 2, [3, 2])];
        let cropped = [([9, 3], 2, -2, [1, 1])];
        let space = [([4, 2], 1, 0, [1, 1]), ([3, 2], 1, 1, [1, 1]), ([5, 3], 1, 1, [1, 1])];
        for axes in [&plane[..], &gaps, &cropped, &space, &[]] {
            for last in [true, false] {
                for (features, columns, groups) in
                    [(1, 20, 1), (3, 40, 1), (5, 7, 3), (1, 1, 20), (2, 2, 17), (1, 6, 4)]
                {
                    let case = Case { images: 2, features, columns, groups, last, axes };
                    let geometry = geometry(case);
                    let [input, kernel] = geometry.elements.map(numbers);
                    let windows: usize =
                        geometry.windows.iter().map(|axis| axis.output.0).product();
                    let mut expected = vec![0; 2 * windows * columns * groups];
                    wanted(&geometry, &input, &kernel, &mut expected);
                    let loads = [Load::Plain; 2];
                    let implicit =
                        ImplicitGemm::new(&exact(), &geometry, loads, [DType::U32; 3]).unwrap();
                    simd::at_every_level(|_| {
                        let mut scratch = Aligned::zeros(implicit.scratch());
                        let mut result = vec![9_u32; expected.len()];
                        let operands = [cast_slice(&input), cast_slice(&kernel)];
                        let out = cast_slice_mut(&mut result);
                        implicit.run::<u32>(scratch.bytes_mut(), operands, out).unwrap();
                        assert_eq!(result, expected, "{case:?}");
                    });
                }
            }
        }
    }

    #[test]
    fn a_padded_input_much_larger_than_the_input_is_refused() {
        let axes = [([4, 2], 1, 300_000, [1, 1])];
        let case = Case { images: 1, features: 1, columns: 1, groups: 1, last: true, axes: &axes };
        let loads = [Load::Plain; 2];
        assert!(ImplicitGemm::new(&exact(), &geometry(case), loads, [DType::U32; 3]).is_none());
    }
}
