/* The profiler of a plugin, with errors and a struct_size of its own. A session is created,
   started, stopped, collected and destroyed. */
#ifndef TPU_EMU_PROFILER_C_API_H_
#define TPU_EMU_PROFILER_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUGIN_PROFILER_VERSION 1

typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;

typedef struct PLUGIN_Profiler_Error_Destroy_Args {
  size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;  /* NULL is allowed */
} PLUGIN_Profiler_Error_Destroy_Args;

typedef struct PLUGIN_Profiler_Error_Message_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  const char* message;  /* out */
  size_t message_size;  /* out */
} PLUGIN_Profiler_Error_Message_Args;

typedef struct PLUGIN_Profiler_Error_GetCode_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  int code;  /* out */
} PLUGIN_Profiler_Error_GetCode_Args;

typedef struct PLUGIN_Profiler_Create_Args {
  size_t struct_size;
  const char* options;  /* a ProfileOptions message */
  size_t options_size;
  PLUGIN_Profiler* profiler;  /* out */
} PLUGIN_Profiler_Create_Args;

typedef struct PLUGIN_Profiler_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
} PLUGIN_Profiler_Destroy_Args;

typedef struct PLUGIN_Profiler_Start_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
} PLUGIN_Profiler_Start_Args;

typedef struct PLUGIN_Profiler_Stop_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
} PLUGIN_Profiler_Stop_Args;

/* An XSpace message. With a NULL buffer it says where the bytes lie and how many there are, and
   jaxlib reads them there; with a buffer it fills that. */
typedef struct PLUGIN_Profiler_CollectData_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  uint8_t* buffer;  /* in and out */
  size_t buffer_size_in_bytes;  /* out */
} PLUGIN_Profiler_CollectData_Args;

typedef struct PLUGIN_Profiler_ConsumeResult PLUGIN_Profiler_ConsumeResult;

/* The same as an object, which the caller destroys. This and what follows came later. */
typedef struct PLUGIN_Profiler_Consume_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* result;  /* out */
} PLUGIN_Profiler_Consume_Args;

typedef struct PLUGIN_Profiler_ConsumeResult_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler_ConsumeResult* consume_result;
} PLUGIN_Profiler_ConsumeResult_Destroy_Args;

/* The bytes live as long as consume_result. */
typedef struct PLUGIN_Profiler_Serialize_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* consume_result;
  const uint8_t* serialized_bytes;  /* out */
  size_t serialized_size;  /* out */
} PLUGIN_Profiler_Serialize_Args;

typedef struct PLUGIN_Profiler_Api {
  size_t struct_size;
  void* priv;
  void (*error_destroy)(PLUGIN_Profiler_Error_Destroy_Args* args);
  void (*error_message)(PLUGIN_Profiler_Error_Message_Args* args);
  PLUGIN_Profiler_Error* (*error_get_code)(PLUGIN_Profiler_Error_GetCode_Args* args);
  PLUGIN_Profiler_Error* (*create)(PLUGIN_Profiler_Create_Args* args);
  PLUGIN_Profiler_Error* (*destroy)(PLUGIN_Profiler_Destroy_Args* args);
  PLUGIN_Profiler_Error* (*start)(PLUGIN_Profiler_Start_Args* args);
  PLUGIN_Profiler_Error* (*stop)(PLUGIN_Profiler_Stop_Args* args);
  PLUGIN_Profiler_Error* (*collect_data)(PLUGIN_Profiler_CollectData_Args* args);
  PLUGIN_Profiler_Error* (*consume)(PLUGIN_Profiler_Consume_Args* args);
  void (*consume_result_destroy)(PLUGIN_Profiler_ConsumeResult_Destroy_Args* args);
  PLUGIN_Profiler_Error* (*serialize)(PLUGIN_Profiler_Serialize_Args* args);
} PLUGIN_Profiler_Api;

#ifdef __cplusplus
}
#endif

#endif
