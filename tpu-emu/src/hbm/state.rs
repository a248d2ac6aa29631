//! What one heap knows under its lock: blocks, holes, and which of their pages are committed.
use super::heap::Live;
use super::holes::{Cut, Holes};
use super::pages::{PAGE, Pages, Span, both};
use std::collections::BTreeMap;
use std::ops::Range;
use tpu_base::units::{Bytes, DevAddr};

/// The most memory that holes keep committed, so that a block freed and allocated again costs no
/// page fault. A freed block of this size goes back to the system at once.
pub const KEEP_AT_MOST: Bytes = Bytes::mib(512);

/// What holes may keep beyond the most that blocks have held at once.
const SPARE: Bytes = Bytes::mib(16);

/// What came of taking a block.
#[derive(Debug)]
pub(super) enum Taken {
    /// The address and its place in the order of changes.
    Block(DevAddr, u64),
    /// It would end here, where nothing can be touched yet.
    Beyond(DevAddr),
    /// There is no hole for it.
    None,
}

#[derive(Debug)]
pub(super) struct HeapState<R> {
    pub(super) live: BTreeMap<DevAddr, (Bytes, R)>,
    pub(super) holes: Holes,
    /// Pages that were part of a block since they last went back to the system.
    pub(super) committed: Pages,
    /// Sum of the committed pages that lie wholly in one hole.
    pub(super) kept: Bytes,
    /// The most that the other committed pages have been.
    most: Bytes,
    /// Sum of the ranges that are neither live nor holes while their pages go back.
    pub(super) away: Bytes,
    pub(super) in_use: Bytes,
    pub(super) peak: Bytes,
    pub(super) num_allocs: u64,
    pub(super) largest_alloc: Bytes,
    /// Allocations and frees so far.
    pub(super) changes: u64,
}

impl<R: Copy> HeapState<R> {
    /// One hole.
    pub(super) fn new(capacity: Bytes) -> Self {
        Self {
            live: BTreeMap::new(),
            holes: Holes::new(capacity),
            committed: Pages::default(),
            kept: Bytes::ZERO,
            most: Bytes::ZERO,
            away: Bytes::ZERO,
            in_use: Bytes::ZERO,
            peak: Bytes::ZERO,
            num_allocs: 0,
            largest_alloc: Bytes::ZERO,
            changes: 0,
        }
    }

    /// Takes a block below `usable`.
    pub(super) fn take(&mut self, size: Bytes, record: R, usable: Bytes) -> Taken {
        let hole = match self.holes.cut(size, usable) {
            Cut::Made(hole) => hole,
            Cut::Beyond(end) => return Taken::Beyond(end),
            Cut::None => return Taken::None,
        };
        let block = Span::new(hole.start, size);
        let touched = block.pages_touched();
        self.kept -= self.committed.bytes(both(&touched, &hole.pages_inside()));
        self.committed.mark(touched);
        self.most = self.most.max(self.committed.total() - self.kept);
        self.live.insert(block.start, (size, record));
        self.in_use += size;
        self.peak = self.peak.max(self.in_use);
        self.num_allocs += 1;
        self.largest_alloc = self.largest_alloc.max(size);
        self.changes += 1;
        Taken::Block(block.start, self.changes)
    }

    /// Makes a range a hole, or part of one.
    pub(super) fn join(&mut self, span: Span) {
        let hole = self.holes.join(span);
        self.kept += self.committed.bytes(both(&span.pages_touched(), &hole.pages_inside()));
    }

    /// How much of the kept memory is too much.
    ///
    /// With what blocks hold it stays near the most that blocks alone have ever held: what is
    /// kept for the next block is no reason for a process to be larger than it had to be.
    pub(super) fn excess(&self) -> Bytes {
        let spare = Bytes(SPARE.0 + self.most.0 / 16);
        let resident = self.committed.total().saturating_sub(Bytes(self.most.0 + spare.0));
        let kept = self.kept.saturating_sub(KEEP_AT_MOST);
        match resident.max(kept) {
            Bytes::ZERO => Bytes::ZERO,
            // Somewhat more, so that the next block does not ask again.
            excess => Bytes(excess.0 + SPARE.0 / 2).min(self.kept),
        }
    }

    /// Takes committed pages out of their holes, `excess` or somewhat more: those that a search
    /// finds last, in the largest holes at the highest addresses.
    pub(super) fn take_kept(&mut self, excess: Bytes) -> Vec<(Span, Vec<Range<u64>>)> {
        let mut wanted = excess.0.div_ceil(PAGE.0);
        let mut taken = Vec::new();
        for hole in self.holes.of_a_page_or_more().rev() {
            for run in self.committed.runs(hole.pages_inside()).into_iter().rev() {
                let count = wanted.min(run.end - run.start);
                if count > 0 {
                    taken.push(run.end - count..run.end);
                }
                wanted -= count;
            }
            if wanted == 0 {
                break;
            }
        }
        let out = taken.into_iter().map(|run| {
            let span = Span::of_pages(&run);
            self.holes.carve(span);
            self.kept -= span.size();
            (span, vec![run])
        });
        out.collect()
    }

    /// The last block that starts at or below `addr`.
    pub(super) fn below(&self, addr: DevAddr) -> Option<Live<R>> {
        let (&addr, &(size, record)) = self.live.range(..=addr).next_back()?;
        Some(Live { addr, size, record })
    }

    /// The block with the least distance to `addr`, the lower one of two.
    pub(super) fn nearest(&self, addr: DevAddr) -> Option<Live<R>> {
        let above = self.live.range(addr..).next();
        let above = above.map(|(&addr, &(size, record))| Live { addr, size, record });
        let Some(below) = self.below(addr) else { return above };
        let gap = addr.0.saturating_sub(below.addr.offset(below.size).0);
        let closer = above.filter(|above| above.addr.0 - addr.0 < gap);
        closer.or(Some(below))
    }
}
