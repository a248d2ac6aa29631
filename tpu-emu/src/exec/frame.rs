// UNSAFETY: turns slots of a plan into slices of memory. That slices of one step do not overlap,
// but for results that start from an operand, is what the planner guarantees and its tests check.
//! The memories of one run.
#![expect(unsafe_code, reason = "slices into the memories of a run, by the plan's offsets")]
use crate::program::plan::Slot;
use std::slice;

/// The memories of one run: the arena, the pool of constants, parameters and results.
#[derive(Debug)]
pub(crate) struct Frame {
    bases: Vec<(*mut u8, usize)>,
}

// SAFETY: the pointers lead to memory that the launch holds until the run has ended.
unsafe impl Send for Frame {}

impl Frame {
    /// A frame over memories: their addresses and sizes.
    ///
    /// # Safety
    /// Each is valid for reads of its size until the frame is gone, and for writes unless it is
    /// the pool or a parameter; nobody else writes to them, or reads what the run writes.
    pub(crate) unsafe fn new(bases: Vec<(*mut u8, usize)>) -> Self {
        Self { bases }
    }

    fn at(&self, slot: Slot) -> *mut u8 {
        if slot.bytes == 0 {
            return std::ptr::dangling_mut::<u128>().cast();
        }
        let (base, size) = self.bases[slot.base as usize];
        assert!(
            slot.offset.checked_add(slot.bytes).is_some_and(|end| end <= size),
            "{slot:?} in a memory of {size} bytes"
        );
        base.wrapping_add(slot.offset)
    }

    /// The bytes of a slot.
    pub(super) fn bytes(&self, slot: Slot) -> &[u8] {
        // SAFETY: `at` has the slot inside its memory, which `new` promises to be readable; the
        // plan has no step that writes a slot while it reads it otherwise.
        unsafe { slice::from_raw_parts(self.at(slot), slot.bytes) }
    }

    /// The bytes of a slot, to write to.
    #[expect(clippy::mut_from_ref, reason = "a frame is a view; the plan keeps writers apart")]
    pub(super) fn bytes_mut(&self, slot: Slot) -> &mut [u8] {
        // SAFETY: as in `bytes`; results of one step are in distinct slots.
        unsafe { slice::from_raw_parts_mut(self.at(slot), slot.bytes) }
    }

    /// Copies a slot to another; they may be the same.
    pub(super) fn copy(&self, from: Slot, to: Slot) {
        let count = from.bytes.min(to.bytes);
        // SAFETY: `at` has both slots inside their memories, and `copy` allows overlap.
        unsafe { std::ptr::copy(self.at(from), self.at(to), count) };
    }

    /// Writes bytes at an offset of a slot; they may come from that very place.
    pub(super) fn write(&self, to: Slot, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= to.bytes, "{} bytes at {offset} of {to:?}", bytes.len());
        // SAFETY: the range is inside the slot, and `copy` allows overlap.
        unsafe {
            std::ptr::copy(bytes.as_ptr(), self.at(to).wrapping_add(offset), bytes.len());
        }
    }
}
