//! The free ranges of one space: best fit and coalescing. It knows addresses, no memory.
use crate::span::Span;
use std::collections::{BTreeMap, BTreeSet};
use tpu_base::units::{Bytes, DevAddr};

/// A hole in the order of best fit: its size above its address in one number, so that a
/// comparison has no branch. Comparisons are most of a search's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit(u128);

impl Fit {
    fn new(size: Bytes, start: DevAddr) -> Self {
        Self(u128::from(size.0) << 64 | u128::from(start.0))
    }

    fn of(hole: Span) -> Self {
        Self::new(hole.size(), hole.start)
    }

    fn at_least(size: Bytes) -> Self {
        Self::new(size, DevAddr(0))
    }

    const fn size(self) -> Bytes {
        Bytes((self.0 >> 64) as u64)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low 64 bits are the address")]
    const fn span(self) -> Span {
        Span::new(DevAddr(self.0 as u64), self.size())
    }
}

/// Free ranges that never touch each other, found by size and by address.
#[derive(Debug, Clone)]
pub(super) struct Holes {
    by_size: BTreeSet<Fit>,
    /// End to start. A hole is cut at its start and grows downwards at its start, so most
    /// changes leave its key as it is.
    by_end: BTreeMap<DevAddr, DevAddr>,
    total: Bytes,
}

impl Holes {
    /// One hole from address 0.
    pub(super) fn new(capacity: Bytes) -> Self {
        let mut holes =
            Self { by_size: BTreeSet::new(), by_end: BTreeMap::new(), total: Bytes::ZERO };
        if capacity > Bytes::ZERO {
            holes.join(Span::new(DevAddr(0), capacity));
        }
        holes
    }

    /// The smallest hole that has `size` bytes, the lowest among equals.
    pub(super) fn fit(&self, size: Bytes) -> Option<Span> {
        self.by_size.range(Fit::at_least(size)..).next().map(|fit| fit.span())
    }

    /// Cuts `size` bytes from the start of the smallest hole that has them, the lowest among
    /// equals. Returns that hole as it was.
    pub(super) fn cut(&mut self, size: Bytes) -> Option<Span> {
        let &fit = self.by_size.range(Fit::at_least(size)..).next()?;
        let hole = fit.span();
        self.by_size.remove(&fit);
        if fit.size() == size {
            self.by_end.remove(&hole.end);
        } else {
            let rest = Span { start: hole.start.offset(size), end: hole.end };
            self.by_end.insert(rest.end, rest.start);
            self.by_size.insert(Fit::of(rest));
        }
        self.total -= size;
        Some(hole)
    }

    /// Adds a range that is in no hole; returns the hole it has become part of.
    pub(super) fn join(&mut self, span: Span) -> Span {
        let mut merged = span;
        let mut above = self.by_end.range(span.start..).map(|(&end, &start)| Span { start, end });
        let first = above.next();
        let (below, above) = match first {
            Some(hole) if hole.end == span.start => (first, above.next()),
            _ => (None, first),
        };
        if let Some(hole) = below {
            merged.start = hole.start;
            self.by_end.remove(&hole.end);
            self.by_size.remove(&Fit::of(hole));
        }
        if let Some(hole) = above.filter(|hole| hole.start == span.end) {
            merged.end = hole.end;
            self.by_size.remove(&Fit::of(hole));
        }
        self.by_end.insert(merged.end, merged.start);
        self.by_size.insert(Fit::of(merged));
        self.total += span.size();
        merged
    }

    /// The holes of at least `size`, by size.
    pub(super) fn at_least(&self, size: Bytes) -> impl DoubleEndedIterator<Item = Span> {
        self.by_size.range(Fit::at_least(size)..).map(|fit| fit.span())
    }

    /// All holes, by address.
    pub(super) fn by_address(&self) -> impl DoubleEndedIterator<Item = Span> {
        self.by_end.iter().map(|(&end, &start)| Span { start, end })
    }

    /// Sum of all holes.
    pub(super) const fn total(&self) -> Bytes {
        self.total
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.by_size.len()
    }

    /// The largest hole, zero if there is none.
    pub(super) fn largest(&self) -> Bytes {
        self.by_size.last().map_or(Bytes::ZERO, |fit| fit.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { start: DevAddr(start), end: DevAddr(end) }
    }

    fn holes(spans: &[Span]) -> Holes {
        let mut holes = Holes::new(Bytes::ZERO);
        for &hole in spans {
            holes.join(hole);
        }
        holes
    }

    #[test]
    fn the_smallest_hole_that_fits_is_cut_and_the_lowest_among_equals() {
        let mut holes = holes(&[span(0, 40), span(50, 60), span(70, 80), span(90, 95)]);
        assert_eq!(holes.cut(Bytes(6)), Some(span(50, 60)));
        assert_eq!(holes.cut(Bytes(10)), Some(span(70, 80)));
        assert_eq!(holes.cut(Bytes(10)), Some(span(0, 40)));
        assert_eq!(holes.cut(Bytes(31)), None);
        assert_eq!(holes.total(), Bytes(30 + 4 + 5));
    }

    #[test]
    fn a_range_joins_the_hole_below_the_hole_above_both_or_none() {
        let mut holes = holes(&[span(0, 10), span(30, 40)]);
        assert_eq!(holes.join(span(15, 16)), span(15, 16));
        assert_eq!(holes.join(span(10, 12)), span(0, 12));
        assert_eq!(holes.join(span(28, 30)), span(28, 40));
        assert_eq!(holes.join(span(16, 28)), span(15, 40));
        assert_eq!(holes.join(span(12, 15)), span(0, 40));
        assert_eq!((holes.total(), holes.largest()), (Bytes(40), Bytes(40)));
    }
}
