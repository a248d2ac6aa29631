//! Where the arrays of a custom call are.
use tpu_base::error::Result;
use tpu_kernels::aligned::Aligned;
use tpu_ops::custom_call::CallMemory;
use tpu_program::interpret::frame::Frame;
use tpu_program::plan::{ALIGN, Slot};

/// Lets operands be copies where they lie otherwise than handlers are promised, as rows of arrays
/// do; gives the copies.
pub(super) fn aligned(
    frame: &Frame,
    slots: &[Slot],
    places: &mut [CallMemory],
) -> Result<Vec<Aligned>> {
    let mut copies = Vec::new();
    for (place, &slot) in places.iter_mut().zip(slots) {
        if place.bytes > 0 && !place.address.is_multiple_of(ALIGN) {
            let mut copy = Aligned::try_zeros(slot.bytes)?;
            copy.bytes_mut().copy_from_slice(frame.bytes(slot));
            place.address = copy.bytes_mut().as_mut_ptr().expose_provenance();
            copies.push(copy);
        }
    }
    Ok(copies)
}

/// Operands and results that a call takes without an allocation.
pub(super) const FEW: usize = 8;

/// Where the arrays of a call are.
pub(super) fn places<'p>(
    frame: &Frame,
    slots: &[Slot],
    few: &'p mut [CallMemory; FEW],
    many: &'p mut Vec<CallMemory>,
) -> &'p mut [CallMemory] {
    let places = match few.get_mut(..slots.len()) {
        Some(few) => few,
        None => {
            many.resize(slots.len(), CallMemory::default());
            &mut many[..]
        }
    };
    for (place, &slot) in places.iter_mut().zip(slots) {
        *place = CallMemory { address: frame.address(slot), bytes: slot.bytes };
    }
    places
}
