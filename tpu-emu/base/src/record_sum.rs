//! The sum over the records of a trace by which a reader finds that a file was damaged.
//! `docs/trace-format.md` describes it at its kind 23.

/// Kind and length of a record.
const HEAD_BYTES: usize = 5;
/// The kind of what was lost, which a writer writes again in its place.
const LOSS: u8 = 13;
/// The kind of a count of calls, the end of which is written again in its place.
const CALLS: u8 = 14;
/// Bytes of that end.
const COUNTS_BYTES: usize = 40;
/// The kind of a sum.
const CHECK: u8 = 23;
/// An odd number whose bits have no pattern: 2⁶⁴ divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sum over bytes, of which each depends on all before it: two that differ in eight bytes that
/// stand together are never the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordSum(u64);

impl RecordSum {
    /// The sum of what was added so far.
    pub fn value(self) -> u64 {
        self.0
    }

    /// Goes on from another sum.
    pub fn from_value(value: u64) -> Self {
        Self(value)
    }

    /// Adds bytes that are no records: those with which a trace begins.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in words.by_ref() {
            self.word(word);
        }
        if !words.remainder().is_empty() {
            // The last eight once more, as far as there are so many: no copy of an odd length.
            self.word(bytes.last_chunk::<8>().map_or(bytes, |last| last));
        }
    }

    fn word(&mut self, word: &[u8]) {
        let word = match word.try_into() {
            Ok(word) => u64::from_le_bytes(word),
            Err(_) => word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)),
        };
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }

    /// Adds a whole record, without what is written again in its place.
    pub fn record(&mut self, record: &[u8]) {
        match record.first() {
            None | Some(&(LOSS | CHECK)) => {}
            Some(&CALLS) => self.bytes(&record[..record.len().saturating_sub(COUNTS_BYTES)]),
            Some(_) => self.bytes(record),
        }
    }

    /// Adds whole records that stand one after the other.
    pub fn records(&mut self, mut records: &[u8]) {
        while let [_, a, b, c, d, ..] = *records {
            let length = u32::from_le_bytes([a, b, c, d]) as usize;
            let end = records.len().min(HEAD_BYTES.saturating_add(length));
            self.record(&records[..end]);
            records = &records[end..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap();
        [&[kind][..], &length.to_le_bytes(), payload].concat()
    }

    fn of(records: &[u8]) -> u64 {
        let mut sum = RecordSum::default();
        sum.records(records);
        sum.value()
    }

    #[test]
    fn each_byte_of_each_length_changes_the_sum() {
        for length in 0..40 {
            let whole = record(6, &vec![7; length]);
            for at in 5..whole.len() {
                let mut other = whole.clone();
                other[at] ^= 0x10;
                assert_ne!(of(&whole), of(&other), "byte {at} of {length}");
            }
        }
    }

    #[test]
    fn records_that_are_left_out_doubled_or_exchanged_change_the_sum() {
        let (one, two) = (record(6, &[1; 20]), record(7, &[2; 20]));
        let sums = [
            of(&[&one[..], &two].concat()),
            of(&[&two[..], &one].concat()),
            of(&one),
            of(&[&one[..], &one, &two].concat()),
        ];
        for (at, sum) in sums.iter().enumerate() {
            assert!(!sums[..at].contains(sum), "{sums:x?}");
        }
    }

    #[test]
    fn what_is_written_again_does_not_count() {
        let calls = |counts: u8| record(14, &[&[5; 9][..], &[counts; 40]].concat());
        assert_eq!(of(&calls(1)), of(&calls(2)));
        assert_ne!(of(&calls(1)), of(&record(14, &[&[6; 9][..], &[1; 40]].concat())));
        assert_eq!(of(&record(13, &[1; 20])), of(&record(13, &[2; 20])));
        assert_eq!(of(&record(23, &[1; 10])), 0);
    }

    #[test]
    fn the_sum_of_known_bytes_is_the_one_of_the_format_s_page() {
        let mut sum = RecordSum::default();
        sum.bytes(b"TPUEMUTR\x01\x00\x07\x00");
        assert_eq!(sum.value(), 0x416d_f535_1dc5_b4a8);
    }
}
