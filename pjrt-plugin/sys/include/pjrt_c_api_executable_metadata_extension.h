/* Extension 13, version 1: metadata of an executable as bytes. The structs have neither size nor
   extensions. */
#ifndef TPU_EMU_PJRT_C_API_EXECUTABLE_METADATA_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_EXECUTABLE_METADATA_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_EXECUTABLE_METADATA_EXTENSION_VERSION 1

typedef struct PJRT_ExecutableMetadata {
  const char* serialized_metadata;
  size_t serialized_metadata_size;
} PJRT_ExecutableMetadata;

typedef struct PJRT_ExecutableMetadata_GetExecutableMetadata_Args {
  PJRT_Executable* executable;
  PJRT_ExecutableMetadata* metadata;  /* out; destroyed with DestroySerializedMetadata */
} PJRT_ExecutableMetadata_GetExecutableMetadata_Args;

typedef struct PJRT_ExecutableMetadata_DestroySerializedMetadata_Args {
  PJRT_ExecutableMetadata* metadata;
} PJRT_ExecutableMetadata_DestroySerializedMetadata_Args;

typedef struct PJRT_ExecutableMetadata_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*get_executable_metadata)(PJRT_ExecutableMetadata_GetExecutableMetadata_Args* args);
  void (*destroy_serialized_metadata)(PJRT_ExecutableMetadata_DestroySerializedMetadata_Args* args);
} PJRT_ExecutableMetadata_Extension;

#ifdef __cplusplus
}
#endif

#endif
