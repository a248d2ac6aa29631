//! Bytes of the client whose places in device memory are still in use.
use crate::hbm::{End, PendingUses};
use crate::memory::{BlockBytes, Memories};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::units::{Bytes, to_usize};

/// The most that waits at once. Whoever comes with more waits instead.
const MOST: Bytes = Bytes::mib(64);

/// A copy of an array, to be written when nothing uses its place any more, so that its client
/// need not wait: a TPU's transfer, too, stands behind the programs that were launched before it.
#[derive(Debug)]
pub(super) struct Staged {
    memories: Arc<Memories>,
    /// What counts of the memories' limit.
    counted: Bytes,
    bytes: Vec<u8>,
}

impl Staged {
    /// An empty copy for an array of so many bytes; `None` where too much waits already, or the
    /// host has no memory for it.
    pub(super) fn new(memories: &Arc<Memories>, size: Bytes) -> Option<Self> {
        let more = |staged: u64| staged.checked_add(size.0).filter(|&sum| sum <= MOST.0);
        memories.staged.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        let memories = Arc::clone(memories);
        let mut staged = Self { memories, counted: size, bytes: Vec::new() };
        staged.bytes.try_reserve_exact(to_usize(size.0)).ok()?;
        Some(staged)
    }

    /// Adds bytes behind those before.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > self.bytes.capacity() - self.bytes.len() {
            return Err(Error::bad("an array of more bytes than its place"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the copy to its place when `uses` are over; gives the event of that.
    pub(super) fn write_after(self, uses: PendingUses, place: &Arc<BlockBytes>) -> Event {
        let end = End::new();
        // The array may be gone before it was ever there: who takes its bytes then comes after it.
        place.use_until(&end);
        let (place, done) = (Arc::clone(place), end.event().clone());
        uses.then(move || {
            let written = place.region().write(Bytes::ZERO, &self.bytes);
            drop(self);
            end.event().settle(written);
        });
        done
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.memories.staged.fetch_sub(self.counted.0, Ordering::AcqRel);
    }
}
