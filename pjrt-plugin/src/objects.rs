//! Objects that C holds by address, with a function table in front, at addresses that never die.
// UNSAFETY: hands out addresses of objects whose first word C reads.
#![expect(unsafe_code, reason = "objects that C holds by address")]
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::{Error, Id, Result};

const IN_A_CHUNK: usize = 256;
const CHUNKS: usize = 1024;

/// The struct that C sees of an object.
///
/// # Safety
/// `#[repr(C)]`, and nothing but a pointer to a function table that never changes.
pub(crate) unsafe trait Face: Copy + 'static {
    /// The noun in errors.
    const KIND: &'static str;
    /// The pointer to the table.
    const FACE: Self;
}

/// One place for an object. Its address is valid for the life of the process, so a stale pointer
/// is told by its content and never leads nowhere.
#[repr(C)]
pub(crate) struct Object<F, D> {
    face: F,
    /// Bits of the [`Id`] of what it stands for; 0 when free.
    id: AtomicU64,
    data: D,
}

// SAFETY: `face` leads to a table that never changes, by the promise of `Face`.
unsafe impl<F: Face, D: Send> Send for Object<F, D> {}
// SAFETY: as above; the rest is synchronised, or says so by `D: Sync`.
unsafe impl<F: Face, D: Sync> Sync for Object<F, D> {}

type Chunk<F, D> = Box<[Object<F, D>]>;

/// All objects of a kind. `D` is what is kept at the address itself.
pub(crate) struct Objects<F: 'static, D: 'static> {
    chunks: [OnceLock<Chunk<F, D>>; CHUNKS],
    /// Free places: those given back, oldest first, and the first never used.
    free: Mutex<Free>,
}

struct Free {
    again: VecDeque<usize>,
    fresh: usize,
}

impl<F: Face, D: Default> Objects<F, D> {
    /// Bytes of an object, which a function table tells its callers.
    pub(crate) const OBJECT_SIZE: usize = size_of::<Object<F, D>>();

    /// None yet.
    pub(crate) const fn new() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: Mutex::new(Free { again: VecDeque::new(), fresh: 0 }),
        }
    }

    /// Gives `id` an address. Places are used again as late as possible.
    ///
    /// # Errors
    /// `Host` when all places are taken.
    pub(crate) fn publish<T>(&'static self, id: Id<T>) -> Result<*mut F> {
        let index = self.take_place()?;
        let chunk = self.chunks[index / IN_A_CHUNK].get_or_init(|| {
            let empty = || Object { face: F::FACE, id: AtomicU64::new(0), data: D::default() };
            (0..IN_A_CHUNK).map(|_| empty()).collect()
        });
        let object = &chunk[index % IN_A_CHUNK];
        object.id.store(id.raw(), Ordering::Release);
        Ok((&raw const *object).cast_mut().cast())
    }

    fn take_place(&self) -> Result<usize> {
        let mut free = self.free.lock();
        if free.fresh < IN_A_CHUNK * CHUNKS {
            free.fresh += 1;
            return Ok(free.fresh - 1);
        }
        let full =
            || Error::Host(format!("more than {} objects: {}", IN_A_CHUNK * CHUNKS, F::KIND));
        free.again.pop_front().ok_or_else(full)
    }

    /// The id behind an address that a client passes.
    ///
    /// # Errors
    /// `Null`, and `StaleHandle` for an address that is no object or no longer one.
    pub(crate) fn resolve<T>(&'static self, face: *const F) -> Result<Id<T>> {
        if face.is_null() {
            return Err(Error::Null(F::KIND));
        }
        let object = self.find(face).map(|(object, _)| object);
        let id = object.and_then(|object| Id::from_raw(object.id.load(Ordering::Acquire)));
        id.ok_or(Error::StaleHandle { kind: F::KIND, raw: face.addr() as u64 })
    }

    /// What is kept at an address, stale or not; `None` where no object was ever.
    pub(crate) fn data(&'static self, face: *const F) -> Option<&'static D> {
        self.find(face).map(|(object, _)| &object.data)
    }

    /// Ends an object's life. Returns whether this call did.
    pub(crate) fn withdraw(&'static self, face: *const F) -> bool {
        let Some((object, index)) = self.find(face) else { return false };
        let ended = object.id.swap(0, Ordering::AcqRel) != 0;
        if ended {
            self.free.lock().again.push_back(index);
        }
        ended
    }

    fn find(&'static self, face: *const F) -> Option<(&'static Object<F, D>, usize)> {
        for (number, chunk) in self.chunks.iter().enumerate() {
            let objects = chunk.get()?;
            let offset = face.addr().wrapping_sub(objects.as_ptr().addr());
            let index = offset / Self::OBJECT_SIZE;
            if index < objects.len() && offset.is_multiple_of(Self::OBJECT_SIZE) {
                return Some((&objects[index], number * IN_A_CHUNK + index));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(C)]
    struct Thing(usize);

    // SAFETY: no table at all.
    unsafe impl Face for Thing {
        const KIND: &'static str = "thing";
        const FACE: Self = Self(7);
    }

    static THINGS: Objects<Thing, Mutex<u8>> = Objects::new();

    #[test]
    fn an_address_is_stale_once_withdrawn() {
        let id: Id<()> = Id::from_raw(77).unwrap();
        let thing = THINGS.publish(id).unwrap();
        assert_eq!(THINGS.resolve::<()>(thing), Ok(id));
        assert!(THINGS.resolve::<()>(thing.wrapping_byte_add(8)).is_err());
        assert!(THINGS.withdraw(thing));
        assert!(!THINGS.withdraw(thing));
        assert!(THINGS.resolve::<()>(thing).is_err());
        assert_eq!(THINGS.resolve::<()>(std::ptr::null()), Err(Error::Null("thing")));
    }

    #[test]
    fn the_table_stays_in_front_of_a_stale_object() {
        let thing = THINGS.publish::<()>(Id::from_raw(78).unwrap()).unwrap();
        THINGS.withdraw(thing);
        // SAFETY: an address that never dies.
        assert_eq!(unsafe { *thing }, Thing(7));
        assert!(THINGS.data(thing).is_some());
    }
}
