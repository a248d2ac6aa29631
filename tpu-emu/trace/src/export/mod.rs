//! What lived, and what happened, in the forms that other programs read.
mod collapsed;
mod gaps;
mod perfetto;
mod pickle;
mod pprof;
mod pytorch;
mod shown;
mod speedscope;
mod xspace;

pub use collapsed::collapsed;
pub use perfetto::perfetto;
pub use pprof::pprof;
pub use pytorch::pytorch;
pub use speedscope::speedscope;
pub use xspace::{OperationRun, Profiled, xspace};

use crate::history::History;
use std::ops::Range;

/// A number as forms have it that know no larger ones.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Nanoseconds in a smaller unit.
fn picoseconds(nanos: u64) -> i64 {
    signed(nanos.saturating_mul(1000))
}

/// The times that ranges of changes span; all where every range is whole.
fn times(history: &History, spans: &[Range<usize>]) -> Range<u64> {
    let both = || history.spaces.iter().zip(spans).filter(|(space, _)| !space.order.is_empty());
    let starts = both().all(|(_, span)| span.start == 0);
    let ends = both().all(|(space, span)| span.end == space.order.len());
    let first = both().filter_map(|(space, span)| space.times.get(span.start)).min();
    let last = both().filter_map(|(space, span)| space.time_after(span.end)).max();
    let start = first.filter(|_| !starts).copied().unwrap_or(0);
    start..last.filter(|_| !ends).map_or(u64::MAX, |last| last.saturating_add(1))
}
