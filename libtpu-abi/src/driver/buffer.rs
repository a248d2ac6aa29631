//! `TpuBufferHandle`: memory of a core.
// UNSAFETY: exports functions, and reads the client's lists.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::event;
use super::loans::{Loans, number};
use super::opened::{self, Driver, Opened};
use super::shape::Array;
use super::sys::{TpuAllocationShape, TpuBufferHandle, TpuDriver, TpuEvent};
use crate::boundary::answer;
use crate::memory;
use parking_lot::Mutex;
use std::ptr;
use std::sync::Arc;
use tpu_emu::units::{Bytes, to_u64, to_usize};
use tpu_emu::{Emulator, Error, Id, Result};

/// Bytes of an address in the table of a tuple.
const ADDRESS: usize = size_of::<u64>();
/// Tuples inside of tuples, at most.
const DEEPEST: usize = 64;

static BUFFERS: Loans<TpuBufferHandle, Buffer> = Loans::new("TpuBufferHandle");

/// Memory of one core.
#[derive(Debug)]
pub(super) struct Buffer {
    /// Index into the topology's devices.
    pub(super) device: usize,
    /// As it was asked for.
    pub(super) size: Bytes,
    /// The buffers of a tuple, whose own bytes are their addresses.
    parts: Option<Vec<Arc<Buffer>>>,
    /// How deep tuples are inside of it.
    depth: usize,
    place: Mutex<BufferMemory>,
}

/// Where the bytes of a buffer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BufferMemory {
    /// There are none.
    Nowhere,
    /// At this address of the host.
    At(usize),
    /// They were given back.
    Gone,
}

impl Buffer {
    fn take(machine: &Arc<Emulator>, device: usize, size: Bytes) -> Result<Self> {
        let place = match size {
            Bytes::ZERO => BufferMemory::Nowhere,
            _ => BufferMemory::At(machine.allocate_raw(device, size)?),
        };
        Ok(Self { device, size, parts: None, depth: 0, place: Mutex::new(place) })
    }

    fn tuple(machine: &Arc<Emulator>, device: usize, parts: Vec<Arc<Self>>) -> Result<Self> {
        let mut table = Vec::with_capacity(parts.len() * ADDRESS);
        for (index, part) in parts.iter().enumerate() {
            if part.device != device {
                let (had, wanted) = (part.device, device);
                let message = format!("part {index} of a tuple on core {wanted} is on core {had}");
                return Err(Error::bad(message));
            }
            table.extend(to_u64(part.address()?.unwrap_or(0)).to_le_bytes());
        }
        let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
        if depth > DEEPEST {
            return Err(Error::bad(format!("more than {DEEPEST} tuples inside of tuples")));
        }
        let own = Self::take(machine, device, Bytes(to_u64(table.len())))?;
        let written = own.address().and_then(|address| match address {
            Some(address) => machine.write_raw(address, &table),
            None => Ok(()),
        });
        let own = Self { parts: Some(parts), depth, ..own };
        if let Err(error) = written {
            own.free(machine)?;
            return Err(error);
        }
        Ok(own)
    }

    /// Where its bytes are; `None` for none.
    ///
    /// # Errors
    /// `WrongState` for a buffer that was deallocated.
    pub(super) fn address(&self) -> Result<Option<usize>> {
        match *self.place.lock() {
            BufferMemory::Nowhere => Ok(None),
            BufferMemory::At(address) => Ok(Some(address)),
            BufferMemory::Gone => Err(Error::WrongState("the buffer was deallocated".to_owned())),
        }
    }

    /// The address of a buffer, for a copy of its bytes.
    ///
    /// # Errors
    /// `WrongState` for a buffer that was deallocated, `BadArgument` for a tuple.
    pub(super) fn bytes(&self) -> Result<Option<usize>> {
        match &self.parts {
            None => self.address(),
            Some(parts) => {
                let count = parts.len();
                Err(Error::bad(format!("a tuple of {count} buffers, which are copied one by one")))
            }
        }
    }

    /// The buffers that are no tuples, from the left, at most `most`.
    pub(super) fn leaves(self: &Arc<Self>, into: &mut Vec<Arc<Self>>, most: usize) -> Result<()> {
        match &self.parts {
            Some(parts) => parts.iter().try_for_each(|part| part.leaves(into, most)),
            None if into.len() < most => {
                into.push(Arc::clone(self));
                Ok(())
            }
            None => Err(Error::bad(format!("more than {most} buffers"))),
        }
    }

    fn free(&self, machine: &Emulator) -> Result<()> {
        match std::mem::replace(&mut *self.place.lock(), BufferMemory::Gone) {
            BufferMemory::At(address) => machine.free_raw(self.device, address),
            BufferMemory::Nowhere | BufferMemory::Gone => Ok(()),
        }
    }
}

/// The buffer of a handle.
///
/// # Errors
/// `Null`, `StaleHandle`, `BadArgument` for another driver's, the error of an allocation that
/// failed.
pub(super) fn get(handle: *const TpuBufferHandle, of: Id<Driver>) -> Result<Arc<Buffer>> {
    BUFFERS.get(handle, of)
}

/// The buffers of a list of handles.
///
/// # Safety
/// `handles` is null or valid for `count` pointers.
///
/// # Errors
/// As for [`get`].
pub(super) unsafe fn list(
    handles: *mut *mut TpuBufferHandle,
    count: i32,
    of: Id<Driver>,
) -> Result<Vec<Arc<Buffer>>> {
    let count = memory::count_of(count.into(), "buffers")?;
    // SAFETY: the promise of this function's caller.
    let handles = unsafe { memory::slice(handles.cast_const(), count, "buffer_handle") }?;
    handles.iter().map(|&handle| get(handle, of)).collect()
}

/// Frees all buffers of a driver.
///
/// # Errors
/// The first that could not be freed.
pub(super) fn free_all(opened: &Opened) -> Result<()> {
    let buffers = BUFFERS.take_all(opened.id);
    let outcomes: Vec<_> = buffers.iter().map(|buffer| buffer.free(&opened.machine)).collect();
    outcomes.into_iter().collect()
}

/// A handle for the client: a buffer, or the error in its place.
fn give(opened: &Opened, buffer: Result<Buffer>) -> *mut TpuBufferHandle {
    let event = event::give(buffer.as_ref().map(|_| ()).map_err(Clone::clone));
    let size = buffer.as_ref().map_or(Bytes::ZERO, |buffer| buffer.size);
    let own = TpuBufferHandle {
        internal_handle: number(opened.id),
        event,
        size_in_bytes: i64::try_from(size.0).unwrap_or(i64::MAX),
    };
    BUFFERS.give(own, Some(opened.id), buffer.map(Arc::new))
}

/// Takes memory of a core by its size. Where that fails, the handle's event has the error; null
/// without a driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_Allocate(
    driver: *mut TpuDriver,
    core_id: i32,
    memory_region: i32,
    num_bytes: i64,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuBufferHandle {
    answer(&"TpuDriver_Allocate", ptr::null_mut(), || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        let made = ready.and_then(|()| {
            Opened::check_region(memory_region)?;
            let size = u64::try_from(num_bytes)
                .map_err(|_| Error::bad(format!("an allocation of {num_bytes} bytes")))?;
            Buffer::take(&opened.machine, opened.core(core_id)?, Bytes(size))
        });
        Ok(give(&opened, made))
    })
}

/// Takes memory for an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_AllocateShape(
    driver: *mut TpuDriver,
    core_id: i32,
    memory_region: i32,
    shape: TpuAllocationShape,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuBufferHandle {
    answer(&"TpuDriver_AllocateShape", ptr::null_mut(), || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        let made = ready.and_then(|()| {
            Opened::check_region(memory_region)?;
            let device = opened.core(core_id)?;
            // SAFETY: the contract of the interface.
            let array = unsafe { Array::read(shape, opened.machine.specs()) }?;
            Buffer::take(&opened.machine, device, array.size())
        });
        Ok(give(&opened, made))
    })
}

/// Takes memory for the addresses of buffers of the same core. The buffers stay the client's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_AllocateTuple(
    driver: *mut TpuDriver,
    core_id: i32,
    memory_region: i32,
    bufferc: i32,
    buffer_handle: *mut *mut TpuBufferHandle,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuBufferHandle {
    answer(&"TpuDriver_AllocateTuple", ptr::null_mut(), || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        let made = ready.and_then(|()| {
            Opened::check_region(memory_region)?;
            let device = opened.core(core_id)?;
            // SAFETY: the contract of the interface.
            let parts = unsafe { list(buffer_handle, bufferc, opened.id) }?;
            Buffer::tuple(&opened.machine, device, parts)
        });
        Ok(give(&opened, made))
    })
}

/// Frees memory and its handle, after the events and whatever their outcome is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuDriver_Deallocate(
    driver: *mut TpuDriver,
    buffer_handle: *mut TpuBufferHandle,
    eventc: i32,
    eventv: *mut *mut TpuEvent,
) -> *mut TpuEvent {
    event::report(&"TpuDriver_Deallocate", || {
        let opened = opened::get(driver)?;
        // SAFETY: the contract of the interface.
        let ready = unsafe { event::wait_all(eventc, eventv) };
        // What stands for an error has no memory.
        if let Ok(buffer) = BUFFERS.take(buffer_handle, Some(opened.id))? {
            buffer.free(&opened.machine)?;
        }
        ready
    })
}

/// The bytes of a buffer as a count of a copy.
pub(super) fn count(buffer: &Buffer) -> usize {
    to_usize(buffer.size.0)
}
