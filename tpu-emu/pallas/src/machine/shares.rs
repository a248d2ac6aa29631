//! Shares of a grid that run beside each other.
//!
//! A share may rely on nothing that another one leaves behind: a kernel that reads scratch which
//! its share has not written, or visits a block of a result that another share has visited, has
//! points that are not independent, whatever it says, and fails here. It is then run as a whole.
use super::instance::Instance;
use super::memory::BufferId;
use super::view::View;
use super::{Failure, Machine};
use crate::form::Program;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use tpu_mosaic::ir::LocationId;

/// Parts of a memory that are not written beyond which it counts as never written.
const MOST_PARTS: usize = 256;

/// Which share has which block of which argument, and whether one has failed.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    by: Mutex<HashMap<(usize, Vec<i64>), usize>>,
    failed: AtomicBool,
}

impl Claims {
    /// Notes that a share has failed.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether a share has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// The blocks of each argument that shares had.
    pub(crate) fn visited(self) -> HashMap<usize, HashSet<Vec<i64>>> {
        let mut visited: HashMap<usize, HashSet<Vec<i64>>> = HashMap::new();
        self.by.into_inner().into_keys().for_each(|(argument, index)| {
            visited.entry(argument).or_default().insert(index);
        });
        visited
    }

    fn claim(&self, share: usize, argument: usize, index: &[i64]) -> Result<(), String> {
        let mut by = self.by.lock();
        let first = *by.entry((argument, index.to_vec())).or_insert(share);
        if first == share { Ok(()) } else { Err(format!("block {index:?} of two shares")) }
    }
}

/// A share of a grid.
#[derive(Debug)]
pub(crate) struct Share<'p> {
    number: usize,
    /// Points that the share has in the dimensions that are independent, as numbers in their order.
    points: Range<usize>,
    claims: &'p Claims,
    /// Bytes of scratch that this share has not written, from where to where.
    unset: Vec<(BufferId, Vec<Range<usize>>)>,
}

impl<'p> Share<'p> {
    /// A share before its first step.
    pub(crate) fn new(number: usize, points: Range<usize>, claims: &'p Claims) -> Self {
        Self { number, points, claims, unset: Vec::new() }
    }

    /// Scratch of this share.
    pub(super) fn takes(&mut self, buffer: BufferId, bytes: usize) {
        if bytes > 0 {
            self.unset.push((buffer, iter::once(0..bytes).collect()));
        }
    }

    fn has_written(&mut self, view: &View) {
        let Some(at) = self.unset.iter().position(|(buffer, _)| *buffer == view.buffer) else {
            return;
        };
        let parts = &mut self.unset[at].1;
        for (start, bytes) in view.runs() {
            if parts.len() > MOST_PARTS {
                return;
            }
            *parts = without(parts, start..start + bytes);
        }
        if parts.is_empty() {
            self.unset.swap_remove(at);
        }
    }

    fn has_set(&self, view: &View) -> bool {
        let Some((_, parts)) = self.unset.iter().find(|(buffer, _)| *buffer == view.buffer) else {
            return true;
        };
        let unset = |(start, bytes): (usize, usize)| {
            parts.iter().any(|part| part.start < start + bytes && start < part.end)
        };
        !view.runs().into_iter().any(unset)
    }
}

/// Parts without one.
fn without(parts: &[Range<usize>], gone: Range<usize>) -> Vec<Range<usize>> {
    let left = |part: &Range<usize>| {
        [part.start..part.end.min(gone.start), part.start.max(gone.end)..part.end]
    };
    parts.iter().flat_map(left).filter(|part| !part.is_empty()).collect()
}

impl Instance {
    /// Goes to the first point of a share; ends behind its last one.
    pub(super) fn begin_share(&mut self, program: &Program, share: &Share<'_>) {
        let extent = |bound: i64| usize::try_from(bound).unwrap_or(0);
        let independent = program.entries[self.entry].independent.min(self.bounds.len());
        let mut rest = share.points.start;
        for at in (0..independent).rev() {
            let bound = extent(self.bounds[at]).max(1);
            self.point[at] = i64::try_from(rest % bound).unwrap_or(0);
            rest /= bound;
        }
        let each: usize = self.bounds[independent..].iter().map(|&bound| extent(bound)).product();
        self.left = Some(share.points.len() * each);
        self.set_indices(program);
    }
}

impl<'p> Machine<'p> {
    /// Runs a share of the grid alone.
    pub(crate) fn take_share(&mut self, share: Share<'p>) {
        self.share = Some(share);
    }

    /// Notes that a share writes.
    pub(super) fn share_writes(&mut self, view: &View) {
        if let Some(share) = &mut self.share {
            share.has_written(view);
        }
    }

    /// Notes that a share reads.
    ///
    /// # Errors
    /// Scratch that this share has not written.
    pub(super) fn share_reads(&self, view: &View, place: LocationId) -> Result<(), Failure> {
        match &self.share {
            Some(share) if !share.has_set(view) => {
                let what = "reads what another share of the grid may have written".to_owned();
                Err(Failure { what, place })
            }
            _ => Ok(()),
        }
    }

    /// Notes that a share visits a block of a result.
    ///
    /// # Errors
    /// One that another share has visited, or a share that has failed.
    pub(super) fn share_visits(&self, argument: usize, index: &[i64]) -> Result<(), String> {
        let Some(share) = &self.share else { return Ok(()) };
        if share.claims.has_failed() {
            return Err("another share of the grid has failed".to_owned());
        }
        share.claims.claim(share.number, argument, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::tensor::DType;

    #[test]
    fn a_share_reads_its_scratch_only_where_it_has_written() {
        let (claims, buffer) = (Claims::default(), BufferId(3));
        let mut share = Share::new(0, 0..1, &claims);
        share.takes(buffer, 64);
        let whole = View::whole(buffer, DType::F32, &[4, 4]);
        let part = |start, rows| whole.block(&[start, 0], &[rows, 4]);
        assert!(!share.has_set(&whole));
        share.has_written(&part(1, 2));
        assert!(share.has_set(&part(1, 2)));
        assert!(!share.has_set(&part(0, 2)));
        assert!(!share.has_set(&part(2, 2)));
        share.has_written(&part(0, 1));
        share.has_written(&part(2, 2));
        assert!(share.has_set(&whole));
        assert!(share.unset.is_empty());
        assert!(share.has_set(&View::whole(BufferId(4), DType::F32, &[4])));
    }

    #[test]
    fn a_block_is_of_one_share() {
        let claims = Claims::default();
        assert_eq!(claims.claim(0, 2, &[1, 1]), Ok(()));
        assert_eq!(claims.claim(0, 2, &[1, 1]), Ok(()));
        assert_eq!(claims.claim(1, 3, &[1, 1]), Ok(()));
        assert_eq!(claims.claim(1, 2, &[1, 1]), Err("block [1, 1] of two shares".to_owned()));
    }
}
