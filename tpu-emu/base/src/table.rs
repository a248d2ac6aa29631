//! Handles: generational ids and the tables that resolve them.
use crate::error::{Error, Result};
use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};

/// Names one object in a [`Table`]. Never reused: a freed slot comes back with a new epoch.
///
/// Bits, from the top: kind of table (8), epoch (28), slot (28). The kind makes a handle of one
/// table stale in every other one, and keeps the bits apart from user-space addresses.
pub struct Id<T> {
    raw: NonZeroU64,
    of: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// The id with these bits; `None` for 0.
    pub fn from_raw(raw: u64) -> Option<Self> {
        Some(Self { raw: NonZeroU64::new(raw)?, of: PhantomData })
    }

    /// The bits.
    pub fn raw(self) -> u64 {
        self.raw.get()
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl<T> Eq for Id<T> {}

impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.raw)
    }
}

const SLOT_BITS: u32 = 28;
const EPOCHS: u64 = 1 << 28;
/// Slots of the first chunk; each further chunk doubles the table.
const FIRST_CHUNK: usize = 64;
const CHUNKS: usize = (1 << SLOT_BITS) / FIRST_CHUNK;

/// Who is in a slot, with the epoch of its id.
#[derive(Debug)]
struct TableSlot<T>(RwLock<Option<(u64, Arc<T>)>>);

impl<T> TableSlot<T> {
    /// The object that came in this epoch.
    fn get(&self, epoch: u64) -> Option<Arc<T>> {
        let held = self.0.read();
        held.as_ref().filter(|(own, _)| *own == epoch).map(|(_, value)| Arc::clone(value))
    }

    fn take(&self, epoch: u64) -> Option<Arc<T>> {
        let mut held = self.0.write();
        held.take_if(|(own, _)| *own == epoch).map(|(_, value)| value)
    }
}

#[derive(Debug, Default)]
struct Free {
    /// Slots to use again, with the epoch of their next object.
    again: Vec<(usize, u64)>,
    /// Slots never used start here.
    fresh: usize,
}

/// Objects by id. Each slot has a lock of its own, held while a reference is copied.
#[derive(Debug)]
pub struct Table<T> {
    name: &'static str,
    kind: u8,
    chunks: [OnceLock<Box<[TableSlot<T>]>>; CHUNKS.ilog2() as usize + 1],
    free: Mutex<Free>,
}

impl<T> Table<T> {
    /// An empty table; `name` is the noun in its errors, `kind` (not 0) is unique to it.
    pub const fn new(name: &'static str, kind: u8) -> Self {
        assert!(kind != 0, "kind 0 would allow a null id");
        Self {
            name,
            kind,
            chunks: [const { OnceLock::new() }; CHUNKS.ilog2() as usize + 1],
            free: Mutex::new(Free { again: Vec::new(), fresh: 0 }),
        }
    }

    /// Stores `value` under a new id.
    pub fn insert(&self, value: T) -> Id<T> {
        self.insert_arc(Arc::new(value))
    }

    /// Stores a shared `value` under a new id.
    pub fn insert_arc(&self, value: Arc<T>) -> Id<T> {
        let (index, epoch) = self.take_slot();
        *self.slot(index).0.write() = Some((epoch, value));
        let raw = u64::from(self.kind) << 56 | epoch << SLOT_BITS | index as u64;
        match Id::from_raw(raw) {
            Some(id) => id,
            None => unreachable!("the kind is not 0, asserted by `new`"),
        }
    }

    /// The object of `id`.
    ///
    /// # Errors
    /// `StaleHandle` where the object is removed or the id belongs to another table.
    pub fn get(&self, id: Id<T>) -> Result<Arc<T>> {
        let (index, epoch) = self.unpack(id)?;
        self.known(index).and_then(|slot| slot.get(epoch)).ok_or_else(|| self.stale(id))
    }

    /// Calls `read` on the object of `id`, with no lock held.
    ///
    /// # Errors
    /// As for [`Table::get`].
    pub fn with<R>(&self, id: Id<T>, read: impl FnOnce(&Arc<T>) -> R) -> Result<R> {
        self.get(id).map(|value| read(&value))
    }

    /// Takes the object of `id` out; the id is stale from then on.
    ///
    /// # Errors
    /// As for [`Table::get`]; of two threads that remove one id, one gets the error.
    pub fn remove(&self, id: Id<T>) -> Result<Arc<T>> {
        let (index, epoch) = self.unpack(id)?;
        let taken = self.known(index).and_then(|slot| slot.take(epoch));
        let value = taken.ok_or_else(|| self.stale(id))?;
        // A slot whose epochs are used up retires, so that no id ever comes back.
        if epoch + 1 < EPOCHS {
            self.free.lock().again.push((index, epoch + 1));
        }
        Ok(value)
    }

    /// The ids of all objects at some moment during the call, in slot order.
    pub fn ids(&self) -> Vec<Id<T>> {
        let fresh = self.free.lock().fresh;
        let id = |index: usize| {
            let epoch = self.known(index)?.0.read().as_ref()?.0;
            Id::from_raw(u64::from(self.kind) << 56 | epoch << SLOT_BITS | index as u64)
        };
        (0..fresh).filter_map(id).collect()
    }

    fn take_slot(&self) -> (usize, u64) {
        let mut free = self.free.lock();
        if let Some(slot) = free.again.pop() {
            return slot;
        }
        let index = free.fresh;
        assert!(index < 1 << SLOT_BITS, "{} table is full", self.name);
        free.fresh += 1;
        (index, 1)
    }

    /// The slot with a number, if it was ever used.
    fn known(&self, index: usize) -> Option<&TableSlot<T>> {
        let (chunk, at) = place(index);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    fn slot(&self, index: usize) -> &TableSlot<T> {
        let (chunk, at) = place(index);
        let slots = self.chunks[chunk].get_or_init(|| {
            let size = if chunk == 0 { FIRST_CHUNK } else { FIRST_CHUNK << (chunk - 1) };
            (0..size).map(|_| TableSlot(RwLock::new(None))).collect()
        });
        &slots[at]
    }

    fn unpack(&self, id: Id<T>) -> Result<(usize, u64)> {
        let raw = id.raw();
        if raw >> 56 != u64::from(self.kind) {
            return Err(self.stale(id));
        }
        let index = raw & ((1 << SLOT_BITS) - 1);
        let epoch = (raw >> SLOT_BITS) & (EPOCHS - 1);
        Ok((crate::units::to_usize(index), epoch))
    }

    fn stale(&self, id: Id<T>) -> Error {
        Error::StaleHandle { kind: self.name, raw: id.raw() }
    }
}

/// Chunk and place of a slot: chunk 0 holds the first 64, chunk n the 64·2^(n-1) after them.
fn place(index: usize) -> (usize, usize) {
    if index < FIRST_CHUNK {
        return (0, index);
    }
    let chunk = (index / FIRST_CHUNK).ilog2() as usize;
    (chunk + 1, index - (FIRST_CHUNK << chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_dies_with_its_object() {
        let table = Table::new("buffer", 1);
        let first = table.insert("a");
        table.remove(first).unwrap();
        let second = table.insert("b");

        assert_eq!(*table.get(second).unwrap(), "b");
        assert_eq!(
            table.get(first).unwrap_err().to_string(),
            "buffer handle 0x100000010000000 is stale or was never given out"
        );
    }

    #[test]
    fn a_second_removal_is_an_error() {
        let table = Table::new("event", 1);
        let id = table.insert(());
        assert!(table.remove(id).is_ok());
        assert!(table.remove(id).is_err());
    }

    #[test]
    fn a_handle_of_another_table_is_stale() {
        let events = Table::new("event", 1);
        let buffers = Table::new("buffer", 2);
        let event = events.insert(0_u8);
        buffers.insert(0_u8);
        assert!(buffers.get(event).is_err());
    }

    #[test]
    fn made_up_bits_are_an_error() {
        let table = Table::new("buffer", 1);
        table.insert(1_u8);
        for raw in [1, 8, 0x7fff_dead_beef, u64::MAX, 0x0100_0000_1000_0001] {
            assert!(table.get(Id::from_raw(raw).unwrap()).is_err(), "{raw:#x}");
        }
    }

    #[test]
    fn slots_of_all_chunks_are_found() {
        let table = Table::new("number", 1);
        let ids: Vec<_> = (0..1000_u32).map(|n| table.insert(n)).collect();
        for (n, &id) in (0..).zip(&ids) {
            assert_eq!(*table.get(id).unwrap(), n);
        }
        assert_eq!(table.ids(), ids);
    }

    #[test]
    fn threads_insert_and_remove_at_once() {
        let table = Table::new("number", 1);
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let table = &table;
                scope.spawn(move || {
                    for n in 0..500 {
                        let id = table.insert(thread * 1000 + n);
                        assert_eq!(*table.get(id).unwrap(), thread * 1000 + n);
                        assert_eq!(*table.remove(id).unwrap(), thread * 1000 + n);
                        assert!(table.get(id).is_err());
                    }
                });
            }
        });
        assert!(table.ids().is_empty());
    }
}
