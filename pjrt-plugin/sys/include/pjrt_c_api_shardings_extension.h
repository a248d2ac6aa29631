/* Extension 19, version 1: how the inputs and outputs of an executable are split, each an
   OpSharding message. NULL arrays say that the plugin does not know. */
#ifndef TPU_EMU_PJRT_C_API_SHARDINGS_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_SHARDINGS_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_SHARDINGS_EXTENSION_VERSION 1

typedef struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_parameters;  /* out */
  const char* const* shardings;  /* out */
  const size_t* sharding_sizes;  /* out */
} PJRT_Shardings_PJRT_Executable_ParameterShardings_Args;

typedef struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;  /* out */
  const char* const* shardings;  /* out */
  const size_t* sharding_sizes;  /* out */
} PJRT_Shardings_PJRT_Executable_OutputShardings_Args;

typedef struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_ParameterShardings)(
      PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args);
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_OutputShardings)(
      PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args);
} PJRT_Shardings_Extension;

#ifdef __cplusplus
}
#endif

#endif
