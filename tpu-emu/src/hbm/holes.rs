//! The free ranges of one space: best fit and coalescing. It knows addresses, no memory.
use super::pages::{PAGE, Span};
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

/// How a search for a hole ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The bytes are at the start of this hole, as it was.
    Made(Span),
    /// They would end here, where nothing can be touched yet.
    Beyond(DevAddr),
    /// No hole is large enough.
    None,
}

/// Free ranges that never touch each other, found by size and by address.
#[derive(Debug)]
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

    /// Cuts `size` bytes from the start of the smallest hole that has them, the lowest among
    /// equals. Returns that hole as it was; leaves it where the bytes would end past `usable`.
    pub(super) fn cut(&mut self, size: Bytes, usable: Bytes) -> Cut {
        let Some(&fit) = self.by_size.range(Fit::at_least(size)..).next() else {
            return Cut::None;
        };
        let hole = fit.span();
        let end = hole.start.offset(size);
        if end.0 > usable.0 {
            return Cut::Beyond(end);
        }
        self.by_size.remove(&fit);
        if fit.size() == size {
            self.by_end.remove(&hole.end);
        } else {
            let rest = Span { start: hole.start.offset(size), end: hole.end };
            self.by_end.insert(rest.end, rest.start);
            self.by_size.insert(Fit::of(rest));
        }
        self.total -= size;
        Cut::Made(hole)
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

    /// Takes a range out of the hole that it lies in.
    pub(super) fn carve(&mut self, span: Span) {
        let hole = self.by_end.range(span.end..).next().map(|(&end, &start)| Span { start, end });
        let Some(hole) = hole.filter(|hole| hole.start <= span.start) else { return };
        self.by_end.remove(&hole.end);
        self.by_size.remove(&Fit::of(hole));
        let (below, above) = (Span { end: span.start, ..hole }, Span { start: span.end, ..hole });
        for rest in [below, above].into_iter().filter(|rest| rest.start < rest.end) {
            self.by_end.insert(rest.end, rest.start);
            self.by_size.insert(Fit::of(rest));
        }
        self.total -= span.size();
    }

    /// The holes large enough to hold a whole page, by size.
    pub(super) fn of_a_page_or_more(&self) -> impl DoubleEndedIterator<Item = Span> {
        self.by_size.range(Fit::at_least(PAGE)..).map(|fit| fit.span())
    }

    /// How many holes there are.
    pub(super) fn count(&self) -> usize {
        self.by_size.len()
    }

    /// Where the largest holes begin and their sizes, the largest first.
    pub(super) fn largest_first(&self) -> impl Iterator<Item = (DevAddr, Bytes)> {
        self.by_size.iter().rev().map(|fit| (fit.span().start, fit.size()))
    }

    /// Sum of all holes.
    pub(super) const fn total(&self) -> Bytes {
        self.total
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
        let all = Bytes(100);
        assert_eq!(holes.cut(Bytes(6), all), Cut::Made(span(50, 60)));
        assert_eq!(holes.cut(Bytes(10), all), Cut::Made(span(70, 80)));
        assert_eq!(holes.cut(Bytes(10), all), Cut::Made(span(0, 40)));
        assert_eq!(holes.cut(Bytes(31), all), Cut::None);
        assert_eq!(holes.total(), Bytes(30 + 4 + 5));
    }

    #[test]
    fn a_range_is_carved_out_of_the_middle_the_ends_or_whole() {
        let mut holes = holes(&[span(0, 40), span(50, 60)]);
        for (start, end) in [(10, 20), (0, 10), (30, 40), (50, 60)] {
            holes.carve(span(start, end));
        }
        assert_eq!((holes.total(), holes.largest()), (Bytes(10), Bytes(10)));
        assert_eq!(holes.join(span(10, 20)), span(10, 30));
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
