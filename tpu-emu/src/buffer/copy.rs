//! Device memory to device memory, and new buffers over old bytes.
use super::{Buffer, Content, Hold};
use crate::hbm::spec::ArraySpec;
use crate::memory::{BlockBytes, Memory};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::units::Bytes;

impl Buffer {
    /// A copy in another memory. It exists at once and is ready when the bytes are there.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer, `OutOfMemory`.
    pub fn copy_to(self: &Arc<Self>, memory: Memory) -> Result<Self> {
        if self.is_deleted() {
            return Err(super::deleted());
        }
        let spec = Arc::clone(&self.spec);
        let block = self.memories.allocate_destination_buffer(&spec, memory)?;
        let (end, size) = (self.end_of_copy(), self.spec.logical);
        let before = block.as_ref().map(|block| block.place().uses()).unwrap_or_default();
        let target = Hold::from(block.clone());
        let target = match &end {
            Some(end) => target.used_until(end),
            None => target,
        };
        let done = self.later(size, (end.as_ref(), before), move |hold| {
            let (Some(from), Some(to)) = (hold.region(), target.region()) else { return Ok(()) };
            from.copy_to(to, size)?;
            let content = hold.place().and_then(BlockBytes::content);
            target.place().into_iter().for_each(|place| place.set_content(content));
            Ok(())
        })?;
        Ok(Self::with_block(&self.memories, spec, memory, block, done))
    }

    /// A buffer of another type over the same bytes.
    ///
    /// # Errors
    /// `BadArgument` where the new type needs more bytes than there are, or for a deleted one.
    pub fn bitcast(self: &Arc<Self>, spec: Arc<ArraySpec>) -> Result<Self> {
        if spec.logical != self.spec.logical || spec.padded > self.spec.padded {
            let (from, to) = (self.spec.text(), spec.text());
            let (had, wanted) = (self.spec.logical, spec.logical);
            let message = format!("a bitcast of {from} ({had}) to {to} ({wanted})");
            return Err(Error::bad(message));
        }
        let content = self.hold()?.into();
        Ok(Self::new(&self.memories, spec, self.memory, content, self.ready.clone()))
    }

    /// A second buffer over the same bytes. They live until both are gone.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer, the buffer's own error for a failed one, `WrongState`
    /// for one that has no bytes yet.
    pub fn alias(self: &Arc<Self>) -> Result<Self> {
        self.bitcast(Arc::clone(&self.spec))
    }

    /// Moves the bytes to a new buffer that is ready once `dependency` has ended well; this
    /// one counts as deleted.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer, `WrongState` for one that is only promised.
    pub fn donate(self: &Arc<Self>, dependency: &Event) -> Result<Self> {
        let promised = matches!(&*self.content.lock(), Content::Promised);
        if promised && !self.is_deleted() {
            return Err(super::no_bytes_yet());
        }
        if self.deleted.swap(true, Ordering::AcqRel) {
            return Err(super::deleted());
        }
        let content = std::mem::replace(&mut *self.content.lock(), Content::Deleted);
        let both = Event::pending();
        let (settled, bytes) = (both.clone(), self.ready.clone());
        dependency.on_ready(move |outcome| match outcome {
            Err(error) => {
                settled.settle(Err(error.clone()));
            }
            Ok(()) => bytes.on_ready(move |outcome| {
                settled.settle(outcome.clone());
            }),
        });
        Ok(Self::new(&self.memories, Arc::clone(&self.spec), self.memory, content, both))
    }

    /// Overwrites bytes of the device as they are, `offset` from the start of the block.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer or a range outside of its bytes in memory.
    pub fn put_raw(self: &Arc<Self>, offset: Bytes, bytes: &[u8]) -> Result<()> {
        let hold = self.hold()?;
        hold.place().into_iter().for_each(|place| place.set_content(None));
        match hold.region() {
            Some(region) => region.write(offset, bytes),
            None if bytes.is_empty() => Ok(()),
            None => Err(Error::bad("the buffer has no bytes")),
        }
    }
}
