//! Buffers that the client fills piece by piece.
use super::Buffer;
use crate::hbm::spec::ArraySpec;
use crate::memory::{Block, Memories, Memory};
use parking_lot::Mutex;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::tensor::pack::pack;
use tpu_base::units::{Bytes, to_u64, to_usize};

#[derive(Debug)]
struct TransferSlot {
    spec: Arc<ArraySpec>,
    filled: Event,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    /// `None` once it is handed out.
    buffer: Option<Arc<Buffer>>,
    /// Where the pieces go; `None` for no bytes, and once the last piece has come: from then on
    /// the buffer alone keeps them.
    block: Option<Arc<Block>>,
    /// Whether the last piece has come.
    complete: bool,
}

/// Buffers of one memory that are allocated now and filled later.
#[derive(Debug)]
pub struct TransferManager {
    slots: Vec<TransferSlot>,
}

impl Memories {
    /// Allocates the buffers; all of them or none.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn begin_transfer(
        self: &Arc<Self>,
        memory: Memory,
        specs: Vec<Arc<ArraySpec>>,
    ) -> Result<TransferManager> {
        let slot = |spec: Arc<ArraySpec>| {
            let block = self.allocate_destination_buffer(&spec, memory)?;
            block.iter().for_each(|block| block.wait_until_unused());
            let filled = Event::pending();
            let buffer =
                Buffer::with_block(self, Arc::clone(&spec), memory, block.clone(), filled.clone());
            let state = SlotState { buffer: Some(Arc::new(buffer)), block, complete: false };
            Ok(TransferSlot { spec, filled, state: Mutex::new(state) })
        };
        let slots = specs.into_iter().map(slot).collect::<Result<_>>()?;
        Ok(TransferManager { slots })
    }
}

impl TransferManager {
    /// How many buffers there are.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// Bytes that a buffer takes on the device.
    ///
    /// # Errors
    /// `BadArgument` for an index past the end.
    pub fn size(&self, index: usize) -> Result<Bytes> {
        Ok(self.slot(index)?.spec.padded)
    }

    /// Hands a buffer out; it is ready when its last piece has come.
    ///
    /// # Errors
    /// `BadArgument` past the end, `WrongState` for a second time.
    pub fn retrieve(&self, index: usize) -> Result<Arc<Buffer>> {
        let buffer = self.slot(index)?.state.lock().buffer.take();
        buffer.ok_or_else(|| Error::WrongState(format!("buffer {index} was retrieved before")))
    }

    /// Writes a piece, as the bytes are to lie on the device.
    ///
    /// # Errors
    /// `BadArgument` past the end or outside of the buffer, `WrongState` after the last piece.
    pub fn write(&self, index: usize, offset: Bytes, bytes: &[u8], last: bool) -> Result<()> {
        let slot = self.slot(index)?;
        let block = {
            let state = slot.state.lock();
            slot.check_open(index, &state)?;
            state.block.clone()
        };
        match &block {
            Some(block) => block.region().write(offset, bytes)?,
            None if bytes.is_empty() => {}
            None => return Err(Error::bad(format!("buffer {index} has no bytes"))),
        }
        drop(block);
        if last { slot.close(index, Ok(())) } else { Ok(()) }
    }

    /// Writes a whole array in client form: dense, row-major, sub-byte types one to a byte.
    ///
    /// # Errors
    /// As for [`TransferManager::write`]; `BadArgument` for another type, shape or size.
    pub fn write_array(&self, index: usize, of: &ArraySpec, bytes: &[u8]) -> Result<()> {
        let slot = self.slot(index)?;
        if slot.spec.dtype != of.dtype || slot.spec.dims != of.dims {
            let (given, wanted) = (of.text(), slot.spec.text());
            return Err(Error::bad(format!("{given} for buffer {index}, which is {wanted}")));
        }
        if to_u64(bytes.len()) < of.host_size().0 {
            let (given, wanted) = (bytes.len(), of.host_size());
            return Err(Error::bad(format!("{given} bytes for buffer {index}; it takes {wanted}")));
        }
        let bytes = &bytes[..to_usize(of.host_size().0)];
        let bits = of.dtype.element().bits;
        if bits >= 8 {
            return self.write(index, Bytes::ZERO, bytes, true);
        }
        let mut packed = vec![0; to_usize(of.logical.0)];
        pack(bits, bytes, &mut packed);
        self.write(index, Bytes::ZERO, &packed, true)
    }

    /// Ends a buffer with an error.
    ///
    /// # Errors
    /// `BadArgument` past the end, `WrongState` after the last piece.
    pub fn fail(&self, index: usize, error: Error) -> Result<()> {
        self.slot(index)?.close(index, Err(error))
    }

    fn slot(&self, index: usize) -> Result<&TransferSlot> {
        let count = self.slots.len();
        let slot = self.slots.get(index);
        slot.ok_or_else(|| Error::bad(format!("buffer {index} of {count} in this transfer")))
    }
}

impl TransferSlot {
    fn check_open(&self, index: usize, state: &SlotState) -> Result<()> {
        if !state.complete {
            return Ok(());
        }
        Err(Error::WrongState(format!("buffer {index} has had its last transfer")))
    }

    /// Nothing more comes: tells those who wait.
    fn close(&self, index: usize, outcome: Result<()>) -> Result<()> {
        let block = {
            let mut state = self.state.lock();
            self.check_open(index, &state)?;
            state.complete = true;
            state.block.take()
        };
        drop(block);
        self.filled.settle(outcome);
        Ok(())
    }
}

impl Drop for TransferManager {
    /// Buffers that never got their last piece fail, so that nobody waits for ever.
    fn drop(&mut self) {
        for slot in &self.slots {
            let why = "its transfer manager was destroyed before the last transfer";
            slot.filled.settle(Err(Error::WrongState(why.to_owned())));
        }
    }
}
