// UNSAFETY: the memories of a launch, as addresses. A bank holds what its addresses lead to, or
// lives no longer than the slices that it was made of; places are checked against their memory.
//! The memories of a launch: arrays of the call, and what its kernels have for themselves.
#![expect(unsafe_code, reason = "steps read and write parts of one memory at once")]
use super::unfilled::Unfilled;
use crate::form::Cell;
use std::cell::{OnceCell, RefCell};
use std::slice;
use tpu_base::tensor::DType;
use tpu_kernels::aligned::Aligned;
use tpu_program::interpret::frame::Storage;

/// Bytes in one of the memories of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: a place is an address; who reads and writes there is the machine, one step at a time.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

// SAFETY: the bytes are in a memory of the bank, which lives for as long as a piece runs.
unsafe impl Storage for Place {
    fn place(&mut self) -> (*mut u8, usize) {
        (self.start, self.bytes)
    }

    fn is_own(&self) -> bool {
        false
    }
}

impl Place {
    /// Nothing.
    pub(crate) const NONE: Self = Self { start: std::ptr::null_mut(), bytes: 0 };

    /// A memory that others hold.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr().cast_mut(), bytes: bytes.len() }
    }

    /// A memory that others hold, to write to.
    pub(crate) fn of_mut(bytes: &mut [u8]) -> Self {
        Self { start: bytes.as_mut_ptr(), bytes: bytes.len() }
    }

    /// Where it begins.
    pub(crate) fn address(self) -> usize {
        self.start.addr()
    }

    /// Fills it with numbers other than those of [`poison`]: each byte is this one, or zero where
    /// elements have fewer bits.
    pub(crate) fn fill_otherwise(self, dtype: DType, byte: u8) {
        let narrow = dtype.element().bits < 8 || dtype == DType::Pred;
        self.bytes_mut().fill(if narrow { 0 } else { byte });
    }

    /// How many bytes there are.
    pub(crate) fn len(self) -> usize {
        self.bytes
    }

    /// A part.
    pub(crate) fn part(self, offset: usize, bytes: usize) -> Self {
        let end = offset.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.bytes),
            "{bytes} bytes at {offset} of {}",
            self.bytes
        );
        Self { start: self.start.wrapping_add(offset), bytes }
    }

    /// Whether two have a byte in common.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        let (a, b) = (self.start.addr(), other.start.addr());
        self.bytes > 0 && other.bytes > 0 && a < b + other.bytes && b < a + self.bytes
    }

    /// Whether it begins where elements of a width may.
    pub(crate) fn is_aligned(self, width: usize) -> bool {
        self.start.addr().is_multiple_of(width.max(1))
    }

    /// The bytes.
    pub(crate) fn bytes<'a>(self) -> &'a [u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: the bytes are in a memory of the bank that made the place; a step that reads a
        // place does not write it at the same time.
        unsafe { slice::from_raw_parts(self.start, self.bytes) }
    }

    /// The bytes, to write to.
    pub(crate) fn bytes_mut<'a>(self) -> &'a mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: as in `bytes`; a step writes one place at a time.
        unsafe { slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Copies bytes from a place, which may overlap.
    pub(crate) fn copy_from(self, from: Self) {
        assert_eq!(self.bytes, from.bytes, "a copy to a place of another size");
        if self.bytes > 0 {
            // SAFETY: both are in memories of the bank; `copy` allows overlap.
            unsafe { std::ptr::copy(from.start, self.start, self.bytes) };
        }
    }
}

/// One memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: usize,
    /// Where it is; memory of the launch's own is made when somebody looks at it.
    place: OnceCell<Place>,
    /// What lies there.
    pub(crate) cell: Cell,
    /// Whether others hold it.
    is_lent: bool,
    /// The memory itself, where it is the launch's own.
    held: OnceCell<Aligned>,
    /// What is written of it, where the rest is to be filled.
    unfilled: RefCell<Option<Unfilled>>,
}

impl Buffer {
    fn new(cell: Cell, bytes: usize, place: Option<Place>) -> Self {
        let (is_lent, unfilled) = (place.is_some(), RefCell::default());
        let place = place.map_or_else(OnceCell::new, OnceCell::from);
        Self { bytes, place, cell, is_lent, held: OnceCell::new(), unfilled }
    }

    /// Where all of it is: zeros, where nobody has looked at it yet.
    fn all(&self) -> Place {
        *self.place.get_or_init(|| {
            let mut held = Aligned::zeros(self.bytes);
            let place = Place::of_mut(held.bytes_mut());
            self.held.get_or_init(|| held);
            place
        })
    }

    /// Where it begins.
    pub(crate) fn address(&self) -> usize {
        self.all().address()
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// The bytes.
    pub(crate) fn place(&self) -> Place {
        self.fill();
        self.all()
    }

    /// Some of the bytes.
    pub(crate) fn part(&self, start: usize, bytes: usize) -> Place {
        let part = self.all().part(start, bytes);
        let unfilled = self.unfilled.borrow();
        let has = unfilled.as_ref().is_none_or(|unfilled| unfilled.has(&(start..start + bytes)));
        drop(unfilled);
        if !has {
            self.fill();
        }
        part
    }

    /// Some of the bytes, all of which the caller writes.
    pub(crate) fn part_to_write(&self, start: usize, bytes: usize) -> Place {
        let part = self.all().part(start, bytes);
        let mut unfilled = self.unfilled.borrow_mut();
        let noted = unfilled.as_mut().is_none_or(|unfilled| unfilled.note(&(start..start + bytes)));
        drop(unfilled);
        if !noted {
            self.fill();
        }
        part
    }

    /// Fills what nobody has written, where that is still to be done.
    fn fill(&self) {
        if let Some(unfilled) = self.unfilled.take() {
            unfilled.fill(self.all());
        }
    }
}

/// The number of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BufferId(pub(crate) usize);

/// All memories of a launch.
#[derive(Debug, Default)]
pub(crate) struct Bank {
    buffers: Vec<Buffer>,
    free: Vec<BufferId>,
}

impl Bank {
    fn add(&mut self, buffer: Buffer) -> BufferId {
        if let Some(id) = self.free.pop() {
            self.buffers[id.0] = buffer;
            return id;
        }
        self.buffers.push(buffer);
        BufferId(self.buffers.len() - 1)
    }

    /// A memory that others hold for as long as the launch runs.
    pub(crate) fn lent(&mut self, place: Place, cell: Cell) -> BufferId {
        self.add(Buffer::new(cell, place.len(), Some(place)))
    }

    /// A memory of the launch's own: zeros.
    pub(crate) fn own(&mut self, bytes: usize, cell: Cell) -> BufferId {
        self.add(Buffer::new(cell, bytes, None))
    }

    /// Says that nobody has written a memory: what is left is filled when somebody looks at it.
    pub(crate) fn fill_later(&mut self, id: BufferId, dtype: DType) {
        self.buffers[id.0].unfilled = RefCell::new(Some(Unfilled::new(dtype)));
    }

    /// Fills what nobody has written of all memories.
    pub(crate) fn fill_all(&mut self) {
        self.buffers.iter().for_each(Buffer::fill);
    }

    /// Gives a memory back.
    pub(crate) fn drop(&mut self, id: BufferId) {
        let buffer = &mut self.buffers[id.0];
        let gone = Buffer::new(buffer.cell, 0, Some(Place::NONE));
        if !std::mem::replace(buffer, gone).is_lent {
            self.free.push(id);
        }
    }

    /// Whether others hold a memory.
    pub(crate) fn is_lent(&self, id: BufferId) -> bool {
        self.buffers[id.0].is_lent
    }

    /// A memory.
    pub(crate) fn get(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0]
    }
}

/// Fills memory with what nobody wrote: numbers that show where they are used.
pub(crate) fn poison(place: Place, dtype: DType) {
    let bytes = place.bytes_mut();
    let pattern: &[u8] = match dtype {
        DType::F64 => &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
        DType::F32 | DType::C64 => &[0, 0, 0xc0, 0x7f],
        DType::Bf16 => &[0xc0, 0x7f],
        DType::F16 => &[0, 0x7e],
        DType::F8E4M3FN | DType::F8E5M2 | DType::F8E4M3 | DType::F8E3M4 => &[0x7f],
        DType::F8E4M3B11FNUZ | DType::F8E4M3FNUZ | DType::F8E5M2FNUZ => &[0x80],
        DType::F8E8M0FNU => &[0xff],
        DType::Pred => &[1],
        DType::S2 => &[1],
        DType::S4 | DType::F4E2M1FN => &[7],
        DType::U2 => &[3],
        DType::U4 => &[15],
        DType::S8 => &[0x7f],
        DType::S16 => &[0xff, 0x7f],
        DType::S32 => &[0xff, 0xff, 0xff, 0x7f],
        DType::S64 => &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        _ => &[0xff],
    };
    match *pattern {
        [byte] => bytes.fill(byte),
        [a, b] => repeat(bytes, [a, b]),
        [a, b, c, d] => repeat(bytes, [a, b, c, d]),
        [a, b, c, d, e, f, g, h] => repeat(bytes, [a, b, c, d, e, f, g, h]),
        _ => {}
    }
}

fn repeat<const N: usize>(bytes: &mut [u8], pattern: [u8; N]) {
    for chunk in bytes.as_chunks_mut().0 {
        *chunk = pattern;
    }
}
