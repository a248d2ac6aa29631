//! Views: parts of a memory, with any distances between elements. Loads and stores go through
//! them.
//!
//! Distances count bits. Elements narrower than a byte have one each, as all arrays of programs;
//! where such elements are seen in wider ones (`memref_bitcast`), they have just their bits.
mod reshape;
mod runs;
mod tiles;
mod units;

use super::memory::{Bank, BufferId, Place};
use tpu_base::tensor::DType;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::movement::block_copy::BlockCopy;

/// How far elements of a dimension are from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Always so many bits.
    Linear(usize),
    /// Element `i` is at `(i + start) / ratio` majors and `(i + start) % ratio` minors: narrow
    /// elements in rows of wide ones.
    Split { start: usize, ratio: usize, major: usize, minor: usize },
}

/// A dimension of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) extent: usize,
    pub(crate) steps: Steps,
    /// How many more elements there are room for behind the last one, in the tiles of a chip.
    room: usize,
    /// How many of its last elements lie there: nothing is read or written for them.
    gone: usize,
}

impl Axis {
    fn new(extent: usize, steps: Steps) -> Self {
        Self { extent, steps, room: 0, gone: 0 }
    }

    /// The number of elements that are in the memory.
    fn there(&self) -> usize {
        self.extent - self.gone
    }
}

/// An element that consists of narrower ones, low bits first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    count: usize,
    /// Bits from one to the next.
    step: usize,
    /// Bits of each.
    bits: usize,
    /// Whether those of less than a byte have their sign in the whole byte.
    signed: bool,
}

/// A part of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) buffer: BufferId,
    pub(crate) dtype: DType,
    /// Bits before the first element.
    offset: usize,
    pub(crate) axes: Vec<Axis>,
    parts: Option<Parts>,
    /// Whether elements have just their bits, in wider ones.
    inside: bool,
}

/// Bits that count of an element.
fn width(dtype: DType) -> usize {
    let of = dtype.element();
    (of.bits * of.parts) as usize
}

fn stored(dtype: DType) -> usize {
    dtype.host_bytes() * 8
}

impl View {
    /// A whole memory.
    pub(crate) fn whole(buffer: BufferId, dtype: DType, dims: &[usize]) -> Self {
        let mut view =
            Self { buffer, dtype, offset: 0, axes: Vec::new(), parts: None, inside: false };
        view.axes = dims.iter().map(|&extent| Axis::new(extent, Steps::Linear(0))).collect();
        let mut step = stored(dtype);
        for axis in view.axes.iter_mut().rev() {
            axis.steps = Steps::Linear(step);
            step *= axis.extent;
        }
        view
    }

    /// A block of a whole memory.
    pub(crate) fn block(&self, starts: &[usize], dims: &[usize]) -> Self {
        let mut view = self.clone();
        for ((axis, &start), &extent) in view.axes.iter_mut().zip(starts).zip(dims) {
            if let Steps::Linear(step) = axis.steps {
                view.offset += step * start;
            }
            (axis.extent, axis.room, axis.gone) = (extent, 0, 0);
        }
        view
    }

    /// With other extents that cover as many elements in the same order, where neighbours of one
    /// element come and go.
    pub(crate) fn with_dims(mut self, dims: &[usize]) -> Result<Self, String> {
        if self.axes.iter().map(|axis| axis.extent).eq(dims.iter().copied()) {
            return Ok(self);
        }
        self.reshape(dims)?;
        Ok(self)
    }

    /// The extents.
    pub(crate) fn dims(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.extent).collect()
    }

    /// Whether it has the extents of another view.
    pub(crate) fn has_dims_of(&self, other: &Self) -> bool {
        self.axes.len() == other.axes.len()
            && self.axes.iter().zip(&other.axes).all(|(a, b)| a.extent == b.extent)
    }

    /// How many elements it has.
    pub(crate) fn elements(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent).product()
    }

    /// The bytes that its elements have as an array.
    pub(crate) fn bytes(&self) -> usize {
        self.elements() * self.dtype.host_bytes()
    }

    /// Where its first element begins in the memory, in bytes.
    pub(crate) fn start(&self) -> usize {
        self.offset / 8
    }

    /// The part that begins at indices.
    ///
    /// # Errors
    /// Indices that lead outside.
    pub(crate) fn slice(
        &self,
        indices: &[i64],
        dims: &[usize],
        strides: Option<&[usize]>,
    ) -> Result<Self, String> {
        self.part(&|axis| (indices[axis], dims[axis]), strides)
    }

    /// The part of which each dimension has an index and an extent.
    ///
    /// # Errors
    /// Indices that lead outside.
    pub(crate) fn part(
        &self,
        part: &dyn Fn(usize) -> (i64, usize),
        strides: Option<&[usize]>,
    ) -> Result<Self, String> {
        let mut view = Self { axes: Vec::with_capacity(self.axes.len()), ..self.head() };
        self.slice_to(&mut view, part, strides)?;
        Ok(view)
    }

    /// Makes a view such a part.
    ///
    /// # Errors
    /// Indices that lead outside.
    pub(crate) fn slice_to(
        &self,
        view: &mut Self,
        part: &dyn Fn(usize) -> (i64, usize),
        strides: Option<&[usize]>,
    ) -> Result<(), String> {
        view.set_head(self);
        for (number, axis) in self.axes.iter().enumerate() {
            let stride = strides.map_or(1, |strides| strides[number]);
            let (index, extent) = part(number);
            let last = extent.saturating_sub(1).saturating_mul(stride);
            let start = usize::try_from(index).ok();
            let fits = |start: &usize| {
                start.checked_add(last).is_some_and(|last| last < axis.extent)
                    || (extent == 0 && *start <= axis.extent)
                    || axis.reaches(*start, extent, stride)
            };
            let Some(start) = start.filter(fits) else {
                let (indices, dims): (Vec<i64>, Vec<usize>) =
                    (0..self.axes.len()).map(part).unzip();
                return Err(outside(&self.dims(), &indices, &dims, strides));
            };
            let steps = match axis.steps {
                Steps::Linear(step) => {
                    view.offset += step * start;
                    Steps::Linear(step * stride)
                }
                Steps::Split { start: before, ratio, major, minor } => {
                    let at = before + start;
                    if extent == 1 || stride.is_multiple_of(ratio) {
                        view.offset += at / ratio * major + at % ratio * minor;
                        Steps::Linear(stride / ratio * major)
                    } else if stride == 1 {
                        Steps::Split { start: at, ratio, major, minor }
                    } else {
                        return Err(format!("a stride of {stride} over {ratio} elements in one"));
                    }
                }
            };
            view.axes.push(axis.part(start, (extent, stride), steps));
        }
        Ok(())
    }

    /// Makes a view another one, in the memory that it has for its dimensions.
    pub(crate) fn set(&mut self, to: &Self) {
        self.set_head(to);
        self.axes.extend_from_slice(&to.axes);
    }

    fn set_head(&mut self, to: &Self) {
        let mut axes = std::mem::take(&mut self.axes);
        axes.clear();
        *self = Self { axes, ..to.head() };
    }

    /// It without dimensions.
    fn head(&self) -> Self {
        let (buffer, dtype, offset) = (self.buffer, self.dtype, self.offset);
        Self { buffer, dtype, offset, axes: Vec::new(), parts: self.parts, inside: self.inside }
    }

    /// Without some dimensions of one element.
    pub(crate) fn squeeze(&mut self, dropped: &[usize]) {
        for &at in dropped.iter().rev() {
            let axis = self.axes.remove(at);
            if let Steps::Split { start, ratio, major, minor } = axis.steps {
                self.offset += start / ratio * major + start % ratio * minor;
            }
        }
    }

    /// Elements from one to the next in each dimension, where each is an element of its memory.
    fn strides(&self) -> Option<Vec<usize>> {
        if self.parts.is_some() || self.inside {
            return None;
        }
        self.axes.iter().map(|axis| self.stride(axis)).collect()
    }

    /// Elements from one to the next in a dimension.
    fn stride(&self, axis: &Axis) -> Option<usize> {
        let bits = stored(self.dtype);
        match axis.steps {
            Steps::Linear(step) if step.is_multiple_of(bits) => Some(step / bits),
            _ => None,
        }
    }

    /// The bytes of all elements, where they lie side by side in their order.
    pub(crate) fn side_by_side(&self, bank: &Bank) -> Option<Place> {
        let (start, bytes) = self.run_of_all()?;
        Some(bank.get(self.buffer).part(start, bytes))
    }

    /// The same bytes, all of which the caller writes.
    fn side_by_side_to_write(&self, bank: &Bank) -> Option<Place> {
        let (start, bytes) = self.run_of_all()?;
        Some(bank.get(self.buffer).part_to_write(start, bytes))
    }

    /// Where elements that lie side by side in their order begin, and their bytes.
    fn run_of_all(&self) -> Option<(usize, usize)> {
        if self.is_cut() || self.parts.is_some() || self.inside {
            return None;
        }
        let mut dense = 1;
        for axis in self.axes.iter().rev() {
            if self.stride(axis)? != dense && axis.extent != 1 {
                return None;
            }
            dense *= axis.extent;
        }
        let bytes = self.bytes();
        Some(if bytes == 0 { (0, 0) } else { (self.start(), bytes) })
    }

    /// The bytes from its first element on.
    fn tail(&self, bank: &Bank) -> Place {
        let place = bank.get(self.buffer).place();
        let start = self.start().min(place.len());
        place.part(start, place.len() - start)
    }

    /// Reads its elements in their order.
    pub(crate) fn read(&self, bank: &Bank, to: Place) {
        if self.elements() == 0 {
            return;
        }
        if let Some(place) = self.side_by_side(bank) {
            to.copy_from(place);
            return;
        }
        if self.is_cut() {
            return self.read_there(bank, to);
        }
        match self.units() {
            Some(units) => units.read(self, bank, to),
            None => self.read_each(bank, to),
        }
    }

    /// Reads its elements one by one.
    fn read_each(&self, bank: &Bank, to: Place) {
        let size = self.dtype.host_bytes();
        let memory = bank.get(self.buffer).place().bytes();
        let to = to.bytes_mut();
        self.each(&mut |number, at| {
            let value = self.element(memory, at).to_le_bytes();
            to[number * size..(number + 1) * size].copy_from_slice(&value[..size]);
        });
    }

    /// Writes its elements in their order.
    pub(crate) fn write(&self, bank: &Bank, from: Place) {
        if self.elements() == 0 {
            return;
        }
        if let Some(place) = self.side_by_side_to_write(bank) {
            place.copy_from(from);
            return;
        }
        if self.is_cut() {
            return self.write_there(bank, from);
        }
        match self.units() {
            Some(units) => units.write(self, bank, from),
            None => self.write_each(bank, from),
        }
    }

    /// Writes its elements one by one.
    fn write_each(&self, bank: &Bank, from: Place) {
        let size = self.dtype.host_bytes();
        let memory = bank.get(self.buffer).place().bytes_mut();
        let from = from.bytes();
        self.each(&mut |number, at| {
            let mut value = [0; 8];
            value[..size].copy_from_slice(&from[number * size..(number + 1) * size]);
            self.set_element(memory, at, u64::from_le_bytes(value));
        });
    }

    /// Makes its elements those of another view of the same extents and type.
    pub(crate) fn copy_from(&self, bank: &Bank, from: &Self) {
        if self.elements() == 0 {
            return;
        }
        if self.is_cut() || from.is_cut() {
            return self.copy_there(bank, from);
        }
        if let Some(from) = from.side_by_side(bank)
            && let Some(to) = self.side_by_side_to_write(bank)
        {
            return to.copy_from(from);
        }
        if let (Some(to), Some(strides)) = (self.strides(), from.strides())
            && !self.tail(bank).overlaps(from.tail(bank))
        {
            let copy = BlockCopy::new(self.dtype.host_bytes(), &self.dims(), &strides, &to);
            copy.run(from.tail(bank).bytes(), self.tail(bank).bytes_mut());
            return;
        }
        let mut between = Aligned::zeros(self.bytes());
        let place = Place::of_mut(between.bytes_mut());
        from.read(bank, place);
        self.write(bank, place);
    }

    /// Calls `visit` with the number and the place, in bits, of each element.
    fn each(&self, visit: &mut dyn FnMut(usize, usize)) {
        fn level(
            axes: &[Axis],
            at: usize,
            number: &mut usize,
            visit: &mut dyn FnMut(usize, usize),
        ) {
            let Some((axis, inner)) = axes.split_first() else {
                visit(*number, at);
                *number += 1;
                return;
            };
            for index in 0..axis.extent {
                let step = match axis.steps {
                    Steps::Linear(step) => index * step,
                    Steps::Split { start, ratio, major, minor } => {
                        (index + start) / ratio * major + (index + start) % ratio * minor
                    }
                };
                level(inner, at + step, number, visit);
            }
        }
        level(&self.axes, self.offset, &mut 0, visit);
    }

    fn element(&self, memory: &[u8], at: usize) -> u64 {
        let bits = |at: usize, count: usize| {
            let mut bytes = [0; 8];
            let (first, length) = (at / 8, count.div_ceil(8));
            bytes[..length].copy_from_slice(&memory[first..first + length]);
            let value = u64::from_le_bytes(bytes) >> (at % 8);
            if count >= 64 { value } else { value & ((1 << count) - 1) }
        };
        let value = match self.parts {
            None => bits(at, width(self.dtype)),
            Some(parts) => (0..parts.count).fold(0, |value, part| {
                value | bits(at + part * parts.step, parts.bits) << (part * parts.bits)
            }),
        };
        // Signed elements of less than a byte have their sign in the whole byte.
        match self.dtype {
            DType::S2 | DType::S4 => {
                let shift = 64 - width(self.dtype);
                ((value << shift).cast_signed() >> shift).cast_unsigned()
            }
            _ => value,
        }
    }

    fn set_element(&self, memory: &mut [u8], at: usize, value: u64) {
        let mut set = |at: usize, count: usize, value: u64, whole: bool| {
            let value = if count >= 64 { value } else { value & ((1 << count) - 1) };
            if count < 8 && !whole {
                let mask = (1_u8 << count) - 1;
                let low = value.to_le_bytes()[0];
                let byte = &mut memory[at / 8];
                *byte = (*byte & !(mask << (at % 8))) | (low << (at % 8));
                return;
            }
            let length = count.div_ceil(8);
            memory[at / 8..at / 8 + length].copy_from_slice(&value.to_le_bytes()[..length]);
        };
        match self.parts {
            None => set(at, width(self.dtype), value, !self.inside),
            Some(parts) => {
                for part in 0..parts.count {
                    let bits = value >> (part * parts.bits);
                    let place = at + part * parts.step;
                    if parts.signed {
                        let shift = 64 - parts.bits;
                        let signed = (bits << shift).cast_signed() >> shift;
                        set(place, 8, signed.cast_unsigned(), true);
                    } else {
                        set(place, parts.bits, bits, true);
                    }
                }
            }
        }
    }
}

fn dense(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

fn outside(of: &[usize], indices: &[i64], dims: &[usize], strides: Option<&[usize]>) -> String {
    let strides = strides.map_or_else(String::new, |strides| format!(", strides {strides:?}"));
    format!("out of bounds: {dims:?} elements at {indices:?}{strides} of {of:?}")
}

#[cfg(test)]
mod tests;
