//! Views of the same elements with other extents, and of the same bits as other elements.
use super::{Axis, Parts, Steps, View, stored, width};
use tpu_base::tensor::DType;

impl View {
    /// The same elements with other extents.
    ///
    /// # Errors
    /// Dimensions that lie apart and would have to be one.
    pub(crate) fn reshape(&mut self, dims: &[usize]) -> Result<(), String> {
        let apart = || format!("{:?} as {dims:?}: its elements lie apart", self.dims());
        if self.elements() != dims.iter().product::<usize>() {
            return Err(format!("{:?} as {dims:?}", self.dims()));
        }
        self.is_all_there(dims)?;
        if self.elements() == 0 {
            let axis = |&extent: &usize| Axis::new(extent, Steps::Linear(stored(self.dtype)));
            self.axes = dims.iter().map(axis).collect();
            return Ok(());
        }
        let mut axes = Vec::with_capacity(dims.len());
        let mut old = self.axes.iter().rev().filter(|axis| axis.extent != 1).copied();
        let mut left: Option<Axis> = None;
        // From the last dimension on, each new one takes what it needs of the old ones.
        for &extent in dims.iter().rev() {
            if extent == 1 {
                axes.push(Axis::new(extent, Steps::Linear(0)));
                continue;
            }
            let mut taken = match left.take().or_else(|| old.next()) {
                Some(axis) => axis,
                None => return Err(apart()),
            };
            while !taken.extent.is_multiple_of(extent) {
                let Some(next) = old.next() else { return Err(apart()) };
                taken = joined(taken, next).ok_or_else(apart)?;
            }
            if taken.extent > extent {
                let (inner, outer) = divided(taken, extent).ok_or_else(apart)?;
                left = Some(outer);
                taken = inner;
            }
            axes.push(taken);
        }
        axes.reverse();
        self.axes = axes;
        Ok(())
    }

    /// The same bits as elements of another type: consecutive narrow ones along the dimension
    /// before the last are one wide one.
    ///
    /// # Errors
    /// Views for which that has no meaning here.
    pub(crate) fn bitcast(&mut self, dtype: DType, dims: &[usize]) -> Result<(), String> {
        self.is_all_there(dims)?;
        let (from, to) = (width(self.dtype), width(dtype));
        if from == to {
            self.dtype = dtype;
            return self.reshape(dims);
        }
        let text = format!("{}{:?} as {}{dims:?}", self.dtype.name(), self.dims(), dtype.name());
        let fails = || text.clone();
        let Some(row) = self.axes.len().checked_sub(2) else { return Err(fails()) };
        if dims.len() != self.axes.len() {
            return Err(fails());
        }
        let axis = self.axes[row];
        if from < to {
            let ratio = to / from;
            let (None, false) = (self.parts, self.inside) else {
                return self.undone(dtype, dims).ok_or_else(fails);
            };
            let Steps::Linear(step) = axis.steps else { return Err(fails()) };
            let signed = matches!(self.dtype, DType::S2 | DType::S4);
            self.parts = Some(Parts { count: ratio, step, bits: from, signed });
            self.axes[row] = Axis::new(axis.extent / ratio, Steps::Linear(step * ratio));
        } else {
            let ratio = from / to;
            let Steps::Linear(major) = axis.steps else { return Err(fails()) };
            let (minor, start) = match self.parts.take() {
                // Back to what they are made of.
                Some(parts) if parts.count == ratio => {
                    let steps = Steps::Linear(parts.step);
                    if major != parts.step * ratio {
                        return Err(fails());
                    }
                    self.axes[row] = Axis::new(axis.extent * ratio, steps);
                    self.dtype = dtype;
                    return self.checked(dims);
                }
                Some(_) => return Err(fails()),
                None => (to, 0),
            };
            self.inside = true;
            let steps = Steps::Split { start, ratio, major, minor };
            self.axes[row] = Axis::new(axis.extent * ratio, steps);
        }
        self.dtype = dtype;
        self.checked(dims)
    }

    /// Narrow elements in wide ones, as the wide ones again.
    fn undone(&mut self, dtype: DType, dims: &[usize]) -> Option<()> {
        let row = self.axes.len().checked_sub(2)?;
        let Steps::Split { start, ratio, major, .. } = self.axes[row].steps else { return None };
        let whole = start.is_multiple_of(ratio) && self.axes[row].extent.is_multiple_of(ratio);
        if !self.inside || !whole || width(dtype) != width(self.dtype) * ratio {
            return None;
        }
        self.offset += start / ratio * major;
        self.inside = false;
        self.axes[row] = Axis::new(self.axes[row].extent / ratio, Steps::Linear(major));
        self.dtype = dtype;
        self.checked(dims).ok()
    }

    fn checked(&self, dims: &[usize]) -> Result<(), String> {
        if self.dims() == dims {
            return Ok(());
        }
        Err(format!("{:?} where {dims:?} is declared", self.dims()))
    }
}

/// Two dimensions as one, where the outer one goes on where the inner one ends.
fn joined(inner: Axis, outer: Axis) -> Option<Axis> {
    let extent = inner.extent * outer.extent;
    match (inner.steps, outer.steps) {
        (Steps::Linear(step), Steps::Linear(above)) if above == step * inner.extent => {
            Some(Axis::new(extent, Steps::Linear(step)))
        }
        (Steps::Split { start: 0, ratio, major, minor }, Steps::Linear(above))
            if inner.extent.is_multiple_of(ratio) && above == inner.extent / ratio * major =>
        {
            Some(Axis::new(extent, Steps::Split { start: 0, ratio, major, minor }))
        }
        _ => None,
    }
}

/// A dimension as an inner one of an extent and an outer one.
fn divided(axis: Axis, extent: usize) -> Option<(Axis, Axis)> {
    let outer = axis.extent / extent;
    match axis.steps {
        Steps::Linear(step) => Some((
            Axis::new(extent, Steps::Linear(step)),
            Axis::new(outer, Steps::Linear(step * extent)),
        )),
        Steps::Split { start: 0, ratio, major, minor } if extent.is_multiple_of(ratio) => Some((
            Axis::new(extent, Steps::Split { start: 0, ratio, major, minor }),
            Axis::new(outer, Steps::Linear(extent / ratio * major)),
        )),
        Steps::Split { .. } => None,
    }
}
