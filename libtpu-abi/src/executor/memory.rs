//! HBM of a device: taking and giving back blocks, and how full it is.
// UNSAFETY: exports functions, and reads and writes the client's structs.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::{answer, report};
use crate::memory;
use crate::objects;
use crate::sys::{SE_AllocatorStats, SE_DeviceMemoryBase, SE_Stream, SE_StreamExecutor, TF_Status};
use std::ptr;
use tpu_emu::units::Bytes;
use tpu_emu::{Error, Result};

/// Takes bytes of a device's HBM. The address is the host's, of memory that stands for the HBM.
///
/// All memory spaces are the HBM, the only one that a client can allocate in. No bytes have no
/// address. Errors: there is no status, so an address that is null says that there is no room;
/// the refusal is in the ledger. Whatever else is wrong is said on standard error, too.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_Allocate(
    executor: *mut SE_StreamExecutor,
    size: u64,
    _memory_space: i64,
) -> SE_DeviceMemoryBase {
    answer(&"TpuExecutor_Allocate", SE_DeviceMemoryBase::NULL, || {
        let executor = objects::executor(executor)?;
        if size == 0 {
            return Ok(SE_DeviceMemoryBase::NULL);
        }
        if i64::try_from(size).is_err() {
            return Err(Error::bad(format!("an allocation of {size} bytes, a negative number")));
        }
        match executor.machine.allocate_raw(executor.device, Bytes(size)) {
            Ok(address) => {
                let opaque = ptr::with_exposed_provenance_mut(address);
                Ok(SE_DeviceMemoryBase { opaque, size, payload: 0 })
            }
            Err(Error::OutOfMemory { .. }) => Ok(SE_DeviceMemoryBase::NULL),
            Err(error) => Err(error),
        }
    })
}

/// Gives a block back. What is no block of this device is said on standard error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_Deallocate(
    executor: *mut SE_StreamExecutor,
    memory: *mut SE_DeviceMemoryBase,
) {
    answer(&"TpuExecutor_Deallocate", (), || {
        let executor = objects::executor(executor)?;
        // SAFETY: the contract of the interface.
        let base = unsafe { memory::get(memory.cast_const(), "memory") }?;
        if base.opaque.is_null() {
            return Ok(());
        }
        executor.machine.free_raw(executor.device, base.opaque.addr())
    });
}

/// Says how full a device's HBM is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_GetAllocatorStats(
    executor: *mut SE_StreamExecutor,
    stats: *mut SE_AllocatorStats,
) -> bool {
    answer(&"TpuExecutor_GetAllocatorStats", false, || {
        let executor = objects::executor(executor)?;
        let now = executor.machine.memory_stats(executor.memory());
        let bytes = |bytes: Bytes| bytes.0.cast_signed();
        let filled = SE_AllocatorStats {
            num_allocs: now.num_allocs.cast_signed(),
            bytes_in_use: bytes(now.bytes_in_use),
            peak_bytes_in_use: bytes(now.peak_bytes_in_use),
            largest_alloc_size: bytes(now.largest_alloc_size),
            has_bytes_limit: true,
            bytes_limit: bytes(now.bytes_limit),
            bytes_reserved: bytes(now.bytes_reserved),
            peak_bytes_reserved: bytes(now.peak_bytes_reserved),
            has_bytes_reservable_limit: true,
            bytes_reservable_limit: bytes(now.bytes_reservable_limit),
            largest_free_block_bytes: bytes(now.largest_free_block_bytes),
        };
        // SAFETY: the contract of the interface.
        unsafe { memory::put(stats, filled, "stats") }?;
        Ok(true)
    })
}

/// Bytes of a device's HBM that are free, and all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutor_DeviceMemoryUsage(
    executor: *mut SE_StreamExecutor,
    free: *mut i64,
    total: *mut i64,
) -> bool {
    answer(&"TpuExecutor_DeviceMemoryUsage", false, || {
        let executor = objects::executor(executor)?;
        let now = executor.machine.memory_stats(executor.memory());
        // SAFETY: the contract of the interface.
        unsafe {
            memory::put(free, now.bytes_free.0.cast_signed(), "free")?;
            memory::put(total, now.bytes_limit.0.cast_signed(), "total")?;
        }
        Ok(true)
    })
}

/// Moves what can be moved in a device's HBM, which is nothing: clients hold blocks by address.
#[unsafe(no_mangle)]
pub extern "C" fn TpuExecutor_EnqueueCompactionOnStreamForHbm(
    executor: *mut SE_StreamExecutor,
    compaction_stream: *mut SE_Stream,
    status: *mut TF_Status,
) {
    report(&"TpuExecutor_EnqueueCompactionOnStreamForHbm", status, || -> Result<()> {
        objects::executor(executor)?.stream(compaction_stream)?.outcome()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::handle_of;
    use crate::client::{CStatus, executor, stream};
    use crate::objects::{EXECUTORS, Executor};
    use std::sync::Arc;
    use tpu_emu::buffer::HostArray;
    use tpu_emu::hbm::spec::LayoutRequest;
    use tpu_emu::origin::ChangeKind;
    use tpu_emu::tensor::DType;

    /// A device of a machine that no other test uses: for tests that count what is on it.
    fn own_executor() -> *mut SE_StreamExecutor {
        let [executor, _] = own_executors();
        executor
    }

    /// Two of its devices.
    fn own_executors() -> [*mut SE_StreamExecutor; 2] {
        let machine = tpu_emu::Emulator::new(tpu_emu::Config::plain()).unwrap();
        [2, 5].map(|device| {
            let machine = Arc::clone(&machine);
            handle_of(EXECUTORS.insert(Executor { machine, device }))
        })
    }

    fn in_use(executor: &Executor) -> u64 {
        executor.machine.memory_stats(executor.memory()).bytes_in_use.0
    }

    fn stats(executor: *mut SE_StreamExecutor) -> (bool, SE_AllocatorStats) {
        // SAFETY: numbers of which any bits are a value.
        let mut stats = unsafe { std::mem::zeroed() };
        // SAFETY: a place for them.
        let known = unsafe { TpuExecutor_GetAllocatorStats(executor, &raw mut stats) };
        (known, stats)
    }

    #[test]
    fn both_interfaces_take_from_one_heap() {
        let handle = own_executor();
        let device = objects::executor(handle).unwrap();
        let machine = &device.machine;
        let before = in_use(&device);
        let mut block = TpuExecutor_Allocate(handle, 5000, 0);
        assert!(!block.opaque.is_null());
        assert_eq!((block.size, block.payload), (5000, 0));
        let array = HostArray { bytes: &[0; 4096], low: 0, strides: None };
        let spec = machine.describe(DType::F32, &[8, 128], LayoutRequest::Default).unwrap();
        let buffer = machine.put(device.memory(), spec, array).unwrap();
        assert_eq!(in_use(&device), before + 5120 + 4096);
        let (known, now) = stats(handle);
        assert!(known && now.has_bytes_limit && now.has_bytes_reservable_limit);
        assert_eq!(now.bytes_in_use, (before + 5120 + 4096).cast_signed());
        assert_eq!(now.bytes_limit, machine.memory_limit().0.cast_signed());
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places.
        unsafe {
            assert!(TpuExecutor_DeviceMemoryUsage(handle, &raw mut free, &raw mut total));
        }
        assert_eq!((total, free), (now.bytes_limit, now.bytes_limit - now.bytes_in_use));
        drop(buffer);
        // SAFETY: a block's base.
        unsafe { TpuExecutor_Deallocate(handle, &raw mut block) };
        assert_eq!(in_use(&device), before);
        let entries: Vec<_> = machine.ledger().past().iter().map(|past| past.record).collect();
        let own = "TpuExecutor_Allocate";
        assert!(entries.iter().any(|record| *record.origin.entry == own));
    }

    #[test]
    fn more_than_the_hbm_is_null_and_on_record() {
        let handle = executor(4);
        let machine = Arc::clone(&objects::executor(handle).unwrap().machine);
        let asked = 1 << 50;
        assert!(TpuExecutor_Allocate(handle, asked, 0).opaque.is_null());
        let past = machine.ledger().past();
        let refused = past.iter().find(|past| past.size == Bytes(asked)).unwrap();
        assert_eq!(refused.kind, ChangeKind::Refused);
        assert_eq!(*refused.record.origin.entry, "TpuExecutor_Allocate");
    }

    #[test]
    fn an_allocation_that_cannot_be_is_null() {
        let handle = executor(4);
        for size in [0, 1 << 63, u64::MAX, (1 << 63) - 1] {
            let none = TpuExecutor_Allocate(handle, size, 0);
            assert!(none.opaque.is_null());
            assert_eq!(none.size, 0);
        }
        let stale = stream(4).cast();
        for wrong in [ptr::null_mut(), stale, ptr::without_provenance_mut(64)] {
            assert!(TpuExecutor_Allocate(wrong, 64, 0).opaque.is_null());
            assert!(!stats(wrong).0);
            // SAFETY: null places, which are refused.
            unsafe {
                let (block, number) = (ptr::null_mut(), ptr::null_mut());
                TpuExecutor_Deallocate(wrong, block);
                assert!(!TpuExecutor_DeviceMemoryUsage(wrong, number, number));
            }
        }
        // SAFETY: as above.
        unsafe {
            assert!(!TpuExecutor_DeviceMemoryUsage(handle, ptr::null_mut(), ptr::null_mut()));
            assert!(!TpuExecutor_GetAllocatorStats(handle, ptr::null_mut()));
        }
    }

    #[test]
    fn any_memory_space_is_the_hbm() {
        let handle = executor(4);
        for space in [0, 1, -1, i64::MAX] {
            let mut block = TpuExecutor_Allocate(handle, 64, space);
            assert!(!block.opaque.is_null());
            // SAFETY: a block's base.
            unsafe { TpuExecutor_Deallocate(handle, &raw mut block) };
        }
    }

    #[test]
    fn what_is_not_held_is_not_given_back() {
        let [other, handle] = own_executors();
        let mut block = TpuExecutor_Allocate(handle, 4096, 0);
        let address = block.opaque.addr();
        let machine = Arc::clone(&objects::executor(handle).unwrap().machine);
        let mut inside = block;
        inside.opaque = inside.opaque.wrapping_byte_add(8);
        let mut never = block;
        never.opaque = ptr::without_provenance_mut(0x1000);
        let mut null = SE_DeviceMemoryBase::NULL;
        // SAFETY: bases, some of which are not to be followed.
        unsafe {
            TpuExecutor_Deallocate(handle, &raw mut inside);
            TpuExecutor_Deallocate(handle, &raw mut never);
            TpuExecutor_Deallocate(handle, &raw mut null);
            TpuExecutor_Deallocate(handle, ptr::null_mut());
            TpuExecutor_Deallocate(other, &raw mut block);
        }
        assert_eq!(machine.raw_device(address), Some(5));
        // SAFETY: as above.
        unsafe { TpuExecutor_Deallocate(handle, &raw mut block) };
        assert_eq!(machine.raw_device(address), None);
        // SAFETY: as above.
        unsafe { TpuExecutor_Deallocate(handle, &raw mut block) };
    }

    #[test]
    fn threads_take_and_give_back_without_a_trace_of_each_other() {
        let handle = own_executor().addr();
        let device = objects::executor(ptr::without_provenance(handle)).unwrap();
        let before = in_use(&device);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    let handle: *mut SE_StreamExecutor = ptr::without_provenance_mut(handle);
                    for size in 1..200 {
                        let mut block = TpuExecutor_Allocate(handle, size, 0);
                        assert!(!block.opaque.is_null());
                        // SAFETY: a block's base.
                        unsafe { TpuExecutor_Deallocate(handle, &raw mut block) };
                    }
                });
            }
        });
        assert_eq!(in_use(&device), before);
    }

    #[test]
    fn compaction_has_nothing_to_move() {
        let status = CStatus::new();
        TpuExecutor_EnqueueCompactionOnStreamForHbm(executor(4), stream(4), status.0);
        assert_eq!(status.text(), "");
        TpuExecutor_EnqueueCompactionOnStreamForHbm(executor(4), ptr::null_mut(), status.0);
        assert_eq!(status.text(), "null SE_Stream");
    }
}
