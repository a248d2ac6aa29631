/* Extension 20, version 1: whether an executable of another build runs here.

   The structs have no extension_start. Both IsCompatible slots say no with an error. */
#ifndef TPU_EMU_PJRT_C_API_ABI_VERSION_EXTENSION_H_
#define TPU_EMU_PJRT_C_API_ABI_VERSION_EXTENSION_H_

#include "pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_ABI_VERSION_EXTENSION_VERSION 1

typedef struct PJRT_RuntimeAbiVersion PJRT_RuntimeAbiVersion;
typedef struct PJRT_ExecutableAbiVersion PJRT_ExecutableAbiVersion;
typedef struct PJRT_SerializedProto PJRT_SerializedProto;

typedef struct PJRT_Client_RuntimeAbiVersion_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_RuntimeAbiVersion* abi_version;  /* out; the caller destroys it */
} PJRT_Client_RuntimeAbiVersion_Args;

typedef struct PJRT_Executable_GetAbiVersion_Args {
  size_t struct_size;
  PJRT_Executable* executable;
  PJRT_ExecutableAbiVersion* abi_version;  /* out; the caller destroys it */
} PJRT_Executable_GetAbiVersion_Args;

typedef struct PJRT_RuntimeAbiVersion_Destroy_Args {
  size_t struct_size;
  PJRT_RuntimeAbiVersion* abi_version;
} PJRT_RuntimeAbiVersion_Destroy_Args;

typedef struct PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  const PJRT_RuntimeAbiVersion* other_abi_version;
} PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args;

typedef struct PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  const PJRT_ExecutableAbiVersion* executable_abi_version;
} PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args;

/* The caller calls the deleter on the holder. */
typedef struct PJRT_RuntimeAbiVersion_ToProto_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  const char* serialized_proto;  /* out */
  size_t serialized_proto_size;  /* out */
  PJRT_SerializedProto* serialized_proto_holder;  /* out; backs serialized_proto */
  void (*serialized_proto_deleter)(PJRT_SerializedProto* holder);  /* out */
} PJRT_RuntimeAbiVersion_ToProto_Args;

typedef struct PJRT_RuntimeAbiVersion_PlatformId_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  uint64_t platform_id;  /* out */
} PJRT_RuntimeAbiVersion_PlatformId_Args;

typedef struct PJRT_ExecutableAbiVersion_Destroy_Args {
  size_t struct_size;
  PJRT_ExecutableAbiVersion* abi_version;
} PJRT_ExecutableAbiVersion_Destroy_Args;

/* The caller calls the deleter on the holder. */
typedef struct PJRT_ExecutableAbiVersion_ToProto_Args {
  size_t struct_size;
  const PJRT_ExecutableAbiVersion* abi_version;
  const char* serialized_proto;  /* out */
  size_t serialized_proto_size;  /* out */
  PJRT_SerializedProto* serialized_proto_holder;  /* out; backs serialized_proto */
  void (*serialized_proto_deleter)(PJRT_SerializedProto* holder);  /* out */
} PJRT_ExecutableAbiVersion_ToProto_Args;

typedef struct PJRT_ExecutableAbiVersion_PlatformId_Args {
  size_t struct_size;
  const PJRT_ExecutableAbiVersion* abi_version;
  uint64_t platform_id;  /* out */
} PJRT_ExecutableAbiVersion_PlatformId_Args;

typedef struct PJRT_RuntimeAbiVersion_FromProto_Args {
  size_t struct_size;
  const char* serialized_proto;
  size_t serialized_proto_size;
  PJRT_RuntimeAbiVersion* abi_version;  /* out; the caller destroys it */
} PJRT_RuntimeAbiVersion_FromProto_Args;

typedef struct PJRT_ExecutableAbiVersion_FromProto_Args {
  size_t struct_size;
  const char* serialized_proto;
  size_t serialized_proto_size;
  PJRT_ExecutableAbiVersion* abi_version;  /* out; the caller destroys it */
} PJRT_ExecutableAbiVersion_FromProto_Args;

typedef struct PJRT_AbiVersion_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*client_runtime_abi_version)(PJRT_Client_RuntimeAbiVersion_Args* args);
  PJRT_Error* (*executable_get_abi_version)(PJRT_Executable_GetAbiVersion_Args* args);
  PJRT_Error* (*runtime_abi_version_destroy)(PJRT_RuntimeAbiVersion_Destroy_Args* args);
  PJRT_Error* (*runtime_abi_version_is_compatible_with_runtime)(
      PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args* args);
  PJRT_Error* (*runtime_abi_version_is_compatible_with_executable)(
      PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args* args);
  PJRT_Error* (*runtime_abi_version_to_proto)(PJRT_RuntimeAbiVersion_ToProto_Args* args);
  PJRT_Error* (*runtime_abi_version_platform_id)(PJRT_RuntimeAbiVersion_PlatformId_Args* args);
  PJRT_Error* (*executable_abi_version_destroy)(PJRT_ExecutableAbiVersion_Destroy_Args* args);
  PJRT_Error* (*executable_abi_version_to_proto)(PJRT_ExecutableAbiVersion_ToProto_Args* args);
  PJRT_Error* (*executable_abi_version_platform_id)(
      PJRT_ExecutableAbiVersion_PlatformId_Args* args);
  PJRT_Error* (*runtime_abi_version_from_proto)(PJRT_RuntimeAbiVersion_FromProto_Args* args);
  PJRT_Error* (*executable_abi_version_from_proto)(PJRT_ExecutableAbiVersion_FromProto_Args* args);
} PJRT_AbiVersion_Extension;

#ifdef __cplusplus
}
#endif

#endif
