//! Client memory to device memory.
use super::staged::Staged;
use super::{Buffer, Content, Hold, OnDelete};
use crate::hbm::spec::extents;
use crate::hbm::spec::{ArraySpec, LayoutRequest};
use crate::memory::{Memories, Memory};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::tensor::DType;
use tpu_base::tensor::pack::pack;
use tpu_base::tensor::strided::{Strided, dense_strides};
use tpu_base::units::{Bytes, to_u64, to_usize};

/// Bytes that are gathered before they are written.
const CHUNK: usize = 64 << 10;

/// An array in client memory.
#[derive(Debug, Clone, Copy)]
pub struct HostArray<'a> {
    /// The bytes that the array touches, from the lowest address on.
    pub bytes: &'a [u8],
    /// Where the first element is in `bytes`, negated: 0 or below.
    pub low: i64,
    /// Bytes from one element to the next, per axis; `None` is dense and row-major.
    pub strides: Option<&'a [i64]>,
}

impl Memories {
    /// Copies an array of the client to a device; its bytes are free when this returns.
    ///
    /// # Errors
    /// `BadArgument` for shapes, strides and layouts that cannot be; `OutOfMemory`.
    pub fn put(
        self: &Arc<Self>,
        memory: Memory,
        spec: Arc<ArraySpec>,
        array: HostArray<'_>,
    ) -> Result<Buffer> {
        let dense;
        let strides = match array.strides {
            Some(strides) => strides,
            None => {
                dense = dense_strides(&spec.dims, spec.dtype.host_bytes())?;
                &dense
            }
        };
        let element = spec.dtype.host_bytes();
        let strided = Strided { dims: &spec.dims, strides, element };
        let Some(block) = self.allocate_destination_buffer(&spec, memory)? else {
            return Ok(Buffer::with_block(self, spec, memory, None, Event::ready()));
        };
        self.room_for(spec.padded, "an array", std::iter::once(block.region()))?;
        let bits = spec.dtype.element().bits;
        let copy_by = |write: &mut dyn FnMut(Bytes, &[u8]) -> Result<()>| {
            let mut filler = Filler::new(bits, write);
            strided.runs(|start, length| {
                let begin = usize::try_from(start - array.low).ok();
                let run = begin.and_then(|begin| array.bytes.get(begin..begin + length));
                filler.push(run.ok_or_else(|| Error::bad("the array is outside of its bytes"))?)
            })?;
            filler.flush()
        };
        let uses = block.place().uses();
        let staged = if uses.are_over() { None } else { Staged::new(self, spec.padded) };
        let ready = match staged {
            Some(mut staged) => {
                copy_by(&mut |_, bytes| staged.push(bytes))?;
                staged.write_after(uses, block.place())
            }
            None => {
                uses.wait();
                copy_by(&mut |at, bytes| block.region().write(at, bytes))?;
                Event::ready()
            }
        };
        Ok(Buffer::with_block(self, spec, memory, Some(block), ready))
    }

    /// A buffer whose bytes are whatever was there before.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn uninitialized(self: &Arc<Self>, memory: Memory, spec: Arc<ArraySpec>) -> Result<Buffer> {
        let block = self.allocate_destination_buffer(&spec, memory)?;
        block.iter().for_each(|block| block.wait_until_unused());
        Ok(Buffer::with_block(self, spec, memory, block, Event::ready()))
    }

    /// A buffer that stands for an error: every use of its bytes gives `error`.
    pub fn failed(self: &Arc<Self>, memory: Memory, spec: Arc<ArraySpec>, error: Error) -> Buffer {
        Buffer::new(self, spec, memory, Content::Failed, Event::settled(Err(error)))
    }

    /// A buffer that gets its bytes from another one later, by [`Buffer::fulfil`].
    pub fn promised(self: &Arc<Self>, memory: Memory, spec: Arc<ArraySpec>) -> Buffer {
        Buffer::new(self, spec, memory, Content::Promised, Event::pending())
    }

    /// A buffer over bytes that another allocation of the same memory owns.
    ///
    /// # Errors
    /// `BadArgument` where `pointer` is not in a live block, or the array would leave it.
    pub fn view(
        self: &Arc<Self>,
        memory: Memory,
        spec: Arc<ArraySpec>,
        pointer: usize,
        on_delete: Option<OnDelete>,
    ) -> Result<Buffer> {
        let heap = self.heap(memory);
        let inside = heap.addr_of(pointer).and_then(|addr| Some((addr, heap.at(addr)?)));
        let (addr, live) = inside.ok_or_else(|| {
            let device = &self.topology().devices()[memory.device];
            let kind = memory.kind.name();
            Error::bad(format!("{pointer:#x} is in no live block of {kind} memory of {device}"))
        })?;
        let left = live.addr.offset(live.size).0 - addr.0;
        if left < spec.logical.0 {
            let asked = spec.logical;
            let left = Bytes(left);
            return Err(Error::bad(format!("a view of {asked} at {addr}, where {left} are left")));
        }
        let region = heap.region(addr, Bytes(left.min(spec.padded.0)))?;
        Ok(Buffer::new(self, spec, memory, Content::View(region, on_delete), Event::ready()))
    }

    /// The description of an array on this machine.
    ///
    /// # Errors
    /// `BadArgument` for shapes and layouts that cannot be.
    pub fn describe(
        &self,
        dtype: DType,
        dims: &[i64],
        layout: LayoutRequest,
    ) -> Result<Arc<ArraySpec>> {
        self.specs().intern(dtype, &extents(dtype, dims)?, layout)
    }
}

impl Buffer {
    /// Gives a promised buffer the bytes of `from`, or an error, and settles its event.
    ///
    /// # Errors
    /// `WrongState` for a buffer that was not promised or is fulfilled already, `BadArgument`
    /// where the two differ in size.
    pub fn fulfil(self: &Arc<Self>, from: Result<&Arc<Self>>) -> Result<()> {
        if !matches!(&*self.content.lock(), Content::Promised) {
            let why = "the buffer is no alias that waits to be fulfilled";
            return Err(Error::WrongState(why.to_owned()));
        }
        match from {
            Err(error) => {
                self.settle_promise(Err(error));
                Ok(())
            }
            Ok(from) => {
                let (given, wanted) = (from.spec.padded, self.spec.padded);
                if given != wanted {
                    let (given_text, wanted_text) = (from.spec.text(), self.spec.text());
                    let message = format!(
                        "{given_text} of {given} cannot fulfil an alias of {wanted_text}, {wanted}"
                    );
                    return Err(Error::bad(message));
                }
                let alias = Arc::clone(self);
                from.when_ready(move |held| alias.settle_promise(held))
            }
        }
    }

    fn settle_promise(&self, held: Result<Hold>) {
        let outcome = held.as_ref().map(drop).map_err(Clone::clone);
        {
            let mut content = self.content.lock();
            if !matches!(*content, Content::Promised) {
                return;
            }
            *content = match &held {
                _ if self.is_deleted() => Content::Deleted,
                Ok(held) => held.clone().into(),
                Err(_) => Content::Failed,
            };
            *self.promise.lock() = held.ok();
        }
        self.ready.settle(outcome);
        let kept = self.promise.lock().take();
        drop(kept);
    }
}

/// Hands on runs of client bytes, gathering small ones and packing sub-byte types.
struct Filler<'a> {
    bits: u32,
    /// Takes bytes for a place behind those before.
    write: &'a mut dyn FnMut(Bytes, &[u8]) -> Result<()>,
    gathered: Vec<u8>,
    packed: Vec<u8>,
    at: Bytes,
}

impl<'a> Filler<'a> {
    /// For elements of so many bits.
    fn new(bits: u32, write: &'a mut dyn FnMut(Bytes, &[u8]) -> Result<()>) -> Self {
        Self { bits, write, gathered: Vec::new(), packed: Vec::new(), at: Bytes::ZERO }
    }

    fn push(&mut self, run: &[u8]) -> Result<()> {
        if self.bits >= 8 && self.gathered.is_empty() && run.len() >= CHUNK {
            return self.write(run);
        }
        let mut rest = run;
        while !rest.is_empty() {
            let room = CHUNK - self.gathered.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.gathered.extend_from_slice(now);
            rest = later;
            if self.gathered.len() == CHUNK {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        if self.bits >= 8 {
            self.write(&gathered)?;
        } else {
            // A chunk holds whole bytes of packed elements, so chunks join without a seam.
            let bytes = (to_u64(gathered.len()) * u64::from(self.bits)).div_ceil(8);
            let mut packed = std::mem::take(&mut self.packed);
            packed.resize(to_usize(bytes), 0);
            pack(self.bits, &gathered, &mut packed);
            self.write(&packed)?;
            self.packed = packed;
        }
        self.gathered = gathered;
        self.gathered.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        (self.write)(self.at, bytes)?;
        self.at += Bytes(to_u64(bytes.len()));
        Ok(())
    }
}
