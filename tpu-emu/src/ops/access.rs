//! Index maps, and the checks that operations with the same map share.
use super::Site;
use crate::error::Result;
use crate::kernels::movement::strided_view::Access;
use crate::tensor::Shape;

/// Whether no number comes twice.
pub(super) fn unique(axes: &[usize]) -> bool {
    axes.iter().enumerate().all(|(at, axis)| !axes[..at].contains(axis))
}

/// A stride as a signed number. Arrays are shorter than `isize::MAX` bytes.
pub(super) fn signed(stride: usize) -> isize {
    isize::try_from(stride).unwrap_or(isize::MAX)
}

impl Access {
    /// Axis `d` of the operand runs along axis `axes[d]` of the result, or stands still if it
    /// has one index.
    pub(super) fn spread(operand: &Shape, result: &Shape, axes: &[usize]) -> Self {
        let mut strides = vec![0; result.rank()];
        for ((&axis, stride), &dim) in axes.iter().zip(operand.strides()).zip(&operand.dims) {
            if dim != 1 {
                strides[axis] = signed(stride);
            }
        }
        Self { offset: 0, strides }
    }

    /// From `starts` on, every `steps[d]`th index.
    pub(super) fn window(operand: &Shape, starts: &[usize], steps: &[usize]) -> Self {
        let strides = operand.strides();
        let offset = strides.iter().zip(starts).map(|(stride, start)| stride * start).sum();
        // The step of an axis with one index is never taken and may be any number.
        let strides = strides
            .iter()
            .zip(steps)
            .map(|(&stride, &step)| stride.checked_mul(step).map_or(isize::MAX, signed));
        Self { offset, strides: strides.collect() }
    }
}

/// The result of taking every `steps[d]`th index from `starts[d]` to below `limits[d]`: C2 to C4 of
/// `slice` and `real_dynamic_slice`.
pub(super) fn sliced(
    site: &Site<'_>,
    operand: &Shape,
    [starts, limits, steps]: [&[usize]; 3],
) -> Result<Shape> {
    let sizes = [starts.len(), limits.len(), steps.len()];
    if sizes != [operand.rank(); 3] {
        return Err(site.violates("C2", format!("{sizes:?} bounds for {operand}")));
    }
    let mut dims = Vec::with_capacity(operand.rank());
    for (axis, &dim) in operand.dims.iter().enumerate() {
        let (start, limit, step) = (starts[axis], limits[axis], steps[axis]);
        if start > limit || limit > dim {
            let what = format!("{start} to {limit} along axis {axis} of {operand}");
            return Err(site.violates("C3", what));
        }
        if step == 0 {
            return Err(site.violates("C4", format!("stride 0 along axis {axis}")));
        }
        dims.push((limit - start).div_ceil(step));
    }
    Ok(Shape::new(operand.dtype, dims))
}

/// C2 to C5 of `broadcast_in_dim` and `dynamic_broadcast_in_dim`.
pub(super) fn check_spread(
    site: &Site<'_>,
    operand: &Shape,
    result: &Shape,
    axes: &[usize],
) -> Result<()> {
    if axes.len() != operand.rank() {
        let what = format!("{} broadcast_dimensions for {operand}", axes.len());
        return Err(site.violates("C2", what));
    }
    if let Some(axis) = axes.iter().find(|&&axis| axis >= result.rank()) {
        return Err(site.violates("C3", format!("axis {axis} of {result}")));
    }
    if !unique(axes) {
        return Err(site.violates("C4", format!("broadcast_dimensions {axes:?}")));
    }
    for (&dim, &axis) in operand.dims.iter().zip(axes) {
        if dim != 1 && dim != result.dims[axis] {
            return Err(site.violates("C5", format!("{operand} along {axes:?} of {result}")));
        }
    }
    Ok(())
}
