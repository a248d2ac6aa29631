//! Device memory to client memory.
use super::{Buffer, Hold};
use crate::hbm::spec::ArraySpec;
use crate::hbm::{End, PendingUses};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use tpu_base::entry;
use tpu_base::error::{Error, Result};
use tpu_base::event::Event;
use tpu_base::tensor::pack::unpack;
use tpu_base::tensor::strided::{Strided, dense_strides};
use tpu_base::units::{Bytes, to_u64, to_usize};

/// Longer copies run on a background thread: the caller may hold the interpreter lock.
const INLINE: Bytes = Bytes::mib(1);
/// Packed bytes that are unpacked at a time.
const CHUNK: usize = 32 << 10;

/// A place in client memory that a copy writes to. It outlives the copy's event.
pub trait HostTarget: Send + fmt::Debug {
    /// The bytes, from the lowest address on.
    fn bytes(&mut self) -> &mut [u8];
}

/// How the elements are to lie in client memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStrides {
    /// Bytes from one element to the next, per axis.
    pub strides: Vec<i64>,
    /// Where the lowest element is relative to the first: 0 or below.
    pub low: i64,
}

impl Buffer {
    /// Copies the elements to client memory; `layout` `None` is dense and row-major.
    ///
    /// Short copies of buffers that are ready are done when this returns.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer or a target that is too small.
    pub fn get(
        self: &Arc<Self>,
        layout: Option<HostStrides>,
        mut target: Box<dyn HostTarget>,
    ) -> Result<Event> {
        let needed = match &layout {
            None => self.spec.host_size(),
            Some(HostStrides { strides, low }) => {
                let element = self.spec.dtype.host_bytes();
                let strided = Strided { dims: &self.spec.dims, strides, element };
                Bytes((strided.extent()?.high - low).cast_unsigned())
            }
        };
        let given = Bytes(to_u64(target.bytes().len()));
        if given < needed {
            let text = self.spec.text();
            return Err(Error::bad(format!("{text} takes {needed}; {given} were given")));
        }
        entry::moved(self.spec.host_size());
        self.memories.client_waits();
        let spec = Arc::clone(&self.spec);
        let end = self.end_of_copy();
        self.later(self.spec.host_size(), (end.as_ref(), PendingUses::default()), move |hold| {
            copy_out(hold, &spec, layout.as_ref(), target.bytes())
        })
    }

    /// The elements, dense and row-major, once the event is over: nothing before, and none of a
    /// buffer that fails.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer.
    pub(crate) fn elements(self: &Arc<Self>) -> Result<(Event, Arc<Mutex<Vec<u8>>>)> {
        let (spec, size) = (Arc::clone(&self.spec), self.spec.host_size());
        entry::moved(size);
        let elements: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (end, given) = (self.end_of_copy(), Arc::clone(&elements));
        let read = self.later(size, (end.as_ref(), PendingUses::default()), move |hold| {
            let mut all = vec![0; to_usize(size.0)];
            copy_out(hold, &spec, None, &mut all)?;
            *given.lock() = all;
            Ok(())
        })?;
        Ok((read, elements))
    }

    /// Copies bytes of the device as they are, `offset` from the start of the block.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer or a range outside of its bytes in memory.
    pub fn get_raw(
        self: &Arc<Self>,
        offset: Bytes,
        mut target: Box<dyn HostTarget>,
    ) -> Result<Event> {
        let size = Bytes(to_u64(target.bytes().len()));
        let whole = self.spec.padded;
        if offset.checked_add(size).is_none_or(|end| end > whole) {
            let message =
                format!("{size} from offset {offset} are outside of the {whole} in memory");
            return Err(Error::bad(message));
        }
        entry::moved(size);
        let end = self.end_of_copy();
        self.later(size, (end.as_ref(), PendingUses::default()), move |hold| match hold.region() {
            Some(region) => region.read(offset, target.bytes()),
            None => Ok(()),
        })
    }

    /// The end of a copy of the bytes, if that is certain to come.
    pub(super) fn end_of_copy(&self) -> Option<End> {
        self.ready.is_certain().then(End::new)
    }

    /// Runs `copy` on the buffer's bytes once they are there and `before` is over: here if that
    /// is now and they are few, on a background thread otherwise. Gives its end, which is `end`
    /// where that is certain; it comes in any case.
    ///
    /// # Errors
    /// `BadArgument` for a deleted buffer, `WrongState` in the child of a fork.
    pub(super) fn later(
        self: &Arc<Self>,
        size: Bytes,
        (end, before): (Option<&End>, PendingUses),
        copy: impl FnOnce(&Hold) -> Result<()> + Send + 'static,
    ) -> Result<Event> {
        let done = end.map_or_else(Event::pending, |end| end.event().clone());
        let ready_now = self.ready.is_ready() && before.are_over();
        let (event, memories) = (done.clone(), Arc::clone(&self.memories));
        let then = move |held: Result<Hold>| match held {
            Err(error) => {
                event.settle(Err(error));
            }
            Ok(hold) if ready_now && size <= INLINE => {
                event.settle(copy(&hold));
            }
            Ok(hold) => {
                let run = move || memories.workers.run(event, move || copy(&hold));
                before.then(run);
            }
        };
        let end = end.filter(|_| !ready_now);
        let keep = |hold: Hold| match end {
            Some(end) => hold.used_until(end),
            None => hold,
        };
        let started = self.memories.check_not_forked().and_then(|()| self.when_held(keep, then));
        if let Err(error) = &started {
            done.settle(Err(error.clone()));
        }
        started.map(|()| done)
    }
}

fn copy_out(
    hold: &Hold,
    spec: &ArraySpec,
    layout: Option<&HostStrides>,
    target: &mut [u8],
) -> Result<()> {
    let size = to_usize(spec.host_size().0);
    match layout {
        None => dense(hold, spec, &mut target[..size]),
        Some(HostStrides { strides, .. })
            if *strides == dense_strides(&spec.dims, spec.dtype.host_bytes())? =>
        {
            dense(hold, spec, &mut target[..size])
        }
        Some(HostStrides { strides, low }) => {
            let mut elements = vec![0; size];
            dense(hold, spec, &mut elements)?;
            let strided = Strided { dims: &spec.dims, strides, element: spec.dtype.host_bytes() };
            strided.scatter(&elements, *low, target)
        }
    }
}

fn dense(hold: &Hold, spec: &ArraySpec, target: &mut [u8]) -> Result<()> {
    let Some(region) = hold.region() else { return Ok(()) };
    let bits = spec.dtype.element().bits;
    if bits >= 8 {
        return region.read(Bytes::ZERO, target);
    }
    let mut packed = [0; CHUNK];
    let mut at = Bytes::ZERO;
    for loose in target.chunks_mut(CHUNK * 8 / bits as usize) {
        let bytes = (loose.len() * bits as usize).div_ceil(8);
        region.read(at, &mut packed[..bytes])?;
        unpack(bits, &packed[..bytes], loose);
        at += Bytes(to_u64(bytes));
    }
    Ok(())
}
