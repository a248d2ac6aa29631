//! Scatters of one update to a row, which are choices: whether an element's index is the row's.
use super::plan::Dimensions;
use crate::reducer::Reducer;
use crate::{OneHot, SELECT, compare};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::program::Register;
use tpu_kernels::movement::strided_view::{Access, signed};
use tpu_stablehlo::ir::Attributes;

/// That of a scatter with checked dimension numbers; `None` where elements may get several
/// updates, or where windows do not have whole axes.
pub(super) fn one_hot(
    dimensions: &Dimensions,
    [input, indices, update]: [&Shape; 3],
    reducer: &Reducer,
) -> Option<OneHot> {
    let &[axis] = &dimensions.targets[..] else { return None };
    if !dimensions.inserted.contains(&axis) || !has_numbers(indices.dtype, input.dims[axis]) {
        return None;
    }
    let (index_steps, update_steps) = (indices.strides(), update.strides());
    let mut from_indices = vec![0; input.rank()];
    let mut from_updates = vec![0; input.rank()];
    for (of_indices, of_update) in dimensions.positions(indices).zip(dimensions.scattered(update)) {
        let batching = dimensions.indices_batching.iter().position(|&one| one == of_indices);
        match batching {
            Some(at) => {
                let of_input = dimensions.input_batching[at];
                from_indices[of_input] = signed(index_steps[of_indices]);
                from_updates[of_input] = signed(update_steps[of_update]);
            }
            None if indices.dims[of_indices] == 1 => {}
            None => return None,
        }
    }
    for (of_input, &of_update) in dimensions.windowed(input).zip(&dimensions.update_window) {
        if update.dims[of_update] != input.dims[of_input] {
            return None;
        }
        from_updates[of_input] = signed(update_steps[of_update]);
    }
    let steps = reducer.program()?.steps.as_slice();
    let combine = match steps {
        [] if reducer.overwrites() => None,
        [step] if step.inputs == [Register::Parameter(0), Register::Parameter(1)] => Some(step.op),
        _ => return None,
    };
    let of = input.dtype;
    Some(OneHot {
        axis,
        index: indices.dtype,
        indices: Access { offset: 0, strides: from_indices },
        updates: Access { offset: 0, strides: from_updates },
        combine,
        equal: compare::equals(indices.dtype).ok()?,
        choose: SELECT.on_scalars(&Attributes::default(), &[DType::Pred, of, of], of).ok()?,
    })
}

/// Whether a type of whole numbers has those below `count`.
fn has_numbers(dtype: DType, count: usize) -> bool {
    let element = dtype.element();
    // Without the bit for the sign.
    let bits = element.bits.saturating_mul(element.parts).saturating_sub(1);
    1_usize.checked_shl(bits).is_none_or(|numbers| count <= numbers)
}
