//! Convolutions as matrix products: windows of the input become the rows of a matrix, a tile of
//! bounded size at a time.
use super::bands::BandedGemm;
use super::byte_windows::{WindowBytes, reads_bytes};
use super::geometry::{Geometry, Order, Window};
use super::pack_windows::{WindowPanels, loads};
use crate::aligned::Aligned;
use crate::conv::tuning::{
    BLOCK_SUMS, IM2COL_CHUNK_MULTIPLY_ADDS, MAX_BLOCK_WINDOWS, MIN_BLOCK_WINDOWS, WAVE_BLOCKS,
    WINDOW_TILE_ELEMENTS,
};
use crate::matmul::accumulate::Work;
use crate::matmul::blocked;
use crate::matmul::blocked::ProductTile;
use crate::matmul::bytes::{self, ByteMachine, ByteMatrix};
use crate::matmul::gemm_crate::{Extent, Matrix};
use crate::matmul::micro_kernel::ROWS;
use crate::matmul::operand::{ExtentStride, merged};
use crate::matmul::pack::{Load, Panel, Strided};
use crate::matmul::precision::{Arithmetic, SumType, for_kind, scratch_bytes, split_scratch};
use crate::matmul::tuning::MAX_SMALL_MULTIPLY_ADDS;
use crate::parallel;
use bytemuck::{cast_slice, cast_slice_mut};
use parking_lot::Mutex;
use std::ops::Range;
use tpu_base::error::Result;
use tpu_base::tensor::DType;

/// A compiled convolution.
#[derive(Debug)]
pub struct Convolution {
    arithmetic: Arithmetic,
    geometry: Geometry,
    dtypes: [DType; 3],
    /// Elements under a window, and windows.
    depth: usize,
    windows: usize,
    /// Windows of a tile.
    rows: usize,
    /// Rows of the kernel as a matrix, where one stride reaches them.
    plain: Option<ExtentStride>,
    /// How input and kernel are read where products go through panels.
    loads: Option<[Option<Load>; 2]>,
    /// How it is computed where its input has room on a padded input.
    implicit: Option<BandedGemm>,
    /// Whether its elements are integers of 8 bits that are multiplied as such.
    in_bytes: bool,
}

impl Convolution {
    /// Plans it: `dtypes` of input, kernel and result.
    pub fn new(arithmetic: Arithmetic, geometry: Geometry, dtypes: [DType; 3]) -> Self {
        let all = |first: usize, of: &dyn Fn(&Window) -> usize| {
            geometry.windows.iter().fold(first, |all, window| all.saturating_mul(of(window)))
        };
        let depth = all(geometry.input_features.0, &|window| window.kernel.0);
        let windows = all(geometry.batch.0, &|window| window.output.0);
        let width = depth.saturating_mul(arithmetic.parts()).max(geometry.output_features.0).max(1);
        let rows = (WINDOW_TILE_ELEMENTS / width).clamp(1, windows.max(1));
        let reversed =
            geometry.windows.iter().any(|window| window.reversed && window.kernel.0 != 1);
        let plain = if reversed { None } else { merged(&kernel_rows(&geometry)) };
        let work = windows.saturating_mul(geometry.output_features.0).saturating_mul(depth);
        let in_bytes = work > MAX_SMALL_MULTIPLY_ADDS
            && plain.is_some()
            && reads_bytes(&arithmetic, &geometry, dtypes);
        let arithmetic = if in_bytes {
            arithmetic
        } else {
            arithmetic.in_floats([dtypes[0], dtypes[1]], dtypes[2], depth)
        };
        let loads = loads(&arithmetic, dtypes);
        let both = loads.and_then(|[input, kernel]| Some([input?, kernel?]));
        let both = both.filter(|_| !in_bytes);
        let implicit = both.and_then(|both| BandedGemm::new(&arithmetic, &geometry, both, dtypes));
        Self {
            arithmetic,
            geometry,
            dtypes,
            depth,
            windows,
            rows,
            plain,
            loads,
            implicit,
            in_bytes,
        }
    }

    /// Whether the elements of an operand are rounded to bf16 as they are read.
    pub fn rounds(&self, side: usize) -> bool {
        self.loads.is_some_and(|loads| loads.get(side) == Some(&Some(Load::Nearest)))
    }

    /// The same convolution of elements that are rounded already; `None` where it rounds none.
    pub fn of_rounded(&self, side: usize) -> Option<Self> {
        let mut dtypes = self.dtypes;
        *dtypes.get_mut(side).filter(|_| side < 2 && self.rounds(side))? = DType::Bf16;
        Some(Self::new(self.arithmetic, self.geometry.clone(), dtypes))
    }

    /// Multiplications and additions, those with padding included.
    #[expect(clippy::cast_precision_loss, reason = "a count of operations, as a float by contract")]
    pub fn flops(&self) -> f64 {
        let features = self.geometry.output_features.0 as f64 * self.geometry.groups as f64;
        2.0 * self.windows as f64 * features * self.depth as f64
    }

    /// Numbers of scratch memory: input and kernel as numbers, the kernel of one group as a
    /// matrix, the tile, the sums.
    fn numbers(&self) -> [usize; 5] {
        let parts = self.arithmetic.parts();
        let read = |side: usize| {
            let packed = self
                .loads
                .is_some_and(|loads| loads[side].is_some() && (side == 0 || self.plain.is_some()));
            let direct = packed || self.arithmetic.takes(self.dtypes[side]);
            if direct { 0 } else { self.geometry.elements[side].saturating_mul(parts) }
        };
        let columns = self.geometry.output_features.0;
        let depth = self.depth.saturating_mul(parts);
        let packed = if self.plain.is_some() { 0 } else { depth.saturating_mul(columns) };
        if self.loads.is_some() {
            return [read(0), read(1), packed, 0, 0];
        }
        let tile = depth.saturating_mul(self.rows);
        [read(0), read(1), packed, tile, columns.saturating_mul(self.rows)]
    }

    /// Bytes of scratch memory of a run.
    pub fn scratch(&self) -> usize {
        if let Some(implicit) = &self.implicit {
            return implicit.scratch();
        }
        let width = self.arithmetic.kind.bytes();
        let columns = if self.loads.is_some() { 0 } else { self.geometry.output_features.0 };
        let results = self.rows.saturating_mul(columns);
        let numbers = self.numbers().into_iter();
        numbers.fold(scratch_bytes(results, self.dtypes[2].host_bytes()), |all, count| {
            all.saturating_add(scratch_bytes(count, width))
        })
    }

    /// Computes the result.
    ///
    /// # Errors
    /// `Unimplemented` for types that hold no numbers.
    pub fn run(&self, scratch: &mut [u8], operands: [&[u8]; 2], result: &mut [u8]) -> Result<()> {
        if result.is_empty() {
            return Ok(());
        }
        match (&self.implicit, self.arithmetic.kind) {
            (Some(implicit), SumType::U32) => {
                return implicit.run::<u32>(scratch, operands, result);
            }
            (Some(implicit), _) => return implicit.run::<f32>(scratch, operands, result),
            (None, _) => {}
        }
        match (self.loads, self.arithmetic.kind) {
            (Some(loads), SumType::U32) => self.run_panels::<u32>(loads, scratch, operands, result),
            (Some(loads), _) => self.run_panels::<f32>(loads, scratch, operands, result),
            (None, kind) => for_kind!(kind, W => self.run_in::<W>(scratch, operands, result)),
        }
    }

    fn run_panels<T: Panel>(
        &self,
        loads: [Option<Load>; 2],
        mut scratch: &mut [u8],
        operands: [&[u8]; 2],
        result: &mut [u8],
    ) -> Result<()> {
        let Self { arithmetic, geometry, dtypes, depth, .. } = self;
        let numbers = self.numbers();
        // Each side as it is read: elements, how, bytes of one, bytes from part to part.
        let mut side = |index: usize| -> Result<(&[u8], Load, usize, usize)> {
            if numbers[index] == 0 {
                let plain = Load::Plain;
                let load = loads[index].unwrap_or(plain);
                return Ok((operands[index], load, dtypes[index].host_bytes(), 0));
            }
            let out = split_scratch::<T>(&mut scratch, numbers[index])?;
            arithmetic.split(dtypes[index], operands[index], out)?;
            let step = geometry.elements[index] * size_of::<T>();
            Ok((cast_slice(out), Load::Plain, size_of::<T>(), step))
        };
        let (input, kernel) = (side(0)?, side(1)?);
        let packed = split_scratch::<T>(&mut scratch, numbers[2])?;
        let (columns, [column, _]) = geometry.output_features;
        let panels = |group: usize| {
            let (bytes, load, width, step) = input;
            WindowPanels {
                geometry,
                load,
                bytes,
                start: [geometry.group_strides[0] * group * width, step],
            }
        };
        for group in 0..geometry.groups {
            let (bytes, load, width, step) = kernel;
            let start = geometry.group_strides[1] * group;
            let right = if let Some((_, row)) = self.plain {
                Strided::new(load, bytes, [start * width, step], [column, row])
            } else {
                let numbers = cast_slice::<u8, T>(bytes);
                self.pack(numbers.get(start..).unwrap_or_default(), packed);
                let step = depth * columns * size_of::<T>();
                let bytes = cast_slice(&*packed);
                Strided::new(Load::Plain, bytes, [0, step], [1, columns])
            };
            let left = panels(group);
            let of_bytes =
                ByteMachine::found().zip(ByteMatrix::of(right)).filter(|_| self.in_bytes);
            let windows = WindowBytes {
                geometry,
                data: left.bytes.get(left.start[0]..).unwrap_or_default(),
                signed: left.load == Load::S8,
            };
            let to = [geometry.group_strides[2] * group, columns, geometry.output_features.1[1]];
            self.blocks(result, to, &|rows: Range<usize>, sums: &mut [T]| {
                let part = ProductTile { rows, columns: 0..columns, depth: *depth };
                match of_bytes {
                    Some((machine, right)) => {
                        let sums = cast_slice_mut(sums);
                        bytes::product(machine, part, &windows, right, (sums, columns));
                    }
                    None => {
                        blocked::product(part, arithmetic.passes, &left, &right, (sums, columns));
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Computes the sums of blocks of windows and writes them: `columns` numbers a window,
    /// `stride` apart, from element `start` of the result on.
    fn blocks<T: Panel>(
        &self,
        result: &mut [u8],
        [start, columns, stride]: [usize; 3],
        compute: &(impl Fn(Range<usize>, &mut [T]) + Sync),
    ) -> Result<()> {
        let Self { arithmetic, geometry, windows, .. } = self;
        let (dtype, windows) = (self.dtypes[2], *windows);
        let width = dtype.host_bytes();
        // An even number of blocks, of rows whose panels and sums stay in a cache.
        let rows = windows.div_ceil(windows.div_ceil(MAX_BLOCK_WINDOWS).next_multiple_of(2));
        let rows = rows.min((BLOCK_SUMS / columns).max(MIN_BLOCK_WINDOWS)).next_multiple_of(ROWS);
        let block = |first: usize, out: &mut [u8]| -> Result<()> {
            let some = first..windows.min(first + rows);
            if arithmetic.gives(dtype) {
                compute(some, cast_slice_mut(out));
                return Ok(());
            }
            blocked::with_sums(some.len() * columns, |sums| {
                compute(some, &mut *sums);
                arithmetic.finish(sums, dtype, out)
            })
        };
        let outcome = Mutex::new(Ok(()));
        let keep = |finished: Result<()>| {
            if finished.is_err() {
                *outcome.lock() = finished;
            }
        };
        let work = columns.saturating_mul(self.depth).max(1);
        if stride == 1 && self.dense(columns) {
            let chunk = (IM2COL_CHUNK_MULTIPLY_ADDS / work).max(1).next_multiple_of(rows);
            let row = columns * width;
            parallel::chunks_mut(result, chunk * row, |index, out| {
                for (part, out) in out.chunks_mut(rows * row).enumerate() {
                    keep(block(index * chunk + part * rows, out));
                }
            });
            return outcome.into_inner();
        }
        let blocks = windows.div_ceil(rows);
        for wave in (0..blocks).step_by(WAVE_BLOCKS) {
            let finished = parallel::map(WAVE_BLOCKS.min(blocks - wave), |index| {
                let first = (wave + index) * rows;
                let mut out = Aligned::zeros(rows.min(windows - first) * columns * width);
                keep(block(first, out.bytes_mut()));
                out
            });
            for (index, values) in finished.iter().enumerate() {
                let first = (wave + index) * rows;
                for (row, values) in values.bytes().chunks_exact(columns * width).enumerate() {
                    let at = start + geometry.target(first + row);
                    spread(values, &mut result[at * width..], stride, width);
                }
            }
        }
        outcome.into_inner()
    }

    /// Whether the results of the windows follow each other, `columns` elements each.
    fn dense(&self, columns: usize) -> bool {
        let geometry = &self.geometry;
        let mut axes: Vec<ExtentStride> =
            geometry.windows.iter().map(|window| window.output).collect();
        let images = (geometry.batch.0, geometry.batch.1[1]);
        match geometry.order() {
            Order::Images => axes.insert(0, images),
            Order::Places => axes.push(images),
        }
        geometry.groups == 1
            && merged(&axes).is_some_and(|(count, stride)| count == 1 || stride == columns)
    }

    fn run_in<W: Work>(
        &self,
        mut scratch: &mut [u8],
        operands: [&[u8]; 2],
        result: &mut [u8],
    ) -> Result<()> {
        let Self { arithmetic, geometry, dtypes, depth, .. } = self;
        let [input, kernel, packed, tile, sums] = self.numbers();
        let mut read = |side: usize, count: usize| -> Result<Option<&mut [W]>> {
            if count == 0 {
                return Ok(None);
            }
            let out = split_scratch::<W>(&mut scratch, count)?;
            arithmetic.split(dtypes[side], operands[side], out)?;
            Ok(Some(out))
        };
        let (input, kernel) = (read(0, input)?, read(1, kernel)?);
        // An operand without elements has no bytes either, and nothing is read from it.
        let input: &[W] = match input {
            Some(numbers) => numbers,
            None => cast_slice(operands[0]),
        };
        let kernel: &[W] = match kernel {
            Some(numbers) => numbers,
            None => cast_slice(operands[1]),
        };
        let packed = split_scratch::<W>(&mut scratch, packed)?;
        let tile = split_scratch::<W>(&mut scratch, tile)?;
        let sums = split_scratch::<W>(&mut scratch, sums)?;
        let (columns, [column, _]) = geometry.output_features;
        let mut places = vec![0; geometry.windows.len()];
        for group in 0..geometry.groups {
            let starts = geometry.group_strides.map(|stride| stride * group);
            let mut kernel = Matrix { data: kernel, row: 0, column }.from(starts[1]);
            let mut kernel_step = geometry.elements[1];
            if let Some((_, row)) = self.plain {
                kernel.row = row;
            } else {
                self.pack(kernel.data, packed);
                kernel = Matrix { data: packed, row: columns, column: 1 };
                kernel_step = depth * columns;
            }
            for first in (0..self.windows).step_by(self.rows) {
                let rows = self.rows.min(self.windows - first);
                let step = self.rows * depth;
                for row in 0..rows {
                    let image = self.place(first + row, &mut places);
                    let start = starts[0] + image * geometry.batch.1[0];
                    for part in 0..arithmetic.parts() {
                        let from = start + part * geometry.elements[0];
                        let to = &mut tile[part * step + row * depth..][..*depth];
                        self.window(input.get(from..).unwrap_or_default(), &places, to);
                    }
                }
                let windows = Matrix { data: &*tile, row: *depth, column: 1 };
                let extent = Extent { m: rows, n: columns, k: *depth };
                let right = (kernel, kernel_step);
                arithmetic.multiply(extent, sums, columns, (windows, step), right);
                let width = dtypes[2].host_bytes();
                let finished = &mut scratch[..rows * columns * width];
                arithmetic.finish(&mut sums[..rows * columns], dtypes[2], finished)?;
                for (row, values) in finished.chunks_exact(columns * width).enumerate() {
                    let image = self.place(first + row, &mut places);
                    let mut at = starts[2] + image * geometry.batch.1[1];
                    for (window, place) in geometry.windows.iter().zip(&places) {
                        at += window.output.1 * place;
                    }
                    let stride = geometry.output_features.1[1];
                    spread(values, &mut result[at * width..], stride, width);
                }
            }
        }
        Ok(())
    }

    /// The kernel of one group as a matrix: rows are elements under a window.
    fn pack<W: Work>(&self, kernel: &[W], packed: &mut [W]) {
        let (columns, [column, _]) = self.geometry.output_features;
        let (parts, size) = (self.arithmetic.parts(), self.depth * columns);
        if size == 0 {
            return;
        }
        let axes = kernel_rows(&self.geometry);
        for part in 0..parts {
            let from = &kernel[part * self.geometry.elements[1]..];
            let rows = packed[part * size..(part + 1) * size].chunks_exact_mut(columns);
            let mut index = vec![0; axes.len()];
            let mirrored = |index: &[usize]| -> usize {
                let each = index.iter().zip(&axes).enumerate();
                each.map(|(axis, (&at, &(extent, stride)))| {
                    let window = self.geometry.windows.get(axis);
                    let reversed = window.is_some_and(|window| window.reversed);
                    stride * if reversed { extent - 1 - at } else { at }
                })
                .sum()
            };
            for row in rows {
                let start = mirrored(&index);
                let values = from[start..].iter().step_by(column.max(1));
                row.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
                for axis in (0..axes.len()).rev() {
                    index[axis] += 1;
                    if index[axis] < axes[axis].0 {
                        break;
                    }
                    index[axis] = 0;
                }
            }
        }
    }

    /// Splits the number of a window into its image and its places along the spatial axes.
    fn place(&self, mut window: usize, places: &mut [usize]) -> usize {
        for (place, axis) in places.iter_mut().zip(&self.geometry.windows).rev() {
            *place = window % axis.output.0;
            window /= axis.output.0;
        }
        window
    }

    /// Gathers the input under one window; padding is zero.
    fn window<W: Work>(&self, image: &[W], places: &[usize], mut row: &mut [W]) {
        let (features, [stride, _]) = self.geometry.input_features;
        if row.is_empty() {
            return;
        }
        let Some((last, outer)) = self.geometry.windows.split_last() else {
            gather(image, stride, row);
            return;
        };
        let mut index = vec![0; outer.len()];
        loop {
            let mut start = Some(0);
            for ((axis, &place), &at) in outer.iter().zip(places).zip(&index) {
                let found = axis.locate(place, at);
                start = start.zip(found).map(|(start, found)| start + found * axis.input.1);
            }
            let place = places[outer.len()];
            for at in 0..last.kernel.0 {
                let (cell, rest) = std::mem::take(&mut row).split_at_mut(features);
                row = rest;
                match start.zip(last.locate(place, at)) {
                    Some((start, found)) => {
                        gather(&image[start + found * last.input.1..], stride, cell);
                    }
                    None => cell.fill(W::ZERO),
                }
            }
            if row.is_empty() {
                return;
            }
            for axis in (0..outer.len()).rev() {
                index[axis] += 1;
                if index[axis] < outer[axis].kernel.0 {
                    break;
                }
                index[axis] = 0;
            }
        }
    }
}

/// Axes of the kernel that run under a window: spatial ones, then input features.
fn kernel_rows(geometry: &Geometry) -> Vec<ExtentStride> {
    let (features, [_, stride]) = geometry.input_features;
    let spatial = geometry.windows.iter().map(|window| window.kernel);
    spatial.chain([(features, stride)]).collect()
}

fn gather<W: Work>(from: &[W], stride: usize, to: &mut [W]) {
    if stride == 1 {
        to.copy_from_slice(&from[..to.len()]);
    } else {
        to.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, from)| *to = *from);
    }
}

/// Writes elements `stride` apart.
fn spread(values: &[u8], out: &mut [u8], stride: usize, width: usize) {
    if stride == 1 {
        out[..values.len()].copy_from_slice(values);
    } else {
        for (value, out) in values.chunks_exact(width).zip(out.chunks_mut(stride * width)) {
            out[..width].copy_from_slice(value);
        }
    }
}
