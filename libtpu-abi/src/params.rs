//! Params structs: one pointer to all that a function takes, the status included.
//!
//! Source: `tpu_ops_c_api.h` of the TensorFlow wheels; `tests/data/params.txt` is compiled from
//! them.
#![allow(missing_docs, reason = "names and order are the interface's own")]
use crate::abi::{self, Abi};
use crate::memory::At;
use crate::sys::TF_Status;
use std::ffi::{c_char, c_int, c_void};
use tpu_emu::{Error, Result};

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ConfigureDistributedTpuOp_DoWork_Params {
    pub struct_size: i32,
    pub priv_: *mut c_void,
    pub num_cores_per_host_size: usize,
    pub num_cores_per_host: *const i32,
    pub server_address_size: usize,
    pub server_address: *const c_char,
    pub host_config_output_size: *mut usize,
    pub host_config_output: *mut *mut c_char,
    pub status: *mut TF_Status,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct WaitForDistributedTpuOp_DoWork_Params {
    pub struct_size: i32,
    pub priv_: *mut c_void,
    pub num_hosts: usize,
    pub num_cores_per_host: usize,
    pub host_ordinal_to_global_core_id_map: *const *const i32,
    pub tpu_mesh_common_state: *mut c_void,
    pub tpu_topology_output_size: *mut usize,
    pub tpu_topology_output: *mut *mut c_char,
    pub status: *mut TF_Status,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct InitializeHostForDistributedTpuOp_DoWork_Params {
    pub struct_size: i32,
    pub priv_: *mut c_void,
    pub tpu_host_config_size: usize,
    pub tpu_host_config: *const c_char,
    pub enable_whole_mesh_compilations: u8,
    pub is_master_worker: u8,
    pub core_id_output_size: *mut usize,
    pub core_id_output: *mut *mut i32,
    pub status: *mut TF_Status,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TpuConfigurationApi_CompilationCacheServerAddrFromConfig_Params {
    pub struct_size: i32,
    pub priv_: *mut c_void,
    pub tpu_host_config_size: usize,
    pub tpu_host_config: *const c_char,
    pub server_address_output_size: *mut usize,
    pub server_address_output: *mut *mut c_char,
    pub status: *mut TF_Status,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TpuConfigurationApi_GetServerAddressAndPort_Params {
    pub struct_size: i32,
    pub priv_: *mut c_void,
    pub server_address_output_size: *mut usize,
    pub server_address_output: *mut *mut c_char,
    pub port_output: *mut c_int,
    pub status: *mut TF_Status,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TpuPartitionedCall_Params {
    pub input_shape_opt: bool,
    pub group_tensors_for_packing: bool,
    pub minimum_input_tensors_packing: i32,
    pub minimum_output_tensors_packing: i32,
    pub enable_auto_xla_input_sharding: bool,
    pub auto_xla_input_sharding_dim: i32,
    pub enable_variable_deduplication: bool,
}

/// As far as all dialects have it; it comes by value, on the stack.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CompilationCacheKeyProperty {
    pub config_prefix: *const c_char,
    pub shapes_prefix: *const c_char,
    pub function_name: *const c_char,
    pub mlir_module_fingerprint: u64,
    pub device_ids: *const i32,
    pub device_ids_size: usize,
    pub guaranteed_constants_size: i32,
    pub function_library_fingerprint: u64,
    pub num_cores_per_replica: i32,
    pub num_replicas: i32,
    pub mesh_state: *const c_void,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CompilationCacheKeyResult {
    pub key: *const c_char,
    pub debug_string: *const c_char,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TpuProgramFingerprint {
    pub bytes: *const c_char,
    pub size: usize,
}

/// Where the status of a function's params lies.
#[derive(Debug, Clone, Copy)]
enum StatusOffset {
    /// The same offset in all dialects.
    At(usize),
    /// 48 bytes further on where three messages about embeddings and topology come before it:
    /// 2.18 and later.
    BehindTopology(usize),
    /// `TpuExecutable_LoadProgramAndEnqueueToStream_Params`, which changed four times.
    LoadProgram,
}

impl StatusOffset {
    fn offset(self, abi: &Abi) -> usize {
        match self {
            Self::At(offset) => offset,
            Self::BehindTopology(offset) => offset + if abi.calls.configs { 0 } else { 48 },
            Self::LoadProgram => match abi.name {
                "tf-2.7" => 88,
                "tf-2.13" => 104,
                "tf-2.14" | "jaxlib-0.4.13" => 120,
                _ => 112,
            },
        }
    }
}

/// The functions that are refused with a status in their params.
const STATUSES: &[(&str, StatusOffset)] = &[
    ("SparseCore_GetMaxIdsAndUniques", StatusOffset::At(48)),
    ("TpuEmbeddingEngine_CollateMemory", StatusOffset::At(48)),
    ("TpuEmbeddingEngine_ConfigureHost", StatusOffset::At(88)),
    ("TpuEmbeddingEngine_ConfigureMemory", StatusOffset::At(56)),
    ("TpuEmbeddingEngine_ConnectHosts", StatusOffset::At(32)),
    ("TpuEmbeddingEngine_DedupDataSizeComputation", StatusOffset::BehindTopology(40)),
    ("TpuEmbeddingEngine_DedupDataTupleMaskComputation", StatusOffset::BehindTopology(40)),
    ("TpuEmbeddingEngine_EnqueueTensorBatch", StatusOffset::At(80)),
    ("TpuEmbeddingEngine_ExecutePartitioner", StatusOffset::At(48)),
    ("TpuEmbeddingEngine_Finalize", StatusOffset::At(56)),
    ("TpuEmbeddingEngine_IsInitialized", StatusOffset::At(40)),
    ("TpuEmbeddingEngine_RecvActivationsComputation", StatusOffset::BehindTopology(56)),
    (
        "TpuEmbeddingEngine_RecvTPUEmbeddingDeduplicationDataComputation",
        StatusOffset::BehindTopology(48),
    ),
    ("TpuEmbeddingEngine_SendTPUEmbeddingGradientsComputation", StatusOffset::BehindTopology(80)),
    ("TpuEmbeddingTensorBatchFixedState_Create", StatusOffset::At(32)),
    ("TpuExecutable_LoadProgramAndEnqueueToStream", StatusOffset::LoadProgram),
    ("TpuExecute_RuntimeInputToPaddedData", StatusOffset::At(64)),
];

/// Where the status of a function's params is.
fn offset(function: &str, abi: &Abi) -> Result<usize> {
    let row = STATUSES.iter().find(|(name, _)| *name == function);
    let (_, place) = row.ok_or_else(|| Error::NotFound(format!("the status of {function}")))?;
    Ok(place.offset(abi))
}

/// The status in a function's params.
///
/// # Errors
/// `WrongState` where the dialect is not known.
pub(crate) fn status(function: &str, params: At<'_>) -> Result<*mut TF_Status> {
    Ok(params.read(offset(function, abi::current()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Our number for a struct's size or a member's offset.
    fn number(abi: &Abi, name: &str) -> Option<usize> {
        macro_rules! known {
            ($($of:ident { $($theirs:literal = $member:ident),* })*) => {
                match name {
                    $(
                        stringify!($of) => return Some(size_of::<$of>()),
                        $(
                            concat!(stringify!($of), ".", $theirs) => {
                                return Some(offset_of!($of, $member));
                            }
                        )*
                    )*
                    _ => {}
                }
            };
        }
        known! {
            ConfigureDistributedTpuOp_DoWork_Params {
                "struct_size" = struct_size, "priv" = priv_,
                "num_cores_per_host_size" = num_cores_per_host_size,
                "num_cores_per_host" = num_cores_per_host,
                "server_address_size" = server_address_size, "server_address" = server_address,
                "host_config_output_size" = host_config_output_size,
                "host_config_output" = host_config_output, "status" = status
            }
            WaitForDistributedTpuOp_DoWork_Params {
                "struct_size" = struct_size, "priv" = priv_, "num_hosts" = num_hosts,
                "num_cores_per_host" = num_cores_per_host,
                "host_ordinal_to_global_core_id_map" = host_ordinal_to_global_core_id_map,
                "tpu_mesh_common_state" = tpu_mesh_common_state,
                "tpu_topology_output_size" = tpu_topology_output_size,
                "tpu_topology_output" = tpu_topology_output, "status" = status
            }
            InitializeHostForDistributedTpuOp_DoWork_Params {
                "struct_size" = struct_size, "priv" = priv_,
                "tpu_host_config_size" = tpu_host_config_size, "tpu_host_config" = tpu_host_config,
                "enable_whole_mesh_compilations" = enable_whole_mesh_compilations,
                "is_master_worker" = is_master_worker, "core_id_output_size" = core_id_output_size,
                "core_id_output" = core_id_output, "status" = status
            }
            TpuConfigurationApi_CompilationCacheServerAddrFromConfig_Params {
                "struct_size" = struct_size, "priv" = priv_,
                "tpu_host_config_size" = tpu_host_config_size, "tpu_host_config" = tpu_host_config,
                "server_address_output_size" = server_address_output_size,
                "server_address_output" = server_address_output, "status" = status
            }
            TpuConfigurationApi_GetServerAddressAndPort_Params {
                "struct_size" = struct_size, "priv" = priv_,
                "server_address_output_size" = server_address_output_size,
                "server_address_output" = server_address_output, "port_output" = port_output,
                "status" = status
            }
            TpuPartitionedCall_Params {
                "input_shape_opt" = input_shape_opt,
                "group_tensors_for_packing" = group_tensors_for_packing,
                "minimum_input_tensors_packing" = minimum_input_tensors_packing,
                "minimum_output_tensors_packing" = minimum_output_tensors_packing,
                "enable_auto_xla_input_sharding" = enable_auto_xla_input_sharding,
                "auto_xla_input_sharding_dim" = auto_xla_input_sharding_dim,
                "enable_variable_deduplication" = enable_variable_deduplication
            }
            CompilationCacheKeyProperty {
                "config_prefix" = config_prefix, "shapes_prefix" = shapes_prefix,
                "function_name" = function_name,
                "mlir_module_fingerprint" = mlir_module_fingerprint, "device_ids" = device_ids,
                "device_ids_size" = device_ids_size,
                "guaranteed_constants_size" = guaranteed_constants_size,
                "function_library_fingerprint" = function_library_fingerprint,
                "num_cores_per_replica" = num_cores_per_replica, "num_replicas" = num_replicas,
                "mesh_state" = mesh_state
            }
            CompilationCacheKeyResult { "key" = key, "debug_string" = debug_string }
            TpuProgramFingerprint { "bytes" = bytes, "size" = size }
        }
        let (of, member) = name.split_once('.')?;
        let function = match of {
            "TpuEmbedding_TensorBatchFixedState_Create_Params" => {
                "TpuEmbeddingTensorBatchFixedState_Create"
            }
            _ => of.strip_suffix("_Params")?,
        };
        offset(function, abi).ok().filter(|_| member == "status")
    }

    #[test]
    fn offsets_are_those_of_the_headers() {
        let theirs = include_str!("../tests/data/params.txt");
        let (compared, wrong) = abi::compiled::compare(theirs, number);
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!(compared, 676);
    }
}
