/* Extension 3, version 0: the compute stream of a device. The structs have no extension_start. */
#ifndef TPU_EMU_PJRT_C_API_STREAM_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_STREAM_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_STREAM_EXTENSION_VERSION 0

typedef struct PJRT_Get_Stream_For_External_Ready_Events_Args {
  size_t struct_size;
  PJRT_Device* device;
  intptr_t stream;  /* out */
} PJRT_Get_Stream_For_External_Ready_Events_Args;

typedef struct PJRT_Wait_Until_Buffer_Ready_On_Stream_Args {
  size_t struct_size;
  intptr_t stream;
  PJRT_Buffer* buffer;
} PJRT_Wait_Until_Buffer_Ready_On_Stream_Args;

typedef struct PJRT_Stream_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*get_stream)(PJRT_Get_Stream_For_External_Ready_Events_Args* args);
  PJRT_Error* (*wait_stream)(PJRT_Wait_Until_Buffer_Ready_On_Stream_Args* args);
} PJRT_Stream_Extension;

#ifdef __cplusplus
}
#endif

#endif
