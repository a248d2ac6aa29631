/* TODO */
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
  size_t size;
  int numa_node;
  uint8_t* ptr;  /* out */
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
