//! The function table: one row a function.
use crate::boundary::{c_args, end_of, serve};
use crate::sys;
use crate::sys::{PJRT_Api, PJRT_Api_Version, PJRT_Error};
use std::ptr;

mod async_transfer;
mod buffer;
mod client;
mod compile;
mod copy_to_device_stream;
mod device;
mod device_description;
mod error;
mod event;
mod executable;
mod execute_context;
mod loaded_executable;
mod memory;
pub(crate) mod plugin;
pub(crate) mod topology;

/// How far a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// Works as the header says.
    Done,
    /// Answers UNIMPLEMENTED with its own name.
    Missing,
}

/// One function of the table, for the status page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The name in the header.
    pub name: &'static str,
    /// How far it is.
    pub state: RowState,
}

/// Whether a call that only gives something up may do nothing: in the child of a fork, where
/// the object is the parent's and an error would make some clients abort.
fn is_forked_child() -> bool {
    crate::machine_if_made().is_some_and(|machine| machine.is_forked())
}

/// Writes the C function of a row.
///
/// `destroy(path, Args, last)`: as `call`, for a function that gives an object up.
/// `raw(path, Args)`: the C function itself. The others: see `c_function`.
macro_rules! entry {
    ($name:ident destroy($path:path, $args:ident, $last:ident)) => {
        pub(super) unsafe extern "C" fn $name(args: *mut sys::$args) -> *mut PJRT_Error {
            if is_forked_child() {
                return ptr::null_mut();
            }
            // SAFETY: the caller keeps the header's contract for `args`.
            unsafe { serve(&stringify!($name), args, end_of!(sys::$args, $last), $path) }
        }
    };
    ($name:ident raw($path:path, $args:ident)) => {
        pub(super) use $path as $name;
    };
    ($name:ident $how:ident($($with:tt)*)) => {
        crate::boundary::c_function!($name $how($($with)*));
    };
}

/// Promises for the argument struct of a row what `serve` needs of it.
macro_rules! row_args {
    (missing($args:ident)) => {
        c_args!($args);
    };
    ($how:ident($path:path, $args:ident $(, $last:ident)?)) => {
        c_args!($args);
    };
}

macro_rules! state_of {
    (missing) => {
        RowState::Missing
    };
    ($how:ident) => {
        RowState::Done
    };
}

/// Writes the functions, the table and the list of rows. A field of [`PJRT_Api`] without a row
/// does not compile.
macro_rules! pjrt_api {
    ($($name:ident => $how:ident($($with:tt)*),)*) => {
        // UNSAFETY: C calls these; each hands its arguments to `serve` and nowhere else.
        #[expect(unsafe_code, reason = "functions that C calls")]
        #[expect(non_snake_case, reason = "they appear in recorded stacks under these names")]
        mod table {
            use super::{
                PJRT_Error, async_transfer, buffer, client, compile, copy_to_device_stream, device, device_description,
                end_of, error, event, executable, execute_context, is_forked_child,
                loaded_executable, memory, plugin, ptr, serve, sys, topology,
            };
            $(entry!($name $how($($with)*));)*
        }

        $(row_args!($how($($with)*));)*

        /// The table that `GetPjrtApi` gives out, without extensions.
        pub(crate) const fn table() -> PJRT_Api {
            PJRT_Api {
                struct_size: size_of::<PJRT_Api>(),
                extension_start: ptr::null_mut(),
                pjrt_api_version: PJRT_Api_Version {
                    struct_size: size_of::<PJRT_Api_Version>(),
                    extension_start: ptr::null_mut(),
                    major_version: sys::PJRT_API_MAJOR,
                    minor_version: sys::PJRT_API_MINOR,
                },
                $($name: Some(table::$name),)*
            }
        }

        /// Every function of the interface and how far it is, in the table's order.
        pub const ROWS: &[Row] =
            &[$(Row { name: stringify!($name), state: state_of!($how) }),*];
    };
}

pjrt_api! {
    PJRT_Error_Destroy => raw(super::error::destroy, PJRT_Error_Destroy_Args),
    PJRT_Error_Message => raw(super::error::message, PJRT_Error_Message_Args),
    PJRT_Error_GetCode => call(error::get_code, PJRT_Error_GetCode_Args, code),
    PJRT_Plugin_Initialize =>
        call(plugin::initialize, PJRT_Plugin_Initialize_Args, extension_start),
    PJRT_Plugin_Attributes => raw(super::plugin::attributes, PJRT_Plugin_Attributes_Args),
    PJRT_Event_Destroy => destroy(event::destroy, PJRT_Event_Destroy_Args, event),
    PJRT_Event_IsReady => call(event::is_ready, PJRT_Event_IsReady_Args, is_ready),
    PJRT_Event_Error => call(event::error, PJRT_Event_Error_Args, event),
    PJRT_Event_Await => call(event::wait, PJRT_Event_Await_Args, event),
    PJRT_Event_OnReady => call(event::on_ready, PJRT_Event_OnReady_Args, user_arg),
    PJRT_Client_Create => call(client::create, PJRT_Client_Create_Args, client),
    PJRT_Client_Destroy => destroy(client::destroy, PJRT_Client_Destroy_Args, client),
    PJRT_Client_PlatformName =>
        call(client::platform_name, PJRT_Client_PlatformName_Args, platform_name_size),
    PJRT_Client_ProcessIndex =>
        call(client::process_index, PJRT_Client_ProcessIndex_Args, process_index),
    PJRT_Client_PlatformVersion =>
        call(client::platform_version, PJRT_Client_PlatformVersion_Args, platform_version_size),
    PJRT_Client_Devices => call(client::devices, PJRT_Client_Devices_Args, num_devices),
    PJRT_Client_AddressableDevices =>
        call(client::addressable_devices, PJRT_Client_AddressableDevices_Args, num_addressable_devices),
    PJRT_Client_LookupDevice => call(client::lookup_device, PJRT_Client_LookupDevice_Args, device),
    PJRT_Client_LookupAddressableDevice =>
        call(client::lookup_addressable_device, PJRT_Client_LookupAddressableDevice_Args, addressable_device),
    PJRT_Client_AddressableMemories =>
        call(client::addressable_memories, PJRT_Client_AddressableMemories_Args, num_addressable_memories),
    PJRT_Client_Compile => call(compile::compile_and_load, PJRT_Client_Compile_Args, executable),
    PJRT_Client_DefaultDeviceAssignment =>
        call(client::default_device_assignment, PJRT_Client_DefaultDeviceAssignment_Args, default_assignment),
    PJRT_Client_BufferFromHostBuffer =>
        call(buffer::make::from_host_buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer),
    PJRT_DeviceDescription_Id => call(device_description::id, PJRT_DeviceDescription_Id_Args, id),
    PJRT_DeviceDescription_ProcessIndex =>
        call(device_description::process_index, PJRT_DeviceDescription_ProcessIndex_Args, process_index),
    PJRT_DeviceDescription_Attributes =>
        call(device_description::attributes, PJRT_DeviceDescription_Attributes_Args, attributes),
    PJRT_DeviceDescription_Kind =>
        call(device_description::kind, PJRT_DeviceDescription_Kind_Args, device_kind_size),
    PJRT_DeviceDescription_DebugString =>
        call(device_description::debug_string, PJRT_DeviceDescription_DebugString_Args, debug_string_size),
    PJRT_DeviceDescription_ToString =>
        call(device_description::to_string, PJRT_DeviceDescription_ToString_Args, to_string_size),
    PJRT_Device_GetDescription =>
        call(device::description, PJRT_Device_GetDescription_Args, device_description),
    PJRT_Device_IsAddressable =>
        call(device::is_addressable, PJRT_Device_IsAddressable_Args, is_addressable),
    PJRT_Device_LocalHardwareId =>
        call(device::local_hardware_id, PJRT_Device_LocalHardwareId_Args, local_hardware_id),
    PJRT_Device_AddressableMemories =>
        call(device::addressable_memories, PJRT_Device_AddressableMemories_Args, num_memories),
    PJRT_Device_DefaultMemory =>
        call(device::default_memory, PJRT_Device_DefaultMemory_Args, memory),
    PJRT_Device_MemoryStats =>
        call(device::memory_stats, PJRT_Device_MemoryStats_Args, bytes_in_use),
    PJRT_Memory_Id => call(memory::id, PJRT_Memory_Id_Args, id),
    PJRT_Memory_Kind => call(memory::kind, PJRT_Memory_Kind_Args, kind_size),
    PJRT_Memory_DebugString =>
        call(memory::debug_string, PJRT_Memory_DebugString_Args, debug_string_size),
    PJRT_Memory_ToString => call(memory::to_string, PJRT_Memory_ToString_Args, to_string_size),
    PJRT_Memory_AddressableByDevices =>
        call(memory::addressable_by_devices, PJRT_Memory_AddressableByDevices_Args, num_devices),
    PJRT_Executable_Destroy => destroy(executable::destroy, PJRT_Executable_Destroy_Args, executable),
    PJRT_Executable_Name => call(executable::name, PJRT_Executable_Name_Args, executable_name_size),
    PJRT_Executable_NumReplicas =>
        call(executable::num_replicas, PJRT_Executable_NumReplicas_Args, num_replicas),
    PJRT_Executable_NumPartitions =>
        call(executable::num_partitions, PJRT_Executable_NumPartitions_Args, num_partitions),
    PJRT_Executable_NumOutputs =>
        call(executable::num_outputs, PJRT_Executable_NumOutputs_Args, num_outputs),
    PJRT_Executable_SizeOfGeneratedCodeInBytes =>
        call(executable::code_size, PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, size_in_bytes),
    PJRT_Executable_GetCostAnalysis =>
        call(executable::cost_analysis, PJRT_Executable_GetCostAnalysis_Args, properties),
    PJRT_Executable_OutputMemoryKinds =>
        call(executable::output_memory_kinds, PJRT_Executable_OutputMemoryKinds_Args, memory_kind_sizes),
    PJRT_Executable_OptimizedProgram =>
        call(executable::optimized_program, PJRT_Executable_OptimizedProgram_Args, program),
    PJRT_Executable_Serialize =>
        call(compile::serialize, PJRT_Executable_Serialize_Args, serialized_executable_deleter),
    PJRT_LoadedExecutable_Destroy => destroy(loaded_executable::destroy, PJRT_LoadedExecutable_Destroy_Args, executable),
    PJRT_LoadedExecutable_GetExecutable =>
        call(loaded_executable::executable, PJRT_LoadedExecutable_GetExecutable_Args, executable),
    PJRT_LoadedExecutable_AddressableDevices =>
        call(loaded_executable::addressable_devices, PJRT_LoadedExecutable_AddressableDevices_Args, num_addressable_devices),
    PJRT_LoadedExecutable_Delete =>
        destroy(loaded_executable::delete, PJRT_LoadedExecutable_Delete_Args, executable),
    PJRT_LoadedExecutable_IsDeleted =>
        call(loaded_executable::is_deleted, PJRT_LoadedExecutable_IsDeleted_Args, is_deleted),
    PJRT_LoadedExecutable_Execute =>
        call(loaded_executable::execute::execute, PJRT_LoadedExecutable_Execute_Args, execute_device),
    PJRT_Executable_DeserializeAndLoad =>
        call(compile::deserialize_and_load, PJRT_Executable_DeserializeAndLoad_Args, loaded_executable),
    PJRT_LoadedExecutable_Fingerprint =>
        call(loaded_executable::fingerprint, PJRT_LoadedExecutable_Fingerprint_Args, executable_fingerprint_size),
    PJRT_Buffer_Destroy => destroy(buffer::destroy, PJRT_Buffer_Destroy_Args, buffer),
    PJRT_Buffer_ElementType => call(buffer::element_type, PJRT_Buffer_ElementType_Args, type_),
    PJRT_Buffer_Dimensions => call(buffer::dimensions, PJRT_Buffer_Dimensions_Args, num_dims),
    PJRT_Buffer_UnpaddedDimensions =>
        call(buffer::unpadded_dimensions, PJRT_Buffer_UnpaddedDimensions_Args, num_dims),
    PJRT_Buffer_DynamicDimensionIndices =>
        call(buffer::dynamic_dimension_indices, PJRT_Buffer_DynamicDimensionIndices_Args, num_dynamic_dims),
    PJRT_Buffer_GetMemoryLayout =>
        call(buffer::memory_layout, PJRT_Buffer_GetMemoryLayout_Args, layout),
    PJRT_Buffer_OnDeviceSizeInBytes =>
        call(buffer::size, PJRT_Buffer_OnDeviceSizeInBytes_Args, on_device_size_in_bytes),
    PJRT_Buffer_Device => call(buffer::device, PJRT_Buffer_Device_Args, device),
    PJRT_Buffer_Memory => call(buffer::memory, PJRT_Buffer_Memory_Args, memory),
    PJRT_Buffer_Delete => destroy(buffer::delete, PJRT_Buffer_Delete_Args, buffer),
    PJRT_Buffer_IsDeleted => call(buffer::is_deleted, PJRT_Buffer_IsDeleted_Args, is_deleted),
    PJRT_Buffer_CopyToDevice =>
        call(buffer::transfer::copy_to_device, PJRT_Buffer_CopyToDevice_Args, dst_buffer),
    PJRT_Buffer_ToHostBuffer =>
        call(buffer::transfer::to_host_buffer, PJRT_Buffer_ToHostBuffer_Args, event),
    PJRT_Buffer_IsOnCpu => call(buffer::is_on_cpu, PJRT_Buffer_IsOnCpu_Args, is_on_cpu),
    PJRT_Buffer_ReadyEvent => call(buffer::ready_event, PJRT_Buffer_ReadyEvent_Args, event),
    PJRT_Buffer_UnsafePointer =>
        call(buffer::unsafe_pointer, PJRT_Buffer_UnsafePointer_Args, buffer_pointer),
    PJRT_Buffer_IncreaseExternalReferenceCount =>
        call(buffer::increase_external_references, PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer),
    PJRT_Buffer_DecreaseExternalReferenceCount =>
        destroy(buffer::decrease_external_references, PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer),
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer =>
        call(buffer::data_pointer, PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr),
    PJRT_CopyToDeviceStream_Destroy =>
        destroy(copy_to_device_stream::destroy, PJRT_CopyToDeviceStream_Destroy_Args, stream),
    PJRT_CopyToDeviceStream_AddChunk =>
        call(copy_to_device_stream::add_chunk, PJRT_CopyToDeviceStream_AddChunk_Args, transfer_complete),
    PJRT_CopyToDeviceStream_TotalBytes =>
        call(copy_to_device_stream::total_bytes, PJRT_CopyToDeviceStream_TotalBytes_Args, total_bytes),
    PJRT_CopyToDeviceStream_GranuleSize =>
        call(copy_to_device_stream::granule_size, PJRT_CopyToDeviceStream_GranuleSize_Args, granule_size_in_bytes),
    PJRT_CopyToDeviceStream_CurrentBytes =>
        call(copy_to_device_stream::current_bytes, PJRT_CopyToDeviceStream_CurrentBytes_Args, current_bytes),
    PJRT_TopologyDescription_Create =>
        call(topology::create, PJRT_TopologyDescription_Create_Args, topology),
    PJRT_TopologyDescription_Destroy =>
        destroy(topology::destroy, PJRT_TopologyDescription_Destroy_Args, topology),
    PJRT_TopologyDescription_PlatformName =>
        call(topology::platform_name, PJRT_TopologyDescription_PlatformName_Args, platform_name_size),
    PJRT_TopologyDescription_PlatformVersion =>
        call(topology::platform_version, PJRT_TopologyDescription_PlatformVersion_Args, platform_version_size),
    PJRT_TopologyDescription_GetDeviceDescriptions =>
        call(topology::device_descriptions, PJRT_TopologyDescription_GetDeviceDescriptions_Args, num_descriptions),
    PJRT_TopologyDescription_Serialize =>
        call(topology::serialize, PJRT_TopologyDescription_Serialize_Args, serialized_topology_deleter),
    PJRT_TopologyDescription_Attributes =>
        call(topology::attributes, PJRT_TopologyDescription_Attributes_Args, num_attributes),
    PJRT_Compile => call(compile::compile, PJRT_Compile_Args, executable),
    PJRT_Executable_OutputElementTypes =>
        call(executable::output_element_types, PJRT_Executable_OutputElementTypes_Args, num_output_types),
    PJRT_Executable_OutputDimensions =>
        call(executable::output_dimensions, PJRT_Executable_OutputDimensions_Args, dim_sizes),
    PJRT_Buffer_CopyToMemory =>
        call(buffer::transfer::copy_to_memory, PJRT_Buffer_CopyToMemory_Args, dst_buffer),
    PJRT_Client_CreateViewOfDeviceBuffer =>
        call(buffer::make::view_of_device_buffer, PJRT_Client_CreateViewOfDeviceBuffer_Args, buffer),
    PJRT_Executable_Fingerprint =>
        call(executable::fingerprint, PJRT_Executable_Fingerprint_Args, executable_fingerprint_size),
    PJRT_Client_TopologyDescription =>
        call(client::topology, PJRT_Client_TopologyDescription_Args, topology),
    PJRT_Executable_GetCompiledMemoryStats =>
        call(executable::memory_stats, PJRT_Executable_GetCompiledMemoryStats_Args, host_temp_size_in_bytes),
    PJRT_Memory_Kind_Id => call(memory::kind_id, PJRT_Memory_Kind_Id_Args, kind_id),
    PJRT_ExecuteContext_Create =>
        call(execute_context::create, PJRT_ExecuteContext_Create_Args, context),
    PJRT_ExecuteContext_Destroy =>
        destroy(execute_context::destroy, PJRT_ExecuteContext_Destroy_Args, context),
    PJRT_Buffer_CopyRawToHost =>
        call(buffer::transfer::copy_raw_to_host, PJRT_Buffer_CopyRawToHost_Args, event),
    PJRT_AsyncHostToDeviceTransferManager_Destroy =>
        destroy(async_transfer::destroy, PJRT_AsyncHostToDeviceTransferManager_Destroy_Args, transfer_manager),
    PJRT_AsyncHostToDeviceTransferManager_TransferData =>
        call(async_transfer::transfer_data, PJRT_AsyncHostToDeviceTransferManager_TransferData_Args, done_with_h2d_transfer),
    PJRT_Client_CreateBuffersForAsyncHostToDevice =>
        call(async_transfer::create, PJRT_Client_CreateBuffersForAsyncHostToDevice_Args, transfer_manager),
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer =>
        call(async_transfer::retrieve_buffer, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args, buffer_out),
    PJRT_AsyncHostToDeviceTransferManager_Device =>
        call(async_transfer::device, PJRT_AsyncHostToDeviceTransferManager_Device_Args, device_out),
    PJRT_AsyncHostToDeviceTransferManager_BufferCount =>
        call(async_transfer::buffer_count, PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args, buffer_count),
    PJRT_AsyncHostToDeviceTransferManager_BufferSize =>
        call(async_transfer::buffer_size, PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args, buffer_size),
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError =>
        call(async_transfer::set_buffer_error, PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args, error_message_size),
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata =>
        call(async_transfer::add_metadata, PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args, num_metadata),
    PJRT_Client_DmaMap => call(client::dma_map, PJRT_Client_DmaMap_Args, size),
    PJRT_Client_DmaUnmap => call(client::dma_unmap, PJRT_Client_DmaUnmap_Args, data),
    PJRT_Client_CreateUninitializedBuffer =>
        call(buffer::make::uninitialized, PJRT_Client_CreateUninitializedBuffer_Args, buffer),
    PJRT_Client_UpdateGlobalProcessInfo =>
        call(client::update_global_process_info, PJRT_Client_UpdateGlobalProcessInfo_Args, num_process_infos),
    PJRT_TopologyDescription_Deserialize =>
        call(topology::deserialize, PJRT_TopologyDescription_Deserialize_Args, topology),
    PJRT_Client_CreateAliasBuffer =>
        call(buffer::make::alias, PJRT_Client_CreateAliasBuffer_Args, fulfill_alias_buffer_cb),
    PJRT_Client_FulfillAliasBuffer =>
        call(buffer::make::fulfil_alias, PJRT_Client_FulfillAliasBuffer_Args, fulfill_alias_buffer_cb),
    PJRT_LoadedExecutable_GetDeviceAssignment =>
        call(loaded_executable::device_assignment, PJRT_LoadedExecutable_GetDeviceAssignment_Args, serialized_device_assignment_deleter),
    PJRT_Client_CreateErrorBuffer =>
        call(buffer::make::error, PJRT_Client_CreateErrorBuffer_Args, buffer),
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral =>
        call(async_transfer::transfer_literal, PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args, done_with_h2d_transfer),
    PJRT_Buffer_CopyRawToHostFuture =>
        call(buffer::transfer::copy_raw_to_host_future, PJRT_Buffer_CopyRawToHostFuture_Args, future_ready_callback),
    PJRT_Device_PoisonExecution =>
        call(device::poison_execution, PJRT_Device_PoisonExecution_Args, poisoned),
    PJRT_Device_CreateAsyncTrackingEvent =>
        call(device::create_async_tracking_event, PJRT_Device_CreateAsyncTrackingEvent_Args, event),
    PJRT_AsyncTrackingEvent_Destroy =>
        destroy(device::destroy_async_tracking_event, PJRT_AsyncTrackingEvent_Destroy_Args, event),
    PJRT_Executable_GetCompileOptions =>
        call(executable::compile_options, PJRT_Executable_GetCompileOptions_Args, serialized_compile_options_deleter),
    PJRT_Buffer_DonateWithControlDependency =>
        call(buffer::transfer::donate_with_control_dependency, PJRT_Buffer_DonateWithControlDependency_Args, out_buffer),
    PJRT_Event_Create => call(event::create, PJRT_Event_Create_Args, event),
    PJRT_Event_Set => call(event::set, PJRT_Event_Set_Args, error_message_size),
    PJRT_Device_GetAttributes =>
        call(device::attributes, PJRT_Device_GetAttributes_Args, attributes_deleter),
    PJRT_Client_Load => call(compile::load, PJRT_Client_Load_Args, loaded_executable),
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds =>
        call(loaded_executable::addressable_device_logical_ids, PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args, num_addressable_device_logical_ids),
    PJRT_Buffer_Bitcast => call(buffer::transfer::bitcast, PJRT_Buffer_Bitcast_Args, out_buffer),
    PJRT_Error_ForEachPayload =>
        call(error::for_each_payload, PJRT_Error_ForEachPayload_Args, error),
    PJRT_TopologyDescription_Fingerprint =>
        call(topology::fingerprint, PJRT_TopologyDescription_Fingerprint_Args, fingerprint),
    PJRT_Executable_ParameterMemoryKinds =>
        call(executable::parameter_memory_kinds, PJRT_Executable_ParameterMemoryKinds_Args, memory_kind_sizes),
    PJRT_Device_ClearMemoryStats =>
        call(device::clear_memory_stats, PJRT_Device_ClearMemoryStats_Args, device),
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace =>
        call(topology::shape::canonical, PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args, serialized_shape_deleter),
    PJRT_TopologyDescription_GetMemorySpaceKindIds =>
        call(topology::memory_space_kind_ids, PJRT_TopologyDescription_GetMemorySpaceKindIds_Args, num_memory_space_kind_ids),
}
