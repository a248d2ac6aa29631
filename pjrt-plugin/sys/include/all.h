/* What bindgen reads: every header of the plugin's interface.

   A C bool is a byte here. Callers leave the fields that we fill uninitialised, and a Rust bool
   that is neither 0 nor 1 is undefined behaviour; a byte holds whatever it finds. */
#include <stdbool.h>
#include <stdint.h>
#undef bool
#define bool uint8_t

#include "pjrt_c_api.h"
#include "pjrt_c_api_abi_version_extension.h"
#include "pjrt_c_api_callback_extension.h"
#include "pjrt_c_api_cross_host_transfers_extension.h"
#include "pjrt_c_api_custom_partitioner_extension.h"
#include "pjrt_c_api_device_event.h"
#include "pjrt_c_api_executable_metadata_extension.h"
#include "pjrt_c_api_ffi_extension.h"
#include "pjrt_c_api_host_allocator_extension.h"
#include "pjrt_c_api_host_memory_allocator_extension.h"
#include "pjrt_c_api_layouts_extension.h"
#include "pjrt_c_api_memory_descriptions_extension.h"
#include "pjrt_c_api_phase_compile_extension.h"
#include "pjrt_c_api_profiler_extension.h"
#include "pjrt_c_api_raw_buffer_extension.h"
#include "pjrt_c_api_shardings_extension.h"
#include "pjrt_c_api_stream_extension.h"
#include "pjrt_c_api_tpu_topology_extension.h"
#include "profiler_c_api.h"
#include "xla_ffi_c_api.h"
