//! Whether the records of a trace are those that were written.
use crate::format::MAGIC;
use tpu_base::record_sum::RecordSum;

/// The sum over the records that were read.
pub(crate) struct Checked {
    sum: RecordSum,
    /// Up to which byte the sums of the file were those of what was read.
    until: u64,
}

impl Checked {
    /// Of a trace of a format, as its first bytes say it.
    pub(crate) fn new((major, minor): (u16, u16)) -> Self {
        let mut sum = RecordSum::default();
        sum.bytes(&[&MAGIC[..], &major.to_le_bytes(), &minor.to_le_bytes()].concat());
        Self { sum, until: 0 }
    }

    /// Takes a whole record.
    pub(crate) fn add(&mut self, record: &[u8]) {
        self.sum.record(record);
    }

    /// Compares a sum of the file that ends at a byte, and goes on from it. Gives between which
    /// bytes the file is not what was written, where the sums differ.
    pub(crate) fn compare(&mut self, found: u64, at: u64) -> Option<(u64, u64)> {
        let differs = found != self.sum.value();
        let damaged = differs.then_some((self.until, at));
        (self.sum, self.until) = (RecordSum::from_value(found), at);
        damaged
    }
}
