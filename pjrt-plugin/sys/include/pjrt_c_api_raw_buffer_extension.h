/* Extension 8, version 2: the bytes of a buffer, without its type. Experimental in the interface.

   The object begins with a pointer to its functions, and the table below repeats some of them. */
#ifndef TPU_EMU_PJRT_C_API_RAW_BUFFER_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_RAW_BUFFER_EXTENSION_H_

#include "pjrt_c_api.h"
#include "pjrt_c_api_device_event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_RAW_BUFFER_EXTENSION_VERSION 2

typedef struct PJRT_RawBuffer PJRT_RawBuffer;

typedef struct PJRT_RawBuffer_FunctionTable {
  size_t struct_size;
  size_t instance_size;  /* of PJRT_RawBuffer */
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(PJRT_RawBuffer* raw_buffer);
  void (*dec_ref)(PJRT_RawBuffer* raw_buffer);
  size_t (*get_on_device_size_in_bytes)(const PJRT_RawBuffer* raw_buffer);
  PJRT_Memory* (*get_memory_space)(const PJRT_RawBuffer* raw_buffer);
  /* NULL if the host cannot read the memory */
  void* (*get_host_pointer)(const PJRT_RawBuffer* raw_buffer);
  /* offset and size in bytes, here and below */
  PJRT_Error* (*copy_raw_host_to_device_and_return_event)(
      PJRT_RawBuffer* raw_buffer, const void* src, int64_t offset, int64_t transfer_size,
      PJRT_DeviceEventVector* dependencies, PJRT_DeviceEvent* event);
  PJRT_Error* (*copy_raw_device_to_host_and_return_event)(
      PJRT_RawBuffer* raw_buffer, void* dst, int64_t offset, int64_t transfer_size,
      PJRT_DeviceEventVector* dependencies, PJRT_DeviceEvent* event);
  void* (*opaque_device_memory_data_pointer)(const PJRT_RawBuffer* raw_buffer);
  PJRT_Error* (*make_allocation_ready_event)(PJRT_RawBuffer* raw_buffer, PJRT_DeviceEvent* event);
  PJRT_Error* (*get_raw_buffer_async_value)(PJRT_RawBuffer* raw_buffer, PJRT_DeviceEvent* event);
  bool (*is_mutable)(const PJRT_RawBuffer* raw_buffer);
  PJRT_Error* (*slice)(
      PJRT_RawBuffer* raw_buffer, int64_t offset, int64_t slice_size,
      PJRT_RawBuffer** sliced_buffer);
  /* waits for the dependencies, copies, then sets the promises */
  void (*schedule_copy_to)(
      PJRT_RawBuffer* src_buffer, PJRT_DeviceEventVector* transfer_dependency_events,
      PJRT_RawBuffer* dst_buffer, PJRT_DeviceEventPromise* definition_event_promise,
      PJRT_DeviceEventPromise* src_usage_event_promise,
      void (*allocation_event_callback)(PJRT_Error* status, void* user_data),
      void* allocation_event_user_data);
} PJRT_RawBuffer_FunctionTable;

struct PJRT_RawBuffer {
  const PJRT_RawBuffer_FunctionTable* vtable;
};

/* Shares the memory of buffer; the caller destroys it. */
typedef struct PJRT_RawBuffer_CreateRawAliasOfBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_RawBuffer* raw_buffer;  /* out */
} PJRT_RawBuffer_CreateRawAliasOfBuffer_Args;

typedef struct PJRT_RawBuffer_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
} PJRT_RawBuffer_Destroy_Args;

typedef struct PJRT_RawBuffer_GetHostPointer_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  void* host_pointer;  /* out; NULL if the host cannot read the memory */
} PJRT_RawBuffer_GetHostPointer_Args;

typedef struct PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  size_t on_device_size_in_bytes;  /* out */
} PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args;

typedef struct PJRT_RawBuffer_GetMemorySpace_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  PJRT_Memory* memory_space;  /* out */
} PJRT_RawBuffer_GetMemorySpace_Args;

typedef struct PJRT_RawBuffer_CopyRawDeviceToHost_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  void* dst;
  int64_t offset;  /* bytes */
  int64_t transfer_size;  /* bytes */
  PJRT_Event* event;  /* out */
} PJRT_RawBuffer_CopyRawDeviceToHost_Args;

typedef struct PJRT_RawBuffer_CopyRawHostToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_RawBuffer* buffer;
  const void* src;
  int64_t offset;  /* bytes */
  int64_t transfer_size;  /* bytes */
  PJRT_Event* event;  /* out */
} PJRT_RawBuffer_CopyRawHostToDevice_Args;

typedef struct PJRT_RawBuffer_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_RawBuffer_CreateRawAliasOfBuffer)(
      PJRT_RawBuffer_CreateRawAliasOfBuffer_Args* args);
  PJRT_Error* (*PJRT_RawBuffer_Destroy)(PJRT_RawBuffer_Destroy_Args* args);
  PJRT_Error* (*PJRT_RawBuffer_GetOnDeviceSizeInBytes)(
      PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args* args);
  PJRT_Error* (*PJRT_RawBuffer_GetMemorySpace)(PJRT_RawBuffer_GetMemorySpace_Args* args);
  PJRT_Error* (*PJRT_RawBuffer_CopyRawHostToDevice)(PJRT_RawBuffer_CopyRawHostToDevice_Args* args);
  PJRT_Error* (*PJRT_RawBuffer_CopyRawDeviceToHost)(PJRT_RawBuffer_CopyRawDeviceToHost_Args* args);
  PJRT_Error* (*PJRT_RawBuffer_GetHostPointer)(PJRT_RawBuffer_GetHostPointer_Args* args);
} PJRT_RawBuffer_Extension;

#ifdef __cplusplus
}
#endif

#endif
