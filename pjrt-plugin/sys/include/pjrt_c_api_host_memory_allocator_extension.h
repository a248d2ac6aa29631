/* Extension 23, version 0: host memory that transfers like, with the deleter it needs. */
#ifndef TPU_EMU_PJRT_C_API_HOST_MEMORY_ALLOCATOR_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_HOST_MEMORY_ALLOCATOR_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_HOST_MEMORY_ALLOCATOR_EXTENSION_VERSION 0

typedef struct PJRT_HostMemoryAllocator_Allocate_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  size_t size;  /* bytes */
  int numa_node;  /* -1 for any */
  uint8_t* ptr;  /* out; NULL if there is no memory */
  void (*deleter)(void* ptr, void* arg);  /* out */
  void* deleter_arg;  /* out */
} PJRT_HostMemoryAllocator_Allocate_Args;

typedef struct PJRT_HostMemoryAllocator_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*allocate)(PJRT_HostMemoryAllocator_Allocate_Args* args);
} PJRT_HostMemoryAllocator_Extension;

#ifdef __cplusplus
}
#endif

#endif
