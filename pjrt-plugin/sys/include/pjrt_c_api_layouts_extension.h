/* Extension 4, version 4: layouts as objects, on the wire as text such as {1,0:T(8,128)}. */
#ifndef TPU_EMU_PJRT_C_API_LAYOUTS_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_LAYOUTS_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_LAYOUTS_EXTENSION_VERSION 4

typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;

typedef struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Layouts_MemoryLayout* layout;
} PJRT_Layouts_MemoryLayout_Destroy_Args;

/* The caller calls the deleter on serialized_layout. */
typedef struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Layouts_MemoryLayout* layout;
  const char* serialized_bytes;  /* out */
  size_t serialized_bytes_size;  /* out */
  PJRT_Layouts_SerializedLayout* serialized_layout;  /* out; backs serialized_bytes */
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout* s_layout);  /* out */
} PJRT_Layouts_MemoryLayout_Serialize_Args;

/* The caller destroys the layout, here and in both GetDefaultLayout. */
typedef struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Buffer* buffer;
  PJRT_Layouts_MemoryLayout* layout;  /* out */
} PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args;

typedef struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Client* client;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  /* out */
} PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args;

typedef struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_TopologyDescription* topology_description;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  /* out */
} PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args;

/* The executable keeps the layouts; num_outputs entries. Since 81. */
typedef struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_outputs;  /* out */
  PJRT_Layouts_MemoryLayout** layouts;  /* out */
} PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args;

/* The executable keeps the layouts; num_parameters entries. Since 93. */
typedef struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Executable* executable;
  size_t num_parameters;  /* out */
  PJRT_Layouts_MemoryLayout** layouts;  /* out */
} PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args;

typedef struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Layouts_MemoryLayout_Destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args* args);
  PJRT_Error* (*PJRT_Layouts_MemoryLayout_Serialize)(
      PJRT_Layouts_MemoryLayout_Serialize_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Client_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Buffer_MemoryLayout)(
      PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Topology_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetOutputLayouts)(
      PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetParameterLayouts)(
      PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args* args);
} PJRT_Layouts_Extension;

#ifdef __cplusplus
}
#endif

#endif
