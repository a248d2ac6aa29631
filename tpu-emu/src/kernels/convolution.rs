//! Convolutions as matrix products: windows of the input become the rows of a matrix, a tile of
//! bounded size at a time.
use super::arithmetic::{Arithmetic, for_kind, room, take};
use super::contraction::{Axis, merged};
use super::gemm::{Extent, Matrix};
use super::work::Work;
use crate::error::Result;
use crate::tensor::DType;
use bytemuck::cast_slice;

/// Numbers of a tile of windows.
const TILE: usize = 1 << 18;

/// One spatial axis.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Extent and stride in the input.
    pub input: Axis,
    /// Extent and stride in the kernel.
    pub kernel: Axis,
    /// Extent and stride in the result.
    pub output: Axis,
    /// From one window to the next.
    pub step: usize,
    /// Padding before the input; negative to leave input out.
    pub low: i64,
    /// Distance of the input's elements.
    pub base_dilation: usize,
    /// Distance of the elements under the kernel.
    pub dilation: usize,
    /// Whether the kernel runs backwards.
    pub reversed: bool,
}

impl Window {
    /// The index in the input under kernel element `at` of window `window`; `None` for padding.
    fn locate(&self, window: usize, at: usize) -> Option<usize> {
        let place = (window * self.step + at * self.dilation).cast_signed() as i64 - self.low;
        let mut place = usize::try_from(place).ok()?;
        if self.base_dilation > 1 {
            if !place.is_multiple_of(self.base_dilation) {
                return None;
            }
            place /= self.base_dilation;
        }
        (place < self.input.0).then_some(place)
    }
}

/// Extents and strides of a convolution.
#[derive(Debug)]
pub struct Geometry {
    /// Spatial axes.
    pub windows: Vec<Window>,
    /// Groups of features, or of batches.
    pub groups: usize,
    /// Elements from one group to the next in the input, the kernel and the result.
    pub group_strides: [usize; 3],
    /// Images of the result; strides in the input and in the result.
    pub batch: (usize, [usize; 2]),
    /// Input features of a group; strides in the input and in the kernel.
    pub input_features: (usize, [usize; 2]),
    /// Output features of a group; strides in the kernel and in the result.
    pub output_features: (usize, [usize; 2]),
    /// Elements of the input and of the kernel.
    pub elements: [usize; 2],
}

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
    plain: Option<Axis>,
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
        let rows = (TILE / width).clamp(1, windows.max(1));
        let reversed =
            geometry.windows.iter().any(|window| window.reversed && window.kernel.0 != 1);
        let plain = if reversed { None } else { merged(&kernel_rows(&geometry)) };
        Self { arithmetic, geometry, dtypes, depth, windows, rows, plain }
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
            let direct = self.arithmetic.takes(self.dtypes[side]);
            if direct { 0 } else { self.geometry.elements[side].saturating_mul(parts) }
        };
        let columns = self.geometry.output_features.0;
        let depth = self.depth.saturating_mul(parts);
        let packed = if self.plain.is_some() { 0 } else { depth.saturating_mul(columns) };
        let tile = depth.saturating_mul(self.rows);
        [read(0), read(1), packed, tile, columns.saturating_mul(self.rows)]
    }

    /// Bytes of scratch memory of a run.
    pub fn scratch(&self) -> usize {
        let width = self.arithmetic.kind.bytes();
        let results = self.rows.saturating_mul(self.geometry.output_features.0);
        let numbers = self.numbers().into_iter();
        numbers.fold(room(results, self.dtypes[2].host_bytes()), |all, count| {
            all.saturating_add(room(count, width))
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
        for_kind!(self.arithmetic.kind, W => self.run_in::<W>(scratch, operands, result))
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
            let out = take::<W>(&mut scratch, count)?;
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
        let packed = take::<W>(&mut scratch, packed)?;
        let tile = take::<W>(&mut scratch, tile)?;
        let sums = take::<W>(&mut scratch, sums)?;
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
fn kernel_rows(geometry: &Geometry) -> Vec<Axis> {
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
