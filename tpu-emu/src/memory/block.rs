//! Bytes in a memory space that belong to somebody. The last owner gives them back.
use super::Memories;
use crate::hbm::spec::ArraySpec;
use crate::hbm::{End, PendingUses, Region};
use crate::origin::Origin;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// An owned region of a memory space.
///
/// Its bytes are given back when its last owner goes, in the order of the client's calls. Work
/// that is certain to end needs not own them: it says that it uses them, and their next owner
/// waits for it.
#[derive(Debug)]
pub struct Block {
    memories: Arc<Memories>,
    space: u32,
    place: Arc<BlockBytes>,
    spec: Arc<ArraySpec>,
    freed_by: OnceLock<Origin>,
}

/// The bytes of a block: where they are, what is known of them, and what uses them beside its
/// owners.
#[derive(Debug)]
pub(crate) struct BlockBytes {
    region: Region,
    content: AtomicU64,
    uses: Mutex<PendingUses>,
}

/// Says of blocks which have the same that their bytes are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content(u64);

impl Content {
    /// Of no block.
    const NONE: u64 = 0;
    /// Of a block that a client may write to behind our back.
    const EXPOSED: u64 = u64::MAX;

    /// One that no block has.
    pub(crate) fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(Content::NONE + 1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl BlockBytes {
    /// The bytes.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Says that work which is certain to end uses the bytes until `end`.
    pub(crate) fn use_until(&self, end: &End) {
        self.uses.lock().add(end);
    }

    /// Says that work which is certain to end, and begins when all that uses the bytes now is over,
    /// uses them until `end`.
    pub(crate) fn use_last_until(&self, end: &End) {
        self.uses.lock().replace(end);
    }

    /// What uses the bytes now: work that was said to, and what used them for their last owner.
    pub(crate) fn uses(&self) -> PendingUses {
        self.uses.lock().clone()
    }

    /// What is known of the bytes, if anything is.
    pub(crate) fn content(&self) -> Option<Content> {
        let content = self.content.load(Ordering::Acquire);
        (content != Content::NONE && content != Content::EXPOSED).then_some(Content(content))
    }

    /// Says what is known of the bytes from now on: nothing, once they are written to.
    pub(crate) fn set_content(&self, content: Option<Content>) {
        let content = content.map_or(Content::NONE, |content| content.0);
        let exposed = |old| (old != Content::EXPOSED).then_some(content);
        // A client that may write to them makes that impossible for good.
        let _ = self.content.fetch_update(Ordering::AcqRel, Ordering::Acquire, exposed);
    }

    /// Says that a client may write to the bytes from now on.
    pub(crate) fn expose(&self) {
        self.content.store(Content::EXPOSED, Ordering::Release);
    }
}

impl Block {
    pub(crate) fn new(
        memories: &Arc<Memories>,
        space: u32,
        (region, uses): (Region, PendingUses),
        spec: &Arc<ArraySpec>,
    ) -> Self {
        let (memories, spec) = (Arc::clone(memories), Arc::clone(spec));
        let (content, uses) = (Content::NONE.into(), Mutex::new(uses));
        let place = Arc::new(BlockBytes { region, content, uses });
        Self { memories, space, place, spec, freed_by: OnceLock::new() }
    }

    /// The bytes.
    pub fn region(&self) -> &Region {
        &self.place.region
    }

    /// The bytes with what is known of them.
    pub(crate) fn place(&self) -> &Arc<BlockBytes> {
        &self.place
    }

    /// Waits until nothing uses the bytes but their owners.
    pub(crate) fn wait_until_unused(&self) {
        self.place.uses().wait();
    }

    /// Says who gave the block up; the first to say so is recorded when the last owner goes.
    pub(crate) fn given_up_by(&self, origin: Origin) {
        // A second owner's word does not count.
        let _ = self.freed_by.set(origin);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let memories = &self.memories;
        let origin = *self.freed_by.get_or_init(|| memories.ledger().origin());
        memories.release(self.space, &self.place, &self.spec, origin);
    }
}
