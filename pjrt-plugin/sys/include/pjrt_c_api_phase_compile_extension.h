/* Extension 9, version 1: compilation one phase at a time. Experimental in the interface. */
#ifndef TPU_EMU_PJRT_C_API_PHASE_COMPILE_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_PHASE_COMPILE_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_PHASE_COMPILE_EXTENSION_VERSION 1

typedef struct PJRT_PhaseCompile_Get_Compiler_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_PhaseCompiler* phase_compiler;  /* out; the caller destroys it */
} PJRT_PhaseCompile_Get_Compiler_Args;

typedef struct PJRT_PhaseCompile_Destroy_Compiler_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_PhaseCompiler* phase_compiler;
} PJRT_PhaseCompile_Destroy_Compiler_Args;

typedef struct PJRT_PhaseCompile_Run_Phase_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_PhaseCompiler* phase_compiler;
  const char** input_programs;
  const size_t* input_programs_sizes;
  size_t num_input_programs;
  const char** phases_to_run;
  const size_t* phases_to_run_sizes;
  size_t num_phases_to_run;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_TopologyDescription* topology;
  const char** output_programs;  /* out; freed with C_Buffers_Destroy */
  const size_t* output_programs_sizes;  /* out */
  size_t num_output_programs;  /* out */
} PJRT_PhaseCompile_Run_Phase_Args;

typedef struct PJRT_PhaseCompile_Get_PhaseNames_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const PJRT_PhaseCompiler* phase_compiler;
  const char** phase_names;  /* out; freed with C_Buffers_Destroy */
  const size_t* phase_names_sizes;  /* out */
  size_t num_phase_names;  /* out */
} PJRT_PhaseCompile_Get_PhaseNames_Args;

typedef struct PJRT_PhaseCompile_C_Buffers_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  const char** char_buffers;
  const size_t* char_buffer_sizes;
  size_t num_char_buffers;
} PJRT_PhaseCompile_C_Buffers_Destroy_Args;

typedef struct PJRT_PhaseCompile_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*phase_compile_get_compiler)(PJRT_PhaseCompile_Get_Compiler_Args* args);
  void (*phase_compile_destroy_compiler)(PJRT_PhaseCompile_Destroy_Compiler_Args* args);
  PJRT_Error* (*phase_compile_run_phases)(PJRT_PhaseCompile_Run_Phase_Args* args);
  PJRT_Error* (*phase_compile_get_phase_names)(PJRT_PhaseCompile_Get_PhaseNames_Args* args);
  void (*phase_compile_c_buffers_destroy)(PJRT_PhaseCompile_C_Buffers_Destroy_Args* args);
} PJRT_PhaseCompile_Extension;

#ifdef __cplusplus
}
#endif

#endif
