//! The PJRT C API and XLA FFI in Rust, as their headers in `include/` declare them.
//
// Generated from include/all.h, which names every header, by
// `UPDATE=1 cargo test -p pjrt-sys`. Never edited: edit the headers.
//
// An enum is a struct around its number and a C bool is a byte, because a caller may write any
// number there. A handle's struct has no fields that Rust may touch.
#![expect(missing_docs, reason = "the headers say what each declaration is")]
#![expect(non_camel_case_types, reason = "the names are the interface's")]
#![expect(non_snake_case, reason = "the names are the interface's")]
#![expect(non_upper_case_globals, reason = "the names are the interface's")]

pub const PJRT_API_MAJOR: i32 = 0;
pub const PJRT_API_MINOR: i32 = 114;
pub const PJRT_API_ABI_VERSION_EXTENSION_VERSION: i32 = 1;
pub const PJRT_API_CALLBACK_EXTENSION_VERSION: i32 = 1;
pub const PJRT_API_CROSS_HOST_TRANSFERS_EXTENSION_VERSION: i32 = 5;
pub const PJRT_API_CUSTOM_PARTITIONER_EXTENSION_VERSION: i32 = 1;
pub const PJRT_API_EXECUTABLE_METADATA_EXTENSION_VERSION: i32 = 1;
pub const PJRT_API_FFI_EXTENSION_VERSION: i32 = 3;
pub const PJRT_API_HOST_ALLOCATOR_EXTENSION_VERSION: i32 = 0;
pub const PJRT_API_HOST_MEMORY_ALLOCATOR_EXTENSION_VERSION: i32 = 0;
pub const PJRT_API_LAYOUTS_EXTENSION_VERSION: i32 = 4;
pub const PJRT_API_MEMORY_DESCRIPTIONS_EXTENSION_VERSION: i32 = 1;
pub const PJRT_API_PHASE_COMPILE_EXTENSION_VERSION: i32 = 1;
pub const PLUGIN_PROFILER_VERSION: i32 = 1;
pub const PJRT_API_PROFILER_EXTENSION_VERSION: i32 = 1;
pub const PJRT_API_RAW_BUFFER_EXTENSION_VERSION: i32 = 2;
pub const PJRT_API_SHARDINGS_EXTENSION_VERSION: i32 = 1;
pub const PJRT_API_STREAM_EXTENSION_VERSION: i32 = 0;
pub const PJRT_API_TPU_TOPOLOGY_EXTENSION_VERSION: i32 = 1;
pub const XLA_FFI_API_MAJOR: i32 = 0;
pub const XLA_FFI_API_MINOR: i32 = 5;
impl PJRT_Extension_Type {
    pub const PJRT_Extension_Type_Gpu_Custom_Call: PJRT_Extension_Type = PJRT_Extension_Type(0);
    pub const PJRT_Extension_Type_Profiler: PJRT_Extension_Type = PJRT_Extension_Type(1);
    pub const PJRT_Extension_Type_Custom_Partitioner: PJRT_Extension_Type = PJRT_Extension_Type(2);
    pub const PJRT_Extension_Type_Stream: PJRT_Extension_Type = PJRT_Extension_Type(3);
    pub const PJRT_Extension_Type_Layouts: PJRT_Extension_Type = PJRT_Extension_Type(4);
    pub const PJRT_Extension_Type_FFI: PJRT_Extension_Type = PJRT_Extension_Type(5);
    pub const PJRT_Extension_Type_MemoryDescriptions: PJRT_Extension_Type = PJRT_Extension_Type(6);
    pub const PJRT_Extension_Type_Triton: PJRT_Extension_Type = PJRT_Extension_Type(7);
    pub const PJRT_Extension_Type_RawBuffer: PJRT_Extension_Type = PJRT_Extension_Type(8);
    pub const PJRT_Extension_Type_PhaseCompile: PJRT_Extension_Type = PJRT_Extension_Type(9);
    pub const PJRT_Extension_Type_Example: PJRT_Extension_Type = PJRT_Extension_Type(10);
    pub const PJRT_Extension_Type_Unknown: PJRT_Extension_Type = PJRT_Extension_Type(11);
    pub const PJRT_Extension_Type_CrossHostTransfers: PJRT_Extension_Type = PJRT_Extension_Type(12);
    pub const PJRT_Extension_Type_ExecutableMetadata: PJRT_Extension_Type = PJRT_Extension_Type(13);
    pub const PJRT_Extension_Type_Callback: PJRT_Extension_Type = PJRT_Extension_Type(14);
    pub const PJRT_Extension_Type_HostAllocator: PJRT_Extension_Type = PJRT_Extension_Type(15);
    pub const PJRT_Extension_Type_TpuTopology: PJRT_Extension_Type = PJRT_Extension_Type(16);
    pub const PJRT_Extension_Type_TpuExecutable: PJRT_Extension_Type = PJRT_Extension_Type(17);
    pub const PJRT_Extension_Type_Megascale: PJRT_Extension_Type = PJRT_Extension_Type(18);
    pub const PJRT_Extension_Type_Shardings: PJRT_Extension_Type = PJRT_Extension_Type(19);
    pub const PJRT_Extension_Type_AbiVersion: PJRT_Extension_Type = PJRT_Extension_Type(20);
    pub const PJRT_Extension_Type_Collectives: PJRT_Extension_Type = PJRT_Extension_Type(21);
    pub const PJRT_Extension_Type_MultiSlice: PJRT_Extension_Type = PJRT_Extension_Type(22);
    pub const PJRT_Extension_Type_HostMemoryAllocator: PJRT_Extension_Type =
        PJRT_Extension_Type(23);
    pub const PJRT_Extension_Type_XlaTransform: PJRT_Extension_Type = PJRT_Extension_Type(24);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_Extension_Type(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Extension_Base {
    pub struct_size: usize,
    pub type_: PJRT_Extension_Type,
    pub next: *mut PJRT_Extension_Base,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Api_Version {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub major_version: ::core::ffi::c_int,
    pub minor_version: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *mut PJRT_Error,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_Message_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub message: *const ::core::ffi::c_char,
    pub message_size: usize,
}
impl PJRT_Error_Code {
    pub const PJRT_Error_Code_OK: PJRT_Error_Code = PJRT_Error_Code(0);
    pub const PJRT_Error_Code_CANCELLED: PJRT_Error_Code = PJRT_Error_Code(1);
    pub const PJRT_Error_Code_UNKNOWN: PJRT_Error_Code = PJRT_Error_Code(2);
    pub const PJRT_Error_Code_INVALID_ARGUMENT: PJRT_Error_Code = PJRT_Error_Code(3);
    pub const PJRT_Error_Code_DEADLINE_EXCEEDED: PJRT_Error_Code = PJRT_Error_Code(4);
    pub const PJRT_Error_Code_NOT_FOUND: PJRT_Error_Code = PJRT_Error_Code(5);
    pub const PJRT_Error_Code_ALREADY_EXISTS: PJRT_Error_Code = PJRT_Error_Code(6);
    pub const PJRT_Error_Code_PERMISSION_DENIED: PJRT_Error_Code = PJRT_Error_Code(7);
    pub const PJRT_Error_Code_RESOURCE_EXHAUSTED: PJRT_Error_Code = PJRT_Error_Code(8);
    pub const PJRT_Error_Code_FAILED_PRECONDITION: PJRT_Error_Code = PJRT_Error_Code(9);
    pub const PJRT_Error_Code_ABORTED: PJRT_Error_Code = PJRT_Error_Code(10);
    pub const PJRT_Error_Code_OUT_OF_RANGE: PJRT_Error_Code = PJRT_Error_Code(11);
    pub const PJRT_Error_Code_UNIMPLEMENTED: PJRT_Error_Code = PJRT_Error_Code(12);
    pub const PJRT_Error_Code_INTERNAL: PJRT_Error_Code = PJRT_Error_Code(13);
    pub const PJRT_Error_Code_UNAVAILABLE: PJRT_Error_Code = PJRT_Error_Code(14);
    pub const PJRT_Error_Code_DATA_LOSS: PJRT_Error_Code = PJRT_Error_Code(15);
    pub const PJRT_Error_Code_UNAUTHENTICATED: PJRT_Error_Code = PJRT_Error_Code(16);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_Error_Code(pub ::core::ffi::c_uint);
pub type PJRT_Error_PayloadVisitor = ::core::option::Option<
    unsafe extern "C" fn(
        key: *const ::core::ffi::c_char,
        key_size: usize,
        value: *const ::core::ffi::c_char,
        value_size: usize,
        user_arg: *mut ::core::ffi::c_void,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_FunctionTable {
    pub struct_size: usize,
    pub instance_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub destroy: ::core::option::Option<unsafe extern "C" fn(error: *mut PJRT_Error)>,
    pub message: ::core::option::Option<
        unsafe extern "C" fn(
            error: *const PJRT_Error,
            message: *mut *const ::core::ffi::c_char,
            message_size: *mut usize,
        ),
    >,
    pub get_code:
        ::core::option::Option<unsafe extern "C" fn(error: *const PJRT_Error) -> PJRT_Error_Code>,
    pub for_each_payload: ::core::option::Option<
        unsafe extern "C" fn(
            error: *const PJRT_Error,
            visitor: PJRT_Error_PayloadVisitor,
            user_arg: *mut ::core::ffi::c_void,
        ),
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error {
    pub vtable: *const PJRT_Error_FunctionTable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_GetCode_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub code: PJRT_Error_Code,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Error_ForEachPayload_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub error: *const PJRT_Error,
    pub visitor: PJRT_Error_PayloadVisitor,
    pub user_arg: *mut ::core::ffi::c_void,
}
pub type PJRT_CallbackError = ::core::option::Option<
    unsafe extern "C" fn(
        code: PJRT_Error_Code,
        message: *const ::core::ffi::c_char,
        message_size: usize,
    ) -> *mut PJRT_Error,
>;
impl PJRT_NamedValue_Type {
    pub const PJRT_NamedValue_kString: PJRT_NamedValue_Type = PJRT_NamedValue_Type(0);
    pub const PJRT_NamedValue_kInt64: PJRT_NamedValue_Type = PJRT_NamedValue_Type(1);
    pub const PJRT_NamedValue_kInt64List: PJRT_NamedValue_Type = PJRT_NamedValue_Type(2);
    pub const PJRT_NamedValue_kFloat: PJRT_NamedValue_Type = PJRT_NamedValue_Type(3);
    pub const PJRT_NamedValue_kBool: PJRT_NamedValue_Type = PJRT_NamedValue_Type(4);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_NamedValue_Type(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Copy, Clone)]
pub struct PJRT_NamedValue {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub name: *const ::core::ffi::c_char,
    pub name_size: usize,
    pub type_: PJRT_NamedValue_Type,
    pub anon_1: PJRT_NamedValue__bindgen_ty_1,
    pub value_size: usize,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union PJRT_NamedValue__bindgen_ty_1 {
    pub string_value: *const ::core::ffi::c_char,
    pub int64_value: i64,
    pub int64_array_value: *const i64,
    pub float_value: f32,
    pub bool_value: u8,
}
impl ::core::fmt::Debug for PJRT_NamedValue__bindgen_ty_1 {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        write!(f, "PJRT_NamedValue__bindgen_ty_1 {{ union }}")
    }
}
impl ::core::fmt::Debug for PJRT_NamedValue {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        write!(
            f,
            "PJRT_NamedValue {{ extension_start: {:?}, name: {:?}, type: {:?}, anon_1: {:?} }}",
            self.extension_start, self.name, self.type_, self.anon_1
        )
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Plugin_Initialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Plugin_Attributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub attributes: *const PJRT_NamedValue,
    pub num_attributes: usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Event {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_IsReady_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub is_ready: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Error_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Await_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
pub type PJRT_Event_OnReadyCallback = ::core::option::Option<
    unsafe extern "C" fn(error: *mut PJRT_Error, user_arg: *mut ::core::ffi::c_void),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_OnReady_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub callback: PJRT_Event_OnReadyCallback,
    pub user_arg: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Event_Set_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_Event,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Client {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Device {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_FunctionTable {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub instance_struct_size: usize,
    pub get_user_data: ::core::option::Option<
        unsafe extern "C" fn(
            memory: *mut PJRT_Memory,
            key: *const ::core::ffi::c_void,
        ) -> *mut ::core::ffi::c_void,
    >,
    pub set_user_data: ::core::option::Option<
        unsafe extern "C" fn(
            memory: *mut PJRT_Memory,
            key: *const ::core::ffi::c_void,
            data: *mut ::core::ffi::c_void,
            dtor: ::core::option::Option<unsafe extern "C" fn(arg1: *mut ::core::ffi::c_void)>,
        ),
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory {
    pub vtable: *const PJRT_Memory_FunctionTable,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_DeviceDescription {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_TopologyDescription {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Executable {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_LoadedExecutable {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Buffer {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_FulfillAliasBufferCallback {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_AsyncHostToDeviceTransferManager {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_PhaseCompiler {
    _unused: [u8; 0],
}
pub type PJRT_KeyValueGetCallback_ValueDeleter =
    ::core::option::Option<unsafe extern "C" fn(value: *mut ::core::ffi::c_char)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_KeyValueGetCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const ::core::ffi::c_char,
    pub key_size: usize,
    pub timeout_in_ms: ::core::ffi::c_int,
    pub callback_error: *mut PJRT_CallbackError,
    pub user_arg: *mut ::core::ffi::c_void,
    pub value: *mut ::core::ffi::c_char,
    pub value_size: usize,
    pub value_deleter_callback: PJRT_KeyValueGetCallback_ValueDeleter,
}
pub type PJRT_KeyValueGetCallback = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_KeyValueGetCallback_Args) -> *mut PJRT_Error,
>;
pub type PJRT_KeyValueTryGetCallback_ValueDeleter =
    ::core::option::Option<unsafe extern "C" fn(value: *mut ::core::ffi::c_char)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_KeyValueTryGetCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const ::core::ffi::c_char,
    pub key_size: usize,
    pub callback_error: *mut PJRT_CallbackError,
    pub user_arg: *mut ::core::ffi::c_void,
    pub value: *mut ::core::ffi::c_char,
    pub value_size: usize,
    pub value_deleter_callback: PJRT_KeyValueTryGetCallback_ValueDeleter,
}
pub type PJRT_KeyValueTryGetCallback = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_KeyValueTryGetCallback_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_KeyValuePutCallback_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub key: *const ::core::ffi::c_char,
    pub key_size: usize,
    pub value: *const ::core::ffi::c_char,
    pub value_size: usize,
    pub callback_error: *mut PJRT_CallbackError,
    pub user_arg: *mut ::core::ffi::c_void,
}
pub type PJRT_KeyValuePutCallback = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_KeyValuePutCallback_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub create_options: *const PJRT_NamedValue,
    pub num_options: usize,
    pub kv_get_callback: PJRT_KeyValueGetCallback,
    pub kv_get_user_arg: *mut ::core::ffi::c_void,
    pub kv_put_callback: PJRT_KeyValuePutCallback,
    pub kv_put_user_arg: *mut ::core::ffi::c_void,
    pub client: *mut PJRT_Client,
    pub kv_try_get_callback: PJRT_KeyValueTryGetCallback,
    pub kv_try_get_user_arg: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_PlatformName_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub platform_name: *const ::core::ffi::c_char,
    pub platform_name_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_ProcessIndex_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub process_index: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_PlatformVersion_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub platform_version: *const ::core::ffi::c_char,
    pub platform_version_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_TopologyDescription_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub topology: *mut PJRT_TopologyDescription,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Devices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub devices: *const *mut PJRT_Device,
    pub num_devices: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_AddressableDevices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub addressable_devices: *const *mut PJRT_Device,
    pub num_addressable_devices: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_LookupDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub id: ::core::ffi::c_int,
    pub device: *mut PJRT_Device,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_LookupAddressableDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub local_hardware_id: ::core::ffi::c_int,
    pub addressable_device: *mut PJRT_Device,
}
impl PJRT_ProcessState {
    pub const PJRT_ProcessState_kUnspecified: PJRT_ProcessState = PJRT_ProcessState(0);
    pub const PJRT_ProcessState_kUninitialized: PJRT_ProcessState = PJRT_ProcessState(1);
    pub const PJRT_ProcessState_kDisconnected: PJRT_ProcessState = PJRT_ProcessState(2);
    pub const PJRT_ProcessState_kConnected: PJRT_ProcessState = PJRT_ProcessState(3);
    pub const PJRT_ProcessState_kError: PJRT_ProcessState = PJRT_ProcessState(4);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_ProcessState(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ProcessInfo {
    pub struct_size: usize,
    pub task_id: ::core::ffi::c_int,
    pub incarnation_id: u64,
    pub state: PJRT_ProcessState,
    pub error_code: ::core::ffi::c_int,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_UpdateGlobalProcessInfo_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub process_infos: *mut PJRT_ProcessInfo,
    pub num_process_infos: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_AddressableMemories_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub addressable_memories: *const *mut PJRT_Memory,
    pub num_addressable_memories: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Program {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub code: *mut ::core::ffi::c_char,
    pub code_size: usize,
    pub format: *const ::core::ffi::c_char,
    pub format_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Compile_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub program: *const PJRT_Program,
    pub compile_options: *const ::core::ffi::c_char,
    pub compile_options_size: usize,
    pub executable: *mut PJRT_LoadedExecutable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_Load_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub executable: *mut PJRT_Executable,
    pub compile_options: *const ::core::ffi::c_char,
    pub compile_options_size: usize,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_DefaultDeviceAssignment_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub num_replicas: ::core::ffi::c_int,
    pub num_partitions: ::core::ffi::c_int,
    pub default_assignment_size: usize,
    pub default_assignment: *mut ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_DmaMap_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub data: *mut ::core::ffi::c_void,
    pub size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_DmaUnmap_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub data: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub data: *const ::core::ffi::c_void,
    pub offset: i64,
    pub transfer_size: i64,
    pub is_last_transfer: u8,
    pub done_with_h2d_transfer: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub buffer_out: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub device_out: *mut PJRT_Device,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_count: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub buffer_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub transfer_metadata: *const PJRT_NamedValue,
    pub num_metadata: usize,
}
impl PJRT_Buffer_Type {
    pub const PJRT_Buffer_Type_INVALID: PJRT_Buffer_Type = PJRT_Buffer_Type(0);
    pub const PJRT_Buffer_Type_PRED: PJRT_Buffer_Type = PJRT_Buffer_Type(1);
    pub const PJRT_Buffer_Type_S8: PJRT_Buffer_Type = PJRT_Buffer_Type(2);
    pub const PJRT_Buffer_Type_S16: PJRT_Buffer_Type = PJRT_Buffer_Type(3);
    pub const PJRT_Buffer_Type_S32: PJRT_Buffer_Type = PJRT_Buffer_Type(4);
    pub const PJRT_Buffer_Type_S64: PJRT_Buffer_Type = PJRT_Buffer_Type(5);
    pub const PJRT_Buffer_Type_U8: PJRT_Buffer_Type = PJRT_Buffer_Type(6);
    pub const PJRT_Buffer_Type_U16: PJRT_Buffer_Type = PJRT_Buffer_Type(7);
    pub const PJRT_Buffer_Type_U32: PJRT_Buffer_Type = PJRT_Buffer_Type(8);
    pub const PJRT_Buffer_Type_U64: PJRT_Buffer_Type = PJRT_Buffer_Type(9);
    pub const PJRT_Buffer_Type_F16: PJRT_Buffer_Type = PJRT_Buffer_Type(10);
    pub const PJRT_Buffer_Type_F32: PJRT_Buffer_Type = PJRT_Buffer_Type(11);
    pub const PJRT_Buffer_Type_F64: PJRT_Buffer_Type = PJRT_Buffer_Type(12);
    pub const PJRT_Buffer_Type_BF16: PJRT_Buffer_Type = PJRT_Buffer_Type(13);
    pub const PJRT_Buffer_Type_C64: PJRT_Buffer_Type = PJRT_Buffer_Type(14);
    pub const PJRT_Buffer_Type_C128: PJRT_Buffer_Type = PJRT_Buffer_Type(15);
    pub const PJRT_Buffer_Type_F8E5M2: PJRT_Buffer_Type = PJRT_Buffer_Type(16);
    pub const PJRT_Buffer_Type_F8E4M3FN: PJRT_Buffer_Type = PJRT_Buffer_Type(17);
    pub const PJRT_Buffer_Type_F8E4M3B11FNUZ: PJRT_Buffer_Type = PJRT_Buffer_Type(18);
    pub const PJRT_Buffer_Type_F8E5M2FNUZ: PJRT_Buffer_Type = PJRT_Buffer_Type(19);
    pub const PJRT_Buffer_Type_F8E4M3FNUZ: PJRT_Buffer_Type = PJRT_Buffer_Type(20);
    pub const PJRT_Buffer_Type_S4: PJRT_Buffer_Type = PJRT_Buffer_Type(21);
    pub const PJRT_Buffer_Type_U4: PJRT_Buffer_Type = PJRT_Buffer_Type(22);
    pub const PJRT_Buffer_Type_TOKEN: PJRT_Buffer_Type = PJRT_Buffer_Type(23);
    pub const PJRT_Buffer_Type_S2: PJRT_Buffer_Type = PJRT_Buffer_Type(24);
    pub const PJRT_Buffer_Type_U2: PJRT_Buffer_Type = PJRT_Buffer_Type(25);
    pub const PJRT_Buffer_Type_F8E4M3: PJRT_Buffer_Type = PJRT_Buffer_Type(26);
    pub const PJRT_Buffer_Type_F8E3M4: PJRT_Buffer_Type = PJRT_Buffer_Type(27);
    pub const PJRT_Buffer_Type_F8E8M0FNU: PJRT_Buffer_Type = PJRT_Buffer_Type(28);
    pub const PJRT_Buffer_Type_F4E2M1FN: PJRT_Buffer_Type = PJRT_Buffer_Type(29);
    pub const PJRT_Buffer_Type_S1: PJRT_Buffer_Type = PJRT_Buffer_Type(30);
    pub const PJRT_Buffer_Type_U1: PJRT_Buffer_Type = PJRT_Buffer_Type(31);
    pub const PJRT_Buffer_Type_F6E2M3FN: PJRT_Buffer_Type = PJRT_Buffer_Type(32);
    pub const PJRT_Buffer_Type_F6E3M2FN: PJRT_Buffer_Type = PJRT_Buffer_Type(33);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_Buffer_Type(pub ::core::ffi::c_uint);
impl PJRT_HostBufferSemantics {
    pub const PJRT_HostBufferSemantics_kImmutableOnlyDuringCall: PJRT_HostBufferSemantics =
        PJRT_HostBufferSemantics(0);
    pub const PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes: PJRT_HostBufferSemantics =
        PJRT_HostBufferSemantics(1);
    pub const PJRT_HostBufferSemantics_kImmutableZeroCopy: PJRT_HostBufferSemantics =
        PJRT_HostBufferSemantics(2);
    pub const PJRT_HostBufferSemantics_kMutableZeroCopy: PJRT_HostBufferSemantics =
        PJRT_HostBufferSemantics(3);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_HostBufferSemantics(pub ::core::ffi::c_uint);
impl PJRT_Buffer_MemoryLayout_Type {
    pub const PJRT_Buffer_MemoryLayout_Type_Tiled: PJRT_Buffer_MemoryLayout_Type =
        PJRT_Buffer_MemoryLayout_Type(0);
    pub const PJRT_Buffer_MemoryLayout_Type_Strides: PJRT_Buffer_MemoryLayout_Type =
        PJRT_Buffer_MemoryLayout_Type(1);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_Buffer_MemoryLayout_Type(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_MemoryLayout_Tiled {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub minor_to_major: *const i64,
    pub minor_to_major_size: usize,
    pub tile_dims: *const i64,
    pub tile_dim_sizes: *const usize,
    pub num_tiles: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_MemoryLayout_Strides {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub byte_strides: *const i64,
    pub num_byte_strides: usize,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct PJRT_Buffer_MemoryLayout {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub anon_1: PJRT_Buffer_MemoryLayout__bindgen_ty_1,
    pub type_: PJRT_Buffer_MemoryLayout_Type,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union PJRT_Buffer_MemoryLayout__bindgen_ty_1 {
    pub tiled: PJRT_Buffer_MemoryLayout_Tiled,
    pub strides: PJRT_Buffer_MemoryLayout_Strides,
}
impl ::core::fmt::Debug for PJRT_Buffer_MemoryLayout__bindgen_ty_1 {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        write!(f, "PJRT_Buffer_MemoryLayout__bindgen_ty_1 {{ union }}")
    }
}
impl ::core::fmt::Debug for PJRT_Buffer_MemoryLayout {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        write!(
            f,
            "PJRT_Buffer_MemoryLayout {{ extension_start: {:?}, anon_1: {:?}, type: {:?} }}",
            self.extension_start, self.anon_1, self.type_
        )
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
    pub buffer_index: ::core::ffi::c_int,
    pub data: *const ::core::ffi::c_void,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub done_with_h2d_transfer: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateUninitializedBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub device: *mut PJRT_Device,
    pub memory: *mut PJRT_Memory,
    pub buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateErrorBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub memory: *mut PJRT_Memory,
    pub buffer: *mut PJRT_Buffer,
    pub payload: *const PJRT_NamedValue,
    pub num_payload: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateAliasBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub memory: *mut PJRT_Memory,
    pub shape_dims: *const i64,
    pub shape_num_dims: usize,
    pub shape_element_type: PJRT_Buffer_Type,
    pub shape_layout: *mut PJRT_Buffer_MemoryLayout,
    pub alias_buffer: *mut PJRT_Buffer,
    pub fulfill_alias_buffer_cb: *mut PJRT_FulfillAliasBufferCallback,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_FulfillAliasBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub buffer: *mut PJRT_Buffer,
    pub status_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub fulfill_alias_buffer_cb: *mut PJRT_FulfillAliasBufferCallback,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_BufferFromHostBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub data: *const ::core::ffi::c_void,
    pub type_: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub byte_strides: *const i64,
    pub num_byte_strides: usize,
    pub host_buffer_semantics: PJRT_HostBufferSemantics,
    pub device: *mut PJRT_Device,
    pub memory: *mut PJRT_Memory,
    pub device_layout: *mut PJRT_Buffer_MemoryLayout,
    pub done_with_host_buffer: *mut PJRT_Event,
    pub buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub device_buffer_ptr: *mut ::core::ffi::c_void,
    pub dims: *const i64,
    pub num_dims: usize,
    pub element_type: PJRT_Buffer_Type,
    pub layout: *mut PJRT_Buffer_MemoryLayout,
    pub device: *mut PJRT_Device,
    pub on_delete_callback: ::core::option::Option<
        unsafe extern "C" fn(
            device_buffer_ptr: *mut ::core::ffi::c_void,
            user_arg: *mut ::core::ffi::c_void,
        ),
    >,
    pub on_delete_callback_arg: *mut ::core::ffi::c_void,
    pub stream: isize,
    pub buffer: *mut PJRT_Buffer,
    pub memory: *mut PJRT_Memory,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ShapeSpec {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub dims: *const i64,
    pub num_dims: usize,
    pub element_type: PJRT_Buffer_Type,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub shape_specs: *mut PJRT_ShapeSpec,
    pub num_shape_specs: usize,
    pub device_layouts: *mut *mut PJRT_Buffer_MemoryLayout,
    pub num_device_layouts: usize,
    pub memory: *mut PJRT_Memory,
    pub transfer_manager: *mut PJRT_AsyncHostToDeviceTransferManager,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_Id_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub id: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_ProcessIndex_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub process_index: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_Attributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub num_attributes: usize,
    pub attributes: *const PJRT_NamedValue,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_Kind_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub device_kind: *const ::core::ffi::c_char,
    pub device_kind_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_DebugString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub debug_string: *const ::core::ffi::c_char,
    pub debug_string_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_ToString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub to_string: *const ::core::ffi::c_char,
    pub to_string_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_GetDescription_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub device_description: *mut PJRT_DeviceDescription,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_IsAddressable_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub is_addressable: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_LocalHardwareId_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub local_hardware_id: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_AddressableMemories_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub memories: *const *mut PJRT_Memory,
    pub num_memories: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_DefaultMemory_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub memory: *mut PJRT_Memory,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_MemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub bytes_in_use: i64,
    pub peak_bytes_in_use: i64,
    pub peak_bytes_in_use_is_set: u8,
    pub num_allocs: i64,
    pub num_allocs_is_set: u8,
    pub largest_alloc_size: i64,
    pub largest_alloc_size_is_set: u8,
    pub bytes_limit: i64,
    pub bytes_limit_is_set: u8,
    pub bytes_reserved: i64,
    pub bytes_reserved_is_set: u8,
    pub peak_bytes_reserved: i64,
    pub peak_bytes_reserved_is_set: u8,
    pub bytes_reservable_limit: i64,
    pub bytes_reservable_limit_is_set: u8,
    pub largest_free_block_bytes: i64,
    pub largest_free_block_bytes_is_set: u8,
    pub pool_bytes: i64,
    pub pool_bytes_is_set: u8,
    pub peak_pool_bytes: i64,
    pub peak_pool_bytes_is_set: u8,
    pub peak_allocated_bytes: i64,
    pub peak_allocated_bytes_is_set: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_ClearMemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_PoisonExecution_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub launch_id: i32,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub poisoned: u8,
    pub payload: *const PJRT_NamedValue,
    pub num_payload: usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Device_Attributes {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_GetAttributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub attributes: *const PJRT_NamedValue,
    pub num_attributes: usize,
    pub device_attributes: *mut PJRT_Device_Attributes,
    pub attributes_deleter: ::core::option::Option<
        unsafe extern "C" fn(device_attributes: *mut PJRT_Device_Attributes),
    >,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_AsyncTrackingEvent {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Device_CreateAsyncTrackingEvent_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device: *mut PJRT_Device,
    pub description: *const ::core::ffi::c_char,
    pub description_size: usize,
    pub event: *mut PJRT_AsyncTrackingEvent,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AsyncTrackingEvent_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub event: *mut PJRT_AsyncTrackingEvent,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_Id_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub id: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_Kind_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub kind: *const ::core::ffi::c_char,
    pub kind_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_Kind_Id_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub kind_id: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_DebugString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub debug_string: *const ::core::ffi::c_char,
    pub debug_string_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_ToString_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub to_string: *const ::core::ffi::c_char,
    pub to_string_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Memory_AddressableByDevices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory: *mut PJRT_Memory,
    pub devices: *const *mut PJRT_Device,
    pub num_devices: usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_ExecuteContext {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecuteContext_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub context: *mut PJRT_ExecuteContext,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecuteContext_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub context: *mut PJRT_ExecuteContext,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_GetExecutable_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
    pub executable: *mut PJRT_Executable,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_DeviceAssignmentSerialized {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_device_assignment: *mut PJRT_DeviceAssignmentSerialized,
    pub serialized_device_assignment_deleter:
        ::core::option::Option<unsafe extern "C" fn(da: *mut PJRT_DeviceAssignmentSerialized)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Name_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub executable_name: *const ::core::ffi::c_char,
    pub executable_name_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_NumReplicas_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_replicas: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_NumPartitions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_partitions: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LogicalDeviceIds {
    pub replica: ::core::ffi::c_int,
    pub partition: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_AddressableDevices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub addressable_devices: *const *mut PJRT_Device,
    pub num_addressable_devices: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub addressable_device_logical_ids: *mut PJRT_LogicalDeviceIds,
    pub num_addressable_device_logical_ids: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OptimizedProgram_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub program: *mut PJRT_Program,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Delete_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_IsDeleted_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub is_deleted: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Chunk {
    pub data: *mut ::core::ffi::c_void,
    pub size: usize,
    pub deleter: ::core::option::Option<
        unsafe extern "C" fn(data: *mut ::core::ffi::c_void, deleter_arg: *mut ::core::ffi::c_void),
    >,
    pub deleter_arg: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_CopyToDeviceStream {
    _unused: [u8; 0],
}
pub type PJRT_SendCallback = ::core::option::Option<
    unsafe extern "C" fn(
        chunk: *mut PJRT_Chunk,
        callback_error: *mut PJRT_CallbackError,
        total_size_in_bytes: usize,
        done: u8,
        user_arg: *mut ::core::ffi::c_void,
    ) -> *mut PJRT_Error,
>;
pub type PJRT_RecvCallback = ::core::option::Option<
    unsafe extern "C" fn(stream: *mut PJRT_CopyToDeviceStream, user_arg: *mut ::core::ffi::c_void),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_SendCallbackInfo {
    pub channel_id: i64,
    pub user_arg: *mut ::core::ffi::c_void,
    pub send_callback: PJRT_SendCallback,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RecvCallbackInfo {
    pub channel_id: i64,
    pub user_arg: *mut ::core::ffi::c_void,
    pub recv_callback: PJRT_RecvCallback,
}
pub type PJRT_HloOutputCallback = ::core::option::Option<
    unsafe extern "C" fn(
        replica_id: i64,
        partition_id: i64,
        data: *const ::core::ffi::c_void,
        shape_dims: *const i64,
        shape_num_dims: usize,
        shape_element_type: PJRT_Buffer_Type,
        operand_index: i64,
        user_arg: *mut ::core::ffi::c_void,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HloOutputCallbackInfo {
    pub user_arg: *mut ::core::ffi::c_void,
    pub callback: PJRT_HloOutputCallback,
    pub callback_id: i64,
    pub num_operands: usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_MultiSlice_Config {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecuteOptions {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub send_callbacks: *mut *mut PJRT_SendCallbackInfo,
    pub recv_callbacks: *mut *mut PJRT_RecvCallbackInfo,
    pub num_send_ops: usize,
    pub num_recv_ops: usize,
    pub launch_id: ::core::ffi::c_int,
    pub non_donatable_input_indices: *const i64,
    pub num_non_donatable_input_indices: usize,
    pub context: *mut PJRT_ExecuteContext,
    pub call_location: *const ::core::ffi::c_char,
    pub num_tasks: usize,
    pub task_ids: *mut ::core::ffi::c_int,
    pub incarnation_ids: *mut i64,
    pub multi_slice_config: *mut PJRT_MultiSlice_Config,
    pub use_major_to_minor_data_layout_for_callbacks: u8,
    pub hlo_output_callbacks: *mut PJRT_HloOutputCallbackInfo,
    pub num_hlo_output_callbacks: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Execute_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub options: *mut PJRT_ExecuteOptions,
    pub argument_lists: *const *const *mut PJRT_Buffer,
    pub num_devices: usize,
    pub num_args: usize,
    pub output_lists: *const *mut *mut PJRT_Buffer,
    pub device_complete_events: *mut *mut PJRT_Event,
    pub execute_device: *mut PJRT_Device,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_NumOutputs_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub size_in_bytes: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Fingerprint_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub executable_fingerprint: *const ::core::ffi::c_char,
    pub executable_fingerprint_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_GetCostAnalysis_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_properties: usize,
    pub properties: *const PJRT_NamedValue,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_GetCompiledMemoryStats_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub generated_code_size_in_bytes: i64,
    pub argument_size_in_bytes: i64,
    pub output_size_in_bytes: i64,
    pub alias_size_in_bytes: i64,
    pub temp_size_in_bytes: i64,
    pub host_generated_code_size_in_bytes: i64,
    pub host_argument_size_in_bytes: i64,
    pub host_output_size_in_bytes: i64,
    pub host_alias_size_in_bytes: i64,
    pub host_temp_size_in_bytes: i64,
    pub peak_memory_in_bytes: i64,
    pub total_size_in_bytes: i64,
    pub total_allocation_bytes: i64,
    pub indefinite_allocations: i64,
    pub peak_unpadded_heap_bytes: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OutputElementTypes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub output_types: *mut PJRT_Buffer_Type,
    pub num_output_types: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OutputDimensions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub dims: *const i64,
    pub dim_sizes: *const usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_ParameterMemoryKinds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_parameters: usize,
    pub memory_kinds: *const *const ::core::ffi::c_char,
    pub memory_kind_sizes: *const usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_OutputMemoryKinds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub memory_kinds: *const *const ::core::ffi::c_char,
    pub memory_kind_sizes: *const usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_SerializedExecutable {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_SerializedCompileOptions {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_Serialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *const PJRT_Executable,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_executable: *mut PJRT_SerializedExecutable,
    pub serialized_executable_deleter:
        ::core::option::Option<unsafe extern "C" fn(exec: *mut PJRT_SerializedExecutable)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_GetCompileOptions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_compile_options: *mut PJRT_SerializedCompileOptions,
    pub serialized_compile_options_deleter:
        ::core::option::Option<unsafe extern "C" fn(options: *mut PJRT_SerializedCompileOptions)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadOptions {
    pub struct_size: usize,
    pub computation_origin: *const i32,
    pub computation_origin_size: usize,
    pub multi_slice_config: *mut PJRT_MultiSlice_Config,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_DeserializeAndLoad_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub serialized_executable: *const ::core::ffi::c_char,
    pub serialized_executable_size: usize,
    pub loaded_executable: *mut PJRT_LoadedExecutable,
    pub overridden_serialized_compile_options: *const ::core::ffi::c_char,
    pub overridden_serialized_compile_options_size: usize,
    pub load_options: *mut PJRT_LoadOptions,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_LoadedExecutable_Fingerprint_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_LoadedExecutable,
    pub executable_fingerprint: *const ::core::ffi::c_char,
    pub executable_fingerprint_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_ElementType_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub type_: PJRT_Buffer_Type,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Dimensions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dims: *const i64,
    pub num_dims: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_UnpaddedDimensions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub unpadded_dims: *const i64,
    pub num_dims: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DynamicDimensionIndices_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dynamic_dim_indices: *const usize,
    pub num_dynamic_dims: usize,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct PJRT_Buffer_GetMemoryLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub layout: PJRT_Buffer_MemoryLayout,
}
impl ::core::fmt::Debug for PJRT_Buffer_GetMemoryLayout_Args {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        write!(
            f,
            "PJRT_Buffer_GetMemoryLayout_Args {{ extension_start: {:?}, buffer: {:?}, layout: {:?} }}",
            self.extension_start, self.buffer, self.layout
        )
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_ToHostBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub src: *mut PJRT_Buffer,
    pub host_layout: *mut PJRT_Buffer_MemoryLayout,
    pub dst: *mut ::core::ffi::c_void,
    pub dst_size: usize,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub on_device_size_in_bytes: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Delete_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_IsDeleted_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub is_deleted: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyRawToHost_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dst: *mut ::core::ffi::c_void,
    pub offset: i64,
    pub transfer_size: i64,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
    pub struct_size: usize,
    pub callback_data: *mut ::core::ffi::c_void,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
    pub dst: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyRawToHostFuture_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub offset: i64,
    pub transfer_size: i64,
    pub event: *mut PJRT_Event,
    pub callback_data: *mut ::core::ffi::c_void,
    pub future_ready_callback: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyRawToHostFuture_Callback_Args),
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyToDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dst_device: *mut PJRT_Device,
    pub dst_buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_CopyToMemory_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub dst_memory: *mut PJRT_Memory,
    pub dst_buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Bitcast_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub element_type: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub device_layout: *mut PJRT_Buffer_MemoryLayout,
    pub out_buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_IsOnCpu_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub is_on_cpu: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Device_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub device: *mut PJRT_Device,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_Memory_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub memory: *mut PJRT_Memory,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_ReadyEvent_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_UnsafePointer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub buffer_pointer: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub device_memory_ptr: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
    pub struct_size: usize,
    pub callback_data: *mut ::core::ffi::c_void,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Buffer_DonateWithControlDependency_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub callback_data: *mut ::core::ffi::c_void,
    pub dependency_ready_callback: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_DonateWithControlDependency_Callback_Args),
    >,
    pub out_buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_AddChunk_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub chunk: *mut PJRT_Chunk,
    pub transfer_complete: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_TotalBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub total_bytes: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_GranuleSize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub granule_size_in_bytes: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub stream: *mut PJRT_CopyToDeviceStream,
    pub current_bytes: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology_name: *const ::core::ffi::c_char,
    pub topology_name_size: usize,
    pub create_options: *const PJRT_NamedValue,
    pub num_options: usize,
    pub topology: *mut PJRT_TopologyDescription,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_PlatformVersion_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
    pub platform_version: *const ::core::ffi::c_char,
    pub platform_version_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_PlatformName_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub platform_name: *const ::core::ffi::c_char,
    pub platform_name_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub descriptions: *const *mut PJRT_DeviceDescription,
    pub num_descriptions: usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_SerializedTopology {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Serialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_topology: *mut PJRT_SerializedTopology,
    pub serialized_topology_deleter: ::core::option::Option<
        unsafe extern "C" fn(serialized_topology: *mut PJRT_SerializedTopology),
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Deserialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub serialized_topology: *const ::core::ffi::c_char,
    pub serialized_topology_size: usize,
    pub topology: *mut PJRT_TopologyDescription,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Attributes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *mut PJRT_TopologyDescription,
    pub attributes: *const PJRT_NamedValue,
    pub num_attributes: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_Fingerprint_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub fingerprint: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub memory_space_kind_id: ::core::ffi::c_int,
    pub dims: *const i64,
    pub num_dims: usize,
    pub element_type: PJRT_Buffer_Type,
    pub layout: *const PJRT_Buffer_MemoryLayout,
    pub serialized_shape: *const ::core::ffi::c_char,
    pub serialized_shape_size: usize,
    pub serialized_shape_deleter:
        ::core::option::Option<unsafe extern "C" fn(arg1: *const ::core::ffi::c_char)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub memory_space_kind_ids: *const ::core::ffi::c_int,
    pub num_memory_space_kind_ids: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Compile_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology: *const PJRT_TopologyDescription,
    pub program: *const PJRT_Program,
    pub compile_options: *const ::core::ffi::c_char,
    pub compile_options_size: usize,
    pub client: *mut PJRT_Client,
    pub executable: *mut PJRT_Executable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Api {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub pjrt_api_version: PJRT_Api_Version,
    pub PJRT_Error_Destroy:
        ::core::option::Option<unsafe extern "C" fn(args: *mut PJRT_Error_Destroy_Args)>,
    pub PJRT_Error_Message:
        ::core::option::Option<unsafe extern "C" fn(args: *mut PJRT_Error_Message_Args)>,
    pub PJRT_Error_GetCode: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Error_GetCode_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Plugin_Initialize: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Plugin_Initialize_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Plugin_Attributes: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Plugin_Attributes_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Event_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Event_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Event_IsReady: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Event_IsReady_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Event_Error: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Event_Error_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Event_Await: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Event_Await_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Event_OnReady: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Event_OnReady_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_Create: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_Create_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_PlatformName: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_PlatformName_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_ProcessIndex: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_ProcessIndex_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_PlatformVersion: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_PlatformVersion_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_Devices: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_Devices_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_AddressableDevices: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_AddressableDevices_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_LookupDevice: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_LookupDevice_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_LookupAddressableDevice: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Client_LookupAddressableDevice_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_AddressableMemories: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_AddressableMemories_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_Compile: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_Compile_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_DefaultDeviceAssignment: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Client_DefaultDeviceAssignment_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_BufferFromHostBuffer: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_BufferFromHostBuffer_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_DeviceDescription_Id: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_Id_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_DeviceDescription_ProcessIndex: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_DeviceDescription_ProcessIndex_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_DeviceDescription_Attributes: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_Attributes_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_DeviceDescription_Kind: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_Kind_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_DeviceDescription_DebugString: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_DebugString_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_DeviceDescription_ToString: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_DeviceDescription_ToString_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_GetDescription: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_GetDescription_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_IsAddressable: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_IsAddressable_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_LocalHardwareId: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_LocalHardwareId_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_AddressableMemories: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_AddressableMemories_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_DefaultMemory: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_DefaultMemory_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_MemoryStats: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_MemoryStats_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Memory_Id: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Memory_Id_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Memory_Kind: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Memory_Kind_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Memory_DebugString: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Memory_DebugString_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Memory_ToString: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Memory_ToString_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Memory_AddressableByDevices: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Memory_AddressableByDevices_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_Name: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_Name_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_NumReplicas: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_NumReplicas_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_NumPartitions: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_NumPartitions_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_NumOutputs: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_NumOutputs_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_SizeOfGeneratedCodeInBytes: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Executable_SizeOfGeneratedCodeInBytes_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_GetCostAnalysis: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_GetCostAnalysis_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_OutputMemoryKinds: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_OutputMemoryKinds_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_OptimizedProgram: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_OptimizedProgram_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_Serialize: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_Serialize_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_GetExecutable: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_LoadedExecutable_GetExecutable_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_AddressableDevices: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_LoadedExecutable_AddressableDevices_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_Delete: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Delete_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_IsDeleted: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_IsDeleted_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_Execute: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Execute_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_DeserializeAndLoad: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_DeserializeAndLoad_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_Fingerprint: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_LoadedExecutable_Fingerprint_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_ElementType: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_ElementType_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_Dimensions: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_Dimensions_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_UnpaddedDimensions: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_UnpaddedDimensions_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_DynamicDimensionIndices: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Buffer_DynamicDimensionIndices_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_GetMemoryLayout: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_GetMemoryLayout_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_OnDeviceSizeInBytes: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_OnDeviceSizeInBytes_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_Device: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_Device_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_Memory: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_Memory_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_Delete: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_Delete_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_IsDeleted: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_IsDeleted_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_CopyToDevice: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyToDevice_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_ToHostBuffer: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_ToHostBuffer_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_IsOnCpu: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_IsOnCpu_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_ReadyEvent: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_ReadyEvent_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_UnsafePointer: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_UnsafePointer_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_IncreaseExternalReferenceCount: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Buffer_IncreaseExternalReferenceCount_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_DecreaseExternalReferenceCount: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Buffer_DecreaseExternalReferenceCount_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_OpaqueDeviceMemoryDataPointer: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_CopyToDeviceStream_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_CopyToDeviceStream_AddChunk: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_AddChunk_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_CopyToDeviceStream_TotalBytes: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_CopyToDeviceStream_TotalBytes_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_CopyToDeviceStream_GranuleSize: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_CopyToDeviceStream_GranuleSize_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_CopyToDeviceStream_CurrentBytes: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_CopyToDeviceStream_CurrentBytes_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_Create: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Create_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_PlatformName: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_PlatformName_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_PlatformVersion: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_PlatformVersion_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_GetDeviceDescriptions: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_GetDeviceDescriptions_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_Serialize: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TopologyDescription_Serialize_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_Attributes: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_Attributes_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Compile: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Compile_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_OutputElementTypes: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_OutputElementTypes_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_OutputDimensions: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_OutputDimensions_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_CopyToMemory: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyToMemory_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_CreateViewOfDeviceBuffer: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Client_CreateViewOfDeviceBuffer_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_Fingerprint: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_Fingerprint_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_TopologyDescription: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_TopologyDescription_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_GetCompiledMemoryStats: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Executable_GetCompiledMemoryStats_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Memory_Kind_Id: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Memory_Kind_Id_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_ExecuteContext_Create: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_ExecuteContext_Create_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_ExecuteContext_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_ExecuteContext_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_CopyRawToHost: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyRawToHost_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_Destroy: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_Destroy_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_TransferData: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_TransferData_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_CreateBuffersForAsyncHostToDevice: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Client_CreateBuffersForAsyncHostToDevice_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_Device: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_Device_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_BufferCount: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_BufferSize: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_SetBufferError: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_AddMetadata: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_DmaMap: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_DmaMap_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_DmaUnmap: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_DmaUnmap_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_CreateUninitializedBuffer: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Client_CreateUninitializedBuffer_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_UpdateGlobalProcessInfo: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Client_UpdateGlobalProcessInfo_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_Deserialize: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_Deserialize_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_CreateAliasBuffer: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_CreateAliasBuffer_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_FulfillAliasBuffer: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_FulfillAliasBuffer_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_GetDeviceAssignment: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_LoadedExecutable_GetDeviceAssignment_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_CreateErrorBuffer: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_CreateErrorBuffer_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncHostToDeviceTransferManager_TransferLiteral: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_CopyRawToHostFuture: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_CopyRawToHostFuture_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_PoisonExecution: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_PoisonExecution_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_CreateAsyncTrackingEvent: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Device_CreateAsyncTrackingEvent_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_AsyncTrackingEvent_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_AsyncTrackingEvent_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_GetCompileOptions: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_GetCompileOptions_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_DonateWithControlDependency: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Buffer_DonateWithControlDependency_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Event_Create: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Event_Create_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Event_Set: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Event_Set_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_GetAttributes: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_GetAttributes_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Client_Load: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_Load_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_LoadedExecutable_AddressableDeviceLogicalIds: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Buffer_Bitcast: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Buffer_Bitcast_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Error_ForEachPayload: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Error_ForEachPayload_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_Fingerprint: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_Fingerprint_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Executable_ParameterMemoryKinds: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Executable_ParameterMemoryKinds_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Device_ClearMemoryStats: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Device_ClearMemoryStats_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_TopologyDescription_GetMemorySpaceKindIds: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TopologyDescription_GetMemorySpaceKindIds_Args,
        ) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_RuntimeAbiVersion {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_ExecutableAbiVersion {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_SerializedProto {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Client_RuntimeAbiVersion_Args {
    pub struct_size: usize,
    pub client: *mut PJRT_Client,
    pub abi_version: *mut PJRT_RuntimeAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Executable_GetAbiVersion_Args {
    pub struct_size: usize,
    pub executable: *mut PJRT_Executable,
    pub abi_version: *mut PJRT_ExecutableAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RuntimeAbiVersion_Destroy_Args {
    pub struct_size: usize,
    pub abi_version: *mut PJRT_RuntimeAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args {
    pub struct_size: usize,
    pub abi_version: *const PJRT_RuntimeAbiVersion,
    pub other_abi_version: *const PJRT_RuntimeAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args {
    pub struct_size: usize,
    pub abi_version: *const PJRT_RuntimeAbiVersion,
    pub executable_abi_version: *const PJRT_ExecutableAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RuntimeAbiVersion_ToProto_Args {
    pub struct_size: usize,
    pub abi_version: *const PJRT_RuntimeAbiVersion,
    pub serialized_proto: *const ::core::ffi::c_char,
    pub serialized_proto_size: usize,
    pub serialized_proto_holder: *mut PJRT_SerializedProto,
    pub serialized_proto_deleter:
        ::core::option::Option<unsafe extern "C" fn(holder: *mut PJRT_SerializedProto)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RuntimeAbiVersion_PlatformId_Args {
    pub struct_size: usize,
    pub abi_version: *const PJRT_RuntimeAbiVersion,
    pub platform_id: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableAbiVersion_Destroy_Args {
    pub struct_size: usize,
    pub abi_version: *mut PJRT_ExecutableAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableAbiVersion_ToProto_Args {
    pub struct_size: usize,
    pub abi_version: *const PJRT_ExecutableAbiVersion,
    pub serialized_proto: *const ::core::ffi::c_char,
    pub serialized_proto_size: usize,
    pub serialized_proto_holder: *mut PJRT_SerializedProto,
    pub serialized_proto_deleter:
        ::core::option::Option<unsafe extern "C" fn(holder: *mut PJRT_SerializedProto)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableAbiVersion_PlatformId_Args {
    pub struct_size: usize,
    pub abi_version: *const PJRT_ExecutableAbiVersion,
    pub platform_id: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RuntimeAbiVersion_FromProto_Args {
    pub struct_size: usize,
    pub serialized_proto: *const ::core::ffi::c_char,
    pub serialized_proto_size: usize,
    pub abi_version: *mut PJRT_RuntimeAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableAbiVersion_FromProto_Args {
    pub struct_size: usize,
    pub serialized_proto: *const ::core::ffi::c_char,
    pub serialized_proto_size: usize,
    pub abi_version: *mut PJRT_ExecutableAbiVersion,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_AbiVersion_Extension {
    pub base: PJRT_Extension_Base,
    pub client_runtime_abi_version: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Client_RuntimeAbiVersion_Args) -> *mut PJRT_Error,
    >,
    pub executable_get_abi_version: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Executable_GetAbiVersion_Args) -> *mut PJRT_Error,
    >,
    pub runtime_abi_version_destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RuntimeAbiVersion_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub runtime_abi_version_is_compatible_with_runtime: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args,
        ) -> *mut PJRT_Error,
    >,
    pub runtime_abi_version_is_compatible_with_executable: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args,
        ) -> *mut PJRT_Error,
    >,
    pub runtime_abi_version_to_proto: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RuntimeAbiVersion_ToProto_Args) -> *mut PJRT_Error,
    >,
    pub runtime_abi_version_platform_id: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RuntimeAbiVersion_PlatformId_Args) -> *mut PJRT_Error,
    >,
    pub executable_abi_version_destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_ExecutableAbiVersion_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub executable_abi_version_to_proto: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_ExecutableAbiVersion_ToProto_Args) -> *mut PJRT_Error,
    >,
    pub executable_abi_version_platform_id: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_ExecutableAbiVersion_PlatformId_Args,
        ) -> *mut PJRT_Error,
    >,
    pub runtime_abi_version_from_proto: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RuntimeAbiVersion_FromProto_Args) -> *mut PJRT_Error,
    >,
    pub executable_abi_version_from_proto: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_ExecutableAbiVersion_FromProto_Args,
        ) -> *mut PJRT_Error,
    >,
}
impl PJRT_Callback_Type {
    pub const PJRT_Callback_Type_Unknown: PJRT_Callback_Type = PJRT_Callback_Type(0);
    pub const PJRT_Callback_Type_Tpu_SliceBuilder: PJRT_Callback_Type = PJRT_Callback_Type(1);
    pub const PJRT_Callback_Type_Prefatal: PJRT_Callback_Type = PJRT_Callback_Type(2);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_Callback_Type(pub ::core::ffi::c_uint);
impl PJRT_Callback_Tpu_SliceFailureType {
    pub const SLICE_FAILURE_UNKNOWN: PJRT_Callback_Tpu_SliceFailureType =
        PJRT_Callback_Tpu_SliceFailureType(0);
    pub const SLICE_FAILURE_INIT_ERROR: PJRT_Callback_Tpu_SliceFailureType =
        PJRT_Callback_Tpu_SliceFailureType(1);
    pub const SLICE_FAILURE_WORKER_UNAVAILABLE: PJRT_Callback_Tpu_SliceFailureType =
        PJRT_Callback_Tpu_SliceFailureType(2);
    pub const SLICE_FAILURE_FLAPPING_TASK_ERROR: PJRT_Callback_Tpu_SliceFailureType =
        PJRT_Callback_Tpu_SliceFailureType(3);
    pub const SLICE_FAILURE_SW_INJECT_ERROR: PJRT_Callback_Tpu_SliceFailureType =
        PJRT_Callback_Tpu_SliceFailureType(4);
    pub const SLICE_FAILURE_CHIP_DRIVER_ERROR: PJRT_Callback_Tpu_SliceFailureType =
        PJRT_Callback_Tpu_SliceFailureType(5);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_Callback_Tpu_SliceFailureType(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Callback_Tpu_SliceBuilderArgs {
    pub struct_size: usize,
    pub failure_type: PJRT_Callback_Tpu_SliceFailureType,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Callback_PrefatalArgs {
    pub struct_size: usize,
    pub error_code: PJRT_Error_Code,
    pub error_message: *const ::core::ffi::c_char,
    pub error_message_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Callback_RegisterCallback_Args {
    pub struct_size: usize,
    pub client: *mut PJRT_Client,
    pub type_: PJRT_Callback_Type,
    pub callback: ::core::option::Option<
        unsafe extern "C" fn(args: *mut ::core::ffi::c_void, user_arg: *mut ::core::ffi::c_void),
    >,
    pub user_arg: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Callback_InvokeCallback_Args {
    pub struct_size: usize,
    pub client: *mut PJRT_Client,
    pub type_: PJRT_Callback_Type,
    pub args: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Callback_Extension {
    pub base: PJRT_Extension_Base,
    pub register_callback: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Callback_RegisterCallback_Args) -> *mut PJRT_Error,
    >,
    pub invoke_callback: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Callback_InvokeCallback_Args) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub num_buffers: usize,
    pub buffers: *mut *mut PJRT_Buffer,
    pub dst_global_device_ids: *const i32,
    pub transfer_keys: *const i64,
    pub send_events: *mut *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub num_shapes: usize,
    pub shape_num_dims: *mut usize,
    pub num_dims: *mut *const i64,
    pub element_types: *mut PJRT_Buffer_Type,
    pub layouts: *mut *mut PJRT_Buffer_MemoryLayout,
    pub device: *mut PJRT_Device,
    pub src_global_device_ids: *const i32,
    pub transfer_keys: *const i64,
    pub buffers: *mut *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_CrossHostTransfers_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args),
    >,
    pub PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Transfers_PJRT_Client_CrossHostSendBuffers: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args,
        ) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_CustomCallPartitioner_string {
    pub data: *const ::core::ffi::c_char,
    pub size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_CustomCallPartitioner_aval {
    pub shape: JAX_CustomCallPartitioner_string,
    pub has_sharding: u8,
    pub sharding: JAX_CustomCallPartitioner_string,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_CustomCallPartitioner_version_and_error {
    pub api_version: i64,
    pub data: *mut ::core::ffi::c_void,
    pub cleanup_fn: ::core::option::Option<unsafe extern "C" fn(data: *mut ::core::ffi::c_void)>,
    pub has_error: u8,
    pub code: PJRT_Error_Code,
    pub error_msg: JAX_CustomCallPartitioner_string,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_CustomCallPartitioner_Partition_Args {
    pub header: JAX_CustomCallPartitioner_version_and_error,
    pub num_args: usize,
    pub op_args: *mut JAX_CustomCallPartitioner_aval,
    pub op_result: JAX_CustomCallPartitioner_aval,
    pub backend_config: JAX_CustomCallPartitioner_string,
    pub mlir_module: JAX_CustomCallPartitioner_string,
    pub args_sharding: *mut JAX_CustomCallPartitioner_string,
    pub result_sharding: JAX_CustomCallPartitioner_string,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_CustomCallPartitioner_InferShardingFromOperands_Args {
    pub header: JAX_CustomCallPartitioner_version_and_error,
    pub num_args: usize,
    pub op_args: *mut JAX_CustomCallPartitioner_aval,
    pub result_shape: JAX_CustomCallPartitioner_string,
    pub backend_config: JAX_CustomCallPartitioner_string,
    pub has_result_sharding: u8,
    pub result_sharding: JAX_CustomCallPartitioner_string,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_CustomCallPartitioner_PropagateUserSharding_Args {
    pub header: JAX_CustomCallPartitioner_version_and_error,
    pub backend_config: JAX_CustomCallPartitioner_string,
    pub result_shape: JAX_CustomCallPartitioner_string,
    pub result_sharding: JAX_CustomCallPartitioner_string,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_CustomCallPartitioner_Callbacks {
    pub version: i64,
    pub private_data: *mut ::core::ffi::c_void,
    pub dtor: ::core::option::Option<
        unsafe extern "C" fn(data: *mut JAX_CustomCallPartitioner_Callbacks),
    >,
    pub partition: ::core::option::Option<
        unsafe extern "C" fn(
            data: *mut JAX_CustomCallPartitioner_Callbacks,
            args: *mut JAX_CustomCallPartitioner_Partition_Args,
        ),
    >,
    pub infer_sharding: ::core::option::Option<
        unsafe extern "C" fn(
            data: *mut JAX_CustomCallPartitioner_Callbacks,
            args: *mut JAX_CustomCallPartitioner_InferShardingFromOperands_Args,
        ),
    >,
    pub propagate_user_sharding: ::core::option::Option<
        unsafe extern "C" fn(
            data: *mut JAX_CustomCallPartitioner_Callbacks,
            args: *mut JAX_CustomCallPartitioner_PropagateUserSharding_Args,
        ),
    >,
    pub can_side_effecting_have_replicated_sharding: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_InspectSharding_Callback_Args {
    pub sharding_spec: *mut ::core::ffi::c_char,
    pub sharding_spec_size: usize,
    pub error_txt: *const ::core::ffi::c_char,
    pub error_scratch: *mut ::core::ffi::c_void,
    pub free_error:
        ::core::option::Option<unsafe extern "C" fn(args: *mut JAX_InspectSharding_Callback_Args)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct JAX_InspectSharding_Callback {
    pub call: ::core::option::Option<
        unsafe extern "C" fn(
            data: *mut ::core::ffi::c_void,
            args: *mut JAX_InspectSharding_Callback_Args,
        ),
    >,
    pub data: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Register_Custom_Partitioner_Args {
    pub struct_size: usize,
    pub name: *const ::core::ffi::c_char,
    pub name_size: usize,
    pub callbacks: *mut JAX_CustomCallPartitioner_Callbacks,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Register_Batch_Partitionable_Args {
    pub struct_size: usize,
    pub name: *const ::core::ffi::c_char,
    pub name_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Custom_Partitioner_Extension {
    pub base: PJRT_Extension_Base,
    pub register_custom_partitioner: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Register_Custom_Partitioner_Args) -> *mut PJRT_Error,
    >,
    pub register_batch_partitionable: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Register_Batch_Partitionable_Args) -> *mut PJRT_Error,
    >,
}
pub type PJRT_DeviceEvent_AndThen =
    ::core::option::Option<unsafe extern "C" fn(user_arg: *mut ::core::ffi::c_void)>;
impl PJRT_DeviceEvent_State {
    pub const PJRT_DeviceEvent_State_Unavailable: PJRT_DeviceEvent_State =
        PJRT_DeviceEvent_State(0);
    pub const PJRT_DeviceEvent_State_Ready: PJRT_DeviceEvent_State = PJRT_DeviceEvent_State(1);
    pub const PJRT_DeviceEvent_State_Error: PJRT_DeviceEvent_State = PJRT_DeviceEvent_State(2);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_DeviceEvent_State(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceEvent_FunctionTable {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub inc_ref:
        ::core::option::Option<unsafe extern "C" fn(device_event: *mut ::core::ffi::c_void)>,
    pub dec_ref:
        ::core::option::Option<unsafe extern "C" fn(device_event: *mut ::core::ffi::c_void)>,
    pub and_then: ::core::option::Option<
        unsafe extern "C" fn(
            device_event: *mut ::core::ffi::c_void,
            callback: PJRT_DeviceEvent_AndThen,
            user_arg: *mut ::core::ffi::c_void,
        ),
    >,
    pub get_error_if_present: ::core::option::Option<
        unsafe extern "C" fn(
            device_event: *mut ::core::ffi::c_void,
            code: *mut PJRT_Error_Code,
            message: *mut *const ::core::ffi::c_char,
            message_size: *mut usize,
        ) -> ::core::ffi::c_int,
    >,
    pub parent: *const PJRT_DeviceEvent_FunctionTable,
    pub get_state: ::core::option::Option<
        unsafe extern "C" fn(device_event: *mut ::core::ffi::c_void) -> PJRT_DeviceEvent_State,
    >,
    pub get_definition_stream: ::core::option::Option<
        unsafe extern "C" fn(
            device_event: *mut ::core::ffi::c_void,
            sequence_number: *mut u64,
        ) -> isize,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceEvent {
    pub vtable: *const PJRT_DeviceEvent_FunctionTable,
    pub device_event: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceEventVector {
    pub data: *mut PJRT_DeviceEvent,
    pub size: usize,
    pub capacity: usize,
    pub destroy: ::core::option::Option<unsafe extern "C" fn(data: *mut PJRT_DeviceEvent)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceEventPromise_FunctionTable {
    pub struct_size: usize,
    pub instance_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub inc_ref:
        ::core::option::Option<unsafe extern "C" fn(promise: *mut PJRT_DeviceEventPromise)>,
    pub dec_ref:
        ::core::option::Option<unsafe extern "C" fn(promise: *mut PJRT_DeviceEventPromise)>,
    pub event: ::core::option::Option<
        unsafe extern "C" fn(promise: *mut PJRT_DeviceEventPromise) -> PJRT_DeviceEvent,
    >,
    pub set: ::core::option::Option<
        unsafe extern "C" fn(promise: *mut PJRT_DeviceEventPromise, event: PJRT_DeviceEvent),
    >,
    pub set_error: ::core::option::Option<
        unsafe extern "C" fn(promise: *mut PJRT_DeviceEventPromise, error: *mut PJRT_Error),
    >,
    pub set_ready:
        ::core::option::Option<unsafe extern "C" fn(promise: *mut PJRT_DeviceEventPromise)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceEventPromise {
    pub vtable: *const PJRT_DeviceEventPromise_FunctionTable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableMetadata {
    pub serialized_metadata: *const ::core::ffi::c_char,
    pub serialized_metadata_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableMetadata_GetExecutableMetadata_Args {
    pub executable: *mut PJRT_Executable,
    pub metadata: *mut PJRT_ExecutableMetadata,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableMetadata_DestroySerializedMetadata_Args {
    pub metadata: *mut PJRT_ExecutableMetadata,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_ExecutableMetadata_Extension {
    pub base: PJRT_Extension_Base,
    pub get_executable_metadata: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_ExecutableMetadata_GetExecutableMetadata_Args,
        ) -> *mut PJRT_Error,
    >,
    pub destroy_serialized_metadata: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_ExecutableMetadata_DestroySerializedMetadata_Args),
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Type_Info {
    pub deleter: ::core::option::Option<unsafe extern "C" fn(object: *mut ::core::ffi::c_void)>,
    pub serialize: ::core::option::Option<unsafe extern "C" fn()>,
    pub deserialize: ::core::option::Option<unsafe extern "C" fn()>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Type_Register_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub type_name: *const ::core::ffi::c_char,
    pub type_name_size: usize,
    pub type_id: i64,
    pub type_info: *mut PJRT_FFI_Type_Info,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_UserData {
    pub type_id: i64,
    pub data: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_UserData_Add_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub context: *mut PJRT_ExecuteContext,
    pub user_data: PJRT_FFI_UserData,
}
impl PJRT_FFI_Handler_TraitsBits {
    pub const PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE: PJRT_FFI_Handler_TraitsBits =
        PJRT_FFI_Handler_TraitsBits(1);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct PJRT_FFI_Handler_TraitsBits(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Register_Handler_Args {
    pub struct_size: usize,
    pub target_name: *const ::core::ffi::c_char,
    pub target_name_size: usize,
    pub handler: *mut ::core::ffi::c_void,
    pub platform_name: *const ::core::ffi::c_char,
    pub platform_name_size: usize,
    pub traits: PJRT_FFI_Handler_TraitsBits,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_FFI_Extension {
    pub base: PJRT_Extension_Base,
    pub type_register: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_FFI_Type_Register_Args) -> *mut PJRT_Error,
    >,
    pub user_data_add: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_FFI_UserData_Add_Args) -> *mut PJRT_Error,
    >,
    pub register_handler: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_FFI_Register_Handler_Args) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HostAllocator_GetPreferredAlignment_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub preferred_alignment: usize,
}
pub type PJRT_HostAllocator_GetPreferredAlignment = ::core::option::Option<
    unsafe extern "C" fn(
        args: *mut PJRT_HostAllocator_GetPreferredAlignment_Args,
    ) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HostAllocator_Allocate_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub size: usize,
    pub alignment: usize,
    pub ptr: *mut ::core::ffi::c_void,
}
pub type PJRT_HostAllocator_Allocate = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_HostAllocator_Allocate_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HostAllocator_Free_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub ptr: *mut ::core::ffi::c_void,
}
pub type PJRT_HostAllocator_Free = ::core::option::Option<
    unsafe extern "C" fn(args: *mut PJRT_HostAllocator_Free_Args) -> *mut PJRT_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HostAllocator_Extension {
    pub base: PJRT_Extension_Base,
    pub get_preferred_alignment: PJRT_HostAllocator_GetPreferredAlignment,
    pub allocate: PJRT_HostAllocator_Allocate,
    pub free: PJRT_HostAllocator_Free,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HostMemoryAllocator_Allocate_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub size: usize,
    pub numa_node: ::core::ffi::c_int,
    pub ptr: *mut u8,
    pub deleter: ::core::option::Option<
        unsafe extern "C" fn(ptr: *mut ::core::ffi::c_void, arg: *mut ::core::ffi::c_void),
    >,
    pub deleter_arg: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_HostMemoryAllocator_Extension {
    pub base: PJRT_Extension_Base,
    pub allocate: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_HostMemoryAllocator_Allocate_Args) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Layouts_MemoryLayout {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_Layouts_SerializedLayout {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_MemoryLayout_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_MemoryLayout_Serialize_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
    pub serialized_bytes: *const ::core::ffi::c_char,
    pub serialized_bytes_size: usize,
    pub serialized_layout: *mut PJRT_Layouts_SerializedLayout,
    pub serialized_layout_deleter:
        ::core::option::Option<unsafe extern "C" fn(s_layout: *mut PJRT_Layouts_SerializedLayout)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub client: *mut PJRT_Client,
    pub type_: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub topology_description: *mut PJRT_TopologyDescription,
    pub type_: PJRT_Buffer_Type,
    pub dims: *const i64,
    pub num_dims: usize,
    pub layout: *mut PJRT_Layouts_MemoryLayout,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub layouts: *mut *mut PJRT_Layouts_MemoryLayout,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_parameters: usize,
    pub layouts: *mut *mut PJRT_Layouts_MemoryLayout,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Layouts_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_Layouts_MemoryLayout_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_Layouts_MemoryLayout_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_Layouts_MemoryLayout_Serialize: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Layouts_MemoryLayout_Serialize_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Layouts_PJRT_Client_GetDefaultLayout: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Layouts_PJRT_Buffer_MemoryLayout: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Layouts_PJRT_Topology_GetDefaultLayout: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Layouts_PJRT_Executable_GetOutputLayouts: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Layouts_PJRT_Executable_GetParameterLayouts: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args,
        ) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug)]
pub struct PJRT_MemoryDescription {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_DeviceDescription_MemoryDescriptions_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub device_description: *mut PJRT_DeviceDescription,
    pub memory_descriptions: *const *const PJRT_MemoryDescription,
    pub num_memory_descriptions: usize,
    pub default_memory_index: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_MemoryDescription_Kind_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub memory_description: *const PJRT_MemoryDescription,
    pub kind: *const ::core::ffi::c_char,
    pub kind_size: usize,
    pub kind_id: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_MemoryDescriptions_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_DeviceDescription_MemoryDescriptions: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_DeviceDescription_MemoryDescriptions_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_MemoryDescription_Kind: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_MemoryDescription_Kind_Args) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_PhaseCompile_Get_Compiler_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub phase_compiler: *const PJRT_PhaseCompiler,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_PhaseCompile_Destroy_Compiler_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub phase_compiler: *const PJRT_PhaseCompiler,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_PhaseCompile_Run_Phase_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub phase_compiler: *const PJRT_PhaseCompiler,
    pub input_programs: *mut *const ::core::ffi::c_char,
    pub input_programs_sizes: *const usize,
    pub num_input_programs: usize,
    pub phases_to_run: *mut *const ::core::ffi::c_char,
    pub phases_to_run_sizes: *const usize,
    pub num_phases_to_run: usize,
    pub compile_options: *const ::core::ffi::c_char,
    pub compile_options_size: usize,
    pub topology: *mut PJRT_TopologyDescription,
    pub output_programs: *mut *const ::core::ffi::c_char,
    pub output_programs_sizes: *const usize,
    pub num_output_programs: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_PhaseCompile_Get_PhaseNames_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub phase_compiler: *const PJRT_PhaseCompiler,
    pub phase_names: *mut *const ::core::ffi::c_char,
    pub phase_names_sizes: *const usize,
    pub num_phase_names: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_PhaseCompile_C_Buffers_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub char_buffers: *mut *const ::core::ffi::c_char,
    pub char_buffer_sizes: *const usize,
    pub num_char_buffers: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_PhaseCompile_Extension {
    pub base: PJRT_Extension_Base,
    pub phase_compile_get_compiler: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_PhaseCompile_Get_Compiler_Args) -> *mut PJRT_Error,
    >,
    pub phase_compile_destroy_compiler: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_PhaseCompile_Destroy_Compiler_Args),
    >,
    pub phase_compile_run_phases: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_PhaseCompile_Run_Phase_Args) -> *mut PJRT_Error,
    >,
    pub phase_compile_get_phase_names: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_PhaseCompile_Get_PhaseNames_Args) -> *mut PJRT_Error,
    >,
    pub phase_compile_c_buffers_destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_PhaseCompile_C_Buffers_Destroy_Args),
    >,
}
#[repr(C)]
#[derive(Debug)]
pub struct PLUGIN_Profiler {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct PLUGIN_Profiler_Error {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Error_Destroy_Args {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error: *mut PLUGIN_Profiler_Error,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Error_Message_Args {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error: *const PLUGIN_Profiler_Error,
    pub message: *const ::core::ffi::c_char,
    pub message_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Error_GetCode_Args {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error: *const PLUGIN_Profiler_Error,
    pub code: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Create_Args {
    pub struct_size: usize,
    pub options: *const ::core::ffi::c_char,
    pub options_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Destroy_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Start_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Stop_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_CollectData_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
    pub buffer: *mut u8,
    pub buffer_size_in_bytes: usize,
}
#[repr(C)]
#[derive(Debug)]
pub struct PLUGIN_Profiler_ConsumeResult {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Consume_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
    pub result: *mut PLUGIN_Profiler_ConsumeResult,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_ConsumeResult_Destroy_Args {
    pub struct_size: usize,
    pub consume_result: *mut PLUGIN_Profiler_ConsumeResult,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Serialize_Args {
    pub struct_size: usize,
    pub profiler: *mut PLUGIN_Profiler,
    pub consume_result: *mut PLUGIN_Profiler_ConsumeResult,
    pub serialized_bytes: *const u8,
    pub serialized_size: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PLUGIN_Profiler_Api {
    pub struct_size: usize,
    pub priv_: *mut ::core::ffi::c_void,
    pub error_destroy:
        ::core::option::Option<unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Error_Destroy_Args)>,
    pub error_message:
        ::core::option::Option<unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Error_Message_Args)>,
    pub error_get_code: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PLUGIN_Profiler_Error_GetCode_Args,
        ) -> *mut PLUGIN_Profiler_Error,
    >,
    pub create: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Create_Args) -> *mut PLUGIN_Profiler_Error,
    >,
    pub destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Destroy_Args) -> *mut PLUGIN_Profiler_Error,
    >,
    pub start: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Start_Args) -> *mut PLUGIN_Profiler_Error,
    >,
    pub stop: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Stop_Args) -> *mut PLUGIN_Profiler_Error,
    >,
    pub collect_data: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PLUGIN_Profiler_CollectData_Args,
        ) -> *mut PLUGIN_Profiler_Error,
    >,
    pub consume: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PLUGIN_Profiler_Consume_Args) -> *mut PLUGIN_Profiler_Error,
    >,
    pub consume_result_destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PLUGIN_Profiler_ConsumeResult_Destroy_Args),
    >,
    pub serialize: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PLUGIN_Profiler_Serialize_Args,
        ) -> *mut PLUGIN_Profiler_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Profiler_Extension {
    pub base: PJRT_Extension_Base,
    pub profiler_api: *mut PLUGIN_Profiler_Api,
    pub traceme_context_id: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_FunctionTable {
    pub struct_size: usize,
    pub instance_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub inc_ref: ::core::option::Option<unsafe extern "C" fn(raw_buffer: *mut PJRT_RawBuffer)>,
    pub dec_ref: ::core::option::Option<unsafe extern "C" fn(raw_buffer: *mut PJRT_RawBuffer)>,
    pub get_on_device_size_in_bytes:
        ::core::option::Option<unsafe extern "C" fn(raw_buffer: *const PJRT_RawBuffer) -> usize>,
    pub get_memory_space: ::core::option::Option<
        unsafe extern "C" fn(raw_buffer: *const PJRT_RawBuffer) -> *mut PJRT_Memory,
    >,
    pub get_host_pointer: ::core::option::Option<
        unsafe extern "C" fn(raw_buffer: *const PJRT_RawBuffer) -> *mut ::core::ffi::c_void,
    >,
    pub copy_raw_host_to_device_and_return_event: ::core::option::Option<
        unsafe extern "C" fn(
            raw_buffer: *mut PJRT_RawBuffer,
            src: *const ::core::ffi::c_void,
            offset: i64,
            transfer_size: i64,
            dependencies: *mut PJRT_DeviceEventVector,
            event: *mut PJRT_DeviceEvent,
        ) -> *mut PJRT_Error,
    >,
    pub copy_raw_device_to_host_and_return_event: ::core::option::Option<
        unsafe extern "C" fn(
            raw_buffer: *mut PJRT_RawBuffer,
            dst: *mut ::core::ffi::c_void,
            offset: i64,
            transfer_size: i64,
            dependencies: *mut PJRT_DeviceEventVector,
            event: *mut PJRT_DeviceEvent,
        ) -> *mut PJRT_Error,
    >,
    pub opaque_device_memory_data_pointer: ::core::option::Option<
        unsafe extern "C" fn(raw_buffer: *const PJRT_RawBuffer) -> *mut ::core::ffi::c_void,
    >,
    pub make_allocation_ready_event: ::core::option::Option<
        unsafe extern "C" fn(
            raw_buffer: *mut PJRT_RawBuffer,
            event: *mut PJRT_DeviceEvent,
        ) -> *mut PJRT_Error,
    >,
    pub get_raw_buffer_async_value: ::core::option::Option<
        unsafe extern "C" fn(
            raw_buffer: *mut PJRT_RawBuffer,
            event: *mut PJRT_DeviceEvent,
        ) -> *mut PJRT_Error,
    >,
    pub is_mutable:
        ::core::option::Option<unsafe extern "C" fn(raw_buffer: *const PJRT_RawBuffer) -> u8>,
    pub slice: ::core::option::Option<
        unsafe extern "C" fn(
            raw_buffer: *mut PJRT_RawBuffer,
            offset: i64,
            slice_size: i64,
            sliced_buffer: *mut *mut PJRT_RawBuffer,
        ) -> *mut PJRT_Error,
    >,
    pub schedule_copy_to: ::core::option::Option<
        unsafe extern "C" fn(
            src_buffer: *mut PJRT_RawBuffer,
            transfer_dependency_events: *mut PJRT_DeviceEventVector,
            dst_buffer: *mut PJRT_RawBuffer,
            definition_event_promise: *mut PJRT_DeviceEventPromise,
            src_usage_event_promise: *mut PJRT_DeviceEventPromise,
            allocation_event_callback: ::core::option::Option<
                unsafe extern "C" fn(status: *mut PJRT_Error, user_data: *mut ::core::ffi::c_void),
            >,
            allocation_event_user_data: *mut ::core::ffi::c_void,
        ),
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer {
    pub vtable: *const PJRT_RawBuffer_FunctionTable,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_CreateRawAliasOfBuffer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_Buffer,
    pub raw_buffer: *mut PJRT_RawBuffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_RawBuffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_GetHostPointer_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_RawBuffer,
    pub host_pointer: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_RawBuffer,
    pub on_device_size_in_bytes: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_GetMemorySpace_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_RawBuffer,
    pub memory_space: *mut PJRT_Memory,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_CopyRawDeviceToHost_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_RawBuffer,
    pub dst: *mut ::core::ffi::c_void,
    pub offset: i64,
    pub transfer_size: i64,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_CopyRawHostToDevice_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub buffer: *mut PJRT_RawBuffer,
    pub src: *const ::core::ffi::c_void,
    pub offset: i64,
    pub transfer_size: i64,
    pub event: *mut PJRT_Event,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_RawBuffer_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_RawBuffer_CreateRawAliasOfBuffer: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_RawBuffer_CreateRawAliasOfBuffer_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_RawBuffer_Destroy: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RawBuffer_Destroy_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_RawBuffer_GetOnDeviceSizeInBytes: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_RawBuffer_GetMemorySpace: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RawBuffer_GetMemorySpace_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_RawBuffer_CopyRawHostToDevice: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RawBuffer_CopyRawHostToDevice_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_RawBuffer_CopyRawDeviceToHost: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RawBuffer_CopyRawDeviceToHost_Args) -> *mut PJRT_Error,
    >,
    pub PJRT_RawBuffer_GetHostPointer: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_RawBuffer_GetHostPointer_Args) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_parameters: usize,
    pub shardings: *const *const ::core::ffi::c_char,
    pub sharding_sizes: *const usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
    pub struct_size: usize,
    pub extension_start: *mut PJRT_Extension_Base,
    pub executable: *mut PJRT_Executable,
    pub num_outputs: usize,
    pub shardings: *const *const ::core::ffi::c_char,
    pub sharding_sizes: *const usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Shardings_Extension {
    pub base: PJRT_Extension_Base,
    pub PJRT_Shardings_PJRT_Executable_ParameterShardings: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Shardings_PJRT_Executable_ParameterShardings_Args,
        ) -> *mut PJRT_Error,
    >,
    pub PJRT_Shardings_PJRT_Executable_OutputShardings: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Shardings_PJRT_Executable_OutputShardings_Args,
        ) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Get_Stream_For_External_Ready_Events_Args {
    pub struct_size: usize,
    pub device: *mut PJRT_Device,
    pub stream: isize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Wait_Until_Buffer_Ready_On_Stream_Args {
    pub struct_size: usize,
    pub stream: isize,
    pub buffer: *mut PJRT_Buffer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_Stream_Extension {
    pub base: PJRT_Extension_Base,
    pub get_stream: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Get_Stream_For_External_Ready_Events_Args,
        ) -> *mut PJRT_Error,
    >,
    pub wait_stream: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_Wait_Until_Buffer_Ready_On_Stream_Args,
        ) -> *mut PJRT_Error,
    >,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_Subslice_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub chips_per_host_bounds: *const i32,
    pub chips_per_host_bounds_num_dims: usize,
    pub host_bounds: *const i32,
    pub host_bounds_num_dims: usize,
    pub subslice_topology: *mut PJRT_TopologyDescription,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_IsSubsliceTopology_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub is_subslice_topology: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args {
    pub struct_size: usize,
    pub client_topology: *const PJRT_TopologyDescription,
    pub subslice_topology: *const PJRT_TopologyDescription,
    pub subslice_origin: *const i32,
    pub subslice_origin_dim_num: usize,
    pub full_device_id: i32,
    pub subslice_device_id: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ReplaceHostBounds_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub host_bounds: *const i32,
    pub host_bounds_dim_num: usize,
    pub new_topology: *mut PJRT_TopologyDescription,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_IsEnhancedBarrierEnabled_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub is_enhanced_barrier_enabled: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_HasLimitedIciConnectivity_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub has_limited_ici_connectivity: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_IsReachableOverLimitedIci_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub source_chip_id: i32,
    pub dest_chip_id: i32,
    pub is_reachable_over_limited_ici: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ProcessCount_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub process_count: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ChipsPerProcess_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub chips_per_process: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_CoreCountPerChip_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub core_count_of_default_type_per_chip: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ChipCount_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub chip_count: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_CoreCount_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub core_count_of_default_type: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_LogiDeviceCount_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub logical_device_count_of_default_type: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_LogiDeviceCountPerProcess_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub logical_device_count_of_default_type_per_process: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_LogiDeviceCountPerChip_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub logical_device_count_of_default_type_per_chip: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_CoreCountPerProcess_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub core_count_of_default_type_per_process: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ProcessIds_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub max_process_ids: i32,
    pub process_ids: *mut i32,
    pub num_process_ids: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub process_id: i32,
    pub max_logical_device_ids: i32,
    pub logical_device_of_default_type_ids: *mut i32,
    pub num_logical_device_ids: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub chip_id: i32,
    pub process_id: i32,
    pub index_on_process: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub device_id: i32,
    pub process_id: i32,
    pub index_on_process: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ProcessCoordFromId_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub process_id: i32,
    pub coords_max_dims: usize,
    pub coords: *mut i32,
    pub coords_num_dims: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ChipIdFromCoord_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub coords: *const i32,
    pub coords_num_dims: usize,
    pub chip_id: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub chip_coords: *const i32,
    pub chip_coords_num_dims: usize,
    pub logical_device_index_on_chip: i32,
    pub logical_device_of_default_type_id: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub device_id: i32,
    pub chip_coords_max_dims: usize,
    pub chip_coords: *mut i32,
    pub chip_coords_num_dims: usize,
    pub device_index_on_chip: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ChipsPerProcessBounds_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub chip_per_process_bounds_max_dims: usize,
    pub chip_per_process_bounds: *mut i32,
    pub chip_per_process_bounds_num_dims: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ChipBounds_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub chip_bounds_max_dims: usize,
    pub chip_bounds: *mut i32,
    pub chip_bounds_num_dims: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_ProcessBounds_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub process_bounds_max_dims: usize,
    pub process_bounds: *mut i32,
    pub process_bounds_num_dims: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_GetRoutingStrategy_Args {
    pub struct_size: usize,
    pub topology: *const PJRT_TopologyDescription,
    pub routing_strategy: *mut ::core::ffi::c_char,
    pub routing_strategy_len: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_SliceConfig {
    pub dim_size: usize,
    pub dimensions: [i32; 4usize],
    pub wrap: [u8; 4usize],
    pub twist: u8,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_GetSliceConfig_Args {
    pub struct_size: usize,
    pub platform_type_name: *const ::core::ffi::c_char,
    pub platform_type_name_len: usize,
    pub slice_name: *const ::core::ffi::c_char,
    pub slice_name_len: usize,
    pub slice_config: *mut PJRT_TpuTopology_SliceConfig,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_GetSliceConfigs_Args {
    pub struct_size: usize,
    pub platform_type_name: *const ::core::ffi::c_char,
    pub platform_type_name_len: usize,
    pub slice_configs: *mut PJRT_TpuTopology_SliceConfig,
    pub max_slice_configs: usize,
    pub num_slice_configs: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_GetDefaultPlatformConfig_Args {
    pub struct_size: usize,
    pub platform_type_name: *const ::core::ffi::c_char,
    pub platform_type_name_len: usize,
    pub num_chips_per_tray: i64,
    pub num_trays: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct PJRT_TpuTopology_Extension {
    pub base: PJRT_Extension_Base,
    pub subslice: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_Subslice_Args) -> *mut PJRT_Error,
    >,
    pub is_subslice_topology: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_IsSubsliceTopology_Args,
        ) -> *mut PJRT_Error,
    >,
    pub subslice_device_id_from_full_device_id: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args,
        ) -> *mut PJRT_Error,
    >,
    pub replace_host_bounds: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ReplaceHostBounds_Args) -> *mut PJRT_Error,
    >,
    pub is_enhanced_barrier_enabled: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_IsEnhancedBarrierEnabled_Args,
        ) -> *mut PJRT_Error,
    >,
    pub has_limited_ici_connectivity: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_HasLimitedIciConnectivity_Args,
        ) -> *mut PJRT_Error,
    >,
    pub is_reachable_over_limited_ici: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_IsReachableOverLimitedIci_Args,
        ) -> *mut PJRT_Error,
    >,
    pub process_count: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ProcessCount_Args) -> *mut PJRT_Error,
    >,
    pub chips_per_process: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ChipsPerProcess_Args) -> *mut PJRT_Error,
    >,
    pub core_count_per_chip: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_CoreCountPerChip_Args) -> *mut PJRT_Error,
    >,
    pub chip_count: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ChipCount_Args) -> *mut PJRT_Error,
    >,
    pub core_count: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_CoreCount_Args) -> *mut PJRT_Error,
    >,
    pub logical_device_count_per_process: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_LogiDeviceCountPerProcess_Args,
        ) -> *mut PJRT_Error,
    >,
    pub logical_device_count: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_LogiDeviceCount_Args) -> *mut PJRT_Error,
    >,
    pub logical_device_count_per_chip: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_LogiDeviceCountPerChip_Args,
        ) -> *mut PJRT_Error,
    >,
    pub core_count_per_process: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_CoreCountPerProcess_Args,
        ) -> *mut PJRT_Error,
    >,
    pub process_ids: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ProcessIds_Args) -> *mut PJRT_Error,
    >,
    pub logical_device_ids_on_process: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args,
        ) -> *mut PJRT_Error,
    >,
    pub proc_id_and_idx_on_proc_for_chip: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args,
        ) -> *mut PJRT_Error,
    >,
    pub proc_id_and_idx_on_proc_for_logi_device: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args,
        ) -> *mut PJRT_Error,
    >,
    pub process_coord_from_id: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_ProcessCoordFromId_Args,
        ) -> *mut PJRT_Error,
    >,
    pub chip_id_from_coord: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ChipIdFromCoord_Args) -> *mut PJRT_Error,
    >,
    pub logical_device_id_from_chip_coord_and_idx: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args,
        ) -> *mut PJRT_Error,
    >,
    pub chip_coord_and_idx_for_logi_device: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args,
        ) -> *mut PJRT_Error,
    >,
    pub chips_per_process_bounds: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_ChipsPerProcessBounds_Args,
        ) -> *mut PJRT_Error,
    >,
    pub chip_bounds: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ChipBounds_Args) -> *mut PJRT_Error,
    >,
    pub process_bounds: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_ProcessBounds_Args) -> *mut PJRT_Error,
    >,
    pub get_routing_strategy: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_GetRoutingStrategy_Args,
        ) -> *mut PJRT_Error,
    >,
    pub get_slice_config: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_GetSliceConfig_Args) -> *mut PJRT_Error,
    >,
    pub get_slice_configs: ::core::option::Option<
        unsafe extern "C" fn(args: *mut PJRT_TpuTopology_GetSliceConfigs_Args) -> *mut PJRT_Error,
    >,
    pub get_default_platform_config: ::core::option::Option<
        unsafe extern "C" fn(
            args: *mut PJRT_TpuTopology_GetDefaultPlatformConfig_Args,
        ) -> *mut PJRT_Error,
    >,
}
impl XLA_FFI_InternalExtension_Type {
    pub const XLA_FFI_Extension_Metadata: XLA_FFI_InternalExtension_Type =
        XLA_FFI_InternalExtension_Type(1);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_InternalExtension_Type(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_InternalExtension {
    pub struct_size: usize,
    pub type_: XLA_FFI_InternalExtension_Type,
    pub next: *mut XLA_FFI_InternalExtension,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ExtensionId {
    pub extension_type: i64,
    pub major_version: i32,
    pub minor_version: i32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Extension {
    pub struct_size: usize,
    pub id: XLA_FFI_ExtensionId,
    pub next: *const XLA_FFI_Extension,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Api_Version {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub major_version: ::core::ffi::c_int,
    pub minor_version: ::core::ffi::c_int,
}
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_Error {
    _unused: [u8; 0],
}
impl XLA_FFI_Error_Code {
    pub const XLA_FFI_Error_Code_OK: XLA_FFI_Error_Code = XLA_FFI_Error_Code(0);
    pub const XLA_FFI_Error_Code_CANCELLED: XLA_FFI_Error_Code = XLA_FFI_Error_Code(1);
    pub const XLA_FFI_Error_Code_UNKNOWN: XLA_FFI_Error_Code = XLA_FFI_Error_Code(2);
    pub const XLA_FFI_Error_Code_INVALID_ARGUMENT: XLA_FFI_Error_Code = XLA_FFI_Error_Code(3);
    pub const XLA_FFI_Error_Code_DEADLINE_EXCEEDED: XLA_FFI_Error_Code = XLA_FFI_Error_Code(4);
    pub const XLA_FFI_Error_Code_NOT_FOUND: XLA_FFI_Error_Code = XLA_FFI_Error_Code(5);
    pub const XLA_FFI_Error_Code_ALREADY_EXISTS: XLA_FFI_Error_Code = XLA_FFI_Error_Code(6);
    pub const XLA_FFI_Error_Code_PERMISSION_DENIED: XLA_FFI_Error_Code = XLA_FFI_Error_Code(7);
    pub const XLA_FFI_Error_Code_RESOURCE_EXHAUSTED: XLA_FFI_Error_Code = XLA_FFI_Error_Code(8);
    pub const XLA_FFI_Error_Code_FAILED_PRECONDITION: XLA_FFI_Error_Code = XLA_FFI_Error_Code(9);
    pub const XLA_FFI_Error_Code_ABORTED: XLA_FFI_Error_Code = XLA_FFI_Error_Code(10);
    pub const XLA_FFI_Error_Code_OUT_OF_RANGE: XLA_FFI_Error_Code = XLA_FFI_Error_Code(11);
    pub const XLA_FFI_Error_Code_UNIMPLEMENTED: XLA_FFI_Error_Code = XLA_FFI_Error_Code(12);
    pub const XLA_FFI_Error_Code_INTERNAL: XLA_FFI_Error_Code = XLA_FFI_Error_Code(13);
    pub const XLA_FFI_Error_Code_UNAVAILABLE: XLA_FFI_Error_Code = XLA_FFI_Error_Code(14);
    pub const XLA_FFI_Error_Code_DATA_LOSS: XLA_FFI_Error_Code = XLA_FFI_Error_Code(15);
    pub const XLA_FFI_Error_Code_UNAUTHENTICATED: XLA_FFI_Error_Code = XLA_FFI_Error_Code(16);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_Error_Code(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Error_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub message: *const ::core::ffi::c_char,
    pub errc: XLA_FFI_Error_Code,
}
pub type XLA_FFI_Error_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Error_Create_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Error_GetDetails_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub error: *mut XLA_FFI_Error,
    pub message: *const ::core::ffi::c_char,
    pub errc: XLA_FFI_Error_Code,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Error_GetMessage_Args_0_3 {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub error: *mut XLA_FFI_Error,
    pub message: *const ::core::ffi::c_char,
}
pub type XLA_FFI_Error_GetDetails =
    ::core::option::Option<unsafe extern "C" fn(args: *mut XLA_FFI_Error_GetDetails_Args)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Error_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub error: *mut XLA_FFI_Error,
}
pub type XLA_FFI_Error_Destroy =
    ::core::option::Option<unsafe extern "C" fn(args: *mut XLA_FFI_Error_Destroy_Args)>;
impl XLA_FFI_DataType {
    pub const XLA_FFI_DataType_INVALID: XLA_FFI_DataType = XLA_FFI_DataType(0);
    pub const XLA_FFI_DataType_PRED: XLA_FFI_DataType = XLA_FFI_DataType(1);
    pub const XLA_FFI_DataType_S1: XLA_FFI_DataType = XLA_FFI_DataType(30);
    pub const XLA_FFI_DataType_S2: XLA_FFI_DataType = XLA_FFI_DataType(26);
    pub const XLA_FFI_DataType_S4: XLA_FFI_DataType = XLA_FFI_DataType(21);
    pub const XLA_FFI_DataType_S8: XLA_FFI_DataType = XLA_FFI_DataType(2);
    pub const XLA_FFI_DataType_S16: XLA_FFI_DataType = XLA_FFI_DataType(3);
    pub const XLA_FFI_DataType_S32: XLA_FFI_DataType = XLA_FFI_DataType(4);
    pub const XLA_FFI_DataType_S64: XLA_FFI_DataType = XLA_FFI_DataType(5);
    pub const XLA_FFI_DataType_U1: XLA_FFI_DataType = XLA_FFI_DataType(31);
    pub const XLA_FFI_DataType_U2: XLA_FFI_DataType = XLA_FFI_DataType(27);
    pub const XLA_FFI_DataType_U4: XLA_FFI_DataType = XLA_FFI_DataType(22);
    pub const XLA_FFI_DataType_U8: XLA_FFI_DataType = XLA_FFI_DataType(6);
    pub const XLA_FFI_DataType_U16: XLA_FFI_DataType = XLA_FFI_DataType(7);
    pub const XLA_FFI_DataType_U32: XLA_FFI_DataType = XLA_FFI_DataType(8);
    pub const XLA_FFI_DataType_U64: XLA_FFI_DataType = XLA_FFI_DataType(9);
    pub const XLA_FFI_DataType_F16: XLA_FFI_DataType = XLA_FFI_DataType(10);
    pub const XLA_FFI_DataType_F32: XLA_FFI_DataType = XLA_FFI_DataType(11);
    pub const XLA_FFI_DataType_F64: XLA_FFI_DataType = XLA_FFI_DataType(12);
    pub const XLA_FFI_DataType_BF16: XLA_FFI_DataType = XLA_FFI_DataType(16);
    pub const XLA_FFI_DataType_C64: XLA_FFI_DataType = XLA_FFI_DataType(15);
    pub const XLA_FFI_DataType_C128: XLA_FFI_DataType = XLA_FFI_DataType(18);
    pub const XLA_FFI_DataType_TOKEN: XLA_FFI_DataType = XLA_FFI_DataType(17);
    pub const XLA_FFI_DataType_F8E5M2: XLA_FFI_DataType = XLA_FFI_DataType(19);
    pub const XLA_FFI_DataType_F8E3M4: XLA_FFI_DataType = XLA_FFI_DataType(29);
    pub const XLA_FFI_DataType_F8E4M3: XLA_FFI_DataType = XLA_FFI_DataType(28);
    pub const XLA_FFI_DataType_F8E4M3FN: XLA_FFI_DataType = XLA_FFI_DataType(20);
    pub const XLA_FFI_DataType_F8E4M3B11FNUZ: XLA_FFI_DataType = XLA_FFI_DataType(23);
    pub const XLA_FFI_DataType_F8E5M2FNUZ: XLA_FFI_DataType = XLA_FFI_DataType(24);
    pub const XLA_FFI_DataType_F8E4M3FNUZ: XLA_FFI_DataType = XLA_FFI_DataType(25);
    pub const XLA_FFI_DataType_F4E2M1FN: XLA_FFI_DataType = XLA_FFI_DataType(32);
    pub const XLA_FFI_DataType_F8E8M0FNU: XLA_FFI_DataType = XLA_FFI_DataType(33);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_DataType(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Buffer {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub dtype: XLA_FFI_DataType,
    pub data: *mut ::core::ffi::c_void,
    pub rank: i64,
    pub dims: *mut i64,
}
impl XLA_FFI_ArgType {
    pub const XLA_FFI_ArgType_BUFFER: XLA_FFI_ArgType = XLA_FFI_ArgType(1);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_ArgType(pub ::core::ffi::c_uint);
impl XLA_FFI_RetType {
    pub const XLA_FFI_RetType_BUFFER: XLA_FFI_RetType = XLA_FFI_RetType(1);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_RetType(pub ::core::ffi::c_uint);
impl XLA_FFI_AttrType {
    pub const XLA_FFI_AttrType_ARRAY: XLA_FFI_AttrType = XLA_FFI_AttrType(1);
    pub const XLA_FFI_AttrType_DICTIONARY: XLA_FFI_AttrType = XLA_FFI_AttrType(2);
    pub const XLA_FFI_AttrType_SCALAR: XLA_FFI_AttrType = XLA_FFI_AttrType(3);
    pub const XLA_FFI_AttrType_STRING: XLA_FFI_AttrType = XLA_FFI_AttrType(4);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_AttrType(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_InvokeContext {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ByteSpan {
    pub ptr: *const ::core::ffi::c_char,
    pub len: usize,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Scalar {
    pub dtype: XLA_FFI_DataType,
    pub value: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Array {
    pub dtype: XLA_FFI_DataType,
    pub size: usize,
    pub data: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_TypeId {
    pub type_id: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_TypeInfo {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub deleter: ::core::option::Option<unsafe extern "C" fn(object: *mut ::core::ffi::c_void)>,
}
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_Future {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Future_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub future: *mut XLA_FFI_Future,
}
pub type XLA_FFI_Future_Create = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Future_Create_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Future_SetAvailable_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub future: *mut XLA_FFI_Future,
}
pub type XLA_FFI_Future_SetAvailable = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Future_SetAvailable_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Future_SetError_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub future: *mut XLA_FFI_Future,
    pub error: *mut XLA_FFI_Error,
}
pub type XLA_FFI_Future_SetError = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Future_SetError_Args) -> *mut XLA_FFI_Error,
>;
impl XLA_FFI_ExecutionStage {
    pub const XLA_FFI_ExecutionStage_INSTANTIATE: XLA_FFI_ExecutionStage =
        XLA_FFI_ExecutionStage(0);
    pub const XLA_FFI_ExecutionStage_PREPARE: XLA_FFI_ExecutionStage = XLA_FFI_ExecutionStage(1);
    pub const XLA_FFI_ExecutionStage_INITIALIZE: XLA_FFI_ExecutionStage = XLA_FFI_ExecutionStage(2);
    pub const XLA_FFI_ExecutionStage_EXECUTE: XLA_FFI_ExecutionStage = XLA_FFI_ExecutionStage(3);
    pub const XLA_FFI_ExecutionStage_RECORD: XLA_FFI_ExecutionStage = XLA_FFI_ExecutionStage(4);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_ExecutionStage(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub size: i64,
    pub types: *mut XLA_FFI_ArgType,
    pub args: *mut *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Rets {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub size: i64,
    pub types: *mut XLA_FFI_RetType,
    pub rets: *mut *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Attrs {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub size: i64,
    pub types: *mut XLA_FFI_AttrType,
    pub names: *mut *mut XLA_FFI_ByteSpan,
    pub attrs: *mut *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_CallFrame {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub api: *const XLA_FFI_Api,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub stage: XLA_FFI_ExecutionStage,
    pub args: XLA_FFI_Args,
    pub rets: XLA_FFI_Rets,
    pub attrs: XLA_FFI_Attrs,
    pub future: *mut XLA_FFI_Future,
}
pub type XLA_FFI_Handler = ::core::option::Option<
    unsafe extern "C" fn(call_frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Handler_Bundle {
    pub instantiate: XLA_FFI_Handler,
    pub prepare: XLA_FFI_Handler,
    pub initialize: XLA_FFI_Handler,
    pub execute: XLA_FFI_Handler,
    pub record: XLA_FFI_Handler,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Handler_Bundle_0_3 {
    pub instantiate: XLA_FFI_Handler,
    pub prepare: XLA_FFI_Handler,
    pub initialize: XLA_FFI_Handler,
    pub execute: XLA_FFI_Handler,
}
impl XLA_FFI_Handler_TraitsBits {
    pub const XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE: XLA_FFI_Handler_TraitsBits =
        XLA_FFI_Handler_TraitsBits(1);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct XLA_FFI_Handler_TraitsBits(pub ::core::ffi::c_uint);
pub type XLA_FFI_Handler_Traits = u32;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Handler_Register_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub name: XLA_FFI_ByteSpan,
    pub platform: XLA_FFI_ByteSpan,
    pub bundle: XLA_FFI_Handler_Bundle,
    pub traits: XLA_FFI_Handler_Traits,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Handler_Register_Args_0_3 {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub name: XLA_FFI_ByteSpan,
    pub platform: XLA_FFI_ByteSpan,
    pub bundle: XLA_FFI_Handler_Bundle_0_3,
    pub traits: XLA_FFI_Handler_Traits,
}
pub type XLA_FFI_Handler_Register = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Handler_Register_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Type_Register_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub name: XLA_FFI_ByteSpan,
    pub type_id: *mut XLA_FFI_TypeId,
    pub type_info: *const XLA_FFI_TypeInfo,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_TypeId_Register_Args_0_1 {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub name: XLA_FFI_ByteSpan,
    pub type_id: *mut XLA_FFI_TypeId,
}
pub type XLA_FFI_Type_Register = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Type_Register_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_InvokeContext_FindExtension_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub extension_type: i64,
    pub extension: *const XLA_FFI_Extension,
}
pub type XLA_FFI_InvokeContext_FindExtension = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_InvokeContext_FindExtension_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_InvokeContext_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub type_id: *mut XLA_FFI_TypeId,
    pub data: *mut ::core::ffi::c_void,
}
pub type XLA_FFI_InvokeContext_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_InvokeContext_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_CustomOptions_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub attrs: *const XLA_FFI_Attrs,
}
pub type XLA_FFI_CustomOptions_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_CustomOptions_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_State_Set_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub stage: XLA_FFI_ExecutionStage,
    pub type_id: *mut XLA_FFI_TypeId,
    pub state: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_State_Set_Args_0_2 {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub type_id: *mut XLA_FFI_TypeId,
    pub state: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_State_Set_Args_0_1 {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub type_id: *mut XLA_FFI_TypeId,
    pub state: *mut ::core::ffi::c_void,
    pub deleter: ::core::option::Option<unsafe extern "C" fn(state: *mut ::core::ffi::c_void)>,
}
pub type XLA_FFI_State_Set = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_State_Set_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_State_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub stage: XLA_FFI_ExecutionStage,
    pub type_id: *mut XLA_FFI_TypeId,
    pub state: *mut ::core::ffi::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_State_Get_Args_0_2 {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub type_id: *mut XLA_FFI_TypeId,
    pub state: *mut ::core::ffi::c_void,
}
pub type XLA_FFI_State_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_State_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Stream_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub stream: *mut ::core::ffi::c_void,
}
pub type XLA_FFI_Stream_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_Stream_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_DeviceMemory_Allocate_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub size: usize,
    pub alignment: usize,
    pub data: *mut ::core::ffi::c_void,
}
pub type XLA_FFI_DeviceMemory_Allocate = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_DeviceMemory_Allocate_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_DeviceMemory_Free_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub size: usize,
    pub data: *mut ::core::ffi::c_void,
}
pub type XLA_FFI_DeviceMemory_Free = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_DeviceMemory_Free_Args) -> *mut XLA_FFI_Error,
>;
pub type XLA_FFI_Task =
    ::core::option::Option<unsafe extern "C" fn(data: *mut ::core::ffi::c_void)>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ThreadPool_Schedule_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub task: XLA_FFI_Task,
    pub data: *mut ::core::ffi::c_void,
}
pub type XLA_FFI_ThreadPool_Schedule = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_ThreadPool_Schedule_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_ThreadPool_NumThreads_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub num_threads: *mut i64,
}
pub type XLA_FFI_ThreadPool_NumThreads = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_ThreadPool_NumThreads_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_RunId_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub run_id: i64,
}
pub type XLA_FFI_RunId_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_RunId_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_DeviceOrdinal_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub ctx: *mut XLA_FFI_InvokeContext,
    pub device_ordinal: i32,
}
pub type XLA_FFI_DeviceOrdinal_Get = ::core::option::Option<
    unsafe extern "C" fn(args: *mut XLA_FFI_DeviceOrdinal_Get_Args) -> *mut XLA_FFI_Error,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Metadata {
    pub struct_size: usize,
    pub api_version: XLA_FFI_Api_Version,
    pub traits: XLA_FFI_Handler_Traits,
    pub state_type_id: XLA_FFI_TypeId,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Metadata_Extension {
    pub extension_base: XLA_FFI_InternalExtension,
    pub metadata: *mut XLA_FFI_Metadata,
}
#[repr(C)]
#[derive(Debug)]
pub struct XLA_FFI_InternalApi {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct XLA_FFI_Api {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_InternalExtension,
    pub api_version: XLA_FFI_Api_Version,
    pub internal_api: *const XLA_FFI_InternalApi,
    pub XLA_FFI_Error_Create: XLA_FFI_Error_Create,
    pub XLA_FFI_Error_GetDetails: XLA_FFI_Error_GetDetails,
    pub XLA_FFI_Error_Destroy: XLA_FFI_Error_Destroy,
    pub XLA_FFI_Handler_Register: XLA_FFI_Handler_Register,
    pub XLA_FFI_Stream_Get: XLA_FFI_Stream_Get,
    pub XLA_FFI_Type_Register: XLA_FFI_Type_Register,
    pub XLA_FFI_InvokeContext_Get: XLA_FFI_InvokeContext_Get,
    pub XLA_FFI_State_Set: XLA_FFI_State_Set,
    pub XLA_FFI_State_Get: XLA_FFI_State_Get,
    pub XLA_FFI_DeviceMemory_Allocate: XLA_FFI_DeviceMemory_Allocate,
    pub XLA_FFI_DeviceMemory_Free: XLA_FFI_DeviceMemory_Free,
    pub XLA_FFI_ThreadPool_Schedule: XLA_FFI_ThreadPool_Schedule,
    pub XLA_FFI_ThreadPool_NumThreads: XLA_FFI_ThreadPool_NumThreads,
    pub XLA_FFI_Future_Create: XLA_FFI_Future_Create,
    pub XLA_FFI_Future_SetAvailable: XLA_FFI_Future_SetAvailable,
    pub XLA_FFI_Future_SetError: XLA_FFI_Future_SetError,
    pub XLA_FFI_RunId_Get: XLA_FFI_RunId_Get,
    pub XLA_FFI_DeviceOrdinal_Get: XLA_FFI_DeviceOrdinal_Get,
    pub XLA_FFI_InvokeContext_FindExtension: XLA_FFI_InvokeContext_FindExtension,
    pub XLA_FFI_CustomOptions_Get: XLA_FFI_CustomOptions_Get,
}
