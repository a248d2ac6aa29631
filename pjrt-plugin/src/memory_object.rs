//! `PJRT_Memory`: an object with a function table in front, at an address that never dies.
// UNSAFETY: C holds these objects by address and reads their first word.
#![expect(unsafe_code, reason = "objects that C holds by address")]
use crate::objects::{Face, Objects};
use crate::sys::{PJRT_Memory, PJRT_Memory_FunctionTable};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use tpu_emu::{Id, Result};

struct UserData {
    data: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the pointer is the client's and only handed back; the interface lets any thread.
unsafe impl Send for UserData {}
struct MemoryTable(PJRT_Memory_FunctionTable);

// SAFETY: function pointers and numbers, never changed.
unsafe impl Sync for MemoryTable {}

static TABLE: MemoryTable = MemoryTable(PJRT_Memory_FunctionTable {
    struct_size: size_of::<PJRT_Memory_FunctionTable>(),
    extension_start: std::ptr::null_mut(),
    instance_struct_size: Objects::<PJRT_Memory, AllUserData>::OBJECT_SIZE,
    get_user_data: Some(get_user_data),
    set_user_data: Some(set_user_data),
});

// SAFETY: a C struct of one pointer, to a static table.
unsafe impl Face for PJRT_Memory {
    const KIND: &'static str = "memory";
    const FACE: Self = Self { vtable: &raw const TABLE.0 };
}

/// Data of clients by key.
type AllUserData = Mutex<HashMap<usize, UserData>>;

static OBJECTS: Objects<PJRT_Memory, AllUserData> = Objects::new();

/// Gives the object `id` an address.
pub(crate) fn publish<T>(id: Id<T>) -> Result<*mut PJRT_Memory> {
    OBJECTS.publish(id)
}

/// The id behind an address that a client passes.
///
/// # Errors
/// As [`Objects::resolve`].
pub(crate) fn resolve<T>(memory: *const PJRT_Memory) -> Result<Id<T>> {
    OBJECTS.resolve(memory)
}

/// Ends an object's life; its user data is destroyed.
pub(crate) fn withdraw(memory: *const PJRT_Memory) {
    let Some(user_data) = OBJECTS.data(memory) else { return };
    let user_data = std::mem::take(&mut *user_data.lock());
    OBJECTS.withdraw(memory);
    let mut entries: Vec<_> = user_data.into_iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries.into_iter().for_each(|(_, entry)| destroy(entry));
}

unsafe extern "C" fn get_user_data(memory: *mut PJRT_Memory, key: *const c_void) -> *mut c_void {
    let data = OBJECTS
        .data(memory)
        .and_then(|user_data| user_data.lock().get(&key.addr()).map(|entry| entry.data));
    data.unwrap_or(std::ptr::null_mut())
}

unsafe extern "C" fn set_user_data(
    memory: *mut PJRT_Memory,
    key: *const c_void,
    data: *mut c_void,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
) {
    let entry = UserData { data, destructor };
    // A memory that is gone keeps nothing: its place may become another one's.
    let alive = OBJECTS.resolve::<()>(memory).ok().and_then(|_| OBJECTS.data(memory));
    let Some(user_data) = alive else { return destroy(entry) };
    let before = user_data.lock().insert(key.addr(), entry);
    if let Some(before) = before {
        destroy(before);
    }
}

/// Runs the client's destructor, with no lock held.
fn destroy(entry: UserData) {
    if let Some(destructor) = entry.destructor {
        let arguments = [entry.data.expose_provenance(), 0, 0, 0, 0];
        let what = "the destructor of a memory's user data";
        // SAFETY: the client gave both, to be called once.
        unsafe { tpu_host::foreign::call_or_tell(what, destructor as *const (), arguments) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static DESTROYED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn count(_: *mut c_void) {
        DESTROYED.fetch_add(1, Ordering::SeqCst);
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
        // SAFETY: the place of a memory that is gone is still readable.
        unsafe { set(memory, key, data, Some(count)) };
        assert_eq!(DESTROYED.load(Ordering::SeqCst), 3);
        // SAFETY: as above.
        assert!(unsafe { get(memory, key) }.is_null());
    }
}
