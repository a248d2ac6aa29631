/* Extension 6, version 1: the memories of a device that has no client. */
#ifndef TPU_EMU_PJRT_C_API_MEMORY_DESCRIPTIONS_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_MEMORY_DESCRIPTIONS_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_MEMORY_DESCRIPTIONS_EXTENSION_VERSION 1

typedef struct PJRT_MemoryDescription PJRT_MemoryDescription;

typedef struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_DeviceDescription* device_description;
  const PJRT_MemoryDescription* const* memory_descriptions;  /* out */
  size_t num_memory_descriptions;  /* out */
  size_t default_memory_index;  /* out; all bits set if there is none */
} PJRT_DeviceDescription_MemoryDescriptions_Args;

typedef struct PJRT_MemoryDescription_Kind_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_MemoryDescription* memory_description;
  const char* kind;  /* out */
  size_t kind_size;  /* out */
  int kind_id;  /* out */
} PJRT_MemoryDescription_Kind_Args;

typedef struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_DeviceDescription_MemoryDescriptions)(
      PJRT_DeviceDescription_MemoryDescriptions_Args* args);
  PJRT_Error* (*PJRT_MemoryDescription_Kind)(PJRT_MemoryDescription_Kind_Args* args);
} PJRT_MemoryDescriptions_Extension;

#ifdef __cplusplus
}
#endif

#endif
