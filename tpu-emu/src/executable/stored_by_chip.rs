//! What a plan tells that a chip stores, as what is charged for it.
use super::charge::{Charged, LaidAnew};
use std::sync::Arc;
use tpu_base::units::{Bytes, to_u64};
use tpu_placement::fullest;
use tpu_program::plan::{ArenaSlot, Plan};

/// What a chip stores beside a plan's arena.
pub(super) fn of(plan: &Plan) -> Option<LaidAnew> {
    let stored = plan.stored.as_ref()?;
    let lives = |slot: &ArenaSlot| (to_u64(slot.first), to_u64(slot.last), to_u64(slot.bytes));
    let dims: Vec<u64> = stored.shape.dims.iter().map(|&dim| to_u64(dim)).collect();
    let axes: Vec<String> = (0..dims.len()).rev().map(|axis| axis.to_string()).collect();
    Some(LaidAnew {
        bytes: Bytes(to_u64(stored.bytes)),
        others: stored.others,
        place: Charged::Beside(fullest(plan.slots.iter().map(lives)).unwrap_or(0)),
        dtype: stored.shape.dtype,
        dims,
        layout: format!("{{{}}}", axes.join(",")).into(),
        name: Arc::clone(&stored.name),
        location: stored.location,
    })
}
