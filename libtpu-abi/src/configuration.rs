//! `TpuConfigurationApi_*`: what TensorFlow asks about the host and its place in a cluster.
// UNSAFETY: exports functions, reads params, writes results and frees what was given.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::{answer, report};
use crate::distributed::{self, HostConfig, SERVER};
use crate::machine;
use crate::memory;
use crate::params::{
    TpuConfigurationApi_CompilationCacheServerAddrFromConfig_Params,
    TpuConfigurationApi_GetServerAddressAndPort_Params,
};
use crate::placer::local_devices;
use crate::sys::TF_Status;
use std::ffi::c_char;
use tpu_emu::{Error, Result};

/// Bytes of compiled programs that a worker may fetch from the master: none are compiled.
const CACHE_BYTES: i64 = 0;

/// Gives bytes to the client.
///
/// # Safety
/// The pointers are null or valid.
pub(crate) unsafe fn give_bytes(
    bytes: &[u8],
    to: *mut *mut c_char,
    size: *mut usize,
    what: &'static str,
) -> Result<()> {
    if to.is_null() {
        return Err(Error::Null(what));
    }
    // SAFETY: the promise of the caller.
    unsafe { memory::put(size, bytes.len(), what) }?;
    // SAFETY: as above.
    unsafe { memory::put(to, memory::given_bytes(bytes), what) }
}

/// Devices of this host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuConfigurationApi_TpusPerHost(tpus: *mut i32, status: *mut TF_Status) {
    report(&"TpuConfigurationApi_TpusPerHost", status, || {
        let count = i32::try_from(local_devices(&*machine()?).len()).unwrap_or(i32::MAX);
        // SAFETY: the contract of the interface.
        unsafe { memory::put(tpus, count, "tpus") }
    });
}

/// Bytes of a device's memory that programs may use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuConfigurationApi_TpuMemoryLimit(
    memory_limit: *mut i64,
    status: *mut TF_Status,
) {
    report(&"TpuConfigurationApi_TpuMemoryLimit", status, || {
        let limit = i64::try_from(machine()?.memory_limit().0).unwrap_or(i64::MAX);
        // SAFETY: the contract of the interface.
        unsafe { memory::put(memory_limit, limit, "memory_limit") }
    });
}

/// Whether this process has set up a system of hosts.
#[unsafe(no_mangle)]
pub extern "C" fn TpuConfigurationApi_HasTPUPodState() -> bool {
    answer(&"TpuConfigurationApi_HasTPUPodState", false, || Ok(distributed::is_configured()))
}

/// Bytes of compiled programs that a worker may fetch from the master.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuConfigurationApi_RemoteCompilationCacheSizeInBytes(
    cache_size_in_bytes: *mut i64,
) {
    answer(&"TpuConfigurationApi_RemoteCompilationCacheSizeInBytes", (), || {
        // SAFETY: the contract of the interface.
        unsafe { memory::put(cache_size_in_bytes, CACHE_BYTES, "cache_size_in_bytes") }
    });
}

/// Where the master's cache of programs is, by the configuration that the master made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuConfigurationApi_CompilationCacheServerAddressFromConfig(
    params: *mut TpuConfigurationApi_CompilationCacheServerAddrFromConfig_Params,
) {
    // SAFETY: the contract of the interface.
    let params = unsafe { memory::get(params, "params") };
    let status = params.as_ref().map_or(std::ptr::null_mut(), |params| params.status);
    report(&"TpuConfigurationApi_CompilationCacheServerAddressFromConfig", status, || {
        let params = params?;
        let (config, size) = (params.tpu_host_config, params.tpu_host_config_size);
        // SAFETY: as above.
        let config = unsafe { memory::slice(config.cast(), size, "tpu_host_config") }?;
        let address = HostConfig::decode(config)?.cache;
        let (to, size) = (params.server_address_output, params.server_address_output_size);
        // SAFETY: as above.
        unsafe { give_bytes(address.as_bytes(), to, size, "server_address_output") }
    });
}

/// Where TensorFlow is to serve its cache of programs: on this host, any port. There is no other
/// host that would have to know it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuConfigurationApi_GetServerAddressAndPort(
    params: *mut TpuConfigurationApi_GetServerAddressAndPort_Params,
) {
    // SAFETY: the contract of the interface.
    let params = unsafe { memory::get(params, "params") };
    let status = params.as_ref().map_or(std::ptr::null_mut(), |params| params.status);
    report(&"TpuConfigurationApi_GetServerAddressAndPort", status, || {
        let params = params?;
        distributed::one_host()?;
        // SAFETY: as above.
        unsafe { memory::put(params.port_output, 0, "port_output") }?;
        let (to, size) = (params.server_address_output, params.server_address_output_size);
        // SAFETY: as above.
        unsafe { give_bytes(SERVER.as_bytes(), to, size, "server_address_output") }
    });
}

/// Frees text that a function of this interface gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuConfigurationApi_FreeCharArray(output: *mut c_char) {
    answer(&"TpuConfigurationApi_FreeCharArray", (), || {
        // SAFETY: null or from `give_bytes`, by the contract of the interface.
        unsafe { memory::take_back(output) };
        Ok(())
    });
}

/// Frees numbers that a function of this interface gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuConfigurationApi_FreeInt32Array(output: *mut i32) {
    answer(&"TpuConfigurationApi_FreeInt32Array", (), || {
        // SAFETY: null or from `InitializeHostForDistributedTpuOp_DoWork`.
        unsafe { memory::take_back(output) };
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::said;
    use crate::status::{give, take};
    use std::ptr;

    #[test]
    fn a_host_has_eight_devices_and_their_memory() {
        let (mut tpus, mut limit, mut cache) = (0, 0, -1);
        // SAFETY: places for numbers, here and below.
        let counted = said(|status| unsafe {
            TpuConfigurationApi_TpusPerHost(&raw mut tpus, status);
        });
        assert_eq!((counted, tpus), (Ok(()), 8));
        // SAFETY: as above.
        let counted = said(|status| unsafe {
            TpuConfigurationApi_TpuMemoryLimit(&raw mut limit, status);
        });
        assert_eq!(counted, Ok(()));
        assert_eq!(limit.unsigned_abs(), machine().unwrap().memory_limit().0);
        // SAFETY: as above.
        unsafe { TpuConfigurationApi_RemoteCompilationCacheSizeInBytes(&raw mut cache) };
        assert_eq!(cache, 0);
        // SAFETY: null is refused.
        let error = said(|status| unsafe {
            TpuConfigurationApi_TpusPerHost(ptr::null_mut(), status);
        });
        assert_eq!(error, Err("null tpus".to_owned()));
    }

    #[test]
    fn the_cache_is_served_on_this_host() {
        let (mut size, mut text, mut port) = (0, ptr::null_mut(), -1);
        let status = give(Ok(()));
        let mut params = TpuConfigurationApi_GetServerAddressAndPort_Params {
            struct_size: 48,
            priv_: ptr::null_mut(),
            server_address_output_size: &raw mut size,
            server_address_output: &raw mut text,
            port_output: &raw mut port,
            status,
        };
        // SAFETY: params with places for all results.
        unsafe { TpuConfigurationApi_GetServerAddressAndPort(&raw mut params) };
        assert_eq!(take(status), Ok(()));
        // SAFETY: text of this size.
        let address: &[u8] =
            unsafe { memory::slice(text.cast_const().cast(), size, "text") }.unwrap();
        assert_eq!((address, port), (SERVER.as_bytes(), 0));
        // SAFETY: it came from this interface.
        unsafe { TpuConfigurationApi_FreeCharArray(text) };
        // SAFETY: null is none.
        unsafe { TpuConfigurationApi_FreeInt32Array(ptr::null_mut()) };
    }

    #[test]
    fn an_address_is_read_from_a_configuration_of_ours_alone() {
        let status = give(Ok(()));
        let config = b"what is this";
        let mut params = TpuConfigurationApi_CompilationCacheServerAddrFromConfig_Params {
            struct_size: 56,
            priv_: ptr::null_mut(),
            tpu_host_config_size: config.len(),
            tpu_host_config: config.as_ptr().cast(),
            server_address_output_size: ptr::null_mut(),
            server_address_output: ptr::null_mut(),
            status,
        };
        // SAFETY: params without places for results.
        unsafe {
            TpuConfigurationApi_CompilationCacheServerAddressFromConfig(&raw mut params);
        }
        let error = take(status).unwrap_err().to_string();
        assert_eq!(error, "12 bytes that are no host configuration of tpu-emu");
    }
}
