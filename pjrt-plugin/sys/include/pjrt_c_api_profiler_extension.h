/* Extension 1, version 1. On the table it offers the plugin's profiler; on the arguments of Compile
   and Execute it carries the client's trace id. */
#ifndef TPU_EMU_PJRT_C_API_PROFILER_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_PROFILER_EXTENSION_H_

#include "pjrt_c_api.h"
#include "profiler_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_PROFILER_EXTENSION_VERSION 1

typedef struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api* profiler_api;  /* NULL on arguments */
  int64_t traceme_context_id;  /* valid on arguments only */
} PJRT_Profiler_Extension;

#ifdef __cplusplus
}
#endif

#endif
