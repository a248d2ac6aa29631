/* Extension 14, version 1: news of the TPU system. The structs have no extension_start. */
#ifndef TPU_EMU_PJRT_C_API_CALLBACK_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_CALLBACK_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_CALLBACK_EXTENSION_VERSION 1

typedef enum {
  PJRT_Callback_Type_Unknown = 0,
  PJRT_Callback_Type_Tpu_SliceBuilder = 1,
  PJRT_Callback_Type_Prefatal = 2,
} PJRT_Callback_Type;

/* Why a slice failed. */
typedef enum {
  SLICE_FAILURE_UNKNOWN = 0,
  SLICE_FAILURE_INIT_ERROR = 1,
  SLICE_FAILURE_WORKER_UNAVAILABLE = 2,
  SLICE_FAILURE_FLAPPING_TASK_ERROR = 3,
  SLICE_FAILURE_SW_INJECT_ERROR = 4,
  SLICE_FAILURE_CHIP_DRIVER_ERROR = 5,
} PJRT_Callback_Tpu_SliceFailureType;

typedef struct PJRT_Callback_Tpu_SliceBuilderArgs {
  size_t struct_size;
  PJRT_Callback_Tpu_SliceFailureType failure_type;
} PJRT_Callback_Tpu_SliceBuilderArgs;

/* The process is about to end. */
typedef struct PJRT_Callback_PrefatalArgs {
  size_t struct_size;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
} PJRT_Callback_PrefatalArgs;

typedef struct PJRT_Callback_RegisterCallback_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_Callback_Type type;
  void (*callback)(void* args, void* user_arg);  /* args is one of the two structs above, by type */
  void* user_arg;
} PJRT_Callback_RegisterCallback_Args;

/* Calls all callbacks of the type before it returns. */
typedef struct PJRT_Callback_InvokeCallback_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_Callback_Type type;
  void* args;  /* lives for the call */
} PJRT_Callback_InvokeCallback_Args;

typedef struct PJRT_Callback_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*register_callback)(PJRT_Callback_RegisterCallback_Args* args);
  PJRT_Error* (*invoke_callback)(PJRT_Callback_InvokeCallback_Args* args);
} PJRT_Callback_Extension;

#ifdef __cplusplus
}
#endif

#endif
