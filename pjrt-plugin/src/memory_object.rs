//! `PJRT_Memory`: an object with a function table in front, at an address that never dies.
// UNSAFETY: C holds these objects by address and reads their first word.
#![expect(unsafe_code, reason = "objects that C holds by address")]
use crate::sys::{PJRT_Memory, PJRT_Memory_FunctionTable};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::{Error, Id, Result};

const IN_A_CHUNK: usize = 256;
const CHUNKS: usize = 1024;

/// One place for a memory of some client. Its address is valid for the life of the process, so
/// a stale pointer is told by its content and never leads nowhere.
#[repr(C)]
struct MemoryObject {
    base: PJRT_Memory,
    /// Bits of the [`Id`] of what it stands for; 0 when free.
    id: AtomicU64,
    user_data: Mutex<HashMap<usize, UserData>>,
}

struct UserData {
    data: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the pointer is the client's and only handed back; the interface lets any thread.
unsafe impl Send for UserData {}
// SAFETY: the table pointer leads to a static; the rest is synchronised.
unsafe impl Sync for MemoryObject {}
// SAFETY: as above.
unsafe impl Send for MemoryObject {}

struct Table(PJRT_Memory_FunctionTable);

// SAFETY: function pointers and numbers, never changed.
unsafe impl Sync for Table {}

static TABLE: Table = Table(PJRT_Memory_FunctionTable {
    struct_size: size_of::<PJRT_Memory_FunctionTable>(),
    extension_start: std::ptr::null_mut(),
    instance_struct_size: size_of::<MemoryObject>(),
    get_user_data: Some(get_user_data),
    set_user_data: Some(set_user_data),
});

static OBJECTS: [OnceLock<Box<[MemoryObject]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// Free places: those given back, oldest first, and the first never used.
static FREE: Mutex<Free> = Mutex::new(Free { again: std::collections::VecDeque::new(), fresh: 0 });

struct Free {
    again: std::collections::VecDeque<usize>,
    fresh: usize,
}

/// Gives the object `id` an address.
pub(crate) fn publish<T>(id: Id<T>) -> Result<*mut PJRT_Memory> {
    let mut free = FREE.lock();
    let fresh_left = free.fresh < IN_A_CHUNK * CHUNKS;
    let index = if fresh_left { None } else { free.again.pop_front() };
    let index = match index {
        Some(index) => index,
        None if fresh_left => {
            free.fresh += 1;
            free.fresh - 1
        }
        None => return Err(Error::Host("more memories than this process can name".to_owned())),
    };
    drop(free);
    let chunk = OBJECTS[index / IN_A_CHUNK].get_or_init(|| {
        let empty = || MemoryObject {
            base: PJRT_Memory { vtable: &raw const TABLE.0 },
            id: AtomicU64::new(0),
            user_data: Mutex::default(),
        };
        (0..IN_A_CHUNK).map(|_| empty()).collect()
    });
    let object = &chunk[index % IN_A_CHUNK];
    object.id.store(id.raw(), Ordering::Release);
    Ok((&raw const *object).cast_mut().cast())
}

/// The id behind an address that a client passes.
///
/// # Errors
/// `Null`, and `StaleHandle` for an address that is no memory or no longer one.
pub(crate) fn resolve<T>(memory: *const PJRT_Memory) -> Result<Id<T>> {
    if memory.is_null() {
        return Err(Error::Null("memory"));
    }
    let object = find(memory).map(|(object, _)| object);
    let id = object.and_then(|object| Id::from_raw(object.id.load(Ordering::Acquire)));
    id.ok_or(Error::StaleHandle { kind: "memory", raw: memory.addr() as u64 })
}

/// Ends an object's life; its user data is destroyed.
pub(crate) fn withdraw(memory: *const PJRT_Memory) {
    let Some((object, index)) = find(memory) else { return };
    object.id.store(0, Ordering::Release);
    let user_data = std::mem::take(&mut *object.user_data.lock());
    let mut entries: Vec<_> = user_data.into_iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries.into_iter().for_each(|(_, entry)| destroy(entry));
    FREE.lock().again.push_back(index);
}

fn find(memory: *const PJRT_Memory) -> Option<(&'static MemoryObject, usize)> {
    let address = memory.addr();
    for (number, chunk) in OBJECTS.iter().enumerate() {
        let objects = chunk.get()?;
        let offset = address.wrapping_sub(objects.as_ptr().addr());
        let index = offset / size_of::<MemoryObject>();
        if index < objects.len() && offset.is_multiple_of(size_of::<MemoryObject>()) {
            return Some((&objects[index], number * IN_A_CHUNK + index));
        }
    }
    None
}

unsafe extern "C" fn get_user_data(memory: *mut PJRT_Memory, key: *const c_void) -> *mut c_void {
    let data = find(memory)
        .and_then(|(object, _)| object.user_data.lock().get(&key.addr()).map(|entry| entry.data));
    data.unwrap_or(std::ptr::null_mut())
}

unsafe extern "C" fn set_user_data(
    memory: *mut PJRT_Memory,
    key: *const c_void,
    data: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
) {
    let Some((object, _)) = find(memory) else { return };
    let entry = UserData { data, destructor };
    let before = object.user_data.lock().insert(key.addr(), entry);
    if let Some(before) = before {
        destroy(before);
    }
}

/// Runs the client's destructor, with no lock held.
fn destroy(entry: UserData) {
    if let Some(destructor) = entry.destructor {
        // SAFETY: the client gave both, to be called once.
        unsafe { destructor(entry.data) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    static DESTROYED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn count(_: *mut c_void) {
        DESTROYED.fetch_add(1, Ordering::SeqCst);
    }

    #[test]
    fn an_address_is_stale_once_withdrawn() {
        let id: Id<()> = Id::from_raw(77).unwrap();
        let memory = publish(id).unwrap();
        assert_eq!(resolve::<()>(memory), Ok(id));
        let inside: *mut PJRT_Memory = memory.wrapping_byte_add(8);
        assert!(resolve::<()>(inside).is_err());
        withdraw(memory);
        assert!(resolve::<()>(memory).is_err());
        assert_eq!(resolve::<()>(std::ptr::null()), Err(Error::Null("memory")));
    }

    #[test]
    fn user_data_is_kept_by_key_and_destroyed_once() {
        let memory = publish::<()>(Id::from_raw(78).unwrap()).unwrap();
        // SAFETY: a live memory of ours.
        let table = unsafe { &*(*memory).vtable };
        let (get, set) = (table.get_user_data.unwrap(), table.set_user_data.unwrap());
        let key = std::ptr::without_provenance(8);
        let data = std::ptr::without_provenance_mut(16);
        // SAFETY: a live memory of ours, and a destructor that ignores its argument.
        unsafe {
            assert!(get(memory, key).is_null());
            set(memory, key, data, Some(count));
            assert_eq!(get(memory, key), data);
            set(memory, key, std::ptr::null_mut(), Some(count));
        }
        assert_eq!(DESTROYED.load(Ordering::SeqCst), 1);
        withdraw(memory);
        assert_eq!(DESTROYED.load(Ordering::SeqCst), 2);
    }
}
