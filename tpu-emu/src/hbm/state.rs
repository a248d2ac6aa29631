//! What one heap knows under its lock: blocks, holes, what still uses these, and which of their
//! pages are committed.
use super::pages::{PAGE, Pages, both, pages_inside, pages_touched, span_of};
use super::uses::{Busy, End, PendingUses};
use std::ops::Range;
use tpu_base::units::{Bytes, DevAddr};
use tpu_placement::{Given, Placement, Span};

/// The most memory that holes keep committed, so that a block freed and allocated again costs no
/// page fault. A freed block of this size goes back to the system at once.
pub const KEEP_AT_MOST: Bytes = Bytes::mib(512);

/// What holes may keep beyond the most that blocks have held at once.
const SPARE: Bytes = Bytes::mib(16);

/// What came of taking a block.
#[derive(Debug)]
pub(super) enum Taken {
    /// The block, its place in the order of changes, and what still uses its bytes.
    Block(Span, u64, PendingUses),
    /// It would lie here, which cannot be touched yet.
    Beyond(Span),
    /// There is no hole for it.
    None,
}

#[derive(Debug)]
pub(super) struct HeapState<R> {
    pub(super) placement: Placement<R>,
    /// The parts of holes that something still uses.
    busy: Busy,
    /// Pages that were part of a block since they last went back to the system.
    pub(super) committed: Pages,
    /// Sum of the committed pages that lie wholly in one hole.
    pub(super) kept: Bytes,
    /// The most that the other committed pages have been.
    most: Bytes,
    pub(super) peak: Bytes,
    pub(super) num_allocs: u64,
    pub(super) largest_alloc: Bytes,
    /// Allocations and frees so far.
    pub(super) changes: u64,
}

impl<R: Copy> HeapState<R> {
    /// One hole.
    pub(super) fn new(capacity: Bytes, granule: Bytes) -> Self {
        Self {
            placement: Placement::new(capacity, granule),
            busy: Busy::default(),
            committed: Pages::default(),
            kept: Bytes::ZERO,
            most: Bytes::ZERO,
            peak: Bytes::ZERO,
            num_allocs: 0,
            largest_alloc: Bytes::ZERO,
            changes: 0,
        }
    }

    /// Takes a block where it can be touched.
    pub(super) fn take(
        &mut self,
        size: Bytes,
        record: R,
        can_be_touched: impl FnOnce(Span) -> bool,
    ) -> Taken {
        let Some(taken) = self.placement.take(size, record) else { return Taken::None };
        let (block, hole) = (taken.block, taken.hole);
        if !can_be_touched(block) {
            self.placement.give(block.start);
            return Taken::Beyond(block);
        }
        let touched = pages_touched(block);
        self.kept -= self.committed.bytes(both(&touched, &pages_inside(hole)));
        self.committed.mark(touched);
        self.most = self.most.max(self.committed.total() - self.kept);
        self.peak = self.peak.max(self.placement.in_use());
        self.num_allocs += 1;
        self.largest_alloc = self.largest_alloc.max(block.size());
        self.changes += 1;
        Taken::Block(block, self.changes, self.busy.take(block))
    }

    /// Makes a block a hole, or part of one, which `uses` still use.
    pub(super) fn give(&mut self, addr: DevAddr, uses: &PendingUses) -> Option<Given<R>> {
        let given = self.placement.give(addr)?;
        self.changes += 1;
        let pages = both(&pages_touched(given.block), &pages_inside(given.hole));
        self.kept += self.committed.bytes(pages);
        self.busy.add(given.block, uses);
        Some(given)
    }

    /// Says that a part of a hole is in use until `end`.
    pub(super) fn use_hole(&mut self, span: Span, end: &End) {
        let mut uses = PendingUses::default();
        uses.add(end);
        self.busy.add(span, &uses);
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

    /// The committed pages of a hole, or of a part of one, that nothing uses.
    pub(super) fn unused(&self, hole: Span) -> Vec<Range<u64>> {
        let mut runs = self.committed.runs(pages_inside(hole));
        runs.retain(|run| !self.busy.meets(span_of(run)));
        runs
    }

    /// Committed pages of holes that nothing uses, `excess` or somewhat more: those that a search
    /// finds last, in the largest holes at the highest addresses.
    pub(super) fn too_many(&self, excess: Bytes) -> Vec<Range<u64>> {
        let mut wanted = excess.0.div_ceil(PAGE.0);
        let mut found = Vec::new();
        for hole in self.placement.holes_of(PAGE).rev() {
            for run in self.unused(hole).into_iter().rev() {
                let count = wanted.min(run.end - run.start);
                if count > 0 {
                    found.push(run.end - count..run.end);
                }
                wanted -= count;
            }
            if wanted == 0 {
                break;
            }
        }
        found
    }

    /// Says that committed pages of holes go back to the system, which is over at `end`.
    pub(super) fn forget_pages(&mut self, pages: &[Range<u64>], end: &End) {
        for run in pages {
            let span = span_of(run);
            self.kept -= span.size();
            self.committed.clear(run.clone());
            self.use_hole(span, end);
        }
    }
}
