//! Views as arrays of whole bytes: of their elements, or of the parts that those consist of.
use super::{Bank, Place, Steps, View, stored, width};
use tpu_kernels::movement::block_copy::BlockCopy;

/// What has to be moved to read or write a view.
pub(super) struct Units {
    /// Bytes of each unit.
    size: usize,
    /// Bytes before the first one.
    start: usize,
    dims: Vec<usize>,
    /// Units from one to the next in the memory.
    inside: Vec<usize>,
    /// And in the elements in their order.
    dense: Vec<usize>,
}

impl View {
    /// The units of a view, where each is whole bytes and their distances are whole units.
    pub(super) fn units(&self) -> Option<Units> {
        let bits = match self.parts {
            Some(parts) => parts.bits,
            None if self.inside => width(self.dtype),
            None => stored(self.dtype),
        };
        let count = self.parts.map_or(1, |parts| parts.count);
        if bits == 0 || !bits.is_multiple_of(8) || bits * count != stored(self.dtype) {
            return None;
        }
        let mut first = self.offset;
        let mut axes = Vec::with_capacity(self.axes.len() + 2);
        for axis in &self.axes {
            match axis.steps {
                Steps::Linear(_) if axis.extent == 1 => {}
                Steps::Linear(step) => axes.push((axis.extent, step)),
                Steps::Split { start, ratio, major, minor } => {
                    first += start / ratio * major + start % ratio * minor;
                    if axis.extent == 1 {
                        continue;
                    }
                    if !start.is_multiple_of(ratio) || !axis.extent.is_multiple_of(ratio) {
                        return None;
                    }
                    axes.extend([(axis.extent / ratio, major), (ratio, minor)]);
                }
            }
        }
        let mut dense = vec![count; axes.len()];
        for at in (1..axes.len()).rev() {
            dense[at - 1] = dense[at] * axes[at].0;
        }
        // The parts of a row of elements are rows, too, so that the loops inside are long.
        if let Some(parts) = self.parts {
            let at = axes.len().saturating_sub(1);
            axes.insert(at, (count, parts.step));
            dense.insert(at, 1);
        }
        if !first.is_multiple_of(8) || axes.iter().any(|(_, step)| !step.is_multiple_of(bits)) {
            return None;
        }
        let dims = axes.iter().map(|&(extent, _)| extent).collect();
        let inside = axes.iter().map(|&(_, step)| step / bits).collect();
        Some(Units { size: bits / 8, start: first / 8, dims, inside, dense })
    }
}

impl Units {
    /// Reads all from a view's memory.
    pub(super) fn read(&self, view: &View, bank: &Bank, to: Place) {
        let copy = BlockCopy::new(self.size, &self.dims, &self.inside, &self.dense);
        copy.run(self.tail(view, bank).bytes(), to.bytes_mut());
    }

    /// Writes all to a view's memory.
    pub(super) fn write(&self, view: &View, bank: &Bank, from: Place) {
        let copy = BlockCopy::new(self.size, &self.dims, &self.dense, &self.inside);
        copy.run(from.bytes(), self.tail(view, bank).bytes_mut());
    }

    /// The bytes of a view's memory from its first unit on.
    fn tail(&self, view: &View, bank: &Bank) -> Place {
        let place = bank.get(view.buffer).place();
        let start = self.start.min(place.len());
        place.part(start, place.len() - start)
    }
}
