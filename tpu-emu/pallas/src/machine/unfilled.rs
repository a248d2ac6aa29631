//! Results that nobody has written: what is left of them is filled with numbers that show when
//! somebody looks at it, or at the end.
//!
//! Most kernels write all of a result by copies, so that filling it first would be for nothing.
use super::memory::{Place, poison};
use std::iter;
use std::ops::Range;
use tpu_base::tensor::DType;

/// The most written parts that are told apart.
const MOST_PARTS: usize = 64;

/// Bytes after which every pattern of [`poison`] begins again.
const PATTERN_BYTES: usize = 8;

/// A memory that is not filled.
#[derive(Debug)]
pub(super) struct Unfilled {
    dtype: DType,
    /// What is written, in order; parts do not touch each other.
    written: Vec<Range<usize>>,
}

impl Unfilled {
    /// Nothing of it is written.
    pub(super) fn new(dtype: DType) -> Self {
        Self { dtype, written: Vec::new() }
    }

    /// Whether bytes have all been written.
    pub(super) fn has(&self, bytes: &Range<usize>) -> bool {
        bytes.is_empty()
            || self.written.iter().any(|part| part.start <= bytes.start && bytes.end <= part.end)
    }

    /// Notes that bytes are written; `false` where there are too many parts, or none can begin
    /// there.
    pub(super) fn note(&mut self, bytes: &Range<usize>) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let whole = |at: usize| at.is_multiple_of(PATTERN_BYTES);
        if !whole(bytes.start) || !whole(bytes.end) {
            return false;
        }
        let first = self.written.partition_point(|part| part.end < bytes.start);
        let last = self.written.partition_point(|part| part.start <= bytes.end);
        let touched = &self.written[first..last];
        let start = touched.first().map_or(bytes.start, |part| part.start.min(bytes.start));
        let end = touched.last().map_or(bytes.end, |part| part.end.max(bytes.end));
        self.written.splice(first..last, iter::once(start..end));
        self.written.len() <= MOST_PARTS
    }

    /// Fills what is not written.
    pub(super) fn fill(&self, place: Place) {
        let mut at = 0;
        for part in &self.written {
            poison(place.part(at, part.start - at), self.dtype);
            at = part.end;
        }
        poison(place.part(at, place.len() - at), self.dtype);
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Bank;
    use super::*;
    use crate::form::Cell;

    fn bank(memory: &mut [u8]) -> (Bank, super::super::memory::BufferId) {
        let mut bank = Bank::default();
        let id = bank.lent(Place::of_mut(memory), Cell::Element(DType::F32));
        bank.fill_later(id, DType::F32);
        (bank, id)
    }

    /// The numbers of a memory; `None` where it was filled.
    fn told(memory: &[u8]) -> Vec<Option<u8>> {
        let told = |bytes: &[u8]| (bytes != [0, 0, 0xc0, 0x7f]).then(|| bytes[0]);
        memory.chunks(4).map(told).collect()
    }

    #[test]
    fn what_was_written_stays_and_the_rest_is_filled_at_the_end() {
        let mut memory = vec![1; 48];
        let (mut bank, id) = bank(&mut memory);
        for (start, value) in [(24, 5), (16, 7)] {
            bank.get(id).part_to_write(start, 8).bytes_mut().fill(value);
        }
        assert_eq!(bank.get(id).part(16, 16).bytes(), [[7; 8], [5; 8]].as_flattened());
        assert_eq!(memory[..16], [1; 16], "what is read was written: nothing is filled");
        bank.fill_all();
        let (n, some) = (None, Some);
        let all = [n, n, n, n, some(7), some(7), some(5), some(5), n, n, n, n];
        assert_eq!(told(&memory), all);
    }

    #[test]
    fn what_is_read_before_it_is_written_shows() {
        let mut memory = vec![1; 32];
        let (bank, id) = bank(&mut memory);
        bank.get(id).part_to_write(8, 8).bytes_mut().fill(9);
        assert_eq!(told(bank.get(id).part(4, 8).bytes()), [None, Some(9)]);
        assert_eq!(told(&memory)[..4], [None, None, Some(9), Some(9)]);
        assert_eq!(told(&memory)[4..], [None; 4]);
    }

    #[test]
    fn parts_that_begin_inside_of_a_pattern_are_filled_around_at_once() {
        let mut memory = vec![1; 32];
        let (bank, id) = bank(&mut memory);
        bank.get(id).part_to_write(3, 2).bytes_mut().fill(9);
        assert_eq!(memory[..8], [0, 0, 0xc0, 9, 9, 0, 0xc0, 0x7f]);
    }

    #[test]
    fn parts_are_joined_where_they_touch() {
        let mut of = Unfilled::new(DType::F32);
        for start in [64, 0, 128, 8, 56, 72] {
            assert!(of.note(&(start..start + 8)));
        }
        assert_eq!(of.written, [0..16, 56..80, 128..136]);
        assert!(of.has(&(60..80)) && !of.has(&(8..24)) && of.has(&(20..20)));
        assert!(of.note(&(8..200)));
        assert!(of.has(&(0..200)) && of.written.len() == 1);
        let mut many = Unfilled::new(DType::F32);
        let noted = (0..=MOST_PARTS).map(|at| many.note(&(at * 16..at * 16 + 8)));
        assert_eq!(noted.filter(|noted| !noted).count(), 1);
    }
}
