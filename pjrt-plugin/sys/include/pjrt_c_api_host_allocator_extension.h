/* Extension 15, version 0: the older host allocator, which extension 23 replaced. */
#ifndef TPU_EMU_PJRT_C_API_HOST_ALLOCATOR_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_HOST_ALLOCATOR_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_HOST_ALLOCATOR_EXTENSION_VERSION 0

typedef struct PJRT_HostAllocator_GetPreferredAlignment_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t preferred_alignment;  /* out; bytes */
} PJRT_HostAllocator_GetPreferredAlignment_Args;

typedef PJRT_Error* (*PJRT_HostAllocator_GetPreferredAlignment)(
    PJRT_HostAllocator_GetPreferredAlignment_Args* args);

typedef struct PJRT_HostAllocator_Allocate_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t size;  /* bytes */
  size_t alignment;  /* bytes */
  void* ptr;  /* out */
} PJRT_HostAllocator_Allocate_Args;

typedef PJRT_Error* (*PJRT_HostAllocator_Allocate)(PJRT_HostAllocator_Allocate_Args* args);

typedef struct PJRT_HostAllocator_Free_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  void* ptr;
} PJRT_HostAllocator_Free_Args;

typedef PJRT_Error* (*PJRT_HostAllocator_Free)(PJRT_HostAllocator_Free_Args* args);

typedef struct PJRT_HostAllocator_Extension {
  PJRT_Extension_Base base;
  PJRT_HostAllocator_GetPreferredAlignment get_preferred_alignment;
  PJRT_HostAllocator_Allocate allocate;
  PJRT_HostAllocator_Free free;
} PJRT_HostAllocator_Extension;

#ifdef __cplusplus
}
#endif

#endif
