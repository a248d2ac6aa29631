//! A program that uses PJRT and the libtpu interface: one machine, one heap.
#![expect(unsafe_code, reason = "calls of the C interfaces")]

mod c;

use c::buffers::{destroy, put_bytes};
use c::built::function;
use c::{Client, call};
use pjrt_tpu_emu::libtpu::sys::{
    SE_AllocatorStats, SE_DeviceMemoryBase, SE_Platform, SE_StreamExecutor,
    SE_StreamExecutorConfig, TF_Status,
};
use std::ffi::{c_char, c_int};
use std::ptr::null;

/// The functions of the libtpu interface that this test calls, as they are declared.
struct Libtpu {
    initialize: extern "C" fn(bool, c_int, *const *const c_char),
    new_platform: extern "C" fn() -> *mut SE_Platform,
    initialize_platform: extern "C" fn(*mut SE_Platform, usize, usize, usize, usize),
    executor: extern "C" fn(*mut SE_Platform, usize, *mut TF_Status) -> *mut SE_StreamExecutor,
    config: extern "C" fn() -> *mut SE_StreamExecutorConfig,
    set_ordinal: extern "C" fn(*mut SE_StreamExecutorConfig, c_int),
    free_config: extern "C" fn(*mut SE_StreamExecutorConfig),
    new_status: extern "C" fn() -> *mut TF_Status,
    ok: extern "C" fn(*mut TF_Status) -> bool,
    free_status: extern "C" fn(*mut TF_Status),
    allocate: extern "C" fn(*mut SE_StreamExecutor, u64, i64) -> SE_DeviceMemoryBase,
    deallocate: unsafe extern "C" fn(*mut SE_StreamExecutor, *mut SE_DeviceMemoryBase),
    stats: unsafe extern "C" fn(*mut SE_StreamExecutor, *mut SE_AllocatorStats) -> bool,
}

impl Libtpu {
    fn load() -> Self {
        // SAFETY: the functions' own types.
        unsafe {
            Self {
                initialize: function("TfTpu_Initialize"),
                new_platform: function("TpuPlatform_New"),
                initialize_platform: function("TpuPlatform_Initialize"),
                executor: function("TpuPlatform_GetExecutor"),
                config: function("TpuStreamExecutorConfig_Default"),
                set_ordinal: function("TpuStreamExecutorConfig_SetOrdinal"),
                free_config: function("TpuStreamExecutorConfig_Free"),
                new_status: function("TpuStatus_New"),
                ok: function("TpuStatus_Ok"),
                free_status: function("TpuStatus_Free"),
                allocate: function("TpuExecutor_Allocate"),
                deallocate: function("TpuExecutor_Deallocate"),
                stats: function("TpuExecutor_GetAllocatorStats"),
            }
        }
    }

    /// Plays jaxlib 0.4.13 up to its first executor.
    fn first_executor(&self, ordinal: i32) -> *mut SE_StreamExecutor {
        // SAFETY: nothing else of this program runs yet.
        unsafe { std::env::set_var("TPU_EMU_LIBTPU_ABI", "jaxlib-0.4.13") };
        (self.initialize)(true, 0, null());
        let (platform, status) = ((self.new_platform)(), (self.new_status)());
        (self.initialize_platform)(platform, 0, 0, 0, status.expose_provenance());
        assert!((self.ok)(status));
        let config = (self.config)();
        (self.set_ordinal)(config, ordinal);
        let executor = (self.executor)(platform, config.expose_provenance(), status);
        assert!((self.ok)(status));
        (self.free_config)(config);
        (self.free_status)(status);
        executor
    }

    fn in_use(&self, executor: *mut SE_StreamExecutor) -> i64 {
        // SAFETY: numbers and flags.
        let mut stats: SE_AllocatorStats = unsafe { std::mem::zeroed() };
        // SAFETY: a struct of the function's own type.
        assert!(unsafe { (self.stats)(executor, &raw mut stats) });
        stats.bytes_in_use
    }
}

#[test]
fn both_interfaces_take_from_one_heap_and_tell_the_same_numbers() {
    let libtpu = Libtpu::load();
    let executor = libtpu.first_executor(1);
    let client = Client::new();
    let start = client.in_use(1);
    assert_eq!(libtpu.in_use(executor), start);

    let mut block = (libtpu.allocate)(executor, 4096, 0);
    assert_eq!((client.in_use(1) - start, block.size), (4096, 4096));
    let buffer = put_bytes(&client, client.hbm(1), &[7; 4096]);
    let after = client.in_use(1);
    assert!(after - start >= 8192, "{start} {after}");
    assert_eq!(libtpu.in_use(executor), after);
    let pointer = call!(PJRT_Buffer_UnsafePointer, buffer: buffer).unwrap().buffer_pointer;
    let (own, other) = (block.opaque.addr(), pointer);
    assert!(own + 4096 <= other || other + 4096 <= own, "{own:#x} {other:#x}");

    // SAFETY: a struct of the function's own type.
    unsafe { (libtpu.deallocate)(executor, &raw mut block) };
    destroy(buffer);
    assert_eq!((client.in_use(1), libtpu.in_use(executor)), (start, start));
    assert_eq!(client.in_use(0), 0);
}
