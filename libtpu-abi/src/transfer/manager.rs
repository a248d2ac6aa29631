//! The transfer manager itself. It keeps nothing: what it does is said by machine and shapes.
// UNSAFETY: exports functions, and follows pointers of the client.
#![expect(unsafe_code, reason = "functions of the C interface")]
use super::shaped_buffer::ShapedBuffer;
use crate::abi;
use crate::boundary::{answer, handle_of, id_of, report};
use crate::memory::{self, At, count_of};
use crate::objects;
use crate::platform::platform_id;
use crate::refused::refusal;
use crate::sys::{
    SE_DeviceMemoryBase, SE_PlatformId, SE_StreamExecutor, TF_Status, XLA_ShapedBuffer,
    XLA_TransferManager,
};
use std::ptr;
use tpu_emu::{Result, Table};

/// `XLA_TransferManager`.
#[derive(Debug)]
struct Manager;

static MANAGERS: Table<Manager> = Table::new("XLA_TransferManager", 110);

/// Whether a handle names a transfer manager.
///
/// # Errors
/// `Null` and `StaleHandle` where it does not.
pub(super) fn check(manager: *const XLA_TransferManager) -> Result<()> {
    MANAGERS.with(id_of(manager, "XLA_TransferManager")?, |_| ())
}

/// A new transfer manager.
#[unsafe(no_mangle)]
pub extern "C" fn TpuTransferManager_New() -> *mut XLA_TransferManager {
    answer(&"TpuTransferManager_New", ptr::null_mut(), || {
        crate::machine()?;
        Ok(handle_of(MANAGERS.insert(Manager)))
    })
}

/// Frees a transfer manager; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuTransferManager_Free(manager: *mut XLA_TransferManager) {
    if manager.is_null() {
        return;
    }
    answer(&"TpuTransferManager_Free", (), || {
        MANAGERS.remove(id_of(manager, "XLA_TransferManager")?).map(drop)
    });
}

/// The number of the platform, as `TpuPlatform_Id` gives it.
#[unsafe(no_mangle)]
pub extern "C" fn TpuTransferManager_PlatformId(
    manager: *mut XLA_TransferManager,
) -> SE_PlatformId {
    let none = SE_PlatformId { id: ptr::null_mut() };
    answer(&"TpuTransferManager_PlatformId", none, || {
        check(manager)?;
        Ok(platform_id())
    })
}

/// Refused: a device that is in use is not reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_ResetDevices(
    manager: *mut XLA_TransferManager,
    executors: *mut *mut SE_StreamExecutor,
    num_executors: i64,
    status: *mut TF_Status,
) {
    report(&"TpuTransferManager_ResetDevices", status, || {
        check(manager)?;
        let count = count_of(num_executors, "executors")?;
        // SAFETY: the contract of the interface.
        let executors = unsafe { memory::slice(executors.cast_const(), count, "executors") }?;
        for &executor in executors {
            objects::executor(executor)?;
        }
        let why = "a device that is in use is not reset";
        Err(refusal(&"TpuTransferManager_ResetDevices", why))
    });
}

/// Whether work that was enqueued before on a buffer is done: always, as enqueuing does it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_CanBufferBeAccessedNow(
    manager: *mut XLA_TransferManager,
    executor: *mut SE_StreamExecutor,
    device_buffer: *mut SE_DeviceMemoryBase,
) -> bool {
    answer(&"TpuTransferManager_CanBufferBeAccessedNow", false, || {
        check(manager)?;
        objects::executor(executor)?;
        // SAFETY: the contract of the interface.
        unsafe { memory::get(device_buffer.cast_const(), "device_buffer") }.map(|_| true)
    })
}

/// Whether work that was enqueued before on all buffers of a shape is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTransferManager_CanShapedBufferBeAccessedNow(
    manager: *mut XLA_TransferManager,
    executor: *mut SE_StreamExecutor,
    device_buffer: *mut XLA_ShapedBuffer,
) -> bool {
    answer(&"TpuTransferManager_CanShapedBufferBeAccessedNow", false, || {
        check(manager)?;
        objects::executor(executor)?;
        // SAFETY: the contract of the interface.
        let buffer = unsafe { At::new(device_buffer.cast_const(), "device_buffer") }?;
        ShapedBuffer::read(abi::current()?, buffer).map(|_| true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{CShapedBuffer, CStatus, dialect, executor};
    use crate::shape::Shape;

    #[test]
    fn a_manager_is_known_until_it_is_freed() {
        let manager = TpuTransferManager_New();
        assert!(!manager.is_null());
        assert_eq!(TpuTransferManager_PlatformId(manager).id, platform_id().id);
        TpuTransferManager_Free(manager);
        assert!(TpuTransferManager_PlatformId(manager).id.is_null());
        // Twice, and none, are no crash.
        TpuTransferManager_Free(manager);
        TpuTransferManager_Free(ptr::null_mut());
    }

    #[test]
    fn buffers_can_be_accessed_where_all_handles_are_good() {
        let (manager, device) = (TpuTransferManager_New(), executor(0));
        let mut base = SE_DeviceMemoryBase::NULL;
        let base = &raw mut base;
        let unknown = ptr::without_provenance_mut(5);
        for (manager, device, base, expected) in [
            (manager, device, base, true),
            (ptr::null_mut(), device, base, false),
            (manager, ptr::null_mut(), base, false),
            (manager, unknown, base, false),
            (manager, device, ptr::null_mut(), false),
        ] {
            // SAFETY: null is refused.
            let now = unsafe { TpuTransferManager_CanBufferBeAccessedNow(manager, device, base) };
            assert_eq!(now, expected);
        }
        let tuple = Shape::tuple(Vec::new());
        let mut whole = CShapedBuffer::new(dialect(), &tuple, &[SE_DeviceMemoryBase::NULL]);
        let mut short = CShapedBuffer::new(dialect(), &tuple, &[]);
        for (buffer, expected) in
            [(whole.pointer(), true), (short.pointer(), false), (ptr::null_mut(), false)]
        {
            let access = TpuTransferManager_CanShapedBufferBeAccessedNow;
            // SAFETY: structs of the dialect.
            assert_eq!(unsafe { access(manager, device, buffer) }, expected);
        }
    }

    #[test]
    fn devices_are_not_reset() {
        let (manager, status) = (TpuTransferManager_New(), CStatus::new());
        let mut devices = [executor(0)];
        let list = devices.as_mut_ptr();
        let reset = |list, count| {
            // SAFETY: a list of executors.
            unsafe { TpuTransferManager_ResetDevices(manager, list, count, status.0) };
            status.text()
        };
        let text = "TpuTransferManager_ResetDevices: a device that is in use is not reset";
        assert_eq!(reset(list, 1), text);
        assert!(reset(list, -1).starts_with("-1 executors"));
        assert_eq!(reset(ptr::null_mut(), 1), "null executors");
        devices[0] = ptr::without_provenance_mut(9);
        assert!(reset(devices.as_mut_ptr(), 1).contains("stale"));
    }
}
