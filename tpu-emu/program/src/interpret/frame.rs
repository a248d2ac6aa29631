// UNSAFETY: turns slots of a plan into slices of memory. A frame holds what its addresses lead
// to. That slices of one step do not overlap, but for results that start from an operand, is what
// the planner guarantees and its tests check.
//! The memories of one run.
#![expect(unsafe_code, reason = "slices into the memories of a run, by the plan's offsets")]
use crate::plan::{GUARD, Slot};
use crate::tuning::{COPY_CHUNK_BYTES, MIN_DISCARDED_BYTES};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use tpu_base::host_pages::forget;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::parallel;

/// Memory that a run uses.
///
/// # Safety
/// The bytes of `place` are this process's to read and write for as long as the value lives,
/// wherever it is moved.
pub unsafe trait Storage: Send + Sync + 'static {
    /// Where it begins, and its bytes; null for nothing.
    fn place(&mut self) -> (*mut u8, usize);

    /// Whether it is for the run alone and not a device's, so that its pages may be given back
    /// once they are read.
    fn is_own(&self) -> bool;
}

// SAFETY: the bytes are on the heap and belong to the value.
unsafe impl Storage for Aligned {
    fn place(&mut self) -> (*mut u8, usize) {
        let bytes = self.bytes_mut();
        (bytes.as_mut_ptr(), bytes.len())
    }

    fn is_own(&self) -> bool {
        true
    }
}

/// Where one of the memories of a run is.
#[derive(Debug, Clone)]
struct Base {
    start: *mut u8,
    bytes: usize,
    is_own: bool,
}

/// Where a window is now: before it has a place, nowhere.
#[derive(Debug, Default)]
struct WindowPlace {
    start: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

impl WindowPlace {
    fn get(&self) -> (*mut u8, usize) {
        (self.start.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    fn set(&self, (start, bytes): (*mut u8, usize)) {
        self.start.store(start, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

/// The memories of one run: the arena, the pool of constants, parameters and results.
pub struct Frame {
    bases: Vec<Base>,
    /// Keeps the memory behind the addresses.
    held: Arc<dyn Any + Send + Sync>,
    /// Number of the first memory that is a row of an array in another.
    rows: usize,
    windows: Box<[WindowPlace]>,
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("bases", &self.bases).finish_non_exhaustive()
    }
}

// SAFETY: the addresses lead to memory that belongs to no thread and that the frame holds.
unsafe impl Send for Frame {}

// SAFETY: threads that share a run write distinct elements and read none that another writes.
unsafe impl Sync for Frame {}

impl Frame {
    /// A frame over memories in the order of the plan's numbers.
    ///
    /// Arena and results are for this run alone: until it ends nobody else reads or writes them,
    /// which is what the results' events are for. Threads that share one of its steps write
    /// distinct elements.
    pub fn new<S: Storage>(mut memories: Vec<S>) -> Self {
        let base = |memory: &mut S| {
            let (start, bytes) = memory.place();
            Base { start, bytes, is_own: memory.is_own() }
        };
        let bases: Vec<Base> = memories.iter_mut().map(base).collect();
        Self { rows: bases.len(), bases, held: Arc::new(memories), windows: Box::default() }
    }

    /// A frame with room for the places of so many windows.
    #[must_use]
    pub fn with_windows(self, count: usize) -> Self {
        Self { windows: (0..count).map(|_| WindowPlace::default()).collect(), ..self }
    }

    /// The same memories with more behind them, from number `first` on: rows of arrays that lie
    /// in the others.
    pub(super) fn with_rows(&self, first: u32, count: usize) -> Self {
        let none = Base { start: std::ptr::null_mut(), bytes: 0, is_own: false };
        let mut bases = self.bases.clone();
        bases.truncate(first as usize);
        bases.resize(first as usize + count, none);
        let frame = Self {
            bases,
            held: Arc::clone(&self.held),
            rows: first as usize,
            windows: Box::default(),
        };
        let frame = frame.with_windows(self.windows.len());
        self.windows.iter().zip(&frame.windows).for_each(|(from, to)| to.set(from.get()));
        frame
    }

    /// Lets a memory of a row be a piece of another memory.
    pub(super) fn set_row(&mut self, index: usize, piece: Slot) {
        // A window's pages are those of an array that others read.
        let is_own = self.bases.get(piece.base as usize).is_some_and(|base| base.is_own);
        let start = self.at(piece);
        let row = self.rows + index;
        self.bases[row] = Base { start, bytes: piece.bytes, is_own };
    }

    /// Lets a window be a piece of another memory.
    pub(super) fn set_window(&self, window: Slot, piece: Slot) {
        let place = window.window().and_then(|number| self.windows.get(number));
        place.into_iter().for_each(|place| place.set((self.at(piece), piece.bytes)));
    }

    /// Whether its first memory has so many bytes.
    pub(super) fn holds(&self, bytes: usize) -> bool {
        self.bases.first().is_some_and(|base| base.bytes >= bytes)
    }

    /// The memory behind the addresses, for whoever may use it after the run.
    pub fn held(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.held)
    }

    /// The bytes behind a custom call's result that belong to nobody else.
    pub(crate) fn behind(&self, slot: Slot) -> Slot {
        let end = slot.offset + slot.bytes;
        let left = self.bases[slot.base as usize].bytes.saturating_sub(end);
        let bytes = if slot.bytes == 0 { 0 } else { left.min(GUARD) };
        Slot { base: slot.base, offset: end, bytes }
    }

    /// Host address of a slot, for code outside of the machine.
    pub fn address(&self, slot: Slot) -> usize {
        self.at(slot).expose_provenance()
    }

    fn at(&self, slot: Slot) -> *mut u8 {
        if slot.bytes == 0 {
            return std::ptr::dangling_mut::<u128>().cast();
        }
        let (start, size) = match slot.window() {
            Some(number) => self.windows[number].get(),
            None => (self.bases[slot.base as usize].start, self.bases[slot.base as usize].bytes),
        };
        assert!(
            slot.offset.checked_add(slot.bytes).is_some_and(|end| end <= size),
            "{slot:?} in a memory of {size} bytes"
        );
        start.wrapping_add(slot.offset)
    }

    /// The bytes of a slot.
    pub fn bytes(&self, slot: Slot) -> &[u8] {
        // SAFETY: `at` has the slot inside a memory that the frame holds; the plan has no step
        // that writes a slot while it reads it otherwise.
        unsafe { slice::from_raw_parts(self.at(slot), slot.bytes) }
    }

    /// The bytes of a slot, to write to.
    #[expect(clippy::mut_from_ref, reason = "a frame is a view; the plan keeps writers apart")]
    pub fn bytes_mut(&self, slot: Slot) -> &mut [u8] {
        // SAFETY: as in `bytes`; results of one step are in distinct slots.
        unsafe { slice::from_raw_parts_mut(self.at(slot), slot.bytes) }
    }

    /// The bytes of a slot, which a loop may read and write at once.
    pub(super) fn cells(&self, slot: Slot) -> &[Cell<u8>] {
        // SAFETY: as in `bytes`; cells may be written while there are others for them, and
        // threads that share a step use cells of distinct elements.
        unsafe { slice::from_raw_parts(self.at(slot).cast::<Cell<u8>>(), slot.bytes) }
    }

    /// Gives the memory of the whole pages of a slot back to the system, where the slot is in
    /// memory that is the run's own: nobody reads it any more.
    pub fn forget(&self, slot: Slot) {
        let own = self.bases.get(slot.base as usize).is_some_and(|base| base.is_own);
        if own && slot.bytes >= MIN_DISCARDED_BYTES {
            // SAFETY: `at` has the slot inside memory that the frame holds and that is for this
            // run alone; the caller reads it no more.
            unsafe { forget(self.at(slot), slot.bytes) };
        }
    }

    /// Copies a slot to another, on all threads where they are large; they may be the same.
    pub(super) fn copy(&self, from: Slot, to: Slot) {
        let count = from.bytes.min(to.bytes);
        let (source, target) = (self.at(from), self.at(to));
        let apart = source.addr().abs_diff(target.addr());
        if apart == 0 {
            return;
        }
        if apart < count || count <= COPY_CHUNK_BYTES {
            return self.copy_here(from, to);
        }
        parallel::ranges(count, COPY_CHUNK_BYTES, |range| {
            let part = |slot: Slot| slot.part(range.start, range.len());
            self.copy_here(part(from), part(to));
        });
    }

    fn copy_here(&self, from: Slot, to: Slot) {
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

/// Copies cells to others, which may be some of them.
pub(super) fn move_cells(from: &[Cell<u8>], to: &[Cell<u8>]) {
    let count = from.len().min(to.len());
    // SAFETY: there are as many cells on both sides, which may be written while there are others for
    // them, and `copy` allows overlap.
    unsafe {
        std::ptr::copy(from.as_ptr().cast::<u8>(), to.as_ptr().cast::<u8>().cast_mut(), count)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn slot(base: u32, offset: usize, bytes: usize) -> Slot {
        Slot { base, offset, bytes }
    }

    #[test]
    fn slots_are_pieces_of_memories_that_the_frame_holds() {
        let memories = vec![Aligned::of(&[1, 2, 3, 4]), Aligned::zeros(0)];
        let frame = Frame::new(memories);
        frame.copy(slot(0, 0, 2), slot(0, 1, 2));
        frame.write(slot(0, 2, 2), 1, &[9]);
        assert_eq!(frame.bytes(slot(0, 0, 4)), [1, 1, 2, 9]);
        assert!(frame.bytes(slot(1, 0, 0)).is_empty());
    }

    #[test]
    fn rows_may_be_pieces_of_windows() {
        let frame = Frame::new(vec![Aligned::of(&[1, 2, 3, 4])]).with_windows(1);
        frame.set_window(slot(Plan::WINDOWS, 0, 3), slot(0, 1, 3));
        assert_eq!(frame.bytes(slot(Plan::WINDOWS, 0, 3)), [2, 3, 4]);
        let mut rows = frame.with_rows(1, 1);
        rows.set_row(0, slot(Plan::WINDOWS, 1, 2));
        assert_eq!(rows.bytes(slot(1, 0, 2)), [3, 4]);
    }

    #[test]
    #[should_panic(expected = "in a memory of 4 bytes")]
    fn a_slot_outside_of_its_memory_is_a_bug_that_stops() {
        let frame = Frame::new(vec![Aligned::zeros(4)]);
        frame.bytes(slot(0, 2, 3));
    }
}
