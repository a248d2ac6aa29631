//! `TpuPlatform_*` and `TpuStreamExecutorConfig_*`: the machine as a whole, and ways to its
//! devices.
// UNSAFETY: exports functions.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::{answer, handle_of, id_of, report, report_or};
use crate::executor::int_of;
use crate::objects::{self, EXECUTORS, Executor, PLATFORMS, Platform};
use crate::sys::{
    SE_Platform, SE_PlatformId, SE_StreamExecutor, SE_StreamExecutorConfig, SE_TpuTopology,
    SE_TpuTopology_Host, TF_Status, TpuRuntimeVersion,
};
use crate::{abi, status, topology};
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};
use tpu_emu::{Id, Result, Table};

/// `SE_StreamExecutorConfig`: the ordinal of a device.
#[derive(Debug)]
struct Config(AtomicI32);

static CONFIGS: Table<Config> = Table::new("SE_StreamExecutorConfig", 106);

/// The ordinal of a config that was not told one.
const NO_ORDINAL: i32 = -1;

/// The address is the id of the platform.
static PLATFORM: u8 = 0;

/// What every part of this library answers as the id of its platform.
pub(crate) fn platform_id() -> SE_PlatformId {
    SE_PlatformId { id: (&raw const PLATFORM).cast_mut().cast::<c_void>() }
}

fn id(platform: *const SE_Platform) -> Result<Id<Platform>> {
    id_of(platform, "SE_Platform")
}

/// A handle to the machine; null where there is none, and where it has several slices, which
/// this interface has no words for.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_New() -> *mut SE_Platform {
    answer(&"TpuPlatform_New", ptr::null_mut(), || {
        crate::machine()?.topology().chips()?;
        Ok(handle_of(PLATFORMS.insert(Platform::default())))
    })
}

/// Drops the handle. The machine and its memory stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_Free(platform: *mut SE_Platform) {
    if platform.is_null() {
        return;
    }
    answer(&"TpuPlatform_Free", (), || PLATFORMS.remove(id(platform)?).map(drop));
}

/// Readies the machine, as often as a client likes. It knows none of the options.
///
/// With configs: number of options, their names, their values, status. Without: status.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_Initialize(
    platform: *mut SE_Platform,
    count_or_status: usize,
    _names: usize,
    _values: usize,
    status: usize,
) {
    let status = status::by_dialect(status, count_or_status);
    report(&"TpuPlatform_Initialize", status, || {
        let platform = objects::platform(platform)?;
        abi::current()?;
        crate::machine()?;
        platform.initialized.store(true, Ordering::Relaxed);
        Ok(())
    });
}

/// Whether it was readied.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_Initialized(platform: *mut SE_Platform) -> bool {
    answer(&"TpuPlatform_Initialized", false, || {
        Ok(objects::platform(platform)?.initialized.load(Ordering::Relaxed))
    })
}

/// A handle to a device of this process.
///
/// With configs: a config that names the ordinal. Without: the ordinal, an `int`.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_GetExecutor(
    platform: *mut SE_Platform,
    config_or_ordinal: usize,
    status: *mut TF_Status,
) -> *mut SE_StreamExecutor {
    report_or(&"TpuPlatform_GetExecutor", status, ptr::null_mut(), || {
        objects::platform(platform)?;
        let ordinal = if abi::current()?.calls.configs {
            let config: *const SE_StreamExecutorConfig = ptr::without_provenance(config_or_ordinal);
            CONFIGS.with(config_id(config)?, |config| config.0.load(Ordering::Relaxed))?
        } else {
            int_of(config_or_ordinal)
        };
        let machine = crate::machine()?;
        let device = objects::device_of_ordinal(&machine, ordinal)?;
        Ok(handle_of(EXECUTORS.insert(Executor { machine, device })))
    })
}

/// What tells this platform from others.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_Id(platform: *mut SE_Platform) -> SE_PlatformId {
    let none = SE_PlatformId { id: ptr::null_mut() };
    answer(&"TpuPlatform_Id", none, || objects::platform(platform).map(|_| platform_id()))
}

/// Devices of this process; ordinals count them from 0.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_VisibleDeviceCount(platform: *mut SE_Platform) -> i64 {
    answer(&"TpuPlatform_VisibleDeviceCount", 0, || {
        objects::platform(platform)?;
        let count = objects::local_devices(&*crate::machine()?).len();
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    })
}

/// Bytes of HBM that a client can allocate on each device.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_TpuMemoryLimit(platform: *mut SE_Platform) -> i64 {
    answer(&"TpuPlatform_TpuMemoryLimit", 0, || {
        objects::platform(platform)?;
        Ok(crate::machine()?.memory_limit().0.cast_signed())
    })
}

/// Whether copies between devices go through `TpuStream_TpuEnqueueOnDeviceSendRecvLocal`. They
/// do.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_ShouldRegisterTpuDeviceToDeviceCopy(
    platform: *mut SE_Platform,
) -> bool {
    answer(&"TpuPlatform_ShouldRegisterTpuDeviceToDeviceCopy", false, || {
        objects::platform(platform).map(|_| true)
    })
}

/// The chips.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_GetTopologyPtr(platform: *mut SE_Platform) -> *mut SE_TpuTopology {
    answer(&"TpuPlatform_GetTopologyPtr", ptr::null_mut(), || {
        objects::platform(platform)?;
        crate::machine()?;
        Ok(topology::handle())
    })
}

/// This process among those of the slice.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_GetHostLocation(
    platform: *mut SE_Platform,
) -> *mut SE_TpuTopology_Host {
    answer(&"TpuPlatform_GetHostLocation", ptr::null_mut(), || {
        objects::platform(platform)?;
        topology::host_handle(crate::machine()?.process_index())
    })
}

/// The version of this library, and a line that says that it emulates.
#[unsafe(no_mangle)]
pub extern "C" fn TpuPlatform_GetRuntimeVersion(platform: *mut SE_Platform) -> TpuRuntimeVersion {
    let none = TpuRuntimeVersion { version: [0; 3], metadata: c"".as_ptr(), metadata_size: 0 };
    answer(&"TpuPlatform_GetRuntimeVersion", none, || {
        objects::platform(platform)?;
        let text = &*RUNTIME_TEXT;
        Ok(TpuRuntimeVersion {
            version: version(),
            metadata: text.as_ptr(),
            metadata_size: text.as_bytes().len(),
        })
    })
}

static RUNTIME_TEXT: LazyLock<CString> = LazyLock::new(|| {
    let text = concat!("Emulated by tpu-emu ", env!("CARGO_PKG_VERSION"));
    CString::new(text).unwrap_or_default()
});

fn version() -> [c_int; 3] {
    let parts = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ];
    parts.map(|part| part.parse().unwrap_or(0))
}

fn config_id(config: *const SE_StreamExecutorConfig) -> Result<Id<Config>> {
    id_of(config, "SE_StreamExecutorConfig")
}

/// A config without an ordinal.
#[unsafe(no_mangle)]
pub extern "C" fn TpuStreamExecutorConfig_Default() -> *mut SE_StreamExecutorConfig {
    answer(&"TpuStreamExecutorConfig_Default", ptr::null_mut(), || {
        Ok(handle_of(CONFIGS.insert(Config(AtomicI32::new(NO_ORDINAL)))))
    })
}

/// Says which device the config is for. Whether there is one is asked when it is used.
#[unsafe(no_mangle)]
pub extern "C" fn TpuStreamExecutorConfig_SetOrdinal(
    config: *mut SE_StreamExecutorConfig,
    ordinal: c_int,
) {
    answer(&"TpuStreamExecutorConfig_SetOrdinal", (), || {
        CONFIGS.with(config_id(config)?, |config| config.0.store(ordinal, Ordering::Relaxed))
    });
}

/// Frees a config; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn TpuStreamExecutorConfig_Free(config: *mut SE_StreamExecutorConfig) {
    if config.is_null() {
        return;
    }
    answer(&"TpuStreamExecutorConfig_Free", (), || CONFIGS.remove(config_id(config)?).map(drop));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{CStatus, dialect};
    use crate::executor::TpuExecutor_Free;

    fn get(platform: *mut SE_Platform, ordinal: i32) -> (*mut SE_StreamExecutor, String) {
        let (config, status) = (TpuStreamExecutorConfig_Default(), CStatus::new());
        TpuStreamExecutorConfig_SetOrdinal(config, ordinal);
        let executor = TpuPlatform_GetExecutor(platform, config.addr(), status.0);
        TpuStreamExecutorConfig_Free(config);
        (executor, status.text())
    }

    #[test]
    fn freeing_one_platform_leaves_the_next_one_whole() {
        dialect();
        TpuPlatform_Free(TpuPlatform_New());
        let (platform, status) = (TpuPlatform_New(), CStatus::new());
        assert!(!TpuPlatform_Initialized(platform));
        for _ in 0..2 {
            TpuPlatform_Initialize(platform, 0, 0, 0, status.0.addr());
            assert_eq!(status.text(), "");
        }
        assert!(TpuPlatform_Initialized(platform));
        let count = TpuPlatform_VisibleDeviceCount(platform);
        assert_eq!(count, 8);
        assert_eq!(TpuPlatform_Id(platform).id, platform_id().id);
        let limit = crate::machine().unwrap().memory_limit();
        assert_eq!(TpuPlatform_TpuMemoryLimit(platform), limit.0.cast_signed());
        assert!(TpuPlatform_ShouldRegisterTpuDeviceToDeviceCopy(platform));
        TpuPlatform_Free(platform);
        assert!(!TpuPlatform_Initialized(platform));
        assert_eq!(TpuPlatform_VisibleDeviceCount(platform), 0);
        TpuPlatform_Free(platform);
    }

    #[test]
    fn an_ordinal_gives_an_executor_as_often_as_it_is_asked_for() {
        dialect();
        let platform = TpuPlatform_New();
        let [(first, _), (second, _)] = [7, 7].map(|ordinal| get(platform, ordinal));
        assert_ne!(first, second);
        TpuExecutor_Free(first);
        assert_eq!(objects::executor(second).unwrap().ordinal(), 7);
        assert!(objects::executor(first).is_err());
        for ordinal in [-1, 8, i32::MIN, i32::MAX] {
            let (none, why) = get(platform, ordinal);
            assert!(none.is_null());
            assert_eq!(why, format!("device ordinal {ordinal}; this process has 8, from 0"));
        }
        let status = CStatus::new();
        assert!(TpuPlatform_GetExecutor(platform, 0, status.0).is_null());
        assert_eq!(status.text(), "null SE_StreamExecutorConfig");
        assert!(TpuPlatform_GetExecutor(ptr::null_mut(), 0, status.0).is_null());
        assert_eq!(status.text(), "null SE_Platform");
        TpuPlatform_Free(platform);
    }

    #[test]
    fn a_config_has_no_ordinal_of_its_own_and_dies_once() {
        let (platform, status) = (TpuPlatform_New(), CStatus::new());
        dialect();
        let config = TpuStreamExecutorConfig_Default();
        assert!(TpuPlatform_GetExecutor(platform, config.addr(), status.0).is_null());
        assert_eq!(status.text(), "device ordinal -1; this process has 8, from 0");
        TpuStreamExecutorConfig_Free(config);
        TpuStreamExecutorConfig_Free(config);
        TpuStreamExecutorConfig_Free(ptr::null_mut());
        TpuStreamExecutorConfig_SetOrdinal(config, 0);
        assert!(TpuPlatform_GetExecutor(platform, config.addr(), status.0).is_null());
        assert!(status.text().contains("SE_StreamExecutorConfig handle"), "{}", status.text());
    }

    #[test]
    fn the_runtime_says_that_it_emulates() {
        let platform = TpuPlatform_New();
        let runtime = TpuPlatform_GetRuntimeVersion(platform);
        // SAFETY: text of ours that lives as long as the library.
        let text = unsafe { std::ffi::CStr::from_ptr(runtime.metadata) }.to_str().unwrap();
        assert_eq!(text, concat!("Emulated by tpu-emu ", env!("CARGO_PKG_VERSION")));
        assert_eq!(text.len(), runtime.metadata_size);
        let dotted = runtime.version.map(|part| part.to_string()).join(".");
        assert!(env!("CARGO_PKG_VERSION").starts_with(&dotted));
        let none = TpuPlatform_GetRuntimeVersion(ptr::null_mut());
        assert_eq!((none.version, none.metadata_size), ([0; 3], 0));
        assert!(TpuPlatform_Id(ptr::null_mut()).id.is_null());
        assert!(TpuPlatform_GetTopologyPtr(ptr::null_mut()).is_null());
        assert!(TpuPlatform_GetHostLocation(ptr::null_mut()).is_null());
    }

    #[test]
    fn an_int_is_the_low_half_of_a_register() {
        assert_eq!(int_of(usize::MAX), -1);
        assert_eq!(int_of(0xABCD_EF01_0000_0007), 7);
    }
}
