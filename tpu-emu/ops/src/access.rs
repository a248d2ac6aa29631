//! Index maps, and the checks that operations with the same map share.
use super::Site;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// Whether no number comes twice.
pub(super) fn unique(axes: &[usize]) -> bool {
    axes.iter().enumerate().all(|(at, axis)| !axes[..at].contains(axis))
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
