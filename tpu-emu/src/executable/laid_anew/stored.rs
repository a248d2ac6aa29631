//! What is stored at the same time of all that a program lays anew.
use super::body::{CallValue, WrittenOut};
use crate::executable::charge::{Charged, LaidAnew};
use crate::executable::stored_array::Array;
use crate::hbm::layout::Layout;
use std::collections::BTreeMap;
use tpu_base::units::Bytes;
use tpu_stablehlo::ir::{LocationId, Operation};

/// An array that is laid anew.
#[derive(Debug)]
pub(super) struct Stored<'m> {
    pub(super) operation: &'m Operation,
    /// Where that was written.
    pub(super) location: LocationId,
    /// The position of the operation.
    pub(super) at: usize,
    pub(super) array: Array,
    pub(super) layout: Layout,
    /// Bytes that are there until `value` is not needed any more.
    pub(super) own: u64,
    /// More bytes that are there while the operation runs only.
    pub(super) passing: u64,
    /// What is stored; `None` for what nobody needs behind the operation.
    pub(super) value: Option<CallValue>,
    /// Whether it is an image of a convolution, which lies beside a plan's temporaries.
    pub(super) image: bool,
}

impl Stored<'_> {
    /// What is there while the operation runs.
    pub(super) fn bytes(&self) -> u64 {
        self.own.saturating_add(self.passing)
    }

    /// This as what is charged for all that is there with it.
    pub(super) fn charged(&self, bytes: u64, others: usize) -> LaidAnew {
        LaidAnew {
            bytes: Bytes(bytes),
            others,
            place: Charged::Alone,
            dtype: self.array.dtype,
            dims: self.array.dims.clone(),
            layout: self.layout.to_string().into(),
            name: self.operation.name.to_string().into(),
            location: self.location,
        }
    }
}

/// The most that is there at one time, as its largest array.
pub(super) fn most(body: &WrittenOut<'_>, all: &[Stored<'_>]) -> Option<LaidAnew> {
    if let [one] = all {
        return Some(one.charged(one.bytes(), 0));
    }
    let until = |one: &Stored<'_>| {
        one.value.and_then(|value| body.end(value)).map_or(one.at, |end| end.max(one.at))
    };
    // What begins and ends at a position, in bytes.
    let mut changes: BTreeMap<usize, (u64, u64, u64)> = BTreeMap::new();
    for one in all {
        let begins = changes.entry(one.at).or_default();
        (begins.0, begins.1) =
            (begins.0.saturating_add(one.own), begins.1.saturating_add(one.passing));
        let ends = changes.entry(until(one)).or_default();
        ends.2 = ends.2.saturating_add(one.own);
    }
    let mut now = 0_u64;
    let mut fullest = (0_u64, 0_usize);
    for (&at, &(begins, passing, ends)) in &changes {
        now = now.saturating_add(begins);
        fullest = fullest.max((now.saturating_add(passing), usize::MAX - at));
        now = now.saturating_sub(ends);
    }
    let (bytes, at) = (fullest.0, usize::MAX - fullest.1);
    let there: Vec<&Stored<'_>> =
        all.iter().filter(|one| one.at == at || (one.at < at && until(one) >= at)).collect();
    let largest = there.iter().max_by_key(|one| one.bytes())?;
    Some(largest.charged(bytes, there.len() - 1))
}
