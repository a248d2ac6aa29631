/* The PJRT C interface (OpenXLA, minor 114) as this plugin speaks it: names, order and types are
   the interface's, the words are ours. One file of more than 500 lines, because the interface is
   one table and every struct in it belongs to a slot.

   Grammar. Slot PJRT_X takes one PJRT_X_Args and returns a PJRT_Error, NULL for success. A struct
   begins with struct_size, the size its writer knows, and extension_start, a chain that may be
   NULL. A struct only grows at its end, so the receiver must not touch what lies behind the
   struct_size it was given. "out" marks what the callee writes; such a field may hold garbage
   before. A pointer that is handed out is owned by the object asked, and lives as long, unless a
   comment says otherwise. Strings have a size and no terminating zero. "Since n" is the minor
   version that appended a slot or a field; 29 is the oldest that any client here speaks. */
#ifndef TPU_EMU_PJRT_C_API_H_
#define TPU_EMU_PJRT_C_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR 114

/* Extensions hang off the table, a client or the arguments of a call.
   Each begins with a PJRT_Extension_Base, and a reader skips the types it does not know. */

typedef enum {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Stream = 3,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Triton = 7,
  PJRT_Extension_Type_RawBuffer = 8,
  PJRT_Extension_Type_PhaseCompile = 9,
  PJRT_Extension_Type_Example = 10,
  PJRT_Extension_Type_Unknown = 11,
  PJRT_Extension_Type_CrossHostTransfers = 12,
  PJRT_Extension_Type_ExecutableMetadata = 13,
  PJRT_Extension_Type_Callback = 14,
  PJRT_Extension_Type_HostAllocator = 15,
  PJRT_Extension_Type_TpuTopology = 16,
  PJRT_Extension_Type_TpuExecutable = 17,
  PJRT_Extension_Type_Megascale = 18,
  PJRT_Extension_Type_Shardings = 19,
  PJRT_Extension_Type_AbiVersion = 20,
  PJRT_Extension_Type_Collectives = 21,
  PJRT_Extension_Type_MultiSlice = 22,
  PJRT_Extension_Type_HostMemoryAllocator = 23,
  PJRT_Extension_Type_XlaTransform = 24,
} PJRT_Extension_Type;

typedef struct PJRT_Extension_Base {
  size_t struct_size;  /* of the whole extension */
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base* next;
} PJRT_Extension_Base;

typedef struct PJRT_Api_Version {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  int major_version;  /* out */
  int minor_version;  /* out */
} PJRT_Api_Version;

/* Errors. The callee makes them, the caller destroys them.
   Since 107 the object itself begins with a pointer to its functions. */

typedef struct PJRT_Error PJRT_Error;

typedef struct PJRT_Error_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Error* error;  /* NULL is allowed */
} PJRT_Error_Destroy_Args;

/* The slots for Destroy and Message return nothing. */
typedef struct PJRT_Error_Message_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Error* error;
  const char* message;  /* out */
  size_t message_size;  /* out */
} PJRT_Error_Message_Args;

/* The canonical status codes, as in absl and gRPC. */
typedef enum {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16,
} PJRT_Error_Code;

/* Called once a payload; key and value live for the call. */
typedef void (*PJRT_Error_PayloadVisitor)(
    const char* key, size_t key_size, const char* value, size_t value_size, void* user_arg);

typedef struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;  /* of PJRT_Error */
  PJRT_Extension_Base* extension_start;
  void (*destroy)(PJRT_Error* error);
  void (*message)(const PJRT_Error* error, const char** message, size_t* message_size);
  PJRT_Error_Code (*get_code)(const PJRT_Error* error);
  void (*for_each_payload)(
      const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor, void* user_arg);
} PJRT_Error_FunctionTable;

/* Errors. The callee makes them, the caller destroys them.
   Since 107 the object itself begins with a pointer to its functions. */

struct PJRT_Error {
  const PJRT_Error_FunctionTable* vtable;
};

typedef struct PJRT_Error_GetCode_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Error* error;
  PJRT_Error_Code code;  /* out */
} PJRT_Error_GetCode_Args;

/* Visits the keyed attachments of an error. */
typedef struct PJRT_Error_ForEachPayload_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Error* error;
  PJRT_Error_PayloadVisitor visitor;
  void* user_arg;
} PJRT_Error_ForEachPayload_Args;

/* How a callback of the client makes an error for the plugin; message is copied. */
typedef PJRT_Error* (*PJRT_CallbackError)(
    PJRT_Error_Code code, const char* message, size_t message_size);

/* Key and value pairs: options going in, attributes coming out. */

typedef enum {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4,
} PJRT_NamedValue_Type;

typedef struct PJRT_NamedValue {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;  /* elements of a string or list, 1 for a scalar */
} PJRT_NamedValue;

/* The plugin. */

/* Called once, before every other slot. */
typedef struct PJRT_Plugin_Initialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
} PJRT_Plugin_Initialize_Args;

/* Versions and abilities of the plugin, such as stablehlo_current_version. */
typedef struct PJRT_Plugin_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_NamedValue* attributes;  /* out */
  size_t num_attributes;  /* out; clients before 76 send a struct_size that ends before this */
} PJRT_Plugin_Attributes_Args;

/* Events: completion of asynchronous work, with its error. The caller destroys them,
   and may do so while a callback is still to come. */

typedef struct PJRT_Event PJRT_Event;

typedef struct PJRT_Event_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
} PJRT_Event_Destroy_Args;

/* Ready means finished, well or not. */
typedef struct PJRT_Event_IsReady_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
  bool is_ready;  /* out */
} PJRT_Event_IsReady_Args;

/* The error of a ready event, as the returned PJRT_Error; a new one each time. */
typedef struct PJRT_Event_Error_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
} PJRT_Event_Error_Args;

/* Blocks until ready and returns the error. */
typedef struct PJRT_Event_Await_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
} PJRT_Event_Await_Args;

/* Owns error, which is NULL for success. */
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error* error, void* user_arg);

/* Calls back once, at once if the event is ready. */
typedef struct PJRT_Event_OnReady_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
} PJRT_Event_OnReady_Args;

/* An event that the caller completes with PJRT_Event_Set. */
typedef struct PJRT_Event_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;  /* out */
} PJRT_Event_Create_Args;

typedef struct PJRT_Event_Set_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Event* event;
  PJRT_Error_Code error_code;
  const char* error_message;  /* copied */
  size_t error_message_size;
} PJRT_Event_Set_Args;

/* Objects. All are opaque, but a PJRT_Memory begins with a pointer to its functions (since 105). */

typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_Memory_FunctionTable PJRT_Memory_FunctionTable;

struct PJRT_Memory_FunctionTable {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  size_t instance_struct_size;  /* of PJRT_Memory */
  void* (*get_user_data)(PJRT_Memory* memory, const void* key);
  /* dtor runs on data when it is replaced or its memory dies */
  void (*set_user_data)(PJRT_Memory* memory, const void* key, void* data, void (*dtor)(void*));
};

struct PJRT_Memory {
  const PJRT_Memory_FunctionTable* vtable;
};

typedef struct PJRT_ShapeSpec PJRT_ShapeSpec;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_PhaseCompiler PJRT_PhaseCompiler;

/* A key-value store that the processes of a distributed client share. The client brings the
   callbacks; they are thread-safe. */

typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char* value);

/* Waits for the key, at most timeout_in_ms milliseconds. */
typedef struct PJRT_KeyValueGetCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;  /* out */
  size_t value_size;  /* out */
  /* out; the plugin copies value, then calls this */
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;
} PJRT_KeyValueGetCallback_Args;

typedef PJRT_Error* (*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args* args);

typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char* value);

/* Does not wait: NOT_FOUND for a key that is not there. */
typedef struct PJRT_KeyValueTryGetCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* key;
  size_t key_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;  /* out */
  size_t value_size;  /* out */
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;  /* out; as above */
} PJRT_KeyValueTryGetCallback_Args;

typedef PJRT_Error* (*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args* args);

/* Key and value live for the call. */
typedef struct PJRT_KeyValuePutCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
} PJRT_KeyValuePutCallback_Args;

typedef PJRT_Error* (*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args* args);

/* The client. */

/* Makes a client; the callbacks may be NULL in a single process. */
typedef struct PJRT_Client_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_KeyValueGetCallback kv_get_callback;
  void* kv_get_user_arg;
  PJRT_KeyValuePutCallback kv_put_callback;
  void* kv_put_user_arg;
  PJRT_Client* client;  /* out */
  PJRT_KeyValueTryGetCallback kv_try_get_callback;  /* since 61 */
  void* kv_try_get_user_arg;
} PJRT_Client_Create_Args;

typedef struct PJRT_Client_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;  /* NULL is allowed */
} PJRT_Client_Destroy_Args;

/* Such as "tpu". */
typedef struct PJRT_Client_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const char* platform_name;  /* out */
  size_t platform_name_size;  /* out */
} PJRT_Client_PlatformName_Args;

/* 0 in a single process. */
typedef struct PJRT_Client_ProcessIndex_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  int process_index;  /* out */
} PJRT_Client_ProcessIndex_Args;

/* For people. */
typedef struct PJRT_Client_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const char* platform_version;  /* out */
  size_t platform_version_size;  /* out */
} PJRT_Client_PlatformVersion_Args;

/* The topology stays the client's. */
typedef struct PJRT_Client_TopologyDescription_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_TopologyDescription* topology;  /* out */
} PJRT_Client_TopologyDescription_Args;

/* Devices of all processes. */
typedef struct PJRT_Client_Devices_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Device* const* devices;  /* out */
  size_t num_devices;  /* out */
} PJRT_Client_Devices_Args;

/* Devices of this process. */
typedef struct PJRT_Client_AddressableDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Device* const* addressable_devices;  /* out */
  size_t num_addressable_devices;  /* out */
} PJRT_Client_AddressableDevices_Args;

/* By the id that PJRT_DeviceDescription_Id gives. */
typedef struct PJRT_Client_LookupDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  int id;
  PJRT_Device* device;  /* out */
} PJRT_Client_LookupDevice_Args;

/* By the id that PJRT_Device_LocalHardwareId gives. */
typedef struct PJRT_Client_LookupAddressableDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  int local_hardware_id;
  PJRT_Device* addressable_device;  /* out */
} PJRT_Client_LookupAddressableDevice_Args;

typedef enum {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4,
} PJRT_ProcessState;

/* One process of a distributed run. Has no extension_start. */
typedef struct PJRT_ProcessInfo {
  size_t struct_size;
  int task_id;
  uint64_t incarnation_id;
  PJRT_ProcessState state;
  int error_code;
  const char* error_message;
  size_t error_message_size;
} PJRT_ProcessInfo;

/* News about which processes are alive. */
typedef struct PJRT_Client_UpdateGlobalProcessInfo_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_ProcessInfo* process_infos;
  size_t num_process_infos;
} PJRT_Client_UpdateGlobalProcessInfo_Args;

/* Memories of the devices of this process. */
typedef struct PJRT_Client_AddressableMemories_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Memory* const* addressable_memories;  /* out */
  size_t num_addressable_memories;  /* out */
} PJRT_Client_AddressableMemories_Args;

/* A program as text or bytes. */
typedef struct PJRT_Program {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  char* code;  /* of the caller; written by OptimizedProgram */
  size_t code_size;
  const char* format;  /* "mlir", "hlo" or "hlo_with_config" */
  size_t format_size;
} PJRT_Program;

/* Program and options live for the call. */
typedef struct PJRT_Client_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const PJRT_Program* program;
  const char* compile_options;  /* a CompileOptionsProto */
  size_t compile_options_size;
  PJRT_LoadedExecutable* executable;  /* out */
} PJRT_Client_Compile_Args;

/* Makes an executable runnable on this client. */
typedef struct PJRT_Client_Load_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Executable* executable;
  const char* compile_options;  /* a CompileOptionsProto */
  size_t compile_options_size;
  PJRT_LoadedExecutable* loaded_executable;  /* out */
} PJRT_Client_Load_Args;

/* Which device runs which replica of which partition. */
typedef struct PJRT_Client_DefaultDeviceAssignment_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;  /* at least num_replicas * num_partitions */
  int* default_assignment;  /* array of the caller; device ids written, replica by replica */
} PJRT_Client_DefaultDeviceAssignment_Args;

/* Pins host memory of the caller for transfers. */
typedef struct PJRT_Client_DmaMap_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  void* data;
  size_t size;  /* bytes */
} PJRT_Client_DmaMap_Args;

typedef struct PJRT_Client_DmaUnmap_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  void* data;
} PJRT_Client_DmaUnmap_Args;

/* Buffers made first and filled piece by piece. */

typedef struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
} PJRT_AsyncHostToDeviceTransferManager_Destroy_Args;

/* Pieces of one buffer may come in any order; the last one makes it ready. */
typedef struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;  /* alive until the event */
  int64_t offset;  /* bytes */
  int64_t transfer_size;  /* bytes */
  bool is_last_transfer;
  PJRT_Event* done_with_h2d_transfer;  /* out */
} PJRT_AsyncHostToDeviceTransferManager_TransferData_Args;

/* Hands the buffer over, once an index; the caller destroys it. */
typedef struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Buffer* buffer_out;  /* out */
} PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args;

typedef struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  PJRT_Device* device_out;  /* out */
} PJRT_AsyncHostToDeviceTransferManager_Device_Args;

typedef struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  size_t buffer_count;  /* out */
} PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args;

typedef struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  size_t buffer_size;  /* out; bytes */
} PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args;

/* Gives the buffer an error in place of data. */
typedef struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
} PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args;

typedef struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  const PJRT_NamedValue* transfer_metadata;
  size_t num_metadata;
} PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args;

/* Shapes. */

/* Element types. S1 and U1 since 94, F6E2M3FN and F6E3M2FN since 114. */
typedef enum {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28,
  PJRT_Buffer_Type_F4E2M1FN = 29,
  PJRT_Buffer_Type_S1 = 30,
  PJRT_Buffer_Type_U1 = 31,
  PJRT_Buffer_Type_F6E2M3FN = 32,
  PJRT_Buffer_Type_F6E3M2FN = 33,
} PJRT_Buffer_Type;

/* Until when the plugin may read the data of the caller, and whether it may write there. */
typedef enum {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,  /* copied before the call returns */
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,  /* until the event */
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,  /* as long as the buffer lives, read only */
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3,  /* the same, and donation may overwrite it */
} PJRT_HostBufferSemantics;

typedef enum {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1,
} PJRT_Buffer_MemoryLayout_Type;

typedef struct PJRT_Buffer_MemoryLayout_Tiled {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const int64_t* minor_to_major;  /* dimensions, the fastest varying first */
  size_t minor_to_major_size;
  const int64_t* tile_dims;  /* all tiles, one after the other */
  const size_t* tile_dim_sizes;  /* dimensions of each tile, num_tiles entries */
  size_t num_tiles;
} PJRT_Buffer_MemoryLayout_Tiled;

typedef struct PJRT_Buffer_MemoryLayout_Strides {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const int64_t* byte_strides;  /* may be negative or 0 */
  size_t num_byte_strides;
} PJRT_Buffer_MemoryLayout_Strides;

typedef struct PJRT_Buffer_MemoryLayout {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;  /* which of the two above */
} PJRT_Buffer_MemoryLayout;

/* The whole of one buffer, in the given shape. */
typedef struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Event* done_with_h2d_transfer;  /* out */
} PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args;

/* New buffers. A NULL layout is the device's default; the caller destroys buffers and events. */

/* Memory without contents. */
typedef struct PJRT_Client_CreateUninitializedBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Device* device;
  PJRT_Memory* memory;  /* wins over device, which may be NULL then */
  PJRT_Buffer* buffer;  /* out */
} PJRT_Client_CreateUninitializedBuffer_Args;

/* A buffer whose reads fail with the given error. */
typedef struct PJRT_Client_CreateErrorBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;  /* out */
  const PJRT_NamedValue* payload;  /* attachments of the error */
  size_t num_payload;
} PJRT_Client_CreateErrorBuffer_Args;

/* A buffer whose contents another buffer will provide later. */
typedef struct PJRT_Client_CreateAliasBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Memory* memory;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Buffer* alias_buffer;  /* out */
  /* out; for PJRT_Client_FulfillAliasBuffer, used up there */
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
} PJRT_Client_CreateAliasBuffer_Args;

/* Provides the contents, or an error. */
typedef struct PJRT_Client_FulfillAliasBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Buffer* buffer;  /* read if status_code is OK */
  PJRT_Error_Code status_code;
  const char* error_message;
  size_t error_message_size;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
} PJRT_Client_FulfillAliasBuffer_Args;

/* Copies or aliases an array of the host. */
typedef struct PJRT_Client_BufferFromHostBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const void* data;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;  /* NULL is dense and row-major */
  size_t num_byte_strides;  /* num_dims, or 0 without strides */
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device* device;  /* ignored if memory is set */
  PJRT_Memory* memory;  /* NULL is the default memory of device */
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Event* done_with_host_buffer;  /* out; the plugin needs data no longer */
  PJRT_Buffer* buffer;  /* out */
} PJRT_Client_BufferFromHostBuffer_Args;

/* A buffer over device memory that somebody else owns. */
typedef struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  void* device_buffer_ptr;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  PJRT_Buffer_MemoryLayout* layout;
  PJRT_Device* device;
  /* NULL or called when the memory is no longer used */
  void (*on_delete_callback)(void* device_buffer_ptr, void* user_arg);
  void* on_delete_callback_arg;
  intptr_t stream;  /* the one that wrote the contents, 0 for none */
  PJRT_Buffer* buffer;  /* out */
  PJRT_Memory* memory;  /* wins over device */
} PJRT_Client_CreateViewOfDeviceBuffer_Args;

struct PJRT_ShapeSpec {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
};

/* Buffers to be filled through the transfer manager. */
typedef struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_ShapeSpec* shape_specs;
  size_t num_shape_specs;
  PJRT_Buffer_MemoryLayout** device_layouts;  /* NULL, or one a shape */
  size_t num_device_layouts;
  PJRT_Memory* memory;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;  /* out */
} PJRT_Client_CreateBuffersForAsyncHostToDevice_Args;

/* Device descriptions: what is known of a device without a client. */

/* Unique over all processes. */
typedef struct PJRT_DeviceDescription_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  int id;  /* out */
} PJRT_DeviceDescription_Id_Args;

/* The process that can address the device. */
typedef struct PJRT_DeviceDescription_ProcessIndex_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  int process_index;  /* out */
} PJRT_DeviceDescription_ProcessIndex_Args;

/* Clients take strings, integers and lists of integers here, and abort on the rest. */
typedef struct PJRT_DeviceDescription_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  size_t num_attributes;  /* out */
  const PJRT_NamedValue* attributes;  /* out */
} PJRT_DeviceDescription_Attributes_Args;

/* The model, such as "TPU v5 lite". */
typedef struct PJRT_DeviceDescription_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const char* device_kind;  /* out */
  size_t device_kind_size;  /* out */
} PJRT_DeviceDescription_Kind_Args;

typedef struct PJRT_DeviceDescription_DebugString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const char* debug_string;  /* out */
  size_t debug_string_size;  /* out */
} PJRT_DeviceDescription_DebugString_Args;

typedef struct PJRT_DeviceDescription_ToString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const char* to_string;  /* out */
  size_t to_string_size;  /* out */
} PJRT_DeviceDescription_ToString_Args;

/* Devices. */

typedef struct PJRT_Device_GetDescription_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  PJRT_DeviceDescription* device_description;  /* out */
} PJRT_Device_GetDescription_Args;

typedef struct PJRT_Device_IsAddressable_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  bool is_addressable;  /* out */
} PJRT_Device_IsAddressable_Args;

/* Number within the process or host, -1 if there is none. */
typedef struct PJRT_Device_LocalHardwareId_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  int local_hardware_id;  /* out */
} PJRT_Device_LocalHardwareId_Args;

typedef struct PJRT_Device_AddressableMemories_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  PJRT_Memory* const* memories;  /* out */
  size_t num_memories;  /* out */
} PJRT_Device_AddressableMemories_Args;

/* Where buffers go that name no memory. */
typedef struct PJRT_Device_DefaultMemory_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  PJRT_Memory* memory;  /* out */
} PJRT_Device_DefaultMemory_Args;

/* Allocator statistics in bytes; a value counts if its is_set is true. */
typedef struct PJRT_Device_MemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  int64_t bytes_in_use;  /* out */
  int64_t peak_bytes_in_use;  /* out */
  bool peak_bytes_in_use_is_set;  /* out */
  int64_t num_allocs;  /* out; a count */
  bool num_allocs_is_set;  /* out */
  int64_t largest_alloc_size;  /* out */
  bool largest_alloc_size_is_set;  /* out */
  int64_t bytes_limit;  /* out */
  bool bytes_limit_is_set;  /* out */
  int64_t bytes_reserved;  /* out */
  bool bytes_reserved_is_set;  /* out */
  int64_t peak_bytes_reserved;  /* out */
  bool peak_bytes_reserved_is_set;  /* out */
  int64_t bytes_reservable_limit;  /* out */
  bool bytes_reservable_limit_is_set;  /* out */
  int64_t largest_free_block_bytes;  /* out */
  bool largest_free_block_bytes_is_set;  /* out */
  int64_t pool_bytes;  /* out */
  bool pool_bytes_is_set;  /* out */
  int64_t peak_pool_bytes;  /* out */
  bool peak_pool_bytes_is_set;  /* out */
  int64_t peak_allocated_bytes;  /* out; since 113 */
  bool peak_allocated_bytes_is_set;  /* out */
} PJRT_Device_MemoryStats_Args;

/* Peaks start again from now. */
typedef struct PJRT_Device_ClearMemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
} PJRT_Device_ClearMemoryStats_Args;

/* Makes the earliest launch of this id fail, if it has not begun. */
typedef struct PJRT_Device_PoisonExecution_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  int32_t launch_id;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  bool poisoned;  /* out; whether there was one */
  const PJRT_NamedValue* payload;
  size_t num_payload;
} PJRT_Device_PoisonExecution_Args;

typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;

/* Attributes of the live device; the caller calls the deleter on device_attributes. */
typedef struct PJRT_Device_GetAttributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  const PJRT_NamedValue* attributes;  /* out */
  size_t num_attributes;  /* out */
  PJRT_Device_Attributes* device_attributes;  /* out; backs attributes */
  void (*attributes_deleter)(PJRT_Device_Attributes* device_attributes);  /* out */
} PJRT_Device_GetAttributes_Args;

typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;

/* Marks work of the caller that the device should know of; the caller destroys it. */
typedef struct PJRT_Device_CreateAsyncTrackingEvent_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Device* device;
  const char* description;
  size_t description_size;
  PJRT_AsyncTrackingEvent* event;  /* out */
} PJRT_Device_CreateAsyncTrackingEvent_Args;

typedef struct PJRT_AsyncTrackingEvent_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_AsyncTrackingEvent* event;
} PJRT_AsyncTrackingEvent_Destroy_Args;

/* Memories. */

/* Unique within the client. */
typedef struct PJRT_Memory_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  int id;  /* out */
} PJRT_Memory_Id_Args;

/* Such as "device" or "pinned_host". */
typedef struct PJRT_Memory_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  const char* kind;  /* out */
  size_t kind_size;  /* out */
} PJRT_Memory_Kind_Args;

/* The kind as a number. */
typedef struct PJRT_Memory_Kind_Id_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  int kind_id;  /* out */
} PJRT_Memory_Kind_Id_Args;

typedef struct PJRT_Memory_DebugString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  const char* debug_string;  /* out */
  size_t debug_string_size;  /* out */
} PJRT_Memory_DebugString_Args;

typedef struct PJRT_Memory_ToString_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  const char* to_string;  /* out */
  size_t to_string_size;  /* out */
} PJRT_Memory_ToString_Args;

typedef struct PJRT_Memory_AddressableByDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Memory* memory;
  PJRT_Device* const* devices;  /* out */
  size_t num_devices;  /* out */
} PJRT_Memory_AddressableByDevices_Args;

/* Executables. A PJRT_Executable is compiled; a PJRT_LoadedExecutable can run on a client. */

typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;

/* A bag of user data for FFI handlers; the caller destroys it. */
typedef struct PJRT_ExecuteContext_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_ExecuteContext* context;  /* out */
} PJRT_ExecuteContext_Create_Args;

typedef struct PJRT_ExecuteContext_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_ExecuteContext* context;
} PJRT_ExecuteContext_Destroy_Args;

typedef struct PJRT_Executable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;  /* NULL is allowed */
} PJRT_Executable_Destroy_Args;

typedef struct PJRT_LoadedExecutable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;  /* NULL is allowed */
} PJRT_LoadedExecutable_Destroy_Args;

/* The caller destroys the executable. */
typedef struct PJRT_LoadedExecutable_GetExecutable_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;  /* out */
} PJRT_LoadedExecutable_GetExecutable_Args;

typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;

/* A DeviceAssignmentProto; the caller calls the deleter. */
typedef struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  const char* serialized_bytes;  /* out */
  size_t serialized_bytes_size;  /* out */
  PJRT_DeviceAssignmentSerialized* serialized_device_assignment;  /* out; backs serialized_bytes */
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized* da);  /* out */
} PJRT_LoadedExecutable_GetDeviceAssignment_Args;

typedef struct PJRT_Executable_Name_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  const char* executable_name;  /* out */
  size_t executable_name_size;  /* out */
} PJRT_Executable_Name_Args;

typedef struct PJRT_Executable_NumReplicas_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_replicas;  /* out */
} PJRT_Executable_NumReplicas_Args;

typedef struct PJRT_Executable_NumPartitions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_partitions;  /* out */
} PJRT_Executable_NumPartitions_Args;

/* Has neither size nor extensions. */
typedef struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
} PJRT_LogicalDeviceIds;

/* Devices of this process that it runs on. */
typedef struct PJRT_LoadedExecutable_AddressableDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  PJRT_Device* const* addressable_devices;  /* out */
  size_t num_addressable_devices;  /* out */
} PJRT_LoadedExecutable_AddressableDevices_Args;

/* In the order of AddressableDevices. */
typedef struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  PJRT_LogicalDeviceIds* addressable_device_logical_ids;  /* out */
  size_t num_addressable_device_logical_ids;  /* out */
} PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args;

/* Called twice: with a NULL code for code_size and format, then with a buffer of that size. */
typedef struct PJRT_Executable_OptimizedProgram_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  PJRT_Program* program;  /* out */
} PJRT_Executable_OptimizedProgram_Args;

/* Frees the device's part now; the handle stays valid. */
typedef struct PJRT_LoadedExecutable_Delete_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
} PJRT_LoadedExecutable_Delete_Args;

typedef struct PJRT_LoadedExecutable_IsDeleted_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  bool is_deleted;  /* out */
} PJRT_LoadedExecutable_IsDeleted_Args;

/* Host transfers of a running program. */

/* Data with its deleter. Has neither size nor extensions. */
typedef struct PJRT_Chunk {
  void* data;
  size_t size;  /* bytes */
  void (*deleter)(void* data, void* deleter_arg);
  void* deleter_arg;
} PJRT_Chunk;

typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;

/* Takes a chunk from the device; owns it. */
typedef PJRT_Error* (*PJRT_SendCallback)(
    PJRT_Chunk* chunk, PJRT_CallbackError* callback_error, size_t total_size_in_bytes, bool done,
    void* user_arg);

/* Feeds the stream, which it owns. */
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream* stream, void* user_arg);

typedef struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_SendCallback send_callback;
} PJRT_SendCallbackInfo;

typedef struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_RecvCallback recv_callback;
} PJRT_RecvCallbackInfo;

/* Sees one operand of a running program on the host; data lives for the call. */
typedef void (*PJRT_HloOutputCallback)(
    int64_t replica_id, int64_t partition_id, const void* data, const int64_t* shape_dims,
    size_t shape_num_dims, PJRT_Buffer_Type shape_element_type, int64_t operand_index,
    void* user_arg);

typedef struct PJRT_HloOutputCallbackInfo {
  void* user_arg;
  PJRT_HloOutputCallback callback;
  int64_t callback_id;
  size_t num_operands;
} PJRT_HloOutputCallbackInfo;

/* Execution. */

typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;

typedef struct PJRT_ExecuteOptions {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_SendCallbackInfo** send_callbacks;  /* a list a device, matched by channel id */
  PJRT_RecvCallbackInfo** recv_callbacks;  /* a list a device, matched by channel id */
  size_t num_send_ops;  /* a device */
  size_t num_recv_ops;  /* a device */
  int launch_id;  /* the same on all devices of a launch */
  /* inputs kept although the program would donate them */
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;  /* since 64 */
  const char* call_location;  /* since 76; a string with a zero, of the caller, may be NULL */
  size_t num_tasks;  /* since 78 */
  int* task_ids;  /* num_tasks entries */
  int64_t* incarnation_ids;  /* num_tasks entries */
  PJRT_MultiSlice_Config* multi_slice_config;  /* since 97 */
  bool use_major_to_minor_data_layout_for_callbacks;  /* since 108 */
  PJRT_HloOutputCallbackInfo* hlo_output_callbacks;  /* since 112 */
  size_t num_hlo_output_callbacks;
} PJRT_ExecuteOptions;

/* Runs on all addressable devices, or on execute_device alone. */
typedef struct PJRT_LoadedExecutable_Execute_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;  /* num_devices lists of num_args buffers */
  size_t num_devices;
  size_t num_args;
  /* lists of the caller, written; the caller destroys the buffers */
  PJRT_Buffer** const* output_lists;
  PJRT_Event** device_complete_events;  /* NULL, or num_devices places, written */
  PJRT_Device* execute_device;  /* NULL, or addressable and num_devices is 1 */
} PJRT_LoadedExecutable_Execute_Args;

typedef struct PJRT_Executable_NumOutputs_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;  /* out */
} PJRT_Executable_NumOutputs_Args;

typedef struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  int64_t size_in_bytes;  /* out */
} PJRT_Executable_SizeOfGeneratedCodeInBytes_Args;

/* Equal for programs that are equal. */
typedef struct PJRT_Executable_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  const char* executable_fingerprint;  /* out */
  size_t executable_fingerprint_size;  /* out */
} PJRT_Executable_Fingerprint_Args;

/* Estimates such as "flops" and "bytes accessed". */
typedef struct PJRT_Executable_GetCostAnalysis_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_properties;  /* out */
  const PJRT_NamedValue* properties;  /* out */
} PJRT_Executable_GetCostAnalysis_Args;

/* Bytes that one device needs, as planned. */
typedef struct PJRT_Executable_GetCompiledMemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  int64_t generated_code_size_in_bytes;  /* out */
  int64_t argument_size_in_bytes;  /* out */
  int64_t output_size_in_bytes;  /* out */
  int64_t alias_size_in_bytes;  /* out; of outputs in the place of inputs */
  int64_t temp_size_in_bytes;  /* out */
  int64_t host_generated_code_size_in_bytes;  /* out */
  int64_t host_argument_size_in_bytes;  /* out */
  int64_t host_output_size_in_bytes;  /* out */
  int64_t host_alias_size_in_bytes;  /* out */
  int64_t host_temp_size_in_bytes;  /* out */
  int64_t peak_memory_in_bytes;  /* out; since 72 */
  int64_t total_size_in_bytes;  /* out; since 90 */
  int64_t total_allocation_bytes;  /* out; since 104 */
  int64_t indefinite_allocations;  /* out */
  int64_t peak_unpadded_heap_bytes;  /* out */
} PJRT_Executable_GetCompiledMemoryStats_Args;

typedef struct PJRT_Executable_OutputElementTypes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  PJRT_Buffer_Type* output_types;  /* out */
  size_t num_output_types;  /* out */
} PJRT_Executable_OutputElementTypes_Args;

typedef struct PJRT_Executable_OutputDimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;  /* out */
  const int64_t* dims;  /* out; of all outputs, one after the other */
  const size_t* dim_sizes;  /* out; the rank of each output */
} PJRT_Executable_OutputDimensions_Args;

typedef struct PJRT_Executable_ParameterMemoryKinds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_parameters;  /* out */
  const char* const* memory_kinds;  /* out; num_parameters entries */
  const size_t* memory_kind_sizes;  /* out */
} PJRT_Executable_ParameterMemoryKinds_Args;

typedef struct PJRT_Executable_OutputMemoryKinds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;  /* out */
  const char* const* memory_kinds;  /* out; num_outputs entries */
  const size_t* memory_kind_sizes;  /* out */
} PJRT_Executable_OutputMemoryKinds_Args;

typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;

/* The caller calls the deleter on serialized_executable. */
typedef struct PJRT_Executable_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_Executable* executable;
  const char* serialized_bytes;  /* out */
  size_t serialized_bytes_size;  /* out */
  PJRT_SerializedExecutable* serialized_executable;  /* out; backs serialized_bytes */
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable* exec);  /* out */
} PJRT_Executable_Serialize_Args;

/* A CompileOptionsProto; the caller calls the deleter. */
typedef struct PJRT_Executable_GetCompileOptions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  const char* serialized_bytes;  /* out */
  size_t serialized_bytes_size;  /* out */
  PJRT_SerializedCompileOptions* serialized_compile_options;  /* out; backs serialized_bytes */
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions* options);  /* out */
} PJRT_Executable_GetCompileOptions_Args;

/* Has no extension_start. */
typedef struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t* computation_origin;  /* coordinates of the first chip */
  size_t computation_origin_size;
  PJRT_MultiSlice_Config* multi_slice_config;
} PJRT_LoadOptions;

/* Reads what Serialize of the same platform and version wrote. */
typedef struct PJRT_Executable_DeserializeAndLoad_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable* loaded_executable;  /* out */
  const char* overridden_serialized_compile_options;  /* since 71; NULL keeps the options */
  size_t overridden_serialized_compile_options_size;
  PJRT_LoadOptions* load_options;  /* since 111; may be NULL */
} PJRT_Executable_DeserializeAndLoad_Args;

/* Gave way to PJRT_Executable_Fingerprint. */
typedef struct PJRT_LoadedExecutable_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_LoadedExecutable* executable;
  const char* executable_fingerprint;  /* out */
  size_t executable_fingerprint_size;  /* out */
} PJRT_LoadedExecutable_Fingerprint_Args;

/* Buffers. */

typedef struct PJRT_Buffer_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
} PJRT_Buffer_Destroy_Args;

typedef struct PJRT_Buffer_ElementType_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type type;  /* out */
} PJRT_Buffer_ElementType_Args;

/* Dimensions with padding of dynamic ones, num_dims entries. */
typedef struct PJRT_Buffer_Dimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  const int64_t* dims;  /* out */
  size_t num_dims;  /* out */
} PJRT_Buffer_Dimensions_Args;

/* Dimensions without that padding. */
typedef struct PJRT_Buffer_UnpaddedDimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  const int64_t* unpadded_dims;  /* out */
  size_t num_dims;  /* out */
} PJRT_Buffer_UnpaddedDimensions_Args;

typedef struct PJRT_Buffer_DynamicDimensionIndices_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  const size_t* dynamic_dim_indices;  /* out */
  size_t num_dynamic_dims;  /* out */
} PJRT_Buffer_DynamicDimensionIndices_Args;

typedef struct PJRT_Buffer_GetMemoryLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Buffer_MemoryLayout layout;  /* out */
} PJRT_Buffer_GetMemoryLayout_Args;

/* Copies to the host; a NULL dst asks for dst_size only. */
typedef struct PJRT_Buffer_ToHostBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* src;
  PJRT_Buffer_MemoryLayout* host_layout;  /* NULL is the layout of src */
  void* dst;  /* written */
  size_t dst_size;  /* bytes; out if dst is NULL */
  PJRT_Event* event;  /* out; dst is filled */
} PJRT_Buffer_ToHostBuffer_Args;

/* With padding. */
typedef struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  size_t on_device_size_in_bytes;  /* out */
} PJRT_Buffer_OnDeviceSizeInBytes_Args;

/* Frees the device memory once nothing runs on it; the handle stays valid. */
typedef struct PJRT_Buffer_Delete_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
} PJRT_Buffer_Delete_Args;

/* True after Delete and after donation. */
typedef struct PJRT_Buffer_IsDeleted_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  bool is_deleted;  /* out */
} PJRT_Buffer_IsDeleted_Args;

/* Copies bytes as they lie on the device. */
typedef struct PJRT_Buffer_CopyRawToHost_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  void* dst;
  int64_t offset;  /* bytes */
  int64_t transfer_size;  /* bytes */
  PJRT_Event* event;  /* out */
} PJRT_Buffer_CopyRawToHost_Args;

/* The caller tells where to copy, or that it failed. Has no extension_start. */
typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  void* dst;
} PJRT_Buffer_CopyRawToHostFuture_Callback_Args;

/* The same copy to a place that is known later. */
typedef struct PJRT_Buffer_CopyRawToHostFuture_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  /* out */
  void* callback_data;  /* out; for the callback */
  /* out; the caller calls this once */
  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args);
} PJRT_Buffer_CopyRawToHostFuture_Args;

/* The caller destroys the copy. */
typedef struct PJRT_Buffer_CopyToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Device* dst_device;
  PJRT_Buffer* dst_buffer;  /* out */
} PJRT_Buffer_CopyToDevice_Args;

/* The caller destroys the copy. */
typedef struct PJRT_Buffer_CopyToMemory_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Memory* dst_memory;
  PJRT_Buffer* dst_buffer;  /* out */
} PJRT_Buffer_CopyToMemory_Args;

/* The same bytes as another shape; the caller destroys it. */
typedef struct PJRT_Buffer_Bitcast_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type element_type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Buffer* out_buffer;  /* out */
} PJRT_Buffer_Bitcast_Args;

/* True makes clients read the memory in place. */
typedef struct PJRT_Buffer_IsOnCpu_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  bool is_on_cpu;  /* out */
} PJRT_Buffer_IsOnCpu_Args;

typedef struct PJRT_Buffer_Device_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Device* device;  /* out */
} PJRT_Buffer_Device_Args;

typedef struct PJRT_Buffer_Memory_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;  /* out */
} PJRT_Buffer_Memory_Args;

/* Ready when the contents are, or failed; the caller destroys it. */
typedef struct PJRT_Buffer_ReadyEvent_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Event* event;  /* out */
} PJRT_Buffer_ReadyEvent_Args;

/* The device address; nothing keeps it valid. */
typedef struct PJRT_Buffer_UnsafePointer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  uintptr_t buffer_pointer;  /* out */
} PJRT_Buffer_UnsafePointer_Args;

/* Keeps the memory from being freed or donated until the count goes down. */
typedef struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
} PJRT_Buffer_IncreaseExternalReferenceCount_Args;

typedef struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
} PJRT_Buffer_DecreaseExternalReferenceCount_Args;

/* The device address, valid while the external count is up. */
typedef struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  void* device_memory_ptr;  /* out */
} PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args;

/* The caller reports the dependency. Has no extension_start. */
typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
} PJRT_Buffer_DonateWithControlDependency_Callback_Args;

/* Moves the contents to out_buffer, ready after the dependency. */
typedef struct PJRT_Buffer_DonateWithControlDependency_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  void* callback_data;  /* out; for the callback */
  /* out; the caller calls this once */
  void (*dependency_ready_callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args);
  PJRT_Buffer* out_buffer;  /* out */
} PJRT_Buffer_DonateWithControlDependency_Args;

/* Streams of chunks towards the device. */

typedef struct PJRT_CopyToDeviceStream_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_CopyToDeviceStream* stream;
} PJRT_CopyToDeviceStream_Destroy_Args;

/* Takes the chunk's contents over. */
typedef struct PJRT_CopyToDeviceStream_AddChunk_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_CopyToDeviceStream* stream;
  PJRT_Chunk* chunk;
  PJRT_Event* transfer_complete;  /* out */
} PJRT_CopyToDeviceStream_AddChunk_Args;

typedef struct PJRT_CopyToDeviceStream_TotalBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_CopyToDeviceStream* stream;
  int64_t total_bytes;  /* out */
} PJRT_CopyToDeviceStream_TotalBytes_Args;

/* A chunk is a multiple of this many bytes. */
typedef struct PJRT_CopyToDeviceStream_GranuleSize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_CopyToDeviceStream* stream;
  int64_t granule_size_in_bytes;  /* out */
} PJRT_CopyToDeviceStream_GranuleSize_Args;

typedef struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_CopyToDeviceStream* stream;
  int64_t current_bytes;  /* out */
} PJRT_CopyToDeviceStream_CurrentBytes_Args;

/* Topologies: a machine without a client, to compile for. */

/* By name, such as "v5e:2x4"; the caller destroys it. */
typedef struct PJRT_TopologyDescription_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_TopologyDescription* topology;  /* out */
} PJRT_TopologyDescription_Create_Args;

typedef struct PJRT_TopologyDescription_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
} PJRT_TopologyDescription_Destroy_Args;

typedef struct PJRT_TopologyDescription_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
  const char* platform_version;  /* out */
  size_t platform_version_size;  /* out */
} PJRT_TopologyDescription_PlatformVersion_Args;

typedef struct PJRT_TopologyDescription_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  const char* platform_name;  /* out */
  size_t platform_name_size;  /* out */
} PJRT_TopologyDescription_PlatformName_Args;

typedef struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  PJRT_DeviceDescription* const* descriptions;  /* out */
  size_t num_descriptions;  /* out */
} PJRT_TopologyDescription_GetDeviceDescriptions_Args;

typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;

/* The caller calls the deleter on serialized_topology. */
typedef struct PJRT_TopologyDescription_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
  const char* serialized_bytes;  /* out */
  size_t serialized_bytes_size;  /* out */
  PJRT_SerializedTopology* serialized_topology;  /* out; backs serialized_bytes */
  void (*serialized_topology_deleter)(PJRT_SerializedTopology* serialized_topology);  /* out */
} PJRT_TopologyDescription_Serialize_Args;

/* The caller destroys the topology. */
typedef struct PJRT_TopologyDescription_Deserialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char* serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription* topology;  /* out */
} PJRT_TopologyDescription_Deserialize_Args;

typedef struct PJRT_TopologyDescription_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology;
  const PJRT_NamedValue* attributes;  /* out */
  size_t num_attributes;  /* out */
} PJRT_TopologyDescription_Attributes_Args;

typedef struct PJRT_TopologyDescription_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  uint64_t fingerprint;  /* out */
} PJRT_TopologyDescription_Fingerprint_Args;

/* The shape as the memory stores it, a ShapeProto; the caller calls the deleter. */
typedef struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  int memory_space_kind_id;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  const PJRT_Buffer_MemoryLayout* layout;  /* may be NULL */
  const char* serialized_shape;  /* out */
  size_t serialized_shape_size;  /* out */
  void (*serialized_shape_deleter)(const char*);  /* out */
} PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args;

typedef struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  const int* memory_space_kind_ids;  /* out */
  size_t num_memory_space_kind_ids;  /* out */
} PJRT_TopologyDescription_GetMemorySpaceKindIds_Args;

/* Compiles without a client, or with its help if it is not NULL. */
typedef struct PJRT_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_TopologyDescription* topology;
  const PJRT_Program* program;
  const char* compile_options;  /* a CompileOptionsProto */
  size_t compile_options_size;
  PJRT_Client* client;  /* may be NULL */
  PJRT_Executable* executable;  /* out */
} PJRT_Compile_Args;

/* The table. Its order is fixed since 57 and slots are appended: a "since" holds for the
   slots down to the next one. A NULL slot crashes clients. */

typedef struct PJRT_Api {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Api_Version pjrt_api_version;
  void (*PJRT_Error_Destroy)(PJRT_Error_Destroy_Args* args);
  void (*PJRT_Error_Message)(PJRT_Error_Message_Args* args);
  PJRT_Error* (*PJRT_Error_GetCode)(PJRT_Error_GetCode_Args* args);
  PJRT_Error* (*PJRT_Plugin_Initialize)(PJRT_Plugin_Initialize_Args* args);
  PJRT_Error* (*PJRT_Plugin_Attributes)(PJRT_Plugin_Attributes_Args* args);
  PJRT_Error* (*PJRT_Event_Destroy)(PJRT_Event_Destroy_Args* args);
  PJRT_Error* (*PJRT_Event_IsReady)(PJRT_Event_IsReady_Args* args);
  PJRT_Error* (*PJRT_Event_Error)(PJRT_Event_Error_Args* args);
  PJRT_Error* (*PJRT_Event_Await)(PJRT_Event_Await_Args* args);
  PJRT_Error* (*PJRT_Event_OnReady)(PJRT_Event_OnReady_Args* args);
  PJRT_Error* (*PJRT_Client_Create)(PJRT_Client_Create_Args* args);
  PJRT_Error* (*PJRT_Client_Destroy)(PJRT_Client_Destroy_Args* args);
  PJRT_Error* (*PJRT_Client_PlatformName)(PJRT_Client_PlatformName_Args* args);
  PJRT_Error* (*PJRT_Client_ProcessIndex)(PJRT_Client_ProcessIndex_Args* args);
  PJRT_Error* (*PJRT_Client_PlatformVersion)(PJRT_Client_PlatformVersion_Args* args);
  PJRT_Error* (*PJRT_Client_Devices)(PJRT_Client_Devices_Args* args);
  PJRT_Error* (*PJRT_Client_AddressableDevices)(PJRT_Client_AddressableDevices_Args* args);
  PJRT_Error* (*PJRT_Client_LookupDevice)(PJRT_Client_LookupDevice_Args* args);
  PJRT_Error* (*PJRT_Client_LookupAddressableDevice)(
      PJRT_Client_LookupAddressableDevice_Args* args);
  PJRT_Error* (*PJRT_Client_AddressableMemories)(PJRT_Client_AddressableMemories_Args* args);
  PJRT_Error* (*PJRT_Client_Compile)(PJRT_Client_Compile_Args* args);
  PJRT_Error* (*PJRT_Client_DefaultDeviceAssignment)(
      PJRT_Client_DefaultDeviceAssignment_Args* args);
  PJRT_Error* (*PJRT_Client_BufferFromHostBuffer)(PJRT_Client_BufferFromHostBuffer_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_Id)(PJRT_DeviceDescription_Id_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_ProcessIndex)(
      PJRT_DeviceDescription_ProcessIndex_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_Attributes)(PJRT_DeviceDescription_Attributes_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_Kind)(PJRT_DeviceDescription_Kind_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_DebugString)(PJRT_DeviceDescription_DebugString_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_ToString)(PJRT_DeviceDescription_ToString_Args* args);
  PJRT_Error* (*PJRT_Device_GetDescription)(PJRT_Device_GetDescription_Args* args);
  PJRT_Error* (*PJRT_Device_IsAddressable)(PJRT_Device_IsAddressable_Args* args);
  PJRT_Error* (*PJRT_Device_LocalHardwareId)(PJRT_Device_LocalHardwareId_Args* args);
  PJRT_Error* (*PJRT_Device_AddressableMemories)(PJRT_Device_AddressableMemories_Args* args);
  PJRT_Error* (*PJRT_Device_DefaultMemory)(PJRT_Device_DefaultMemory_Args* args);
  PJRT_Error* (*PJRT_Device_MemoryStats)(PJRT_Device_MemoryStats_Args* args);
  PJRT_Error* (*PJRT_Memory_Id)(PJRT_Memory_Id_Args* args);
  PJRT_Error* (*PJRT_Memory_Kind)(PJRT_Memory_Kind_Args* args);
  PJRT_Error* (*PJRT_Memory_DebugString)(PJRT_Memory_DebugString_Args* args);
  PJRT_Error* (*PJRT_Memory_ToString)(PJRT_Memory_ToString_Args* args);
  PJRT_Error* (*PJRT_Memory_AddressableByDevices)(PJRT_Memory_AddressableByDevices_Args* args);
  PJRT_Error* (*PJRT_Executable_Destroy)(PJRT_Executable_Destroy_Args* args);
  PJRT_Error* (*PJRT_Executable_Name)(PJRT_Executable_Name_Args* args);
  PJRT_Error* (*PJRT_Executable_NumReplicas)(PJRT_Executable_NumReplicas_Args* args);
  PJRT_Error* (*PJRT_Executable_NumPartitions)(PJRT_Executable_NumPartitions_Args* args);
  PJRT_Error* (*PJRT_Executable_NumOutputs)(PJRT_Executable_NumOutputs_Args* args);
  PJRT_Error* (*PJRT_Executable_SizeOfGeneratedCodeInBytes)(
      PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args);
  PJRT_Error* (*PJRT_Executable_GetCostAnalysis)(PJRT_Executable_GetCostAnalysis_Args* args);
  PJRT_Error* (*PJRT_Executable_OutputMemoryKinds)(PJRT_Executable_OutputMemoryKinds_Args* args);
  PJRT_Error* (*PJRT_Executable_OptimizedProgram)(PJRT_Executable_OptimizedProgram_Args* args);
  PJRT_Error* (*PJRT_Executable_Serialize)(PJRT_Executable_Serialize_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Destroy)(PJRT_LoadedExecutable_Destroy_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_GetExecutable)(
      PJRT_LoadedExecutable_GetExecutable_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_AddressableDevices)(
      PJRT_LoadedExecutable_AddressableDevices_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Delete)(PJRT_LoadedExecutable_Delete_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_IsDeleted)(PJRT_LoadedExecutable_IsDeleted_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Execute)(PJRT_LoadedExecutable_Execute_Args* args);
  PJRT_Error* (*PJRT_Executable_DeserializeAndLoad)(PJRT_Executable_DeserializeAndLoad_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Fingerprint)(PJRT_LoadedExecutable_Fingerprint_Args* args);
  PJRT_Error* (*PJRT_Buffer_Destroy)(PJRT_Buffer_Destroy_Args* args);
  PJRT_Error* (*PJRT_Buffer_ElementType)(PJRT_Buffer_ElementType_Args* args);
  PJRT_Error* (*PJRT_Buffer_Dimensions)(PJRT_Buffer_Dimensions_Args* args);
  PJRT_Error* (*PJRT_Buffer_UnpaddedDimensions)(PJRT_Buffer_UnpaddedDimensions_Args* args);
  PJRT_Error* (*PJRT_Buffer_DynamicDimensionIndices)(
      PJRT_Buffer_DynamicDimensionIndices_Args* args);
  PJRT_Error* (*PJRT_Buffer_GetMemoryLayout)(PJRT_Buffer_GetMemoryLayout_Args* args);
  PJRT_Error* (*PJRT_Buffer_OnDeviceSizeInBytes)(PJRT_Buffer_OnDeviceSizeInBytes_Args* args);
  PJRT_Error* (*PJRT_Buffer_Device)(PJRT_Buffer_Device_Args* args);
  PJRT_Error* (*PJRT_Buffer_Memory)(PJRT_Buffer_Memory_Args* args);
  PJRT_Error* (*PJRT_Buffer_Delete)(PJRT_Buffer_Delete_Args* args);
  PJRT_Error* (*PJRT_Buffer_IsDeleted)(PJRT_Buffer_IsDeleted_Args* args);
  PJRT_Error* (*PJRT_Buffer_CopyToDevice)(PJRT_Buffer_CopyToDevice_Args* args);
  PJRT_Error* (*PJRT_Buffer_ToHostBuffer)(PJRT_Buffer_ToHostBuffer_Args* args);
  PJRT_Error* (*PJRT_Buffer_IsOnCpu)(PJRT_Buffer_IsOnCpu_Args* args);
  PJRT_Error* (*PJRT_Buffer_ReadyEvent)(PJRT_Buffer_ReadyEvent_Args* args);
  PJRT_Error* (*PJRT_Buffer_UnsafePointer)(PJRT_Buffer_UnsafePointer_Args* args);
  PJRT_Error* (*PJRT_Buffer_IncreaseExternalReferenceCount)(
      PJRT_Buffer_IncreaseExternalReferenceCount_Args* args);
  PJRT_Error* (*PJRT_Buffer_DecreaseExternalReferenceCount)(
      PJRT_Buffer_DecreaseExternalReferenceCount_Args* args);
  PJRT_Error* (*PJRT_Buffer_OpaqueDeviceMemoryDataPointer)(
      PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_Destroy)(PJRT_CopyToDeviceStream_Destroy_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_AddChunk)(PJRT_CopyToDeviceStream_AddChunk_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_TotalBytes)(PJRT_CopyToDeviceStream_TotalBytes_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_GranuleSize)(
      PJRT_CopyToDeviceStream_GranuleSize_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_CurrentBytes)(
      PJRT_CopyToDeviceStream_CurrentBytes_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Create)(PJRT_TopologyDescription_Create_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Destroy)(PJRT_TopologyDescription_Destroy_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_PlatformName)(
      PJRT_TopologyDescription_PlatformName_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_PlatformVersion)(
      PJRT_TopologyDescription_PlatformVersion_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_GetDeviceDescriptions)(
      PJRT_TopologyDescription_GetDeviceDescriptions_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Serialize)(PJRT_TopologyDescription_Serialize_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Attributes)(
      PJRT_TopologyDescription_Attributes_Args* args);
  PJRT_Error* (*PJRT_Compile)(PJRT_Compile_Args* args);
  /* since 29 */
  PJRT_Error* (*PJRT_Executable_OutputElementTypes)(PJRT_Executable_OutputElementTypes_Args* args);
  PJRT_Error* (*PJRT_Executable_OutputDimensions)(PJRT_Executable_OutputDimensions_Args* args);
  /* since 32 */
  PJRT_Error* (*PJRT_Buffer_CopyToMemory)(PJRT_Buffer_CopyToMemory_Args* args);
  /* since 33 */
  PJRT_Error* (*PJRT_Client_CreateViewOfDeviceBuffer)(
      PJRT_Client_CreateViewOfDeviceBuffer_Args* args);
  /* since 35 */
  PJRT_Error* (*PJRT_Executable_Fingerprint)(PJRT_Executable_Fingerprint_Args* args);
  /* since 36 */
  PJRT_Error* (*PJRT_Client_TopologyDescription)(PJRT_Client_TopologyDescription_Args* args);
  /* since 40 */
  PJRT_Error* (*PJRT_Executable_GetCompiledMemoryStats)(
      PJRT_Executable_GetCompiledMemoryStats_Args* args);
  /* since 48 */
  PJRT_Error* (*PJRT_Memory_Kind_Id)(PJRT_Memory_Kind_Id_Args* args);
  /* since 52 */
  PJRT_Error* (*PJRT_ExecuteContext_Create)(PJRT_ExecuteContext_Create_Args* args);
  PJRT_Error* (*PJRT_ExecuteContext_Destroy)(PJRT_ExecuteContext_Destroy_Args* args);
  /* since 56 */
  PJRT_Error* (*PJRT_Buffer_CopyRawToHost)(PJRT_Buffer_CopyRawToHost_Args* args);
  /* since 60 to 62 */
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_Destroy)(
      PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_TransferData)(
      PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args);
  PJRT_Error* (*PJRT_Client_CreateBuffersForAsyncHostToDevice)(
      PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer)(
      PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_Device)(
      PJRT_AsyncHostToDeviceTransferManager_Device_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_BufferCount)(
      PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_BufferSize)(
      PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_SetBufferError)(
      PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_AddMetadata)(
      PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args* args);
  /* since 67 */
  PJRT_Error* (*PJRT_Client_DmaMap)(PJRT_Client_DmaMap_Args* args);
  PJRT_Error* (*PJRT_Client_DmaUnmap)(PJRT_Client_DmaUnmap_Args* args);
  /* since 69 */
  PJRT_Error* (*PJRT_Client_CreateUninitializedBuffer)(
      PJRT_Client_CreateUninitializedBuffer_Args* args);
  /* since 73 */
  PJRT_Error* (*PJRT_Client_UpdateGlobalProcessInfo)(
      PJRT_Client_UpdateGlobalProcessInfo_Args* args);
  /* since 75 */
  PJRT_Error* (*PJRT_TopologyDescription_Deserialize)(
      PJRT_TopologyDescription_Deserialize_Args* args);
  /* since 77 */
  PJRT_Error* (*PJRT_Client_CreateAliasBuffer)(PJRT_Client_CreateAliasBuffer_Args* args);
  PJRT_Error* (*PJRT_Client_FulfillAliasBuffer)(PJRT_Client_FulfillAliasBuffer_Args* args);
  /* since 79 */
  PJRT_Error* (*PJRT_LoadedExecutable_GetDeviceAssignment)(
      PJRT_LoadedExecutable_GetDeviceAssignment_Args* args);
  /* since 82 */
  PJRT_Error* (*PJRT_Client_CreateErrorBuffer)(PJRT_Client_CreateErrorBuffer_Args* args);
  /* since 83 */
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_TransferLiteral)(
      PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args);
  /* since 84 */
  PJRT_Error* (*PJRT_Buffer_CopyRawToHostFuture)(PJRT_Buffer_CopyRawToHostFuture_Args* args);
  /* since 85 */
  PJRT_Error* (*PJRT_Device_PoisonExecution)(PJRT_Device_PoisonExecution_Args* args);
  /* since 86 */
  PJRT_Error* (*PJRT_Device_CreateAsyncTrackingEvent)(
      PJRT_Device_CreateAsyncTrackingEvent_Args* args);
  PJRT_Error* (*PJRT_AsyncTrackingEvent_Destroy)(PJRT_AsyncTrackingEvent_Destroy_Args* args);
  /* since 87 */
  PJRT_Error* (*PJRT_Executable_GetCompileOptions)(PJRT_Executable_GetCompileOptions_Args* args);
  /* since 88 */
  PJRT_Error* (*PJRT_Buffer_DonateWithControlDependency)(
      PJRT_Buffer_DonateWithControlDependency_Args* args);
  /* since 89 */
  PJRT_Error* (*PJRT_Event_Create)(PJRT_Event_Create_Args* args);
  PJRT_Error* (*PJRT_Event_Set)(PJRT_Event_Set_Args* args);
  /* since 92 */
  PJRT_Error* (*PJRT_Device_GetAttributes)(PJRT_Device_GetAttributes_Args* args);
  /* since 95 */
  PJRT_Error* (*PJRT_Client_Load)(PJRT_Client_Load_Args* args);
  /* since 96 */
  PJRT_Error* (*PJRT_LoadedExecutable_AddressableDeviceLogicalIds)(
      PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args);
  /* since 98 */
  PJRT_Error* (*PJRT_Buffer_Bitcast)(PJRT_Buffer_Bitcast_Args* args);
  /* since 99 */
  PJRT_Error* (*PJRT_Error_ForEachPayload)(PJRT_Error_ForEachPayload_Args* args);
  /* since 101 */
  PJRT_Error* (*PJRT_TopologyDescription_Fingerprint)(
      PJRT_TopologyDescription_Fingerprint_Args* args);
  /* since 102 */
  PJRT_Error* (*PJRT_Executable_ParameterMemoryKinds)(
      PJRT_Executable_ParameterMemoryKinds_Args* args);
  /* since 106 */
  PJRT_Error* (*PJRT_Device_ClearMemoryStats)(PJRT_Device_ClearMemoryStats_Args* args);
  /* since 109 */
  PJRT_Error* (*PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace)(
      PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args* args);
  /* since 110 */
  PJRT_Error* (*PJRT_TopologyDescription_GetMemorySpaceKindIds)(
      PJRT_TopologyDescription_GetMemorySpaceKindIds_Args* args);
} PJRT_Api;

/* The one symbol a plugin exports. The table lives as long as the process. */
const PJRT_Api* GetPjrtApi(void);

#ifdef __cplusplus
}
#endif

#endif
