//! Notices of a client's comings and goings that need nothing of an emulator, the defaults of
//! partitioned calls, and what the emulator has none of.
// UNSAFETY: exports functions and writes the client's results.
#![expect(unsafe_code, reason = "functions of the C interface")]
use crate::boundary::answer;
use crate::memory;
use crate::params::TpuPartitionedCall_Params;
use crate::refused::refused;
use crate::sys::TpuCoreTypeEnum;
use std::ffi::c_int;

/// The client is about to use collectives; they need no thread or memory beforehand.
#[unsafe(no_mangle)]
pub extern "C" fn TpuAsyncCollectiveOffloadHelper_Init() {
    answer(&"TpuAsyncCollectiveOffloadHelper_Init", (), || Ok(()));
}

/// The client has no further collectives.
#[unsafe(no_mangle)]
pub extern "C" fn TpuAsyncCollectiveOffloadHelper_Shutdown() {
    answer(&"TpuAsyncCollectiveOffloadHelper_Shutdown", (), || Ok(()));
}

/// A model server starts; nothing differs for it.
#[unsafe(no_mangle)]
pub extern "C" fn TfTpu_InitializeTpuModelServer() {
    answer(&"TfTpu_InitializeTpuModelServer", (), || Ok(()));
}

/// A port may be used again; the emulator gives none out.
#[unsafe(no_mangle)]
pub extern "C" fn TpuNetUtil_RecycleUnusedPort(_port: c_int) {
    answer(&"TpuNetUtil_RecycleUnusedPort", (), || Ok(()));
}

/// How partitioned calls are changed before they run: not at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TfTpu_GetTpuPartitionedCallParams(params: *mut TpuPartitionedCall_Params) {
    answer(&"TfTpu_GetTpuPartitionedCallParams", (), || {
        let nothing = TpuPartitionedCall_Params {
            input_shape_opt: false,
            group_tensors_for_packing: false,
            minimum_input_tensors_packing: 1,
            minimum_output_tensors_packing: 1,
            enable_auto_xla_input_sharding: false,
            auto_xla_input_sharding_dim: 0,
            enable_variable_deduplication: false,
        };
        // SAFETY: the contract of the interface.
        unsafe { memory::put(params, nothing, "TpuPartitionedCall_Params") }
    });
}

/// `absl::StatusOr<int>` of TensorFlow 2.20, which goes out by a pointer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StatusOrInt {
    /// Success is 1.
    pub status: usize,
    /// The value of a success.
    pub value: c_int,
}

/// How many SparseCores a device has: none.
///
/// It is C++: the caller passes where the result goes as a first, hidden argument, and gets it
/// back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuTopology_MaybeAvailableSparseCoresPerLogicalDevice(
    result: *mut StatusOrInt,
    _tpu_core_type: TpuCoreTypeEnum,
) -> *mut StatusOrInt {
    answer(&"TpuTopology_MaybeAvailableSparseCoresPerLogicalDevice", result, || {
        let none = StatusOrInt { status: 1, value: 0 };
        // SAFETY: the contract of the interface.
        unsafe { memory::put(result, none, "absl::StatusOr<int>") }?;
        Ok(result)
    })
}

refused! {
    "the emulator has no SparseCores"; by value:
    TpuUtil_GetXlaPadSizeFromTpuTopology() -> usize = 0;
}

refused! {
    "the emulator runs no programs of TensorFlow's execute op"; by params:
    TpuExecutable_LoadProgramAndEnqueueToStream;
    TpuExecute_RuntimeInputToPaddedData;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::client::said;
    use crate::status::{give, take};
    use std::ptr;

    #[test]
    fn a_device_has_no_sparse_cores() {
        let mut result = StatusOrInt { status: 77, value: 77 };
        let at = &raw mut result;
        // SAFETY: a place for the result.
        let back = unsafe { TpuTopology_MaybeAvailableSparseCoresPerLogicalDevice(at, 1) };
        assert_eq!(back, at);
        assert_eq!((result.status, result.value), (1, 0));
        assert_eq!(TpuUtil_GetXlaPadSizeFromTpuTopology(), 0);
    }

    #[test]
    fn partitioned_calls_run_as_they_are() {
        let mut params = std::mem::MaybeUninit::<TpuPartitionedCall_Params>::zeroed();
        // SAFETY: a place for the params.
        unsafe { TfTpu_GetTpuPartitionedCallParams(params.as_mut_ptr()) };
        // SAFETY: zeros are params, and these were written.
        let params = unsafe { params.assume_init() };
        assert!(!params.input_shape_opt && !params.enable_auto_xla_input_sharding);
        assert_eq!(params.minimum_input_tensors_packing, 1);
    }

    #[test]
    fn a_status_in_the_params_hears_of_the_refusal() {
        abi::settle(abi::named("jaxlib-0.4.13").unwrap()).unwrap();
        let status = give(Ok(()));
        let mut params = [ptr::null_mut(); 16];
        params[15] = status;
        // SAFETY: params of the dialect, whose status is at offset 120.
        unsafe { TpuExecutable_LoadProgramAndEnqueueToStream(params.as_ptr().cast()) };
        let error = take(status).unwrap_err().to_string();
        let start = "TpuExecutable_LoadProgramAndEnqueueToStream: the emulator runs no programs";
        assert!(error.starts_with(start), "{error}");
        // SAFETY: null is told on standard error alone.
        unsafe { TpuExecutable_LoadProgramAndEnqueueToStream(ptr::null()) };
        assert_eq!(said(|_| ()), Ok(()));
    }
}
