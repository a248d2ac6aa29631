//! Which pages of a space may be committed: one bit for every 2 MiB.
use std::ops::Range;
use tpu_base::units::{Bytes, DevAddr, to_u64, to_usize};
use tpu_placement::Span;

/// The unit in which memory goes back to the system: a huge page of the host.
///
/// Giving back less would split a huge page, and every 4 KiB of it touched later would cost a
/// fault of its own.
pub(super) const PAGE: Bytes = Bytes::mib(2);

/// The pages that lie wholly inside; may be empty, then possibly with `end < start`.
pub(super) const fn pages_inside(span: Span) -> Range<u64> {
    span.start.0.div_ceil(PAGE.0)..span.end.0 / PAGE.0
}

/// The pages that share a byte with the span.
pub(super) const fn pages_touched(span: Span) -> Range<u64> {
    span.start.0 / PAGE.0..span.end.0.div_ceil(PAGE.0)
}

/// The addresses of a range of pages.
pub(super) const fn span_of(pages: &Range<u64>) -> Span {
    Span { start: DevAddr(pages.start * PAGE.0), end: DevAddr(pages.end * PAGE.0) }
}

/// What two ranges share.
pub(super) fn both(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// A set of page numbers. It grows to the highest page ever marked.
///
/// Page 0 is never in it: it is made of small pages of the host, which are the dearest to touch
/// again, so it stays committed once touched.
#[derive(Debug, Default)]
pub(super) struct Pages {
    words: Vec<u64>,
    /// How many are in the set.
    count: u64,
}

impl Pages {
    pub(super) fn mark(&mut self, pages: Range<u64>) {
        let pages = pages.start.max(1)..pages.end;
        if pages.is_empty() {
            return;
        }
        let words = to_usize(pages.end.div_ceil(64));
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        for (word, mask) in masks(pages) {
            self.count += u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
        }
    }

    pub(super) fn clear(&mut self, pages: Range<u64>) {
        for (word, mask) in masks(self.known(pages)) {
            self.count -= u64::from((mask & self.words[word]).count_ones());
            self.words[word] &= !mask;
        }
    }

    /// The bytes of all marked pages.
    pub(super) const fn total(&self) -> Bytes {
        Bytes(self.count * PAGE.0)
    }

    /// The bytes of the marked pages among `pages`.
    pub(super) fn bytes(&self, pages: Range<u64>) -> Bytes {
        let words = masks(self.known(pages)).map(|(word, mask)| self.words[word] & mask);
        Bytes(words.map(|bits| u64::from(bits.count_ones())).sum::<u64>() * PAGE.0)
    }

    /// The marked pages among `pages`, as ranges without gaps, in order.
    pub(super) fn runs(&self, pages: Range<u64>) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (word, mask) in masks(self.known(pages)) {
            let mut bits = self.words[word] & mask;
            while bits != 0 {
                let page = to_u64(word) * 64 + u64::from(bits.trailing_zeros());
                bits &= bits - 1;
                match runs.last_mut() {
                    Some(run) if run.end == page => run.end += 1,
                    _ => runs.push(page..page + 1),
                }
            }
        }
        runs
    }

    /// The part of `pages` below the highest page ever marked; past it nothing is.
    fn known(&self, pages: Range<u64>) -> Range<u64> {
        both(&pages, &(0..to_u64(self.words.len()) * 64))
    }
}

/// The words that a range of bits lies in, each with the bits of the range in it.
fn masks(bits: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    let words = if bits.is_empty() { 0..0 } else { bits.start / 64..bits.end.div_ceil(64) };
    words.map(move |word| {
        let from = bits.start.saturating_sub(word * 64);
        let past = (bits.end - word * 64).min(64);
        (to_usize(word), (u64::MAX << from) & (u64::MAX >> (64 - past)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_clears_cross_word_borders() {
        let mut pages = Pages::default();
        pages.mark(60..200);
        pages.clear(64..128);

        assert_eq!(pages.bytes(0..1000), Bytes(PAGE.0 * 76));
        pages.mark(60..64);
        pages.clear(64..128);
        assert_eq!(pages.total(), Bytes(PAGE.0 * 76));
        assert_eq!(pages.runs(0..1000), [60..64, 128..200]);
        assert_eq!(pages.runs(62..130), [62..64, 128..130]);
    }

    #[test]
    fn nothing_is_marked_past_the_highest_mark() {
        let mut pages = Pages::default();
        pages.clear(5..9);
        assert_eq!(pages.bytes(0..1 << 40), Bytes::ZERO);
        pages.mark(1..2);
        assert_eq!(pages.runs(0..1 << 40), vec![1..2]);
    }

    #[test]
    fn the_first_page_is_never_marked() {
        let mut pages = Pages::default();
        pages.mark(0..3);
        assert_eq!(pages.runs(0..3), vec![1..3]);
        pages.mark(0..1);
        assert_eq!(pages.bytes(0..1), Bytes::ZERO);
    }

    #[test]
    fn a_span_smaller_than_a_page_has_none_inside() {
        let short = Span::new(DevAddr(512), Bytes(PAGE.0 - 512));
        assert!(pages_inside(short).is_empty());
        assert_eq!(pages_touched(short), 0..1);
        let straddling = Span::new(DevAddr(PAGE.0 - 512), Bytes(1024));
        assert!(pages_inside(straddling).is_empty());
        assert_eq!(pages_touched(straddling), 0..2);
    }
}
